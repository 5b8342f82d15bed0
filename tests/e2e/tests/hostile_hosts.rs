//! Two hostile hosts, one at a switch and one at its neighbour, beside honest ones: with the shipped configuration, and with
//! `--container`, without a further setting. Honest hosts lose no frame, are held no longer than [`PAUSED_MAX`], keep their ways and
//! their frames for themselves; each frame of the hostile ones is counted, and what was stopped has a name.
//!
//! `WEIR_ROUNDS` sets the number of rounds, `SEED` repeats a fight. The same in virtual time: `crates/core/tests/adversary.rs`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use weir_api::audit::Audit;
use weir_api::daemon::{Fdb, PauseCounters, Port};
use weir_config::daemon::DaemonConfig;
use weir_config::scenario::Scenario;
use weir_core::PortRole;
use weir_lab::lab::process::{inside, Process};
use weir_lab::lab::stage::{HostProcess, Stage};
use weir_lab::lab::switches::SwitchProcess;
use weir_tests::switches::{self, events};
use weir_tests::{inline_scenario, printed, until, variable, PATIENCE};

use crate::containers::run::Image;

const SCENARIO: &str = r#"
name = "hostile-hosts"
duration = "900s"
seed = 1
[link-defaults]
rate = "1Gbit"
[[class]]
name = "lossless"
priority = 3
mode = "pfc"
xoff = "60KiB"
xon = "52KiB"
headroom = "3MiB"
[[switch]]
name = "s1"
[[switch]]
name = "s2"
[[host]]
name = "h1"
switch = "s1"
[[host]]
name = "h2"
switch = "s1"
[[host]]
name = "h3"
switch = "s2"
[[host]]
name = "a"
switch = "s1"
[[host]]
name = "b"
switch = "s2"
[[link]]
ends = ["s1", "s2"]
"#;
/// Flows from and to, in Mbit/s. What is for the hostile hosts fills a buffer within their pauses.
const FLOWS: [(&str, &str, u32); 8] = [
    ("h1", "h2", 2),
    ("h2", "h1", 2),
    ("h1", "h3", 2),
    ("h3", "h1", 2),
    ("h2", "h3", 2),
    ("h3", "h2", 2),
    ("h1", "a", 16),
    ("h2", "b", 16),
];
/// The honest hosts; the hostile ones come after them in the scenario.
const HONEST: [&str; 3] = ["h1", "h2", "h3"];
/// Each hostile host, and the index of its switch.
const HOSTILE: [(&str, usize); 2] = [("a", 0), ("b", 1)];
/// Each takes a tenth of a second. The manners of pausing take 20 each, and are four.
const ROUNDS: u64 = 80;
/// The detection time of the storm watchdog, 200 ms, an eighth of it until the sample, and what a shared machine adds.
const PAUSED_MAX: Duration = Duration::from_millis(500);
/// Drops of a hostile host's frames, at its port. Tags mean nothing to these switches.
const STOPPED: [&str; 7] = [
    "foreign_source",
    "address_limit",
    "flood_rate",
    "clcm_from_edge",
    "bad_mac_control",
    "reserved_destination",
    "loop_probe",
];

/// A hostile host's last line.
#[derive(Debug, Deserialize)]
struct Attempts {
    sent: BTreeMap<String, u64>,
    refused: u64,
    probes: u64,
    overheard: Vec<String>,
}

/// Two switches and their hosts.
struct Scene {
    scenario: Scenario,
    stage: Stage,
    /// By switch, its ports' names by the names of what they lead to.
    ports: Vec<BTreeMap<String, String>>,
}

fn scenario() -> Scenario {
    let mut text = SCENARIO.to_owned();
    for (from, to, rate) in FLOWS {
        writeln!(
            text,
            "[[flow]]\nname = \"{from}-{to}\"\nfrom = \"{from}\"\nto = \"{to}\"\nclass = \"lossless\"\nrate = \"{rate}Mbit\""
        )
        .unwrap();
    }
    inline_scenario("hostile-hosts.toml", &text)
}

/// By switch, the names of what its ports lead to.
fn peers(scenario: &Scenario) -> Vec<Vec<String>> {
    let ports = scenario.all_ports().into_iter();
    let name = |port: &weir_config::scenario::SwitchPort| scenario.peer_name(port.peer).to_owned();
    ports
        .map(|ports| ports.iter().map(name).collect())
        .collect()
}

impl Scene {
    fn switch(&self, index: usize) -> &SwitchProcess {
        &self.stage.switches[index]
    }

    fn port(&self, switch: usize, peer: &str) -> Port {
        switches::port(self.switch(switch), &self.ports[switch][peer])
    }

