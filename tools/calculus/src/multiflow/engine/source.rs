//! One source's state between events.

use super::setup::changes;
use super::{Signal, Trace};
use crate::algebra::{CurveError, Scalar};
use crate::congestion::ecn::NotificationGap;
use crate::multiflow::control::RateControl;
use crate::multiflow::scenario::Source;
use crate::multiflow::trace::Place;

pub(super) struct SourceState<S> {
    pub control: Box<dyn RateControl<S>>,
    /// Present Â and D, and their slopes.
    pub admitted: S,
    pub admitted_slope: S,
    pub departed: S,
    departed_slope: S,
    pub admitted_trace: Trace<S>,
    pub departed_trace: Trace<S>,
    /// A − Â, and the slope of A.
    waiting: S,
    offered_slope: S,
    /// Remaining changes of A: time, jump, slope.
    arrivals: std::vec::IntoIter<(S, S, S)>,
    next_arrival: Option<(S, S, S)>,
    pub gap: Option<NotificationGap<S>>,
    /// True if all of its traffic is marked now.
    pub marked: bool,
    /// RED's expected number of marked packets.
    pub marks: S,
    /// Time of the last retransmission.
    origin: S,
    admitted_place: Place,
    departed_place: Place,
    pub rates: Vec<(S, S)>,
}

impl<S: Scalar> SourceState<S> {
    pub fn new(source: Source<S>, gap: Option<S>, end: &S) -> Result<Self, CurveError> {
        let mut arrivals = changes(&source.arrivals, end)?.into_iter();
        let zero = S::zero;
        Ok(Self {
            control: source.control,
            admitted: zero(),
            admitted_slope: zero(),
            departed: zero(),
            departed_slope: zero(),
            admitted_trace: Trace::new(zero()),
            departed_trace: Trace::new(zero()),
            waiting: zero(),
            offered_slope: zero(),
            next_arrival: arrivals.next(),
            arrivals,
            gap: gap.map(NotificationGap::new),
            marked: false,
            marks: zero(),
            origin: zero(),
            admitted_place: Place::default(),
            departed_place: Place::default(),
            rates: Vec::new(),
        })
    }

    pub fn take_arrivals(&mut self, now: &S) {
        while let Some((time, jump, slope)) = &self.next_arrival {
            if time > now {
                return;
            }
            self.waiting = self.waiting.clone() + jump;
            self.offered_slope = slope.clone();
            self.next_arrival = self.arrivals.next();
        }
    }

    pub fn run_timers(&mut self, now: &S) {
        while self.control.next_timer().is_some_and(|due| due <= *now) {
            self.control.on_timer(now);
        }
        while self
            .control
            .next_volume()
            .is_some_and(|volume| volume <= self.admitted)
        {
            self.control.on_volume();
        }
    }

    /// Returns the slope of Â from now on: the rate limit while traffic waits, else the arrival rate up to the limit.
    pub fn choose_rate(&self, paused: bool) -> S {
        if paused {
            return S::zero();
        }
        let limit = self.control.rate().clone();
        if self.waiting.is_positive() {
            limit
        } else {
            limit.lesser(self.offered_slope.clone())
        }
    }

    pub fn turn(&mut self, now: &S, admitted_slope: &S, departed_slope: &S) {
        self.admitted_slope = admitted_slope.clone();
        self.departed_slope = departed_slope.clone();
        self.admitted_trace
            .turn(now, &self.admitted, admitted_slope);
        self.departed_trace
            .turn(now, &self.departed, departed_slope);
        let rate = self.control.rate();
        match self.rates.last_mut() {
            Some((_, last)) if last == rate => {}
            Some((time, last)) if time == now => *last = rate.clone(),
            _ => self.rates.push((now.clone(), rate.clone())),
        }
    }

    fn waiting_slope(&self) -> S {
        self.offered_slope.clone() - &self.admitted_slope
    }

    fn time_to_nothing_waiting(&self) -> Option<S> {
        let slope = self.waiting_slope();
        (self.waiting.is_positive() && slope.is_negative())
            .then(|| -(self.waiting.clone() / &slope))
    }

    /// Returns the time until the source's next change without feedback.
    pub fn next_change(&self, now: &S) -> Option<S> {
        let arrival = self
            .next_arrival
            .as_ref()
            .map(|(time, ..)| time.clone() - now);
        let timer = self.control.next_timer().map(|due| due - now);
        let volume = self
            .control
            .next_volume()
            .filter(|_| self.admitted_slope.is_positive())
            .map(|volume| (volume - &self.admitted) / &self.admitted_slope);
        let mark = match (self.marked, &self.gap) {
            (true, Some(gap)) => gap.due().map(|due| due.clone() - now),
            _ => None,
        };
        [arrival, timer, volume, mark, self.time_to_nothing_waiting()]
            .into_iter()
            .flatten()
            .reduce(S::lesser)
    }

    pub fn advance(&mut self, duration: &S) {
        self.waiting = if self.time_to_nothing_waiting().as_ref() == Some(duration) {
            S::zero()
        } else {
            (self.waiting.clone() + self.waiting_slope() * duration).greater(S::zero())
        };
        self.admitted = self.admitted.clone() + self.admitted_slope.clone() * duration;
        self.departed = self.departed.clone() + self.departed_slope.clone() * duration;
    }

    /// inf{t in [from, to) | D(t − ΔR) < Â(t − τ_o)}, with the functions since the last retransmission.
    pub fn first_timeout(
        &mut self,
        from: &S,
        to: &S,
        feedback_delay: &S,
        timeout: &S,
    ) -> Option<S> {
        let mut time = from.clone().greater(self.origin.clone() + timeout);
        let (mut admitted_place, mut departed_place) = (self.admitted_place, self.departed_place);
        let mut first = true;
        while time < *to {
            let (due, due_slope, due_next) =
                self.admitted_trace
                    .delayed_line(&mut admitted_place, &time, timeout);
            let (acknowledged, slope, next) =
                self.departed_trace
                    .delayed_line(&mut departed_place, &time, feedback_delay);
            if first {
                (self.admitted_place, self.departed_place) = (admitted_place, departed_place);
                first = false;
            }
            let mut until = to.clone();
            for next in [due_next, next].into_iter().flatten() {
                until = until.lesser(next);
            }
            let margin = acknowledged - &due;
            let slope = slope.clone() - due_slope;
            let last = margin.clone() + slope.clone() * &(until.clone() - &time);
            if last < -due.rounding() {
                let crossing = if margin.is_positive() {
                    time.clone() - margin / &slope
                } else {
                    time
                };
                return (crossing < *to).then_some(crossing);
            }
            time = until;
        }
        None
    }

    /// Returns to the acknowledged amount.
    pub fn time_out(&mut self, now: &S, feedback_delay: &S) {
        let resumed_from = self
            .departed_trace
            .value_before(&(now.clone() - feedback_delay));
        self.waiting = self.waiting.clone() + &self.admitted - &resumed_from;
        self.admitted = resumed_from.clone();
        self.departed = resumed_from.clone();
        self.admitted_trace.jump(now, &resumed_from, &S::zero());
        self.departed_trace.jump(now, &resumed_from, &S::zero());
        self.admitted_place = self.admitted_trace.end();
        self.departed_place = self.departed_trace.end();
        self.origin = now.clone();
        self.control.on_timeout(now, &resumed_from);
    }

    pub fn signal(&self, now: &S, source: usize) -> Signal<S> {
        Signal {
            time: now.clone(),
            source,
            rate: self.control.rate().clone(),
        }
    }
}
