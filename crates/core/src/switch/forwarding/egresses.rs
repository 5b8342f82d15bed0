//! Egress ports of a frame.

use crate::sets::PortSet;
use crate::units::PortId;

#[derive(Clone, Copy)]
pub(in crate::switch) enum Egresses {
    /// The usual case: one copy.
    One(PortId),
    /// A flood to several ports.
    Several(PortSet),
}

impl Egresses {
    /// `ports` must not be empty.
    pub(in crate::switch) fn of(ports: PortSet) -> Self {
        match (ports.iter().next(), ports.count()) {
            (Some(only), 1) => Self::One(only),
            _ => Self::Several(ports),
        }
    }

    /// The port of a frame with one copy.
    pub(in crate::switch) fn only(&self) -> Option<PortId> {
        match self {
            Self::One(port) => Some(*port),
            Self::Several(_) => None,
        }
    }

    pub(in crate::switch) fn ports(&self) -> PortSet {
        match self {
            Self::One(port) => PortSet::from_iter([*port]),
            Self::Several(ports) => *ports,
        }
    }

    pub(in crate::switch) fn copies(&self) -> usize {
        match self {
            Self::One(_) => 1,
            Self::Several(ports) => ports.count(),
        }
    }
}
