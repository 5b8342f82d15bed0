//! `[dataplane]`.

use weir_core::Bytes;

use crate::daemon::{DataplaneConfig, Workers};
use crate::document::Item;
use crate::reader::{FromItem, Table};

pub(super) fn dataplane(root: &Table<'_>) -> DataplaneConfig {
    DataplaneConfig::read(root, DataplaneConfig::default(), check_chunk)
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
    let chunk = config.chunk_size().get();
    if chunk != 2048 && chunk != 4096 {
        table.complain("chunk", "must be \"2KiB\" or \"4KiB\"");
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
                "frames of this `mtu` take several chunks, of {} each without XDP's headroom: a cell must not be larger",
                config.frame_part()
            ),
        );
    }
}
