//! Slow reference implementations of the definitions, for random functions given by a recipe. They share no code with
//! [`Curve`]: values come from the recipe, and infima and suprema from every place where a piecewise-linear function can have
//! them, together with a dense grid of samples.

use proptest::prelude::*;

use super::{Curve, Element, Exact, Extended, Scalar, Tail};

/// Jump at the beginning, slope, and length of one part, in halves.
type Part = (i64, i64, i64);

/// A left-continuous function that never decreases and is 0 at 0.
#[derive(Clone, Debug)]
pub struct Recipe {
    parts: Vec<Part>,
    end: End,
}

/// Continuation after the parts.
#[derive(Clone, Debug)]
enum End {
    /// Continue with the last slope.
    Goes,
    Repeats(usize),
    /// +∞.
    Infinite,
}

pub fn half(value: i64) -> Exact {
    Exact::new(value, 2)
}

pub fn recipe() -> impl Strategy<Value = Recipe> {
    let part = (prop_oneof![3 => Just(0i64), 2 => 1i64..5], 0i64..5, 1i64..4);
    (prop::collection::vec(part, 1..6), 0usize..10).prop_map(|(parts, kind)| {
        let end = match kind {
            0..=3 => End::Goes,
            4 => End::Infinite,
            _ => End::Repeats(kind % parts.len()),
        };
        Recipe { parts, end }
    })
}

/// Functions that are finite everywhere.
pub fn finite_recipe() -> impl Strategy<Value = Recipe> {
    recipe().prop_map(|mut recipe| {
        if matches!(recipe.end, End::Infinite) {
            recipe.end = End::Goes;
        }
        recipe
    })
}

impl Recipe {
    /// Returns the parts up to a time, expanded: begin, value just after it, slope.
    fn written_out(&self, until: &Exact) -> Vec<(Exact, Exact, Exact)> {
        let mut out = Vec::new();
        let (mut at, mut value) = (Exact::zero(), Exact::zero());
        let mut index = 0;
        loop {
            let (jump, slope, length) = self.parts[index];
            value = value + half(jump);
            out.push((at.clone(), value.clone(), Exact::from(slope)));
            if at > *until {
                return out;
            }
            let last = index + 1 == self.parts.len();
            if last && matches!(self.end, End::Goes) {
                return out;
            }
            value = value + Exact::from(slope) * &half(length);
            at = at + half(length);
            index += 1;
            if last {
                match self.end {
                    End::Repeats(first) => index = first,
                    _ => return out,
                }
            }
        }
    }

    fn infinite_after(&self) -> Option<Exact> {
        matches!(self.end, End::Infinite)
            .then(|| half(self.parts.iter().map(|part| part.2).sum::<i64>()))
    }

    /// Returns the corners up to `until`.
    pub fn corners(&self, until: &Exact) -> Vec<Exact> {
        let mut corners: Vec<Exact> = self
            .written_out(until)
            .into_iter()
            .map(|part| part.0)
            .collect();
        corners.extend(self.infinite_after());
        corners.retain(|corner| corner <= until);
        corners
    }

    /// Prepares for many evaluations at times up to `until`.
    fn written(&self, until: &Exact) -> Written {
        Written {
            parts: self.written_out(until),
            infinite_after: self.infinite_after(),
        }
    }

    /// f(t), `None` if infinite.
    pub fn at(&self, time: &Exact) -> Option<Exact> {
        self.written(time).at(time)
    }

    /// f(t+).
    pub fn after(&self, time: &Exact) -> Option<Exact> {
        self.written(time).after(time)
    }

    pub fn curve(&self) -> Curve<Exact> {
        let mut elements = Vec::new();
        let (mut at, mut value) = (Exact::zero(), Exact::zero());
        let mut from = (Exact::zero(), Exact::zero());
        for (index, (jump, slope, length)) in self.parts.iter().enumerate() {
            if matches!(self.end, End::Repeats(first) if first == index) {
                from = (at.clone(), value.clone());
            }
            elements.push(Element::Point {
                at: at.clone(),
                value: value.clone(),
            });
            let last = index + 1 == self.parts.len();
            let end = at.clone() + half(*length);
            let start = value + half(*jump);
            elements.push(Element::Segment {
                from: at,
                to: (!last || !matches!(self.end, End::Goes)).then(|| end.clone()),
                start: start.clone(),
                slope: Exact::from(*slope),
            });
            value = start + Exact::from(*slope) * &half(*length);
            at = end;
        }
        let tail = match self.end {
            End::Goes => Tail::Plain,
            End::Infinite => {
                elements.push(Element::Point { at, value });
                Tail::Plain
            }
            End::Repeats(_) => Tail::Periodic {
                period: at - &from.0,
                increment: value - &from.1,
                from: from.0,
            },
        };
        Curve::new(elements, tail).unwrap()
    }
}

struct Written {
    parts: Vec<(Exact, Exact, Exact)>,
    infinite_after: Option<Exact>,
}

impl Written {
    fn at(&self, time: &Exact) -> Option<Exact> {
        if !time.is_positive() {
            return Some(Exact::zero());
        }
        if self.infinite_after.as_ref().is_some_and(|end| time > end) {
            return None;
        }
        self.in_part(self.parts.partition_point(|part| part.0 < *time), time)
    }

