//! Rates and times in ns-3's syntax, exactly.

use weir_core::{BitRate, Duration};

/// Returns `12.5` times ten to the `decimals` if that is whole. The number may have an exponent, as in `1e-06`.
pub(super) fn scaled(number: &str, decimals: i32) -> Option<u64> {
    product(number, 1, decimals)
}

/// Returns the number times `factor` and ten to the `decimals` if that is whole.
fn product(number: &str, factor: u64, decimals: i32) -> Option<u64> {
    let (number, exponent) = match number.split_once(['e', 'E']) {
        Some((number, exponent)) => (number, exponent.parse::<i32>().ok()?),
        None => (number, 0),
    };
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_digits(whole) || !is_digits(part) || whole.len() + part.len() == 0 {
        return None;
    }
    let part = part.trim_end_matches('0');
    let digits = format!("{whole}{part}");
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() {
        return Some(0);
    }
    let shift = decimals
        .checked_add(exponent)?
        .checked_sub(i32::try_from(part.len()).ok()?)?;
    let value = u128::from(digits.parse::<u64>().ok()?) * u128::from(factor);
    let power = 10u128.checked_pow(shift.unsigned_abs())?;
    let scaled = match shift {
        0.. => value.checked_mul(power)?,
        _ => value.is_multiple_of(power).then(|| value / power)?,
    };
    u64::try_from(scaled).ok()
}

/// Reads `100Gbps`, `12.5GBps`, `64Kib/s`, or a bare number of bits a second.
pub(super) fn rate(text: &str) -> Option<BitRate> {
    const UNITS: [(&str, u64); 4] = [("bps", 1), ("b/s", 1), ("Bps", 8), ("B/s", 8)];
    const PREFIXES: [(&str, u64); 10] = [
        ("", 1),
        ("k", 1000),
        ("K", 1000),
        ("M", 1_000_000),
        ("G", 1_000_000_000),
        ("T", 1_000_000_000_000),
        ("Ki", 1 << 10),
        ("Mi", 1 << 20),
        ("Gi", 1 << 30),
        ("Ti", 1 << 40),
    ];
    let is_number = |c: char| c.is_ascii_digit() || c == '.';
    let end = text.find(|c| !is_number(c)).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let factor = match unit {
        "" => 1,
        unit => UNITS.iter().find_map(|(name, bits)| {
            let prefix = unit.strip_suffix(name)?;
            let (_, times) = PREFIXES.iter().find(|(name, _)| *name == prefix)?;
            Some(bits * times)
        })?,
    };
    BitRate::new(product(number, factor, 0)?)
}

/// Reads `1000ns`, `0.001ms`; bare numbers are seconds.
pub(super) fn time(text: &str) -> Option<Duration> {
    const UNITS: [(&str, i32); 7] = [
        ("ns", 0),
        ("us", 3),
        ("ms", 6),
        ("ps", -3),
        ("fs", -6),
        ("s", 9),
        ("", 9),
    ];
    let (number, decimals) = UNITS
        .iter()
        .find_map(|(unit, decimals)| Some((text.strip_suffix(unit)?, *decimals)))?;
    scaled(number, decimals).map(Duration::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn units_are_those_of_ns_3() {
        for (text, bits) in [
            ("100Gbps", Some(100_000_000_000)),
            ("0.5Gb/s", Some(500_000_000)),
            ("2.5Mbps", Some(2_500_000)),
            ("64kbps", Some(64_000)),
            ("100000000000", Some(100_000_000_000)),
            ("25000000000.0", Some(25_000_000_000)),
            ("12.5GBps", Some(100_000_000_000)),
            ("12.5GB/s", Some(100_000_000_000)),
            ("1.25MBps", Some(10_000_000)),
            ("1kBps", Some(8000)),
            ("10Bps", Some(80)),
            ("64Kib/s", Some(65_536)),
            ("1MiB/s", Some(8_388_608)),
            ("0.5Gib/s", Some(536_870_912)),
            ("0.3Kib/s", None),
            ("12.5", None),
            ("1e9bps", None),
            ("1gbps", None),
            ("1Gbit", None),
            ("1.5bps", None),
            ("100G", None),
            ("Gbps", None),
            ("-1Gbps", None),
            ("99999999999Tbps", None),
        ] {
            assert_eq!(rate(text).map(BitRate::get), bits, "{text}");
        }
        for (text, nanos) in [
            ("1000ns", Some(1000)),
            ("0.001ms", Some(1000)),
            ("1us", Some(1000)),
            ("1e-06s", Some(1000)),
            ("0.000001", Some(1000)),
            ("2", Some(2_000_000_000)),
            ("2.000000000", Some(2_000_000_000)),
            ("1000000ps", Some(1000)),
            ("1e9fs", Some(1000)),
            ("500ps", None),
            ("0.5ns", None),
            ("1 us", None),
            ("1e99s", None),
            ("", None),
        ] {
            assert_eq!(time(text).map(Duration::as_nanos), nanos, "{text}");
        }
    }

    proptest! {
        #[test]
        fn seconds_with_nine_decimals_are_nanoseconds(nanos in 0u64..10_000_000_000_000) {
            let text = format!("{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000);
            prop_assert_eq!(time(&text), Some(Duration::from_nanos(nanos)));
        }

        #[test]
        fn any_text_is_a_number_or_none(text in "[0-9.eE+-]{0,12}(ns|us|ms|ps|s|Gbps|GiB/s)?") {
            let _ = (time(&text), rate(&text));
        }
    }
}
