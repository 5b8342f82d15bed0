//! The event-driven computation. Between two events every function is linear.

use super::clock::{Clock, Feedback};
use super::monitor::{expected_marks, rounded_down, Backlog, Level};
use super::prediction::{Pause, Prediction, PredictionError, Signal, STEPS_MAX};
use super::scenario::{Between, Ecn, Marking, Pfc, Scenario};
use super::server::Server;
use super::trace::Trace;
use crate::algebra::{CurveError, Scalar};
use crate::congestion::ecn::NotificationGap;
use crate::congestion::pfc::Resume;

mod setup;
mod source;

use setup::{check, groups, unwatched, Group};
use source::SourceState;

/// Maximum number of steps at one instant; more mean that rounding stalls the computation.
const STEPS_AT_AN_INSTANT_MAX: usize = 10_000;

pub(super) struct Engine<S> {
    rate_feedback_delay: S,
    end: S,
    now: S,
    sources: Vec<SourceState<S>>,
    server: Server<S>,
    groups: Vec<Group<S>>,
    group_of: Vec<usize>,
    pfc: Option<Pfc<S>>,
    /// (X_off − X_on)/C.
    formula_duration: S,
    ecn: Option<Ecn<S>>,
    timeout: Option<S>,
    total: Backlog<S>,
    total_trace: Trace<S>,
    clock: Clock<S>,
    pauses: Vec<Pause<S>>,
    notifications: Vec<Signal<S>>,
    timeouts: Vec<Signal<S>>,
    /// Scratch buffer: rates into and out of the server.
    slopes: Vec<S>,
    served: Vec<S>,
}

impl<S: Scalar> Engine<S> {
    pub fn new(scenario: Scenario<S>) -> Result<Self, PredictionError> {
        check(&scenario)?;
        let count = scenario.sources.len();
        let ports: Vec<usize> = scenario.sources.iter().map(|source| source.port).collect();
        let classes: Vec<usize> = scenario.sources.iter().map(|source| source.class).collect();
        let (groups, group_of) = groups(scenario.pfc.as_ref(), &ports);
        let gap = scenario.ecn.as_ref().map(|ecn| ecn.gap.clone());
        let sources = scenario
            .sources
            .into_iter()
            .map(|source| SourceState::new(source, gap.clone(), &scenario.end))
            .collect::<Result<Vec<_>, CurveError>>()?;
        let total = match &scenario.ecn {
            Some(ecn) => Backlog::new(
                Level::above(ecn.red.kmin.clone()),
                Level::at_least(ecn.red.kmax.clone()),
            ),
            None => unwatched(),
        };
        let formula_duration = match &scenario.pfc {
            Some(pfc) => pfc.thresholds.formula_duration(&scenario.rate),
            None => S::zero(),
        };
        Ok(Self {
            rate_feedback_delay: scenario.feedback_delay,
            end: scenario.end,
            now: S::zero(),
            sources,
            server: Server::new(scenario.rate, scenario.discipline, &ports, &classes),
            groups,
            group_of,
            pfc: scenario.pfc,
            formula_duration,
            ecn: scenario.ecn,
            timeout: scenario.timeout,
            total,
            total_trace: Trace::new(S::zero()),
            clock: Clock::new(),
            pauses: Vec::new(),
            notifications: Vec::new(),
            timeouts: Vec::new(),
            slopes: vec![S::zero(); count],
            served: vec![S::zero(); count],
        })
    }

    pub fn run(mut self) -> Result<Prediction<S>, PredictionError> {
        let (mut steps, mut at_this_instant) = (0, 0);
        loop {
            self.deliver();
            self.settle();
            if self.now >= self.end {
                return Ok(self.finish(steps)?);
            }
            let (duration, timed_out) = self.next_step();
            self.advance(&duration);
            for source in timed_out {
                self.time_out(source);
            }
            steps += 1;
            at_this_instant = if duration.is_positive() {
                0
            } else {
                at_this_instant + 1
            };
            if steps > STEPS_MAX {
                return Err(PredictionError::TooManySteps);
            }
            if at_this_instant > STEPS_AT_AN_INSTANT_MAX {
                return Err(PredictionError::Stalled(self.now.to_f64().to_string()));
            }
        }
    }

