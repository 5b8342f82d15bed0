//! The named functions of the literature (Le Boudec and Thiran, sections 1.1 and 3.1; Bouillard, Boyer and Le Corronc,
//! chapter 3). All but ε and the constants are 0 at t = 0; all are left-continuous.

use super::element::Builder;
use super::{Curve, CurveError, Element, Scalar, Tail};

impl<S: Scalar> Curve<S> {
    /// 0 forever: no traffic.
    pub fn zero() -> Self {
        Self::rate_function(S::zero())
    }

    /// The same value at all times, including t = 0.
    pub fn constant(value: S) -> Self {
        let point = Element::Point {
            at: S::zero(),
            value: value.clone(),
        };
        let line = Element::Segment {
            from: S::zero(),
            to: None,
            start: value,
            slope: S::zero(),
        };
        Self::normalised(vec![point, line], Tail::Plain)
    }

    /// ε, +∞ everywhere: the neutral element of min.
    pub fn infinite() -> Self {
        Self {
            elements: Vec::new(),
            tail: Tail::Plain,
        }
    }

    /// δ_T: 0 up to and including T, then +∞. δ_0 is the neutral element of ⊗; ⊗ with δ_T delays by T.
    pub fn burst_delay(delay: S) -> Self {
        let mut out = Builder::new();
        out.point(S::zero(), S::zero());
        if delay.is_positive() {
            out.segment(S::zero(), Some(delay.clone()), S::zero(), S::zero());
            out.point(delay, S::zero());
        }
        Self::normalised(out.finish(), Tail::Plain)
    }

    /// λ_R: max{R·t, 0}, a link of rate R.
    pub fn rate_function(rate: S) -> Self {
        Self::token_bucket(S::zero(), rate)
    }

    /// γ_{r,b}: b + r·t for t > 0, a token bucket of size b and rate r.
    pub fn token_bucket(burst: S, rate: S) -> Self {
        Self::normalised(
            vec![
                Element::Point {
                    at: S::zero(),
                    value: S::zero(),
                },
                Element::Segment {
                    from: S::zero(),
                    to: None,
                    start: burst,
                    slope: rate,
                },
            ],
            Tail::Plain,
        )
    }

    /// β_{R,T}: R·max{t − T, 0}, a server of rate R and latency T.
    pub fn rate_latency(rate: S, latency: S) -> Self {
        let mut out = Builder::new();
        out.point(S::zero(), S::zero());
        if latency.is_positive() {
            out.segment(S::zero(), Some(latency.clone()), S::zero(), S::zero());
            out.point(latency.clone(), S::zero());
        }
        out.segment(latency, None, S::zero(), rate);
        Self::normalised(out.finish(), Tail::Plain)
    }

    /// `height` from just after `time` on: one burst.
    pub fn step(height: S, time: S) -> Self {
        let mut out = Builder::new();
        out.point(S::zero(), S::zero());
        if time.is_positive() {
            out.segment(S::zero(), Some(time.clone()), S::zero(), S::zero());
            out.point(time.clone(), S::zero());
        }
        out.segment(time, None, height, S::zero());
        Self::normalised(out.finish(), Tail::Plain)
    }

    /// u_{T,τ}, times a height: `height·⌈(t + jitter)/period⌉` for t > 0, a burst in every period. 0 ≤ jitter < period.
    pub fn staircase(height: S, period: S, jitter: S) -> Result<Self, CurveError> {
        if jitter.is_negative() || jitter >= period {
            return Err(CurveError::Malformed(
                "the jitter of a staircase is at least 0 and less than the period".into(),
            ));
        }
        let first = period.clone() - &jitter;
        Self::new(
            vec![
                Element::Point {
                    at: S::zero(),
                    value: S::zero(),
                },
                Element::Segment {
                    from: S::zero(),
                    to: Some(first.clone()),
                    start: height.clone(),
                    slope: S::zero(),
                },
                Element::Point {
                    at: first.clone(),
                    value: height.clone(),
                },
                Element::Segment {
                    from: first.clone(),
                    to: Some(first.clone() + &period),
                    start: height.clone() + &height,
                    slope: S::zero(),
                },
            ],
            Tail::Periodic {
                from: first,
                period,
                increment: height,
            },
        )
    }

    /// Bursts of `height` just after `first`, `first + period`, and so on.
    pub fn periodic_bursts(height: S, first: S, period: S) -> Result<Self, CurveError> {
        let mut out = Builder::new();
        out.point(S::zero(), S::zero());
        if first.is_positive() {
            out.segment(S::zero(), Some(first.clone()), S::zero(), S::zero());
            out.fix();
            out.point(first.clone(), S::zero());
        }
        out.segment(
            first.clone(),
            Some(first.clone() + &period),
            height.clone(),
            S::zero(),
        );
        Self::new(
            out.finish(),
            Tail::Periodic {
                from: first,
                period,
                increment: height,
            },
        )
    }

    /// A continuous function through the given (time, value) pairs, beginning at (0, 0), with the given slope at the end.
    /// Two pairs at one time are a jump: the first is the value, the second the limit from the right.
    pub fn through(points: &[(S, S)], last_slope: S) -> Result<Self, CurveError> {
        let mut out = Builder::new();
        let mut previous = (S::zero(), S::zero());
        out.point(S::zero(), S::zero());
        for (at, value) in points {
            if *at > previous.0 {
                let slope = (value.clone() - &previous.1) / &(at.clone() - &previous.0);
                out.segment(previous.0, Some(at.clone()), previous.1, slope);
                out.point(at.clone(), value.clone());
            } else if *at < previous.0 {
                return Err(CurveError::Malformed(
                    "points must be in order of time".into(),
                ));
            }
            previous = (at.clone(), value.clone());
        }
        out.segment(previous.0, None, previous.1, last_slope);
        Self::new(out.finish(), Tail::Plain)
    }
}
