//! A class with credits loses nothing while a switch is stopped; one with PFC does, in the same run.

use std::time::{Duration, Instant};

use weir_api::daemon::{Credits, Port};
use weir_config::daemon::DaemonConfig;
use weir_core::{CreditState, PortRole};
use weir_sim::random::Random;
use weir_tests::faults::Scene;
use weir_tests::{inline_scenario, switches, until, variable, LOSSLESS};

/// Seconds of all networks with credits and with PFC together; each is stopped for a tenth.
const SOAK_VARIABLE: &str = "WEIR_CREDIT_SOAK_SECONDS";
const STOPS: usize = 4;
/// Enough to send a stopped switch many times the size of its ring.
const STOP: Duration = Duration::from_secs(2);
const CREDIT_IN_LINE: &str = "mode = \"credit\"\ncredit-limit = \"6MiB\"";
const PFC_IN_LINE: &str = "mode = \"pfc\"\nxoff = \"3MiB\"\nxon = \"2MiB\"\nheadroom = \"3MiB\"";
const CREDIT_IN_RING: &str = "mode = \"credit\"\ncredit-limit = \"256KiB\"";
/// As in the file.
const PFC_IN_RING: &str = "mode = \"pfc\"\nxoff = \"60KiB\"\nxon = \"52KiB\"\nheadroom = \"3MiB\"";
/// Hosts, in pairs for each flow: the sender at s1, the receiver at s2.
const PAID: usize = 0;
const PAUSED: usize = 2;
const LOSSY: usize = 4;

