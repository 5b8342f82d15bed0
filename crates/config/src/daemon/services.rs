//! `[log]`, `[page]`, `[lldp]` and `[watermark]`.

use std::net::SocketAddr;

use weir_core::wire::lldp::application::ENTRIES_MAX;
use weir_core::{Duration, Priority};

use super::access::Listen;
use crate::reader::{line_of, FromItem, Table};
use crate::settings::{settings, valid, words, Form};

settings! {
    /// `[log]`.
    #[derive(Clone, Debug, PartialEq, Eq)]
    LogConfig in "log" {
        "level" level: String = "info".to_owned(), "", Live, valid::anything;
            "A filter of the `tracing` kind: `\"info\"`, or `\"info,weir_switchd::control=debug\"`."
        "format" format: LogFormat = LogFormat::Auto, "", Restart, valid::anything;
            "`\"text\"` for people or `\"json\"`, one object a line, both on standard error; `\"journal\"` for [entries with fields](../operations/operations.md#the-log) in systemd's journal. `\"auto\"` is `\"journal\"` where systemd connects standard error to the journal, `\"text\"` elsewhere. Needs a restart."
    }
}

settings! {
    /// `[page]`: the live page.
    #[derive(Clone, Debug, PartialEq, Eq)]
    PageConfig in "page" {
        "listen" listen: Option<SocketAddr> as Listen = Some(SocketAddr::from(([127, 0, 0, 1], 9465))), "", Restart, valid::anything;
            "Address and port of the page, or `\"off\"`. Every client that can reach it can see the switch's state, but change nothing."
        "names" names: Vec<String> = Vec::new(), "", Restart, valid::anything;
            "Host names under which browsers may request it, such as `[\"leaf1.example.net\"]`. Addresses and `localhost` are always answered; any other name is refused, so that no foreign web site can read it through a browser (DNS rebinding)."
        "unprotected" unprotected: bool = false, "", Restart, valid::anything;
            "Allows `listen` to be an address that other hosts can reach. The page has no login."
    }
}

settings! {
    /// `[lldp]`.
    #[derive(Clone, Debug, PartialEq, Eq)]
    LldpConfig in "lldp" {
        "enabled" enabled: bool = true, "", Restart, valid::anything;
            "Whether the switch sends [LLDP](lldp.md) announcements and receives those of its neighbours."
        "interval" interval: Duration = Duration::from_secs(30), "", Restart, valid::between(INTERVALS);
            "Time between two announcements, 1 s to 3600 s. They are valid for four times as long plus one second."
        "udp" udp: Vec<(u16, Priority)> as UdpPorts = Vec::new() => "none", "", Restart, valid::anything;
            "The priorities that hosts are to use for UDP ports, a table: `{ 4791 = 3 }` for RoCEv2. Announced as Application Priority; at most 16, including those from `dscp-map`. The port's `trust` still determines the priority of received frames."
    }
}

settings! {
    /// `[watermark]`: peaks.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    WatermarkConfig in "watermark" {
        "interval" interval: Duration = Duration::from_secs(120), "", Live, valid::between(WATERMARK_INTERVALS);
            "Interval after which the peaks for the reader `telemetry` [restart](../operations/watermarks.md#readers), 1 s to 24 h. The last whole interval is shown: a collector that reads at least as often misses none."
    }
}

/// Collectors read every few seconds to every few minutes; a day suffices for anything read by hand.
const WATERMARK_INTERVALS: (Duration, Duration) =
    (Duration::from_secs(1), Duration::from_secs(24 * 3600));

/// Priorities by UDP port, in the order of the ports.
struct UdpPorts;

impl Form<Vec<(u16, Priority)>> for UdpPorts {
    fn read(table: &Table<'_>, key: &str) -> Option<Vec<(u16, Priority)>> {
        let mut ports = Vec::new();
        for (text, item) in table.free_table(key) {
            let path = table.key_path(&format!("{key}.{text}"));
            let complain = |message| table.problems().add(line_of(item), path, message);
            let port = text.parse::<u16>().ok().filter(|port| *port > 0);
            match (port, Priority::from_item(item)) {
                (None, _) => complain(format!("`{text}` is not a UDP port; valid: 1 to 65535")),
                // 4791 and 04791 are two keys.
                (Some(port), _) if ports.iter().any(|(other, _)| *other == port) => {
                    complain(format!("port {port} is listed twice"));
                }
                (Some(_), _) if ports.len() == ENTRIES_MAX => {
                    complain(format!(
                        "more than {ENTRIES_MAX} ports: LLDP has no room for them"
                    ));
                }
                (Some(port), Ok(priority)) => ports.push((port, priority)),
                (_, Err(message)) => complain(message),
            }
        }
        ports.sort_by_key(|(port, _)| *port);
        Some(ports)
    }

    fn written(ports: &Vec<(u16, Priority)>) -> Option<String> {
        let all: Vec<String> = ports
            .iter()
            .map(|(port, priority)| format!("{port} = {priority}"))
            .collect();
        (!all.is_empty()).then(|| format!("{{ {} }}", all.join(", ")))
    }
}

/// Range of msgTxInterval in IEEE 802.1AB (clause 9.2.5.7).
const INTERVALS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(3600));

impl PageConfig {
    /// Not served.
    pub const OFF: Self = Self {
        listen: None,
        names: Vec::new(),
        unprotected: false,
    };
}

words! {
    LogFormat: Self::ALL.map(|format| (format.name(), format));
}

/// Format and destination of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// `journal` if systemd connects standard error to the journal, otherwise `text`.
    Auto,
    /// Human-readable lines on standard error.
    Text,
    /// One JSON object per line, on standard error.
    Json,
    /// Entries with fields, in systemd's journal.
    Journal,
}

impl LogFormat {
    /// All formats.
    pub const ALL: [Self; 4] = [Self::Auto, Self::Text, Self::Json, Self::Journal];

    /// Name in the configuration file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Text => "text",
            Self::Json => "json",
            Self::Journal => "journal",
        }
    }
}
