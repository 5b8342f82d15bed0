//! Leaf-spine networks and fat trees.

use super::Plan;

pub(super) fn leaf_spine(leaves: usize, spines: usize) -> Plan {
    let spine_names = (1..=spines).map(|number| format!("spine{number}"));
    let leaf_names = (1..=leaves).map(|number| format!("leaf{number}"));
    let mut plan = Plan::with_switches(spine_names.chain(leaf_names).collect());
    for leaf in 0..leaves {
        for spine in 0..spines {
            plan.link(spine, spines + leaf);
        }
    }
    let tier = |switch| u8::from(switch >= spines);
    plan.tiers = Some((0..spines + leaves).map(tier).collect());
    plan
}

/// Links between aggregation switches and cores, which form a square of k/2 rows and columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Striping {
    /// The i-th of every pod is linked to row i.
    Alike,
    /// The i-th is linked to row i in odd pods (type A of F10) and to column i in even ones (type B), so that two pods
    /// of different type share one core for any two of their switches.
    Alternating,
}

/// `c1` …, then `a1-1` … (pod, number), then `e1-1` ….
pub(super) fn fat_tree(k: usize, striping: Striping) -> Plan {
    let half = k / 2;
    let cores = half * half;
    let in_pods = |letter: char| {
        (1..=k).flat_map(move |pod| (1..=half).map(move |number| format!("{letter}{pod}-{number}")))
    };
    let core_names = (1..=cores).map(|number| format!("c{number}"));
    let names = core_names.chain(in_pods('a')).chain(in_pods('e'));
    let mut plan = Plan::with_switches(names.collect());
    let aggregation = |pod: usize, number: usize| cores + pod * half + number;
    let edge = |pod: usize, number: usize| cores + k * half + pod * half + number;
    for pod in 0..k {
        for number in 0..half {
            for other in 0..half {
                let by_rows = striping == Striping::Alike || pod % 2 == 0;
                let (row, column) = if by_rows {
                    (number, other)
                } else {
                    (other, number)
                };
                plan.link(row * half + column, aggregation(pod, number));
            }
        }
        for number in 0..half {
            for upper in 0..half {
                plan.link(aggregation(pod, upper), edge(pod, number));
            }
        }
    }
    let tier = |switch| u8::from(switch >= cores) + u8::from(switch >= cores + k * half);
    plan.tiers = Some((0..plan.switches.len()).map(tier).collect());
    plan
}
