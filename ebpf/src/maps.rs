//! Maps of a single port's program, and which of them are pinned.

use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use libbpf_rs::{MapCore, MapFlags, MapHandle, MapInfo};
use weir_abi as abi;

use crate::counters::{ClassCounters, Traffic, VerdictCounters};
use crate::error::{map_error, EbpfError};

#[derive(Debug)]
pub(crate) struct PortMaps {
    pub(crate) xsks: MapHandle,
    pub(crate) settings: MapHandle,
    pub(crate) traffic: MapHandle,
    pub(crate) verdicts: MapHandle,
    /// Slots of RX rings reserved for frames with a credit. Not pinned, since another switch cannot use them.
    pub(crate) slots: Option<MapHandle>,
}

impl PortMaps {
    /// Returns the maps pinned in this directory; `None` unless all of them are.
    pub(crate) fn pinned(dir: &Path) -> Option<Self> {
        let map = |name| MapHandle::from_pinned_path(dir.join(name)).ok();
        Some(Self {
            xsks: map("xsks")?,
            settings: map("settings")?,
            traffic: map("traffic")?,
            verdicts: map("verdicts")?,
            slots: None,
        })
    }

    pub(crate) fn by_pin(&self) -> [(&'static str, BorrowedFd<'_>); 4] {
        [
            ("xsks", self.xsks.as_fd()),
            ("settings", self.settings.as_fd()),
            ("traffic", self.traffic.as_fd()),
            ("verdicts", self.verdicts.as_fd()),
        ]
    }

    pub(crate) fn ids(&self) -> Option<[u32; 4]> {
        let mut ids = [0; 4];
        for (id, (_, map)) in ids.iter_mut().zip(self.by_pin()) {
            *id = MapInfo::new(map).ok()?.info.id;
        }
        Some(ids)
    }

    pub(crate) fn set_settings(&self, value: &[u8]) -> Result<(), EbpfError> {
        self.settings
            .update(&0u32.to_ne_bytes(), value, MapFlags::ANY)
            .map_err(map_error("weir_settings"))
    }

    pub(crate) fn get_settings(&self) -> Option<Vec<u8>> {
        self.settings
            .lookup(&0u32.to_ne_bytes(), MapFlags::ANY)
            .ok()?
    }

    /// Returns all counts in the maps, including those of previous owners.
    pub(crate) fn counted(&self) -> Result<Counted, EbpfError> {
        Ok(Counted {
            traffic: self.class_counters()?,
            verdicts: self.verdict_counters()?,
        })
    }

    pub(crate) fn class_counters(&self) -> Result<ClassCounters, EbpfError> {
        let mut counters = ClassCounters::default();
        for index in 0..abi::WEIR_TRAFFIC_ENTRIES {
            for value in per_cpu(&self.traffic, "weir_traffic", index)? {
                counters.add(
                    index as usize,
                    Traffic {
                        frames: word(&value, 0),
                        bytes: word(&value, 1),
                    },
                );
            }
        }
        Ok(counters)
    }

    pub(crate) fn verdict_counters(&self) -> Result<VerdictCounters, EbpfError> {
        let mut counters = VerdictCounters::default();
        for (index, frames) in counters.frames.iter_mut().enumerate() {
            let values = per_cpu(&self.verdicts, "weir_verdicts", index as u32)?;
            *frames = values.iter().map(|value| word(value, 0)).sum();
        }
        Ok(counters)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    pub(crate) traffic: ClassCounters,
    pub(crate) verdicts: VerdictCounters,
}

fn per_cpu(map: &MapHandle, name: &'static str, index: u32) -> Result<Vec<Vec<u8>>, EbpfError> {
    let values = map
        .lookup_percpu(&index.to_ne_bytes(), MapFlags::ANY)
        .map_err(map_error(name))?;
    Ok(values.unwrap_or_default())
}

/// Returns the `index`th 64-bit word of a map value, zero beyond its end.
pub(crate) fn word(value: &[u8], index: usize) -> u64 {
    value
        .get(8 * index..)
        .and_then(|rest| rest.first_chunk())
        .map_or(0, |bytes| u64::from_ne_bytes(*bytes))
}
