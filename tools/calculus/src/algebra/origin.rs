//! Shifts of the origin (section III-C of the paper), delays, and the search for crossings.

use super::element::{self, Builder};
use super::{Curve, CurveError, Element, Extended, Scalar, Tail};

/// Side of a level on which a function is searched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crossing {
    /// f > level.
    Above,
    /// f ≥ level.
    AtLeast,
    /// f < level.
    Below,
    /// f ≤ level.
    AtMost,
}

impl Crossing {
    fn holds<S: Scalar>(self, value: &S, level: &S) -> bool {
        match self {
            Crossing::Above => value > level,
            Crossing::AtLeast => value >= level,
            Crossing::Below => value < level,
            Crossing::AtMost => value <= level,
        }
    }

    fn rises(self) -> bool {
        matches!(self, Crossing::Above | Crossing::AtLeast)
    }
}

impl<S: Scalar> Curve<S> {
    /// The function seen from a new origin: f(t + time) − height for t > 0, and 0 at t = 0. Earlier arrivals above the
    /// height become an initial burst.
    pub fn from_origin(&self, time: &S, height: &S) -> Result<Self, CurveError> {
        let later = match &self.tail {
            Tail::Periodic {
                from,
                period,
                increment,
            } => {
                let begin = from.clone().greater(time.clone()) + period;
                let end = begin.clone() + period;
                let elements = self.unrolled(Some(&end))?;
                let tail = Tail::Periodic {
                    from: begin - time,
                    period: period.clone(),
                    increment: increment.clone(),
                };
                (element::part(&elements, time, Some(&end), false), tail)
            }
            Tail::Plain => (
                element::part(&self.elements, time, None, false),
                Tail::Plain,
            ),
        };
        let (elements, tail) = later;
        let moved = element::moved(&elements, &-time.clone(), &-height.clone());
        let mut out = Builder::with_capacity(moved.len() + 1);
        out.point(S::zero(), S::zero());
        for element in moved {
            match element {
                Element::Point { at, .. } if at.is_zero() => {}
                element => out.push(element),
            }
        }
        Ok(Self::normalised(out.finish(), tail))
    }

    /// The function up to and including `time`, followed by `later` seen from the origin (time, height).
    ///
    /// The value at `time` itself is kept, so that a left-continuous function stays so.
    pub fn continued_with(&self, time: &S, height: &S, later: &Self) -> Result<Self, CurveError> {
        let mut elements = element::part(
            &self.unrolled(Some(&(time.clone() + S::one())))?,
            &S::zero(),
            Some(time),
            true,
        );
        let rest = element::moved(&later.elements, time, height);
        elements.extend(rest.into_iter().filter(|element| match element {
            Element::Point { at, .. } => at > time,
            Element::Segment { .. } => true,
        }));
        let tail = match &later.tail {
            Tail::Plain => Tail::Plain,
            Tail::Periodic {
                from,
                period,
                increment,
            } => {
                // The repetition may begin with the point at the seam, which does not belong to the later function.
                let from = from.clone() + time + period;
                let end = from.clone() + period;
                let repeated = element::moved(&later.unrolled(Some(&(end - time)))?, time, height);
                elements = element::part(&elements, &S::zero(), Some(time), true);
                elements.extend(repeated.into_iter().filter(|element| match element {
                    Element::Point { at, .. } => at > time,
                    Element::Segment { .. } => true,
                }));
                Tail::Periodic {
                    from,
                    period: period.clone(),
                    increment: increment.clone(),
                }
            }
        };
        Ok(Self::normalised(elements, tail))
    }

    /// The function up to and including `time`, followed by another one, in the same coordinates.
    pub fn then(&self, time: &S, later: &Self) -> Result<Self, CurveError> {
        let mut elements = self.until(time)?.elements;
        let rest = element::part(&later.elements, time, None, true);
        elements.extend(rest.into_iter().filter(|element| match element {
            Element::Point { at, .. } => at > time,
            Element::Segment { .. } => true,
        }));
        match later.tail {
            Tail::Plain => Ok(Self::normalised(elements, Tail::Plain)),
            Tail::Periodic { .. } => Err(CurveError::Malformed(
                "a function is continued with one that is not periodic".into(),
            )),
        }
    }

