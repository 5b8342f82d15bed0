//! The flight recorder in a ring that locks and is released: every switch has a record of it.

use weir_api::daemon::{Deadlocks, FlightRecord, Master};
use weir_lab::lab::switches::SwitchProcess;
use weir_tests::{run_as_expected_and, scenario, until, LOSSLESS};

/// Time recorded after a suspicion.
const AFTER_SECONDS: f64 = 1.0;

#[test]
fn every_switch_of_a_ring_has_the_whole_story() {
    let scenario = scenario("ring4.toml", &["duration=3s", "deadlock.policy=breaker"]);
    let mut leaders = 0;
    let result = run_as_expected_and(&scenario, |stage| {
        for switch in &stage.switches {
            leaders += check(switch);
        }
    });
    assert!(result.suspected_peak >= 4, "the ring never locked");
    assert!(leaders > 0, "somebody found the loop");
}

#[test]
fn the_record_of_a_master_lists_the_flows_moved() {
    let overrides = ["duration=3s", "deadlock.policy=loop-breaker"];
    let scenario = scenario("ring4-hub.toml", &overrides);
    let mut told = 0;
    let result = run_as_expected_and(&scenario, |stage| {
        for switch in &stage.switches {
            let deadlocks: Deadlocks = switch.get("/v1/deadlocks").unwrap();
            for past in deadlocks.past.iter().filter(|past| past.flows_moved > 0) {
                assert_eq!(past.master, Some(Master::ThisSwitch), "{past:?}");
                assert!(past.forced_bytes > 0, "{past:?}");
                let record = until("the record is complete", || complete(switch, past.id));
                let moved = record
                    .events
                    .iter()
                    .find(|event| event.kind == "flow_moved");
                let moved = moved.expect("the move stands in the record");
                assert_eq!(moved.port.as_deref(), Some(past.port.as_str()));
                assert_eq!(moved.details["to"], "s5");
                told += past.flows_moved;
            }
        }
    });
    assert_eq!(told, result.flows_moved);
}

fn check(switch: &SwitchProcess) -> usize {
    let name = &switch.name;
    let deadlocks = until("all has drained, so that nothing is suspected", || {
        let deadlocks: Deadlocks = switch.get("/v1/deadlocks").unwrap();
        deadlocks.current.is_empty().then_some(deadlocks)
    });
    let recorded: Vec<u64> = deadlocks
        .past
        .iter()
        .filter(|past| past.recorded)
        .map(|past| past.id)
        .collect();
    let records: Vec<FlightRecord> = recorded
        .iter()
        .map(|id| until("the record is complete", || complete(switch, *id)))
        .collect();
    let whole = records.iter().filter(|record| is_whole(record)).count();
    assert!(
        whole > 0,
        "{name}: {} records, none of them whole",
        records.len()
    );
    records
        .iter()
        .filter(|record| record.deadlock.master == Some(Master::ThisSwitch))
        .count()
}

fn complete(switch: &SwitchProcess, id: u64) -> Option<FlightRecord> {
    let record: FlightRecord = switch.get(&format!("/v1/deadlocks/{id}")).unwrap();
    record.complete.then_some(record)
}

/// Checks that a record begins before its suspicion and ends after it; returns true for one that was released, with messages
/// sent and seen.
fn is_whole(record: &FlightRecord) -> bool {
    let deadlock = &record.deadlock;
    let told = format!("{} {deadlock:?}", record.switch);
    let began = deadlock.began_monotonic_nanos;
    let lasted = deadlock.lasted_seconds.unwrap();
    let since = |nanos: u64| (nanos as f64 - began as f64) / 1e9;
    let first = record.samples.first().expect(&told);
    let last = record.samples.last().expect(&told);
    assert!(
        since(first.monotonic_nanos) < -deadlock.idle_seconds,
        "{told}"
    );
    assert!(
        since(last.monotonic_nanos) >= lasted + AFTER_SECONDS - 1e-6,
        "{told}"
    );
    assert!(record
        .samples
        .is_sorted_by_key(|sample| sample.monotonic_nanos));
    assert_eq!(deadlock.priority, LOSSLESS, "{told}");
    assert!(record.ports.iter().any(|port| port.name == deadlock.port));
    let has = |kind: &str| record.events.iter().any(|event| event.kind == kind);
    assert!(
        has("suspected") && has("suspicion_ended") && has("clcm_sent"),
        "{told}"
    );
    // The neighbour's pause is visible at the suspected port, with frames behind it.
    let index = record
        .ports
        .iter()
        .position(|port| port.name == deadlock.port)
        .expect(&told);
    let stood_still = record.samples.iter().any(|sample| {
        let port = &sample.ports[index];
        port.paused && port.egress_bytes > 0 && since(sample.monotonic_nanos) <= 0.0
    });
    assert!(
        stood_still,
        "{told}: paused with frames waiting, before the suspicion"
    );
    let released = record.events.iter().any(|event| {
        event.kind == "release_started" && event.port.as_deref() == Some(&deadlock.port)
    });
    released && has("clcm_received") && deadlock.first_release_seconds.is_some()
}
