//! Where protocol P touches the switch: Level assignment, lifting, and Feedback (Karol, Golestani and Lee,
//! sections III to V).

use super::{EntryId, FeedbackReceived, GrantsTaken, ShareId};
use crate::command::CommandError;
use crate::config::{FeedbackCoding, Neighbour, PortRole};
use crate::counters::DropReason;
use crate::event::EventKind;
use crate::frame::Frame;
use crate::level::Level;
use crate::port_set::PortSet;
use crate::switch::admission::Egresses;
use crate::switch::virtual_queues::Place;
use crate::switch::Switch;
use crate::units::{Bytes, Instant, PortId, Priority, Quanta};

/// What a frame that is to be admitted does to its destination's Level.
#[derive(Clone, Copy, Debug)]
pub(in crate::switch) struct Assignment {
    /// `None` for a destination that has no frames here.
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

impl Switch {
    /// Level Assignment Rules 4 and 5, for a frame of a class with Levels: what its destination has once it is
    /// here. Changes nothing yet.
    ///
    /// Equation 22 gives the Level 1 + j by the room that there is now. With a round trip time that may be less
    /// than one above the Feedback that let the frame out, and then lemma 3 does not hold. So it is at least that;
    /// the book's page on Levels has the proof.
    #[inline(always)]
    pub(in crate::switch) fn assign_level(
        &mut self,
        now: Instant,
        port: PortId,
        frame: &Frame,
    ) -> Result<Assignment, DropReason> {
        let priority = frame.priority;
        let entry = self.levels.find(priority, frame.destination, port);
        let before = match entry {
            Some(entry) => self.levels.level(entry),
            // The entry of a destination that is new begins at the class's own Level.
            None => {
                let mode = &self.config.classes[priority.index()].mode;
                mode.level_rules().level_min
            }
        };
        let Some(state) = &mut self.ports[port.index()].levels[priority.index()] else {
            return Ok(Assignment {
                entry,
                before,
                after: before,
            });
        };
        if let Some(level) = state.budget.arrival_level() {
            let floor = state.told.lowest(now).above();
            let floor = floor.unwrap_or(Level::ZERO).min(state.budget.depth());
            #[cfg(feature = "testing")]
            let floor = if self.faults.level_as_printed {
                Level::ZERO
            } else {
                floor
            };
            return Ok(Assignment {
                entry,
                before,
                after: before.max(level).max(floor),
            });
        }
        Err(self.refuse_level(now, port, priority))
    }

    /// Not even Level D has room.
    #[cold]
    fn refuse_level(&mut self, now: Instant, ingress: PortId, priority: Priority) -> DropReason {
        let state = &mut self.ports[ingress.index()].levels[priority.index()];
        if state
            .as_mut()
            .is_some_and(|state| state.budget.note_refusal())
        {
            self.push_event(now, EventKind::HeadroomExceeded { ingress, priority });
        }
        DropReason::HeadroomExceeded
    }

