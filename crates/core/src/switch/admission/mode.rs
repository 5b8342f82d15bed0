//! Behaviour of a full ingress buffer, by class and port role.

use crate::config::{ClassConfig, ClassMode, PfcThresholds, Police, PortConfig, PortRole};
use crate::units::Bytes;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::switch) enum BufferMode {
    /// Refuses frames that do not fit.
    Bounded { buffer: Bytes },
    /// Pauses the neighbour first.
    Pausing(PfcThresholds),
    /// Refuses frames of a lossless class that do not fit: the host does not obey pauses.
    Policed {
        mark_from: Option<Bytes>,
        drop_from: Option<Bytes>,
        limit: Bytes,
    },
}

impl BufferMode {
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
