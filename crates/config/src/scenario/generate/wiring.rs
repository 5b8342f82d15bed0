//! Wiring mistakes and broken links.

use std::collections::BTreeSet;

use super::{GenerateError, Plan};
use crate::scenario::random::Random;

/// Exchanges one end each of two links, `count` times. Each switch keeps its number of links, without links to itself
/// or double links, and all switches stay connected. No link is exchanged twice.
pub(super) fn miswire(
    plan: &mut Plan,
    count: usize,
    mut random: Random,
) -> Result<(), GenerateError> {
    let mut pairs = Pairs::new(plan);
    let mut untouched: Vec<usize> = (0..plan.links.len()).collect();
    for done in 0..count {
        let Some((first, second)) = mistake(plan, &mut pairs, &untouched, &mut random) else {
            return Err(GenerateError::new(
                "miswired",
                format!("this seed allows {done} wiring mistakes, not {count}"),
            ));
        };
        untouched.retain(|link| *link != first && *link != second);
    }
    Ok(())
}

/// Makes one mistake; returns the two exchanged links.
fn mistake(
    plan: &mut Plan,
    pairs: &mut Pairs,
    untouched: &[usize],
    random: &mut Random,
) -> Option<(usize, usize)> {
    const ATTEMPTS_MAX: usize = 1000;
    if untouched.len() < 2 {
        return None;
    }
    for _ in 0..ATTEMPTS_MAX {
        let first = untouched[random.index(untouched.len())];
        let second = untouched[random.index(untouched.len())];
        let ends = [0; 2].map(|_| random.index(2));
        if !pairs.exchange(plan, [first, second], ends) {
            continue;
        }
        if is_connected(plan) {
            return Some((first, second));
        }
        // Links keep their ends in place: the same exchange undoes it.
        pairs.exchange(plan, [first, second], ends);
    }
    None
}

/// Breaks `count` links such that the working ones still connect all switches.
pub(super) fn fail(plan: &mut Plan, count: usize, mut random: Random) -> Result<(), GenerateError> {
    let mut order: Vec<usize> = (0..plan.links.len()).collect();
    random.shuffle(&mut order);
    // First all at once: if the network is connected without all of them, it is without each of them, so one check
    // covers many links.
    let first = &order[..count.min(order.len())];
    set_failed(plan, first, true);
    if first.len() == count && is_connected(plan) {
        return Ok(());
    }
    set_failed(plan, first, false);
    let mut left = count;
    for link in order {
        if left == 0 {
            break;
        }
        plan.links[link].failed = true;
        if is_connected(plan) {
            left -= 1;
        } else {
            plan.links[link].failed = false;
        }
    }
    if left == 0 {
        return Ok(());
    }
    Err(GenerateError::new(
        "failed",
        format!(
            "the switches stay connected with at most {} failed links, not {count}",
            count - left
        ),
    ))
}

fn set_failed(plan: &mut Plan, links: &[usize], failed: bool) {
    for link in links {
        plan.links[*link].failed = failed;
    }
}

/// Pairs of linked switches, each with the smaller index first.
pub(super) struct Pairs(BTreeSet<[usize; 2]>);

impl Pairs {
    pub(super) fn new(plan: &Plan) -> Self {
        Self(plan.links.iter().map(|link| sorted(link.ends)).collect())
    }

    /// Exchanges end `ends[0]` of one link with end `ends[1]` of the other. Returns false, without any change, if that
    /// would link a switch to itself or two switches twice.
    pub(super) fn exchange(
        &mut self,
        plan: &mut Plan,
        links: [usize; 2],
        ends: [usize; 2],
    ) -> bool {
        if links[0] == links[1] {
            return false;
        }
        let before = links.map(|link| plan.links[link].ends);
        let mut after = before;
        after[0][ends[0]] = before[1][ends[1]];
        after[1][ends[1]] = before[0][ends[0]];
        let is_new = |ends: [usize; 2]| ends[0] != ends[1] && !self.0.contains(&sorted(ends));
        if !after.into_iter().all(is_new) || sorted(after[0]) == sorted(after[1]) {
            return false;
        }
        for (link, (before, after)) in links.into_iter().zip(before.into_iter().zip(after)) {
            self.0.remove(&sorted(before));
            self.0.insert(sorted(after));
            plan.links[link].ends = after;
        }
        true
    }
}

fn sorted([a, b]: [usize; 2]) -> [usize; 2] {
    [a.min(b), a.max(b)]
}

/// Returns true if working links connect all switches. O(switches + links).
pub(super) fn is_connected(plan: &Plan) -> bool {
    let mut next = vec![Vec::new(); plan.switches.len()];
    for link in plan.links.iter().filter(|link| !link.failed) {
        let [a, b] = link.ends;
        next[a].push(b);
        next[b].push(a);
    }
    let mut seen = vec![false; next.len()];
    let mut waiting = vec![0];
    seen[0] = true;
    while let Some(at) = waiting.pop() {
        for other in &next[at] {
            if !std::mem::replace(&mut seen[*other], true) {
                waiting.push(*other);
            }
        }
    }
    !seen.contains(&false)
}
