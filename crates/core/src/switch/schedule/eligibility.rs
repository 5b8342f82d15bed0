//! Frames that may leave by one port, by releases, Feedback, pauses and storms together.

use crate::level::Level;
use crate::sets::PrioritySet;
use crate::switch::levels::LevelState;
use crate::switch::port::Port;
use crate::switch::virtual_queues::Gate;
use crate::switch::Switch;
use crate::units::{Instant, PortId, Priority};

impl Switch {
    /// The time at which `port` may have something to send if nothing else happens: a pause expires, or its line
    /// becomes free. `None`: not by time alone. A time in the past means now. O(priorities).
    pub fn next_transmit(&self, port: PortId) -> Option<Instant> {
        let state = self.ports.get(port.index())?;
        if !state.up {
            return None;
        }
        // A gate that blocks everything must not make the caller spin: a timer ends it.
        let free_at = state.shaper.free_at();
        let may_leave = |priority| {
            let gate = state.gate(state.resumes_at(priority).max(free_at), priority);
            self.queues.may_leave(port, priority, gate)
        };
        let resumes = state
            .waiting
            .iter()
            .filter(|priority| may_leave(*priority))
            .map(|priority| state.resumes_at(priority))
            .min()?;
        // A wait for credits ends when they arrive, not at a time.
        (resumes != Instant::FAR_FUTURE).then(|| resumes.max(free_at))
    }
}

impl Port {
    /// Returns the frames of `priority` that may leave at `now`: a release's rule, a traffic
    /// release's, or the Transmit Eligibility Rule. With Feedback D none may (Karol, section III).
    #[inline(always)]
    pub(in crate::switch) fn gate(&self, now: Instant, priority: Priority) -> Gate {
        let index = priority.index();
        if self.forced.contains(priority) || self.egress[index].release().is_some() {
            return self.gate_of_release(now, priority);
        }
        self.gate_of_levels(now, priority)
    }

    #[inline(always)]
    fn gate_of_levels(&self, now: Instant, priority: Priority) -> Gate {
        match &self.levels[priority.index()] {
            None => Gate::FromLevel(Level::ZERO),
            Some(state) => {
                let from = state.received.lets_out_from(now);
                if from >= state.budget.depth() {
                    self.gate_of_storm(priority, state)
                } else if state.given.is_some() && !state.taken.permits() {
                    Gate::Shut
                } else {
                    Gate::FromLevel(from)
                }
            }
        }
    }

    /// With Feedback D none may leave, unless the storm watchdog ignores it. A number of granted frames is never
    /// exceeded.
    #[cold]
    fn gate_of_storm(&self, priority: Priority, state: &LevelState) -> Gate {
        if self.ignores_pause.contains(priority) && state.given.is_none() {
            Gate::ALL
        } else {
            Gate::Shut
        }
    }

    /// Notes that the line was free and nothing could leave: no Feedback lingers. Returns `None`, for the missing
    /// frame.
    #[cold]
    #[inline(never)]
    pub(in crate::switch) fn note_opportunity<T>(&mut self) -> Option<T> {
        for level in self.levels.iter_mut().flatten() {
            level.received.note_opportunity();
        }
        None
    }

    /// A release chooses among the frames that the Feedback permits; a traffic release applies to classes without
    /// Levels.
    #[cold]
    fn gate_of_release(&self, now: Instant, priority: Priority) -> Gate {
        let index = priority.index();
        let Gate::FromLevel(from) = self.gate_of_levels(now, priority) else {
            return Gate::Shut;
        };
        if self.forced.contains(priority) {
            if let Some(forced) = self.egress[index].forced() {
                return Gate::OnlyFrom(forced.ingress, from);
            }
        }
        match self.egress[index].release() {
            Some(rule) if rule.is_exclusive() => Gate::OnlyFrom(rule.ingress, from),
            Some(rule) if rule.prefers() => Gate::FirstFrom(rule.ingress, from),
            _ => Gate::FromLevel(from),
        }
    }

    /// Returns when the neighbour and the maximum rate let `priority` send if nothing else is received; in the past if
    /// it may send now.
    #[inline]
    pub(in crate::switch) fn resumes_at(&self, priority: Priority) -> Instant {
        let resumes = if self.ignores_pause.contains(priority) || self.forced.contains(priority) {
            Instant::ZERO
        } else {
            self.pause_received.resumes_at(priority)
        };
        match &self.precedence {
            None => resumes,
            Some(precedence) => resumes.max(precedence.free_at(priority)),
        }
    }

    /// Returns the priorities that have frames, are not paused (or send in spite of it), and have not used up their
    /// maximum rate.
    pub(in crate::switch) fn sendable(&self, now: Instant) -> PrioritySet {
        let mut set = self.waiting;
        for priority in self.waiting.iter() {
            if self.resumes_at(priority) > now {
                set.remove(priority);
            }
        }
        set
    }
}
