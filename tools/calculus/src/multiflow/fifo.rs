//! Separating the departures of a FIFO path server by flow (IV-A): Lemmas 1 and 2 and Theorem 1.

use crate::algebra::{Curve, CurveError, Scalar};

/// Bounds of one flow's departures by Theorem 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Bounds<S> {
    /// Â_i(Â↑(D(t))) ≤ D_i(t).
    pub lower: Curve<S>,
    /// D_i(t) ≤ Â_i(Â↑(D(t))+), the limit of the theorem's upper bound for ε → 0. Equal to the lower one where Â_i is continuous.
    pub upper: Curve<S>,
}

/// Σ of flows, on [0, horizon].
pub fn aggregate<S: Scalar>(flows: &[Curve<S>], horizon: &S) -> Result<Curve<S>, CurveError> {
    let mut sum = Curve::zero().until(horizon)?;
    for flow in flows {
        sum = sum.plus(&flow.until(horizon)?)?;
    }
    Ok(sum)
}

/// Returns bounds of the departures of flow `index` on [0, horizon], if the aggregate departs as `departures` in order of
/// arrival.
///
/// No flow's function may decrease. O(elements of the aggregate).
pub fn departures_of<S: Scalar>(
    admitted: &[Curve<S>],
    departures: &Curve<S>,
    index: usize,
    horizon: &S,
) -> Result<Bounds<S>, CurveError> {
    let departures = departures.until(horizon)?;
    let flow = admitted[index].until(horizon)?;
    // Â↑ ends with Â: everything that left by the horizon arrived by then. Beyond it Â is continued by its last value, so
    // that completed service reads as the horizon and not as +∞.
    let inverse = aggregate(admitted, horizon)?.upper_pseudo_inverse()?;
    let inverse = inverse.min(&Curve::constant(horizon.clone()))?;
    let entered = inverse
        .composed_with(&departures.held(horizon)?)?
        .until(horizon)?;
    Ok(Bounds {
        lower: flow
            .held(horizon)?
            .composed_with(&entered.held(horizon)?)?
            .until(horizon)?,
        upper: flow
            .right_limits()
            .held(horizon)?
            .composed_with(&entered.held(horizon)?)?
            .until(horizon)?,
    })
}

/// Checks Definition 1 for all pairs of the given times: Â_i(t') < D_i(t) must imply Â_j(t') ≤ D_j(t).
pub fn has_fifo_property<S: Scalar>(
    admitted: &[Curve<S>],
    departures: &[Curve<S>],
    times: &[S],
) -> Result<bool, CurveError> {
    for (index, earlier) in times.iter().enumerate() {
        for later in &times[index..] {
            let mut one_left = false;
            let mut one_stays = false;
            for (admitted, departures) in admitted.iter().zip(departures) {
                let (came, left) = (admitted.finite_at(earlier)?, departures.finite_at(later)?);
                one_left |= came < left;
                one_stays |= came > left;
            }
            if one_left && one_stays {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::algebra::{Exact, Extended};

    fn int(value: i64) -> Exact {
        Exact::from(value)
    }

    /// Rates of two flows in intervals of a few units each.
    fn flow() -> impl Strategy<Value = Vec<(i64, i64)>> {
        prop::collection::vec((1i64..4, 0i64..9), 1..7)
    }

    fn curve(parts: &[(i64, i64)]) -> Curve<Exact> {
        let (mut at, mut value) = (0, 0);
        let mut points = Vec::new();
        for (length, rate) in parts {
            at += length;
            value += length * rate;
            points.push((int(at), int(value)));
        }
        Curve::through(&points, int(1)).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        #[test]
        fn continuous_flows_come_apart_exactly(a in flow(), b in flow(), rate in 1i64..12) {
            let flows = [curve(&a), curve(&b)];
            let horizon = int(20);
            let sum = aggregate(&flows, &horizon).unwrap();
            let service = Curve::rate_function(int(rate));
            let departures = sum.convolution_until(&service, &horizon).unwrap();
            let parts = [0, 1].map(|index| departures_of(&flows, &departures, index, &horizon).unwrap());
            let apart = [parts[0].lower.clone(), parts[1].lower.clone()];
            let times: Vec<Exact> = (0..40).map(|half| Exact::new(half, 2)).collect();
            for t in &times {
                let [x, y] = [0, 1].map(|index| apart[index].finite_at(t).unwrap());
                prop_assert_eq!(x + &y, departures.finite_at(t).unwrap(), "all of it, at {}", t);
                // By definition: the time s by which the departures at t had arrived.
                let left = departures.finite_at(t).unwrap();
                let came = times.iter().rev().find(|s| sum.finite_at(s).unwrap() <= left).unwrap();
                for index in 0..2 {
                    prop_assert!(apart[index].finite_at(t).unwrap() >= flows[index].finite_at(came).unwrap());
                    prop_assert_eq!(parts[index].upper.at(t), parts[index].lower.at(t));
                }
                // Lemma 2: if the aggregates agree, so does each flow.
                if sum.finite_at(came).unwrap() == left {
                    for index in 0..2 {
                        prop_assert_eq!(apart[index].at(t), flows[index].at(came));
                    }
                }
            }
            prop_assert!(has_fifo_property(&flows, &apart, &times).unwrap());
            // Lemma 1, for a flow and the aggregate.
            for (index, earlier) in times.iter().enumerate() {
                let came = sum.finite_at(earlier).unwrap();
                for later in &times[index..] {
                    let left = departures.finite_at(later).unwrap();
                    for (flow, own) in flows.iter().zip(&apart) {
                        let (own_came, own_left) = (flow.finite_at(earlier).unwrap(), own.finite_at(later).unwrap());
                        prop_assert!(own_came >= own_left || came <= left, "(9)");
                        prop_assert!(came >= left || own_came <= own_left, "(10)");
                    }
                }
            }
        }
    }

    #[test]
    fn simultaneous_bursts_leave_in_any_order_between_the_bounds() {
        let flows = [Curve::step(int(30), int(1)), Curve::step(int(50), int(1))];
        let horizon = int(20);
        let sum = aggregate(&flows, &horizon).unwrap();
        let departures = sum
            .convolution_until(&Curve::rate_function(int(10)), &horizon)
            .unwrap();
        let bounds = departures_of(&flows, &departures, 0, &horizon).unwrap();
        let at = |curve: &Curve<Exact>, t: i64| curve.at(&int(t));
        assert_eq!(at(&bounds.lower, 5), Extended::Finite(int(0)));
        assert_eq!(at(&bounds.upper, 5), Extended::Finite(int(30)));
        assert_eq!(
            at(&bounds.lower, 12),
            Extended::Finite(int(30)),
            "all is out at 9"
        );
    }

    #[test]
    fn departures_out_of_order_are_not_fifo() {
        let flows = [Curve::rate_function(int(5)), Curve::rate_function(int(5))];
        let served = [Curve::rate_function(int(5)), Curve::rate_function(int(2))];
        let times: Vec<Exact> = (0..20).map(int).collect();
        assert_eq!(has_fifo_property(&flows, &served, &times), Ok(false));
    }
}
