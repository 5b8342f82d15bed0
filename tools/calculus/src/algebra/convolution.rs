//! Min-plus convolution and deconvolution.
//!
//! Both functions are cut into maximal convex runs. Two convex runs are convolved by merging their segments by slope; the
//! results of all pairs are joined into their lower envelope, halves first. Convex functions of n and m segments cost O(n +
//! m); concave ones through 0 reduce to a minimum in O(n + m). Functions of p and q runs cost O(p·q) times a small
//! logarithm, less the pairs that [`Bound`] rules out. (Bouillard and Thierry 2008; Bouillard, Boyer and Le Corronc, chapter
//! 4.)

use super::curve::Ultimate;
use super::element::{self, Builder};
use super::pointwise::{period_of_both, rate_of};
use super::{Curve, CurveError, Element, Extended, Scalar, Tail};

impl<S: Scalar> Curve<S> {
    /// f ⊗ g (t) = inf over 0 ≤ s ≤ t of f(s) + g(t − s).
    pub fn convolution(&self, other: &Self) -> Result<Self, CurveError> {
        if self.is_concave_from_zero() && other.is_concave_from_zero() {
            return self.min(other);
        }
        if matches!((&self.tail, &other.tail), (Tail::Plain, Tail::Plain)) {
            let elements = convolve(&self.elements, &other.elements, None);
            return Ok(Self::normalised(elements, Tail::Plain));
        }
        let (transient_f, rest_f) = self.split();
        let (transient_g, rest_g) = other.split();
        let parts = [
            transient_parts(&transient_f, &transient_g),
            one_periodic_part(&transient_f, &rest_g)?,
            one_periodic_part(&transient_g, &rest_f)?,
            both_periodic_parts(&rest_f, &rest_g)?,
        ];
        let mut result = Self::infinite();
        for part in &parts {
            result = result.min(part)?;
        }
        Ok(result)
    }

    /// f ⊗ g on [0, horizon] and +∞ after it, at the cost of the elements up to the horizon only.
    pub fn convolution_until(&self, other: &Self, horizon: &S) -> Result<Self, CurveError> {
        let elements = convolve(&self.graph(horizon)?, &other.graph(horizon)?, None);
        let elements = element::part(&elements, &S::zero(), Some(horizon), true);
        Ok(Self::normalised(elements, Tail::Plain))
    }

    /// f ⊘ g (t) = sup over u ≥ 0 of f(t + u) − g(u), for t ≥ 0. +∞ everywhere if f grows faster than g.
    ///
    /// Unlike arrivals it may be positive at t = 0: there it is the vertical deviation.
    pub fn deconvolution(&self, other: &Self) -> Result<Self, CurveError> {
        let ((from_f, f), (from_g, g)) = (self.ultimate(), other.ultimate());
        let Some(rate_f) = rate_of(&f) else {
            return Ok(Self::infinite());
        };
        if rate_of(&g).is_some_and(|rate_g| rate_f > rate_g) {
            return Ok(Self::infinite());
        }
        // Functions without a period accept any.
        let period = period_of_both(&f, &g)?.unwrap_or_else(S::one);
        let period_f = match &f {
            Ultimate::Periodic { period, .. } => period.clone(),
            _ => period.clone(),
        };
        // A u beyond this is no better than one a common period earlier (and no u is, if g is +∞ there).
        let reach = from_f.clone().greater(from_g) + &period + &period;
        let from = from_f + &period_f;
        let end = from.clone() + &period_f;
        let length = end.clone() + &reach;
        let backwards = mirrored(&self.graph(&length)?, &length);
        let convolved = convolve(&other.graph(&reach)?, &backwards, None);
        let elements = element::part(
            &mirrored(&convolved, &length),
            &S::zero(),
            Some(&end),
            false,
        );
        Ok(match &f {
            Ultimate::Periodic { increment, .. } => Self::normalised(
                elements,
                Tail::Periodic {
                    from,
                    period: period_f,
                    increment: increment.clone(),
                },
            ),
            _ => {
                let mut elements = elements;
                if let Some(Element::Segment { to, .. }) = elements.last_mut() {
                    *to = None;
                }
                Self::normalised(elements, Tail::Plain)
            }
        })
    }

