//! Composition f∘g. (Zippo, Nikolaus and Stea 2023, which the paper cites as \[32\].)

use super::curve::Ultimate;
use super::element::{Builder, Cursor};
use super::{Curve, CurveError, Element, Extended, Scalar, Tail};

impl<S: Scalar> Curve<S> {
    /// f(g(t)), for a finite, non-negative, non-decreasing g. O(n + m) elements of both, up to where the result repeats.
    pub fn composed_with(&self, inner: &Self) -> Result<Self, CurveError> {
        inner.check_non_decreasing()?;
        let (from_f, f) = self.ultimate();
        let (from_g, g) = inner.ultimate();
        match (f, g) {
            (_, Ultimate::Infinite) => Err(CurveError::Infinite),
            (Ultimate::Infinite, Ultimate::Affine { .. })
            | (Ultimate::Affine { .. }, Ultimate::Affine { .. }) => Ok(Self::normalised(
                compose(&self.elements, &inner.elements)?,
                Tail::Plain,
            )),
            (Ultimate::Periodic { .. }, Ultimate::Affine { slope }) if slope.is_zero() => {
                let horizon = inner.limit(&from_g)? + S::one();
                let outer = self.graph(&horizon)?;
                Ok(Self::normalised(
                    compose(&outer, &inner.elements)?,
                    Tail::Plain,
                ))
            }
            (Ultimate::Periodic { period, increment }, Ultimate::Affine { slope }) => {
                let repeat = period / &slope;
                self.composed_periodically(inner, from_f, from_g, repeat, increment)
            }
            (f, Ultimate::Periodic { period, increment }) => {
                let (repeat, increment) = match f {
                    Ultimate::Periodic {
                        period: period_f,
                        increment: increment_f,
                    } if increment.is_positive() => {
                        let common = super::pointwise::common_period(&period_f, &increment)?;
                        (
                            period * &(common.clone() / &increment),
                            increment_f * &(common / &period_f),
                        )
                    }
                    Ultimate::Affine { slope } => (period, slope * &increment),
                    _ => (period, S::zero()),
                };
                self.composed_periodically(inner, from_f, from_g, repeat, increment)
            }
        }
    }

    fn composed_periodically(
        &self,
        inner: &Self,
        from_f: S,
        from_g: S,
        repeat: S,
        increment: S,
    ) -> Result<Self, CurveError> {
        // g must have permanently passed the beginning of f's ultimate behaviour.
        let passed = inner.first_above(&from_f)?;
        let (from, infinite) = match passed {
            Some(passed) => (
                passed.greater(from_g) + &repeat,
                self.rate() == Extended::Infinite,
            ),
            None => (from_g + &repeat, false),
        };
        let end = from.clone() + &repeat;
        let reach = inner.after(&end).finite().ok_or(CurveError::Infinite)? + S::one();
        let elements = compose(&self.graph(&reach)?, &inner.graph(&end)?)?;
        if infinite {
            return Ok(Self::normalised(elements, Tail::Plain));
        }
        Ok(Self::normalised(
            elements,
            Tail::Periodic {
                from,
                period: repeat,
                increment,
            },
        ))
    }

    /// Returns a time after which the function is above `level`; `None` if it never is.
    fn first_above(&self, level: &S) -> Result<Option<S>, CurveError> {
        let inverse = self.upper_pseudo_inverse()?;
        Ok(inverse.at(level).finite())
    }

    fn limit(&self, from: &S) -> Result<S, CurveError> {
        self.after(from).finite().ok_or(CurveError::Infinite)
    }
}

fn compose<S: Scalar>(
    outer: &[Element<S>],
    inner: &[Element<S>],
) -> Result<Vec<Element<S>>, CurveError> {
    let mut out = Builder::with_capacity(outer.len() + inner.len());
    let mut cursor = Cursor::new(outer);
    for element in inner {
        match element {
            Element::Point { at, value } => {
                if let Some(value) = cursor.value_at(value) {
                    out.point(at.clone(), value);
                }
            }
            Element::Segment {
                from,
                to,
                start,
                slope,
            } if slope.is_zero() => {
                if let Some(value) = cursor.value_at(start) {
                    out.segment(from.clone(), to.clone(), value, S::zero());
                }
            }
            Element::Segment {
                from,
                to,
                start,
                slope,
            } => {
                let end = element.end();
                let mut level = start.clone();
                let mut at = from.clone();
                loop {
                    let line = cursor.line_after(&level);
                    let next = cursor
                        .boundary_after(&level)
                        .filter(|next| end.as_ref().is_none_or(|end| *next < end))
                        .cloned();
                    let until = match &next {
                        Some(next) => Some(from.clone() + (next.clone() - start) / slope),
                        None => to.clone(),
                    };
                    if let Some(line) = line {
                        out.segment(at, until.clone(), line.start, line.slope * slope);
                    }
                    let (Some(next), Some(until)) = (next, until) else {
                        break;
                    };
                    if let Some(value) = cursor.value_at(&next) {
                        out.point(until.clone(), value);
                    }
                    (at, level) = (until, next);
                }
            }
        }
    }
    Ok(out.finish())
}
