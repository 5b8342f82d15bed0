//! Dragonflies.

use super::Plan;

/// Group by group. The k-th link of a group to another one starts at its switch k modulo `switches`.
pub(super) fn dragonfly(groups: usize, switches: usize) -> Plan {
    let mut plan = Plan::numbered(groups * switches);
    for group in 0..groups {
        for a in 0..switches {
            for b in a + 1..switches {
                plan.link(group * switches + a, group * switches + b);
            }
        }
    }
    // Index among the groups linked to a group, which exclude itself.
    let place =
        |of: usize, to: usize| of * switches + (if to < of { to } else { to - 1 }) % switches;
    for a in 0..groups {
        for b in a + 1..groups {
            plan.link(place(a, b), place(b, a));
        }
    }
    plan
}
