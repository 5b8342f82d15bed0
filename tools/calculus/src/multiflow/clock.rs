//! Feedback in flight, in order of arrival.

use std::collections::VecDeque;

use crate::algebra::Scalar;

/// Feedback on arrival. Variants are in the order of simultaneous arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Feedback {
    /// B(t − ΔR) of a group has risen above X_off, or is no longer above it.
    Above { group: usize, above: bool },
    /// The sources of a group pause.
    Pause { group: usize },
    /// The sources resume.
    Resume { group: usize },
    /// The time of the formula for t_R has passed.
    FormulaEnd { group: usize },
    /// A source gets a congestion notification.
    Notification { source: usize },
}

#[derive(Debug)]
pub(super) struct Clock<S> {
    pending: VecDeque<(S, Feedback)>,
}

impl<S: Scalar> Clock<S> {
    pub fn new() -> Self {
        Self {
            pending: VecDeque::new(),
        }
    }

    pub fn schedule(&mut self, time: S, feedback: Feedback) {
        let index = self
            .pending
            .partition_point(|(due, other)| (*due < time) || (*due == time && *other <= feedback));
        self.pending.insert(index, (time, feedback));
    }

    pub fn next(&self) -> Option<&S> {
        self.pending.front().map(|(time, _)| time)
    }

    pub fn pop_due(&mut self, now: &S) -> Option<Feedback> {
        if self.next()? > now {
            return None;
        }
        self.pending.pop_front().map(|(_, feedback)| feedback)
    }
}
