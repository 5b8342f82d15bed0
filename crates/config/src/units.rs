//! Values in human-readable form.
//!
//! | kind | examples | units |
//! |---|---|---|
//! | rate | `"100Mbit"`, `"2.5Gbit/s"` | `bit`, `kbit`, `Mbit`, `Gbit`, `Tbit`: powers of 1000 |
//! | size | `"64KiB"`, `"1500B"` | `B`; `kB`, `MB`, `GB`: powers of 1000; `KiB`, `MiB`, `GiB`: powers of 1024 |
//! | duration | `"20ms"`, `"1.5s"` | `ns`, `us`, `ms`, `s`, `min`, `h` |
//! | length | `"40m"`, `"2.5m"` | `cm`, `m`, `km` |
//! | probability | `"1%"`, `"250ppm"` | `%`; `ppm`: millionths |
//!
//! A number without a unit is refused, because its meaning is ambiguous.

use weir_core::{BitRate, Bytes, Duration, PartsPerMillion};

type Unit = (&'static str, u64);

const RATE_UNITS: [Unit; 5] = [
    ("bit", 1),
    ("kbit", 1_000),
    ("Mbit", 1_000_000),
    ("Gbit", 1_000_000_000),
    ("Tbit", 1_000_000_000_000),
];
const SIZE_UNITS: [Unit; 7] = [
    ("B", 1),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
];
const DURATION_UNITS: [Unit; 6] = [
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
];
const LENGTH_UNITS: [Unit; 3] = [("cm", 1), ("m", 100), ("km", 100_000)];
const PROBABILITY_UNITS: [Unit; 2] = [("ppm", 1), ("%", 10_000)];

/// Other names of units, in lower case, with the correct one.
const RATE_NAMES: &[(&str, &str)] = &[
    ("bps", "bit"),
    ("kbps", "kbit"),
    ("m", "Mbit"),
    ("mb", "Mbit"),
    ("mbps", "Mbit"),
    ("g", "Gbit"),
    ("gb", "Gbit"),
    ("gbe", "Gbit"),
    ("gbps", "Gbit"),
    ("t", "Tbit"),
    ("tbps", "Tbit"),
];
const SIZE_NAMES: &[(&str, &str)] = &[
    ("byte", "B"),
    ("bytes", "B"),
    ("k", "KiB"),
    ("m", "MiB"),
    ("g", "GiB"),
];
const DURATION_NAMES: &[(&str, &str)] = &[
    ("µs", "us"),
    ("μs", "us"),
    ("usec", "us"),
    ("msec", "ms"),
    ("sec", "s"),
    ("m", "min"),
    ("mins", "min"),
    ("hr", "h"),
];
const LENGTH_NAMES: &[(&str, &str)] = &[
    ("metre", "m"),
    ("metres", "m"),
    ("meter", "m"),
    ("meters", "m"),
];
const PROBABILITY_NAMES: &[(&str, &str)] = &[("percent", "%"), ("pct", "%")];

struct Kind {
    name: &'static str,
    units: &'static [Unit],
    names: &'static [(&'static str, &'static str)],
    example: &'static str,
}

const RATE: Kind = Kind {
    name: "rate",
    units: &RATE_UNITS,
    names: RATE_NAMES,
    example: "100Mbit",
};
const SIZE: Kind = Kind {
    name: "size",
    units: &SIZE_UNITS,
    names: SIZE_NAMES,
    example: "64KiB",
};
const DURATION: Kind = Kind {
    name: "duration",
    units: &DURATION_UNITS,
    names: DURATION_NAMES,
    example: "20ms",
};
const LENGTH: Kind = Kind {
    name: "length",
    units: &LENGTH_UNITS,
    names: LENGTH_NAMES,
    example: "40m",
};
const PROBABILITY: Kind = Kind {
    name: "probability up to 100%",
    units: &PROBABILITY_UNITS,
    names: PROBABILITY_NAMES,
    example: "1%",
};

/// Error: text that is not a value with a unit; states the expected form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UnitError(String);

/// Parses a rate such as `100Mbit`, with or without `/s`.
///
/// # Errors
///
/// Anything else, including zero.
pub fn parse_rate(text: &str) -> Result<BitRate, UnitError> {
    let bare = text.strip_suffix("/s").unwrap_or(text);
    scaled(bare, &RATE_UNITS)
        .and_then(BitRate::new)
        .ok_or_else(|| refuse(text, bare, &RATE))
}

/// Parses a size such as `64KiB`.
///
/// # Errors
///
/// Anything else.
pub fn parse_size(text: &str) -> Result<Bytes, UnitError> {
    scaled(text, &SIZE_UNITS)
        .map(Bytes::new)
        .ok_or_else(|| refuse(text, text, &SIZE))
}

/// Parses a duration such as `20ms`.
///
/// # Errors
///
/// Anything else.
pub fn parse_duration(text: &str) -> Result<Duration, UnitError> {
    scaled(text, &DURATION_UNITS)
        .map(Duration::from_nanos)
        .ok_or_else(|| refuse(text, text, &DURATION))
}

/// Parses a length such as `40m`, in centimetres.
///
/// # Errors
///
/// Anything else.
pub fn parse_length(text: &str) -> Result<u64, UnitError> {
    scaled(text, &LENGTH_UNITS).ok_or_else(|| refuse(text, text, &LENGTH))
}

/// Parses a probability such as `1%`.
///
/// # Errors
///
/// Anything else, and more than 100 %.
pub fn parse_probability(text: &str) -> Result<PartsPerMillion, UnitError> {
    scaled(text, &PROBABILITY_UNITS)
        .and_then(|parts| PartsPerMillion::new(u32::try_from(parts).ok()?))
        .ok_or_else(|| refuse(text, text, &PROBABILITY))
}

/// Writes a rate that [`parse_rate`] parses to the same value.
pub fn format_rate(rate: BitRate) -> String {
    format_scaled(rate.get(), &RATE_UNITS)
}

/// Writes a size that [`parse_size`] parses to the same value, in powers of 1024 if possible.
pub fn format_size(size: Bytes) -> String {
    let binary = [SIZE_UNITS[0], SIZE_UNITS[4], SIZE_UNITS[5], SIZE_UNITS[6]];
    format_scaled(size.get(), &binary)
}

/// Writes a duration that [`parse_duration`] parses to the same value.
pub fn format_duration(duration: Duration) -> String {
    format_scaled(duration.as_nanos(), &DURATION_UNITS[..4])
}

/// Writes a length in centimetres that [`parse_length`] parses to the same value: in centimetres unless it is whole
/// metres.
pub fn format_length(centimetres: u64) -> String {
    match centimetres {
        0 => "0m".to_owned(),
        _ => format_scaled(centimetres, &LENGTH_UNITS),
    }
}

/// Writes a probability that [`parse_probability`] parses to the same value.
pub fn format_probability(probability: PartsPerMillion) -> String {
    format_scaled(u64::from(probability.get()), &PROBABILITY_UNITS)
}

/// `bare` is `text` without an optional suffix of any unit of its type.
fn refuse(text: &str, bare: &str, kind: &Kind) -> UnitError {
    let Kind { name, example, .. } = kind;
    if scaled(bare, kind.units) == Some(0) {
        return UnitError(format!(
            "`{text}` is no {name}: it must be above zero, such as \"{example}\""
        ));
    }
    if let Some(largest) = largest(bare, kind) {
        return UnitError(format!(
            "`{text}` is more than the largest {name}, {largest}"
        ));
    }
    let units: Vec<&str> = kind.units.iter().map(|(name, _)| *name).collect();
    let units = units.join(", ");
    UnitError(match meant(bare, kind) {
        Some(meant) => {
            format!("`{text}` is not a {name}; did you mean \"{meant}\"? (units: {units})")
        }
        None => format!(
            "`{text}` is not a {name}; write a number and one of the units {units}, such as \"{example}\""
        ),
    })
}

/// The same number with the correct unit for another name or case.
fn meant(text: &str, kind: &Kind) -> Option<String> {
    let (number, written) = split(text)?;
    // The number itself is wrong.
    if kind.units.iter().any(|(name, _)| *name == written) {
        return None;
    }
    let unit = written.to_lowercase();
    let unit = unit.trim_end_matches("/s");
    let legal = || {
        let mut units = kind.units.iter();
        units.find(|(name, _)| name.to_lowercase() == unit)
    };
    let named = kind.names.iter().find(|(name, _)| *name == unit);
    let unit = named.map(|(_, name)| *name).or_else(|| Some(legal()?.0))?;
    let meant = format!("{number}{unit}");
    scaled(&meant, kind.units).map(|_| meant)
}

/// The number, and the unit after it.
fn split(text: &str) -> Option<(&str, &str)> {
    let text = text.trim();
    let at = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_')?;
    let (number, unit) = text.split_at(at);
    Some((number.trim(), unit.trim()))
}

/// Returns the largest value in the unit of `text`, if `text` is larger than that.
fn largest(text: &str, kind: &Kind) -> Option<String> {
    let (number, unit) = split(text)?;
    let factor = kind.units.iter().find(|(name, _)| *name == unit)?.1;
    let whole = number.replace('_', "");
    let whole = whole.split('.').next()?;
    let is_number = !whole.is_empty() && whole.bytes().all(|byte| byte.is_ascii_digit());
    let is_larger = whole
        .parse()
        .map_or(true, |whole: u64| whole > u64::MAX / factor);
    (is_number && is_larger).then(|| format!("{}{unit}", u64::MAX / factor))
}

/// Exact: `None` if the value is not a whole number of the smallest unit, or exceeds 64 bits.
fn scaled(text: &str, units: &[Unit]) -> Option<u64> {
    let (number, unit) = split(text)?;
    let factor = units.iter().find(|(name, _)| *name == unit)?.1;
    let number = number.replace('_', "");
    let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
    if whole.is_empty() || (number.contains('.') && fraction.is_empty()) || fraction.len() > 18 {
        return None;
    }
    let ten = 10u128.pow(fraction.len() as u32);
    let digits: u128 = format!("{whole}{fraction}").parse().ok()?;
    let value = digits.checked_mul(u128::from(factor))?;
    if value % ten != 0 {
        return None;
    }
    u64::try_from(value / ten).ok()
}

fn format_scaled(value: u64, units: &[Unit]) -> String {
    let (name, factor) = units
        .iter()
        .rev()
        .find(|(_, factor)| value != 0 && value.is_multiple_of(*factor))
        .unwrap_or(&units[0]);
    format!("{}{name}", value / factor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_the_usual_notations() {
        assert_eq!(parse_rate("100Mbit"), Ok(BitRate::from_mbit(100)));
        assert_eq!(parse_rate("2.5Gbit/s"), Ok(BitRate::from_mbit(2500)));
        assert_eq!(parse_size("64KiB"), Ok(Bytes::new(65_536)));
        assert_eq!(parse_size("9.5kB"), Ok(Bytes::new(9_500)));
        assert_eq!(parse_size("1500 B"), Ok(Bytes::new(1_500)));
        assert_eq!(parse_duration("20ms"), Ok(Duration::from_millis(20)));
        assert_eq!(parse_duration("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(parse_duration("5min"), Ok(Duration::from_secs(300)));
        assert_eq!(parse_length("40m"), Ok(4_000));
        assert_eq!(parse_length("2.5m"), Ok(250));
        assert_eq!(parse_length("0m"), Ok(0));
        let parts = |parts| Ok(PartsPerMillion::new(parts).unwrap());
        assert_eq!(parse_probability("1%"), parts(10_000));
        assert_eq!(parse_probability("0.25 %"), parts(2_500));
        assert_eq!(parse_probability("100%"), parts(1_000_000));
        assert_eq!(parse_probability("7ppm"), parts(7));
    }

    #[test]
    fn refuses_ambiguous_values() {
        for bad in [
            "", "100", "Mbit", "100mbit", "1e3Mbit", "-1Mbit", "0Mbit", "0.5bit", "1.Mbit",
        ] {
            assert!(parse_rate(bad).is_err(), "{bad}");
        }
        assert!(parse_size("1.5B").is_err());
        assert!(parse_size("99999999999GiB").is_err());
        for bad in [
            "",
            "1",
            "0.01",
            "100.1%",
            "1000001ppm",
            "0.00001%",
            "99999999999%",
        ] {
            assert!(parse_probability(bad).is_err(), "{bad}");
        }
        assert_eq!(
            parse_duration("20").unwrap_err().to_string(),
            "`20` is not a duration; write a number and one of the units ns, us, ms, s, min, h, such as \"20ms\""
        );
    }

    #[test]
    fn the_refusal_of_a_large_value_names_the_limit() {
        let told = |error: UnitError| error.to_string();
        assert_eq!(
            told(parse_duration("18446744074s").unwrap_err()),
            "`18446744074s` is more than the largest duration, 18446744073s"
        );
        assert!(parse_duration("18446744073s").is_ok());
        assert_eq!(
            told(parse_rate("20_000_000Tbit/s").unwrap_err()),
            "`20_000_000Tbit/s` is more than the largest rate, 18446744Tbit"
        );
        assert_eq!(
            told(parse_size("99999999999999999999B").unwrap_err()),
            "`99999999999999999999B` is more than the largest size, 18446744073709551615B"
        );
    }

    #[test]
    fn the_likely_unit_is_suggested() {
        let of_rate = |text: &str| parse_rate(text).unwrap_err().to_string();
        for (text, meant) in [
            ("10Gbps", "10Gbit"),
            ("10G", "10Gbit"),
            ("2.5 gbit/s", "2.5Gbit"),
            ("100mbit", "100Mbit"),
        ] {
            let told = of_rate(text);
            assert!(
                told.contains(&format!("did you mean \"{meant}\"?")),
                "{told}"
            );
        }
        assert_eq!(
            of_rate("0Gbit"),
            "`0Gbit` is no rate: it must be above zero, such as \"100Mbit\""
        );
        assert!(!of_rate("quick").contains("did you mean"));
        let too_much = parse_probability("101%").unwrap_err().to_string();
        assert!(!too_much.contains("did you mean"), "{too_much}");
        let of_size = parse_size("64k").unwrap_err().to_string();
        assert!(of_size.contains("did you mean \"64KiB\"?"), "{of_size}");
        let of_time = parse_duration("5 µs").unwrap_err().to_string();
        assert!(of_time.contains("did you mean \"5us\"?"), "{of_time}");
        let of_share = parse_probability("5 percent").unwrap_err().to_string();
        assert!(of_share.contains("did you mean \"5%\"?"), "{of_share}");
    }

    proptest! {
        #[test]
        fn written_values_are_read_back(value in 1u64..) {
            let rate = BitRate::new(value).unwrap();
            prop_assert_eq!(parse_rate(&format_rate(rate)), Ok(rate));
            prop_assert_eq!(parse_size(&format_size(Bytes::new(value))), Ok(Bytes::new(value)));
            let duration = Duration::from_nanos(value);
            prop_assert_eq!(parse_duration(&format_duration(duration)), Ok(duration));
            prop_assert_eq!(parse_length(&format_length(value)), Ok(value));
            let probability = PartsPerMillion::new((value % 1_000_001) as u32).unwrap();
            prop_assert_eq!(parse_probability(&format_probability(probability)), Ok(probability));
        }

        #[test]
        fn any_text_is_read_or_refused(text: String) {
            let _ = (parse_rate(&text), parse_size(&text), parse_duration(&text));
        }
    }
}
