//! The next frame of a port at which several priorities wait: those that are owed one, then turns by weight.

use super::PriorityTurn;
use crate::sets::PrioritySet;
use crate::switch::virtual_queues::{Departure, Gate, VirtualQueues};
use crate::units::{PortId, Priority, PRIORITY_COUNT};

/// What a port may send, by priority.
#[derive(Clone, Copy, Debug)]
pub(in crate::switch) struct Offer {
    /// Priorities with frames.
    pub(in crate::switch) waiting: PrioritySet,
    /// Those of them that no pause holds.
    pub(in crate::switch) sendable: PrioritySet,
    /// The rule of each that waits.
    pub(in crate::switch) gates: [Gate; PRIORITY_COUNT],
}

impl Offer {
    fn gate(&self, priority: Priority) -> Gate {
        self.gates[priority.index()]
    }
}

/// Takes the next frame of `port`. The bound of [`virtual_queues`](crate::switch::virtual_queues) holds across priorities: what
/// is owed at one of them goes before the turns of all. O(priorities), and O(Levels) where a frame is owed.
pub(in crate::switch) fn take_next(
    queues: &mut VirtualQueues,
    turn: &mut PriorityTurn,
    port: PortId,
    offer: &Offer,
    quantum_of: impl Fn(Priority) -> u64,
) -> Option<(Priority, Departure)> {
    let owed = offer.sendable.iter().filter_map(|priority| {
        let since = queues.owed_since(port, priority, offer.gate(priority))?;
        Some((since, priority))
    });
    if let Some((_, priority)) = owed.min_by_key(|(since, _)| *since) {
        let departure = queues.pop(port, priority, offer.gate(priority))?;
        return Some((priority, departure));
    }
    let length_of = |priority: Priority| {
        let gate = offer.gate(priority);
        let waits = offer.sendable.contains(priority);
        waits.then(|| queues.next_length(port, priority, gate))?
    };
    let (priority, passed) = turn.choose(quantum_of, length_of)?;
    for held in passed.iter().filter(|held| offer.waiting.contains(*held)) {
        queues.pass_over(port, held, offer.gate(held));
    }
    let departure = queues.pop(port, priority, offer.gate(priority))?;
    Some((priority, departure))
}

#[cfg(test)]
#[path = "choice_tests.rs"]
mod tests;
