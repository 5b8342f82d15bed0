use std::path::Path;

use weir_api::daemon::{Impair, ImpairRequest};
use weir_config::scenario::Scenario;
use weir_core::{Duration, MacAddress};

use super::plan::{plan, storm_interval, Act, Plan};
use super::*;

const RING: &str = r#"
name = "x"
duration = "4s"
[topology]
kind = "ring"
switches = 4
[[class]]
name = "lossless"
priority = 3
mode = "pfc"
xoff = "30KiB"
xon = "20KiB"
headroom = "30KiB"
[[flow]]
name = "a"
from = "h1"
to = "h2"
class = "lossless"
"#;

fn scenario(faults: &str) -> Scenario {
    let text = format!("{RING}{faults}");
    Scenario::parse(&text, Path::new("x.toml"), &[]).unwrap_or_else(|error| panic!("{error}"))
}

fn planned(faults: &str) -> Plan {
    plan(&scenario(faults)).unwrap_or_else(|gaps| panic!("{gaps:?}"))
}

fn acts(plan: Plan) -> Vec<(u64, Act)> {
    let steps = plan.steps.into_iter();
    steps
        .map(|step| (step.at.as_nanos() / 1_000_000, step.act))
        .collect()
}

#[test]
fn links_and_processes_begin_and_end_in_the_order_of_time() {
    let faults = r#"
[[fault]]
kind = "switch-restart"
switch = "s3"
at = "1s"
[[fault]]
kind = "link-down"
link = ["s2", "s1"]
at = "500ms"
for = "100ms"
every = "2s"
[[fault]]
kind = "switch-freeze"
switch = "s2"
at = "3s"
"#;
    let link = |up| Act::Link { link: 0, up };
    let freeze = |frozen| Act::Freeze { switch: 1, frozen };
    assert_eq!(
        acts(planned(faults)),
        [
            (500, link(false)),
            (600, link(true)),
            (1000, Act::Stop { switch: 2 }),
            (1000, Act::Start { switch: 2 }),
            (2500, link(false)),
            (2600, link(true)),
            (3000, freeze(true)),
            (4000, freeze(false)),
        ]
    );
}

#[test]
fn impairments_are_those_of_switchctl() {
    let faults = r#"
[[fault]]
kind = "delay"
switch = "s1"
port = "h1"
by = "2ms"
filter = "udp"
one-in = 10
at = "1s"
for = "2s"
[[fault]]
kind = "pause"
switch = "s1"
port = "s4"
priority = 3
on = "1ms"
every = "10ms"
at = "2s"
[[fault]]
kind = "control-loss"
probability = 0.25
link = ["s1", "s2"]
at = "3s"
"#;
    let loss = |port: &str| ImpairRequest {
        port: port.to_owned(),
        filter: "control".to_owned(),
        one_in: Some(4),
        seconds: 1.0,
        ..ImpairRequest::default()
    };
    let delay = ImpairRequest {
        what: Impair::Delay,
        port: "h1".to_owned(),
        filter: "udp".to_owned(),
        one_in: Some(10),
        delay_seconds: Some(0.002),
        seconds: 2.0,
        ..ImpairRequest::default()
    };
    let pause = ImpairRequest {
        what: Impair::Pause,
        port: "s4".to_owned(),
        priority: Some(3),
        on_seconds: Some(0.001),
        period_seconds: Some(0.01),
        seconds: 2.0,
        ..ImpairRequest::default()
    };
    let impair = |switch, request| Act::Impair { switch, request };
    assert_eq!(
        acts(planned(faults)),
        [
            (1000, impair(0, delay)),
            (2000, impair(0, pause)),
            (3000, impair(0, loss("s2"))),
            (3000, impair(1, loss("s1"))),
        ]
    );
}

