//! `[[fault]]` in the lab: real links, processes and frames are affected as the file specifies, for the specified time, and the
//! counters of switches and hosts show it.

use weir_api::daemon::Impairment;
use weir_api::run::RunResult;
use weir_tests::{inline_scenario, run_as_expected_and};

/// Two switches, a host at each, a flow in each direction.
fn run(expect: &str, faults: &str) -> RunResult {
    let text = format!(
        r#"
name = "faults"
duration = "3s"
[link-defaults]
rate = "25Mbit"
[topology]
kind = "line"
switches = 2
hosts = 1
[[class]]
name = "lossless"
priority = 3
mode = "pfc"
xoff = "30KiB"
xon = "24KiB"
headroom = "32KiB"
[deadlock]
policy = "off"
[[flow]]
name = "there"
from = "h1"
to = "h2"
class = "lossless"
rate = "6Mbit"
[[flow]]
name = "back"
from = "h2"
to = "h1"
class = "lossless"
rate = "6Mbit"
[expect]
reordered = {expect}
corrupted = 0
lost = 10000
dropped = 10000
{faults}
"#
    );
    let scenario = inline_scenario("faults.toml", &text);
    run_as_expected_and(&scenario, |stage| {
        // Faults end with the traffic.
        for switch in &stage.switches {
            assert!(!switch.is_silent(), "{}", switch.name);
            let known: Vec<Impairment> = switch.get("/v1/impairments").unwrap();
            assert_eq!(known, [], "{}", switch.name);
            let ports: Vec<weir_api::daemon::Port> = switch.get("/v1/ports").unwrap();
            assert!(ports.iter().all(|port| port.link_up), "{}", switch.name);
        }
    })
}

fn count(result: &RunResult, kind: &str) -> usize {
    let events = result.events.iter();
    events.filter(|event| event.kind == kind).count()
}

fn dropped(result: &RunResult, reason: &str) -> u64 {
    result.drops.get(reason).copied().unwrap_or(0)
}

/// Of 1500 frames each, some are dropped, delayed or marked for part of the time, and nothing else is lost.
#[test]
fn frames_are_impaired_by_filter_and_for_a_while() {
    let result = run(
        "10000",
        r#"
[[fault]]
kind = "drop"
switch = "s1"
port = "h1"
filter = "udp and dst port 9"
one-in = 4
at = "500ms"
for = "1s"
[[fault]]
kind = "drop"
switch = "s1"
port = "s2"
filter = "ether src 02:57:00:00:00:01"
[[fault]]
kind = "delay"
switch = "s2"
port = "h2"
by = "50ms"
one-in = 10
at = "1s"
for = "1s"
"#,
    );
    let [there, back] = &result.flows[..] else {
        panic!("two flows");
    };
    let impaired = dropped(&result, "impaired");
    // 500 frames arrive per second.
    assert!((60..=190).contains(&impaired), "{impaired}");
    assert_eq!((there.lost, back.lost), (impaired, 0));
    assert_eq!(result.drops.values().sum::<u64>(), impaired);
    assert!(back.reordered > 0 && there.reordered == 0, "{back:?}");
    assert_eq!(count(&result, "impairment_began"), 3);
    assert_eq!(count(&result, "impairment_ended"), 3);
}

#[test]
fn neighbours_are_paused_and_links_go_down_and_up() {
    let result = run(
        "0",
        r#"
[[fault]]
kind = "pause"
switch = "s1"
port = "h1"
priority = 3
on = "20ms"
every = "100ms"
for = "1s"
[[fault]]
kind = "flap"
switch = "s2"
port = "h2"
on = "50ms"
every = "500ms"
at = "1s"
for = "1s"
[[fault]]
kind = "link-down"
link = ["s1", "s2"]
at = "2s"
for = "500ms"
"#,
    );
    let buffers = result.buffers.iter();
    let mut buffers = buffers.filter(|buffer| (&*buffer.switch, &*buffer.port) == ("s1", "h1"));
    let paused = buffers.find(|buffer| buffer.priority == 3).unwrap();
    assert!(paused.pauses >= 5, "{paused:?}");
    // One switch notices a flap, both notice a device that goes down. A flap is over before a process without a
    // processor looks.
    let downs = |switch: &str, port: &str| {
        let events = result.events.iter();
        let events = events.filter(|event| event.kind == "link_down" && event.switch == switch);
        events
            .filter(|event| event.port.as_deref() == Some(port))
            .count()
    };
    assert!(downs("s2", "h2") >= 1, "{:?}", result.events);
    assert_eq!((downs("s1", "s2"), downs("s2", "s1")), (1, 1));
    assert_eq!(downs("s1", "h1"), 0);
    assert!(
        result.flows.iter().all(|flow| flow.received > 500),
        "{:?}",
        result.flows
    );
}

#[test]
fn switches_are_killed_and_stand_still_and_hosts_misbehave() {
    let result = run(
        "0",
        r#"
[[fault]]
kind = "switch-freeze"
switch = "s1"
at = "300ms"
for = "100ms"
[[fault]]
kind = "switch-restart"
switch = "s2"
at = "800ms"
for = "200ms"
[[fault]]
kind = "host-storm"
host = "h1"
at = "2500ms"
for = "200ms"
[[fault]]
kind = "control-loss"
probability = 0.5
"#,
    );
    // The killed switch is restarted, and its frames are lost.
    let started = result.events.iter().filter(|event| event.switch == "s2");
    assert!(started.clone().count() > 0);
    assert!(
        result.flows.iter().all(|flow| flow.lost > 0),
        "{:?}",
        result.flows
    );
    assert!(
        result.flows.iter().all(|flow| flow.received > 300),
        "{:?}",
        result.flows
    );
    // h1 pauses s1: the reverse flow stops until the last pause has expired, 1.3 s at 25 Mbit/s.
    let back = &result.flows[1];
    assert!(back.longest_stall_seconds >= 0.2, "{back:?}");
}
