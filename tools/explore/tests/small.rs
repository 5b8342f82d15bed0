//! Every small case, with its expected result.

use weir_explore::cases::{self, Case, Size};
use weir_explore::explore::{explore, Outcome};

const MOST: usize = 3_000_000;

fn case(name: &str) -> Case {
    let found = cases::all().into_iter().find(|case| case.name == name);
    found.unwrap_or_else(|| panic!("no case {name}"))
}

fn check(name: &str) -> Outcome {
    let case = case(name);
    let outcome = explore(&case, MOST).unwrap();
    let story = outcome.story.join("\n");
    assert_eq!(outcome.verdict, case.expected, "{name}:\n{story}");
    outcome
}

/// One test per case, so that they run in parallel.
macro_rules! cases {
    ($($test:ident = $name:literal),* $(,)?) => {
        $(#[test]
        fn $test() {
            check($name);
        })*

        #[test]
        fn every_small_case_is_here() {
            let here = [$($name,)* "pfc-ring", "breaker"];
            for case in cases::all().iter().filter(|case| case.size == Size::Small) {
                assert!(here.contains(&case.name), "{}", case.name);
            }
        }
    };
}

cases! {
    pfc_ring_2 = "pfc-ring-2",
    pfc_pair = "pfc-pair",
    pfc_refresh = "pfc-refresh",
    pfc_repeated = "pfc-repeated",
    pfc_lost = "pfc-lost",
    fault_refresh = "fault-refresh",
    fault_headroom = "fault-headroom",
    levels_line = "levels-line",
    levels_line_2 = "levels-line-2",
    levels_busy_line = "levels-busy-line",
    levels_lost = "levels-lost",
    fault_reserve = "fault-reserve",
    levels_ring_2 = "levels-ring-2",
    fault_release = "fault-release",
}

/// Six frames suffice, two per switch: one in the buffer of the ring port, one from the host, each waiting for the next
/// switch.
#[test]
fn the_shortest_way_into_the_deadlock_of_the_ring() {
    let outcome = check("pfc-ring");
    let hosts = outcome
        .story
        .iter()
        .filter(|line| line.contains("the host at"));
    assert_eq!(hosts.count(), 6);
    let arrivals = outcome
        .story
        .iter()
        .filter(|line| line.contains("receives XOFF"));
    assert_eq!(arrivals.count(), 3);
    assert!(outcome.locked > 0 && outcome.without_way_out >= outcome.locked);
}

#[test]
fn the_breaker_leaves_every_lock_before_the_horizon() {
    let outcome = check("breaker");
    let horizon = case("breaker").plan.horizon;
    assert!(outcome.starts > 1);
    assert!(outcome.ticks.unwrap() > 0 && outcome.ticks < horizon);
    assert_eq!((outcome.locked, outcome.without_way_out), (0, 0));
}

#[test]
fn a_search_over_its_limit_is_unfinished() {
    let outcome = explore(&case("pfc-ring"), 100).unwrap();
    assert_eq!(outcome.verdict, weir_explore::cases::Verdict::Unfinished);
}
