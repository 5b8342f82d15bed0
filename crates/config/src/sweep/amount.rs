//! Values with or without a unit as integers in the smallest unit, so that ranges are exact on any machine.

use weir_core::{BitRate, Bytes, Duration, PartsPerMillion};

use crate::document::{Item, Value};
use crate::units;

/// Unit of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Integer,
    /// Parts of 10⁻⁹.
    Decimal,
    Bytes,
    BitsPerSecond,
    Nanoseconds,
    PartsPerMillion,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Amount {
    pub(super) kind: Kind,
    pub(super) number: u64,
}

/// Decimal places of a number without a unit.
const DECIMALS: usize = 9;
/// Parts of one.
const PARTS: u64 = 1_000_000_000;

impl Kind {
    /// Suffix of a column with such values; `None` if the values are plain numbers.
    pub(super) fn unit(self) -> Option<&'static str> {
        match self {
            Self::Integer | Self::Decimal => None,
            Self::Bytes => Some("bytes"),
            Self::BitsPerSecond => Some("bits_per_second"),
            Self::Nanoseconds => Some("seconds"),
            Self::PartsPerMillion => Some("fraction"),
        }
    }
}

impl Amount {
    /// Converts a number, or text with a unit.
    ///
    /// # Errors
    ///
    /// The actual type.
    pub(super) fn of(item: &Item) -> Result<Self, String> {
        let (kind, number) = match &item.value {
            Value::Integer(number) => (
                Kind::Integer,
                u64::try_from(*number).map_err(|_| format!("{number} is negative"))?,
            ),
            Value::Float(text) => (
                Kind::Decimal,
                decimal(text).ok_or_else(|| {
                    format!("{text} is not a number from 0 with up to {DECIMALS} decimals, such as 0.25")
                })?,
            ),
            Value::Text(text) => {
                return Self::with_unit(text).ok_or_else(|| {
                    format!("`{text}` is not a number with a unit, such as \"64KiB\", \"100Gbit\", \"20us\" or \"1%\"")
                })
            }
            other => {
                return Err(format!(
                    "expected a number, or text with a unit such as \"64KiB\", found {}",
                    other.kind()
                ))
            }
        };
        Ok(Self { kind, number })
    }

    /// Parses text with a unit; no unit is ambiguous.
    pub(super) fn with_unit(text: &str) -> Option<Self> {
        let of = |kind, number| Some(Self { kind, number });
        if let Ok(size) = units::parse_size(text) {
            return of(Kind::Bytes, size.get());
        }
        if let Ok(rate) = units::parse_rate(text) {
            return of(Kind::BitsPerSecond, rate.get());
        }
        if let Ok(time) = units::parse_duration(text) {
            return of(Kind::Nanoseconds, time.as_nanos());
        }
        let probability = units::parse_probability(text).ok()?;
        of(Kind::PartsPerMillion, u64::from(probability.get()))
    }

    /// As written in a scenario. `None` if the value cannot be written, such as a rate of zero.
    pub(super) fn written(self) -> Option<String> {
        Some(match self.kind {
            Kind::Integer => self.number.to_string(),
            Kind::Decimal => {
                let (whole, parts) = (self.number / PARTS, self.number % PARTS);
                let text = format!("{whole}.{parts:0DECIMALS$}");
                let short = text.trim_end_matches('0');
                // TOML requires a digit after the point.
                let zero = if short.ends_with('.') { "0" } else { "" };
                format!("{short}{zero}")
            }
            Kind::Bytes => units::format_size(Bytes::new(self.number)),
            Kind::BitsPerSecond => units::format_rate(BitRate::new(self.number)?),
            Kind::Nanoseconds => units::format_duration(Duration::from_nanos(self.number)),
            Kind::PartsPerMillion => {
                let parts = u32::try_from(self.number).ok()?;
                units::format_probability(PartsPerMillion::new(parts)?)
            }
        })
    }

    /// In bytes, bits per second, seconds, fractions of one, or as it is.
    pub(super) fn as_f64(self) -> f64 {
        let divisor = match self.kind {
            Kind::Integer | Kind::Bytes | Kind::BitsPerSecond => 1,
            Kind::Decimal | Kind::Nanoseconds => PARTS,
            Kind::PartsPerMillion => 1_000_000,
        };
        self.number as f64 / divisor as f64
    }
}

/// A decimal number in parts of 10⁻⁹.
fn decimal(text: &str) -> Option<u64> {
    let text = text.replace('_', "");
    let (whole, part) = text.split_once('.')?;
    let part = part.trim_end_matches('0');
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(part) || part.len() > DECIMALS {
        return None;
    }
    format!("{whole}{part:0<DECIMALS$}").parse().ok()
}

/// Spacing of the values of a range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Scale {
    /// Equal differences.
    #[default]
    Linear,
    /// Equal ratios.
    Logarithmic,
}

/// A range including both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) kind: Kind,
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) scale: Scale,
}

