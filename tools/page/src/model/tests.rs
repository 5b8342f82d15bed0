//! Tests with answers of whole fabrics.

use serde_json::{json, Value};
use weir_api::overview::Overview;

use super::fabric::{Fabric, Now};
use super::state::{Condition, State};
use super::switch::{Answer, Trouble};

const SECOND: i64 = 1_000_000_000;
/// Answer of switch s1 of `scenarios/ring4.toml`.
const RECORDED: &str = include_str!("../../tests/data/overview.json");

/// Returns an overview at a time on the switch's clock: links to others named like their ports, and the paused ports.
fn overview(name: &str, at: u64, neighbours: &[&str], change: impl FnOnce(&mut Value)) -> Overview {
    let mut overview: Value = serde_json::from_str(RECORDED).unwrap();
    overview["monotonic_nanos"] = json!(at);
    overview["status"]["name"] = json!(name);
    overview["status"]["health"] = json!({"verdict": "ok", "reasons": []});
    overview["deadlocks"] = json!({"current": [], "past": []});
    let (port, pfc) = (overview["ports"][0].clone(), overview["pfc"][0].clone());
    let with = |mut value: Value, key: &str, name: &str| {
        value[key] = json!(name);
        value
    };
    overview["ports"] = neighbours
        .iter()
        .map(|name| with(port.clone(), "name", name))
        .collect();
    overview["pfc"] = neighbours
        .iter()
        .map(|name| {
            let mut pfc = with(pfc.clone(), "port", name);
            for what in ["pausing", "paused", "suspected"] {
                pfc[what] = json!(false);
            }
            pfc["release_ingress"] = json!(null);
            pfc["paused_seconds_total"] = json!(0.0);
            pfc
        })
        .collect();
    overview["neighbors"] = neighbours
        .iter()
        .map(|name| ((*name).to_owned(), json!(name)))
        .collect::<serde_json::Map<_, _>>()
        .into();
    change(&mut overview);
    serde_json::from_value(overview).unwrap()
}

fn held(by: &str, suspected: bool) -> impl Fn(&mut Value) + '_ {
    move |overview| {
        let queue = overview["pfc"]
            .as_array_mut()
            .unwrap()
            .iter_mut()
            .find(|one| one["port"] == by)
            .unwrap();
        queue["paused"] = json!(true);
        queue["suspected"] = json!(suspected);
        if suspected {
            let began = overview["monotonic_nanos"].as_u64().unwrap() - 500_000_000;
            overview["deadlocks"]["current"] = json!([{
                "id": 1, "port": by, "priority": 3, "reason": "pause", "began_monotonic_nanos": began,
                "idle_seconds": 0.1, "queued_bytes": 1, "loops_found": 0, "releases": 0,
            }]);
        }
    }
}

/// Records an answer that arrived at local time `now`, within a millisecond.
fn take(fabric: &mut Fabric, name: &str, now: i64, overview: Overview) {
    let clock = Some(overview.monotonic_nanos);
    let answer = Answer {
        overview,
        sent: now - 1_000_000,
        received: now,
        clock,
        is_here: false,
    };
    fabric.switch(name).unwrap().take(answer);
}

fn at(monotonic: i64) -> Now {
    Now {
        monotonic,
        unix: 1_800_000_000 * SECOND + monotonic,
        interval: 1.0,
        left_out: 0,
        written: |unix| unix.to_string(),
    }
}

/// Builds a ring whose clocks are ten, twenty and thirty seconds behind the local one, at local second 100.
fn ring(fabric: &mut Fabric, suspected: bool) -> State {
    let names = ["s1", "s2", "s3"];
    for (index, name) in names.iter().enumerate() {
        let neighbours = [names[(index + 1) % 3], names[(index + 2) % 3]];
        let theirs = (100 - 10 * (index as u64 + 1)) * SECOND as u64;
        take(
            fabric,
            name,
            100 * SECOND,
            overview(
                name,
                theirs,
                &neighbours,
                held(neighbours[0], suspected && index == 1),
            ),
        );
    }
    fabric.state(&at(100 * SECOND))
}

#[test]
fn a_circle_of_pauses_is_a_deadlock_once_a_port_of_it_is_suspected() {
    let mut fabric = Fabric::default();
    let state = ring(&mut fabric, false);
    assert_eq!(
        (state.condition, state.layout.as_str()),
        (Condition::Well, "a ring")
    );
    assert_eq!(state.loops.len(), 1);
    assert!(!state.loops[0].suspected);
    assert_eq!(state.counts.held, 3);
    let state = ring(&mut fabric, true);
    assert_eq!(state.condition, Condition::Locked);
    assert_eq!(
        state.verdict,
        "Deadlock: s1 waits for s2, s2 for s3, s3 for s1, in priority 3."
    );
    assert_eq!(state.switches[1].condition, Condition::Locked);
    assert!(state.pauses.iter().all(|pause| pause.in_loop));
}

#[test]
fn suspicions_are_converted_to_our_clock() {
    let mut fabric = Fabric::default();
    let state = ring(&mut fabric, true);
    let incident = &state.incidents[0];
    assert!(incident.lasts && incident.switches == 1);
    // Half a second before second 80 of its clock, which was local second 100 within a millisecond.
    let began = (1_800_000_000 + 100) as f64 - 0.5;
    let lane = &incident.lanes[0];
    assert!(
        (incident.began_unix_seconds - began).abs() <= lane.uncertainty_seconds + 1e-6,
        "{incident:?}"
    );
    assert!(lane.uncertainty_seconds < 0.001);
    let clock = state.switches[1].clock.unwrap();
    assert!(!clock.is_ours && (clock.offset_seconds - 20.0).abs() <= clock.uncertainty_seconds);
}

