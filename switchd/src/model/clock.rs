//! The dataplane's monotonic clock, and the machine's wall clock for display.

use std::time::{SystemTime, UNIX_EPOCH};

use weir_core::Instant;

pub use weir_dataplane::clock::now;

/// Returns the wall-clock time of a moment on the monotonic clock: RFC 3339 in UTC with microseconds.
pub fn wall_time(at: Instant) -> String {
    let since_epoch = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_nanos();
    let age = now().saturating_since(at).as_nanos();
    rfc3339(since_epoch.saturating_sub(u128::from(age)))
}

/// Returns nanoseconds since 1970; sufficient until 2262.
pub fn unix_nanos(at: Instant) -> i64 {
    let since_epoch = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_nanos();
    let age = now().saturating_since(at).as_nanos();
    i64::try_from(since_epoch.saturating_sub(u128::from(age))).unwrap_or(i64::MAX)
}

fn rfc3339(nanos_since_epoch: u128) -> String {
    let micros = nanos_since_epoch / 1_000;
    let seconds = (micros / 1_000_000) as i64;
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = civil_from_days(days);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:06}Z",
        second / 3_600,
        second / 60 % 60,
        second % 60,
        micros % 1_000_000
    )
}

/// Converts days since 1970-01-01 into a date of the Gregorian calendar (H. Hinnant, chrono-compatible low-level date
/// algorithms, `civil_from_days`).
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, text) in [
            (0u128, "1970-01-01T00:00:00.000000Z"),
            (951_782_399, "2000-02-28T23:59:59.000000Z"),
            (951_782_400, "2000-02-29T00:00:00.000000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000000Z"),
            (1_732_168_923, "2024-11-21T06:02:03.000000Z"),
        ] {
            assert_eq!(rfc3339(seconds * 1_000_000_000), text);
        }
        assert_eq!(rfc3339(1_234_567), "1970-01-01T00:00:00.001234Z");
    }
}
