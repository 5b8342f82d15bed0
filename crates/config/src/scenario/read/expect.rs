//! `[expect]`.

use weir_core::control::Policy;
use weir_core::ClassMode;

use super::keys;
use crate::reader::{within, Table};
use crate::scenario::{Expect, Scenario};
use crate::switch::Class;

/// Tables of `[expect]` for a single case; they have all its other keys.
const CASES: [&str; 8] = [
    "off",
    "breaker",
    "loop-breaker",
    "auto",
    "watchdog",
    "lifetime",
    "level",
    "mixed",
];

/// The applicable part of `[expect]`, by the classes of flows and applications.
pub(super) fn expected_case(
    classes: &[Class],
    mut used: impl Iterator<Item = usize>,
    is_mixed: bool,
    policy: Policy,
) -> &'static str {
    let has_levels = |class: usize| matches!(classes[class].mode, ClassMode::Level { .. });
    match policy {
        _ if is_mixed => "mixed",
        _ if used.any(has_levels) => "level",
        _ => policy.name(),
    }
}

/// `[expect]`, overridden by its table for `case`.
pub(super) fn expect(root: &Table<'_>, case: &str) -> Expect {
    let Some(table) = root.table("expect", keys("expect")) else {
        return Expect::default();
    };
    let mut expect = Expect::default();
    read_expect(&table, &mut expect);
    let keys = keys("expect").iter().copied();
    let keys: Vec<&str> = keys.filter(|key| !CASES.contains(key)).collect();
    for name in CASES {
        if let Some(table) = table.table(name, &keys) {
            let mut special = expect.clone();
            read_expect(&table, &mut special);
            if name == case {
                expect = special;
            }
        }
    }
    expect
}

/// Compares `credit-loop` with the routes.
pub(super) fn check_credit_loop(root: &Table<'_>, scenario: &Scenario, case: &str) {
    let Some(expected) = scenario.expect.credit_loop else {
        return;
    };
    let message = match (expected, scenario.first_credit_loop()) {
        (true, None) => "the routes of the flows form no credit loop".to_owned(),
        (false, Some(first)) => format!(
            "the routes of the flows form the credit loop {} in priority {}",
            scenario.credit_loop_text(&first),
            first.priority.get()
        ),
        _ => return,
    };
    let Some(table) = root.table("expect", keys("expect")) else {
        return;
    };
    let special = table.table(case, keys("expect"));
    special
        .filter(|special| special.has("credit-loop"))
        .unwrap_or(table)
        .complain("credit-loop", message);
}

fn read_expect(table: &Table<'_>, expect: &mut Expect) {
    const COUNT_MAX: u64 = i64::MAX as u64;
    let count = |key: &str, known: Option<u64>| within(table, key, 0, COUNT_MAX).or(known);
    expect.deadlock = table.get("deadlock").or(expect.deadlock);
    expect.credit_loop = table.get("credit-loop").or(expect.credit_loop);
    expect.progress = table.get("progress").or(expect.progress);
    expect.suspected = count("suspected", expect.suspected);
    expect.suspected_at_least = count("suspected-at-least", expect.suspected_at_least);
    expect.lost = count("lost", expect.lost);
    expect.reordered = count("reordered", expect.reordered);
    expect.corrupted = count("corrupted", expect.corrupted);
    expect.dropped = count("dropped", expect.dropped);
    expect.retransmitted = count("retransmitted", expect.retransmitted);
    expect.first_release_within = table
        .get("first-release-within")
        .or(expect.first_release_within);
}
