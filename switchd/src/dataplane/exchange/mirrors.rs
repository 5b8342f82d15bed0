//! Who gets copies of which frames, by the configuration.

use weir_config::daemon::{DaemonConfig, Mirror, MIRRORS_MAX};
use weir_core::{PortId, PortSet, Priority};

/// All mirrors, and where any of them looks.
#[derive(Debug, Default)]
pub struct Mirrors {
    names: Vec<String>,
    /// In the order of the names.
    all: Vec<Copying>,
    arriving: PortSet,
    leaving: PortSet,
}

/// One mirror.
#[derive(Clone, Copy, Debug)]
pub(in crate::dataplane) struct Copying {
    pub(in crate::dataplane) output: PortId,
    pub(in crate::dataplane) priority: Priority,
    pub(in crate::dataplane) arriving: PortSet,
    pub(in crate::dataplane) leaving: PortSet,
    /// Bytes of a frame at most.
    pub(in crate::dataplane) most: usize,
}

impl Mirrors {
    /// Those of `config`.
    pub fn new(config: &DaemonConfig) -> Self {
        let copying = |mirror: &Mirror| Copying {
            output: mirror.output,
            priority: mirror.priority,
            arriving: mirror.arriving(config.ports.len()),
            leaving: mirror.destinations,
            most: mirror.snaplen.map_or(usize::MAX, |bytes| bytes as usize),
        };
        let mirrors = config.mirrors.iter().take(MIRRORS_MAX);
        let mut arriving = PortSet::EMPTY;
        let mut leaving = PortSet::EMPTY;
        let all: Vec<Copying> = mirrors.clone().map(copying).collect();
        for mirror in &all {
            mirror
                .arriving
                .iter()
                .for_each(|port| arriving.insert(port));
            mirror.leaving.iter().for_each(|port| leaving.insert(port));
        }
        Self {
            names: mirrors.map(|mirror| mirror.name.clone()).collect(),
            all,
            arriving,
            leaving,
        }
    }

    /// False without any.
    pub(in crate::dataplane) fn is_on(&self) -> bool {
        !self.all.is_empty()
    }

    /// Whether what comes in by `port` is copied.
    pub(in crate::dataplane) fn looks_at_arrivals(&self, port: PortId) -> bool {
        self.arriving.contains(port)
    }

    /// Whether what leaves by `port` is copied.
    pub(in crate::dataplane) fn looks_at_departures(&self, port: PortId) -> bool {
        self.leaving.contains(port)
    }

    /// The mirror at a place below [`MIRRORS_MAX`].
    pub(in crate::dataplane) fn get(&self, place: usize) -> Option<Copying> {
        self.all.get(place).copied()
    }

    /// Where the mirror is in `self` that has the name of the one at `place` of `other`.
    pub(in crate::dataplane) fn same_as(&self, other: &Self, place: usize) -> Option<usize> {
        let name = other.names.get(place)?;
        self.names.iter().position(|known| known == name)
    }
}
