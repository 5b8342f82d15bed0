//! Where protocol P touches the switch: Level assignment, lifting, and Feedback (Karol, Golestani and Lee,
//! sections III to V).

use super::levels::{FeedbackReceived, LevelTable, ShareId};
use super::virtual_queues::Place;
use super::{LevelGauges, Switch};
use crate::config::{Neighbour, PortRole};
use crate::counters::DropReason;
use crate::event::EventKind;
use crate::frame::Frame;
use crate::level::{Level, LEVEL_MAX};
use crate::port_set::PortSet;
use crate::units::{Bytes, Instant, MacAddress, PortId, Priority, Quanta};

/// What a frame that is to be admitted does to its destination's Level.
#[derive(Clone, Copy, Debug)]
pub(super) struct Assignment {
    before: Level,
    after: Level,
}

impl Assignment {
    /// For classes without Levels.
    pub(super) const NONE: Self = Self {
        before: Level::ZERO,
        after: Level::ZERO,
    };

    pub(super) fn level(&self) -> Level {
        self.after
    }
}

impl Switch {
    /// Level Assignment Rules 4 (with equation 22) and 5: what the frame's destination has once the frame
    /// is here. Changes nothing yet.
    pub(super) fn assign_level(
        &mut self,
        now: Instant,
        port: PortId,
        frame: &Frame,
    ) -> Result<Assignment, DropReason> {
        let Some(table) = self.table_of(frame.priority) else {
            return Ok(Assignment::NONE);
        };
        let before = table.level(frame.priority, frame.destination);
        let Some(state) = &mut self.ports[port.index()].levels[frame.priority.index()] else {
            return Ok(Assignment {
                before,
                after: before,
            });
        };
        if let Some(level) = state.budget.arrival_level() {
            return Ok(Assignment {
                before,
                after: before.max(level),
            });
        }
        if state.budget.note_refusal() {
            let (ingress, priority) = (port, frame.priority);
            self.push_event(now, EventKind::HeadroomExceeded { ingress, priority });
        }
        Err(DropReason::HeadroomExceeded)
    }

    /// The frame is admitted: its destination is lifted with all that is buffered for it, and the frame
    /// is stored. O(ingress ports with frames for the destination × their egress ports).
    pub(super) fn store_at_level(
        &mut self,
        now: Instant,
        port: PortId,
        frame: &Frame,
        assignment: Assignment,
        cells: Bytes,
        egresses: &PortSet,
    ) -> ShareId {
        if self.table_of(frame.priority).is_none() {
            return ShareId::NONE;
        }
        let (priority, destination) = (frame.priority, frame.destination);
        let Assignment { before, after } = assignment;
        if after > before {
            self.lift(priority, destination, before, after);
            let state = &mut self.ports[port.index()];
            state.counters.priority[priority.index()].lifts += 1;
            self.check_route(now, port, frame, after, egresses);
        }
        let share = self
            .levels
            .enter(priority, destination, port, after, cells, egresses);
        let state = &mut self.ports[port.index()];
        if let Some(level) = &mut state.levels[priority.index()] {
            level.budget.store(after, cells);
            level.sent.note_arrival(cells, level.repeat_after);
            if level.sent.is_due(level.budget.feedback()) {
                state.pfc_due.insert(priority);
            }
        }
        debug_assert!(share.is_some(), "there is room for every frame");
        share.unwrap_or(ShareId::NONE)
    }

    /// A frame has left the switch.
    pub(super) fn leave_level(
        &mut self,
        ingress: PortId,
        priority: Priority,
        share: ShareId,
        cells: Bytes,
    ) {
        let Some(level) = self.levels.leave(share, cells) else {
            return;
        };
        if let Some(state) = &mut self.ports[ingress.index()].levels[priority.index()] {
            state.budget.leave(level, cells);
        }
        self.note_feedback(ingress, priority);
    }

    /// A pause time came in by `port` for `priority`. True when it is Feedback: then it is no pause, or
    /// one that may be over with the next frame.
    pub(super) fn receive_feedback(
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
        if state.neighbour == Neighbour::Regular {
            return false;
        }
        let Some(feedback) = FeedbackReceived::decode(quanta, level.budget.depth()) else {
            return false;
        };
        level.received.receive(now, feedback, refresh);
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

    /// Feedback that is due again, and what a neighbour said that counts no more.
    pub(super) fn refresh_feedback(&mut self, now: Instant, port: PortId, priority: Priority) {
        let state = &mut self.ports[port.index()];
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

    /// Every link gets Feedback D.
    pub(super) fn close_levels(&mut self) {
        for index in 0..self.ports.len() {
            let Some(port) = PortId::from_index(index) else {
                return;
            };
            for priority in Priority::ALL {
                if let Some(state) = &mut self.ports[index].levels[priority.index()] {
                    state.budget.close();
                }
                self.note_feedback(port, priority);
            }
        }
    }

    /// Protocol P on one link, for people.
    pub(super) fn level_gauges(&self, port: PortId, priority: Priority) -> Option<LevelGauges> {
        let state = self.ports.get(port.index())?;
        let level = state.levels[priority.index()].as_ref()?;
        let mut m = [Bytes::ZERO; LEVEL_MAX];
        let from = level.budget.m();
        m[..from.len()].copy_from_slice(from);
        Some(LevelGauges {
            depth: level.budget.depth(),
            m,
            feedback_sent: level.sent.told(),
            feedback_received: level.received.feedback(),
            held_frames: self
                .queues
                .held_frames(port, priority, state.gate(priority)),
        })
    }

    fn table_of(&self, priority: Priority) -> Option<&LevelTable> {
        let has_levels = self.config.classes[priority.index()].mode.depth() > Level::ZERO;
        has_levels.then_some(&self.levels)
    }

    fn lift(&mut self, priority: Priority, destination: MacAddress, from: Level, to: Level) {
        for share in self.levels.shares(priority, destination) {
            let state = &mut self.ports[share.ingress.index()];
            if let Some(level) = &mut state.levels[priority.index()] {
                level.budget.lift(from, to, share.cells);
                if level.sent.is_due(level.budget.feedback()) {
                    state.pfc_due.insert(priority);
                }
            }
            for egress in share.egresses.iter() {
                let place = Place {
                    egress,
                    priority,
                    ingress: share.ingress,
                    destination: destination.to_u64(),
                };
                self.queues.lift(&place, to);
            }
        }
        self.levels.set_level(priority, destination, to);
    }

    /// Level D belongs to the destination's own switch alone (Lemma 1).
    fn check_route(
        &mut self,
        now: Instant,
        port: PortId,
        frame: &Frame,
        level: Level,
        egresses: &PortSet,
    ) {
        let depth = self.config.classes[frame.priority.index()].mode.depth();
        let leads_on = egresses
            .iter()
            .any(|egress| self.ports[egress.index()].role == PortRole::Fabric);
        if level < depth || !leads_on {
            return;
        }
        let counters = &mut self.ports[port.index()].counters;
        counters.priority[frame.priority.index()].routes_too_long += 1;
        self.push_event(
            now,
            EventKind::RouteTooLong {
                ingress: port,
                priority: frame.priority,
                destination: frame.destination,
            },
        );
    }

    fn note_feedback(&mut self, port: PortId, priority: Priority) {
        let state = &mut self.ports[port.index()];
        if let Some(level) = &state.levels[priority.index()] {
            if level.sent.is_due(level.budget.feedback()) {
                state.pfc_due.insert(priority);
            }
        }
    }
}
