//! Turns between the ingress ports of one egress, over all priorities that share by port.
//!
//! A lane of [`virtual_queues`](crate::switch::virtual_queues) takes turns with others of its priority, so a port with
//! frames in seven priorities would have seven lanes' shares. Priorities whose class shares by port
//! ([`Algorithm::Ports`]) are therefore one member of the turns between priorities. Its next frame is found in two
//! steps, both by deficit round robin: an ingress port, then a priority of that port. Frames of one (ingress, priority)
//! leave in the order of their virtual queues.
//!
//! The state is used and changed only while several priorities wait. While one waits, its lanes take turns, which is
//! the same.

use super::PriorityTurn;
use crate::config::{Algorithm, SwitchConfig};
use crate::sets::{PortSet, PrioritySet};
use crate::units::{PortId, Priority};

/// Turns of one egress.
#[derive(Debug)]
#[cfg_attr(feature = "testing", derive(Clone))]
pub(in crate::switch) struct PortTurns {
    members: PrioritySet,
    quantum: u64,
    port_count: usize,
    current: PortId,
    /// By ingress port; empty before the first use.
    shares: Vec<Share>,
    /// Memory is allocated before it is needed.
    is_touched: bool,
}

/// The rest of one ingress port's turn, and the turns between its priorities.
#[derive(Clone, Copy, Debug, Default)]
struct Share {
    deficit: u64,
    turn: PriorityTurn,
}

/// The next frame of the joint member, and the state after it.
#[derive(Clone, Copy, Debug)]
pub(in crate::switch) struct Pick {
    pub(in crate::switch) ingress: PortId,
    pub(in crate::switch) priority: Priority,
    pub(in crate::switch) length: u32,
    after: Share,
}

impl PortTurns {
    pub(in crate::switch) fn new(config: &SwitchConfig) -> Self {
        let mut turns = Self {
            members: PrioritySet::default(),
            quantum: config.frame_length_max.get(),
            port_count: config.ports.len(),
            current: PortId::new(0),
            shares: Vec::new(),
            is_touched: false,
        };
        turns.set_members(config);
        turns
    }

    /// To be called after every change of the classes' schedulers.
    pub(in crate::switch) fn set_members(&mut self, config: &SwitchConfig) {
        self.members = PrioritySet::default();
        for (priority, class) in Priority::ALL.into_iter().zip(&config.classes) {
            let by_port = class.scheduler.algorithm == Algorithm::Ports;
            if by_port && class.scheduler.is_plain() && class.mode.depth().get() == 0 {
                self.members.insert(priority);
            }
        }
        if self.is_touched {
            self.touch();
        }
    }

    pub(in crate::switch) fn touch(&mut self) {
        self.is_touched = true;
        if !self.members.is_empty() {
            self.allocate();
        }
    }

    fn allocate(&mut self) {
        self.shares.resize(self.port_count, Share::default());
    }

    /// Priorities that share by port.
    pub(in crate::switch) fn members(&self) -> PrioritySet {
        self.members
    }

    /// Weight 1: the bytes of one turn of a port, and of the joint member.
    pub(in crate::switch) fn quantum(&self) -> u64 {
        self.quantum
    }

    /// Returns the next frame of `ports`, those with a frame that may leave. `length_of` returns the length in bytes of
    /// the next frame of a port's priority, `None` if it has none that may leave. O(priorities + ports ÷ 64).
    pub(in crate::switch) fn peek(
        &self,
        ports: &PortSet,
        length_of: impl Fn(PortId, Priority) -> Option<u32>,
    ) -> Option<Pick> {
        let next_of = |ingress: PortId| {
            let share = self.shares.get(ingress.index());
            let share = share.copied().unwrap_or_default();
            let of_priority = |priority| length_of(ingress, priority);
            let (turn, priority, length) = share.turn.peek(self.quantum, of_priority)?;
            let deficit = share.deficit;
            let after = Share { deficit, turn };
            Some(Pick {
                ingress,
                priority,
                length,
                after,
            })
        };
        if ports.contains(self.current) {
            let mut pick = next_of(self.current)?;
            if let Some(rest) = pick.after.deficit.checked_sub(pick.length.into()) {
                pick.after.deficit = rest;
                return Some(pick);
            }
        }
        let mut pick = next_of(ports.next_after(self.current)?)?;
        // A turn after one's own has nothing left of that.
        let kept = match pick.ingress == self.current {
            true => 0,
            false => pick.after.deficit.min(self.quantum),
        };
        pick.after.deficit = (kept + self.quantum).saturating_sub(pick.length.into());
        Some(pick)
    }

    /// Accounts for a frame from [`peek`](Self::peek) that leaves.
    pub(in crate::switch) fn commit(&mut self, pick: &Pick) {
        if self.shares.is_empty() {
            self.allocate();
        }
        self.current = pick.ingress;
        if let Some(share) = self.shares.get_mut(pick.ingress.index()) {
            *share = pick.after;
        }
    }
}
