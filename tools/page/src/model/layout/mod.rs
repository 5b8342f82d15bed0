//! Placement of switches in the picture. The same network always looks the same: nothing is random, and names break ties.
//!
//! A ring is a circle; a network of layers (leaf and spine, fat tree) has its layers one above the other; anything else is
//! laid out by forces, from a circle in the order of names. Unconnected parts are placed side by side.

mod force;
mod layers;
mod ring;

use std::collections::{BTreeMap, BTreeSet};

/// Approximate ratio of width to height of pictures, in which a circle is round.
const ASPECT: f64 = 1.6;

/// A position: 0 to 1 from left to right and from top to bottom.
pub type Place = (f64, f64);

/// The graph to place. Switches are numbered from 0 in the order of their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    /// By switch: true if it has ports for hosts.
    pub has_hosts: Vec<bool>,
    /// Links, with the smaller number first, and none from a switch to itself.
    pub links: BTreeSet<(usize, usize)>,
}

/// Kind of layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One switch, or several without a link.
    Apart,
    /// A circle.
    Ring,
    /// Layers.
    Layers,
    /// By forces.
    Forces,
    /// Several parts, each with its own layout.
    Parts,
}

impl Kind {
    /// Returns the kind in words.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Apart => "no links",
            Self::Ring => "a ring",
            Self::Layers => "layers",
            Self::Forces => "a mesh",
            Self::Parts => "several parts",
        }
    }
}

/// Positions of all switches.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    /// Kind of layout.
    pub kind: Kind,
    /// Positions by number.
    pub places: Vec<Place>,
}

/// A connected part, with its own numbering.
struct Part {
    /// By number in the part: the number in the graph.
    members: Vec<usize>,
    has_hosts: Vec<bool>,
    /// By number in the part: neighbours, in order.
    neighbours: Vec<Vec<usize>>,
}

/// Computes the layout of a graph.
pub fn layout(graph: &Graph) -> Layout {
    let mut parts = parts(graph);
    // Large parts first, then by the first name.
    parts.sort_by_key(|part| {
        (
            usize::MAX - part.members.len(),
            part.members.first().copied(),
        )
    });
    let placed: Vec<(Kind, Vec<Place>)> = parts.iter().map(place).collect();
    let kind = match placed.as_slice() {
        [(kind, _)] => *kind,
        [] => Kind::Apart,
        all if all.iter().all(|(kind, _)| *kind == Kind::Apart) => Kind::Apart,
        _ => Kind::Parts,
    };
    let boxes = boxes(
        &parts
            .iter()
            .map(|part| part.members.len())
            .collect::<Vec<_>>(),
    );
    let mut places = vec![(0.5, 0.5); graph.has_hosts.len()];
    for ((part, (kind, inside)), area) in parts.iter().zip(&placed).zip(&boxes) {
        let (across, down) = if *kind == Kind::Ring {
            area.round()
        } else {
            (1.0, 1.0)
        };
        for (member, (x, y)) in part.members.iter().zip(inside) {
            if let Some(place) = places.get_mut(*member) {
                let (x, y) = (0.5 + (x - 0.5) * across, 0.5 + (y - 0.5) * down);
                *place = (area.x + x * area.width, area.y + y * area.height);
            }
        }
    }
    Layout { kind, places }
}

fn place(part: &Part) -> (Kind, Vec<Place>) {
    if part.members.len() == 1 {
        return (Kind::Apart, vec![(0.5, 0.5)]);
    }
    if let Some(places) = ring::places(part) {
        return (Kind::Ring, places);
    }
    if let Some(places) = layers::places(part) {
        return (Kind::Layers, places);
    }
    (Kind::Forces, force::places(part))
}

/// Returns the connected parts.
fn parts(graph: &Graph) -> Vec<Part> {
    let count = graph.has_hosts.len();
    let mut neighbours = vec![BTreeSet::new(); count];
    for &(a, b) in &graph.links {
        if a < count && b < count && a != b {
            neighbours[a].insert(b);
            neighbours[b].insert(a);
        }
    }
    let mut seen = vec![false; count];
    let mut parts = Vec::new();
    for first in 0..count {
        if seen[first] {
            continue;
        }
        seen[first] = true;
        let (mut members, mut next) = (vec![first], 0);
        while let Some(&at) = members.get(next) {
            next += 1;
            for &other in &neighbours[at] {
                if !std::mem::replace(&mut seen[other], true) {
                    members.push(other);
                }
            }
        }
        members.sort_unstable();
        let number: BTreeMap<usize, usize> = members
            .iter()
            .enumerate()
            .map(|(own, whole)| (*whole, own))
            .collect();
        let of = |member: &usize| {
            neighbours[*member]
                .iter()
                .filter_map(|other| number.get(other).copied())
                .collect()
        };
        parts.push(Part {
            has_hosts: members
                .iter()
                .map(|member| graph.has_hosts[*member])
                .collect(),
            neighbours: members.iter().map(of).collect(),
            members,
        });
    }
    parts
}

/// Area of a part.
struct Area {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
}

impl Area {
    /// Returns the fractions of width and height that are equally long.
    fn round(&self) -> (f64, f64) {
        let (width, height) = (self.width * ASPECT, self.height);
        ((height / width).min(1.0), (width / height).min(1.0))
    }
}

/// Arranges areas in rows: the largest part has a separate row, single switches share rows.
fn boxes(sizes: &[usize]) -> Vec<Area> {
    const SINGLES_IN_A_ROW: usize = 12;
    const PARTS_IN_A_ROW: usize = 3;
    let singles = sizes.iter().filter(|size| **size == 1).count();
    let large = sizes.len() - singles;
    let mut rows: Vec<(usize, f64)> = Vec::new();
    let mut left = large;
    while left > 0 {
        let here = if left == large && large > 1 && sizes[0] > 2 * sizes[1] {
            1
        } else {
            left.min(PARTS_IN_A_ROW)
        };
        let size = sizes[large - left] as f64;
        rows.push((here, size.sqrt().max(3.0)));
        left -= here;
    }
    let mut left = singles;
    while left > 0 {
        let here = left.min(SINGLES_IN_A_ROW);
        rows.push((here, 1.0));
        left -= here;
    }
    let whole: f64 = rows.iter().map(|(_, height)| height).sum();
    let mut y = 0.0;
    let mut areas = Vec::new();
    for (count, height) in rows {
        let height = height / whole.max(1.0);
        let width = 1.0 / count as f64;
        areas.extend((0..count).map(|column| Area {
            x: column as f64 * width,
            y,
            width,
            height,
        }));
        y += height;
    }
    areas
}

/// Moves and scales positions to fill the area, with a margin.
fn fit(places: &mut [Place]) {
    const MARGIN: f64 = 0.06;
    let bounds = |of: fn(&Place) -> f64| {
        let values = places.iter().map(of);
        values.fold((f64::MAX, f64::MIN), |(low, high), value| {
            (low.min(value), high.max(value))
        })
    };
    let (x, y) = (bounds(|place| place.0), bounds(|place| place.1));
    let scaled = |value: f64, (low, high): (f64, f64)| {
        if high - low < 1e-9 {
            return 0.5;
        }
        MARGIN + (1.0 - 2.0 * MARGIN) * (value - low) / (high - low)
    };
    for place in places {
        *place = (scaled(place.0, x), scaled(place.1, y));
    }
}

#[cfg(test)]
mod tests;
