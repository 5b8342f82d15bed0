//! Exact rational numbers.
//!
//! Most numbers of a model are short, but every multiplicative decrease multiplies denominators, so a fixed width
//! overflows after a few dozen events. `Exact` stores 64-bit fractions inline, with 128-bit intermediate results that
//! cannot overflow, and uses `num-rational`'s `BigRational` for longer ones (unlike bindings of GMP it has a permissive
//! licence). A number has one representation, so equality is structural.

use std::cmp::Ordering;
use std::fmt;
use std::ops::{Add, Div, Mul, Neg, Sub};

use num_bigint::BigInt;
use num_integer::Integer;
use num_rational::BigRational;
use num_traits::{Signed, ToPrimitive, Zero};

use super::Scalar;

/// A rational number, exact at any size.
#[derive(Clone, PartialEq, Eq)]
pub struct Exact(Form);

#[derive(Clone, PartialEq, Eq)]
enum Form {
    /// Reduced, denominator positive, neither part `i64::MIN`.
    Short { numerator: i64, denominator: i64 },
    /// Reduced, and too long for `Short`.
    Long(Box<BigRational>),
}

use Form::{Long, Short};

impl Exact {
    /// Returns `numerator / denominator` in lowest terms. The denominator must not be zero.
    pub fn new(numerator: i64, denominator: i64) -> Self {
        assert!(denominator != 0, "a fraction has a denominator");
        Self::reduced(i128::from(numerator), i128::from(denominator))
    }

    fn reduced(numerator: i128, denominator: i128) -> Self {
        let divisor = greatest_common_divisor(numerator.unsigned_abs(), denominator.unsigned_abs());
        // The operands of every caller are below 2^127 in magnitude, and so is their divisor.
        let divisor = if denominator < 0 {
            -(divisor as i128)
        } else {
            divisor as i128
        };
        let (numerator, denominator) = (numerator / divisor, denominator / divisor);
        match (i64::try_from(numerator), i64::try_from(denominator)) {
            (Ok(numerator), Ok(denominator)) if numerator != i64::MIN => Self(Short {
                numerator,
                denominator,
            }),
            _ => Self(Long(Box::new(BigRational::new_raw(
                numerator.into(),
                denominator.into(),
            )))),
        }
    }

    fn from_long(value: BigRational) -> Self {
        match (value.numer().to_i64(), value.denom().to_i64()) {
            (Some(numerator), Some(denominator)) if numerator != i64::MIN => Self(Short {
                numerator,
                denominator,
            }),
            _ => Self(Long(Box::new(value))),
        }
    }

    /// Returns the number as an arbitrary-precision rational.
    pub fn to_rational(&self) -> BigRational {
        match &self.0 {
            Short {
                numerator,
                denominator,
            } => BigRational::new_raw((*numerator).into(), (*denominator).into()),
            Long(value) => (**value).clone(),
        }
    }

    /// Returns the bits of numerator and denominator together, which determine the cost of a number.
    pub fn size_bits(&self) -> u64 {
        let value = self.to_rational();
        value.numer().bits() + value.denom().bits()
    }
}

fn greatest_common_divisor(a: u128, b: u128) -> u128 {
    let (mut a, mut b) = (a, b);
    loop {
        if let (Ok(a), Ok(b)) = (u64::try_from(a), u64::try_from(b)) {
            return u128::from(a.gcd(&b)).max(1);
        }
        if b == 0 {
            return a.max(1);
        }
        (a, b) = (b, a % b);
    }
}

/// Returns both operands' short parts, widened.
fn short(a: &Exact, b: &Exact) -> Option<[i128; 4]> {
    match (&a.0, &b.0) {
        (
            Short {
                numerator: n1,
                denominator: d1,
            },
            Short {
                numerator: n2,
                denominator: d2,
            },
        ) => Some([*n1, *d1, *n2, *d2].map(i128::from)),
        _ => None,
    }
}

