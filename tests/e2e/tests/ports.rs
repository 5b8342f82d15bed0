//! Devices of a running switch that are removed and return: other ports lose nothing, and a returning device is used without
//! a restart.

use std::process::Output;
use std::time::{Duration, Instant};

use weir_api::audit::Audit;
use weir_config::daemon::DaemonConfig;
use weir_tests::faults::Scene;
use weir_tests::switches::{self, events, port, switchctl};
use weir_tests::{inline_scenario, until};

/// Number of times that a device is deleted and created again.
const TIMES: usize = 25;
/// Limit on the median time until a port forwards again: a shared machine stalls occasionally.
const SOON: Duration = Duration::from_secs(1);

/// One switch with three hosts: `h1` and `h2` send to each other, and `h1` to `h3`, whose device is removed and returns.
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

fn scene(change: impl FnMut(&mut DaemonConfig)) -> Scene {
    Scene::of(inline_scenario("three-hosts.toml", THREE_HOSTS), change)
}

/// Makes the device of `h3` and its other end; the switch's is set up last.
fn make_device(scene: &Scene) {
    let names = scene.stage.names();
    let host = format!("netns {}", names.namespace("h3"));
    let device = names.host_device();
    let make = format!("link add h3 mtu 1500 type veth peer name {device} {host} mtu 1500");
    scene.ip("s1", &make);
    let address = scene.scenario().hosts[2].address;
    let up = format!("link set {device} address {address} up");
    scene.ip("h3", &up);
    scene.ip("s1", "link set h3 up");
}

fn wait_until_gone(scene: &mut Scene) -> String {
    until("the switch knows that a device is gone", || {
        port(scene.switch(0), "h3").device_gone_reason
    })
}

/// Waits until the port forwards; returns the time taken.
fn wait_until_up(scene: &mut Scene) -> Duration {
    let began = Instant::now();
    until("the port is up", || {
        let port = port(scene.switch(0), "h3");
        (port.link_up && !port.device_gone).then_some(())
    });
    began.elapsed()
}

fn assert_balanced(scene: &mut Scene) {
    let audit: Audit = scene.switch(0).get("/v1/audit").unwrap();
    assert_eq!(audit.differences(), []);
}

/// Ends the hosts; checks that the flows between the first two lost nothing.
fn assert_others_lossless(scene: &mut Scene) {
    scene.settle();
    let reports = scene.reports();
    for (from, to) in [(0, 1), (1, 0)] {
        let (sent, received) = (&reports[from].sent[0], &reports[to].received[0]);
        eprintln!("{}: {} of {}", sent.name, received.frames, sent.frames);
        assert_eq!(sent.frames, received.frames, "{}", sent.name);
        let wrong = (received.reordered, received.duplicated, received.corrupted);
        assert_eq!(wrong, (0, 0, 0), "{received:?}");
    }
    assert_balanced(scene);
}

/// Restarts the hosts; checks that all three flows arrive intact.
fn assert_all_forwarded(scene: &mut Scene) {
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
    let received: u64 = received.map(|it| it.frames).sum();
    assert!(sent > 300 && sent == received, "{received} of {sent}");
    assert_balanced(scene);
}

#[test]
fn a_device_is_deleted_and_made_again_many_times() {
    let mut scene = scene(|_| ());
    scene.wait_for_all(100);
    drop(scene.stage.hosts.remove(2));
    let mut times = Vec::with_capacity(TIMES);
    for _ in 0..TIMES {
        scene.ip("s1", "link delete h3");
        assert_eq!(wait_until_gone(&mut scene), "device is gone");
        make_device(&scene);
        times.push(wait_until_up(&mut scene));
    }
    scene.wait_for_all(100);
    assert_others_lossless(&mut scene);
    times.sort();
    let (median, longest) = (times[TIMES / 2], times[TIMES - 1]);
    let late = times.iter().filter(|time| **time > SOON).count();
    eprintln!(
        "back after {median:?}, {longest:?} at most; {late} of {TIMES} after more than {SOON:?}"
    );
    assert!(median < SOON, "{times:?}");
    for kind in ["device_gone", "device_back"] {
        assert!(!events(scene.switch(0), kind).is_empty(), "{kind}");
    }
    let status = scene.switch(0).status().unwrap();
    let reasons: Vec<&str> = status.drops_total.keys().map(AsRef::as_ref).collect();
    assert_eq!(reasons, ["port_down"]);
    assert_all_forwarded(&mut scene);
    scene.end();
}

#[test]
fn a_renamed_device_is_followed() {
    let mut scene = scene(|_| ());
    scene.wait_for_all(100);
    for (from, to) in [("h3", "other"), ("other", "h3")] {
        scene.ip("s1", &format!("link set {from} down"));
        scene.ip("s1", &format!("link set {from} name {to}"));
        scene.ip("s1", &format!("link set {to} up"));
        until("the switch says so", || {
            let renamed = events(scene.switch(0), "device_renamed");
            let name = renamed.last()?.details.get("name").cloned();
            (name.as_deref() == Some(to)).then_some(())
        });
        scene.wait_for_all(100);
    }
    assert!(!port(scene.switch(0), "h3").device_gone);
    assert_others_lossless(&mut scene);
    scene.end();
}

