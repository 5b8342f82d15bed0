//! Rates and times as ns-3 writes them, exactly.

use weir_core::{BitRate, Duration};

/// `12.5` times ten to the `decimals`, when that is whole. An exponent as in `1e-06` may follow.
pub(super) fn scaled(number: &str, decimals: i32) -> Option<u64> {
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
    let value: u64 = digits.parse().ok()?;
    let power = 10u64.checked_pow(shift.unsigned_abs());
    match shift {
        0.. => value.checked_mul(power?),
        _ => power
            .filter(|power| value.is_multiple_of(*power))
            .map(|power| value / power),
    }
}

/// `100Gbps`, `25.5Mbps`.
pub(super) fn rate(text: &str) -> Option<BitRate> {
    const UNITS: [(&str, i32); 12] = [
        ("Tbps", 12),
        ("Tb/s", 12),
        ("Gbps", 9),
        ("Gb/s", 9),
        ("Mbps", 6),
        ("Mb/s", 6),
        ("Kbps", 3),
        ("kbps", 3),
        ("Kb/s", 3),
        ("kb/s", 3),
        ("bps", 0),
        ("b/s", 0),
    ];
    let (number, decimals) = UNITS
        .iter()
        .find_map(|(unit, decimals)| Some((text.strip_suffix(unit)?, *decimals)))?;
    let bits = scaled(number, decimals)?;
    BitRate::new(bits)
}

/// `1000ns`, `0.001ms`; bare numbers are seconds.
pub(super) fn time(text: &str) -> Option<Duration> {
    const UNITS: [(&str, i32); 5] = [("ns", 0), ("us", 3), ("ms", 6), ("s", 9), ("", 9)];
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
        fn any_text_is_a_number_or_none(text in "[0-9.eE+-]{0,12}(ns|us|ms|s|Gbps)?") {
            let _ = (time(&text), rate(&text));
        }
    }
}
