//! Loans for frames that have come further than D links: they may lock a loop, so a release lends Level D more room.

use crate::command::CommandError;
use crate::config::PortRole;
use crate::sets::PortSet;
use crate::switch::Switch;
use crate::units::{Instant, PortId, Priority};

impl Switch {
    /// Only a class that can deadlock can be released. A class with Levels uses [`check_loan`](Self::check_loan).
    pub(in crate::switch) fn check_releasable(
        &self,
        priority: Priority,
    ) -> Result<(), CommandError> {
        if !self.lossless.contains(priority) {
            return Err(CommandError::NotLossless(priority));
        }
        if self.with_levels.contains(priority) {
            return Err(CommandError::HasLevels(priority));
        }
        Ok(())
    }

    /// Checks that the Deadlock Breaker may release frames received on `ingress`: only if some have come further than D
    /// links, since a loop of others does not lock (Lemma 1). Such a frame is at Level D and waits for a switch.
    /// O(destinations in the Level Table × their ingress ports).
    pub(in crate::switch) fn check_loan(
        &self,
        ingress: PortId,
        priority: Priority,
    ) -> Result<(), CommandError> {
        let level = self
            .ports
            .get(ingress.index())
            .and_then(|port| port.levels[priority.index()].as_ref());
        let fabric: PortSet = (0..self.ports.len())
            .filter_map(PortId::from_index)
            .filter(|port| self.ports[port.index()].role == PortRole::Fabric)
            .collect();
        let came_too_far = level.is_some_and(|level| {
            let depth = level.budget.depth();
            level.obeys && self.levels.waits_at(priority, depth, ingress, &fabric)
        });
        if came_too_far {
            Ok(())
        } else {
            Err(CommandError::HasLevels(priority))
        }
    }

    /// The receiver's half of a release: Level D has more room until `until`, and the neighbour is notified.
    pub(in crate::switch) fn lend_level(
        &mut self,
        ingress: PortId,
        priority: Priority,
        until: Instant,
    ) {
        let state = &mut self.ports[ingress.index()];
        if let Some(level) = &mut state.levels[priority.index()] {
            level.budget.lend(until);
            state.note_feedback(priority);
            self.ready.note_due(ingress, &state.due);
        }
    }

    /// Ends a loan: the neighbour gets Feedback D until the loan's frames have left.
    pub(in crate::switch) fn end_loan(
        &mut self,
        now: Instant,
        ingress: PortId,
        priority: Priority,
    ) {
        let state = &mut self.ports[ingress.index()];
        if let Some(level) = &mut state.levels[priority.index()] {
            if level.budget.end_loan(now) {
                level.settle_loan();
                state.note_feedback(priority);
            }
        }
    }

    /// Returns true when frames that have come further than D links wait at (`egress`, `priority`),
    /// and the neighbour's Feedback blocks everything.
    pub(in crate::switch) fn holds_too_far(&self, egress: PortId, priority: Priority) -> bool {
        self.ports[egress.index()].is_shut(priority) && self.came_too_far(egress, priority)
    }

    /// Returns true when frames at Level D wait at (`egress`, `priority`) for another switch. O(1).
    pub(in crate::switch) fn came_too_far(&self, egress: PortId, priority: Priority) -> bool {
        let level = self.ports[egress.index()].levels[priority.index()].as_ref();
        level.is_some_and(|level| self.queues.waits_at(egress, priority, level.budget.depth()))
    }
}
