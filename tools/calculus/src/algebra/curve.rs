//! Piecewise-linear functions of time.

use std::fmt;

use thiserror::Error;

use super::element::{self, Builder, Cursor};
use super::{Element, Scalar};

/// Functions with more elements than this are refused, to protect the memory. The usual cause is periods without a small
/// common multiple.
pub const ELEMENTS_MAX: usize = 4_000_000;

/// Reason for which an operation has no result.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum CurveError {
    /// The periods of two functions have no reasonable common multiple.
    #[error("periods {0} and {1} have no common multiple of usable size")]
    NoCommonPeriod(String, String),
    /// More than [`ELEMENTS_MAX`] points and segments.
    #[error("the result would have more than {ELEMENTS_MAX} points and segments")]
    TooLong,
    /// The operation requires a non-decreasing function.
    #[error("the function decreases near t = {0}, which this operation does not allow")]
    Decreasing(String),
    /// Invalid input, such as times that go back, or lengths that are not positive.
    #[error("{0}")]
    Malformed(String),
    /// The operation requires finite functions.
    #[error("the function is infinite where the operation needs a finite one")]
    Infinite,
}

/// A value that may be +∞.
#[derive(Clone, Debug, PartialEq, PartialOrd)]
pub enum Extended<S> {
    /// A number.
    Finite(S),
    /// +∞.
    Infinite,
}

impl<S> Extended<S> {
    /// Returns the number; `None` for +∞.
    pub fn finite(self) -> Option<S> {
        match self {
            Extended::Finite(value) => Some(value),
            Extended::Infinite => None,
        }
    }
}

impl<S> From<Option<S>> for Extended<S> {
    fn from(value: Option<S>) -> Self {
        value.map_or(Extended::Infinite, Extended::Finite)
    }
}

/// Continuation of a function after its elements.
#[derive(Clone, Debug, PartialEq)]
pub enum Tail<S> {
    /// Like the last segment if it has no end, else +∞.
    Plain,
    /// `f(t + period) = f(t) + increment` for every t ≥ from. The elements cover [0, from + period).
    Periodic {
        /// Beginning of the repetition.
        from: S,
        /// Length of a repetition.
        period: S,
        /// Increase of each repetition.
        increment: S,
    },
}

/// A piecewise-linear function on t ≥ 0 with jumps, ultimately affine, pseudo-periodic or +∞.
///
/// As in section II of the paper, a function of arrivals, departures or service is 0 for t ≤ 0, never decreases and is
/// left-continuous: A(t) is the amount that arrived in [0, t). The named constructors create such functions, and min, max,
/// +, ⊗ and ⊘ preserve left-continuity. The type itself can hold any piecewise-linear function, because backlogs decrease
/// and upper pseudo-inverses are right-continuous.
#[derive(Clone, PartialEq)]
pub struct Curve<S> {
    pub(super) elements: Vec<Element<S>>,
    pub(super) tail: Tail<S>,
}

impl<S: fmt::Debug> fmt::Debug for Curve<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Curve")
            .field("elements", &self.elements)
            .field("tail", &self.tail)
            .finish()
    }
}

/// Ultimate behaviour of a function, in a common form for every kind of tail.
pub(super) enum Ultimate<S> {
    /// +∞ for t > from.
    Infinite,
    /// A line after `from`.
    Affine {
        slope: S,
    },
    Periodic {
        period: S,
        increment: S,
    },
}

impl<S: Scalar> Curve<S> {
    /// Creates a function from its graph, which must begin with a point at 0. Gaps are +∞.
    pub fn new(elements: Vec<Element<S>>, tail: Tail<S>) -> Result<Self, CurveError> {
        check(&elements, &tail)?;
        Ok(Self::normalised(elements, tail))
    }

    /// Like [`new`](Self::new), without checks. A periodic tail keeps a boundary at its beginning.
    pub(super) fn normalised(elements: Vec<Element<S>>, tail: Tail<S>) -> Self {
        let elements = match &tail {
            Tail::Plain => {
                let mut out = Builder::with_capacity(elements.len());
                elements.into_iter().for_each(|element| out.push(element));
                out.finish()
            }
            Tail::Periodic { from, period, .. } => {
                let end = from.clone() + period;
                let mut out = Builder::with_capacity(elements.len() + 2);
                for element in element::part(&elements, &S::zero(), Some(from), false) {
                    out.push(element);
                }
                out.fix();
                for element in element::part(&elements, from, Some(&end), false) {
                    out.push(element);
                }
                out.finish()
            }
        };
        Self { elements, tail }
    }

    /// Returns points and segments in order of time, up to the beginning of the tail.
    pub fn elements(&self) -> &[Element<S>] {
        &self.elements
    }

    /// Returns its continuation.
    pub fn tail(&self) -> &Tail<S> {
        &self.tail
    }

