//! Faults of a link: its device goes down, changes, or is deleted and created again.

use weir_api::daemon::HealthReason;
use weir_api::words::Trouble;
use weir_config::daemon::FlapDampingConfig;
use weir_core::Duration;
use weir_tests::faults::Scene;
use weir_tests::switches::{events, pfc, port};
use weir_tests::{inline_scenario, until, LOSSLESS};

/// Number of times that a link goes down and up in one test.
const FLAPS: usize = 5;
/// Maximum number of frames that a veth holds for its peer's stack (`VETH_RING_SIZE` of the kernel's veth.c).
const VETH_QUEUE: u64 = 256;

fn wait_for_link(scene: &mut Scene, name: &str, up: bool) {
    until("the switch knows its link's state", || {
        (port(scene.switch(0), name).link_up == up).then_some(())
    });
}

/// Senders to a downed port wait for at most `link-down-hold`; then their frames are dropped. Service resumes with the link.
fn a_link_goes_down_and_up(node: &str, device: &str) {
    let mut scene = Scene::new("one-switch.toml", &[], |_| ());
    for flap in 1..=FLAPS {
        scene.wait_for_all(100);
        scene.ip(node, &format!("link set {device} down"));
        wait_for_link(&mut scene, "h2", false);
        let dropped = |scene: &mut Scene| {
            let status = scene.switch(0).status().unwrap();
            status.drops_total.get("port_down").copied().unwrap_or(0)
        };
        let before = dropped(&mut scene);
        until("frames for it are dropped, and nobody is paused", || {
            let is_paused = pfc(scene.switch(0), "h1").pausing;
            (dropped(&mut scene) > before + 100 && !is_paused).then_some(())
        });
        scene.ip(node, &format!("link set {device} up"));
        wait_for_link(&mut scene, "h2", true);
        let told = |kind| events(&scene.stage.switches[0], kind).len();
        assert!(told("link_down") >= flap && told("link_up") >= flap);
    }
    scene.wait_for_all(100);
    let balance = scene.balance();
    assert_eq!(balance.held, 0, "{balance:?}");
    assert_eq!(balance.dropped.get("headroom_exceeded"), None);
    // Frames in the queue of a device that goes down appear in no count, and one on its way there may appear in two.
    let uncounted = balance.missing().abs_diff(balance.accounted());
    assert!(uncounted <= VETH_QUEUE * FLAPS as u64, "{balance:?}");
    scene.end();
}

#[test]
fn a_port_goes_down_and_up() {
    a_link_goes_down_and_up("s1", "h2");
}

#[test]
fn a_neighbours_port_goes_down_and_up() {
    let device = weir_lab::lab::names::Names::new().host_device();
    a_link_goes_down_and_up("h2", device);
}

/// With flap damping, a link that goes down often counts as down while it has carrier, until it has been quiet.
#[test]
fn a_link_that_flaps_is_suppressed_and_used_again() {
    let mut scene = Scene::new("one-switch.toml", &[], |config| {
        config.flap_damping = FlapDampingConfig {
            half_life: Some(Duration::from_secs(2)),
            max_suppress: Duration::from_secs(10),
            ..FlapDampingConfig::default()
        };
    });
    scene.wait_for_all(100);
    let told = |scene: &Scene, kind| events(&scene.stage.switches[0], kind);
    // A machine with much to do may be so slow that the penalty falls meanwhile.
    let mut flaps = 0;
    while told(&scene, "link_suppressed").is_empty() {
        scene.ip("s1", "link set h2 down");
        flaps += 1;
        until("the switch has seen that the link went down", || {
            (told(&scene, "link_down").len() >= flaps).then_some(())
        });
        if told(&scene, "link_suppressed").is_empty() {
            scene.ip("s1", "link set h2 up");
            wait_for_link(&mut scene, "h2", true);
        }
    }
    assert!(flaps >= 3, "{flaps}: two add at most 2000");
    scene.ip("s1", "link set h2 up");
    let suppressed = port(scene.switch(0), "h2");
    assert!(suppressed.link_suppressed && !suppressed.link_up);
    let other = port(scene.switch(0), "h1");
    assert!(other.link_up && !other.link_suppressed);
    wait_for_link(&mut scene, "h2", true);
    let [suppressed] = &told(&scene, "link_suppressed")[..] else {
        panic!("suppressed more than once");
    };
    let [reused] = &told(&scene, "link_reused")[..] else {
        panic!("used again more than once");
    };
    let after = &suppressed.details["reused_after"];
    let after: f64 = after.trim_end_matches(" s").parse().unwrap();
    let took = reused.monotonic_nanos - suppressed.monotonic_nanos;
    assert!(took as f64 >= 1e9 * after, "{took} ns, not {after} s");
    assert!(!port(scene.switch(0), "h2").link_suppressed);
    scene.wait_for_all(100);
    scene.end();
}

