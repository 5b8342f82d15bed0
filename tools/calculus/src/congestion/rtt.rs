//! Round-trip time, equation (1).
//!
//! RTT(t) = t − Â↓(D(t − ΔR)) is printed with the lower pseudo-inverse. While the source is idle, Â has a plateau, D stays
//! at its height, and the lower pseudo-inverse is the plateau's beginning. The idle time then counts as round-trip
//! time, and Vegas leaves slow start at once. The upper pseudo-inverse is the end of the plateau, when the next packet
//! was sent. It reproduces the published behaviour and is the default. (Section II itself has "upper" in the text and ↓
//! in the formula.)

use crate::algebra::{Curve, CurveError, Extended, Scalar};

/// Pseudo-inverse of Â in equation (1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Inverse {
    /// Â↑, which reproduces the published figures.
    #[default]
    Upper,
    /// Â↓, as printed.
    Lower,
}

/// RTT(t) for t ≥ ΔR. `admitted` must be known up to t − ΔR. Traffic acknowledged at t was sent at t − ΔR at the latest, so
/// the result is at least ΔR even on a longer plateau of Â.
pub fn round_trip_time<S: Scalar>(
    admitted: &Curve<S>,
    departures: &Curve<S>,
    feedback_delay: &S,
    time: &S,
    inverse: Inverse,
) -> Result<S, CurveError> {
    let left = time.clone() - feedback_delay;
    let acknowledged = departures.finite_at(&left)?;
    let known = admitted.until(&left)?;
    // Departures that rounding moved slightly off a plateau of Â count as at its height.
    let rounding = acknowledged.rounding();
    let sent = match inverse {
        Inverse::Upper => known
            .upper_pseudo_inverse()?
            .at(&(acknowledged + &rounding)),
        Inverse::Lower => known
            .lower_pseudo_inverse()?
            .at(&(acknowledged - &rounding)),
    };
    let sent = match sent {
        Extended::Finite(sent) => sent.lesser(left.clone()),
        Extended::Infinite => left,
    };
    Ok(time.clone() - &sent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::Exact;

    #[test]
    fn idle_time_is_round_trip_time_for_the_lower_inverse_only() {
        let int = Exact::from;
        // 100 at once, then nothing until 50, then 10 per unit, through a server of rate 20.
        let admitted = Curve::step(int(100), int(0))
            .plus(&Curve::rate_latency(int(10), int(50)))
            .unwrap();
        let departures = admitted
            .convolution(&Curve::rate_function(int(20)))
            .unwrap();
        let rtt = |time: i64, inverse| {
            round_trip_time(&admitted, &departures, &int(4), &int(time), inverse).unwrap()
        };
        assert_eq!(rtt(8, Inverse::Upper), int(8), "at 4 leaves what came at 0");
        assert_eq!(rtt(30, Inverse::Upper), int(4));
        assert_eq!(rtt(30, Inverse::Lower), int(30), "the plateau counts");
        assert_eq!(rtt(64, Inverse::Upper), int(4));
        assert_eq!(rtt(64, Inverse::Lower), int(4));
    }
}