    /// Returns f(t), which is 0 for t < 0. O(log n).
    pub fn at(&self, time: &S) -> Extended<S> {
        if time.is_negative() {
            return Extended::Finite(S::zero());
        }
        let (time, higher) = self.folded(time, false);
        let index = self
            .elements
            .partition_point(|element| element.to().is_some_and(|end| *end < time));
        let value = Cursor::new(&self.elements[index..]).value_at(&time);
        value.map(|value| value + &higher).into()
    }

    /// Returns the limit from the right, f(t+), for t ≥ 0; 0 before.
    pub fn after(&self, time: &S) -> Extended<S> {
        if time.is_negative() {
            return Extended::Finite(S::zero());
        }
        let (time, higher) = self.folded(time, false);
        let index = self
            .elements
            .partition_point(|element| element.to().is_some_and(|end| *end < time));
        let line = Cursor::new(&self.elements[index..]).line_after(&time);
        line.map(|line| line.start + &higher).into()
    }

    /// Returns the limit from the left, f(t−), for t > 0; 0 before.
    pub fn before(&self, time: &S) -> Extended<S> {
        if !time.is_positive() {
            return Extended::Finite(S::zero());
        }
        let (time, higher) = self.folded(time, true);
        let index = self
            .elements
            .partition_point(|element| element.to().is_some_and(|end| *end < time));
        let line = self.elements[index..]
            .iter()
            .find_map(|element| match element {
                Element::Segment {
                    from, start, slope, ..
                } => Some(
                    (from < &time).then(|| start.clone() + slope.clone() * &(time.clone() - from)),
                ),
                Element::Point { at, .. } => (*at > time).then_some(None),
            })
            .flatten();
        line.map(|value| value + &higher).into()
    }

    /// Returns a time within the elements that corresponds to `time`, and how much lower the function is there.
    fn folded(&self, time: &S, end_included: bool) -> (S, S) {
        let Tail::Periodic {
            from,
            period,
            increment,
        } = &self.tail
        else {
            return (time.clone(), S::zero());
        };
        let end = from.clone() + period;
        if *time < end || (end_included && *time == end) {
            return (time.clone(), S::zero());
        }
        let mut periods = ((time.clone() - from) / period).floor();
        if end_included && from.clone() + periods.clone() * period == *time {
            periods = periods - S::one();
        }
        (time.clone() - periods.clone() * period, periods * increment)
    }

    /// Returns elements over [0, horizon), with repetitions expanded. `None` is valid only for plain tails.
    pub(super) fn unrolled(&self, horizon: Option<&S>) -> Result<Vec<Element<S>>, CurveError> {
        let (
            Some(horizon),
            Tail::Periodic {
                from,
                period,
                increment,
            },
        ) = (horizon, &self.tail)
        else {
            return Ok(match horizon {
                Some(_) => element::part(&self.elements, &S::zero(), horizon, false),
                None => self.elements.clone(),
            });
        };
        let first = self.first_periodic();
        let repeated = self.elements.len() - first;
        let periods = ((horizon.clone() - from) / period).to_f64().max(0.0);
        if periods * repeated as f64 > ELEMENTS_MAX as f64 {
            return Err(CurveError::TooLong);
        }
        let mut out = Builder::with_capacity(self.elements.len());
        for element in &self.elements {
            out.push(element.clone());
        }
        let (mut later, mut higher) = (period.clone(), increment.clone());
        while from.clone() + &later < *horizon {
            for element in &self.elements[first..] {
                out.push(element.moved(&later, &higher));
            }
            later = later + period;
            higher = higher + increment;
        }
        Ok(element::part(
            &out.finish(),
            &S::zero(),
            Some(horizon),
            false,
        ))
    }

    /// Returns the index of the first element of the repeated part.
    pub(super) fn first_periodic(&self) -> usize {
        match &self.tail {
            Tail::Plain => self.elements.len(),
            Tail::Periodic { from, .. } => self
                .elements
                .partition_point(|element| element.from() < from),
        }
    }

    /// Returns the beginning of the ultimate behaviour. For an affine tail it holds after that time, for a periodic one from
    /// that time on.
    pub(super) fn ultimate(&self) -> (S, Ultimate<S>) {
        match (&self.tail, self.elements.last()) {
            (
                Tail::Periodic {
                    from,
                    period,
                    increment,
                },
                _,
            ) => (
                from.clone(),
                Ultimate::Periodic {
                    period: period.clone(),
                    increment: increment.clone(),
                },
            ),
            (
                Tail::Plain,
                Some(Element::Segment {
                    from,
                    to: None,
                    slope,
                    ..
                }),
            ) => (
                from.clone(),
                Ultimate::Affine {
                    slope: slope.clone(),
                },
            ),
            (Tail::Plain, last) => (
                last.and_then(|element| element.to().cloned())
                    .unwrap_or_else(S::zero),
                Ultimate::Infinite,
            ),
        }
    }

    /// Returns the growth per unit of time in the long run; +∞ if the function is.
    pub fn rate(&self) -> Extended<S> {
        match self.ultimate().1 {
            Ultimate::Infinite => Extended::Infinite,
            Ultimate::Affine { slope } => Extended::Finite(slope),
            Ultimate::Periodic { period, increment } => Extended::Finite(increment / &period),
        }
    }

