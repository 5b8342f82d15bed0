//! Laws of the algebra, and closed forms from textbooks.

use proptest::prelude::*;

use super::reference::{self, finite_recipe, recipe, times};
use super::{Curve, CurveError, Element, Exact, Extended, Scalar, Tail};

type Function = Curve<Exact>;

fn int(value: i64) -> Exact {
    Exact::from(value)
}

fn conv(f: &Function, g: &Function) -> Function {
    f.convolution(g).unwrap()
}

fn same(f: &Function, g: &Function) -> bool {
    f.equals(g).unwrap()
}

fn at_most(f: &Function, g: &Function) -> bool {
    same(&f.min(g).unwrap(), f)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn values_and_limits_are_those_of_the_recipe(f in recipe()) {
        let curve = f.curve();
        prop_assert!(curve.is_left_continuous());
        curve.check_non_decreasing().unwrap();
        for t in times(14) {
            prop_assert_eq!(curve.at(&t), reference::finite(f.at(&t)));
            prop_assert_eq!(curve.after(&t), reference::finite(f.after(&t)));
            prop_assert_eq!(curve.before(&t), reference::finite(f.at(&t)), "left-continuous at {}", t);
        }
    }

    #[test]
    fn minimum_maximum_and_sum_are_pointwise(f in recipe(), g in recipe()) {
        let (a, b) = (f.curve(), g.curve());
        let (min, max, sum) = (a.min(&b).unwrap(), a.max(&b).unwrap(), a.plus(&b).unwrap());
        for t in times(16) {
            let pair = f.at(&t).zip(g.at(&t));
            let either = match (f.at(&t), g.at(&t)) {
                (Some(x), Some(y)) => Some(x.lesser(y)),
                (x, y) => x.or(y),
            };
            prop_assert_eq!(min.at(&t), reference::finite(either), "min at {}", t);
            let greater = pair.clone().map(|(x, y)| x.greater(y));
            prop_assert_eq!(max.at(&t), reference::finite(greater), "max at {}", t);
            prop_assert_eq!(sum.at(&t), reference::finite(pair.map(|(x, y)| x + y)), "sum at {}", t);
        }
        prop_assert!(same(&min, &b.min(&a).unwrap()));
        prop_assert!(same(&max, &b.max(&a).unwrap()));
        prop_assert!(same(&sum, &b.plus(&a).unwrap()));
        prop_assert!(min.is_left_continuous() && max.is_left_continuous() && sum.is_left_continuous());
    }

    #[test]
    fn difference_undoes_the_sum(f in finite_recipe(), g in finite_recipe()) {
        let (f, g) = (f.curve(), g.curve());
        prop_assert!(same(&f.plus(&g).unwrap().minus(&g).unwrap(), &f));
    }

    #[test]
    fn convolution_is_its_definition(f in recipe(), g in recipe()) {
        let curve = conv(&f.curve(), &g.curve());
        for t in times(16) {
            prop_assert_eq!(curve.at(&t), reference::finite(reference::convolution(&f, &g, &t)), "at {}", t);
        }
        prop_assert!(curve.is_left_continuous());
        curve.check_non_decreasing().unwrap();
    }

    #[test]
    fn convolution_is_commutative_and_associative(f in recipe(), g in recipe(), h in recipe()) {
        let (f, g, h) = (f.curve(), g.curve(), h.curve());
        let fg = conv(&f, &g);
        prop_assert!(same(&fg, &conv(&g, &f)));
        prop_assert!(same(&conv(&fg, &h), &conv(&f, &conv(&g, &h))));
    }

    #[test]
    fn convolution_distributes_over_the_minimum(f in recipe(), g in recipe(), h in recipe()) {
        let (f, g, h) = (f.curve(), g.curve(), h.curve());
        let left = conv(&f, &g.min(&h).unwrap());
        let right = conv(&f, &g).min(&conv(&f, &h)).unwrap();
        prop_assert!(same(&left, &right));
    }

    #[test]
    fn convolution_is_isotone_and_below_both(f in recipe(), g in recipe(), h in recipe()) {
        let (f, g, more) = (f.curve(), g.curve(), h.curve());
        let above = f.plus(&more).unwrap();
        prop_assert!(at_most(&f, &above));
        prop_assert!(at_most(&conv(&f, &g), &conv(&above, &g)));
        prop_assert!(at_most(&conv(&f, &g), &f.min(&g).unwrap()));
    }

    #[test]
    fn neutral_and_absorbing_elements(f in recipe()) {
        let f = f.curve();
        let (delta, epsilon) = (Curve::burst_delay(int(0)), Curve::infinite());
        prop_assert!(same(&conv(&f, &delta), &f));
        prop_assert!(same(&f.min(&epsilon).unwrap(), &f));
        prop_assert!(same(&conv(&f, &epsilon), &epsilon));
        prop_assert!(same(&f.min(&f).unwrap(), &f));
        prop_assert!(same(&f.delayed(&int(3)), &conv(&f, &Curve::burst_delay(int(3)))));
    }

    #[test]
    fn a_convolution_up_to_a_horizon_is_the_beginning_of_the_whole(f in recipe(), g in recipe()) {
        let (f, g) = (f.curve(), g.curve());
        let (whole, begun) = (conv(&f, &g), f.convolution_until(&g, &int(6)).unwrap());
        for t in times(6) {
            prop_assert_eq!(whole.at(&t), begun.at(&t));
        }
    }

    #[test]
    fn deconvolution_is_its_definition(f in finite_recipe(), g in finite_recipe()) {
        let (a, b) = (f.curve(), g.curve());
        let curve = a.deconvolution(&b).unwrap();
        let stable = a.rate().finite() <= b.rate().finite();
        // Parts have at most 15 halves, so the supremum is within the greatest common period, 105, after the first.
        let reach = int(120);
        for t in times(3) {
            if stable {
                let expected = reference::deconvolution(&f, &g, &t, &reach);
                prop_assert_eq!(curve.at(&t), Extended::Finite(expected), "at {}", t);
            } else {
                prop_assert_eq!(curve.at(&t), Extended::Infinite);
            }
        }
    }

    #[test]
    fn deconvolution_is_the_dual_of_convolution(f in finite_recipe(), g in finite_recipe()) {
        let (f, g) = (f.curve(), g.curve());
        let through = conv(&f, &g).deconvolution(&g).unwrap();
        prop_assert!(at_most(&through, &f), "(f ⊗ g) ⊘ g ≤ f");
        let bound = f.deconvolution(&g).unwrap();
        prop_assert!(at_most(&f, &conv(&bound, &g)), "f ≤ (f ⊘ g) ⊗ g");
    }

    #[test]
    fn pseudo_inverses_are_their_definitions_and_galois_connections(f in recipe()) {
        let curve = f.curve();
        let lower = curve.lower_pseudo_inverse().unwrap();
        let upper = curve.upper_pseudo_inverse().unwrap();
        prop_assert!(lower.is_left_continuous());
        let reach = int(200);
        let grows = !matches!(curve.rate(), Extended::Finite(rate) if rate.is_zero());
        for y in times(9) {
            let (low, high) = (lower.at(&y), upper.at(&y));
            if grows {
                prop_assert_eq!(&low, &reference::finite(reference::lower_inverse(&f, &y, &reach)), "lower at {}", y);
                prop_assert_eq!(&high, &reference::finite(reference::upper_inverse(&f, &y, &reach)), "upper at {}", y);
            }
            prop_assert!(low <= high);
            for x in times(9) {
                let value = curve.at(&x);
                let (level, time) = (Extended::Finite(y.clone()), Extended::Finite(x.clone()));
                // For left-continuous functions: F(x) ≤ y ⇔ x ≤ F↑(y), and F(x) ≥ y ⇒ F↓(y) ≤ x, F↓(y) < x ⇒ F(x) ≥ y.
                prop_assert_eq!(value <= level, time <= high, "x {} y {}", x, y);
                if value >= level {
                    prop_assert!(low <= time);
                }
                if low < time {
                    prop_assert!(value >= level);
                }
            }
        }
    }

    #[test]
    fn composition_is_pointwise(f in recipe(), g in finite_recipe()) {
        let composed = f.curve().composed_with(&g.curve()).unwrap();
        for t in times(9) {
            let expected = f.at(&g.at(&t).unwrap());
            prop_assert_eq!(composed.at(&t), reference::finite(expected), "at {}", t);
        }
    }

    #[test]
    fn deviations_are_suprema(f in finite_recipe(), g in recipe()) {
        let (a, b) = (f.curve(), g.curve());
        let backlog = a.vertical_deviation(&b).unwrap();
        let delay = a.horizontal_deviation(&b).unwrap();
        let corners: Vec<Exact> = times(20).chain(f.corners(&int(30))).collect();
        for t in &corners {
            for (value, served) in [(f.at(t), g.at(t)), (f.after(t), g.after(t))] {
                if let (Some(value), Some(served)) = (value, served) {
                    prop_assert!(Extended::Finite(value - &served) <= backlog);
                }
            }
            for value in [f.at(t).unwrap(), f.after(t).unwrap()] {
                let wait = match reference::lower_inverse(&g, &value, &int(400)) {
                    Some(served) => Extended::Finite((served - t).greater(int(0))),
                    None => Extended::Infinite,
                };
                prop_assert!(wait <= delay, "{:?} at {} of {:?}", wait, t, delay);
            }
        }
        // The bound is tight: with slightly less, some traffic is later.
        if let Extended::Finite(delay) = &delay {
            if delay.is_positive() {
                let less = b.delayed(&int(0)).convolution(&Curve::burst_delay(int(0))).unwrap();
                let early = delay.clone() * Exact::new(999, 1000);
                let shifted = shifted_left(&less, &early);
                prop_assert!(!at_most(&a, &shifted), "{} is not needed", delay);
                prop_assert!(at_most(&a, &shifted_left(&less, delay)));
            } else {
                prop_assert!(at_most(&a, &b));
            }
        }
    }

    #[test]
    fn a_shift_of_origin_and_its_undoing(f in finite_recipe(), sixths in 0i64..40) {
        let curve = f.curve();
        let at = Exact::new(sixths, 6);
        let height = curve.finite_at(&at).unwrap();
        let seen = curve.from_origin(&at, &height).unwrap();
        prop_assert_eq!(seen.at(&int(0)), Extended::Finite(int(0)));
        for t in times(6) {
            let expected = f.after(&(at.clone() + &t)).unwrap() - &height;
            prop_assert_eq!(seen.after(&t), Extended::Finite(expected));
        }
        prop_assert!(same(&curve.continued_with(&at, &height, &seen).unwrap(), &curve));
    }

    #[test]
    fn floating_point_is_close_to_exact(f in recipe(), g in recipe()) {
        let exact = conv(&f.curve(), &g.curve());
        let fast = rounded(&f.curve()).convolution(&rounded(&g.curve())).unwrap();
        for t in times(12) {
            // Between corners only: at a jump rounding decides.
            let t = t + Exact::new(1, 12);
            match (exact.at(&t), fast.at(&t.to_f64())) {
                (Extended::Finite(a), Extended::Finite(b)) => prop_assert!((a.to_f64() - b).abs() < 1e-9),
                (Extended::Infinite, Extended::Infinite) => {}
                (a, b) => prop_assert!(false, "{:?} and {:?} at {}", a, b, t),
            }
        }
    }
}

