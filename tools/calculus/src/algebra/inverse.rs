//! Pseudo-inverses.
//!
//! The paper prints the lower one as inf{x | F(x) ≤ y}; inf{x | F(x) ≥ y} is meant (its reference \[31\], and every textbook).

use super::element::Builder;
use super::{Curve, CurveError, Element, Scalar, Tail};

#[derive(Clone, Copy, PartialEq)]
enum Side {
    Lower,
    Upper,
}

impl<S: Scalar> Curve<S> {
    /// F↓(y) = inf{x ≥ 0 | F(x) ≥ y}: left-continuous, +∞ where F never reaches y. F must not decrease or be negative.
    pub fn lower_pseudo_inverse(&self) -> Result<Self, CurveError> {
        self.pseudo_inverse(Side::Lower)
    }

    /// F↑(y) = sup{x ≥ 0 | F(x) ≤ y}: right-continuous, +∞ where F stays below, 0 where F(0) > y. F must not decrease or be
    /// negative.
    pub fn upper_pseudo_inverse(&self) -> Result<Self, CurveError> {
        self.pseudo_inverse(Side::Upper)
    }

    fn pseudo_inverse(&self, side: Side) -> Result<Self, CurveError> {
        self.check_non_decreasing()?;
        let Tail::Periodic {
            from,
            period,
            increment,
        } = &self.tail
        else {
            return self.mirrored_at_diagonal(&self.elements, side, Tail::Plain);
        };
        if increment.is_zero() {
            // Constant from `from` on, since it does not decrease.
            return self.mirrored_at_diagonal(&self.elements, side, Tail::Plain);
        }
        // The inverse repeats from F(from) on; the value there belongs to the part before if F jumps or is constant at
        // `from`.
        let begin = from.clone() + period;
        let value = self.at(&begin).finite().ok_or(CurveError::Infinite)?;
        let elements = self.graph(&(begin + period + period))?;
        let tail = Tail::Periodic {
            from: value,
            period: increment.clone(),
            increment: period.clone(),
        };
        self.mirrored_at_diagonal(&elements, side, tail)
    }

    fn mirrored_at_diagonal(
        &self,
        elements: &[Element<S>],
        side: Side,
        tail: Tail<S>,
    ) -> Result<Self, CurveError> {
        let Some(first) = elements.first() else {
            // ε is never at or below y.
            return Ok(Curve::zero());
        };
        if first.start().is_negative() {
            return Err(CurveError::Malformed(
                "a pseudo-inverse is taken of a function that is not negative".into(),
            ));
        }
        let mut out = Reflection {
            out: Builder::with_capacity(elements.len()),
            side,
            level: S::zero(),
        };
        out.begin();
        for element in elements {
            out.climb(element.from(), Some(element.start()));
            if let Element::Segment {
                from, to, slope, ..
            } = element
            {
                if slope.is_positive() {
                    out.ramp(from, element.end(), S::one() / slope);
                }
                if to.is_none() {
                    return Ok(Self::normalised(out.out.finish(), tail));
                }
            }
        }
        // After its last element, F with a plain tail is +∞ and passes every level at its end.
        if tail == Tail::Plain && self.tail == Tail::Plain {
            if let Some(end) = elements.last().and_then(Element::to) {
                out.climb(end, None);
            }
        }
        Ok(Self::normalised(out.out.finish(), tail))
    }
}

/// The inverse under construction, known below `level` (upper), or up to and including it (lower).
struct Reflection<S> {
    out: Builder<S>,
    side: Side,
    level: S,
}

impl<S: Scalar> Reflection<S> {
    /// At y = 0 the lower pseudo-inverse is 0, for F ≥ 0.
    fn begin(&mut self) {
        if self.side == Side::Lower {
            self.out.point(S::zero(), S::zero());
        }
    }

    /// F jumps to `level` (`None`: +∞) at the time x.
    fn climb(&mut self, x: &S, level: Option<&S>) {
        if level.is_some_and(|level| *level <= self.level) {
            return;
        }
        let from = self.level.clone();
        if self.side == Side::Upper {
            self.out.point(from.clone(), x.clone());
        }
        self.out.segment(from, level.cloned(), x.clone(), S::zero());
        if let Some(level) = level {
            if self.side == Side::Lower {
                self.out.point(level.clone(), x.clone());
            }
            self.level = level.clone();
        }
    }

    /// F rises steadily from the time x on, up to `level`.
    fn ramp(&mut self, x: &S, level: Option<S>, slope: S) {
        if level.as_ref().is_some_and(|level| *level <= self.level) {
            return;
        }
        let from = self.level.clone();
        if self.side == Side::Upper {
            self.out.point(from.clone(), x.clone());
        }
        let end = level
            .as_ref()
            .map(|level| x.clone() + slope.clone() * &(level.clone() - &from));
        self.out.segment(from, level.clone(), x.clone(), slope);
        if let (Some(level), Some(end)) = (level, end) {
            if self.side == Side::Lower {
                self.out.point(level.clone(), end);
            }
            self.level = level;
        }
    }
}