/// Builds two switches in a row. Each class has a flow from a host at s1 to one at s2.
fn chain(rates: [&str; 3], of_hosts: &str) -> Scene {
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
{of_hosts}
[[host]]
name = "{class}-to"
switch = "s2"
{of_hosts}
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

/// No host of these classes uses credits: the ring of its port holds their frames.
fn keep_few_at_hosts(config: &mut DaemonConfig) {
    let edges = config.ports.iter_mut();
    for port in edges.filter(|port| port.role == PortRole::Edge && !port.name.starts_with("paid")) {
        port.credit_slots = Some(64);
    }
}

/// Builds two switches in a row, with a flow of this class in each direction.
fn line(class: &str) -> Scene {
    let mut text = format!(
        r#"
name = "line"
description = "Two switches in a row"
duration = "900s"
[link-defaults]
rate = "200Mbit"
[topology]
kind = "line"
switches = 2
hosts = 1
[[class]]
name = "lossless"
priority = 3
{class}
[deadlock]
detect = "30s"
"#
    );
    for [from, to] in [["h1", "h2"], ["h2", "h1"]] {
        text += &format!(
            r#"
[[flow]]
name = "{from}"
from = "{from}"
to = "{to}"
class = "lossless"
rate = "80Mbit"
"#
        );
    }
    Scene::of(inline_scenario("line.toml", &text), |_| ())
}

/// Returns a ring of `scenarios/` with the Deadlock Breaker, in which this class replaces the one with PFC.
fn ring(switches: usize, class: &str) -> Scene {
    let path = format!(
        "{}/../../scenarios/ring{switches}.toml",
        env!("CARGO_MANIFEST_DIR")
    );
    let text = std::fs::read_to_string(path).unwrap();
    let is_of_pfc = |line: &&str| {
        let keys = ["mode = \"pfc\"", "xoff = ", "xon = ", "headroom = "];
        keys.iter().any(|key| line.starts_with(key))
    };
    let lines = text.lines().filter(|line| !is_of_pfc(line));
    let text: String = lines.fold(String::new(), |text, line| text + line + "\n");
    let text = text
        .replacen("priority = 3\n", &format!("priority = 3\n{class}\n"), 1)
        .replacen("duration = \"8s\"", "duration = \"900s\"", 1)
        .replacen("policy = \"off\"", "policy = \"breaker\"", 1);
    Scene::of(inline_scenario("ring.toml", &text), |_| ())
}

/// Stops a switch for this time.
fn stop(scene: &mut Scene, switch: usize, time: Duration) {
    scene.switch(switch).freeze(true);
    std::thread::sleep(time);
    scene.switch(switch).freeze(false);
}

/// Stops random switches for random times, one after the other, for as long as `goes_on` with the number of stops; each
/// time frames must flow again.
fn stop_any(
    scene: &mut Scene,
    random: &mut Random,
    longest: Duration,
    mut goes_on: impl FnMut(usize) -> bool,
) -> usize {
    let mut stops = 0;
    while goes_on(stops) {
        let switch = random.below(scene.stage.switches.len() as u64) as usize;
        let time = Duration::from_millis(random.between(1, longest.as_millis() as u64));
        stop(scene, switch, time);
        scene.wait_for_all(500);
        stops += 1;
    }
    stops
}

fn all_credits(scene: &Scene, switch: usize) -> Vec<Credits> {
    scene.stage.switches[switch].get("/v1/credits").unwrap()
}

fn credits(scene: &Scene, switch: usize, port: &str) -> Credits {
    let mut all = all_credits(scene, switch).into_iter();
    all.find(|credits| credits.port == port).unwrap()
}

/// Checks that all credits are back, in both directions of every link that has them. Hosts keep as many slots as their
/// switch.
fn assert_no_leak(scene: &Scene) {
    for switch in 0..scene.stage.switches.len() {
        let name = &scene.stage.switches[switch].config.name;
        let mut links = 0;
        for Credits { port, .. } in all_credits(scene, switch) {
            let mut last = None;
            until(&format!("all credits are back at {port} of {name}"), || {
                let credits = last.insert(credits(scene, switch, &port));
                let (sending, receiving) = (&credits.sending, &credits.receiving);
                if sending.state == CreditState::Fallback {
                    return Some(());
                }
                let given = credits.slots.min(receiving.limit);
                let is_whole =
                    sending.used + given <= sending.limit && receiving.outstanding == given;
                is_whole.then_some(())
            });
            let state = last.unwrap().sending.state;
            links += u32::from(state == CreditState::Credits);
        }
        assert!(links > 0, "{name}");
    }
}

fn releases(scene: &Scene) -> u64 {
    let switches = scene.stage.switches.iter();
    let releases = switches.map(|switch| switch.status().unwrap().clcm.releases_total);
    releases.sum()
}

/// Frames of all flows.
#[derive(Debug, Default, PartialEq)]
struct Sums {
    sent: u64,
    arrived: u64,
    reordered: u64,
}

/// Ends the hosts, and adds up.
fn sums(scene: &mut Scene) -> Sums {
    let mut sums = Sums::default();
    for report in scene.reports() {
        sums.sent += report.sent.iter().map(|flow| flow.frames).sum::<u64>();
        for flow in &report.received {
            assert_eq!((flow.duplicated, flow.corrupted), (0, 0), "{flow:?}");
            sums.arrived += flow.frames;
            sums.reordered += flow.reordered;
        }
    }
    sums
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
fn stopped_switches_lose_no_frame_of_a_class_with_credits() {
    let mut scene = chain(["80Mbit", "60Mbit", "30Mbit"], "");
    scene.wait_for_more(PAID + 1, 2_000);
    stop_any(&mut scene, &mut Random::new(1), STOP, |stops| stops < STOPS);
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

/// By default a ring of three with credits; for a longer time two switches in a row and rings of three to six, each with
/// credits and with PFC.
#[test]
fn locked_rings_are_released_without_loss_while_switches_stop() {
    let seconds = variable(SOAK_VARIABLE, 0);
    if seconds == 0 {
        stop_for(3, CREDIT_IN_RING, STOP / 2, Duration::from_secs(4));
        return;
    }
    for switches in 2..=6 {
        let each = Duration::from_secs(seconds) / 10;
        let (credit, pfc) = match switches {
            2 => (CREDIT_IN_LINE, PFC_IN_LINE),
            _ => (CREDIT_IN_RING, PFC_IN_RING),
        };
        stop_for(switches, credit, STOP * 5 / 2, each);
        stop_for(switches, pfc, STOP * 5 / 2, each);
    }
}

/// Stops random switches of a network for up to `longest`, again and again until `time` has passed. A class with credits
/// must lose nothing.
fn stop_for(switches: usize, class: &str, longest: Duration, time: Duration) {
    let mut scene = match switches {
        2 => line(class),
        _ => ring(switches, class),
    };
    if switches > 2 {
        until("a release has begun", || {
            (releases(&scene) > 0).then_some(())
        });
    }
    let began = Instant::now();
    let mut random = Random::new(switches as u64);
    let stops = stop_any(&mut scene, &mut random, longest, |_| began.elapsed() < time);
    scene.settle();
    let has_credits = class.contains("credit");
    if has_credits {
        assert_no_leak(&scene);
    }
    let releases = releases(&scene);
    let sums = sums(&mut scene);
    eprintln!("{switches} switches, {stops} stops, {releases} releases: {sums:?}, {class}");
    if has_credits {
        assert_eq!((sums.arrived, sums.reordered), (sums.sent, 0), "{sums:?}");
    }
    scene.end();
}

/// PFC holds the class of hosts that do not use credits. The link between the switches has credits.
#[test]
fn hosts_without_credits_are_paused() {
    let mut scene = chain(["180Mbit", "1Mbit", "1Mbit"], "obeys-credits = false");
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
    let mut scene = chain(["80Mbit", "1Mbit", "1Mbit"], "");
    for killed in [1, 0] {
        scene.wait_for_more(PAID + 1, 2_000);
        switches::kill(scene.switch(killed));
        switches::start(scene.switch(killed));
        scene.wait_for_more(PAID + 1, 2_000);
    }
    // Frames were lost with the killed switches; from here on none is.
    scene.start_hosts();
    scene.wait_for_more(PAID + 1, 2_000);
    stop(&mut scene, 1, STOP);
    scene.wait_for_more(PAID + 1, 2_000);
    scene.settle();
    assert_no_leak(&scene);
    assert_eq!(lost(&mut scene)[0], 0);
    scene.end();
}
