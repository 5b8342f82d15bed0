//! Protocol P in the switch: Level assignment, lifting, and Feedback (Karol, Golestani and Lee, sections III to V).

use super::{Budget, EntryId, ShareId, Told};
use crate::config::{FeedbackCoding, PortRole};
use crate::counters::DropReason;
use crate::event::EventKind;
use crate::frame::Frame;
use crate::level::Level;
use crate::sets::PortSet;
use crate::switch::forwarding::Egresses;
use crate::switch::virtual_queues::Place;
use crate::switch::Switch;
use crate::units::{Bytes, Instant, PortId, Priority};

/// Effect of an admitted frame on its destination's Level.
#[derive(Clone, Copy, Debug)]
pub(in crate::switch) struct Assignment {
    /// `None` for a destination without frames here.
    entry: Option<EntryId>,
    before: Level,
    after: Level,
}

impl Assignment {
    /// For classes without Levels.
    pub(in crate::switch) const NONE: Self = Self {
        entry: None,
        before: Level::ZERO,
        after: Level::ZERO,
    };

    pub(in crate::switch) fn level(&self) -> Level {
        self.after
    }
}

/// Equation 22, and at least one above the lowest Feedback that may have released the frame; `None` if there is no
/// room.
#[inline(always)]
fn arrival_level(budget: &mut Budget, told: &mut Told, now: Instant) -> Option<Level> {
    let level = budget.arrival_level()?;
    let floor = told.lowest(now).above();
    let floor = floor.unwrap_or(Level::ZERO).min(budget.depth());
    Some(level.max(floor))
}

impl Switch {
    /// Returns the entry of a frame's destination, and its Level; a new destination starts at the class's minimum
    /// Level.
    #[inline(always)]
    fn level_of(&self, port: PortId, frame: &Frame) -> (Option<EntryId>, Level) {
        let entry = self.levels.find(frame.priority, frame.destination, port);
        let before = match entry {
            Some(entry) => self.levels.level(entry),
            None => {
                let mode = &self.config.classes[frame.priority.index()].mode;
                mode.level_rules().level_min
            }
        };
        (entry, before)
    }

    /// Returns the Level that a frame would get; changes nothing.
    pub(in crate::switch) fn explain_level(
        &self,
        now: Instant,
        port: PortId,
        frame: &Frame,
    ) -> Result<Level, DropReason> {
        let (_, before) = self.level_of(port, frame);
        let Some(state) = &self.ports[port.index()].levels[frame.priority.index()] else {
            return Ok(before);
        };
        let (mut budget, mut told) = (state.budget.clone(), state.told.clone());
        let level = arrival_level(&mut budget, &mut told, now);
        let level = level.map(|level| before.max(level));
        level.ok_or(DropReason::HeadroomExceeded)
    }

    /// Level Assignment Rules 4 and 5, for a frame of a class with Levels: returns the future Level of its destination.
    /// Changes nothing yet.
    ///
    /// Equation 22 gives the Level 1 + j from the present room. With a round trip time that may be less than one above
    /// the Feedback that released the frame, and then lemma 3 does not hold. So the Level is at least that; the book's
    /// page on Levels has the proof.
    #[inline(always)]
    pub(in crate::switch) fn assign_level(
        &mut self,
        now: Instant,
        port: PortId,
        frame: &Frame,
    ) -> Result<Assignment, DropReason> {
        let priority = frame.priority;
        let (entry, before) = self.level_of(port, frame);
        let Some(state) = &mut self.ports[port.index()].levels[priority.index()] else {
            return Ok(Assignment {
                entry,
                before,
                after: before,
            });
        };
        if let Some(level) = arrival_level(&mut state.budget, &mut state.told, now) {
            #[cfg(feature = "testing")]
            let level = if self.faults.level_as_printed {
                state.budget.arrival_level().unwrap_or(level)
            } else {
                level
            };
            return Ok(Assignment {
                entry,
                before,
                after: before.max(level),
            });
        }
        Err(self.refuse_level(now, port, priority))
    }

    /// Counts a refusal: even Level D has no room.
    #[cold]
    fn refuse_level(&mut self, now: Instant, ingress: PortId, priority: Priority) -> DropReason {
        let state = &mut self.ports[ingress.index()];
        state.counters.priority[priority.index()].headroom_dropped += 1;
        if state.levels[priority.index()]
            .as_mut()
            .is_some_and(|state| state.budget.note_refusal())
        {
            self.push_event(now, EventKind::HeadroomExceeded { ingress, priority });
        }
        DropReason::HeadroomExceeded
    }