/// Its other end remains, and the host there only notices silence.
#[test]
fn a_device_goes_to_another_namespace_and_comes_back() {
    let mut scene = scene(|_| ());
    scene.wait_for_all(100);
    let namespace = |scene: &Scene, node: &str| scene.stage.names().namespace(node);
    for _ in 0..3 {
        let away = namespace(&scene, "h2");
        scene.ip("s1", &format!("link set h3 netns {away}"));
        assert_eq!(wait_until_gone(&mut scene), "device is gone");
        until("the program is detached there", || {
            let mut command = std::process::Command::new("ip");
            let output = command.args(["-n", &away, "link", "show", "h3"]).output();
            let text = String::from_utf8(output.unwrap().stdout).unwrap();
            (!text.contains("xdp")).then_some(())
        });
        scene.wait_for_more(1, 100);
        let home = namespace(&scene, "s1");
        scene.ip("h2", &format!("link set h3 netns {home}"));
        scene.ip("s1", "link set h3 up");
        wait_until_up(&mut scene);
        scene.wait_for_all(100);
    }
    assert_others_lossless(&mut scene);
    scene.end();
}

/// The port starts without the device, also after the switch was killed while the device was away.
#[test]
fn a_port_waits_for_its_device() {
    let mut scene = scene(|config| config.ports[2].wait = true);
    scene.wait_for_all(10);
    scene.stage.hosts.clear();
    for killed in [false, true] {
        if killed {
            scene.ip("s1", "link delete h3");
            wait_until_gone(&mut scene);
            switches::kill(scene.switch(0));
        } else {
            switches::end(scene.switch(0));
            scene.ip("s1", "link delete h3");
        }
        switches::start(scene.switch(0));
        let waiting = port(scene.switch(0), "h3");
        let reason = waiting.device_gone_reason.as_deref();
        assert_eq!(reason, Some("device is not there yet"), "{waiting:?}");
        assert!(!waiting.link_up && waiting.device_gone);
        make_device(&scene);
        wait_until_up(&mut scene);
        assert_all_forwarded(&mut scene);
    }
    scene.end();
}

/// A device that cannot be used is reported with the reason, and used once it can be.
#[test]
fn a_device_that_cannot_be_used_is_tried_again() {
    let mut scene = scene(|_| ());
    scene.wait_for_all(100);
    drop(scene.stage.hosts.remove(2));
    scene.ip("s1", "link delete h3");
    wait_until_gone(&mut scene);
    scene.ip("s1", "link add h3 mtu 1000 type veth peer name other");
    until("the switch says why", || {
        let reason = port(scene.switch(0), "h3").device_gone_reason?;
        reason.contains("an MTU of 1000 B").then_some(())
    });
    assert_eq!(events(scene.switch(0), "device_refused").len(), 1);
    scene.ip("s1", "link set h3 mtu 1500");
    scene.ip("s1", "link set other up");
    scene.ip("s1", "link set h3 up");
    wait_until_up(&mut scene);
    scene.wait_for_all(100);
    assert_others_lossless(&mut scene);
    scene.end();
}

/// `switchctl port remove` frees a present device for others, and `port add` attaches it again.
#[test]
fn a_port_is_removed_and_added() {
    let mut scene = scene(|_| ());
    let change = |scene: &mut Scene, what: &str| -> Output {
        let socket = scene.switch(0).config.api_socket.clone();
        let mut command = switchctl(&socket);
        command.args(["port", what, "h3"]).output().unwrap()
    };
    for _ in 0..3 {
        scene.wait_for_all(100);
        let removed = change(&mut scene, "remove");
        assert!(removed.status.success(), "{removed:?}");
        assert_eq!(wait_until_gone(&mut scene), "removed by an operator");
        let rings = port(scene.switch(0), "h3");
        assert_eq!(rings.xdp_mode.as_str(), "detached", "{rings:?}");
        // Changes of its link do not bring it back.
        scene.ip("s1", "link set h3 down");
        scene.ip("s1", "link set h3 up");
        scene.wait_for_more(1, 100);
        assert!(port(scene.switch(0), "h3").device_gone);
        let added = change(&mut scene, "add");
        assert!(added.status.success(), "{added:?}");
        wait_until_up(&mut scene);
    }
    scene.wait_for_all(100);
    scene.ip("s1", "link delete h3");
    wait_until_gone(&mut scene);
    let added = change(&mut scene, "add");
    assert_eq!(added.status.code(), Some(1), "{added:?}");
    let text = String::from_utf8(added.stdout).unwrap();
    assert_eq!(text, "port h3 has no device: device is gone\n");
    drop(scene.stage.hosts.remove(2));
    assert_others_lossless(&mut scene);
    scene.end();
}

/// A restart while a device is gone loses nothing between others, and the device is used when it returns.
#[test]
fn a_restart_does_not_need_every_device() {
    let mut scene = scene(|_| ());
    // Earlier frames are not part of the sum.
    let _ = scene.reports();
    let switch = scene.switch(0);
    switch
        .start_with_keeper()
        .unwrap_or_else(|error| panic!("{error:#}"));
    scene.start_hosts();
    scene.wait_for_all(50);
    drop(scene.stage.hosts.remove(2));
    scene.ip("s1", "link delete h3");
    wait_until_gone(&mut scene);
    let restart = scene.switch(0).restart();
    let restart = restart.unwrap_or_else(|error| panic!("{error:#}"));
    assert_eq!(restart.lost_frames, 0);
    assert_eq!(wait_until_gone(&mut scene), "device is not there yet");
    scene.wait_for_all(100);
    make_device(&scene);
    wait_until_up(&mut scene);
    scene.wait_for_all(100);
    assert_others_lossless(&mut scene);
    assert_all_forwarded(&mut scene);
    scene.end();
}