/// Returns g(t + early) for t > 0, and 0 at 0.
fn shifted_left(g: &Function, early: &Exact) -> Function {
    g.from_origin(early, &int(0)).unwrap()
}

fn rounded(f: &Function) -> Curve<f64> {
    let elements = f
        .elements()
        .iter()
        .map(|element| match element {
            Element::Point { at, value } => Element::Point {
                at: at.to_f64(),
                value: value.to_f64(),
            },
            Element::Segment {
                from,
                to,
                start,
                slope,
            } => Element::Segment {
                from: from.to_f64(),
                to: to.as_ref().map(Scalar::to_f64),
                start: start.to_f64(),
                slope: slope.to_f64(),
            },
        })
        .collect();
    let tail = match f.tail() {
        Tail::Plain => Tail::Plain,
        Tail::Periodic {
            from,
            period,
            increment,
        } => Tail::Periodic {
            from: from.to_f64(),
            period: period.to_f64(),
            increment: increment.to_f64(),
        },
    };
    Curve::new(elements, tail).unwrap()
}

#[test]
fn token_bucket_through_a_rate_latency_server() {
    let (b, r) = (Exact::new(37, 3), Exact::new(5, 7));
    let (rate, latency) = (Exact::new(9, 4), Exact::new(11, 5));
    let arrivals = Curve::token_bucket(b.clone(), r.clone());
    let service = Curve::rate_latency(rate.clone(), latency.clone());
    // Le Boudec and Thiran, section 1.4.2: backlog b + r·T, delay T + b/R, output γ of rate r and burst b + r·T.
    let backlog = b.clone() + r.clone() * &latency;
    assert_eq!(
        arrivals.vertical_deviation(&service),
        Ok(Extended::Finite(backlog.clone()))
    );
    assert_eq!(
        arrivals.horizontal_deviation(&service),
        Ok(Extended::Finite(latency.clone() + b / &rate))
    );
    let output = arrivals.deconvolution(&service).unwrap();
    assert_eq!(output.at(&int(0)), Extended::Finite(backlog.clone()));
    for t in times(8) {
        let expected = backlog.clone() + r.clone() * &t;
        assert_eq!(output.at(&t), Extended::Finite(expected));
    }
}

