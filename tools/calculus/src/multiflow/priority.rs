//! Departures of flows under strict priority.
//!
//! In fluid form the flows of the highest k classes together see the whole server, independently of lower classes.
//! Their aggregate's departures are (Σ Â) ⊗ S, and a class gets the difference of two such aggregates.

use crate::algebra::{Curve, CurveError, Scalar};

/// Returns the departures of each class on [0, horizon]; class 0 has the highest priority. Preemptive, like a fluid; real
/// packets wait for up to one packet of a lower class.
pub fn departures<S: Scalar>(
    admitted: &[Curve<S>],
    service: &Curve<S>,
    horizon: &S,
) -> Result<Vec<Curve<S>>, CurveError> {
    let mut sum = Curve::zero().until(horizon)?;
    let mut before = Curve::zero().until(horizon)?;
    let mut out = Vec::with_capacity(admitted.len());
    for class in admitted {
        sum = sum.plus(&class.until(horizon)?)?;
        let together = sum.convolution_until(service, horizon)?;
        out.push(together.minus_until(&before, horizon)?);
        before = together;
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::{Exact, Extended};

    #[test]
    fn the_lower_class_gets_what_the_higher_leaves() {
        let int = Exact::from;
        let classes = [
            Curve::step(int(50), int(4)),
            Curve::token_bucket(int(20), int(6)),
        ];
        let parts = departures(&classes, &Curve::rate_function(int(10)), &int(40)).unwrap();
        for (t, high, low) in [
            (2, 0, 20),
            (4, 0, 40),
            (6, 20, 40),
            (9, 50, 40),
            (10, 50, 50),
            (39, 50, 254),
        ] {
            assert_eq!(
                parts[0].at(&int(t)),
                Extended::Finite(int(high)),
                "high at {t}"
            );
            assert_eq!(
                parts[1].at(&int(t)),
                Extended::Finite(int(low)),
                "low at {t}"
            );
        }
        for part in &parts {
            part.held(&int(40)).unwrap().check_non_decreasing().unwrap();
        }
    }
}
