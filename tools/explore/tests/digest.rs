//! Two states of a switch with the same digest are equivalent: they answer any input alike.

use std::collections::HashMap;

use weir_core::random::SplitMix64;
use weir_explore::cases;
use weir_explore::node::Node;
use weir_explore::plan::Plan;

use crate::walk::Walker;

const WALKS: u64 = 600;
const STEPS: usize = 40;
/// A walk uses few different inputs, so that it reaches the same states by different paths.
const INPUTS_OF_WALK: usize = 6;
const KNOWN_MAX: usize = 2000;
const CONTINUATION: usize = 40;

impl Walker {
    /// Returns a state's outputs to a continuation, and the digests on the way.
    fn answers(&mut self, plan: &Plan, mut node: Node, seed: u64) -> Vec<(String, u128)> {
        let mut random = SplitMix64::new(seed);
        let step = |_| {
            let input = self.choose(&mut random);
            let output = node.step(plan, &mut self.frames, input).unwrap();
            (format!("{input:?} {output:?}"), node.digest().unwrap())
        };
        (0..CONTINUATION).map(step).collect()
    }
}

/// Returns the number of compared pairs of states reached by different paths.
fn compare(plan: &Plan, node: usize) -> usize {
    let mut walker = Walker::new(plan, node);
    let start = Node::new(plan, node).unwrap();
    let mut known: HashMap<u128, (Node, usize)> = HashMap::new();
    let mut compared = 0;
    for walk in 0..WALKS {
        let mut random = SplitMix64::new(walk);
        let mut here = start.clone();
        let inputs: Vec<_> = (0..INPUTS_OF_WALK)
            .map(|_| walker.choose(&mut random))
            .collect();
        for _ in 0..STEPS {
            let input = inputs[(random.next_u64() % INPUTS_OF_WALK as u64) as usize];
            here.step(plan, &mut walker.frames, input).unwrap();
            let digest = here.digest().unwrap();
            let Some((other, times)) = known.get_mut(&digest) else {
                if known.len() < KNOWN_MAX {
                    known.insert(digest, (here.clone(), 0));
                }
                continue;
            };
            *times += 1;
            if *times > 3 {
                continue;
            }
            let other = other.clone();
            let seed = random.next_u64();
            let ours = walker.answers(plan, here.clone(), seed);
            assert_eq!(ours, walker.answers(plan, other, seed), "walk {walk}");
            compared += 1;
        }
    }
    compared
}

fn plan_of(name: &str) -> Plan {
    let mut found = cases::all().into_iter().filter(|case| case.name == name);
    found.next().unwrap().plan
}

#[test]
fn equal_digests_answer_alike_under_pfc() {
    for name in ["pfc-ring-2", "pfc-refresh"] {
        let compared = compare(&plan_of(name), 0);
        assert!(compared > 100, "{name}: {compared} pairs");
    }
}

#[test]
fn equal_digests_answer_alike_with_levels() {
    for (name, node) in [
        ("levels-ring-2", 2),
        ("levels-line-2", 1),
        ("fault-equation-22", 1),
    ] {
        let compared = compare(&plan_of(name), node);
        assert!(compared > 100, "{name}: {compared} pairs");
    }
}

#[test]
fn equal_digests_answer_alike_under_the_breaker() {
    let compared = compare(&plan_of("breaker"), 1);
    assert!(compared > 100, "{compared} pairs");
}
