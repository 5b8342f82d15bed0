//! Rate limits of sources that react to notifications, timeouts and time.

use std::fmt::Debug;

use crate::algebra::Scalar;
use crate::control::rate_based::IncreaseTimer;

/// A source's rate limit. The computation calls the methods at the events they name and reads the rate after each.
pub trait RateControl<S>: Debug {
    /// The rate in force.
    fn rate(&self) -> &S;

    /// When [`on_timer`](Self::on_timer) is to be called next.
    fn next_timer(&self) -> Option<S> {
        None
    }

    /// At how much admitted traffic, in all, [`on_volume`](Self::on_volume) is to be called next.
    fn next_volume(&self) -> Option<S> {
        None
    }

    /// A timer is due.
    fn on_timer(&mut self, _now: &S) {}

    /// The volume is reached.
    fn on_volume(&mut self) {}

    /// A congestion notification has arrived.
    fn on_notification(&mut self, now: &S, admitted: &S);

    /// A timeout; the source goes on from `admitted`.
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

/// A rate that changes at given times, whatever happens. With arrivals that always leave something to send it is the limit of an
/// application that offers so much at each time and nothing later of what it could not send.
#[derive(Clone, Debug, PartialEq)]
pub struct ScheduledRate<S> {
    rate: S,
    /// Changes to come, the next one last.
    ahead: Vec<(S, S)>,
}

impl<S: Scalar> ScheduledRate<S> {
    /// Zero until the first of `changes`, each of which is a time and the rate from then on, in order of time.
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
    /// From `initial_rate` on: `increase` (α) more after each `interval` (Δτ_ai) without congestion, times `decrease` (β) at a
    /// notification or a timeout.
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

    /// Never above this rate: that of the source's own link.
    pub fn limited_to(self, limit: S) -> Self {
        Self {
            limit: Some(limit),
            ..self
        }
    }

    /// With the other reading of line 6 of Algorithm 1.
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
