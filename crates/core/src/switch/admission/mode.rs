//! What an ingress buffer does when it fills, by the class and what the port faces.

use crate::config::{ClassConfig, ClassMode, PfcThresholds, Police, PortConfig, PortRole};
use crate::units::Bytes;

/// What an ingress buffer does when it fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::switch) enum BufferMode {
    /// Refuses what does not fit.
    Bounded { buffer: Bytes },
    /// Pauses the neighbour first.
    Pausing(PfcThresholds),
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
    pub(in crate::switch) fn of(class: &ClassConfig, port: &PortConfig) -> Self {
        let police = match port.role {
            PortRole::Edge => port.police,
            PortRole::Fabric => Police::Off,
        };
        let pausing = |thresholds: PfcThresholds| match police {
            Police::Off => Self::Pausing(thresholds),
            Police::Drop => Self::Policed {
                mark_from: None,
                drop_from: Some(thresholds.xoff()),
                limit: thresholds.limit(),
            },
            Police::Mark => Self::Policed {
                mark_from: Some(thresholds.xoff()),
                drop_from: None,
                limit: thresholds.limit(),
            },
        };
        match (class.mode_at(port), port.role) {
            (ClassMode::Lossy { buffer }, _) => Self::Bounded { buffer },
            (ClassMode::Level { budgets, .. }, PortRole::Fabric) => Self::Bounded {
                buffer: budgets.total() + budgets.loan(),
            },
            (ClassMode::Pfc(thresholds), _) => pausing(thresholds),
            (ClassMode::Level { edge, .. }, PortRole::Edge) => pausing(edge),
        }
    }

    pub(super) const fn pauses(self) -> bool {
        matches!(self, Self::Pausing(_))
    }
}