    /// True for functions that are concave on t > 0, finite, and 0 at 0, whose convolution is their minimum.
    fn is_concave_from_zero(&self) -> bool {
        if self.tail != Tail::Plain || self.at(&S::zero()) != Extended::Finite(S::zero()) {
            return false;
        }
        let mut last: Option<&Element<S>> = None;
        for element in &self.elements[1..] {
            let Element::Segment { slope, start, .. } = element else {
                continue;
            };
            let bends_up = match last {
                None => start.is_negative(),
                Some(Element::Segment { slope: before, .. }) => slope > before,
                Some(Element::Point { .. }) => true,
            };
            let jumps = last.is_some_and(|before| before.end().as_ref() != Some(start));
            if bends_up || jumps {
                return false;
            }
            last = Some(element);
        }
        matches!(last, Some(Element::Segment { to: None, .. }))
    }

    /// Splits off the part before the ultimate behaviour, and that behaviour alone (+∞ before it),
    /// if it is finite.
    fn split(&self) -> (Vec<Element<S>>, Option<Rest<S>>) {
        let (from, ultimate) = self.ultimate();
        match ultimate {
            Ultimate::Infinite => (self.elements.clone(), None),
            Ultimate::Affine { slope } => {
                let count = self.elements.len() - 1;
                let ray = self.elements[count..].to_vec();
                let rest = Rest {
                    from,
                    period: None,
                    increment: slope,
                    curve: Self {
                        elements: ray,
                        tail: Tail::Plain,
                    },
                };
                (self.elements[..count].to_vec(), Some(rest))
            }
            Ultimate::Periodic { period, increment } => {
                let first = self.first_periodic();
                let rest = Rest {
                    from,
                    period: Some(period),
                    increment,
                    curve: Self {
                        elements: self.elements[first..].to_vec(),
                        tail: self.tail.clone(),
                    },
                };
                (self.elements[..first].to_vec(), Some(rest))
            }
        }
    }
}

/// The ultimate behaviour of a function as a separate function, +∞ before `from`.
struct Rest<S> {
    from: S,
    /// `None` if affine; `increment` is the slope then.
    period: Option<S>,
    increment: S,
    curve: Curve<S>,
}

impl<S: Scalar> Rest<S> {
    fn rate(&self) -> S {
        match &self.period {
            Some(period) => self.increment.clone() / period,
            None => self.increment.clone(),
        }
    }
}

fn transient_parts<S: Scalar>(f: &[Element<S>], g: &[Element<S>]) -> Curve<S> {
    Curve::normalised(convolve(f, g, None), Tail::Plain)
}

/// The convolution of a finite part with a periodic one repeats with its period once all of the finite part is within reach.
fn one_periodic_part<S: Scalar>(
    transient: &[Element<S>],
    rest: &Option<Rest<S>>,
) -> Result<Curve<S>, CurveError> {
    let (Some(rest), Some(last)) = (rest, transient.last()) else {
        return Ok(Curve::infinite());
    };
    let Some(period) = &rest.period else {
        let elements = convolve(transient, &rest.curve.elements, None);
        return Ok(Curve::normalised(elements, Tail::Plain));
    };
    let length = last.to().cloned().unwrap_or_else(S::zero);
    let from = rest.from.clone() + &length + period;
    let end = from.clone() + period;
    let elements = convolve(transient, &rest.curve.unrolled(Some(&end))?, Some(&end));
    Ok(Curve::normalised(
        elements,
        Tail::Periodic {
            from,
            period: period.clone(),
            increment: rest.increment.clone(),
        },
    ))
}

fn both_periodic_parts<S: Scalar>(
    f: &Option<Rest<S>>,
    g: &Option<Rest<S>>,
) -> Result<Curve<S>, CurveError> {
    let (Some(f), Some(g)) = (f, g) else {
        return Ok(Curve::infinite());
    };
    let period = match (&f.period, &g.period) {
        (Some(a), Some(b)) => super::pointwise::common_period(a, b)?,
        (Some(period), None) | (None, Some(period)) => period.clone(),
        (None, None) => {
            let elements = convolve(&f.curve.elements, &g.curve.elements, None);
            return Ok(Curve::normalised(elements, Tail::Plain));
        }
    };
    let from = f.from.clone() + &g.from + &period + &period;
    let end = from.clone() + &period;
    let elements = convolve(
        &f.curve.unrolled(Some(&end))?,
        &g.curve.unrolled(Some(&end))?,
        Some(&end),
    );
    let increment = f.rate().lesser(g.rate()) * &period;
    Ok(Curve::normalised(
        elements,
        Tail::Periodic {
            from,
            period,
            increment,
        },
    ))
}