    /// Processes everything that is due now: traffic, feedback, then timers. (Congestion precedes an increase that is due at
    /// the same time.)
    fn deliver(&mut self) {
        for source in &mut self.sources {
            source.take_arrivals(&self.now);
        }
        while let Some(feedback) = self.clock.pop_due(&self.now) {
            match feedback {
                Feedback::Above { group, above } => {
                    self.groups[group].delayed_above = above;
                    if above && !self.groups[group].paused {
                        self.pause_by_formula(group);
                    }
                }
                Feedback::Pause { group } => self.pause(group),
                Feedback::Resume { group } => self.resume(group),
                Feedback::FormulaEnd { group } => {
                    self.resume(group);
                    if self.groups[group].delayed_above {
                        self.pause_by_formula(group);
                    }
                }
                Feedback::Notification { source } => {
                    let state = &mut self.sources[source];
                    state.control.on_notification(&self.now, &state.admitted);
                    self.notifications.push(state.signal(&self.now, source));
                }
            }
        }
        for source in &mut self.sources {
            source.run_timers(&self.now);
        }
    }

    fn pause(&mut self, group: usize) {
        self.groups[group].paused = true;
        self.pauses.push(Pause {
            group: self.groups[group].port,
            from: self.now.clone(),
            to: None,
        });
    }

    fn pause_by_formula(&mut self, group: usize) {
        self.pause(group);
        let end = self.now.clone() + &self.formula_duration;
        self.clock.schedule(end, Feedback::FormulaEnd { group });
    }

    fn resume(&mut self, group: usize) {
        self.groups[group].paused = false;
        let port = self.groups[group].port;
        let mut open = self.pauses.iter_mut().rev();
        if let Some(pause) = open.find(|pause| pause.group == port && pause.to.is_none()) {
            pause.to = Some(self.now.clone());
        }
    }

    /// Computes the new rates, and when they cross thresholds.
    fn settle(&mut self) {
        for (index, source) in self.sources.iter_mut().enumerate() {
            let paused = self.groups[self.group_of[index]].paused;
            self.slopes[index] = source.choose_rate(paused);
        }
        self.server.set_arrivals(&self.slopes, &mut self.served);
        for (index, source) in self.sources.iter_mut().enumerate() {
            source.turn(&self.now, &self.slopes[index], &self.served[index]);
        }
        self.total.slope = S::zero();
        for group in &mut self.groups {
            let growth = |index: &usize| self.slopes[*index].clone() - &self.served[*index];
            let slopes = group.members.iter().map(growth);
            group.backlog.slope = slopes.fold(S::zero(), |sum, slope| sum + &slope);
            group
                .trace
                .turn(&self.now, &group.backlog.value, &group.backlog.slope);
            self.total.slope = self.total.slope.clone() + &group.backlog.slope;
        }
        self.total_trace
            .turn(&self.now, &self.total.value, &self.total.slope);
        self.watch_for_pauses();
        self.watch_for_marks();
    }

    fn watch_for_pauses(&mut self) {
        let Some(pfc) = &self.pfc else { return };
        let due = self.now.clone() + &pfc.delay;
        for (index, group) in self.groups.iter_mut().enumerate() {
            let Backlog {
                value,
                slope,
                lower,
                upper,
            } = &mut group.backlog;
            lower.settle(value, slope);
            let changed = upper.settle(value, slope);
            let above = upper.above;
            match pfc.resume {
                Resume::AtXon if !group.told && above => {
                    group.told = true;
                    self.clock
                        .schedule(due.clone(), Feedback::Pause { group: index });
                }
                Resume::AtXon if group.told && !lower.above => {
                    group.told = false;
                    self.clock
                        .schedule(due.clone(), Feedback::Resume { group: index });
                }
                Resume::AfterFormula if changed => {
                    self.clock.schedule(
                        due.clone(),
                        Feedback::Above {
                            group: index,
                            above,
                        },
                    );
                }
                _ => {}
            }
        }
    }