    fn address(&self, host: &str) -> String {
        let host = self.scenario.hosts.iter().find(|it| it.name == host);
        host.unwrap().address.to_string()
    }

    fn namespace(&self, node: &str) -> String {
        self.stage.names().namespace(node)
    }

    /// Has every host send one broadcast, so that both switches know where each is.
    fn announce(&self) {
        const SEND: &str = "import socket, sys\nout = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)\nout.bind((sys.argv[1], 0))\n\
            out.send(b'\\xff' * 6 + bytes.fromhex(sys.argv[2].replace(':', '')) + b'\\x08\\x00' + bytes(46))";
        let device = self.stage.names().host_device();
        for host in &self.scenario.hosts {
            let mut send = inside(&self.namespace(&host.name), Path::new("/usr/bin/python3"));
            printed(send.args(["-c", SEND, device, &host.address.to_string()]));
        }
        for switch in &self.stage.switches {
            until("every host is known", || {
                let fdb: Fdb = switch.get("/v1/fdb").unwrap();
                let known: BTreeSet<_> = fdb.addresses.into_iter().map(|it| it.address).collect();
                let mut hosts = self.scenario.hosts.iter();
                hosts
                    .all(|host| known.contains(&host.address.to_string()))
                    .then_some(())
            });
        }
    }

    /// Starts the honest hosts, and waits until each has heard all others.
    fn start_hosts(&mut self) {
        let start = |index| HostProcess::start(&self.scenario, index, self.stage.names()).unwrap();
        let mut hosts: Vec<_> = (0..HONEST.len()).map(start).collect();
        HostProcess::begin(&mut hosts).unwrap();
        until("frames arrive", || {
            let mut snapshots = hosts.iter_mut().map(|host| host.snapshot().unwrap());
            snapshots
                .all(|it| it.received.iter().all(|flow| flow.frames > 100))
                .then_some(())
        });
        self.stage.hosts = hosts;
    }