/// Returns −f(length − t) over [0, length].
fn mirrored<S: Scalar>(elements: &[Element<S>], length: &S) -> Vec<Element<S>> {
    let mut out = Builder::with_capacity(elements.len());
    for element in elements.iter().rev() {
        match element {
            Element::Point { at, value } => out.point(length.clone() - at, -value.clone()),
            Element::Segment {
                from, to, slope, ..
            } => {
                let (Some(to), Some(end)) = (to, element.end()) else {
                    continue;
                };
                out.segment(
                    length.clone() - to,
                    Some(length.clone() - from),
                    -end,
                    slope.clone(),
                );
            }
        }
    }
    out.finish()
}

fn convex_runs<S: Scalar>(elements: &[Element<S>]) -> Vec<&[Element<S>]> {
    let mut runs = Vec::new();
    let (mut begin, mut steepest): (usize, Option<&S>) = (0, None);
    for index in 0..elements.len() {
        let slope = match &elements[index] {
            Element::Segment { slope, .. } => Some(slope),
            Element::Point { .. } => None,
        };
        let goes_on = index > begin && {
            let before = &elements[index - 1];
            before.to() == Some(elements[index].from())
                && before.end().as_ref() == Some(elements[index].start())
                && !matches!((slope, steepest), (Some(new), Some(old)) if new < old)
        };
        if index > begin && !goes_on {
            runs.push(&elements[begin..index]);
            (begin, steepest) = (index, None);
        }
        steepest = slope.or(steepest);
    }
    if begin < elements.len() {
        runs.push(&elements[begin..]);
    }
    runs
}

/// Returns the convolution of two sequences (gaps are +∞), over [0, horizon) if there is one.
pub(super) fn convolve<S: Scalar>(
    f: &[Element<S>],
    g: &[Element<S>],
    horizon: Option<&S>,
) -> Vec<Element<S>> {
    let (f, g) = (convex_runs(f), convex_runs(g));
    let bound = Bound::new(&f, &g);
    let elements = convolve_runs(&f, &g, horizon, &bound);
    match horizon {
        Some(_) => element::part(&elements, &S::zero(), horizon, false),
        None => elements,
    }
}

fn convolve_runs<S: Scalar>(
    f: &[&[Element<S>]],
    g: &[&[Element<S>]],
    horizon: Option<&S>,
    bound: &Bound<S>,
) -> Vec<Element<S>> {
    match (f, g) {
        ([], _) | (_, []) => Vec::new(),
        _ if bound.rules_out(f, g, horizon) => Vec::new(),
        ([f], [g]) => convolve_convex(f, g, horizon),
        _ if f.len() >= g.len() => {
            let (left, right) = f.split_at(f.len() / 2);
            let left = convolve_runs(left, g, horizon, bound);
            let right = convolve_runs(right, g, horizon, bound);
            joined(left, right)
        }
        _ => {
            let (left, right) = g.split_at(g.len() / 2);
            let left = convolve_runs(f, left, horizon, bound);
            let right = convolve_runs(f, right, horizon, bound);
            joined(left, right)
        }
    }
}

fn joined<S: Scalar>(left: Vec<Element<S>>, right: Vec<Element<S>>) -> Vec<Element<S>> {
    if left.is_empty() {
        return right;
    }
    if right.is_empty() {
        return left;
    }
    element::envelope(&left, &right, false)
}

/// Returns slopes and lengths of a convex run.
fn lines<S: Scalar>(run: &[Element<S>]) -> impl Iterator<Item = (&S, Option<S>)> {
    run.iter().filter_map(|element| match element {
        Element::Segment {
            from, to, slope, ..
        } => Some((slope, to.as_ref().map(|to| to.clone() - from))),
        Element::Point { .. } => None,
    })
}

/// Merges the segments of both, in order of slope.
fn convolve_convex<S: Scalar>(
    f: &[Element<S>],
    g: &[Element<S>],
    horizon: Option<&S>,
) -> Vec<Element<S>> {
    let mut out = Builder::with_capacity(f.len() + g.len());
    let mut at = f[0].from().clone() + g[0].from();
    let mut value = f[0].start().clone() + g[0].start();
    let is_point = |element: Option<&Element<S>>| matches!(element, Some(Element::Point { .. }));
    if is_point(f.first()) && is_point(g.first()) {
        out.point(at.clone(), value.clone());
    }
    let closed = is_point(f.last()) && is_point(g.last());
    let (mut f, mut g) = (lines(f).peekable(), lines(g).peekable());
    loop {
        let from_f = match (f.peek(), g.peek()) {
            (Some((f, _)), Some((g, _))) => f <= g,
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (None, None) => break,
        };
        let Some((slope, length)) = (if from_f { f.next() } else { g.next() }) else {
            break;
        };
        let Some(length) = length else {
            out.segment(at, None, value, slope.clone());
            break;
        };
        let end = at.clone() + &length;
        let value_at_end = value.clone() + slope.clone() * &length;
        out.segment(at, Some(end.clone()), value, slope.clone());
        let last = f.peek().is_none() && g.peek().is_none();
        if closed || !last {
            out.point(end.clone(), value_at_end.clone());
        }
        if horizon.is_some_and(|horizon| end >= *horizon) {
            break;
        }
        (at, value) = (end, value_at_end);
    }
    out.finish()
}