    /// Stores an admitted frame of a class with Levels: its destination is lifted with all of its buffered frames.
    /// O(1); if the destination is lifted, O(ingress ports with frames for it × their egress ports).
    #[inline(always)]
    pub(in crate::switch) fn store_at_level(
        &mut self,
        now: Instant,
        port: PortId,
        frame: &Frame,
        assignment: Assignment,
        cells: Bytes,
        egresses: &Egresses,
    ) -> ShareId {
        let priority = frame.priority;
        let Assignment {
            entry,
            before,
            after,
        } = assignment;
        if after > before {
            if let Some(entry) = entry {
                self.lift(frame, entry, before, after);
            }
            let state = &mut self.ports[port.index()];
            state.counters.priority[priority.index()].lifts += 1;
            if after >= self.config.classes[priority.index()].mode.depth() {
                self.check_route(now, port, frame, &egresses.ports());
            }
        }
        let share = match entry {
            Some(entry) => self.levels.enter(entry, port, egresses.only(), cells),
            None => {
                let (destination, only) = (frame.destination, egresses.only());
                self.levels
                    .add(priority, destination, after, port, only, cells)
            }
        };
        debug_assert!(share.is_some(), "there is room for every frame");
        let share = share.unwrap_or(ShareId::NONE);
        if let Egresses::Several(ports) = egresses {
            for egress in ports.iter() {
                self.levels.note_egress(share, egress);
            }
        }
        let state = &mut self.ports[port.index()];
        if let Some(level) = &mut state.levels[priority.index()] {
            level.budget.store(after, cells);
            if state.coding != FeedbackCoding::Pfc || !level.is_calm() {
                level.sent.note_arrival(cells, level.repeat_after);
                state.link_sent.note_arrival(cells, level.repeat_after);
                state.note_feedback(priority);
                self.ready.note_due(port, &state.due);
            }
        }
        share
    }

    #[inline(never)]
    pub(in crate::switch) fn leave_level(
        &mut self,
        ingress: PortId,
        priority: Priority,
        share: ShareId,
        cells: Bytes,
    ) {
        let Some(level) = self.levels.leave(share, cells) else {
            return;
        };
        let state = &mut self.ports[ingress.index()];
        if let Some(link) = &mut state.levels[priority.index()] {
            link.budget.leave(level, cells);
            if link.budget.is_draining() {
                link.settle_loan();
            }
            // More room can only lower the Feedback, and not below zero.
            if state.coding != FeedbackCoding::Pfc || link.sent.told() > Level::ZERO {
                state.note_feedback(priority);
                self.ready.note_due(ingress, &state.due);
            }
        }
    }

    pub(in crate::switch) fn close_levels(&mut self) {
        for index in 0..self.ports.len() {
            for priority in Priority::ALL {
                let state = &mut self.ports[index];
                if let Some(level) = &mut state.levels[priority.index()] {
                    level.budget.close();
                    state.note_feedback(priority);
                }
            }
        }
    }

    #[inline(never)]
    fn lift(&mut self, frame: &Frame, entry: EntryId, from: Level, to: Level) {
        let priority = frame.priority;
        for share in self.levels.shares(entry) {
            let state = &mut self.ports[share.ingress.index()];
            if let Some(level) = &mut state.levels[priority.index()] {
                level.budget.lift(from, to, share.cells);
                state.note_feedback(priority);
                self.ready.note_due(share.ingress, &state.due);
            }
            for egress in share.egresses.iter() {
                let place = Place {
                    egress,
                    priority,
                    ingress: share.ingress,
                    destination: frame.destination.to_u64(),
                };
                self.queues.lift(&place, to);
                self.ready.note_port(egress);
            }
        }
        self.levels.set_level(entry, to);
    }

    /// Checks that a destination lifted to Level D is at its own switch (Lemma 1).
    #[cold]
    fn check_route(&mut self, now: Instant, port: PortId, frame: &Frame, egresses: &PortSet) {
        let leads_on = egresses
            .iter()
            .any(|egress| self.ports[egress.index()].role == PortRole::Fabric);
        if !leads_on {
            return;
        }
        let counters = &mut self.ports[port.index()].counters;
        counters.priority[frame.priority.index()].routes_too_long += 1;
        // The lifetime limit applies to it from now on.
        if self.config.lifetime.is_some() {
            self.ready.note_timers();
        }
        self.push_event(
            now,
            EventKind::RouteTooLong {
                ingress: port,
                priority: frame.priority,
                destination: frame.destination,
            },
        );
    }
}