#[test]
fn who_is_gone_keeps_its_place_and_its_links_and_holds_nobody() {
    let mut fabric = Fabric::default();
    let before = ring(&mut fabric, true);
    for name in ["s2", "s3"] {
        let trouble = Trouble {
            what: "no connection".into(),
            remedy: "start it".into(),
        };
        fabric.switch(name).unwrap().fail(trouble);
    }
    let after = fabric.state(&at(101 * SECOND));
    assert_eq!(after.switches[1].condition, Condition::Unreachable);
    assert_eq!(after.switches[1].reasons, ["start it"]);
    let places = |state: &State| {
        state
            .switches
            .iter()
            .map(|one| (one.x, one.y))
            .collect::<Vec<_>>()
    };
    assert_eq!(places(&after), places(&before));
    assert_eq!(after.links.len(), 3);
    assert_eq!(after.loops, []);
    assert!(after.pauses.iter().all(|pause| pause.held_name == "s1"));
    // Its suspicion is shown until the last report, and no longer lasts.
    let lane = &after.incidents[0].lanes[0];
    assert!(!lane.lasts && lane.end_unknown);
    assert!(
        (lane.to_seconds - lane.from_seconds - 0.5).abs() < 0.01,
        "{lane:?}"
    );
}

#[test]
fn a_suspicion_that_has_ended_and_a_daemon_that_began_again_are_told_apart() {
    let mut fabric = Fabric::default();
    ring(&mut fabric, true);
    let past = |overview: &mut Value| {
        overview["deadlocks"]["past"] = json!([{
            "id": 1, "port": "s3", "priority": 3, "reason": "pause", "began_monotonic_nanos": 79_500_000_000_u64,
            "idle_seconds": 0.1, "queued_bytes": 1, "loops_found": 1, "releases": 1, "first_release_seconds": 0.2, "lasted_seconds": 0.7,
        }]);
    };
    take(
        &mut fabric,
        "s2",
        101 * SECOND,
        overview("s2", 81 * SECOND as u64, &["s1", "s3"], past),
    );
    let state = fabric.state(&at(101 * SECOND));
    assert_eq!(state.condition, Condition::Recovering);
    let lane = &state.incidents[0].lanes[0];
    assert_eq!(state.incidents[0].lanes.len(), 1, "the same suspicion");
    assert!(!lane.lasts && !lane.end_unknown && lane.released_seconds.is_some());
    assert!((lane.to_seconds - lane.from_seconds - 0.7).abs() < 1e-6);
    // The next daemon of the same machine reports no suspicion; the earlier one stays.
    take(
        &mut fabric,
        "s2",
        150 * SECOND,
        overview("s2", 130 * SECOND as u64, &["s1", "s3"], |_| ()),
    );
    let state = fabric.state(&at(150 * SECOND));
    assert_eq!(state.incidents.len(), 1);
    assert_eq!(state.condition, Condition::Well);
}

#[test]
fn the_part_of_the_time_is_by_the_switchs_own_clock() {
    let mut fabric = Fabric::default();
    let with = |total: f64| {
        move |overview: &mut Value| overview["pfc"][0]["paused_seconds_total"] = json!(total)
    };
    take(
        &mut fabric,
        "s1",
        10 * SECOND,
        overview("s1", 10 * SECOND as u64, &["s2"], with(5.0)),
    );
    take(
        &mut fabric,
        "s1",
        13 * SECOND,
        overview("s1", 12 * SECOND as u64, &["s2"], with(5.5)),
    );
    let pause = &fabric.state(&at(13 * SECOND)).pauses[0];
    assert_eq!((pause.now, pause.share), (false, Some(0.25)));
    assert_eq!(
        (pause.held, pause.by, pause.by_name.as_str()),
        (Some(0), None, "s2")
    );
    // A smaller total belongs to another daemon.
    take(
        &mut fabric,
        "s1",
        14 * SECOND,
        overview("s1", 13 * SECOND as u64, &["s2"], with(0.0)),
    );
    assert_eq!(fabric.state(&at(14 * SECOND)).pauses, []);
}

#[test]
fn a_fabric_has_a_bound() {
    let mut fabric = Fabric::default();
    let taken = (0..1_000)
        .filter(|number| fabric.switch(&format!("s{number}")).is_some())
        .count();
    assert_eq!(taken, super::fabric::SWITCHES_MAX);
    assert_eq!(fabric.state(&at(0)).condition, Condition::Waiting);
}

#[test]
fn names_that_are_too_long_and_numbers_that_are_none_are_cut() {
    let mut fabric = Fabric::default();
    let long = "x".repeat(100_000);
    let change = |overview: &mut Value| {
        overview["deadlocks"]["current"] = json!([{
            "id": 1, "port": long, "priority": 3, "reason": long, "began_monotonic_nanos": u64::MAX,
            "idle_seconds": 1e300, "queued_bytes": 1, "loops_found": 0, "releases": 0, "lasted_seconds": -1e300,
        }]);
        overview["status"]["health"]["reasons"] = json!(vec![
            json!({"kind": "x", "verdict": "y", "count": 1, "text": long});
            50
        ]);
    };
    take(
        &mut fabric,
        "s1",
        10 * SECOND,
        overview(&long, u64::MAX, &[&long], change),
    );
    let text = serde_json::to_string(&fabric.state(&at(10 * SECOND))).unwrap();
    assert!(text.len() < 10_000, "{}", text.len());
}
