//! The numbers that functions are made of. [`Exact`](super::Exact) is exact, `f64` is fast; the type of a function selects
//! one.

use std::cmp::Ordering;
use std::fmt::{Debug, Display};
use std::ops::{Add, Div, Mul, Neg, Sub};

/// An ordered field, as far as piecewise-linear functions need one. The caller must not divide by zero.
pub trait Scalar:
    Clone
    + Debug
    + Display
    + PartialEq
    + PartialOrd
    + Neg<Output = Self>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + for<'a> Add<&'a Self, Output = Self>
    + for<'a> Sub<&'a Self, Output = Self>
    + for<'a> Mul<&'a Self, Output = Self>
    + for<'a> Div<&'a Self, Output = Self>
    + 'static
{
    /// Returns the neutral element of addition.
    fn zero() -> Self;

    /// Returns `numerator / denominator`.
    fn ratio(numerator: i64, denominator: i64) -> Self;

    /// Returns the nearest `f64`.
    fn to_f64(&self) -> f64;

    /// Returns the largest integer that is not above the number.
    fn floor(&self) -> Self;

    /// Returns the least positive common multiple of two positive numbers. `None` if there is no reasonable one.
    fn common_multiple(&self, other: &Self) -> Option<Self>;

    /// Returns the maximum rounding error of the last few operations for a number of this size.
    fn rounding(&self) -> Self;

    /// Returns an integer.
    fn integer(value: i64) -> Self {
        Self::ratio(value, 1)
    }

    /// Returns the neutral element of multiplication.
    fn one() -> Self {
        Self::integer(1)
    }

    /// Returns true if the number is zero.
    fn is_zero(&self) -> bool {
        *self == Self::zero()
    }

    /// Returns true if the number is above zero.
    fn is_positive(&self) -> bool {
        *self > Self::zero()
    }

    /// Returns true if the number is below zero.
    fn is_negative(&self) -> bool {
        *self < Self::zero()
    }

    /// Total order. NaN, which operations on functions never create from finite numbers, counts as equal to all.
    fn compare(&self, other: &Self) -> Ordering {
        self.partial_cmp(other).unwrap_or(Ordering::Equal)
    }

    /// Returns the lesser number.
    fn lesser(self, other: Self) -> Self {
        if other < self {
            other
        } else {
            self
        }
    }

    /// Returns the greater number.
    fn greater(self, other: Self) -> Self {
        if other > self {
            other
        } else {
            self
        }
    }
}

/// Periods of `f64` functions count as commensurable if one is p/q of the other with p and q up to this.
const FACTOR_MAX: u32 = 10_000;

impl Scalar for f64 {
    fn zero() -> Self {
        0.0
    }

    fn ratio(numerator: i64, denominator: i64) -> Self {
        numerator as f64 / denominator as f64
    }

    fn to_f64(&self) -> f64 {
        *self
    }

    fn floor(&self) -> Self {
        f64::floor(*self)
    }

    fn rounding(&self) -> Self {
        1e-11 * self.abs().max(1.0)
    }

    /// Uses continued fractions, to a relative 1e-12.
    fn common_multiple(&self, other: &Self) -> Option<Self> {
        let target = self / other;
        let (mut p0, mut q0, mut p1, mut q1) = (0.0, 1.0, 1.0, 0.0);
        let mut rest = target;
        for _ in 0..40 {
            let whole = f64::floor(rest);
            (p0, p1) = (p1, whole * p1 + p0);
            (q0, q1) = (q1, whole * q1 + q0);
            if p1 > f64::from(FACTOR_MAX) || q1 > f64::from(FACTOR_MAX) {
                return None;
            }
            if (p1 / q1 - target).abs() <= 1e-12 * target {
                return Some(self * q1);
            }
            rest = 1.0 / (rest - whole);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floating_periods_have_a_common_multiple_if_their_ratio_is_simple() {
        let multiple = 0.1f64.common_multiple(&0.25).unwrap();
        assert!((multiple - 0.5).abs() < 1e-12);
        assert!((3.0f64.common_multiple(&3.0).unwrap() - 3.0).abs() < 1e-12);
        assert_eq!(1.0f64.common_multiple(&std::f64::consts::SQRT_2), None);
    }
}
