//! Converts integers of configurations and measurements to the models' units, without rounding.

use crate::algebra::Scalar;

/// Converts bytes to kilobits; up to 9 EB.
pub fn kbit_of_bytes<S: Scalar>(bytes: u64) -> S {
    S::ratio(i64::try_from(bytes).unwrap_or(i64::MAX), 125)
}

/// Converts kilobits to bytes.
pub fn bytes_of_kbit<S: Scalar>(kbit: &S) -> S {
    kbit.clone() * &S::integer(125)
}

/// Converts bits per second to Gbit/s; up to 9 Ebit/s.
pub fn gbit_of_bits_per_second<S: Scalar>(bits_per_second: u64) -> S {
    S::ratio(
        i64::try_from(bits_per_second).unwrap_or(i64::MAX),
        1_000_000_000,
    )
}

/// Converts nanoseconds to microseconds; up to 292 years.
pub fn us_of_nanoseconds<S: Scalar>(nanoseconds: u64) -> S {
    S::ratio(i64::try_from(nanoseconds).unwrap_or(i64::MAX), 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::Exact;

    #[test]
    fn a_rate_times_a_time_is_an_amount() {
        let rate: Exact = gbit_of_bits_per_second(100_000_000_000);
        let time: Exact = us_of_nanoseconds(120);
        let amount = rate * &time;
        assert_eq!(amount, kbit_of_bytes(1_500));
        assert_eq!(bytes_of_kbit(&amount), Exact::from(1_500));
    }
}