    /// f(t − delay), 0 up to the delay. f(0) must be 0.
    pub fn delayed(&self, delay: &S) -> Self {
        if !delay.is_positive() {
            return self.clone();
        }
        let mut out = Builder::with_capacity(self.elements.len() + 2);
        out.point(S::zero(), S::zero());
        out.segment(S::zero(), Some(delay.clone()), S::zero(), S::zero());
        for element in element::moved(&self.elements, delay, &S::zero()) {
            out.push(element);
        }
        let tail = match &self.tail {
            Tail::Plain => Tail::Plain,
            Tail::Periodic {
                from,
                period,
                increment,
            } => Tail::Periodic {
                from: from.clone() + delay,
                period: period.clone(),
                increment: increment.clone(),
            },
        };
        Self::normalised(out.finish(), tail)
    }

    /// inf{t ≥ from | f(t) on the given side of the level}, up to the horizon; `None` if there is no such t in [from, horizon].
    ///
    /// The result is an infimum: with a strict side, or after a jump, the function need not be on that side at that time.
    pub fn first_crossing(
        &self,
        from: &S,
        horizon: &S,
        side: Crossing,
        level: &S,
    ) -> Result<Option<S>, CurveError> {
        if from > horizon {
            return Ok(None);
        }
        let graph = match &self.tail {
            Tail::Plain => element::part(&self.elements, from, Some(horizon), true),
            Tail::Periodic { .. } => {
                element::part(&self.graph(horizon)?, from, Some(horizon), true)
            }
        };
        let mut end = from.clone();
        for element in &graph {
            if side.rises() && *element.from() > end {
                return Ok(Some(end));
            }
            if let Some(found) = crossing_within(element, side, level) {
                return Ok(Some(found));
            }
            end = element.to().cloned().unwrap_or(end);
        }
        Ok((side.rises() && end < *horizon).then_some(end))
    }

    /// The function on [0, horizon], +∞ after it.
    pub fn until(&self, horizon: &S) -> Result<Self, CurveError> {
        let elements = match &self.tail {
            Tail::Plain => element::part(&self.elements, &S::zero(), Some(horizon), true),
            Tail::Periodic { .. } => self.graph(horizon)?,
        };
        Ok(Self::normalised(elements, Tail::Plain))
    }

    /// The function on [0, horizon], constant afterwards.
    pub fn held(&self, horizon: &S) -> Result<Self, CurveError> {
        let mut elements = self.until(horizon)?.elements;
        elements.push(Element::Segment {
            from: horizon.clone(),
            to: None,
            start: self.finite_at(horizon)?,
            slope: S::zero(),
        });
        Ok(Self::normalised(elements, Tail::Plain))
    }

    /// f(t+) for all t: the right-continuous function with the same jumps.
    pub fn right_limits(&self) -> Self {
        let elements = self.elements.iter().map(|element| match element {
            Element::Point { at, value } => Element::Point {
                at: at.clone(),
                value: match self.after(at) {
                    Extended::Finite(limit) => limit,
                    Extended::Infinite => value.clone(),
                },
            },
            segment => segment.clone(),
        });
        Self::normalised(elements.collect(), self.tail.clone())
    }

    /// f − g on [0, horizon], where both must be finite.
    pub fn minus_until(&self, other: &Self, horizon: &S) -> Result<Self, CurveError> {
        let difference = element::sum(
            &self.until(horizon)?.elements,
            &other.until(horizon)?.elements,
            true,
        );
        let known = Self::normalised(difference, Tail::Plain);
        match known.elements.last().and_then(Element::to) {
            Some(end) if end == horizon => Ok(known),
            _ => Err(CurveError::Infinite),
        }
    }

    /// Returns the value at a time at which the function is finite.
    pub fn finite_at(&self, time: &S) -> Result<S, CurveError> {
        match self.at(time) {
            Extended::Finite(value) => Ok(value),
            Extended::Infinite => Err(CurveError::Infinite),
        }
    }
}

fn crossing_within<S: Scalar>(element: &Element<S>, side: Crossing, level: &S) -> Option<S> {
    let holds = |value: &S| side.holds(value, level);
    match element {
        Element::Point { at, value } => holds(value).then(|| at.clone()),
        Element::Segment {
            from,
            to,
            start,
            slope,
        } => {
            if holds(start) {
                return Some(from.clone());
            }
            let towards = if side.rises() {
                slope.is_positive()
            } else {
                slope.is_negative()
            };
            if !towards {
                return None;
            }
            let at = from.clone() + (level.clone() - start) / slope;
            // With a start equal to the level, a strict side begins at once.
            if at <= *from {
                return Some(from.clone());
            }
            to.as_ref().is_none_or(|to| at < *to).then_some(at)
        }
    }
}