    /// The frame, of a class with Levels, is admitted: its destination is lifted with all that is buffered
    /// for it, and the frame is stored. O(1); for a destination that is lifted O(ingress ports with frames
    /// for it × their egress ports).
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
                self.ready.note_due(port, state);
            }
        }
        share
    }

    /// A frame has left the switch.
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
            // Room that was gained can but lower the Feedback, and nothing is lower than zero.
            if state.coding != FeedbackCoding::Pfc || link.sent.told() > Level::ZERO {
                state.note_feedback(priority);
                self.ready.note_due(ingress, state);
            }
        }
    }

    /// A pause time came in by `port` for `priority` in a PFC frame. True when it is Feedback: then it is
    /// no pause, or one that may be over with the next frame.
    pub(in crate::switch) fn receive_feedback(
        &mut self,
        now: Instant,
        port: PortId,
        priority: Priority,
        quanta: Quanta,
    ) -> bool {
        let refresh = self.config.feedback_refresh;
        let state = &mut self.ports[port.index()];
        let Some(level) = &mut state.levels[priority.index()] else {
            return false;
        };
        let (neighbour, depth) = (state.neighbour, level.budget.depth());
        let is_regular = neighbour == Neighbour::Regular;
        if level.given.is_some() && GrantsTaken::is_grant(quanta) && !is_regular {
            // One that comes too early says nothing.
            if let Some(feedback) = level.taken.receive(quanta, depth) {
                level.received.receive(now, feedback, refresh);
                state.counters.priority[priority.index()].feedback_received += 1;
            }
            return true;
        }
        let Some(feedback) = FeedbackReceived::decode(quanta) else {
            level.received.note_other();
            return false;
        };
        if level.obeys {
            let received = &mut level.received;
            received.receive_from(now, neighbour, feedback, depth, refresh);
        }
        if is_regular {
            return false;
        }
        state.counters.priority[priority.index()].feedback_received += 1;
        if state.neighbour == Neighbour::Enhanced {
            // It sends no second frame. What it held before, it holds no more.
            state
                .pause_received
                .receive_pfc(now, priority, Quanta::ZERO);
            return true;
        }
        false
    }

    /// The same for a PAUSE frame: one Feedback for all classes with Levels.
    pub(in crate::switch) fn receive_link_feedback(
        &mut self,
        now: Instant,
        port: PortId,
        quanta: Quanta,
    ) -> bool {
        let refresh = self.config.feedback_refresh;
        let state = &mut self.ports[port.index()];
        if state.levels.iter().all(Option::is_none) {
            return false;
        }
        let (neighbour, feedback) = (state.neighbour, FeedbackReceived::decode(quanta));
        for (level, counters) in state.levels.iter_mut().zip(&mut state.counters.priority) {
            let Some(level) = level else { continue };
            let (depth, received) = (level.budget.depth(), &mut level.received);
            match feedback {
                None => received.note_other(),
                Some(feedback) if level.obeys => {
                    // A Feedback for the whole link goes up to the highest D of all classes.
                    let feedback = feedback.min(depth);
                    received.receive_from(now, neighbour, feedback, depth, refresh);
                    counters.feedback_received += u64::from(neighbour != Neighbour::Regular);
                }
                Some(_) => {}
            }
        }
        if feedback.is_none() {
            return false;
        }
        if state.neighbour == Neighbour::Enhanced {
            state.pause_received.receive_pause(now, Quanta::ZERO);
            return true;
        }
        false
    }

    /// Feedback that is due again, and what a neighbour said that counts no more.
    pub(in crate::switch) fn refresh_feedback(
        &mut self,
        now: Instant,
        port: PortId,
        priority: Priority,
    ) {
        #[cfg(feature = "testing")]
        if self.forgets_refresh() {
            return;
        }
        let state = &mut self.ports[port.index()];
        state.pause_due |= state.link_sent.refresh(now);
        let Some(level) = &mut state.levels[priority.index()] else {
            return;
        };
        if level.sent.refresh(now) {
            state.pfc_due.insert(priority);
        }
        if level.received.expire(now) {
            state.counters.priority[priority.index()].feedback_expired += 1;
        }
    }

    /// What the neighbour was told as the one, it may not have understood as the other. What it told us
    /// stays until it expires: should it go on as before, nothing is lost.
    pub(in crate::switch) fn set_neighbour(
        &mut self,
        port: PortId,
        neighbour: Neighbour,
    ) -> Result<(), CommandError> {
        let state = self.port_mut(port)?;
        if core::mem::replace(&mut state.neighbour, neighbour) == neighbour {
            return Ok(());
        }
        state.link_sent.tell_anew();
        state.pause_due = true;
        for priority in Priority::ALL {
            if let Some(level) = &mut state.levels[priority.index()] {
                level.sent.tell_anew();
                level.told.forget();
                state.pfc_due.insert(priority);
            }
        }
        Ok(())
    }

    /// Every link gets Feedback D.
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
                self.ready.note_due(share.ingress, state);
            }
            for egress in share.egresses.iter() {
                let place = Place {
                    egress,
                    priority,
                    ingress: share.ingress,
                    destination: frame.destination.to_u64(),
                };
                self.queues.lift(&place, to);
                self.ready.ports.insert(egress);
            }
        }
        self.levels.set_level(entry, to);
    }

    /// Whether the Deadlock Breaker may release what came in by `ingress`: only where frames have come further than the
    /// class is made for, since a loop of others does not lock (Lemma 1). Such a frame is at Level D and waits for a
    /// switch. O(destinations in the Level Table × their ingress ports).
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

    /// The receiver's half of a release: Level D has more room until `until`, and the neighbour hears of it.
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
            self.ready.note_due(ingress, state);
        }
    }

    /// Takes back what was lent when its time is over: the neighbour hears Feedback D until the loan has left.
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

    /// True when frames that have come further than D links wait at (`egress`, `priority`), and the neighbour's Feedback
    /// lets nothing out.
    pub(in crate::switch) fn holds_too_far(&self, egress: PortId, priority: Priority) -> bool {
        self.ports[egress.index()].is_shut(priority) && self.came_too_far(egress, priority)
    }

    /// True when frames at Level D wait at (`egress`, `priority`) for another switch. O(1).
    pub(in crate::switch) fn came_too_far(&self, egress: PortId, priority: Priority) -> bool {
        let level = self.ports[egress.index()].levels[priority.index()].as_ref();
        level.is_some_and(|level| self.queues.waits_at(egress, priority, level.budget.depth()))
    }

    /// Level D, to which a destination was lifted, belongs to its own switch alone (Lemma 1).
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
        // The lifetime limit counts for it from now on.
        self.ready.timers |= self.config.lifetime.is_some();
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