fn plus(a: &Exact, b: &Exact) -> Exact {
    match short(a, b) {
        Some([n1, d1, n2, d2]) if d1 == d2 => Exact::reduced(n1 + n2, d1),
        Some([n1, d1, n2, d2]) => Exact::reduced(n1 * d2 + n2 * d1, d1 * d2),
        None => Exact::from_long(a.to_rational() + b.to_rational()),
    }
}

fn minus(a: &Exact, b: &Exact) -> Exact {
    match short(a, b) {
        Some([n1, d1, n2, d2]) if d1 == d2 => Exact::reduced(n1 - n2, d1),
        Some([n1, d1, n2, d2]) => Exact::reduced(n1 * d2 - n2 * d1, d1 * d2),
        None => Exact::from_long(a.to_rational() - b.to_rational()),
    }
}

fn times(a: &Exact, b: &Exact) -> Exact {
    match short(a, b) {
        Some([n1, d1, n2, d2]) => Exact::reduced(n1 * n2, d1 * d2),
        None => Exact::from_long(a.to_rational() * b.to_rational()),
    }
}

fn over(a: &Exact, b: &Exact) -> Exact {
    match short(a, b) {
        Some([n1, d1, n2, d2]) => {
            assert!(n2 != 0, "division by zero");
            Exact::reduced(n1 * d2, d1 * n2)
        }
        None => Exact::from_long(a.to_rational() / b.to_rational()),
    }
}

macro_rules! operator {
    ($trait:ident, $method:ident, $function:ident) => {
        impl $trait for Exact {
            type Output = Exact;
            fn $method(self, other: Exact) -> Exact {
                $function(&self, &other)
            }
        }
        impl<'a> $trait<&'a Exact> for Exact {
            type Output = Exact;
            fn $method(self, other: &'a Exact) -> Exact {
                $function(&self, other)
            }
        }
    };
}

operator!(Add, add, plus);
operator!(Sub, sub, minus);
operator!(Mul, mul, times);
operator!(Div, div, over);

impl Neg for Exact {
    type Output = Exact;
    fn neg(self) -> Exact {
        match self.0 {
            Short {
                numerator,
                denominator,
            } => Exact(Short {
                numerator: -numerator,
                denominator,
            }),
            Long(value) => Exact::from_long(-*value),
        }
    }
}

impl Ord for Exact {
    fn cmp(&self, other: &Self) -> Ordering {
        match short(self, other) {
            Some([n1, d1, n2, d2]) => (n1 * d2).cmp(&(n2 * d1)),
            None => {
                let (a, b) = (self.to_rational(), other.to_rational());
                (a.numer() * b.denom()).cmp(&(b.numer() * a.denom()))
            }
        }
    }
}

impl PartialOrd for Exact {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl From<i64> for Exact {
    fn from(value: i64) -> Self {
        Exact::new(value, 1)
    }
}

impl fmt::Display for Exact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Short {
                numerator,
                denominator: 1,
            } => write!(f, "{numerator}"),
            Short {
                numerator,
                denominator,
            } => write!(f, "{numerator}/{denominator}"),
            Long(value) => write!(f, "{value}"),
        }
    }
}

impl fmt::Debug for Exact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Scalar for Exact {
    fn zero() -> Self {
        Exact(Short {
            numerator: 0,
            denominator: 1,
        })
    }

    fn ratio(numerator: i64, denominator: i64) -> Self {
        Exact::new(numerator, denominator)
    }

    fn to_f64(&self) -> f64 {
        match &self.0 {
            Short {
                numerator,
                denominator,
            } => *numerator as f64 / *denominator as f64,
            Long(value) => long_to_f64(value),
        }
    }

    fn floor(&self) -> Self {
        match &self.0 {
            Short {
                numerator,
                denominator,
            } => Exact::from(numerator.div_euclid(*denominator)),
            Long(value) => Exact::from_long(value.floor()),
        }
    }

