//! Shares and probabilities, exact: every machine computes with the value in the file.

use std::fmt;

/// A number from 0 to 1 in parts of 10⁻⁹.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fraction(u32);

impl Fraction {
    /// Parts of one.
    pub const ONE_IN_PARTS: u32 = 1_000_000_000;
    /// Zero.
    pub const ZERO: Self = Self(0);
    /// One.
    pub const ONE: Self = Self(Self::ONE_IN_PARTS);

    /// Creates a fraction of `parts` × 10⁻⁹; `None` above one.
    pub const fn from_parts(parts: u32) -> Option<Self> {
        if parts <= Self::ONE_IN_PARTS {
            Some(Self(parts))
        } else {
            None
        }
    }

    /// The value in parts of 10⁻⁹.
    pub const fn parts(self) -> u32 {
        self.0
    }

    /// The nearest floating point number.
    pub fn as_f64(self) -> f64 {
        f64::from(self.0) / f64::from(Self::ONE_IN_PARTS)
    }

    /// Returns true for zero.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

impl fmt::Display for Fraction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.as_f64())
    }
}

/// Error: text that is not a fraction.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a number from 0 to 1 with up to nine decimals, such as 0.25, or \"25%\"")]
pub struct FractionError(String);

/// Parses `0.25` or `25%`.
///
/// # Errors
///
/// Anything else, a value above one, or one with more than nine decimals.
pub fn parse_fraction(text: &str) -> Result<Fraction, FractionError> {
    let bare = text.trim();
    let (number, decimals) = match bare.strip_suffix('%') {
        Some(percent) => (percent.trim(), 7),
        None => (bare, 9),
    };
    scaled(number, decimals)
        .and_then(Fraction::from_parts)
        .ok_or_else(|| FractionError(text.to_owned()))
}

/// The decimal number times 10^`decimals`, if that is whole.
fn scaled(number: &str, decimals: usize) -> Option<u32> {
    let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_digits(whole) || !is_digits(part) {
        return None;
    }
    let part = part.trim_end_matches('0');
    if part.len() > decimals {
        return None;
    }
    format!("{whole}{part:0<decimals$}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_the_usual_notations() {
        let parts = |text: &str| parse_fraction(text).unwrap().parts();
        assert_eq!(parts("0"), 0);
        assert_eq!(parts("1"), 1_000_000_000);
        assert_eq!(parts("1.0"), 1_000_000_000);
        assert_eq!(parts("0.00390625"), 3_906_250);
        assert_eq!(parts("1%"), 10_000_000);
        assert_eq!(parts("0.5 %"), 5_000_000);
        assert_eq!(parts("100.00%"), 1_000_000_000);
    }

    #[test]
    fn refuses_other_text() {
        for bad in [
            "",
            "%",
            ".5",
            "-0.1",
            "1.1",
            "101%",
            "1e-3",
            "nan",
            "0.0000000001",
            "99999999999999999999",
        ] {
            assert!(parse_fraction(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn parts_are_read_back(parts in 0u32..=Fraction::ONE_IN_PARTS) {
            let text = format!("{}.{:09}", parts / Fraction::ONE_IN_PARTS, parts % Fraction::ONE_IN_PARTS);
            prop_assert_eq!(parse_fraction(&text).map(Fraction::parts), Ok(parts));
        }

        #[test]
        fn any_text_is_read_or_refused(text: String) {
            let _ = parse_fraction(&text);
        }
    }
}
