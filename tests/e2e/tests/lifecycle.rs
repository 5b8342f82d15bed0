//! A daemon that is killed, and one that is ended.

use std::process::Command;

use nix::net::if_::if_nametoindex;
use weir_config::daemon::DaemonConfig;
use weir_config::scenario::Scenario;
use weir_lab::endpoint::report::Snapshot;
use weir_lab::lab::stage::{HostProcess, Stage};
use weir_netlink::napi::{self, Deferral};
use weir_tests::namespace::Visit;
use weir_tests::{assert_nothing_left, printed, scenario, switches, until, with_traffic, LOSSLESS};

/// Longer than any of these tests: the hosts send until they are stopped.
const DURATION: &str = "duration=600s";
/// A pause of 65535 quanta lasts 3.4 s at this rate.
const SLOW: &str = "link-defaults.rate=10Mbit";

/// Builds two hosts on one switch, ready to send.
fn stage(overrides: &[&str]) -> Stage {
    with_traffic(&scenario("one-switch.toml", overrides))
}

/// Returns `tc`'s output for the switch's devices.
fn queueing(stage: &Stage) -> String {
    let output = Command::new("ip")
        .args(["netns", "exec", &stage.names().namespace("s1")])
        .args(["tc", "qdisc", "show"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn received(snapshot: &Snapshot) -> u64 {
    snapshot.received.iter().map(|flow| flow.frames).sum()
}

fn sent(snapshot: &Snapshot) -> u64 {
    snapshot.sent.iter().map(|flow| flow.frames).sum()
}

fn wait_for_more(host: &mut HostProcess, than: u64) {
    until("frames arrive", || {
        (received(&host.snapshot().unwrap()) > than).then_some(())
    });
}

#[test]
fn after_a_kill_the_daemon_just_starts_again() {
    let mut stage = stage(&[DURATION]);
    let run_dir = stage.switches[0].config.run_dir.clone();
    for _ in 0..3 {
        for host in &mut stage.hosts {
            let before = received(&host.snapshot().unwrap());
            wait_for_more(host, before + 200);
        }
        let switch = &mut stage.switches[0];
        switches::kill(switch);
        assert!(run_dir.exists(), "a killed daemon cleans nothing up");
        switches::start(switch);
    }
    for host in &mut stage.hosts {
        let before = received(&host.snapshot().unwrap());
        wait_for_more(host, before + 200);
    }
    for host in &mut stage.hosts {
        host.stop_sending().unwrap();
    }
    for host in &mut stage.hosts {
        let report = host.finish().unwrap();
        for flow in report.received {
            assert_eq!(
                (flow.reordered, flow.duplicated, flow.corrupted),
                (0, 0, 0),
                "{flow:?}"
            );
        }
    }
    // Also removes settings of killed daemons.
    switches::end(&mut stage.switches[0]);
    assert_nothing_left(&run_dir);
    let queueing = queueing(&stage);
    assert!(!queueing.contains("5745:"), "{queueing}");
}

#[test]
fn sigterm_loses_no_admitted_frame() {
    let mut stage = stage(&[DURATION, SLOW]);
    let run_dir = stage.switches[0].config.run_dir.clone();
    let pause = |stage: &mut Stage, quanta: u16| {
        let tell = format!("pfc {LOSSLESS} {quanta}");
        stage.hosts[1].tell(&tell).unwrap();
    };
    // The second host holds the switch, so the first one's frames pile up in it.
    let held = until("frames are held and the sender is paused", || {
        pause(&mut stage, u16::MAX);
        let held = stage.held_frames().unwrap();
        let paused = stage.hosts[0]
            .snapshot()
            .unwrap()
            .paused
            .contains(&LOSSLESS);
        (paused && held > 0).then_some(held)
    });
    for host in &mut stage.hosts {
        host.stop_sending().unwrap();
    }
    pause(&mut stage, u16::MAX);
    let held_at_the_end = stage.held_frames().unwrap();
    assert!(held_at_the_end > 0, "{held} frames were held before");
    stage.switches[0].process().unwrap().ask_to_end();
    pause(&mut stage, 0);
    stage.switches[0]
        .end_process()
        .unwrap_or_else(|error| panic!("{error:#}"));
    assert_nothing_left(&run_dir);

    let arrived = until("what was held arrives", || {
        let (from, to) = (
            stage.hosts[0].snapshot().unwrap(),
            stage.hosts[1].snapshot().unwrap(),
        );
        (received(&to) >= sent(&from)).then(|| (sent(&from), received(&to)))
    });
    assert_eq!(arrived.0, arrived.1);
    for host in &mut stage.hosts {
        let report = host.finish().unwrap();
        for flow in report.received {
            assert_eq!(
                (flow.missing, flow.reordered, flow.duplicated),
                (0, 0, 0),
                "{flow:?}"
            );
        }
    }
}

fn deferrals(stage: &Stage) -> Vec<Deferral> {
    let _there = Visit::to(&stage.names().namespace("s1")).unwrap();
    let ports = stage.switches[0].config.ports.iter();
    let napis = ports.flat_map(|port| {
        let index = if_nametoindex(port.device.as_str()).unwrap();
        napi::of_device(index).unwrap()
    });
    napis.map(|napi| napi.deferral).collect()
}

/// A setting of another program.
const OF_OTHERS: Deferral = Deferral {
    looks: 1,
    interval_nanos: 30_000,
};

/// Starts a switch with this change. Its devices have NAPIs even without it: otherwise a veth only has them while there is a
/// program.
fn with_napis(scenario: &Scenario, change: impl FnMut(&mut DaemonConfig)) -> Stage {
    let stage = Stage::set_up_with(scenario, false, change);
    let stage = stage.unwrap_or_else(|error| panic!("{error:#}"));
    let namespace = stage.names().namespace("s1");
    for port in &stage.switches[0].config.ports {
        let words = ["netns", "exec", &namespace, "ethtool", "-K", &port.device];
        printed(Command::new("ip").args(words).args(["gro", "on"]));
    }
    stage
}

fn assert_forwards(stage: &mut Stage, scenario: &Scenario) {
    stage
        .start_hosts(scenario)
        .unwrap_or_else(|error| panic!("{error:#}"));
    for host in &mut stage.hosts {
        wait_for_more(host, 200);
    }
    stage.hosts.clear();
}

/// `napi-defer`: devices defer interrupts while they have a switch, whatever happened to the previous one.
#[test]
fn devices_put_interrupts_off_for_as_long_as_a_switch_has_them() {
    let scenario = scenario("one-switch.toml", &[DURATION]);
    let mut stage = with_napis(&scenario, |config| {
        config.dataplane.napi_defer = Some(weir_core::Duration::from_micros(50));
    });
    let of_ours = Deferral {
        looks: 2,
        interval_nanos: 50_057,
    };
    assert_eq!(deferrals(&stage), [of_ours; 2]);
    switches::end(&mut stage.switches[0]);
    assert_eq!(deferrals(&stage), [Deferral::default(); 2], "put back");

    set_all(&stage, OF_OTHERS);
    switches::start(&mut stage.switches[0]);
    assert_eq!(deferrals(&stage), [of_ours; 2]);
    assert_forwards(&mut stage, &scenario);
    switches::end(&mut stage.switches[0]);
    assert_eq!(deferrals(&stage), [OF_OTHERS; 2], "put back");

    // Settings left by a killed switch belong to no other program.
    switches::start(&mut stage.switches[0]);
    switches::kill(&mut stage.switches[0]);
    assert_eq!(deferrals(&stage), [of_ours; 2], "nobody was there to do it");
    switches::start(&mut stage.switches[0]);
    switches::end(&mut stage.switches[0]);
    assert_eq!(deferrals(&stage), [Deferral::default(); 2], "put back");
}

/// `busy-poll` uses it, and keeps another program's setting.
#[test]
fn busy_polling_has_devices_put_interrupts_off() {
    let scenario = scenario("one-switch.toml", &[DURATION]);
    let mut stage = with_napis(&scenario, |config| {
        config.dataplane.busy_poll = weir_core::Duration::from_micros(20);
    });
    let of_ours = Deferral {
        looks: 2,
        interval_nanos: 200_057,
    };
    assert_eq!(deferrals(&stage), [of_ours; 2]);
    assert_forwards(&mut stage, &scenario);
    switches::end(&mut stage.switches[0]);
    assert_eq!(deferrals(&stage), [Deferral::default(); 2], "put back");

    set_all(&stage, OF_OTHERS);
    switches::start(&mut stage.switches[0]);
    assert_eq!(deferrals(&stage), [OF_OTHERS; 2]);
    switches::end(&mut stage.switches[0]);
    assert_eq!(deferrals(&stage), [OF_OTHERS; 2]);
}

fn set_all(stage: &Stage, deferral: Deferral) {
    let _there = Visit::to(&stage.names().namespace("s1")).unwrap();
    for port in &stage.switches[0].config.ports {
        let index = if_nametoindex(port.device.as_str()).unwrap();
        for napi in napi::of_device(index).unwrap() {
            napi::set(napi.id, deferral).unwrap();
        }
    }
}