#[test]
fn a_bucket_as_fast_as_the_server_has_backlog_b_plus_rate_times_latency() {
    let service = Curve::rate_latency(int(10), int(3));
    let arrivals = Curve::token_bucket(int(7), int(10));
    assert_eq!(
        arrivals.vertical_deviation(&service),
        Ok(Extended::Finite(int(7 + 10 * 3)))
    );
    assert_eq!(
        arrivals.horizontal_deviation(&service),
        Ok(Extended::Finite(int(3) + Exact::new(7, 10)))
    );
    let faster = Curve::token_bucket(int(0), int(11));
    assert_eq!(faster.vertical_deviation(&service), Ok(Extended::Infinite));
    assert_eq!(
        faster.horizontal_deviation(&service),
        Ok(Extended::Infinite)
    );
}

#[test]
fn servers_in_a_row_are_one_server() {
    let (a, b) = (
        Curve::rate_latency(int(10), int(3)),
        Curve::rate_latency(int(4), int(2)),
    );
    assert!(same(&conv(&a, &b), &Curve::rate_latency(int(4), int(5))));
    let buckets = conv(
        &Curve::token_bucket(int(2), int(9)),
        &Curve::token_bucket(int(8), int(3)),
    );
    assert_eq!(
        buckets.at(&Exact::new(1, 2)),
        Extended::Finite(Exact::new(13, 2))
    );
    assert_eq!(buckets.at(&int(2)), Extended::Finite(int(14)));
}

