//! Circles of switches that wait for each other.
//!
//! A direction of a link waits if switch `from` may not send to switch `to` in a priority. It waits for the paused
//! directions from `to` in the same priority, except back to `from`, since no switch returns a frame to its sender. A credit
//! loop appears from outside as a circle of such directions. Pauses alone do not prove that frames of one direction continue
//! on the next; a deadlock suspicion at a port of the circle does.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A direction that is paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Paused {
    /// The priority.
    pub priority: u8,
    /// The switch that is paused.
    pub from: usize,
    /// The switch that pauses it.
    pub to: usize,
}

/// A circle in which each switch may not send to the next, and the last not to the first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Loop {
    /// The priority.
    pub priority: u8,
    /// The switches in order, the smallest number first.
    pub switches: Vec<usize>,
}

impl Loop {
    /// Returns the directions of the circle.
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

/// Returns, for each direction in a circle, a shortest circle through it, without duplicates, smallest first, at most
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

/// Finds a shortest circle through `start` by breadth-first search.
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

/// Returns the circle by following the path back from its last direction.
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

    /// Slow model: pairs of directions connected by a path, computed as a transitive closure.
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
                // A walk of paused steps that never reverses.
                let steps: Vec<Paused> = circle.directions().collect();
                for (step, next) in steps.iter().zip(steps.iter().cycle().skip(1)) {
                    prop_assert!(all.contains(step));
                    prop_assert!(step.to == next.from && next.to != step.from);
                }
            }
        }
    }
}