    /// Starts the hostile host `name`. If they collude, each tells the other the probes that it hears.
    fn start_hostile(&self, name: &str, seed: u64, rounds: u64, collude: bool) -> Process {
        let ear = |name: &str| {
            let path = self.stage.directory().join(format!("{name}.ear"));
            path.display().to_string()
        };
        let other = HOSTILE.iter().find(|(other, _)| *other != name).unwrap().0;
        let options = json!({
            "device": self.stage.names().host_device(),
            "seed": seed,
            "rounds": rounds,
            "own": self.address(name),
            "victims": HONEST.map(|host| self.address(host)),
            "ear": ear(name),
            "peer": collude.then(|| ear(other)),
        });
        let mut command = inside(&self.namespace(name), Path::new("/usr/bin/python3"));
        command
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/python/adversary.py"))
            .arg(options.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        let log = self.stage.directory().join(format!("{name}.log"));
        Process::start(name, command, &log).unwrap()
    }

    /// Has the hostile hosts fight for so many rounds; returns what they have sent.
    fn fight(&self, seed: u64, rounds: u64, collude: bool) -> Vec<Attempts> {
        let mut hostile: Vec<_> = HOSTILE
            .iter()
            .zip(seed..)
            .map(|((name, _), seed)| self.start_hostile(name, seed, rounds, collude))
            .collect();
        let limit = Duration::from_millis(100 * rounds) + PATIENCE;
        hostile
            .iter_mut()
            .map(|process| {
                let status = process.wait(limit).unwrap();
                assert!(
                    status.is_some_and(|it| it.success()),
                    "{status:?}: {}",
                    process.log_end()
                );
                let mut report = String::new();
                let output = process.child().stdout.as_mut().unwrap();
                output.read_to_string(&mut report).unwrap();
                serde_json::from_str(&report).unwrap_or_else(|error| panic!("{error}: {report}"))
            })
            .collect()
    }

    /// Ends the honest hosts: every frame among them has arrived, once, in order and whole.
    fn expect_delivered(&mut self, seconds: f64) {
        for host in &mut self.stage.hosts {
            host.stop_sending().unwrap();
        }
        let honest = |name: &str| {
            HONEST
                .iter()
                .any(|host| name.ends_with(&format!("-{host}")))
        };
        until("all has arrived", || {
            let mut counts: BTreeMap<String, [u64; 2]> = BTreeMap::new();
            for host in &mut self.stage.hosts {
                let snapshot = host.snapshot().unwrap();
                for flow in snapshot.sent.iter().filter(|flow| honest(&flow.name)) {
                    counts.entry(flow.name.clone()).or_default()[0] = flow.frames;
                }
                for flow in snapshot.received {
                    counts.entry(flow.name).or_default()[1] = flow.frames;
                }
            }
            counts.values().all(|[sent, got]| sent == got).then_some(())
        });
        let reports = self.stage.finish_hosts().unwrap();
        let mut stall = 0;
        for report in &reports {
            for flow in &report.received {
                let faults = [
                    flow.missing,
                    flow.duplicated,
                    flow.reordered,
                    flow.corrupted,
                ];
                assert_eq!(
                    faults, [0; 4],
                    "{}: missing, again, overtaken, changed",
                    flow.name
                );
                stall = stall.max(flow.longest_stall_nanos);
            }
            for flow in report.sent.iter().filter(|flow| honest(&flow.name)) {
                let (_, _, rate) = FLOWS
                    .into_iter()
                    .find(|(from, to, _)| flow.name == format!("{from}-{to}"))
                    .unwrap();
                // One that is held sends less: at most half of the time.
                let least = f64::from(rate) * 1e6 / 8.0 * seconds / 2.0;
                assert!(flow.bytes as f64 > least, "{}: {} B", flow.name, flow.bytes);
            }
            // Only the switch pauses a host, and only the lossless priority.
            let foreign: u64 = (0..8)
                .filter(|it| *it != 3)
                .map(|it| report.control.xoff[it])
                .sum();
            let control = &report.control;
            assert_eq!(
                (foreign, control.pause_frames, control.malformed),
                (0, 0, 0),
                "{control:?}"
            );
        }
        println!(
            "longest time without a frame of a flow: {} ms",
            stall / 1_000_000
        );
    }

    /// No honest host or neighbour was held for longer than is allowed, and none has lost its way.
    fn expect_held_and_blocked(&self) {
        let mut longest: f64 = 0.0;
        for (index, switch) in self.stage.switches.iter().enumerate() {
            let hostile = &self.ports[index][HOSTILE[index].0];
            let pauses: Vec<PauseCounters> = switch.get("/v1/pfc/counters").unwrap();
            for pause in pauses.iter().filter(|pause| pause.port != *hostile) {
                longest = longest.max(pause.sent.longest_seconds);
            }
            let ports: Vec<Port> = switch.get("/v1/ports").unwrap();
            for port in ports.iter().filter(|port| port.name != *hostile) {
                assert_eq!(port.loop_blocked, None, "{}: {}", switch.name, port.name);
            }
            for event in events(switch, "forwarding_loop") {
                assert_eq!(
                    event.port.as_ref(),
                    Some(hostile),
                    "{}: {event:?}",
                    switch.name
                );
            }
            let fdb: Fdb = switch.get("/v1/fdb").unwrap();
            for host in HONEST {
                let address = self.address(host);
                let found = fdb.addresses.iter().find(|it| it.address == address);
                let peers = &self.ports[index];
                let way = peers
                    .get(host)
                    .unwrap_or_else(|| &peers[["s2", "s1"][index]]);
                assert_eq!(
                    found.map(|it| &it.port),
                    Some(way),
                    "{}: {host}",
                    switch.name
                );
            }
        }
        println!(
            "longest pause of an honest neighbour: {:.0} ms",
            longest * 1000.0
        );
        assert!(longest <= PAUSED_MAX.as_secs_f64(), "{longest} s");
    }

    /// Each frame of a hostile host was counted where it came in, and the reasons of those that were stopped are there.
    fn expect_counted(&self, attempts: &[Attempts], before: &[u64]) {
        for (((name, index), attempts), before) in HOSTILE.iter().zip(attempts).zip(before) {
            let port = self.port(*index, name);
            let sent: u64 = attempts.sent.values().sum();
            let seen: u64 = port.xdp_frames_total.values().sum();
            assert_eq!(seen - before, sent, "{name}: {attempts:?}");
            assert!(attempts.probes > 0, "{name} hears no probe");
            let stopped = serde_json::to_string(&port.drops_total).unwrap();
            let (sorts, refused) = (&attempts.sent, attempts.refused);
            println!("{name}: {sent} frames, {refused} refused by its kernel: {sorts:?}; stopped: {stopped}");
            let of = |reason: &str| port.drops_total.get(reason).copied().unwrap_or(0);
            // Every one: no switch may remove the tag.
            assert!(
                of("bad_mac_control") >= attempts.sent["tagged_mac_control"],
                "{name}: {stopped}"
            );
            for reason in STOPPED {
                assert!(port.drops_total.contains_key(reason), "{name}: {reason}");
            }
            assert!(
                !events(self.switch(*index), "storm_detected").is_empty(),
                "{name}"
            );
        }
        for switch in &self.stage.switches {
            let audit: Audit = switch.get("/v1/audit").unwrap();
            assert_eq!(audit.differences(), [], "{}", switch.name);
        }
    }
}

/// Lets the hostile hosts fight against a scene whose switches forward.
fn expect_harmless(mut scene: Scene, collude: bool) {
    let seed = variable("SEED", 48);
    let rounds = variable("WEIR_ROUNDS", ROUNDS);
    println!("SEED={seed}, {rounds} rounds");
    scene.announce();
    scene.start_hosts();
    let seen = |(name, index): &(&str, usize)| {
        let port = scene.port(*index, name);
        port.xdp_frames_total.values().sum::<u64>()
    };
    let before: Vec<u64> = HOSTILE.iter().map(seen).collect();
    let attempts = scene.fight(seed, rounds, collude);
    scene.expect_delivered(rounds as f64 / 10.0);
    scene.expect_held_and_blocked();
    for attempts in &attempts {
        assert_eq!(attempts.overheard, [""; 0], "frames of others");
    }
    scene.expect_counted(&attempts, &before);
    scene
        .stage
        .tear_down()
        .unwrap_or_else(|error| panic!("{error:#}"));
}

/// Puts the package's configuration in place of the lab's; only the ports are added, as an operator has to, and places that
/// belong to this run.
fn ship(config: &mut DaemonConfig) {
    let mut text = include_str!("../../../packaging/etc/switchd.toml").to_owned();
    for port in &config.ports {
        let role = match port.role {
            PortRole::Edge => "edge",
            PortRole::Fabric => "fabric",
        };
        let (name, device) = (&port.name, &port.device);
        writeln!(
            text,
            "[[port]]\nname = \"{name}\"\ndevice = \"{device}\"\nrole = \"{role}\"\nrate = \"1Gbit\""
        )
        .unwrap();
    }
    let shipped = DaemonConfig::parse(&text, Path::new("switchd.toml"));
    let mut shipped = shipped.unwrap_or_else(|error| panic!("{error}"));
    shipped.name.clone_from(&config.name);
    shipped.run_dir.clone_from(&config.run_dir);
    shipped.api_socket.clone_from(&config.api_socket);
    // The package makes its group.
    shipped.api.read_group = Some("games".to_owned());
    *config = shipped;
}

#[test]
fn the_shipped_configuration_stands_hostile_hosts() {
    let scenario = scenario();
    let peers = peers(&scenario).into_iter();
    let ports = peers.map(|peers| peers.into_iter().map(|it| (it.clone(), it)).collect());
    let ports = ports.collect();
    let stage = Stage::set_up_with(&scenario, false, ship);
    let stage = stage.unwrap_or_else(|error| panic!("{error:#}"));
    let scene = Scene {
        scenario,
        stage,
        ports,
    };
    expect_harmless(scene, true);
}

/// Here the two do not tell each other what they hear: all ports are `edge`, and between two of these a loop through a host and
/// a host behind a neighbour blocks either.
#[test]
fn a_container_without_a_configuration_stands_hostile_hosts() {
    let image = Image::unpack();
    let mount = json!({
        "destination": "/run/weir/@NAME@", "type": "bind", "source": "@DIRECTORY@/@NAME@", "options": ["bind", "rw"],
    });
    let _bundles = image.replace_daemons(&[mount]);

    let scenario = scenario();
    let stage = Stage::set_up(&scenario, false).unwrap_or_else(|error| panic!("{error:#}"));
    let mut ports = Vec::new();
    for (switch, peers) in scenario.switches.iter().zip(peers(&scenario)) {
        let namespace = stage.names().namespace(switch);
        let mut names = BTreeMap::new();
        for (peer, number) in peers.into_iter().zip(1..) {
            let port = format!("eth{number}");
            for change in [
                format!("{peer} down"),
                format!("{peer} name {port}"),
                format!("{port} up"),
            ] {
                let words = format!("-n {namespace} link set dev {change}");
                printed(Command::new("ip").args(words.split(' ')));
            }
            names.insert(peer, port);
        }
        ports.push(names);
    }
    let scene = Scene {
        scenario,
        stage,
        ports,
    };
    for (index, names) in scene.ports.iter().enumerate() {
        until("the ports have their devices", || {
            let mut ports = names
                .values()
                .map(|it| switches::port(scene.switch(index), it));
            ports.all(|port| port.link_up).then_some(())
        });
    }
    expect_harmless(scene, false);
}