#[test]
fn staircases_of_different_steps() {
    let (a, b) = (
        Curve::staircase(int(3), int(4), int(0)).unwrap(),
        Curve::staircase(int(5), int(6), int(1)).unwrap(),
    );
    let sum = a.plus(&b).unwrap();
    for (t, value) in [
        (0, 0),
        (1, 8),
        (4, 8),
        (5, 11),
        (6, 16),
        (12, 24),
        (1000, 250 * 3 + 167 * 5),
    ] {
        assert_eq!(sum.at(&int(t)), Extended::Finite(int(value)), "at {t}");
    }
    assert_eq!(
        sum.rate(),
        Extended::Finite(Exact::new(3, 4) + Exact::new(5, 6))
    );
    let bursts = Curve::periodic_bursts(int(7), int(10), int(5)).unwrap();
    for (t, value) in [(10, 0), (11, 7), (15, 7), (16, 14), (110, 7 * 20)] {
        assert_eq!(bursts.at(&int(t)), Extended::Finite(int(value)), "at {t}");
    }
    let service = Curve::rate_function(int(2));
    // Bursts of 7 every 5 at rate 2: each is served before the next.
    assert_eq!(
        bursts.horizontal_deviation(&service),
        Ok(Extended::Finite(int(0))),
        "a rate function promises service since time 0"
    );
    let steps = Curve::staircase(int(7), int(5), int(0)).unwrap();
    assert_eq!(
        steps.horizontal_deviation(&service),
        Ok(Extended::Finite(Exact::new(7, 2)))
    );
}

#[test]
fn an_impossible_computation_has_a_reason() {
    let irrational = Curve::<f64>::staircase(1.0, std::f64::consts::SQRT_2, 0.0).unwrap();
    let other = Curve::<f64>::staircase(1.0, 1.0, 0.0).unwrap();
    assert!(matches!(
        irrational.plus(&other),
        Err(CurveError::NoCommonPeriod(..))
    ));
    let long = Curve::staircase(int(1), Exact::new(1, 1_000_003), int(0)).unwrap();
    let short = Curve::staircase(int(1), Exact::new(1, 999_983), int(0)).unwrap();
    assert_eq!(long.plus(&short), Err(CurveError::TooLong));
    let falling = Curve::rate_function(int(-1));
    assert!(matches!(
        falling.lower_pseudo_inverse(),
        Err(CurveError::Decreasing(_))
    ));
    assert!(Curve::through(&[(int(2), int(1)), (int(1), int(1))], int(0)).is_err());
}
