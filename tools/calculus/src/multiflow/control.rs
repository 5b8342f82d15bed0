//! Rate limits of sources that react to notifications, timeouts and time.

use std::fmt::Debug;

use crate::algebra::Scalar;
use crate::control::rate_based::IncreaseTimer;

/// A source's rate limit. The computation calls the methods at the named events, and reads the rate after each.
pub trait RateControl<S>: Debug {
    /// Returns the present rate.
    fn rate(&self) -> &S;

    /// Returns the next time for [`on_timer`](Self::on_timer).
    fn next_timer(&self) -> Option<S> {
        None
    }

    /// Returns the total of admitted traffic at which to call [`on_volume`](Self::on_volume) next.
    fn next_volume(&self) -> Option<S> {
        None
    }

    /// Handles a due timer.
    fn on_timer(&mut self, _now: &S) {}

    /// Handles the reached volume.
    fn on_volume(&mut self) {}

    /// Handles a congestion notification.
    fn on_notification(&mut self, now: &S, admitted: &S);

    /// Handles a timeout; the source resumes from `admitted`.
    fn on_timeout(&mut self, now: &S, admitted: &S);
}

/// A rate that never changes.
#[derive(Clone, Debug, PartialEq)]
pub struct FixedRate<S>(pub S);

impl<S: Scalar> RateControl<S> for FixedRate<S> {
    fn rate(&self) -> &S {
        &self.0
    }

    fn on_notification(&mut self, _now: &S, _admitted: &S) {}

    fn on_timeout(&mut self, _now: &S, _admitted: &S) {}
}

/// A rate that changes at given times, regardless of feedback. With arrivals that always leave a backlog, it is the limit of
/// an application that offers a given amount at each time and never makes up for traffic that it could not send.
#[derive(Clone, Debug, PartialEq)]
pub struct ScheduledRate<S> {
    rate: S,
    /// Remaining changes, the next one last.
    ahead: Vec<(S, S)>,
}

impl<S: Scalar> ScheduledRate<S> {
    /// Starts at zero. Each of `changes` is a time and the rate from then on, in order of time.
    pub fn new(mut changes: Vec<(S, S)>) -> Self {
        changes.reverse();
        Self {
            rate: S::zero(),
            ahead: changes,
        }
    }
}

impl<S: Scalar> RateControl<S> for ScheduledRate<S> {
    fn rate(&self) -> &S {
        &self.rate
    }

    fn next_timer(&self) -> Option<S> {
        self.ahead.last().map(|(time, _)| time.clone())
    }

    fn on_timer(&mut self, _now: &S) {
        if let Some((_, rate)) = self.ahead.pop() {
            self.rate = rate;
        }
    }

    fn on_notification(&mut self, _now: &S, _admitted: &S) {}

    fn on_timeout(&mut self, _now: &S, _admitted: &S) {}
}

/// Additive increase and multiplicative decrease, as in III-C.
#[derive(Clone, Debug, PartialEq)]
pub struct Aimd<S> {
    rate: S,
    increase: S,
    decrease: S,
    interval: S,
    limit: Option<S>,
    timer: IncreaseTimer,
    next_increase: S,
}

impl<S: Scalar> Aimd<S> {
    /// Starts at `initial_rate`; adds `increase` (α) after each `interval` (Δτ_ai) without congestion, and multiplies by
    /// `decrease` (β) at a notification or a timeout.
    pub fn new(initial_rate: S, increase: S, decrease: S, interval: S) -> Self {
        Self {
            rate: initial_rate,
            increase,
            decrease,
            next_increase: interval.clone(),
            interval,
            limit: None,
            timer: IncreaseTimer::default(),
        }
    }

    /// Limits the rate to that of the source's link.
    pub fn limited_to(self, limit: S) -> Self {
        Self {
            limit: Some(limit),
            ..self
        }
    }

    /// Sets the interpretation of line 6 of Algorithm 1.
    pub fn with_timer(self, timer: IncreaseTimer) -> Self {
        Self { timer, ..self }
    }

    fn congestion(&mut self, now: &S) {
        self.rate = self.rate.clone() * &self.decrease;
        self.next_increase = match self.timer {
            IncreaseTimer::RestartsAtCongestion => now.clone() + &self.interval,
            IncreaseTimer::Advances => self.next_increase.clone() + &self.interval,
        };
    }
}

impl<S: Scalar> RateControl<S> for Aimd<S> {
    fn rate(&self) -> &S {
        &self.rate
    }

    fn next_timer(&self) -> Option<S> {
        Some(self.next_increase.clone())
    }

    fn on_timer(&mut self, _now: &S) {
        self.next_increase = self.next_increase.clone() + &self.interval;
        let raised = self.rate.clone() + &self.increase;
        self.rate = match &self.limit {
            Some(limit) => raised.lesser(limit.clone()),
            None => raised,
        };
    }

    fn on_notification(&mut self, now: &S, _admitted: &S) {
        self.congestion(now);
    }

    fn on_timeout(&mut self, now: &S, _admitted: &S) {
        self.congestion(now);
    }
}
