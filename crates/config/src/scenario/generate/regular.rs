//! Random networks in which every switch has the same number of links.

use super::wiring::{is_connected, Pairs};
use super::Plan;
use crate::scenario::random::Random;

/// A connected random network, for 2 ≤ `degree` < `switches` and an even product of the two.
///
/// It starts as a circulant, which is connected and regular, and exchanges ends of random links: a Markov chain over
/// the graphs of this degree whose stationary distribution is uniform (McKay: Subgraphs of Random Graphs with Specified
/// Degrees, 1981). The rate of convergence is not proven; ten exchanges for each link are usual.
pub(super) fn random_regular(switches: usize, degree: usize, mut random: Random) -> Plan {
    const EXCHANGES_PER_LINK: usize = 10;
    /// A graph of degree 3 or more is almost always connected: a few more rounds find one that is.
    const ROUNDS_MAX: usize = 100;
    if degree == 2 {
        return random_ring(switches, random);
    }
    let start = circulant(switches, degree);
    let mut plan = start.clone();
    let mut pairs = Pairs::new(&plan);
    let count = plan.links.len();
    for _ in 0..ROUNDS_MAX {
        for _ in 0..EXCHANGES_PER_LINK * count {
            let links = [0; 2].map(|_| random.index(count));
            let ends = [0; 2].map(|_| random.index(2));
            pairs.exchange(&mut plan, links, ends);
        }
        if is_connected(&plan) {
            return plan;
        }
    }
    start
}

/// All connected networks of degree 2 are rings.
fn random_ring(switches: usize, mut random: Random) -> Plan {
    let mut order: Vec<usize> = (0..switches).collect();
    random.shuffle(&mut order);
    let mut plan = Plan::numbered(switches);
    for (index, at) in order.iter().enumerate() {
        plan.link(*at, order[(index + 1) % switches]);
    }
    plan
}

/// Each switch linked to the next `degree` / 2 ones, and for an odd degree to the opposite one.
fn circulant(switches: usize, degree: usize) -> Plan {
    let mut plan = Plan::numbered(switches);
    for at in 0..switches {
        for step in 1..=degree / 2 {
            plan.link(at, (at + step) % switches);
        }
        if degree % 2 == 1 && at < switches / 2 {
            plan.link(at, at + switches / 2);
        }
    }
    plan
}
