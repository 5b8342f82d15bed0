//! Mirrors by the configuration.

use weir_config::daemon::{DaemonConfig, Mirror, MIRRORS_MAX};
use weir_core::{PortId, PortSet, Priority, VlanId, VlanSet};

/// All mirrors, and which frames they copy.
#[derive(Debug, Default)]
pub struct Mirrors {
    names: Vec<String>,
    /// In the order of the names.
    all: Vec<Copying>,
    /// By mirror: the VLANs that it copies; `None` for all.
    vlans: Vec<Option<VlanSet>>,
    arriving: PortSet,
    leaving: PortSet,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Copying {
    pub(crate) output: PortId,
    pub(crate) priority: Priority,
    pub(crate) arriving: PortSet,
    pub(crate) leaving: PortSet,
    /// Maximum number of bytes copied of a frame.
    pub(crate) most: usize,
}

impl Mirrors {
    /// Builds the mirrors of `config`.
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
            names: mirrors.clone().map(|mirror| mirror.name.clone()).collect(),
            all,
            vlans: mirrors.map(|mirror| mirror.vlans).collect(),
            arriving,
            leaving,
        }
    }

    pub(crate) fn is_on(&self) -> bool {
        !self.all.is_empty()
    }

    /// Returns true if frames received on `port` are copied.
    pub(crate) fn looks_at_arrivals(&self, port: PortId) -> bool {
        self.arriving.contains(port)
    }

    /// Returns true if frames sent by `port` are copied.
    pub(crate) fn looks_at_departures(&self, port: PortId) -> bool {
        self.leaving.contains(port)
    }

    pub(crate) fn looks_at_vlans(&self) -> bool {
        self.vlans.iter().any(Option::is_some)
    }

    /// Returns true if the mirror at `place` copies frames of `vlan`; `None` means frames without a
    /// VLAN.
    pub(crate) fn selects(&self, place: usize, vlan: Option<VlanId>) -> bool {
        match self.vlans.get(place) {
            Some(Some(vlans)) => vlan.is_some_and(|vlan| vlans.contains(vlan)),
            _ => true,
        }
    }

    /// Returns the mirror at a place below [`MIRRORS_MAX`].
    pub(crate) fn get(&self, place: usize) -> Option<Copying> {
        self.all.get(place).copied()
    }

    /// Returns the position in `self` of the mirror with the same name as the one at `place` of `other`.
    pub(crate) fn same_as(&self, other: &Self, place: usize) -> Option<usize> {
        let name = other.names.get(place)?;
        self.names.iter().position(|known| known == name)
    }
}
