//! Choice of the next frame at a port where several priorities wait: owed frames, then those that precede the turns,
//! then turns by weight, with one turn for all priorities that share by ingress port.

use super::port_turns::Pick;
use super::{PortTurns, Precedence, PriorityTurn};
use crate::sets::{PortSet, PrioritySet};
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
    pub(in crate::switch) ports: &'a mut PortTurns,
}

/// The waiting priorities that share by ingress port, and their next frame.
struct Joint {
    /// Without those that a release rules: these take turns for themselves.
    priorities: PrioritySet,
    pick: Option<Pick>,
}

impl Joint {
    /// O(priorities + ports ÷ 64).
    fn new(queues: &VirtualQueues, turns: &PortTurns, port: PortId, offer: &Offer) -> Self {
        let mut priorities = PrioritySet::default();
        if turns.members().is_empty() {
            return Self {
                priorities,
                pick: None,
            };
        }
        let (mut may_leave, mut sources) = (PrioritySet::default(), PortSet::EMPTY);
        for priority in turns.members().iter() {
            if !offer.waiting.contains(priority) || offer.gate(priority) != Gate::ALL {
                continue;
            }
            priorities.insert(priority);
            if offer.sendable.contains(priority) {
                may_leave.insert(priority);
                queues.add_sources(port, priority, &mut sources);
            }
        }
        let length_of = |ingress, priority| {
            let may_leave = may_leave.contains(priority);
            may_leave.then(|| queues.next_length_from(port, priority, ingress))?
        };
        let pick = turns.peek(&sources, length_of);
        Self { priorities, pick }
    }
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
    let Order {
        turn,
        mut precedence,
        ports,
    } = order;
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
    if let Some((_, priority)) = owed {
        if let Some(precedence) = &mut precedence {
            precedence.note_turn(offer, priority, length_of);
        }
        return take(queues, port, offer, priority);
    }
    let mut strict = PrioritySet::default();
    if let Some(precedence) = &mut precedence {
        if let Some(priority) = precedence.choose(offer, length_of) {
            return take(queues, port, offer, priority);
        }
        strict = precedence.strict();
    }
    let joint = Joint::new(queues, ports, port, offer);
    let by_turns = |priority: Priority| {
        let turns = !strict.contains(priority) && !joint.priorities.contains(priority);
        turns.then(|| length_of(priority))?
    };
    let length = joint.pick.map(|pick| pick.length);
    let chosen = turn.choose_beside(ports.quantum(), length, quantum_of, by_turns)?;
    let pick = joint.pick.filter(|_| chosen.priority.is_none());
    let priority = chosen.priority.or(pick.map(|pick| pick.priority))?;
    if let Some(precedence) = precedence {
        precedence.note_turn(offer, priority, |other| match pick {
            Some(pick) if other == priority => Some(pick.length),
            _ => length_of(other),
        });
    }
    let mut passed = chosen.passed;
    for priority in strict.iter() {
        passed.remove(priority);
    }
    for priority in joint.priorities.iter() {
        let is_held = !offer.sendable.contains(priority);
        match is_held && (pick.is_some() || chosen.passed_joint) {
            true => passed.insert(priority),
            false => passed.remove(priority),
        }
    }
    pass_over(queues, port, offer, passed);
    let Some(pick) = pick else {
        return take(queues, port, offer, priority);
    };
    ports.commit(&pick);
    let departure = queues.pop_from(port, priority, pick.ingress)?;
    Some((priority, departure))
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
