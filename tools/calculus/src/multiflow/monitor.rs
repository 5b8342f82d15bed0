//! Backlogs watched for thresholds, and the marking of packets.

use crate::algebra::Scalar;
use crate::congestion::ecn::Red;

/// Side of a threshold of a linear backlog, now and just after.
#[derive(Clone, Debug)]
pub(super) struct Level<S> {
    level: S,
    /// True if being at the threshold counts as below.
    strict: bool,
    pub above: bool,
}

impl<S: Scalar> Level<S> {
    /// B > level.
    pub fn above(level: S) -> Self {
        Self {
            level,
            strict: true,
            above: false,
        }
    }

    /// B ≥ level.
    pub fn at_least(level: S) -> Self {
        Self {
            level,
            strict: false,
            above: false,
        }
    }

    /// Updates the side; returns true if it has changed.
    pub fn settle(&mut self, value: &S, slope: &S) -> bool {
        let above = if *value == self.level {
            slope.is_positive() || (!self.strict && slope.is_zero())
        } else {
            *value > self.level
        };
        std::mem::replace(&mut self.above, above) != above
    }

    /// Returns true if a backlog is exactly at the threshold.
    pub fn is_at(&self, value: &S) -> bool {
        *value == self.level
    }

    fn time_to_crossing(&self, value: &S, slope: &S) -> Option<S> {
        let ahead = (*value < self.level && slope.is_positive())
            || (*value > self.level && slope.is_negative());
        ahead.then(|| (self.level.clone() - value) / slope)
    }
}

#[derive(Clone, Debug)]
pub(super) struct Backlog<S> {
    pub value: S,
    pub slope: S,
    pub lower: Level<S>,
    pub upper: Level<S>,
}

impl<S: Scalar> Backlog<S> {
    pub fn new(lower: Level<S>, upper: Level<S>) -> Self {
        Self {
            value: S::zero(),
            slope: S::zero(),
            lower,
            upper,
        }
    }

    pub fn next_crossing(&self) -> Option<S> {
        let lower = self.lower.time_to_crossing(&self.value, &self.slope);
        let upper = self.upper.time_to_crossing(&self.value, &self.slope);
        match (lower, upper) {
            (Some(lower), Some(upper)) => Some(lower.lesser(upper)),
            (one, other) => one.or(other),
        }
    }

    /// Rounding must not keep a backlog from a threshold that it has reached.
    pub fn advance(&mut self, duration: &S) {
        let levels = [&self.lower, &self.upper];
        let reached = levels.into_iter().find(|level| {
            level.time_to_crossing(&self.value, &self.slope).as_ref() == Some(duration)
        });
        self.value = match reached {
            Some(level) => level.level.clone(),
            None => self.value.clone() + self.slope.clone() * duration,
        };
    }
}

/// ∫ p(B(s))/packet dÂ(s) over a duration in which B is between K_min and K_max: a source's expected number of marks.
pub(super) fn expected_marks<S: Scalar>(
    red: &Red<S>,
    packet: &S,
    backlog: &Backlog<S>,
    rate: &S,
    duration: &S,
) -> S {
    let above = backlog.value.clone() - &red.kmin;
    let mean = above + backlog.slope.clone() * duration / &S::integer(2);
    red.slope() * &mean * duration * rate / packet
}

/// Expected marks are rounded down to this fraction of a packet, so that exact numbers do not grow without bound.
const MARKS_RESOLUTION: i64 = 1 << 32;

pub(super) fn rounded_down<S: Scalar>(marks: &S) -> S {
    let resolution = S::integer(MARKS_RESOLUTION);
    (marks.clone() * &resolution).floor() / &resolution
}
