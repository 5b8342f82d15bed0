//! Minimum, maximum, sum and difference.

use super::curve::Ultimate;
use super::{element, Curve, CurveError, Element, Extended, Scalar, Tail};

/// Continuation of an operation's result, and the horizon up to which its elements are needed.
pub(super) struct Horizon<S> {
    pub end: Option<S>,
    pub tail: Tail<S>,
    /// True if the last segment never ends.
    endless: bool,
}

impl<S: Scalar> Horizon<S> {
    fn plain(end: Option<S>) -> Self {
        Self {
            end,
            tail: Tail::Plain,
            endless: false,
        }
    }

    pub fn periodic(from: S, period: S, increment: S) -> Self {
        Self {
            end: Some(from.clone() + &period),
            tail: Tail::Periodic {
                from,
                period,
                increment,
            },
            endless: false,
        }
    }
}

impl<S: Scalar> Curve<S> {
    /// f ∧ g, the pointwise minimum.
    pub fn min(&self, other: &Self) -> Result<Self, CurveError> {
        let horizon = envelope_horizon(self, other, false)?;
        pointwise(self, other, horizon, |a, b| element::envelope(a, b, false))
    }

    /// f ∨ g, the pointwise maximum.
    pub fn max(&self, other: &Self) -> Result<Self, CurveError> {
        let horizon = envelope_horizon(self, other, true)?;
        pointwise(self, other, horizon, |a, b| element::envelope(a, b, true))
    }

    /// f + g.
    pub fn plus(&self, other: &Self) -> Result<Self, CurveError> {
        let horizon = sum_horizon(self, other, false)?;
        pointwise(self, other, horizon, |a, b| element::sum(a, b, false))
    }

    /// f − g, for a finite g: a backlog, if f are arrivals and g departures.
    pub fn minus(&self, other: &Self) -> Result<Self, CurveError> {
        if matches!(other.ultimate().1, Ultimate::Infinite) {
            return Err(CurveError::Infinite);
        }
        let horizon = sum_horizon(self, other, true)?;
        pointwise(self, other, horizon, |a, b| element::sum(a, b, true))
    }

    /// f multiplied by a positive factor.
    pub fn scaled(&self, factor: &S) -> Self {
        let times = |value: &S| value.clone() * factor;
        let elements = self
            .elements
            .iter()
            .map(|element| match element {
                Element::Point { at, value } => Element::Point {
                    at: at.clone(),
                    value: times(value),
                },
                Element::Segment {
                    from,
                    to,
                    start,
                    slope,
                } => Element::Segment {
                    from: from.clone(),
                    to: to.clone(),
                    start: times(start),
                    slope: times(slope),
                },
            })
            .collect();
        let tail = match &self.tail {
            Tail::Plain => Tail::Plain,
            Tail::Periodic {
                from,
                period,
                increment,
            } => Tail::Periodic {
                from: from.clone(),
                period: period.clone(),
                increment: times(increment),
            },
        };
        Self { elements, tail }
    }
}

fn pointwise<S: Scalar>(
    f: &Curve<S>,
    g: &Curve<S>,
    horizon: Horizon<S>,
    operation: impl Fn(&[Element<S>], &[Element<S>]) -> Vec<Element<S>>,
) -> Result<Curve<S>, CurveError> {
    let end = horizon.end.as_ref();
    let mut elements = operation(&f.unrolled(end)?, &g.unrolled(end)?);
    if let (true, Some(Element::Segment { to, .. })) = (horizon.endless, elements.last_mut()) {
        *to = None;
    }
    Ok(Curve::normalised(elements, horizon.tail))
}

pub(super) fn common_period<S: Scalar>(a: &S, b: &S) -> Result<S, CurveError> {
    if a == b {
        return Ok(a.clone());
    }
    a.common_multiple(b)
        .ok_or_else(|| CurveError::NoCommonPeriod(a.to_string(), b.to_string()))
}