    fn watch_for_marks(&mut self) {
        let Some(ecn) = &self.ecn else { return };
        let Backlog {
            value,
            slope,
            lower,
            upper,
        } = &mut self.total;
        lower.settle(value, slope);
        upper.settle(value, slope);
        let touching = upper.is_at(value);
        for (index, source) in self.sources.iter_mut().enumerate() {
            let counts = ecn.marking == Marking::ByBacklog || source.admitted_slope.is_positive();
            source.marked = upper.above && counts;
            let expected = !source.marked && source.marks >= S::one();
            if expected {
                source.marks = S::zero();
            }
            // B = K_max at this instant, if only briefly.
            let once = expected || (touching && counts);
            let mut again = source.marked || once;
            while again {
                if let Some(sent) = source.gap.as_mut().and_then(|gap| gap.marked(&self.now)) {
                    let arrives = sent + &self.rate_feedback_delay;
                    self.clock
                        .schedule(arrives, Feedback::Notification { source: index });
                }
                // While everything is marked, the next packet is marked as well.
                let due = source.gap.as_ref().and_then(NotificationGap::due);
                again = source.marked && due.is_some_and(|due| *due <= self.now);
            }
        }
    }

    /// Returns the time until the next change, and the sources that time out then.
    fn next_step(&mut self) -> (S, Vec<usize>) {
        let mut least = self.end.clone() - &self.now;
        let mut consider = |duration: Option<S>| {
            if let Some(duration) = duration {
                if duration < least {
                    least = duration.greater(S::zero());
                }
            }
        };
        consider(self.clock.next().map(|due| due.clone() - &self.now));
        consider(self.server.next_change());
        if self.ecn.is_some() {
            consider(self.total.next_crossing());
        }
        if self.pfc.is_some() {
            for group in &self.groups {
                consider(group.backlog.next_crossing());
            }
        }
        for source in &self.sources {
            consider(source.next_change(&self.now));
        }
        if let Some(marked) = self.next_expected_mark(&least) {
            least = marked;
        }
        let mut timed_out = Vec::new();
        if let Some(timeout) = &self.timeout {
            for (index, source) in self.sources.iter_mut().enumerate() {
                let until = self.now.clone() + &least;
                let found =
                    source.first_timeout(&self.now, &until, &self.rate_feedback_delay, timeout);
                let Some(time) = found else { continue };
                let duration = time - &self.now;
                if duration < least {
                    least = duration;
                    timed_out.clear();
                }
                timed_out.push(index);
            }
        }
        (least, timed_out)
    }

    /// Returns the first time within `limit` at which RED's expectation marks a source.
    fn next_expected_mark(&self, limit: &S) -> Option<S> {
        let Some(Ecn {
            red,
            between: Between::Expected { packet, quantum },
            ..
        }) = &self.ecn
        else {
            return None;
        };
        if !self.total.lower.above || self.total.upper.above {
            return None;
        }
        let mut first: Option<S> = None;
        for source in &self.sources {
            if !source.admitted_slope.is_positive() {
                continue;
            }
            let whole = |duration: &S| {
                let marks =
                    expected_marks(red, packet, &self.total, &source.admitted_slope, duration);
                source.marks.clone() + &marks >= S::one()
            };
            let limit = first.as_ref().unwrap_or(limit);
            if !whole(limit) {
                continue;
            }
            // Many sources are alike: skip this one unless it is earlier than the first so far.
            if first.is_some() && !whole(&(limit.clone() - quantum)) {
                continue;
            }
            // Multiples of the quantum: `low` is too early, `high` is not.
            let (mut low, mut high) = (S::zero(), (limit.clone() / quantum).floor() + S::one());
            while high.clone() - &low > S::one() {
                let middle = ((low.clone() + &high) / &S::integer(2)).floor();
                if whole(&(middle.clone() * quantum)) {
                    high = middle;
                } else {
                    low = middle;
                }
            }
            first = Some((high * quantum).lesser(limit.clone()));
        }
        first
    }