impl Range {
    /// `from`, and further values at distance `step` up to `to`.
    pub(super) fn by(self, step: u64) -> impl Iterator<Item = Amount> {
        let steps = (self.to - self.from).checked_div(step).unwrap_or(0);
        (0..=steps).map(move |place| self.amount(self.from + place * step))
    }

    /// `count` values including both ends; only `from` if `count` is one.
    pub(super) fn in_steps(self, count: u64) -> impl Iterator<Item = Amount> {
        let last = count.saturating_sub(1).max(1);
        (0..count).map(move |place| match self.scale {
            Scale::Linear => {
                let way = u128::from(self.to - self.from) * u128::from(place);
                // To the nearest integer.
                let way = (way * 2 + u128::from(last)) / (u128::from(last) * 2);
                self.amount(self.from + way as u64)
            }
            Scale::Logarithmic => self.times(place as f64 / last as f64),
        })
    }

    /// In stratum `place` of `count` (at most 2³¹) equally likely ones, at the fraction `inside` of 2³².
    pub(super) fn in_stratum(self, place: u64, count: u64, inside: u32) -> Amount {
        let way = (u128::from(place) << 32) + u128::from(inside);
        let whole = u128::from(count.max(1)) << 32;
        match self.scale {
            // Integers, with `to` as likely as any other.
            Scale::Linear => {
                let numbers = u128::from(self.to - self.from) + 1;
                self.amount(self.from + (numbers * way / whole) as u64)
            }
            Scale::Logarithmic => self.times(way as f64 / whole as f64),
        }
    }

    /// `from` × (`to` / `from`) ^ `exponent`, for an exponent from 0 to 1.
    fn times(self, exponent: f64) -> Amount {
        let ratio = self.to as f64 / self.from.max(1) as f64;
        let number = (self.from as f64 * power(ratio, exponent)).round() as u64;
        self.amount(number.clamp(self.from, self.to))
    }

    fn amount(self, number: u64) -> Amount {
        Amount {
            kind: self.kind,
            number,
        }
    }
}

/// base ^ exponent for an exponent from 0 to 1, by square roots and multiplications: IEEE 754 rounds these equally
/// everywhere, unlike mathematical libraries.
fn power(base: f64, mut exponent: f64) -> f64 {
    if exponent >= 1.0 {
        return base;
    }
    let (mut root, mut product) = (base, 1.0);
    for _ in 0..f64::MANTISSA_DIGITS {
        root = root.sqrt();
        exponent *= 2.0;
        if exponent >= 1.0 {
            exponent -= 1.0;
            product *= root;
        }
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn range(from: u64, to: u64, scale: Scale) -> Range {
        let kind = Kind::Integer;
        Range {
            kind,
            from,
            to,
            scale,
        }
    }

    #[test]
    fn ranges_include_both_ends_and_stop_there() {
        let numbers = |amounts: &mut dyn Iterator<Item = Amount>| -> Vec<u64> {
            amounts.map(|amount| amount.number).collect()
        };
        let linear = range(10, 31, Scale::Linear);
        assert_eq!(numbers(&mut linear.by(10)), [10, 20, 30]);
        assert_eq!(numbers(&mut linear.in_steps(4)), [10, 17, 24, 31]);
        assert_eq!(numbers(&mut linear.in_steps(1)), [10]);
        let powers = range(1, 1000, Scale::Logarithmic);
        assert_eq!(numbers(&mut powers.in_steps(4)), [1, 10, 100, 1000]);
    }

    #[test]
    fn decimals_are_written_as_short_as_they_can_be() {
        for text in ["0.0", "0.25", "12.000000001", "3.5"] {
            let number = decimal(text).unwrap();
            let kind = Kind::Decimal;
            assert_eq!(Amount { kind, number }.written().as_deref(), Some(text));
        }
        for bad in ["1e3", "-0.5", "inf", ".5", "0.0000000001"] {
            assert_eq!(decimal(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn a_power_equals_the_library_function(base in 1.0f64..1e12, exponent in 0.0f64..=1.0) {
            let (ours, theirs) = (power(base, exponent), base.powf(exponent));
            prop_assert!((ours / theirs - 1.0).abs() < 1e-14, "{ours} {theirs}");
        }

        #[test]
        fn a_value_lies_in_its_stratum(
            from in 0u64..1 << 40, span in 0u64..1 << 62, count in 1u64..10_000, place: u64, inside: u32
        ) {
            let place = place % count;
            let number = range(from, from + span, Scale::Linear).in_stratum(place, count, inside).number;
            let edge = |place: u64| {
                from + ((u128::from(span) + 1) * u128::from(place) / u128::from(count)) as u64
            };
            prop_assert!((edge(place)..=edge(place + 1)).contains(&number));
            prop_assert!((from..=from + span).contains(&number));
        }

        #[test]
        fn written_amounts_are_read_back(number in 1u64..1 << 50) {
            for kind in [Kind::Bytes, Kind::BitsPerSecond, Kind::Nanoseconds] {
                let amount = Amount { kind, number };
                prop_assert_eq!(Amount::with_unit(&amount.written().unwrap()), Some(amount));
            }
        }
    }
}
