//! A class with credits loses nothing while a switch is stopped; one with PFC does, in the same run.

use std::time::Duration;

use weir_api::daemon::{Credits, Port};
use weir_config::daemon::DaemonConfig;
use weir_core::{CreditState, PortRole};
use weir_tests::faults::Scene;
use weir_tests::{inline_scenario, switches, until, LOSSLESS};

const STOPS: usize = 4;
/// Enough to send a stopped switch many times the size of its ring.
const STOP: Duration = Duration::from_secs(2);
/// Hosts, in pairs for each flow: the sender at s1, the receiver at s2.
const PAID: usize = 0;
const PAUSED: usize = 2;
const LOSSY: usize = 4;

/// Builds two switches in a row. Each class has a flow from a host at s1 to one at s2.
fn chain(rates: [&str; 3]) -> Scene {
    let mut text = String::from(
        r#"
name = "chain"
description = "Two switches in a row, of which one stalls"
duration = "600s"
seed = 1
[link-defaults]
rate = "200Mbit"
[[class]]
name = "paid"
priority = 3
mode = "credit"
credit-limit = "6MiB"
[[class]]
name = "paused"
priority = 4
mode = "pfc"
xoff = "3MiB"
xon = "2MiB"
headroom = "3MiB"
[[class]]
name = "lossy"
priority = 1
mode = "lossy"
buffer = "256KiB"
[deadlock]
detect = "30s"
[[switch]]
name = "s1"
[[switch]]
name = "s2"
[[link]]
ends = ["s1", "s2"]
"#,
    );
    for (class, rate) in ["paid", "paused", "lossy"].into_iter().zip(rates) {
        text += &format!(
            r#"
[[host]]
name = "{class}-from"
switch = "s1"
[[host]]
name = "{class}-to"
switch = "s2"
[[flow]]
name = "{class}"
from = "{class}-from"
to = "{class}-to"
class = "{class}"
rate = "{rate}"
"#
        );
    }
    Scene::of(inline_scenario("chain.toml", &text), keep_few_at_hosts)
}

/// Hosts of the lab use no credits: the ring of an edge port holds their frames.
fn keep_few_at_hosts(config: &mut DaemonConfig) {
    let edges = config.ports.iter_mut();
    for port in edges.filter(|port| port.role == PortRole::Edge) {
        port.credit_slots = Some(64);
    }
}

fn stop(scene: &mut Scene, switch: usize) {
    scene.switch(switch).freeze(true);
    std::thread::sleep(STOP);
    scene.switch(switch).freeze(false);
    scene.wait_for_more(PAID + 1, 2_000);
}

fn credits(scene: &Scene, switch: usize, port: &str) -> Credits {
    let all: Vec<Credits> = scene.stage.switches[switch].get("/v1/credits").unwrap();
    let mut all = all.into_iter();
    all.find(|credits| credits.port == port).unwrap()
}

/// Checks that all credits of the link are back, in both directions.
fn assert_no_leak(scene: &Scene) {
    for (switch, port) in [(0, "s2"), (1, "s1")] {
        until("all credits are back", || {
            let credits = credits(scene, switch, port);
            let (sending, receiving) = (&credits.sending, &credits.receiving);
            let given = receiving.outstanding;
            (sending.used + credits.slots <= sending.limit && given == credits.slots).then_some(())
        });
    }
}

/// Returns the number of lost frames of each flow; all that arrived must be in order.
fn lost(scene: &mut Scene) -> [u64; 3] {
    let reports = scene.reports();
    [PAID, PAUSED, LOSSY].map(|from| {
        let sent: u64 = reports[from].sent.iter().map(|flow| flow.frames).sum();
        let received: u64 = reports[from + 1]
            .received
            .iter()
            .map(|flow| {
                let wrong = (flow.reordered, flow.duplicated, flow.corrupted);
                assert_eq!(wrong, (0, 0, 0), "{flow:?}");
                flow.frames
            })
            .sum();
        eprintln!("host {from}: {received} of {sent}");
        assert!(sent > 0);
        sent - received
    })
}

#[test]
fn a_stopped_switch_loses_no_frame_of_a_class_with_credits() {
    let mut scene = chain(["80Mbit", "60Mbit", "30Mbit"]);
    scene.wait_for_more(PAID + 1, 2_000);
    for _ in 0..STOPS {
        stop(&mut scene, 1);
    }
    let ports: Vec<Port> = scene.stage.switches[1].get("/v1/ports").unwrap();
    let verdicts = ports.iter().flat_map(|port| &port.xdp_verdicts_total);
    let without_slot = verdicts.filter(|(verdict, _)| *verdict == "no_slot");
    let without_slot: u64 = without_slot.map(|(_, frames)| frames).sum();
    scene.settle();
    assert_no_leak(&scene);
    let [paid, paused, lossy] = lost(&mut scene);
    assert_eq!(paid, 0, "lost");
    assert!(paused > 1_000, "a switch that stands still pauses nobody");
    assert!(
        without_slot > 1_000,
        "{without_slot} of {paused} and {lossy}"
    );
    scene.end();
}

/// Hosts of the lab do not support credits: PFC holds their class. The link between the switches has credits.
#[test]
fn hosts_without_credits_are_paused() {
    let mut scene = chain(["180Mbit", "1Mbit", "1Mbit"]);
    scene.wait_for_more(PAID + 1, 2_000);
    for (switch, port, state) in [
        (0, "paid-from", CreditState::Fallback),
        (0, "s2", CreditState::Credits),
        (1, "paid-to", CreditState::Fallback),
    ] {
        let credits = credits(&scene, switch, port);
        assert_eq!(credits.sending.state, state, "{port}");
    }
    for _ in 0..3 {
        until("the sender is paused", || {
            // The pause lasts only briefly.
            let pause = format!("pfc {LOSSLESS} {}", u16::MAX);
            scene.stage.hosts[PAID + 1].tell(&pause).unwrap();
            let paused = scene.snapshot(PAID).paused;
            paused.contains(&LOSSLESS).then_some(())
        });
        scene.wait_for_more(PAID + 1, 2_000);
    }
    scene.assert_lossless();
    assert_no_leak(&scene);
    scene.end();
}

/// A killed switch loses its content. Earlier credits are void, and its neighbour proceeds.
#[test]
fn a_killed_switch_gives_credits_again() {
    let mut scene = chain(["80Mbit", "1Mbit", "1Mbit"]);
    for killed in [1, 0] {
        scene.wait_for_more(PAID + 1, 2_000);
        switches::kill(scene.switch(killed));
        switches::start(scene.switch(killed));
        scene.wait_for_more(PAID + 1, 2_000);
    }
    // Frames were lost with the killed switches; from here on none is.
    scene.start_hosts();
    scene.wait_for_more(PAID + 1, 2_000);
    stop(&mut scene, 1);
    scene.settle();
    assert_no_leak(&scene);
    assert_eq!(lost(&mut scene)[0], 0);
    scene.end();
}
