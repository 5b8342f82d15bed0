//! Loops of switches that learn addresses: they are detected and broken, and hosts reach each other, each frame once.

use std::path::Path;
use std::process::Command;

use weir_api::daemon::{Event, EventPage, LoopBlocked, Port, Status};
use weir_config::daemon::DaemonConfig;
use weir_core::config::OnMoves;
use weir_core::{PortRole, VlanId};
use weir_lab::lab::names::Names;
use weir_lab::lab::process::inside;
use weir_lab::lab::switches::SwitchProcess;
use weir_tests::switches::switchctl;
use weir_tests::{printed, until, Bench};

const TWO_CABLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/two-cables.toml");
const SIX_HOSTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/six-hosts.toml");

fn events(switch: &SwitchProcess, kind: &str) -> Vec<Event> {
    let page: EventPage = switch.get("/v1/events?after=0").unwrap();
    let events = page.events.into_iter();
    events.filter(|event| event.kind == kind).collect()
}

/// Returns the number of ports that flood nothing, over all switches.
fn blocked(bench: &Bench) -> usize {
    let switches = std::iter::once(&bench.switch).chain(&bench.others);
    let blocked = |switch: &SwitchProcess| {
        let begun = events(switch, "forwarding_loop").len();
        begun - events(switch, "forwarding_loop_ended").len()
    };
    switches.map(blocked).sum()
}

fn loop_blocked(switch: &SwitchProcess) -> Vec<(String, LoopBlocked)> {
    let ports: Vec<Port> = switch.get("/v1/ports").unwrap();
    let blocked = |port: Port| Some((port.name, port.loop_blocked?));
    ports.into_iter().filter_map(blocked).collect()
}

/// Pings until a round has no loss, and returns its output.
fn ping(bench: &Bench, from: &str, to: &str) -> String {
    let ping = ["-c", "5", "-i", "0.2", "-W", "20", to];
    until("what went round before is gone", || {
        let output = bench.command(from, "ping").args(ping).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        text.contains(" 0% packet loss").then_some(text)
    })
}

#[test]
fn a_ring_that_learns_is_broken_once_and_hosts_hear_each_frame_once() {
    let bench = Bench::of("ring4.toml", &["link-defaults.rate=25Mbit"], |config| {
        config.forwarding.learning = true;
        config.routes.clear();
    });
    until("the loop is broken", || {
        (blocked(&bench) == 1).then_some(())
    });
    bench.give_addresses();
    // The address is resolved by a broadcast, which no longer loops.
    let text = ping(&bench, "h1", "10.99.0.2");
    assert!(!text.contains("DUP!"), "{text}");
    assert_eq!(blocked(&bench), 1);
    bench.end();
}

fn join(names: &Names, hosts: [&str; 2], floods_groups: bool) {
    let [here, there] = hosts.map(|host| names.namespace(host));
    let device = names.host_device();
    let ip = |words: &str| {
        printed(Command::new("ip").args(words.split(' ')));
    };
    ip(&format!(
        "-n {there} link set {device} netns {here} name second"
    ));
    ip(&format!(
        "-n {here} link add br0 type bridge mcast_snooping 0"
    ));
    for port in [device, "second"] {
        ip(&format!("-n {here} link set {port} master br0 up"));
        // The bridge keeps a tag outside the frame, where no XDP program sees it.
        let mut ethtool = inside(&here, Path::new("ethtool"));
        printed(ethtool.args(["-K", port, "txvlan", "off"]));
        let flood = if floods_groups { "on" } else { "off" };
        let mut bridge = inside(&here, Path::new("bridge"));
        printed(bridge.args(["link", "set", "dev", port, "mcast_flood", flood]));
    }
    ip(&format!("-n {here} link set br0 up"));
}