/// The switch forwards frames that fit its chunks regardless of the device's MTU; frames refused by the device are lost
/// there, and counted.
#[test]
fn an_mtu_changes_under_the_daemon() {
    let mut scene = Scene::new("one-switch.toml", &[], |_| ());
    scene.wait_for_all(200);
    for mtu in [9000, 1600, 1500] {
        scene.ip("s1", &format!("link set h2 mtu {mtu}"));
        scene.wait_for_all(200);
    }
    // Smaller than the frames: a veth refuses incoming ones, and accepts outgoing ones.
    scene.ip("s1", "link set h2 mtu 1000");
    scene.wait_for_more(1, 200);
    scene.ip("s1", "link set h2 mtu 1500");
    scene.wait_for_all(200);
    let balance = scene.balance();
    assert_eq!(balance.missing(), balance.accounted(), "{balance:?}");
    scene.end();
}

/// One switch with three hosts: `h1` and `h2` send to each other, and `h1` to `h3`, whose device is
/// removed.
const THREE_HOSTS: &str = r#"
name = "three-hosts"
description = "One switch with three hosts"
duration = "600s"
seed = 1
[link-defaults]
rate = "25Mbit"
[[class]]
name = "lossless"
priority = 3
mode = "pfc"
xoff = "60KiB"
xon = "52KiB"
headroom = "3MiB"
[deadlock]
detect = "400ms"
[topology]
kind = "line"
switches = 1
hosts = 3
[[flow]]
name = "there"
from = "h1"
to = "h2"
class = "lossless"
rate = "8Mbit"
[[flow]]
name = "back"
from = "h2"
to = "h1"
class = "lossless"
rate = "8Mbit"
[[flow]]
name = "gone"
from = "h1"
to = "h3"
class = "lossless"
rate = "8Mbit"
[expect]
lost = 0
"#;

/// Hosts paused because of a removed device proceed. Nothing between other ports is lost, frames for the device are dropped
/// and counted, the daemon reports its removal and return, and uses it again.
#[test]
fn a_device_is_deleted_and_made_again() {
    let mut scene = Scene::of(inline_scenario("three-hosts.toml", THREE_HOSTS), |_| ());
    scene.wait_for_all(100);
    let tell = format!("pfc {LOSSLESS} {}", u16::MAX);
    until("its host holds it, and it holds who sends to it", || {
        scene.stage.hosts[2].tell(&tell).unwrap();
        let paused = scene.snapshot(0).paused.contains(&LOSSLESS);
        paused.then_some(())
    });
    scene.ip("s1", "link delete h3");
    drop(scene.stage.hosts.remove(2));
    until("the daemon says so", || {
        let status = scene.switch(0).status().unwrap();
        (status.ports_without_device == ["h3"]).then_some(())
    });
    let gone = port(scene.switch(0), "h3");
    assert!(gone.device_gone && !gone.link_up, "{gone:?}");
    assert_eq!(events(scene.switch(0), "device_gone").len(), 1);
    // For longer than the host's last pause could have held anyone.
    scene.wait_for_all(2_000);
    assert!(!pfc(scene.switch(0), "h1").pausing);
    scene.settle();
    let status = scene.switch(0).status().unwrap();
    assert_eq!(status.held_frames, 0, "{status:?}");
    let reasons: Vec<&str> = status.drops_total.keys().map(AsRef::as_ref).collect();
    assert_eq!(reasons, ["port_down"]);
    let lost = status.drops_total["port_down"];
    let with_device = port(scene.switch(0), "h3").kernel_losses;
    let audit: weir_api::audit::Audit = scene.switch(0).get("/v1/audit").unwrap();
    assert_eq!(audit.differences(), []);
    let reports = scene.reports();
    for (from, to) in [(0, 1), (1, 0)] {
        let (sent, received) = (&reports[from].sent[0], &reports[to].received[0]);
        eprintln!("{}: {} of {}", sent.name, received.frames, sent.frames);
        assert_eq!(sent.frames, received.frames, "{}", sent.name);
    }
    eprintln!("dropped {lost}, lost with the device {with_device:?}");
    assert!(lost > 500, "what came for it is dropped: {lost}");

    let names = scene.stage.names();
    let host = format!("netns {}", names.namespace("h3"));
    let device = names.host_device();
    let make = format!("link add h3 mtu 1500 type veth peer name {device} {host} mtu 1500");
    scene.ip("s1", &make);
    let address = scene.scenario().hosts[2].address;
    scene.ip("h3", &format!("link set {device} address {address}"));
    scene.ip("h3", &format!("link set {device} up"));
    scene.ip("s1", "link set h3 up");
    until("the daemon uses it", || {
        let back = events(scene.switch(0), "device_back").len();
        let is_up = port(scene.switch(0), "h3").link_up;
        (back == 1 && is_up).then_some(())
    });
    assert_eq!(
        scene.switch(0).status().unwrap().ports_without_device,
        [""; 0]
    );
    scene.start_hosts();
    scene.wait_for_all(100);
    scene.settle();
    let reports = scene.reports();
    let sent: u64 = reports
        .iter()
        .flat_map(|it| &it.sent)
        .map(|it| it.frames)
        .sum();
    let received = reports.iter().flat_map(|it| &it.received);
    assert_eq!(sent, received.map(|it| it.frames).sum::<u64>());
    scene.end();
}

