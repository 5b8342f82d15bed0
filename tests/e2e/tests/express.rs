//! Ports on the express path: hosts with an ordinary kernel, and rings of lossless traffic besides.

use weir_api::audit::Audit;
use weir_api::daemon::Port;
use weir_api::run::RunResult;
use weir_api::words::Express as State;
use weir_config::daemon::Express;
use weir_lab::lab::run::Options;
use weir_lab::lab::stage::Stage;
use weir_tests::iperf::received_bytes;
use weir_tests::{assert_delivered, run_with, scenario, until, Bench, PATIENT_DETECTION};

const HOSTS: [&str; 2] = ["h1", "h2"];

fn bench() -> Bench {
    let bench = Bench::of(
        "one-switch.toml",
        &["link-defaults.rate=10Gbit"],
        |config| {
            config.dataplane.express = Express::On;
        },
    );
    bench.give_addresses();
    let addresses = HOSTS.map(|host| {
        let device = bench.host_device();
        let shown = bench.output(host, &["ip", "-br", "link", "show", device]);
        let mut words = shown.split_whitespace();
        words.nth(2).expect("an address").to_owned()
    });
    for (number, host) in (1..).zip(HOSTS) {
        let device = bench.host_device();
        bench.output(host, &["ethtool", "-K", device, "gro", "on"]);
        let other = format!("10.99.0.{}", 3 - number);
        let address = &addresses[2 - number];
        let add = [
            "ip", "neigh", "replace", &other, "lladdr", address, "dev", device,
        ];
        bench.output(host, &add);
    }
    for host in HOSTS {
        until("the port uses the path", || {
            (bench.port(host).express == State::Open).then_some(())
        });
    }
    bench
}

fn balance(bench: &Bench) -> Audit {
    bench.switch.get("/v1/audit").unwrap()
}

/// TCP and UDP in both directions: real stacks accept frames from the path, and every frame is accounted for.
#[test]
fn hosts_with_a_kernel_talk_over_it() {
    let bench = bench();
    let mut server = bench.start("h2", &["iperf3", "--server", "--forceflush"]);
    for options in [
        &["--time", "2"][..],
        &["--time", "2", "--reverse"],
        &["--time", "2", "--parallel", "4"],
        &["--time", "2", "--udp", "--bitrate", "20M"],
    ] {
        let before = bench.port("h2").express_tx_frames_total;
        let received = until("the server answers", || {
            server.check().unwrap_or_else(|error| panic!("{error:#}"));
            received_bytes(&bench, "10.99.0.2", options)
        });
        assert!(received > 100_000, "{options:?}: {received} B");
        let after = bench.port("h2").express_tx_frames_total;
        assert!(after > before, "{options:?}: none took the path");
    }
    drop(server);
    // A kernel also sends by itself, so ports that are read one after the other may differ by a frame under way.
    let mut last = String::new();
    let agree = || {
        let ports = HOSTS.map(|host| bench.port(host));
        let sum = |of: fn(&Port) -> u64| ports.iter().map(of).sum::<u64>();
        let came = sum(|port| port.express_rx_frames_total);
        let went = sum(|port| port.express_tx_frames_total);
        let verdicts = sum(|port| port.xdp_verdicts_total["express"]);
        let received = sum(|port| port.rx_frames_total);
        let sent = sum(|port| port.tx_frames_total);
        let now = format!("express {came} {went} {verdicts}, all {received} {sent}");
        if now != last {
            eprintln!("{now}");
            last = now;
        }
        (came == went && came == verdicts && received == sent).then_some(())
    };
    until("each frame that came has left", agree);
    assert_eq!(balance(&bench).differences(), []);
    bench.end();
}

#[test]
fn a_ring_under_levels_never_stands_still() {
    let overrides = [
        "duration=3s",
        "class.lossless.mode=level",
        PATIENT_DETECTION,
    ];
    let result = run("ring4.toml", &overrides);
    assert!(!result.deadlocked);
}

#[test]
fn a_ring_that_locks_is_released() {
    let result = run("ring4.toml", &["duration=6s", "deadlock.policy=breaker"]);
    assert!(result.releases > 0, "it never locked");
}

/// Three hosts send to a fourth, in turn and at the same time: frames of a lossless class take the path until they must
/// wait.
#[test]
fn a_lossless_class_takes_the_path_and_loses_nothing() {
    let mut passed = 0;
    let overrides = ["class.lossless.express=on"];
    let result = run_and_look("burst.toml", &overrides, |stage| passed = passed_by(stage));
    assert!(passed > 0, "none took the path");
    let sent: u64 = result.flows.iter().map(|flow| flow.sent).sum();
    assert!(passed < sent, "{passed} of {sent}: nobody ever had to wait");
}

/// Hosts send in turn to one: a class with Levels takes the path until frames must wait or its neighbour has sent a
/// Feedback.
#[test]
fn a_class_with_levels_takes_the_path_and_loses_nothing() {
    let class = ["class.lossless.express=on", "class.lossless.mode=level"];
    let mut passed = 0;
    let result = run_and_look("burst.toml", &class, |stage| passed = passed_by(stage));
    assert!(passed > 0, "none took the path");
    let sent: u64 = result.flows.iter().map(|flow| flow.sent).sum();
    assert!(passed < sent, "{passed} of {sent}: nobody ever had to wait");
}

/// Its Levels are the same as without the path: nothing locks.
#[test]
fn a_ring_with_levels_on_the_path_never_stands_still() {
    let overrides = [
        "duration=3s",
        "class.lossless.mode=level",
        "class.lossless.express=on",
        PATIENT_DETECTION,
    ];
    let mut passed = 0;
    let result = run_and_look("ring4.toml", &overrides, |stage| passed = passed_by(stage));
    assert!(!result.deadlocked);
    assert!(passed > 0, "none took the path");
}

/// The lossless class of a ring that locks is on the path: stalled frames are in the switches, which release them.
#[test]
fn a_lossless_ring_on_the_path_locks_and_is_released() {
    let class = "class.lossless.express=on";
    let result = run(
        "ring4.toml",
        &["duration=6s", "deadlock.policy=breaker", class],
    );
    assert!(result.releases > 0, "it never locked");
}

fn passed_by(stage: &Stage) -> u64 {
    let ports = stage.switches.iter().flat_map(|switch| {
        let ports: Vec<Port> = switch.get("/v1/ports").unwrap();
        ports
    });
    ports.map(|port| port.express_tx_frames_total).sum()
}

fn run(file: &str, overrides: &[&str]) -> RunResult {
    run_and_look(file, overrides, |_| ())
}

fn run_and_look(file: &str, overrides: &[&str], look: impl FnOnce(&Stage)) -> RunResult {
    let options = Options {
        express: Some(Express::On),
        ..Options::default()
    };
    let result = run_with(&scenario(file, overrides), options, look);
    assert_delivered(&result);
    result
}