    fn after(&self, time: &Exact) -> Option<Exact> {
        if self.infinite_after.as_ref().is_some_and(|end| time >= end) {
            return None;
        }
        self.in_part(self.parts.partition_point(|part| part.0 <= *time), time)
    }

    /// Evaluates the part before the index.
    fn in_part(&self, index: usize, time: &Exact) -> Option<Exact> {
        let (from, start, slope) = &self.parts[index - 1];
        Some(start.clone() + slope.clone() * &(time.clone() - from))
    }
}

fn sum(a: Option<Exact>, b: Option<Exact>) -> Option<Exact> {
    Some(a? + &b?)
}

/// Returns all candidate places for an infimum over s or a supremum over u, and samples between them.
fn places(mut corners: Vec<Exact>, lowest: &Exact, highest: &Exact) -> Vec<Exact> {
    let mut sample = lowest.clone();
    while sample <= *highest {
        corners.push(sample.clone());
        sample = sample + Exact::new(1, 6);
    }
    corners.retain(|corner| corner >= lowest && corner <= highest);
    corners
}

/// (f ⊗ g)(t) by its definition; f and g are left-continuous, so limits from the left are values.
pub fn convolution(f: &Recipe, g: &Recipe, time: &Exact) -> Option<Exact> {
    let mut corners = f.corners(time);
    corners.extend(g.corners(time).into_iter().map(|at| time.clone() - &at));
    let (f, g) = (f.written(time), g.written(time));
    let mut best: Option<Exact> = None;
    for s in places(corners, &Exact::zero(), time) {
        let rest = time.clone() - &s;
        let candidates = [
            sum(f.at(&s), g.at(&rest)),
            (rest.is_positive())
                .then(|| sum(f.after(&s), g.at(&rest)))
                .flatten(),
            (s.is_positive())
                .then(|| sum(f.at(&s), g.after(&rest)))
                .flatten(),
        ];
        for value in candidates.into_iter().flatten() {
            if best.as_ref().is_none_or(|best| value < *best) {
                best = Some(value);
            }
        }
    }
    best
}

/// The supremum of f(t + u) − g(u) over 0 ≤ u ≤ reach; f and g finite.
pub fn deconvolution(f: &Recipe, g: &Recipe, time: &Exact, reach: &Exact) -> Exact {
    let mut corners = g.corners(reach);
    let until = time.clone() + reach;
    corners.extend(f.corners(&until).into_iter().map(|at| at - time));
    let (f, g) = (f.written(&until), g.written(reach));
    let mut best: Option<Exact> = None;
    let sampled = reach.clone().lesser(Exact::from(12));
    let samples = places(Vec::new(), &Exact::zero(), &sampled);
    corners.retain(|u| !u.is_negative() && u <= reach);
    for u in corners.into_iter().chain(samples) {
        let later = time.clone() + &u;
        let values = [
            f.at(&later).unwrap() - &g.at(&u).unwrap(),
            f.after(&later).unwrap() - &g.after(&u).unwrap(),
        ];
        for value in values {
            if best.as_ref().is_none_or(|best| value > *best) {
                best = Some(value);
            }
        }
    }
    best.unwrap()
}

/// inf{x | F(x) ≥ y} over 0 ≤ x ≤ reach, by definition: searches F's parts in order.
pub fn lower_inverse(f: &Recipe, y: &Exact, reach: &Exact) -> Option<Exact> {
    if !y.is_positive() {
        return Some(Exact::zero());
    }
    let parts = f.written_out(reach);
    for (index, (from, start, slope)) in parts.iter().enumerate() {
        if start >= y {
            return Some(from.clone());
        }
        let end = parts.get(index + 1).map(|next| next.0.clone());
        if slope.is_positive() {
            let x = from.clone() + (y.clone() - start) / slope;
            let bound = end.or(f.infinite_after());
            if bound.is_none_or(|bound| x <= bound) {
                return Some(x);
            }
        }
    }
    f.infinite_after()
}

/// sup{x | F(x) ≤ y} over 0 ≤ x ≤ reach.
pub fn upper_inverse(f: &Recipe, y: &Exact, reach: &Exact) -> Option<Exact> {
    let parts = f.written_out(reach);
    let mut found = Exact::zero();
    for (index, (from, start, slope)) in parts.iter().enumerate() {
        if start > y {
            return Some(from.clone());
        }
        let end = parts.get(index + 1).map(|next| next.0.clone());
        let end = end.or(f.infinite_after());
        if slope.is_positive() {
            let x = from.clone() + (y.clone() - start) / slope;
            if end.as_ref().is_none_or(|end| x < *end) {
                return Some(x);
            }
        }
        found = end?;
    }
    Some(found)
}

pub fn finite(value: Option<Exact>) -> Extended<Exact> {
    value.into()
}

/// Returns test times: thirds of halves, which include corners and times between them.
pub fn times(until: i64) -> impl Iterator<Item = Exact> {
    (0..=until * 6).map(|sixth| Exact::new(sixth, 6))
}