    fn rounding(&self) -> Self {
        Self::zero()
    }

    fn common_multiple(&self, other: &Self) -> Option<Self> {
        let (a, b) = (self.to_rational(), other.to_rational());
        if !a.is_positive() || !b.is_positive() {
            return None;
        }
        Some(Exact::from_long(BigRational::new(
            a.numer().lcm(b.numer()),
            a.denom().gcd(b.denom()),
        )))
    }

    fn is_zero(&self) -> bool {
        matches!(&self.0, Short { numerator: 0, .. })
    }

    fn is_positive(&self) -> bool {
        match &self.0 {
            Short { numerator, .. } => *numerator > 0,
            Long(value) => value.is_positive(),
        }
    }

    fn is_negative(&self) -> bool {
        match &self.0 {
            Short { numerator, .. } => *numerator < 0,
            Long(value) => value.is_negative(),
        }
    }

    fn compare(&self, other: &Self) -> Ordering {
        self.cmp(other)
    }
}

/// Computes 64 significant bits of the quotient first, since both parts may exceed the range of `f64` while their quotient
/// does not.
fn long_to_f64(value: &BigRational) -> f64 {
    let (numerator, denominator) = (value.numer(), value.denom());
    if numerator.is_zero() {
        return 0.0;
    }
    let shift = denominator.bits() as i64 - numerator.bits() as i64 + 64;
    let quotient: BigInt = if shift >= 0 {
        (numerator << shift as u64) / denominator
    } else {
        numerator / (denominator << shift.unsigned_abs())
    };
    let scale = i32::try_from(-shift).unwrap_or(if shift > 0 { i32::MIN } else { i32::MAX });
    quotient.to_f64().unwrap_or(0.0) * 2f64.powi(scale)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_exact() -> impl Strategy<Value = Exact> {
        let part = prop_oneof![-9i64..9, any::<i64>()];
        (part.clone(), part, prop_oneof![1i64..9, 1i64..i64::MAX])
            .prop_map(|(a, b, c)| Exact::new(a, c) * Exact::new(b, 1) + Exact::new(1, c))
    }

    proptest! {
        #[test]
        fn short_and_long_forms_compute_what_big_rationals_do(a in any_exact(), b in any_exact()) {
            let (x, y) = (a.to_rational(), b.to_rational());
            prop_assert_eq!((a.clone() + &b).to_rational(), &x + &y);
            prop_assert_eq!((a.clone() - &b).to_rational(), &x - &y);
            prop_assert_eq!((a.clone() * &b).to_rational(), &x * &y);
            if !b.is_zero() {
                prop_assert_eq!((a.clone() / &b).to_rational(), &x / &y);
            }
            prop_assert_eq!(a.cmp(&b), x.cmp(&y));
            prop_assert_eq!(a.floor().to_rational(), x.floor());
            prop_assert_eq!((-a.clone()).to_rational(), -&x);
            prop_assert_eq!(a.is_negative(), x.is_negative());
            prop_assert_eq!(a.clone() + &b - &b, a, "one representation for a number");
        }
    }

    #[test]
    fn numbers_far_beyond_floating_point_still_have_a_quotient() {
        let mut huge = Exact::new(3, 1);
        for _ in 0..12 {
            huge = huge.clone() * &huge;
        }
        let next = huge.clone() * &Exact::new(5, 2);
        assert!(huge.size_bits() > 6_000);
        assert_eq!((next / &huge).to_f64(), 2.5);
        let nearly = (huge.clone() + &Exact::from(1)) / &huge;
        assert_eq!(nearly.to_f64(), 1.0);
        assert!(nearly > Exact::from(1));
    }

    #[test]
    fn common_multiples_of_fractions() {
        let multiple = Exact::new(3, 4).common_multiple(&Exact::new(5, 6));
        assert_eq!(multiple, Some(Exact::new(15, 2)));
    }
}
