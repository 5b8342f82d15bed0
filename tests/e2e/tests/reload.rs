//! Reloads of a running switch under load: their changes take effect, and they lose no frame.

use std::time::Duration as StdDuration;

use nix::sys::signal::Signal;
use weir_api::client::{self, Method};
use weir_api::daemon::{EventPage, Pfc, Status};
use weir_api::reload::Reload;
use weir_core::control::Policy;
use weir_core::{Bytes, ClassMode, PfcThresholds};
use weir_lab::lab::stage::Stage;
use weir_lab::lab::switches::SwitchProcess;
use weir_tests::{scenario, tear_down, until, with_traffic};

/// Number for each of the four switches.
const RELOADS: u64 = 50;
const ANSWER_LIMIT: StdDuration = StdDuration::from_secs(60);

/// Writes the switch's next configuration, without any effect yet.
fn write(switch: &SwitchProcess, round: u64) -> (u64, &'static str) {
    let mut config = switch.config.clone();
    let xoff = 30 + 5 * (round % 7);
    let policy = [Policy::Breaker, Policy::Auto][round as usize / 3 % 2];
    for class in &mut config.classes {
        class.weight = 1 + (round % 3) as u16;
        if let ClassMode::Pfc(thresholds) = &mut class.mode {
            let kib = |count| Bytes::new(count * 1024);
            *thresholds =
                PfcThresholds::new(kib(xoff), kib(xoff - 8), thresholds.headroom()).unwrap();
        }
    }
    config.deadlock.policy = policy;
    config.deadlock.detect = weir_core::Duration::from_millis(20 + round % 2);
    let by = round as usize % config.routes.len();
    config.routes.rotate_left(by);
    std::fs::write(switch.config_file(), config.to_toml()).unwrap();
    (xoff, policy.name())
}

fn reload(switch: &SwitchProcess) -> Reload {
    let socket = &switch.config.api_socket;
    let report = client::send(
        socket,
        Method::POST,
        "/v1/reload",
        None::<&()>,
        ANSWER_LIMIT,
    );
    report.unwrap_or_else(|error| panic!("{error}"))
}

/// Repeats the request while a release holds a buffer above its thresholds.
fn reload_all(switch: &SwitchProcess) {
    until("everything is in force", || {
        let kept = reload(switch).kept;
        for setting in &kept {
            assert!(setting.why.contains("drained"), "{setting:?}");
        }
        kept.is_empty().then_some(())
    });
}

fn assert_in_force(switch: &SwitchProcess, xoff_kib: u64, policy: &str) {
    let status: Status = switch.get("/v1/status").unwrap();
    assert_eq!(status.deadlock_policy, policy);
    let pfc: Vec<Pfc> = switch.get("/v1/pfc").unwrap();
    for port in pfc.iter().filter(|port| port.release_ingress.is_none()) {
        assert!(port.xoff_bytes >= xoff_kib * 1024, "{port:?}");
    }
}

#[test]
fn many_reloads_of_a_loaded_ring_lose_no_frame() {
    let scenario = scenario(
        "ring4.toml",
        &[
            "duration=600s",
            "deadlock.policy=breaker",
            "link-defaults.rate=25Mbit",
        ],
    );
    let mut stage = with_traffic(&scenario);
    for round in 0..RELOADS {
        for switch in &mut stage.switches {
            let (xoff, policy) = write(switch, round);
            reload_all(switch);
            assert_in_force(switch, xoff, policy);
        }
    }
    // A reload by a signal is also reported as an event.
    let switch = &mut stage.switches[0];
    let reloaded = |switch: &SwitchProcess| {
        let page: EventPage = switch.get("/v1/events?after=0").unwrap();
        let reloads = page.events.iter().filter(|event| event.kind == "reloaded");
        reloads.map(|event| event.sequence).max()
    };
    let before = reloaded(switch);
    switch.process().unwrap().signal(Signal::SIGHUP);
    until("the signal's reload is told", || {
        (reloaded(switch) > before).then_some(())
    });

    assert_all_arrive(stage);
}

/// Checks that every frame arrives once, intact and in order.
fn assert_all_arrive(mut stage: Stage) {
    for host in &mut stage.hosts {
        host.stop_sending().unwrap();
    }
    let (sent, received) = until("everything arrives", || {
        let hosts = stage.hosts.iter_mut();
        let snapshots: Vec<_> = hosts.map(|host| host.snapshot().unwrap()).collect();
        let sum = |count: fn(&weir_lab::endpoint::report::Snapshot) -> u64| -> u64 {
            snapshots.iter().map(count).sum()
        };
        let sent = sum(|host| host.sent.iter().map(|flow| flow.frames).sum());
        let received = sum(|host| host.received.iter().map(|flow| flow.frames).sum());
        (received >= sent).then_some((sent, received))
    });
    assert_eq!(sent, received);
    assert!(sent > 1_000, "{sent} frames");
    for host in &mut stage.hosts {
        for flow in host.finish().unwrap().received {
            let wrong = (
                flow.missing,
                flow.reordered,
                flow.duplicated,
                flow.corrupted,
            );
            assert_eq!(wrong, (0, 0, 0, 0), "{flow:?}");
        }
    }
    tear_down(stage);
}
