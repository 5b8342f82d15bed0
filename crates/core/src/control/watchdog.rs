//! Verdicts on stalls: storm or not.
//!
//! The dataplane reports that a neighbour has paused an (egress, priority) for the watchdog's detection time
//! ([`EventKind::PauseStalled`](crate::event::EventKind::PauseStalled)). Such a stall is one of three things: the
//! neighbour itself is faulty (a *storm*), the egress is part of a credit loop, or the neighbour is a switch that is
//! itself paused (a *victim* of a storm or loop further on).
//!
//! | the egress leads to | verdict |
//! |---|---|
//! | a host (edge port) | storm: no loop runs through a host, and there is nothing behind it |
//! | a switch that has a Weir TLV in its LLDP, or has sent or returned a CLCM | no storm: the neighbour judges its own egress ports by this table, and a loop is left to the Deadlock Breaker |
//! | a switch with LLDP but without the TLV, or one configured as `regular` | storm, unless a CLCM of ours returns within four CLCM intervals of the suspicion |
//! | an unknown switch | no storm: dropping frames of a victim is worse than waiting |
//!
//! Under [`Policy::Watchdog`] every stall is a storm at once, loop or not: the behaviour of a switch without CLCM.
//!
//! A verdict of *no storm* holds until something changes: a stall that continues is judged again when the neighbour
//! becomes known.

use super::report::{NoStormReason, ReportKind};
use super::{ControlPlane, Policy};
use crate::command::Command;
use crate::units::{Instant, PortId, Priority, PRIORITY_COUNT};

/// CLCM intervals after which a CLCM is no longer expected to return round a loop.
const CLCM_INTERVALS: u64 = 4;

/// Properties of a fabric port's neighbour that matter for storms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StormNeighbour {
    /// Unknown.
    #[default]
    Unknown,
    /// It does not distinguish loops from storms: its pauses are its own.
    Regular,
    /// It judges its own egress ports as we do.
    Judges,
}

#[derive(Debug)]
#[cfg_attr(feature = "testing", derive(Clone))]
pub(super) struct Watchdog {
    ports: Vec<Port>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Port {
    neighbour: StormNeighbour,
    speaks_clcm: bool,
    stalls: [Option<Stall>; PRIORITY_COUNT],
    began: [Instant; PRIORITY_COUNT],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stall {
    /// Waits for the detector's suspicion; CLCM are sent from then on.
    Unsuspected,
    /// A CLCM may return until this time.
    Asked(Instant),
    Storm,
    Dismissed(NoStormReason),
}

impl Watchdog {
    pub(super) fn new(port_count: usize) -> Self {
        Self {
            ports: vec![Port::default(); port_count],
        }
    }

    /// Returns when the next verdict is due. O(ports).
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        let stalls = self.ports.iter().flat_map(|port| port.stalls);
        stalls
            .filter_map(|stall| match stall {
                Some(Stall::Asked(until)) => Some(until),
                _ => None,
            })
            .min()
    }

    fn get_mut(&mut self, egress: PortId, priority: Priority) -> Option<&mut Option<Stall>> {
        let port = self.ports.get_mut(egress.index())?;
        Some(&mut port.stalls[priority.index()])
    }
}

impl ControlPlane {
    /// Sets the kind of neighbour known from LLDP or the configuration. A stall that continues is judged again.
    pub fn set_storm_neighbour(&mut self, now: Instant, port: PortId, neighbour: StormNeighbour) {
        let Some(state) = self.watchdog.ports.get_mut(port.index()) else {
            return;
        };
        if core::mem::replace(&mut state.neighbour, neighbour) == neighbour {
            return;
        }
        for priority in Priority::ALL {
            let stall = self.watchdog.ports[port.index()].stalls[priority.index()];
            if matches!(stall, Some(stall) if stall != Stall::Storm) {
                self.judge_stall(now, port, priority);
            }
        }
    }

    /// Forgets that the neighbour of `port` sent CLCM: it may now be another one.
    pub fn forget_neighbour(&mut self, port: PortId) {
        if let Some(state) = self.watchdog.ports.get_mut(port.index()) {
            state.speaks_clcm = false;
        }
    }

    /// Returns true while an egress is stalled by a pause, when the kind of neighbour matters.
    pub fn has_stalls(&self) -> bool {
        let mut stalls = self.watchdog.ports.iter().flat_map(|port| port.stalls);
        stalls.any(|stall| stall.is_some())
    }

