//! Rates, times and amounts as text, each in a unit that suits its size: a lab's links carry 100 Mbit/s for seconds, a
//! simulator's 100 Gbit/s for 100 µs.

use std::fmt::Write as _;

/// A unit of an axis or a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unit {
    /// Its name: `Mbit/s`.
    pub name: &'static str,
    /// Its size in base units: 10^6.
    pub size: f64,
}

const fn unit(name: &'static str, size: f64) -> Unit {
    Unit { name, size }
}

/// In each list the largest comes first; the last one is used for all smaller values.
const RATES: [Unit; 3] = [
    unit("Gbit/s", 1e9),
    unit("Mbit/s", 1e6),
    unit("kbit/s", 1e3),
];
const TIMES: [Unit; 4] = [
    unit("s", 1.0),
    unit("ms", 1e-3),
    unit("µs", 1e-6),
    unit("ns", 1e-9),
];
const AMOUNTS: [Unit; 2] = [unit("MiB", 1_048_576.0), unit("KiB", 1024.0)];

/// Returns the largest unit not above `value`; the one at index `nought` for zero.
fn fitting(units: &[Unit], nought: usize, value: f64) -> Unit {
    if value <= 0.0 {
        return units[nought];
    }
    let last = units[units.len() - 1];
    let fits = units.iter().find(|unit| value >= unit.size);
    fits.copied().unwrap_or(last)
}

impl Unit {
    /// The unit for rates up to `bits_per_second`.
    pub fn of_rate(bits_per_second: f64) -> Self {
        fitting(&RATES, 1, bits_per_second)
    }

    /// The unit for times up to `seconds`.
    pub fn of_time(seconds: f64) -> Self {
        fitting(&TIMES, 1, seconds)
    }

    /// The unit for amounts up to `bytes`.
    pub fn of_amount(bytes: f64) -> Self {
        fitting(&AMOUNTS, 1, bytes)
    }

    /// Converts `value` from base units to this unit.
    pub fn count(self, value: f64) -> f64 {
        value / self.size
    }
}

/// `98.4 Mbit/s`.
pub fn rate(bits_per_second: f64) -> String {
    let unit = Unit::of_rate(bits_per_second);
    format!("{:.1} {}", unit.count(bits_per_second), unit.name)
}

/// A measured time: `12.3 ms`, `850.0 µs`, and `–` for none. Seconds only from ten on, so that the times of one run
/// mostly have the same unit.
pub fn time(seconds: Option<f64>) -> String {
    const SECONDS_FROM: f64 = 10.0;
    let Some(seconds) = seconds else {
        return "–".to_owned();
    };
    let unit = match Unit::of_time(seconds) {
        unit if unit == TIMES[0] && seconds < SECONDS_FROM => TIMES[1],
        unit => unit,
    };
    format!("{:.1} {}", unit.count(seconds), unit.name)
}

/// A configured time: `8 s`, `60 ms`, `100 µs`.
pub fn setting(seconds: f64) -> String {
    let unit = Unit::of_time(seconds);
    format!("{} {}", short(unit.count(seconds), 3), unit.name)
}

/// `60 KiB`.
pub fn amount(bytes: f64) -> String {
    let unit = Unit::of_amount(bytes);
    format!("{} {}", short(unit.count(bytes), 1), unit.name)
}

/// Formats a number with at most this many `decimals`, and without trailing zeros.
pub fn short(value: f64, decimals: usize) -> String {
    let mut text = String::new();
    let _ = write!(text, "{value:.decimals$}");
    if text.contains('.') {
        text.truncate(text.trim_end_matches('0').trim_end_matches('.').len());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_has_its_unit() {
        for (bits_per_second, text) in [
            (0.0, "0.0 Mbit/s"),
            (50e6, "50.0 Mbit/s"),
            (999e6, "999.0 Mbit/s"),
            (98.44e9, "98.4 Gbit/s"),
            (1_250.0, "1.2 kbit/s"),
            (8.0, "0.0 kbit/s"),
        ] {
            assert_eq!(rate(bits_per_second), text);
        }
        for (seconds, text) in [
            (None, "–"),
            (Some(0.0), "0.0 ms"),
            (Some(2.5), "2500.0 ms"),
            (Some(12.5), "12.5 s"),
            (Some(0.0123), "12.3 ms"),
            (Some(4.25e-6), "4.2 µs"),
            (Some(40e-9), "40.0 ns"),
        ] {
            assert_eq!(time(seconds), text);
        }
        for (seconds, text) in [
            (8.0, "8 s"),
            (0.06, "60 ms"),
            (1e-4, "100 µs"),
            (1.25, "1.25 s"),
        ] {
            assert_eq!(setting(seconds), text);
        }
        assert_eq!(amount(61_440.0), "60 KiB");
        assert_eq!(amount(1_572_864.0), "1.5 MiB");
        assert_eq!(amount(0.0), "0 KiB");
    }

    #[test]
    fn short_numbers_keep_their_zeros_in_front() {
        for (value, text) in [
            (100.0, "100"),
            (0.25, "0.25"),
            (0.2, "0.2"),
            (1.999, "2"),
            (0.0, "0"),
        ] {
            assert_eq!(short(value, 2), text);
        }
    }
}