    /// Returns true if f(t−) = f(t) for all t > 0.
    pub fn is_left_continuous(&self) -> bool {
        let Ok(elements) = self.two_periods() else {
            return false;
        };
        elements.windows(2).all(|pair| match pair {
            [Element::Point { at, .. }, Element::Segment { from, .. }] => at == from,
            [before @ Element::Segment { to, .. }, Element::Point { at, value }] => {
                to.as_ref() == Some(at) && before.end().as_ref() == Some(value)
            }
            _ => false,
        })
            // A function that ends in +∞ must end with a point; otherwise it would jump to +∞ at a time that is not its own.
            && match elements.last() {
                None => true,
                Some(Element::Point { .. }) => true,
                Some(Element::Segment { to, .. }) => {
                    to.is_none() || matches!(self.tail, Tail::Periodic { .. })
                }
            }
    }

    /// Fails with the place at which the function decreases, if any. Decreases of floating-point functions by rounding do
    /// not count.
    pub fn check_non_decreasing(&self) -> Result<(), CurveError> {
        let decreasing = |at: &S| CurveError::Decreasing(at.to_f64().to_string());
        let mut highest: Option<S> = None;
        let mut end: Option<S> = Some(S::zero());
        for element in &self.two_periods()? {
            // Finite after infinite is a decrease.
            if end.as_ref() != Some(element.from()) {
                return Err(decreasing(element.from()));
            }
            let falls = matches!(element, Element::Segment { slope, start, .. }
                if slope.is_negative() && element.end().is_none_or(|end| end < start.clone() - &start.rounding()));
            let lower = |before: &S| *element.start() < before.clone() - &before.rounding();
            if falls || highest.as_ref().is_some_and(lower) {
                return Err(decreasing(element.from()));
            }
            highest = element.end();
            end = element.to().cloned();
        }
        Ok(())
    }

    fn two_periods(&self) -> Result<Vec<Element<S>>, CurveError> {
        match &self.tail {
            Tail::Plain => Ok(self.elements.clone()),
            Tail::Periodic { from, period, .. } => {
                self.unrolled(Some(&(from.clone() + period + period)))
            }
        }
    }

    /// Returns the function over [0, horizon] as elements, including the point at the horizon, with repetitions expanded.
    pub fn graph(&self, horizon: &S) -> Result<Vec<Element<S>>, CurveError> {
        let mut elements = self.unrolled(Some(horizon))?;
        if let Extended::Finite(value) = self.at(horizon) {
            elements.push(Element::Point {
                at: horizon.clone(),
                value,
            });
        }
        Ok(elements)
    }

    /// Returns true if two functions are equal, independent of the notation of their periods.
    pub fn equals(&self, other: &Self) -> Result<bool, CurveError> {
        let horizon = super::pointwise::common_horizon(self, other)?;
        let graphs = (
            self.unrolled(horizon.as_ref())?,
            other.unrolled(horizon.as_ref())?,
        );
        // Normalised once more: a boundary at the beginning of a repetition may not be one in the other function.
        let plain = |elements| Self::normalised(elements, Tail::Plain);
        Ok(plain(graphs.0) == plain(graphs.1))
    }
}

fn check<S: Scalar>(elements: &[Element<S>], tail: &Tail<S>) -> Result<(), CurveError> {
    let malformed = |text: &str| Err(CurveError::Malformed(text.into()));
    if elements.len() > ELEMENTS_MAX {
        return Err(CurveError::TooLong);
    }
    if !matches!(elements.first(), None | Some(Element::Point { .. })) {
        return malformed("a function begins with its value at 0");
    }
    if elements
        .first()
        .is_some_and(|first| !first.from().is_zero())
    {
        return malformed("a function begins with its value at 0");
    }
    for pair in elements.windows(2) {
        let (Some(end), next) = (pair[0].to(), pair[1].from()) else {
            return malformed("nothing comes after a segment without an end");
        };
        let two_points = matches!(pair, [Element::Point { .. }, Element::Point { .. }]);
        if next < end || (two_points && next == end) {
            return malformed("points and segments must be in order of time");
        }
    }
    if elements
        .iter()
        .any(|element| matches!(element, Element::Segment { from, to: Some(to), .. } if to <= from))
    {
        return malformed("a segment ends after it begins");
    }
    if let Tail::Periodic { from, period, .. } = tail {
        if from.is_negative() || !period.is_positive() {
            return malformed("a period is positive and begins at 0 or later");
        }
        let end = from.clone() + period;
        if elements.last().is_none_or(|last| last.to() != Some(&end)) {
            return malformed("the elements of a periodic function end with its first period");
        }
        if matches!(elements.last(), Some(Element::Point { at, .. }) if *at == end) {
            return malformed("the end of the first period belongs to the second");
        }
    }
    Ok(())
}
