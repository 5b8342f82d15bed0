//! A piecewise-linear function that grows at its right end.

use crate::algebra::{Curve, CurveError, Element, Scalar, Tail};

#[derive(Clone, Debug)]
struct Corner<S> {
    at: S,
    /// Limit from the right.
    start: S,
    slope: S,
}

/// Corners in order of time; the last line continues until the next one.
#[derive(Clone, Debug)]
pub(super) struct Trace<S> {
    corners: Vec<Corner<S>>,
}

/// A position in a trace that only moves to the right.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place(usize);

impl<S: Scalar> Trace<S> {
    pub fn new(start: S) -> Self {
        let corner = Corner {
            at: S::zero(),
            start,
            slope: S::zero(),
        };
        Self {
            corners: vec![corner],
        }
    }

    /// Changes the slope at `at`, without a jump.
    pub fn turn(&mut self, at: &S, value: &S, slope: &S) {
        if self.last().slope == *slope {
            return;
        }
        self.jump(at, value, slope);
    }

    /// Changes the value or the slope at `at`.
    pub fn jump(&mut self, at: &S, value: &S, slope: &S) {
        let corner = Corner {
            at: at.clone(),
            start: value.clone(),
            slope: slope.clone(),
        };
        match self.corners.last_mut() {
            // The first corner keeps the value at 0 in front of a jump.
            Some(last) if last.at == corner.at => *last = corner,
            _ => self.corners.push(corner),
        }
    }

    fn last(&self) -> &Corner<S> {
        // A trace begins with a corner and never loses one.
        &self.corners[self.corners.len() - 1]
    }

    /// Returns the position of the last corner.
    pub fn end(&self) -> Place {
        Place(self.corners.len() - 1)
    }

    /// Returns the function delayed by `delay`, just after `time`: value, slope, and the time of the next corner, which is
    /// after `time` despite rounding. Advances `place` to it.
    pub fn delayed_line(&self, place: &mut Place, time: &S, delay: &S) -> (S, &S, Option<S>) {
        let mut next = None;
        while let Some(corner) = self.corners.get(place.0 + 1) {
            let comes = corner.at.clone() + delay;
            if comes > *time {
                next = Some(comes);
                break;
            }
            place.0 += 1;
        }
        let corner = &self.corners[place.0];
        let since = time.clone() - delay - &corner.at;
        let value = corner.start.clone() + corner.slope.clone() * &since;
        (value, &corner.slope, next)
    }

    /// Returns the value at `time` (limit from the left), for times near the end.
    pub fn value_before(&self, time: &S) -> S {
        let corner = self
            .corners
            .iter()
            .rev()
            .find(|corner| corner.at < *time)
            .unwrap_or(&self.corners[0]);
        corner.start.clone() + corner.slope.clone() * &(time.clone() - &corner.at)
    }

    /// Converts it into a left-continuous curve on [0, end], 0 at 0.
    pub fn into_curve(self, end: &S) -> Result<Curve<S>, CurveError> {
        let mut elements = Vec::with_capacity(2 * self.corners.len() + 1);
        let mut value = S::zero();
        let count = self.corners.len();
        for index in 0..count {
            let corner = &self.corners[index];
            if corner.at >= *end && index > 0 {
                break;
            }
            elements.push(Element::Point {
                at: corner.at.clone(),
                value,
            });
            let next = match self.corners.get(index + 1) {
                Some(next) => next.at.clone().lesser(end.clone()),
                None => end.clone(),
            };
            let length = next.clone() - &corner.at;
            value = corner.start.clone() + corner.slope.clone() * &length;
            elements.push(Element::Segment {
                from: corner.at.clone(),
                to: Some(next.clone()),
                start: corner.start.clone(),
                slope: corner.slope.clone(),
            });
            if next >= *end {
                break;
            }
        }
        elements.push(Element::Point {
            at: end.clone(),
            value,
        });
        Curve::new(elements, Tail::Plain)
    }
}