#[test]
fn routes_round_trips_and_hosts() {
    let faults = r#"
[[fault]]
kind = "round-trip"
round-trip = "1ms"
link = ["s1", "s2"]
[[fault]]
kind = "route-change"
switch = "s1"
to = "h2"
ports = ["s4"]
at = "1s"
[[fault]]
kind = "host-ignores-pfc"
host = "h1"
at = "2s"
for = "1s"
[[fault]]
kind = "host-storm"
host = "h2"
at = "3s"
"#;
    let plan = planned(faults);
    let t = Duration::from_millis(1);
    assert_eq!(plan.round_trips, [(0, 1, t), (1, 0, t)]);
    let route = Act::Route {
        switch: 0,
        destination: MacAddress([2, 0x57, 0, 0, 0, 2]),
        ports: vec!["s4".to_owned()],
    };
    let obey = |obeys| Act::Obey { host: 0, obeys };
    let storm = |storms| Act::Storm { host: 1, storms };
    assert_eq!(
        acts(plan),
        [
            (1000, route),
            (2000, obey(false)),
            (3000, obey(true)),
            (3000, storm(true)),
            (4000, storm(false)),
        ]
    );
    // 65535 quanta of 512 bits at 100 Mbit/s are 335.5 ms.
    assert_eq!(storm_interval(&scenario("")).as_nanos() / 1_000_000, 167);
}

#[test]
fn what_the_lab_cannot_do_is_refused_with_name_line_and_remedy() {
    let impair = "kind = \"drop\"\nswitch = \"s1\"\nport = \"h1\"\n";
    let flap = "kind = \"flap\"\nswitch = \"s1\"\nport = \"s2\"\non = \"10ms\"\nevery = \"20ms\"\n";
    for (fault, kind, said) in [
        (
            "kind = \"control-corruption\"\nprobability = 0.1",
            "control-corruption",
            "use `control-loss` or `drop`, or the simulator",
        ),
        (
            "kind = \"control-duplication\"\nprobability = 0.1",
            "control-duplication",
            "neither damage frames nor send them twice",
        ),
        (
            "kind = \"slow-control\"\nlatency = \"1ms\"",
            "slow-control",
            "use `switch-freeze`",
        ),
        (
            "kind = \"control-loss\"\nprobability = 0.4",
            "control-loss",
            "set it to 1/N, such as 0.3333",
        ),
        (
            "kind = \"link-down\"\nlink = [\"s1\", \"s2\"]\nfor = \"1ms\"",
            "link-down",
            "shortest action takes 10 ms",
        ),
        (
            &format!("{impair}for = \"100us\""),
            "drop",
            "is impaired for 0.001 s to 3600 s",
        ),
        (
            "kind = \"delay\"\nswitch = \"s1\"\nport = \"h1\"\nby = \"11s\"",
            "delay",
            "by 1 us to 10 s",
        ),
        (
            "kind = \"pause\"\nswitch = \"s1\"\nport = \"h1\"\npriority = 3\non = \"1ms\"\nevery = \"1500us\"",
            "pause",
            "need 0.001 s for each",
        ),
        (
            &format!("{flap}[[fault]]\n{flap}"),
            "flap",
            "another fault does that to port s2 of s1",
        ),
        (
            &[impair; 9].join("[[fault]]\n"),
            "drop",
            "s1 would have more than 8 impairments",
        ),
        (
            "kind = \"link-down\"\nlink = [\"s1\", \"s2\"]\nfor = \"10ms\"\nevery = \"11ms\"",
            "",
            "",
        ),
    ] {
        let scenario = scenario(&format!("[[fault]]\n{fault}\n"));
        let outcome = Faults::new(&scenario);
        if said.is_empty() {
            assert!(outcome.is_ok(), "{fault}");
            continue;
        }
        let gaps = outcome.expect_err(fault).join("\n");
        // The last of several faults is the invalid one.
        let text = format!("{RING}[[fault]]\n{fault}\n");
        let before = text.rfind("[[fault]]").map_or("", |at| &text[..at]);
        let line = before.lines().count() + 1;
        assert!(gaps.contains(&format!("(line {line})")), "{gaps}");
        assert!(gaps.contains(&format!("`{kind}`: ")), "{gaps}");
        assert!(gaps.contains(said), "{gaps}");
    }
}

#[test]
fn two_faults_that_overlap_end_with_the_later_one() {
    let mut count = 0;
    assert!(moves(&mut count, true));
    assert!(!moves(&mut count, true));
    assert!(!moves(&mut count, false));
    assert!(moves(&mut count, false));
    assert!(!moves(&mut count, false), "what has not begun does not end");
}