/// The kernel reports changes of carrier once a second, except at devices whose two ends have different indices. A link that goes
/// down soon after another change is found nevertheless.
#[test]
fn a_carrier_that_the_kernel_reports_late_is_found() {
    /// A quarter of a second until the daemon looks, and as long for a busy machine.
    const FOUND_WITHIN: std::time::Duration = std::time::Duration::from_millis(600);
    let mut scene = Scene::new("one-switch.toml", &[], |_| ());
    scene.wait_for_all(100);
    scene.ip("s1", "link delete h2");
    drop(scene.stage.hosts.remove(1));
    let names = scene.stage.names();
    let host = format!("netns {}", names.namespace("h2"));
    let device = names.host_device();
    scene.ip(
        "s1",
        &format!(
            "link add h2 index 777 mtu 1500 type veth peer name {device} index 777 {host} mtu 1500"
        ),
    );
    let address = scene.scenario().hosts[1].address;
    scene.ip("h2", &format!("link set {device} address {address}"));
    scene.ip("h2", &format!("link set {device} up"));
    scene.ip("s1", "link set h2 up");
    until("the daemon uses it", || {
        let back = events(scene.switch(0), "device_back").len();
        let is_up = port(scene.switch(0), "h2").link_up;
        (back == 1 && is_up).then_some(())
    });
    let mut fastest = std::time::Duration::MAX;
    for _ in 0..FLAPS {
        scene.ip("h2", &format!("link set {device} down"));
        let down = std::time::Instant::now();
        wait_for_link(&mut scene, "h2", false);
        fastest = fastest.min(down.elapsed());
        scene.ip("h2", &format!("link set {device} up"));
        wait_for_link(&mut scene, "h2", true);
    }
    assert!(fastest < FOUND_WITHIN, "{fastest:?}");
    scene.start_hosts();
    scene.wait_for_all(100);
    scene.end();
}

/// If a host is unplugged, no other host loses a frame or is paused for longer than the hold, and nothing is suspected.
#[test]
fn an_unplugged_host_holds_nobody() {
    let mut scene = Scene::of(inline_scenario("three-hosts.toml", THREE_HOSTS), |_| ());
    scene.wait_for_all(100);
    let device = scene.stage.names().host_device().to_owned();
    scene.ip("h3", &format!("link set {device} down"));
    wait_for_link(&mut scene, "h3", false);
    until("frames for it are dropped", || {
        let status = scene.switch(0).status().unwrap();
        (status.drops_total.get("port_down").copied().unwrap_or(0) > 100).then_some(())
    });
    assert!(!pfc(scene.switch(0), "h1").pausing);
    for (host, name) in [(0, "h1"), (1, "h2")] {
        scene.wait_for_more(host, 1_000);
        assert!(!pfc(scene.switch(0), name).pausing, "{name}");
    }
    let status = scene.switch(0).status().unwrap();
    let reasons: Vec<&str> = status.drops_total.keys().map(AsRef::as_ref).collect();
    assert_eq!(reasons, ["port_down"]);
    for kind in ["suspected", "storm_detected", "pause_stalled"] {
        assert_eq!(events(scene.switch(0), kind).len(), 0, "{kind}");
    }
    // A frame in the device when its link goes down is lost there.
    let health = status.health.unwrap();
    let is_that = |reason: &&HealthReason| {
        reason.kind == Trouble::KernelLosses && reason.port.as_deref() == Some("h3")
    };
    let others: Vec<_> = health.reasons.iter().filter(|it| !is_that(it)).collect();
    assert!(others.is_empty(), "{others:?}");
    scene.settle();
    let reports = scene.reports();
    for (from, to) in [(0, 1), (1, 0)] {
        let (sent, received) = (&reports[from].sent[0], &reports[to].received[0]);
        assert_eq!(sent.frames, received.frames, "{}", sent.name);
    }
    scene.end();
}
