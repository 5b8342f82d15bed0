//! Choice of the next frame at a port where several priorities wait: owed frames, then those that precede the turns,
//! then turns by weight.

use super::{Precedence, PriorityTurn};
use crate::sets::PrioritySet;
use crate::switch::virtual_queues::{Departure, Gate, VirtualQueues};
use crate::units::{Instant, PortId, Priority, PRIORITY_COUNT};

/// Frames that a port may send, by priority.
#[derive(Clone, Copy, Debug)]
pub(in crate::switch) struct Offer {
    pub(in crate::switch) now: Instant,
    pub(in crate::switch) waiting: PrioritySet,
    /// Those that neither a pause nor their maximum rate blocks.
    pub(in crate::switch) sendable: PrioritySet,
    /// The rule of each waiting priority.
    pub(in crate::switch) gates: [Gate; PRIORITY_COUNT],
}

impl Offer {
    fn gate(&self, priority: Priority) -> Gate {
        self.gates[priority.index()]
    }
}

/// State that decides the order of frames.
pub(in crate::switch) struct Order<'a> {
    pub(in crate::switch) turn: &'a mut PriorityTurn,
    /// Set if not all priorities simply take turns.
    pub(in crate::switch) precedence: Option<&'a mut Precedence>,
}

/// Takes the next frame of `port`. The bound of [`virtual_queues`](crate::switch::virtual_queues) holds across
/// priorities: frames owed at one of them precede the turns of all. O(priorities), and O(Levels) if a frame is owed.
pub(in crate::switch) fn take_next(
    queues: &mut VirtualQueues,
    order: Order<'_>,
    port: PortId,
    offer: &Offer,
    quantum_of: impl Fn(Priority) -> u64,
) -> Option<(Priority, Departure)> {
    let Order { turn, precedence } = order;
    let owed = offer.sendable.iter().filter_map(|priority| {
        let since = queues.owed_since(port, priority, offer.gate(priority))?;
        Some((since, priority))
    });
    let owed = owed.min_by_key(|(since, _)| *since);
    let length_of = |priority: Priority| {
        let gate = offer.gate(priority);
        let waits = offer.sendable.contains(priority);
        waits.then(|| queues.next_length(port, priority, gate))?
    };
    let Some(precedence) = precedence else {
        return match owed {
            Some((_, priority)) => take(queues, port, offer, priority),
            None => {
                let (priority, passed) = turn.choose(quantum_of, length_of)?;
                pass_over(queues, port, offer, passed);
                take(queues, port, offer, priority)
            }
        };
    };
    if let Some((_, priority)) = owed {
        precedence.note_turn(offer, priority, length_of);
        return take(queues, port, offer, priority);
    }
    if let Some(priority) = precedence.choose(offer, length_of) {
        return take(queues, port, offer, priority);
    }
    let strict = precedence.strict();
    let by_turns = |priority: Priority| {
        let turns = !strict.contains(priority);
        turns.then(|| length_of(priority))?
    };
    let (priority, mut passed) = turn.choose(quantum_of, by_turns)?;
    precedence.note_turn(offer, priority, length_of);
    for priority in strict.iter() {
        passed.remove(priority);
    }
    pass_over(queues, port, offer, passed);
    take(queues, port, offer, priority)
}

fn take(
    queues: &mut VirtualQueues,
    port: PortId,
    offer: &Offer,
    priority: Priority,
) -> Option<(Priority, Departure)> {
    let departure = queues.pop(port, priority, offer.gate(priority))?;
    Some((priority, departure))
}

/// Notes the waiting pairs that the turn skipped: they may go first later.
fn pass_over(queues: &mut VirtualQueues, port: PortId, offer: &Offer, passed: PrioritySet) {
    for held in passed.iter().filter(|held| offer.waiting.contains(*held)) {
        queues.pass_over(port, held, offer.gate(held));
    }
}

#[cfg(test)]
#[path = "choice_tests.rs"]
mod tests;
