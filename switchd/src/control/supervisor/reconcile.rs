//! Recovery of events that found the queue full, from a snapshot.

use weir_core::event::EventKind;
use weir_core::{Duration, Event, PortId, PortSet, Priority, SuspicionReason};
use weir_dataplane::messages::Snapshot;

use super::Supervisor;

impl Supervisor {
    /// Recovers events that found the queue full: begins and ends suspicions according to the
    /// snapshot. Events after the snapshot take precedence.
    pub(super) fn reconcile(&mut self, snapshot: &Snapshot) {
        for index in 0..snapshot.ports.len() {
            let Some(egress) = PortId::from_index(index) else {
                return;
            };
            for priority in Priority::ALL {
                let gauges = &snapshot.ports[index].gauges[priority.index()];
                let began = self.shared.records.deadlocks().began(egress, priority);
                let kind = match began {
                    Some(began) if !gauges.suspected && began <= snapshot.at => {
                        EventKind::SuspicionEnded {
                            egress,
                            priority,
                            lasted: snapshot.at.saturating_since(began),
                        }
                    }
                    None if gauges.suspected => EventKind::Suspected {
                        egress,
                        priority,
                        reason: if gauges.release_ingress.is_some() {
                            SuspicionReason::ReleaseRule
                        } else if gauges.paused {
                            SuspicionReason::Paused
                        } else {
                            SuspicionReason::TransmitterStuck
                        },
                        queued: gauges.egress,
                        idle: Duration::ZERO,
                        // Not in a snapshot.
                        alternatives: false,
                        alternatives_from: PortSet::EMPTY,
                    },
                    _ => continue,
                };
                self.take_event(&Event {
                    at: snapshot.at,
                    kind,
                });
            }
        }
    }

    /// Recovers stalls; without its event a storm would never be detected.
    pub(super) fn reconcile_stalls(&mut self, snapshot: &Snapshot) {
        for (index, state) in snapshot.ports.iter().enumerate() {
            let Some(egress) = PortId::from_index(index) else {
                return;
            };
            for priority in Priority::ALL {
                let gauges = &state.gauges[priority.index()];
                let kind = match self.plane.stall_began(egress, priority) {
                    None if gauges.stalled => EventKind::PauseStalled {
                        egress,
                        priority,
                        idle: Duration::ZERO,
                        queued: gauges.egress,
                    },
                    Some(began)
                        if !gauges.stalled && gauges.storm.is_none() && began <= snapshot.at =>
                    {
                        EventKind::PauseStallEnded { egress, priority }
                    }
                    _ => continue,
                };
                self.take_event(&Event {
                    at: snapshot.at,
                    kind,
                });
            }
        }
    }
}
