//! Decoding of the neighbour's Feedback, by the coding of the link.

use crate::config::Neighbour;
use crate::switch::levels::{FeedbackReceived, GrantsTaken};
use crate::switch::Switch;
use crate::units::{Instant, PortId, Priority, Quanta};

impl Switch {
    /// Handles a pause time for `priority` received on `port` in a PFC frame. Returns true if it is Feedback: then it
    /// is no pause, or one that the next frame may end.
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
            // A grant before grants are valid has no meaning.
            if let Some(feedback) = level.taken.receive(quanta, depth) {
                level.received.receive(now, feedback, refresh);
                // Permission waits for the frame: nothing needs to linger, and there is no reserve for it.
                level.received.note_opportunity();
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
            // It sends no second frame. An earlier pause no longer holds.
            state
                .pause_received
                .receive_pfc(now, priority, Quanta::ZERO);
            return true;
        }
        false
    }

    /// Handles a PAUSE frame: one Feedback for all classes with Levels.
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
                    // Feedback for the whole link goes up to the highest D of all classes.
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
        state.due.pause |= state.link_sent.refresh(now);
        let Some(level) = &mut state.levels[priority.index()] else {
            return;
        };
        if level.sent.refresh(now) {
            state.due.pfc.insert(priority);
        }
        if level.received.expire(now) {
            state.counters.priority[priority.index()].feedback_expired += 1;
        }
    }
}