    /// Start of the known stall of this (`egress`, `priority`).
    pub fn stall_began(&self, egress: PortId, priority: Priority) -> Option<Instant> {
        let port = self.watchdog.ports.get(egress.index())?;
        port.stalls[priority.index()].map(|_| port.began[priority.index()])
    }

    pub(super) fn begin_stall(&mut self, now: Instant, egress: PortId, priority: Priority) {
        if let Some(port) = self.watchdog.ports.get_mut(egress.index()) {
            port.stalls[priority.index()] = None;
            port.began[priority.index()] = now;
            self.judge_stall(now, egress, priority);
        }
    }

    pub(super) fn end_stall(&mut self, egress: PortId, priority: Priority) {
        if let Some(stall) = self.watchdog.get_mut(egress, priority) {
            *stall = None;
        }
    }

    pub(super) fn note_suspected_stall(
        &mut self,
        now: Instant,
        egress: PortId,
        priority: Priority,
    ) {
        let until = now + self.config.clcm_interval.saturating_mul(CLCM_INTERVALS);
        if let Some(stall @ Some(Stall::Unsuspected)) = self.watchdog.get_mut(egress, priority) {
            *stall = Some(Stall::Asked(until));
        }
    }

    pub(super) fn note_clcm_from(&mut self, now: Instant, port: PortId) {
        if self.config.fabric_ports.contains(port) {
            self.note_speaks_clcm(now, port);
        }
    }

    pub(super) fn note_loop(&mut self, now: Instant, egress: PortId) {
        self.note_speaks_clcm(now, egress);
    }

    pub(super) fn judge_due_stalls(&mut self, now: Instant) {
        for index in 0..self.watchdog.ports.len() {
            let Some(egress) = PortId::from_index(index) else {
                return;
            };
            for priority in Priority::ALL {
                match self.watchdog.ports[index].stalls[priority.index()] {
                    Some(Stall::Asked(until)) if until <= now => {
                        self.judge_stall(now, egress, priority);
                    }
                    _ => {}
                }
            }
        }
    }

    fn note_speaks_clcm(&mut self, now: Instant, port: PortId) {
        let Some(state) = self.watchdog.ports.get_mut(port.index()) else {
            return;
        };
        if core::mem::replace(&mut state.speaks_clcm, true) {
            return;
        }
        for priority in Priority::ALL {
            let stall = self.watchdog.ports[port.index()].stalls[priority.index()];
            if matches!(stall, Some(stall) if stall != Stall::Storm) {
                self.judge_stall(now, port, priority);
            }
        }
    }

    fn judge_stall(&mut self, now: Instant, egress: PortId, priority: Priority) {
        let Some(port) = self.watchdog.ports.get(egress.index()) else {
            return;
        };
        let before = port.stalls[priority.index()];
        let is_edge = !self.config.fabric_ports.contains(egress);
        let verdict = if self.config.policy == Policy::Watchdog || is_edge {
            Stall::Storm
        } else if port.speaks_clcm || port.neighbour == StormNeighbour::Judges {
            Stall::Dismissed(NoStormReason::NeighbourJudges)
        } else if port.neighbour == StormNeighbour::Unknown {
            Stall::Dismissed(NoStormReason::UnknownNeighbour)
        } else {
            self.await_clcm(now, egress, priority, before)
        };
        self.watchdog.ports[egress.index()].stalls[priority.index()] = Some(verdict);
        match verdict {
            Stall::Storm => self.command(Command::CallStorm { egress, priority }),
            Stall::Dismissed(reason) if before != Some(verdict) => {
                self.report(now, egress, priority, ReportKind::NoStorm { reason });
            }
            Stall::Dismissed(_) | Stall::Unsuspected | Stall::Asked(_) => {}
        }
    }

    fn await_clcm(
        &self,
        now: Instant,
        egress: PortId,
        priority: Priority,
        before: Option<Stall>,
    ) -> Stall {
        if !self.config.policy.speaks_clcm() {
            return Stall::Storm;
        }
        match before {
            // Judged again only when its time is over: what could end it sooner gives another verdict.
            Some(Stall::Asked(_)) => Stall::Storm,
            _ if self.suspects.current(egress, priority).is_some() => {
                Stall::Asked(now + self.config.clcm_interval.saturating_mul(CLCM_INTERVALS))
            }
            _ => Stall::Unsuspected,
        }
    }
}