/// Returns the periods of both; an affine function accepts any. `None` if both are affine.
pub(super) fn period_of_both<S: Scalar>(
    a: &Ultimate<S>,
    b: &Ultimate<S>,
) -> Result<Option<S>, CurveError> {
    Ok(match (a, b) {
        (Ultimate::Periodic { period: a, .. }, Ultimate::Periodic { period: b, .. }) => {
            Some(common_period(a, b)?)
        }
        (Ultimate::Periodic { period, .. }, _) | (_, Ultimate::Periodic { period, .. }) => {
            Some(period.clone())
        }
        _ => None,
    })
}

pub(super) fn rate_of<S: Scalar>(ultimate: &Ultimate<S>) -> Option<S> {
    match ultimate {
        Ultimate::Infinite => None,
        Ultimate::Affine { slope } => Some(slope.clone()),
        Ultimate::Periodic { period, increment } => Some(increment.clone() / period),
    }
}

/// Returns the time up to which two functions must agree to be the same. `None`: both have plain
/// tails.
pub(super) fn common_horizon<S: Scalar>(
    f: &Curve<S>,
    g: &Curve<S>,
) -> Result<Option<S>, CurveError> {
    let ((from_f, f), (from_g, g)) = (f.ultimate(), g.ultimate());
    let from = from_f.greater(from_g);
    Ok(period_of_both(&f, &g)?.map(|period| from + &period + &period))
}

fn sum_horizon<S: Scalar>(
    f: &Curve<S>,
    g: &Curve<S>,
    subtract: bool,
) -> Result<Horizon<S>, CurveError> {
    let ((from_f, f), (from_g, g)) = (f.ultimate(), g.ultimate());
    let (Some(rate_f), Some(rate_g)) = (rate_of(&f), rate_of(&g)) else {
        // Infinite in the end, so the part before suffices. One period more keeps the last point.
        return Ok(infinite_tail(&f, &g, from_f, from_g));
    };
    let Some(period) = period_of_both(&f, &g)? else {
        return Ok(Horizon::plain(None));
    };
    let rate = if subtract {
        rate_f - &rate_g
    } else {
        rate_f + &rate_g
    };
    // An affine tail holds only after its beginning, so the repetition begins a period later.
    let from = from_f.greater(from_g) + &period;
    let increment = rate * &period;
    Ok(Horizon::periodic(from, period, increment))
}

/// Returns a result that is +∞ where either function is.
fn infinite_tail<S: Scalar>(f: &Ultimate<S>, g: &Ultimate<S>, from_f: S, from_g: S) -> Horizon<S> {
    match (f, g) {
        (Ultimate::Infinite, Ultimate::Infinite) => Horizon::plain(None),
        (Ultimate::Infinite, Ultimate::Periodic { period, .. }) => {
            Horizon::plain(Some(from_f + period))
        }
        (Ultimate::Periodic { period, .. }, Ultimate::Infinite) => {
            Horizon::plain(Some(from_g + period))
        }
        _ => Horizon::plain(None),
    }
}