    fn advance(&mut self, duration: &S) {
        self.count_marks(duration);
        self.server.advance(duration);
        self.total.advance(duration);
        for group in &mut self.groups {
            group.backlog.advance(duration);
        }
        for source in &mut self.sources {
            source.advance(duration);
        }
        self.snap_idle();
        self.now = self.now.clone() + duration;
    }

    /// Sets the departures of an empty queue to its arrivals, to remove rounding errors.
    fn snap_idle(&mut self) {
        let mut idle = vec![false; self.sources.len()];
        for index in self.server.idle_members() {
            idle[index] = true;
            let source = &mut self.sources[index];
            source.departed = source.admitted.clone();
        }
        for group in &mut self.groups {
            if group.members.iter().all(|index| idle[*index]) {
                group.backlog.value = S::zero();
            }
        }
        if idle.iter().all(|idle| *idle) {
            self.total.value = S::zero();
        }
    }

    fn count_marks(&mut self, duration: &S) {
        let Some(Ecn {
            red,
            between: Between::Expected { packet, .. },
            ..
        }) = &self.ecn
        else {
            return;
        };
        if !self.total.lower.above || self.total.upper.above {
            return;
        }
        for source in &mut self.sources {
            if source.admitted_slope.is_positive() {
                let marks =
                    expected_marks(red, packet, &self.total, &source.admitted_slope, duration);
                let sum = source.marks.clone() + &marks;
                // A whole mark stays whole.
                source.marks = if sum >= S::one() {
                    S::one()
                } else {
                    rounded_down(&sum)
                };
            }
        }
    }

    fn time_out(&mut self, index: usize) {
        let group = &mut self.groups[self.group_of[index]];
        let source = &mut self.sources[index];
        let queued = source.admitted.clone() - &source.departed;
        source.time_out(&self.now, &self.rate_feedback_delay);
        self.timeouts.push(source.signal(&self.now, index));
        self.server.remove(index);
        // Thresholds are compared again once the rates are known.
        group.backlog.value = (group.backlog.value.clone() - &queued).greater(S::zero());
        group
            .trace
            .jump(&self.now, &group.backlog.value, &S::zero());
        self.total.value = (self.total.value.clone() - &queued).greater(S::zero());
        self.total_trace
            .jump(&self.now, &self.total.value, &S::zero());
    }

    fn finish(self, steps: usize) -> Result<Prediction<S>, CurveError> {
        let end = self.end;
        let mut prediction = Prediction {
            admitted: Vec::with_capacity(self.sources.len()),
            departures: Vec::with_capacity(self.sources.len()),
            backlog: self.total_trace.into_curve(&end)?,
            group_backlogs: Vec::with_capacity(self.groups.len()),
            rates: Vec::with_capacity(self.sources.len()),
            pauses: self.pauses,
            notifications: self.notifications,
            timeouts: self.timeouts,
            steps,
            end: end.clone(),
        };
        for group in self.groups {
            prediction
                .group_backlogs
                .push(group.trace.into_curve(&end)?);
        }
        for source in self.sources {
            prediction
                .admitted
                .push(source.admitted_trace.into_curve(&end)?);
            prediction
                .departures
                .push(source.departed_trace.into_curve(&end)?);
            prediction.rates.push(source.rates);
        }
        Ok(prediction)
    }
}
