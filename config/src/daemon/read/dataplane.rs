//! `[dataplane]`.

use weir_core::{Bytes, Quanta};

use super::{keys, within};
use crate::daemon::{DataplaneConfig, HugePages, Workers, XdpMode, ZeroCopy};
use crate::document::Item;
use crate::reader::{FromItem, Table};

pub(super) fn dataplane(root: &Table<'_>) -> DataplaneConfig {
    let default = DataplaneConfig::default();
    let Some(table) = root.table("dataplane", keys("dataplane")) else {
        return default;
    };
    let config = DataplaneConfig {
        cell: table.get_or("cell", default.cell),
        chunk: table.get_or("chunk", default.chunk),
        mtu: table.get_or("mtu", default.mtu),
        rx_ring: ring(&table, "rx-ring", default.rx_ring),
        tx_ring: ring(&table, "tx-ring", default.tx_ring),
        spin: table.get_or("spin", default.spin),
        cpu: table.get::<u64>("cpu").map(|cpu| cpu as usize),
        workers: table.get_or("workers", default.workers),
        worker_cpus: table
            .get::<Vec<u64>>("worker-cpus")
            .map_or(default.worker_cpus, |cpus| {
                cpus.into_iter().map(|cpu| cpu as usize).collect()
            }),
        busy_poll: table.get_or("busy-poll", default.busy_poll),
        huge_pages: table
            .choice(
                "huge-pages",
                &[
                    ("auto", HugePages::Auto),
                    ("off", HugePages::Off),
                    ("require", HugePages::Require),
                ],
            )
            .unwrap_or(default.huge_pages),
        pause_time: within(&table, "pause-time", 1, u64::from(u16::MAX))
            .map_or(default.pause_time, |quanta| Quanta(quanta as u16)),
        feedback_refresh: table.get_or("feedback-refresh", default.feedback_refresh),
        shaper_burst: table.get_or("shaper-burst", default.shaper_burst),
        zero_copy: table
            .choice(
                "zero-copy",
                &[
                    ("auto", ZeroCopy::Auto),
                    ("off", ZeroCopy::Off),
                    ("require", ZeroCopy::Require),
                ],
            )
            .unwrap_or(default.zero_copy),
        xdp_mode: table
            .choice(
                "xdp-mode",
                &[
                    ("auto", XdpMode::Auto),
                    ("native", XdpMode::Native),
                    ("generic", XdpMode::Generic),
                ],
            )
            .unwrap_or(default.xdp_mode),
        history_interval: table.get_or("history-interval", default.history_interval),
        history_length: within(&table, "history-length", 1, 1_000_000)
            .map_or(default.history_length, |length| length as usize),
        spare_buffers: table.get_or("spare-buffers", default.spare_buffers),
    };
    check_chunk(&table, &config);
    config
}

impl FromItem for Workers {
    const EXAMPLE: &'static str = "a number of threads or \"auto\"";

    fn from_item(item: &Item) -> Result<Self, String> {
        match String::from_item(item) {
            Ok(word) => word.parse(),
            Err(_) => u64::from_item(item)?.to_string().parse(),
        }
    }
}

fn check_chunk(table: &Table<'_>, config: &DataplaneConfig) {
    const MTU_MIN: Bytes = Bytes::new(68);
    let chunk = config.chunk.get();
    if chunk != 2048 && chunk != 4096 {
        table.complain("chunk", "a UMEM chunk is \"2KiB\" or \"4KiB\"");
        return;
    }
    if !(MTU_MIN..=DataplaneConfig::MTU_MAX).contains(&config.mtu) {
        table.complain(
            "mtu",
            format!("must be between {MTU_MIN} and {}", DataplaneConfig::MTU_MAX),
        );
    } else if config.has_long_frames() && config.cell > config.frame_part() {
        table.complain(
            "cell",
            format!(
                "frames of this `mtu` take several chunks, of {} each beside XDP's headroom: a cell can be no larger",
                config.frame_part()
            ),
        );
    }
}

fn ring(table: &Table<'_>, key: &str, default: u32) -> u32 {
    match table.get::<u64>(key) {
        None => default,
        Some(entries) if entries.is_power_of_two() && (64..=32_768).contains(&entries) => {
            entries as u32
        }
        Some(entries) => {
            table.complain(
                key,
                format!("{entries} is not a power of two between 64 and 32768 entries"),
            );
            default
        }
    }
}
