//! Faults of a network and their handling: each fault loses only the frames that it must, and after it everything drains.

use std::path::Path;

use weir_api::run::RunResult;
use weir_config::scenario::Scenario;
use weir_sim::scenario::{run, Options};

/// Three switches in a line, a host at each end, and one flow in each direction.
fn line(fault: &str, change: &str) -> RunResult {
    let text = format!(
        r#"
name = "line"
duration = "20ms"
[link-defaults]
rate = "1Gbit"
delay = "1us"
round-trip = "60us"
[topology]
kind = "line"
switches = 3
hosts = 1
[[class]]
name = "lossless"
priority = 3
mode = "pfc"
xoff = "30KiB"
xon = "24KiB"
headroom = "32KiB"
[deadlock]
detect = "1ms"
[[flow]]
name = "there"
from = "h1"
to = "h3"
class = "lossless"
[[flow]]
name = "back"
from = "h3"
to = "h1"
class = "lossless"
[expect]
dropped = 1000000
{fault}
"#
    );
    let changes = change
        .split_whitespace()
        .map(|change| change.parse().expect("a change"));
    let changes: Vec<_> = changes.collect();
    let scenario = Scenario::parse(&text, Path::new("line.toml"), &changes)
        .unwrap_or_else(|error| panic!("{error}"));
    run(&scenario, Options::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn lost(result: &RunResult) -> u64 {
    result.flows.iter().map(|flow| flow.lost).sum()
}

fn drop_of(result: &RunResult, reason: &str) -> u64 {
    result.drops.get(reason).copied().unwrap_or(0)
}

fn assert_drained(result: &RunResult) {
    for flow in &result.flows {
        assert_eq!((flow.in_flight, flow.reordered), (0, 0), "{flow:?}");
        assert_eq!(flow.sent, flow.received + flow.lost, "{flow:?}");
    }
}

#[test]
fn nothing_happens_without_a_fault() {
    for change in ["", "class.lossless.mode=level"] {
        let result = line("", change);
        assert_drained(&result);
        assert_eq!(lost(&result), 0);
        assert!(result.drops.is_empty(), "{:?}", result.drops);
        assert!(result
            .flows
            .iter()
            .all(|flow| flow.bits_per_second > 0.97e9));
    }
}

#[test]
fn a_link_that_goes_down_takes_what_is_on_it() {
    let fault = r#"
[[fault]]
kind = "link-down"
link = ["s1", "s2"]
at = "5ms"
for = "3ms"
"#;
    for change in ["", "class.lossless.mode=level"] {
        let result = line(fault, change);
        assert_drained(&result);
        let on_links = drop_of(&result, "lost_on_links");
        assert!(
            (1..10).contains(&on_links),
            "{on_links} frames on the two lines"
        );
        assert_eq!(lost(&result), result.drops.values().sum::<u64>());
        let longest = result.flows.iter().map(|flow| flow.longest_stall_seconds);
        assert!(longest.fold(0.0, f64::max) >= 0.003);
    }
}

#[test]
fn a_frozen_switch_goes_on_where_it_stood() {
    let fault = r#"
[[fault]]
kind = "switch-freeze"
switch = "s2"
at = "5ms"
for = "2ms"
"#;
    let result = line(fault, "");
    assert_drained(&result);
    assert!(result
        .flows
        .iter()
        .all(|flow| flow.longest_stall_seconds >= 0.002));
    // Frames that arrived meanwhile were in its rings; its buffers have no room for all of them.
    assert_eq!(lost(&result), drop_of(&result, "headroom_exceeded"));
    assert!(lost(&result) > 0);
}

#[test]
fn a_switch_that_restarts_loses_what_it_had() {
    let fault = r#"
[[fault]]
kind = "switch-restart"
switch = "s2"
at = "5ms"
for = "2ms"
"#;
    for change in ["", "class.lossless.mode=level"] {
        let result = line(fault, change);
        assert_drained(&result);
        assert_eq!(lost(&result), drop_of(&result, "lost_in_restarts"));
        // Both flows at line rate for 2 ms send 328 frames.
        assert!((300..420).contains(&lost(&result)), "{}", lost(&result));
    }
}

#[test]
fn a_storm_stops_its_switch_and_loses_nothing() {
    let fault = r#"
[[fault]]
kind = "host-storm"
host = "h3"
at = "5ms"
for = "4ms"
"#;
    let result = line(fault, "");
    assert_drained(&result);
    assert_eq!(lost(&result), 0);
    // The last pause has the maximum length: 33 ms at 1 Gbit/s.
    assert!(result.flows[0].longest_stall_seconds >= 0.004);
    assert!(result.flows[1].longest_stall_seconds < 0.001);
}

#[test]
fn a_host_that_ignores_pauses_loses_frames_of_its_own_alone() {
    let fault = r#"
[[host]]
name = "loud"
switch = "s1"
[[flow]]
name = "loud"
from = "loud"
to = "h3"
class = "lossless"
[[fault]]
kind = "host-ignores-pfc"
host = "loud"
at = "0s"
"#;
    let result = line(fault, "");
    assert_drained(&result);
    let of = |name: &str| {
        result
            .flows
            .iter()
            .find(|flow| flow.name == name)
            .map(|flow| flow.lost)
    };
    assert_eq!(of("there"), Some(0));
    assert_eq!(of("back"), Some(0));
    assert!(of("loud") > Some(100));
    assert_eq!(of("loud"), Some(drop_of(&result, "headroom_exceeded")));
}

#[test]
fn control_frames_that_are_disturbed_cost_no_frame_under_levels() {
    for kind in ["control-loss", "control-duplication", "control-corruption"] {
        let fault = format!(
            r#"
[[host]]
name = "more"
switch = "s2"
[[flow]]
name = "more"
from = "more"
to = "h3"
class = "lossless"
[[fault]]
kind = "{kind}"
probability = 0.05
at = "0s"
"#
        );
        let quiet = line(
            &fault.replace("0.05", "0.000000001"),
            "class.lossless.mode=level",
        );
        let result = line(&fault, "class.lossless.mode=level");
        assert_drained(&result);
        assert_eq!(lost(&result), 0, "{kind}: {:?}", result.drops);
        // Duplication changes nothing: a Feedback is a state, not a change.
        let changes = result.control_frames != quiet.control_frames || !result.drops.is_empty();
        assert_eq!(changes, kind != "control-duplication", "{kind}");
    }
}