fn envelope_horizon<S: Scalar>(
    f: &Curve<S>,
    g: &Curve<S>,
    upper: bool,
) -> Result<Horizon<S>, CurveError> {
    let ((from_f, ultimate_f), (from_g, ultimate_g)) = (f.ultimate(), g.ultimate());
    let from = from_f.clone().greater(from_g.clone());
    let (rate_f, rate_g) = match (rate_of(&ultimate_f), rate_of(&ultimate_g)) {
        (Some(f), Some(g)) => (f, g),
        _ if upper => return Ok(infinite_tail(&ultimate_f, &ultimate_g, from_f, from_g)),
        (None, None) => return Ok(Horizon::plain(None)),
        // Only the other one remains.
        (None, Some(_)) => return Ok(going_on(&ultimate_g, from, None)),
        (Some(_), None) => return Ok(going_on(&ultimate_f, from, None)),
    };
    let Some(period) = period_of_both(&ultimate_f, &ultimate_g)? else {
        return Ok(Horizon::plain(None));
    };
    if rate_f == rate_g {
        let increment = rate_f * &period;
        return Ok(Horizon::periodic(from + &period, period, increment));
    }
    // One of them prevails in the end: from the time at which the worst of the winner is better than the best of the loser.
    let f_wins = (rate_f < rate_g) != upper;
    let (winner, loser, rate_winner, rate_loser, ultimate_winner) = if f_wins {
        (f, g, rate_f, rate_g, &ultimate_f)
    } else {
        (g, f, rate_g, rate_f, &ultimate_g)
    };
    let base = from + &period;
    let worst = residual(winner, &base, &period, &rate_winner, !upper)?;
    let best = residual(loser, &base, &period, &rate_loser, upper)?;
    let (lead, closing) = if upper {
        (best - &worst, rate_winner - &rate_loser)
    } else {
        (worst - &best, rate_loser - &rate_winner)
    };
    let wait = lead.greater(S::zero()) / &closing;
    Ok(going_on(ultimate_winner, base + &wait, Some(&period)))
}

/// Returns a tail like that of the function that remains after `from`; the other one, if periodic, is expanded up to there.
fn going_on<S: Scalar>(ultimate: &Ultimate<S>, from: S, period: Option<&S>) -> Horizon<S> {
    match ultimate {
        Ultimate::Periodic { period, increment } => {
            Horizon::periodic(from + period, period.clone(), increment.clone())
        }
        _ => Horizon {
            end: period.map(|period| from + period),
            tail: Tail::Plain,
            endless: period.is_some(),
        },
    }
}

/// Returns the greatest (or least) of f(t) − rate·(t − base) over a period from `base` on.
fn residual<S: Scalar>(
    f: &Curve<S>,
    base: &S,
    period: &S,
    rate: &S,
    greatest: bool,
) -> Result<S, CurveError> {
    let end = base.clone() + period;
    let elements = element::part(&f.unrolled(Some(&end))?, base, Some(&end), false);
    let mut extreme: Option<S> = None;
    for element in &elements {
        let ends = [
            (element.from(), Some(element.start().clone())),
            (element.to().unwrap_or(&end), element.end()),
        ];
        for (at, value) in ends {
            let Some(value) = value else { continue };
            let rest = value - rate.clone() * &(at.clone() - base);
            extreme = Some(match extreme {
                None => rest,
                Some(extreme) if greatest => extreme.greater(rest),
                Some(extreme) => extreme.lesser(rest),
            });
        }
    }
    extreme.ok_or(CurveError::Infinite)
}

impl<S: Scalar> Curve<S> {
    /// The greatest value (or limit) and the first time at which it is reached or approached; +∞ for unbounded growth.
    pub fn supremum(&self) -> Extended<(S, S)> {
        if self.rate().finite().is_none_or(|rate| rate.is_positive()) {
            return Extended::Infinite;
        }
        self.extreme_of(self.elements()).into()
    }

    /// The greatest value (or limit) over [0, horizon] and its first time, as `(time, value)`.
    pub fn supremum_until(&self, horizon: &S) -> Result<Extended<(S, S)>, CurveError> {
        Ok(self.extreme_of(&self.graph(horizon)?).into())
    }

    fn extreme_of(&self, elements: &[Element<S>]) -> Option<(S, S)> {
        let mut best: Option<(S, S)> = None;
        let mut end = S::zero();
        for element in elements {
            if *element.from() > end {
                return None;
            }
            let first = (element.from().clone(), element.start().clone());
            let last = element.to().cloned().zip(element.end());
            for (at, value) in [Some(first), last].into_iter().flatten() {
                if best.as_ref().is_none_or(|best| value > best.1) {
                    best = Some((at, value));
                }
            }
            end = element.to().cloned().unwrap_or(end);
        }
        best
    }
}
