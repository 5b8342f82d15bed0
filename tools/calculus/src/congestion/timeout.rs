//! Timeouts (III-B b).
//!
//! The timeout function is Â(t − τ_o), as III-B defines it. Section III-C and Figure 2's caption print Â(t − ΔR) in two
//! places, which would be a timeout after one round trip without any queue.

use crate::algebra::{Crossing, Curve, CurveError, Scalar};

/// Â(t − τ_o): the minimum to be acknowledged by t.
pub fn timeout_function<S: Scalar>(admitted: &Curve<S>, timeout: &S) -> Curve<S> {
    admitted.delayed(timeout)
}

/// inf{t ≥ from | D(t − ΔR) < Â(t − τ_o)} up to the horizon. Both functions must be finite up to the horizon.
pub fn first_timeout<S: Scalar>(
    admitted: &Curve<S>,
    departures: &Curve<S>,
    feedback_delay: &S,
    timeout: &S,
    from: &S,
    horizon: &S,
) -> Result<Option<S>, CurveError> {
    let due = timeout_function(admitted, timeout);
    let acknowledged = departures.delayed(feedback_delay);
    let margin = acknowledged.minus_until(&due, horizon)?;
    margin.first_crossing(from, horizon, Crossing::Below, &S::zero())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::Exact;

    #[test]
    fn traffic_that_waits_longer_than_the_timeout_times_out() {
        let int = Exact::from;
        // 150 into 100: traffic that enters at s leaves at 1.5 s, and is acknowledged 20 later. Due 100 after s.
        let (admitted, departures) = (
            Curve::rate_function(int(150)),
            Curve::rate_function(int(100)),
        );
        let found = first_timeout(
            &admitted,
            &departures,
            &int(20),
            &int(100),
            &int(0),
            &int(1000),
        );
        assert_eq!(found, Ok(Some(int(260))));
        let early = first_timeout(
            &admitted,
            &departures,
            &int(20),
            &int(100),
            &int(0),
            &int(260),
        );
        assert_eq!(early, Ok(None), "at 260 it is just in time");
        let keeps_up = first_timeout(
            &departures,
            &departures,
            &int(20),
            &int(100),
            &int(0),
            &int(1000),
        );
        assert_eq!(keeps_up, Ok(None));
    }
}
