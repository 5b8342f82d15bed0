//! Tests the harness at rates that any machine reaches: Weir and the bare forwarder between two hosts. Needs root.

use std::time::Duration;

use weir_bench::cpu::Cpus;
use weir_bench::measure::tcp::TcpPlan;
use weir_bench::measure::trial::{Generator, Load, Traffic, Trials};
use weir_bench::measure::Effort;
use weir_bench::report;
use weir_bench::rounds::{Measured, Plan, FORMAT};
use weir_bench::stage::Stage;
use weir_bench::system::System;

/// Frames per second, low enough for a busy machine.
const RATE: f64 = 2_000.0;

/// Checks that every frame arrives once, in order, and with a timestamp, with either sender and any size.
fn nothing_is_lost(system: System) {
    let cpus = Cpus::of_this_machine().unwrap();
    let mut stage = Stage::build().unwrap_or_else(|error| panic!("{error:#}"));
    let mut switch = system
        .start(&stage.site, cpus)
        .unwrap_or_else(|error| panic!("{error:#}"));
    for (frame_bytes, flows) in [(64, 1), (1518, 16)] {
        let traffic = Traffic { frame_bytes, flows };
        let mut trials = Trials::new(&mut stage, switch.as_mut(), cpus, traffic);
        for by in [Generator::AfXdp, Generator::LiveFrames] {
            let load = Load {
                rate: Some(RATE),
                by,
                duration: Duration::from_millis(500),
            };
            let outcome = trials.run(load).unwrap_or_else(|error| panic!("{error:#}"));
            assert!(outcome.sent > 0);
            assert_eq!(outcome.lost(), 0, "{by:?}, {traffic:?}");
            assert_eq!(outcome.tally.bytes, outcome.sent * (frame_bytes as u64 - 4));
            assert_eq!((outcome.tally.reordered, outcome.tally.stale), (0, 0));
            assert_eq!(outcome.latency.count(), outcome.sent);
            assert!(outcome.latency.quantile_nanos(0.5) > Some(0));
            assert!(outcome.cpu.switch > 0, "the switch did it");
        }
    }
    assert!(switch.losses().unwrap().values().all(|count| *count == 0));
    switch.end().unwrap_or_else(|error| panic!("{error:#}"));
}

#[test]
fn the_bare_forwarder_loses_nothing_at_a_low_rate() {
    nothing_is_lost(System::Bare);
}

#[test]
fn weir_loses_nothing_at_a_low_rate() {
    nothing_is_lost(System::WeirPfc);
}

/// Two kernels communicate in both directions, with and without the express path.
#[test]
fn tcp_passes_both_ways() {
    let plan = TcpPlan {
        systems: vec![System::WeirLossy, System::WeirExpress],
        rounds: 1,
        seconds: 1,
    };
    let transfers = plan.run().unwrap_or_else(|error| panic!("{error:#}"));
    assert_eq!(transfers.len(), 4);
    for transfer in &transfers {
        assert!(transfer.gbit_per_second > 0.001, "{transfer:?}");
        assert!(
            transfer.machine_seconds_per_gbit > transfer.switch_seconds_per_gbit,
            "{transfer:?}"
        );
    }
    let table = report::tcp::text(&transfers);
    assert_eq!(table.lines().count(), 4, "{table}");
}

#[test]
fn what_was_measured_is_written_read_and_reported() {
    let plan = Plan {
        systems: vec![System::Bare, System::Bridge],
        frame_bytes: vec![64],
        flows: vec![1],
        effort: Effort {
            // Down to a 256th of the sender's rate: a busy machine loses frames at a quarter of it.
            steps: 8,
            search_trial_ms: 50,
            overload_trial_ms: 50,
            latency_trial_ms: 50,
            ..Effort::QUICK
        },
    };
    let measured = plan.run().unwrap_or_else(|error| panic!("{error:#}"));
    let text = serde_json::to_string(&measured).unwrap();
    let read: Measured = serde_json::from_str(&text).unwrap();
    assert_eq!((read.format, read.measurements.len()), (FORMAT, 2));
    for measurement in &read.measurements {
        assert!(measurement.fastest.sent > 0 && measurement.fastest.goodput > 0.0);
    }
    let table = report::text(&read);
    assert!(
        table.contains("### 64 B, 1 flow") && table.contains("| bridge |"),
        "{table}"
    );
    let rows = report::overview::overview(&read);
    assert!(report::svg(&rows).contains("rate without loss, by ovs"));
    // Both are compared with the forwarder of the same round, and the tables begin with that. If even it has no trial
    // without loss, there is no reference.
    let bare = read
        .measurements
        .iter()
        .find(|one| one.system == System::Bare.name())
        .unwrap();
    let itself = (bare.lossless.frames_per_second > 0.0).then_some(1.0);
    assert_eq!(rows[0].ranges[0].map(|range| range.middle), itself);
    let first = table.lines().next().unwrap();
    assert!(first.contains("rate without loss by `bare`"), "{table}");
}
