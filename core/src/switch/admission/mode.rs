//! What an ingress buffer does when it fills, by the class and what the port faces.

use crate::config::{ClassMode, Police, PortConfig, PortRole};
use crate::units::Bytes;

/// What an ingress buffer does when it fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::switch) enum BufferMode {
    /// Refuses what does not fit.
    Bounded { buffer: Bytes },
    /// Pauses the neighbour first.
    Pausing {
        xoff: Bytes,
        xon: Bytes,
        headroom: Bytes,
    },
    /// Refuses what does not fit, but of a lossless class: the host does not obey a pause.
    Policed {
        /// Frames are to be marked when this much is charged.
        mark_from: Option<Bytes>,
        /// Single frames are dropped from here on.
        drop_from: Option<Bytes>,
        limit: Bytes,
    },
}

impl BufferMode {
    /// Budgets and Feedback keep the buffer of a class with Levels from overflowing at fabric ports.
    pub(in crate::switch) fn of(mode: ClassMode, port: &PortConfig) -> Self {
        let police = match port.role {
            PortRole::Edge => port.police,
            PortRole::Fabric => Police::Off,
        };
        let pausing = |xoff, xon, headroom| match police {
            Police::Off => Self::Pausing {
                xoff,
                xon,
                headroom,
            },
            Police::Drop => Self::Policed {
                mark_from: None,
                drop_from: Some(xoff),
                limit: xoff + headroom,
            },
            Police::Mark => Self::Policed {
                mark_from: Some(xoff),
                drop_from: None,
                limit: xoff + headroom,
            },
        };
        match (mode, port.role) {
            (ClassMode::Lossy { buffer }, _) => Self::Bounded { buffer },
            (ClassMode::Level { budgets, .. }, PortRole::Fabric) => Self::Bounded {
                buffer: budgets.total() + budgets.loan(),
            },
            (
                ClassMode::Pfc {
                    xoff,
                    xon,
                    headroom,
                }
                | ClassMode::Level {
                    xoff,
                    xon,
                    headroom,
                    ..
                },
                _,
            ) => pausing(xoff, xon, headroom),
        }
    }

    pub(super) const fn pauses(self) -> bool {
        matches!(self, Self::Pausing { .. })
    }
}