/// Two cables carry VLAN 20 with tags, and one of them also VLAN 30: untagged probes do not get through.
#[test]
fn a_loop_of_one_vlan_is_broken_in_that_vlan_and_the_others_go_on() {
    let vlan = VlanId::new;
    let configure = |config: &mut DaemonConfig| {
        config.forwarding.learning = true;
        config.routes.clear();
        for port in &mut config.ports {
            let (tag, trunks) = match (port.role, &*port.name) {
                (PortRole::Fabric, _) => {
                    (None, Some([20, 30].into_iter().filter_map(vlan).collect()))
                }
                (PortRole::Edge, "h5" | "h6") => {
                    (None, Some([20].into_iter().filter_map(vlan).collect()))
                }
                (PortRole::Edge, "h1" | "h2") => (vlan(20), None),
                (PortRole::Edge, _) => (vlan(30), None),
            };
            (port.tag, port.trunks) = (tag, trunks);
        }
    };
    let rate = ["link-defaults.rate=25Mbit"];
    let second = |names: &Names| join(names, ["h5", "h6"], true);
    let bench = Bench::prepared(TWO_CABLES, &rate, second, configure);
    until("the loop is broken", || {
        (blocked(&bench) == 1).then_some(())
    });
    bench.give_addresses();
    for (host, address) in [("h3", "10.99.0.3/24"), ("h4", "10.99.0.4/24")] {
        let device = bench.host_device();
        bench.output(host, &["ip", "address", "add", address, "dev", device]);
    }
    for (from, to) in [("h1", "10.99.0.2"), ("h3", "10.99.0.4")] {
        let text = ping(&bench, from, to);
        assert!(!text.contains("DUP!"), "{text}");
    }
    let switches = [&bench.switch, &bench.others[0]];
    let at = usize::from(loop_blocked(switches[0]).is_empty());
    let seen = loop_blocked(switches[at]);
    let only = LoopBlocked {
        all: false,
        vlans: vec!["20".to_owned()],
    };
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0].1, only);
    assert!(loop_blocked(switches[1 - at]).is_empty());
    assert_eq!(
        events(switches[at], "forwarding_loop")[0].details["vlan"],
        "20"
    );
    // An operator sees it.
    let socket = &switches[at].config.api_socket;
    let shown = printed(switchctl(socket).arg("ports"));
    assert!(shown.contains("BLOCKED (VLAN 20)"), "{shown}");
    until("it is no good health", || {
        let status: Status = switches[at].get("/v1/status").unwrap();
        let why = status.health?.why();
        why.contains("because of a loop").then_some(())
    });
    let metrics = bench.output(
        &switches[at].config.name,
        &[
            "curl",
            "-s",
            &format!(
                "http://{}/metrics",
                weir_lab::lab::configuration::METRICS_ADDRESS
            ),
        ],
    );
    let gauge = format!("weir_forwarding_blocked{{port=\"{}\"}} 1", seen[0].0);
    assert!(metrics.contains(&gauge), "{metrics}");
    bench.end();
}

/// A switch with two cables to a kernel bridge that forwards broadcasts, but no other group frames: probes end there, and a
/// broadcast loops.
fn beside_a_bridge(on_moves: OnMoves) -> Bench {
    let bridge = |names: &Names| join(names, ["h3", "h4"], false);
    let configure = |config: &mut DaemonConfig| {
        config.routes.clear();
        config.forwarding.learning = true;
        config.forwarding.on_moves = on_moves;
        config.multicast.edge_rate = Some(2000);
    };
    Bench::prepared(SIX_HOSTS, &["link-defaults.rate=25Mbit"], bridge, configure)
}

#[test]
fn a_loop_through_a_bridge_that_eats_probes_is_found_by_addresses_that_move() {
    let bench = beside_a_bridge(OnMoves::Block);
    bench.give_addresses();
    // Broadcasts circulate: their sender is known elsewhere.
    let broadcasts = ["ping", "-b", "-i", "0.02", "10.99.0.255"];
    let h1 = bench.start("h1", &broadcasts);
    until("the loop is broken", || {
        (blocked(&bench) == 1).then_some(())
    });
    drop(h1);
    let again = ping(&bench, "h1", "10.99.0.2");
    assert!(!again.contains("DUP!"), "{again}");
    assert!(!events(&bench.switch, "address_moves").is_empty());
    let seen = loop_blocked(&bench.switch);
    assert_eq!(seen.len(), 1);
    assert!(
        ["h3", "h4"].contains(&&*seen[0].0) && seen[0].1.all,
        "{seen:?}"
    );
    let moves = ["h1", "h3", "h4"]
        .map(|port| bench.metric(&format!("weir_address_moves_total{{port=\"{port}\"}}")));
    assert!(moves.iter().sum::<u64>() >= 16, "{moves:?}");
    bench.end();
}

#[test]
fn where_that_is_only_to_be_reported_nothing_is_blocked() {
    let bench = beside_a_bridge(OnMoves::Report);
    bench.give_addresses();
    let broadcasts = ["ping", "-b", "-i", "0.02", "10.99.0.255"];
    let h1 = bench.start("h1", &broadcasts);
    until("it is reported", || {
        (!events(&bench.switch, "address_moves").is_empty()).then_some(())
    });
    let moves = || bench.metric("weir_address_moves_total{port=\"h3\"}");
    let before = moves();
    until("it goes on", || (moves() > before + 100).then_some(()));
    assert_eq!(blocked(&bench), 0);
    drop(h1);
    bench.end();
}
