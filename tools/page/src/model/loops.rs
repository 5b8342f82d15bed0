//! Where switches wait for each other in a circle.
//!
//! What waits is a direction of a link: switch `from` may not send to switch `to` in one priority. It waits for the
//! directions by which `to` may not send on, in the same priority, except back to `from`: no switch sends a frame back to
//! where it came from. A circle of those is what a credit loop looks like from outside. Whether frames of the one really go on
//! by the next, pauses do not tell; that a port of the circle is suspected of a deadlock does.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A direction that is paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Paused {
    /// The priority.
    pub priority: u8,
    /// The switch that may not send.
    pub from: usize,
    /// The one that does not let it.
    pub to: usize,
}

/// A circle: each switch may not send to the next, and the last not to the first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Loop {
    /// The priority.
    pub priority: u8,
    /// The switches in order; the one with the smallest number first.
    pub switches: Vec<usize>,
}

impl Loop {
    /// The directions that it consists of.
    pub fn directions(&self) -> impl Iterator<Item = Paused> + '_ {
        let nexts = self.switches.iter().cycle().skip(1);
        let pairs = self.switches.iter().zip(nexts);
        pairs.map(|(from, to)| Paused {
            priority: self.priority,
            from: *from,
            to: *to,
        })
    }
}

/// For each direction that is part of a circle a shortest one through it, each circle once, the smallest first. At most
/// `most`.
pub fn loops(paused: &BTreeSet<Paused>, most: usize) -> Vec<Loop> {
    let mut behind: BTreeMap<(u8, usize), Vec<Paused>> = BTreeMap::new();
    for direction in paused {
        let of = behind.entry((direction.priority, direction.from));
        of.or_default().push(*direction);
    }
    let mut found = BTreeSet::new();
    let mut covered = BTreeSet::new();
    for start in paused {
        if found.len() >= most {
            break;
        }
        if covered.contains(start) {
            continue;
        }
        if let Some(circle) = shortest(*start, &behind) {
            covered.extend(circle.directions());
            found.insert(circle);
        }
    }
    let mut found: Vec<Loop> = found.into_iter().collect();
    found.sort_by_key(|circle| (circle.switches.len(), circle.clone()));
    found
}

/// A shortest circle through `start`, in breadth.
fn shortest(start: Paused, behind: &BTreeMap<(u8, usize), Vec<Paused>>) -> Option<Loop> {
    let nexts = |at: Paused| {
        let onward = behind.get(&(at.priority, at.to));
        onward
            .into_iter()
            .flatten()
            .filter(move |next| next.to != at.from)
    };
    let mut came_from = BTreeMap::from([(start, None)]);
    let mut queue = VecDeque::from([start]);
    while let Some(at) = queue.pop_front() {
        for next in nexts(at) {
            if *next == start {
                return Some(circle(at, &came_from));
            }
            if !came_from.contains_key(next) {
                came_from.insert(*next, Some(at));
                queue.push_back(*next);
            }
        }
    }
    None
}

/// The way back from the circle's last direction.
fn circle(last: Paused, came_from: &BTreeMap<Paused, Option<Paused>>) -> Loop {
    let mut switches = Vec::new();
    let mut at = Some(last);
    while let Some(direction) = at {
        switches.push(direction.from);
        at = came_from.get(&direction).copied().flatten();
    }
    switches.reverse();
    let least = (0..switches.len()).min_by_key(|index| switches[*index]);
    switches.rotate_left(least.unwrap_or(0));
    Loop {
        priority: last.priority,
        switches,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn paused(directions: &[(u8, usize, usize)]) -> BTreeSet<Paused> {
        let all = directions.iter();
        all.map(|&(priority, from, to)| Paused { priority, from, to })
            .collect()
    }

    #[test]
    fn a_ring_is_one_circle() {
        let found = loops(
            &paused(&[(3, 0, 1), (3, 1, 2), (3, 2, 3), (3, 3, 0), (3, 0, 3)]),
            8,
        );
        assert_eq!(
            found,
            [Loop {
                priority: 3,
                switches: vec![0, 1, 2, 3]
            }]
        );
    }

    #[test]
    fn both_directions_of_a_link_and_two_priorities_are_none() {
        assert_eq!(loops(&paused(&[(3, 0, 1), (3, 1, 0)]), 8), []);
        assert_eq!(loops(&paused(&[(3, 0, 1), (3, 1, 2), (4, 2, 0)]), 8), []);
        assert_eq!(loops(&paused(&[(3, 0, 1), (3, 1, 2), (3, 2, 3)]), 8), []);
    }

    #[test]
    fn there_are_never_more_than_wanted() {
        let all: Vec<_> = (0..12)
            .flat_map(|a| (0..12).filter(move |b| *b != a).map(move |b| (3, a, b)))
            .collect();
        assert_eq!(loops(&paused(&all), 5).len(), 5);
    }

    /// The slow model: directions from which one comes to which, by adding what follows until nothing more does.
    fn reaches(all: &BTreeSet<Paused>) -> BTreeSet<(Paused, Paused)> {
        let follows =
            |a: &Paused, b: &Paused| a.priority == b.priority && a.to == b.from && b.to != a.from;
        let pairs = all.iter().flat_map(|a| all.iter().map(move |b| (*a, *b)));
        let mut reached: BTreeSet<_> = pairs.filter(|(a, b)| follows(a, b)).collect();
        loop {
            let further: Vec<_> = reached
                .iter()
                .flat_map(|(a, b)| all.iter().filter(|c| follows(b, c)).map(|c| (*a, *c)))
                .filter(|pair| !reached.contains(pair))
                .collect();
            if further.is_empty() {
                return reached;
            }
            reached.extend(further);
        }
    }

    proptest! {
        #[test]
        fn exactly_what_is_in_a_circle_is_in_one_that_is_found(
            directions in proptest::collection::vec((0_u8..2, 0_usize..6, 0_usize..6), 0..16),
        ) {
            let all: BTreeSet<Paused> = paused(&directions).into_iter().filter(|one| one.from != one.to).collect();
            let found = loops(&all, usize::MAX);
            let covered: BTreeSet<Paused> = found.iter().flat_map(Loop::directions).collect();
            let reached = reaches(&all);
            let expected: BTreeSet<Paused> = all.iter().copied().filter(|one| reached.contains(&(*one, *one))).collect();
            prop_assert_eq!(&covered, &expected);
            for circle in &found {
                // A walk whose steps are all paused, and that never turns on its heel.
                let steps: Vec<Paused> = circle.directions().collect();
                for (step, next) in steps.iter().zip(steps.iter().cycle().skip(1)) {
                    prop_assert!(all.contains(step));
                    prop_assert!(step.to == next.from && next.to != step.from);
                }
            }
        }
    }
}