/// Rules out pairs of runs that cannot matter, for non-decreasing functions: a coarse upper bound of the result is known,
/// and a pair that begins above the bound's value at the pair's end is above it everywhere.
struct Bound<S> {
    /// Times and values (both non-decreasing) with result(time) ≤ value. Empty if a function decreases.
    points: Vec<(S, S)>,
}

/// Minimum and maximum number of points of each function that are paired for the bound.
const BOUND_SAMPLES: (usize, usize) = (32, 1_024);
const BOUND_PAIRS_MIN: usize = 4_096;

impl<S: Scalar> Bound<S> {
    fn new(f: &[&[Element<S>]], g: &[&[Element<S>]]) -> Self {
        let none = Self { points: Vec::new() };
        if f.len().saturating_mul(g.len()) < BOUND_PAIRS_MIN
            || !never_decreases(f)
            || !never_decreases(g)
        {
            return none;
        }
        let (f, g) = (closed_points(f), closed_points(g));
        if f.is_empty() || g.is_empty() {
            return none;
        }
        let samples = ((f.len() * g.len()) as f64).sqrt() / 4.0;
        let samples = (samples as usize).clamp(BOUND_SAMPLES.0, BOUND_SAMPLES.1);
        let sampled = |points: &[(S, S)]| -> Vec<(S, S)> {
            let step = points.len().div_ceil(samples);
            points.iter().step_by(step).cloned().collect()
        };
        let (f, g) = (sampled(&f), sampled(&g));
        let mut points: Vec<(S, S)> = Vec::with_capacity(f.len() * g.len());
        for (at_f, value_f) in &f {
            for (at_g, value_g) in &g {
                points.push((at_f.clone() + at_g, value_f.clone() + value_g));
            }
        }
        points.sort_by(|a, b| a.0.compare(&b.0));
        // The result never decreases, so a bound at a later time also holds before it.
        for index in (1..points.len()).rev() {
            if points[index].1 < points[index - 1].1 {
                points[index - 1].1 = points[index].1.clone();
            }
        }
        Self { points }
    }

    fn rules_out(&self, f: &[&[Element<S>]], g: &[&[Element<S>]], horizon: Option<&S>) -> bool {
        let (first_f, first_g) = (&f[0][0], &g[0][0]);
        let begin = first_f.from().clone() + first_g.from();
        if horizon.is_some_and(|horizon| begin >= *horizon) {
            return true;
        }
        if self.points.is_empty() {
            return false;
        }
        let end_of = |runs: &[&[Element<S>]]| {
            let last = runs.last().and_then(|run| run.last());
            last.and_then(|element| element.to().cloned())
        };
        let (Some(end_f), Some(end_g)) = (end_of(f), end_of(g)) else {
            return false;
        };
        let end = end_f + &end_g;
        let lowest = first_f.start().clone() + first_g.start();
        let index = self.points.partition_point(|(at, _)| *at < end);
        self.points
            .get(index)
            // Equal values may stem from the very pair that made the bound.
            .is_some_and(|(_, value)| *value < lowest)
    }
}

fn never_decreases<S: Scalar>(runs: &[&[Element<S>]]) -> bool {
    let mut highest: Option<S> = None;
    for element in runs.iter().copied().flatten() {
        let falls = matches!(element, Element::Segment { slope, .. } if slope.is_negative());
        if falls
            || highest
                .as_ref()
                .is_some_and(|value| value > element.start())
        {
            return false;
        }
        highest = element.end().or(highest);
    }
    true
}

fn closed_points<S: Scalar>(runs: &[&[Element<S>]]) -> Vec<(S, S)> {
    let points = runs.iter().copied().flatten();
    points
        .filter_map(|element| match element {
            Element::Point { at, value } => Some((at.clone(), value.clone())),
            Element::Segment { .. } => None,
        })
        .collect()
}
