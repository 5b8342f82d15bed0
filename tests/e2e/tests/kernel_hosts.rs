//! Hosts with an ordinary kernel in networks with loops: ARP over the tree, every host reaches every other, and a host that
//! broadcasts at full speed costs the others nothing.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use weir_api::daemon::Port;
use weir_config::scenario::Scenario;
use weir_lab::lab::interrupt::wait_for;
use weir_lab::lab::names::Names;
use weir_lab::lab::process::inside;
use weir_lab::lab::stage::Stage;
use weir_tests::{run_as_expected_and, scenario, PATIENCE, PING_THREE};

/// A protocol for experiments (IEEE 802): the kernel ignores its frames.
const ETHERTYPE: &str = "0x88B5";

/// `send COUNT` or `storm SECONDS`: broadcasts of the protocol; prints their number. `count`: reports that it listens, and
/// at the end of its input the number received.
const PROGRAM: &str = r#"
import select, socket, sys, time
device, kind = sys.argv[1], int(sys.argv[2], 16)
link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(kind))
link.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)
link.bind((device, kind))
own = link.getsockname()[4]
frame = b"\xff" * 6 + own + kind.to_bytes(2, "big") + bytes(46)
if sys.argv[3] == "send":
    for number in range(int(sys.argv[4])):
        link.send(frame)
        time.sleep(0.002)
    print(sys.argv[4], flush=True)
elif sys.argv[3] == "storm":
    end, sent = time.monotonic() + float(sys.argv[4]), 0
    while time.monotonic() < end:
        for _ in range(64):
            try:
                link.send(frame)
                sent += 1
            except OSError:
                break
    print(sent, flush=True)
else:
    print("ready", flush=True)
    count = 0
    while True:
        ready, _, _ = select.select([link, sys.stdin], [], [])
        while select.select([link], [], [], 0)[0]:
            count += link.recvfrom(2048)[1][2] != socket.PACKET_OUTGOING
        if sys.stdin in ready:
            break
    print(count, flush=True)
"#;

fn python(names: &Names, host: &str, arguments: &[&str]) -> Command {
    let mut command = inside(&names.namespace(host), Path::new("python3"));
    command
        .args(["-c", PROGRAM, names.host_device(), ETHERTYPE])
        .args(arguments);
    command
}

struct Listeners(Vec<(String, std::process::Child)>);

impl Listeners {
    fn start(scenario: &Scenario, names: &Names, but: &str) -> Self {
        let others = scenario.hosts.iter().filter(|host| host.name != but);
        let start = |name: &String| {
            let mut child = python(names, name, &["count"])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let mut line = String::new();
            let output = child.stdout.as_mut().unwrap();
            // One line: nothing after it is buffered yet.
            BufReader::new(output).read_line(&mut line).unwrap();
            assert_eq!(line, "ready\n", "{name}");
            (name.clone(), child)
        };
        Self(others.map(|host| start(&host.name)).collect())
    }

    fn counts(self) -> BTreeMap<String, u64> {
        let finish = |(name, mut child): (String, std::process::Child)| {
            drop(child.stdin.take());
            let output = child.wait_with_output().unwrap();
            (name, number(&output))
        };
        self.0.into_iter().map(finish).collect()
    }
}

fn number(output: &Output) -> u64 {
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().unwrap_or_else(|_| panic!("{output:?}"))
}

/// Every host pings every other one, all at once; returns those without an answer.
fn without_answer(scenario: &Scenario, names: &Names) -> Vec<String> {
    let mut running = Vec::new();
    for (index, from) in scenario.hosts.iter().enumerate() {
        let others = (0..scenario.hosts.len()).filter(|to| *to != index);
        for to in others {
            let child = inside(&names.namespace(&from.name), Path::new(PING_THREE[0]))
                .args(&PING_THREE[1..])
                .arg(scenario.host_ip(to).to_string())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            running.push((
                format!("{} to {}", from.name, scenario.hosts[to].name),
                child,
            ));
        }
    }
    let outputs = running
        .into_iter()
        .map(|(who, child)| (who, child.wait_with_output().unwrap()));
    let failed = outputs.filter(|(_, output)| {
        let text = String::from_utf8_lossy(&output.stdout);
        !output.status.success() || !text.contains(" 3 received")
    });
    failed.map(|(who, _)| who).collect()
}

fn drops(stage: &Stage) -> BTreeMap<String, u64> {
    let mut drops = BTreeMap::new();
    for switch in &stage.switches {
        let status = switch.status().unwrap();
        for (reason, count) in status.drops_total {
            if count > 0 {
                *drops.entry(reason.to_string()).or_default() += count;
            }
        }
    }
    drops
}

fn lost_by_kernels(stage: &Stage) -> u64 {
    let switches = stage.switches.iter();
    switches
        .map(|switch| switch.status().unwrap().kernel_losses_total)
        .sum()
}

fn admitted(stage: &Stage) -> u64 {
    let of_switch = |switch: &weir_lab::lab::switches::SwitchProcess| {
        let ports: Vec<Port> = switch.get("/v1/ports").unwrap();
        ports.iter().map(|port| port.rx_frames_total).sum::<u64>()
    };
    stage.switches.iter().map(of_switch).sum()
}

/// Sends twenty broadcasts: each host gets each of them once, and then all switches are idle.
fn broadcasts_arrive_once(scenario: &Scenario, stage: &Stage) {
    const COUNT: u64 = 20;
    let names = stage.names();
    let listeners = Listeners::start(scenario, names, "h1");
    let before = admitted(stage);
    let sent = python(names, "h1", &["send", &COUNT.to_string()]).output();
    assert_eq!(number(&sent.unwrap()), COUNT);
    // Each switch of the tree admits each of them once. A spine without hosts is not in it.
    let tree = scenario.multicast.as_ref().unwrap();
    let all = COUNT * (tree.links.len() as u64 + 1);
    let mut seen = (0, 0);
    let arrived = wait_for(PATIENCE, || {
        seen = (stage.held_frames()?, admitted(stage) - before);
        Ok((seen.0 == 0 && seen.1 >= all).then_some(()))
    });
    let (held, admitted) = seen;
    assert!(
        arrived.unwrap().is_some(),
        "{held} frames are held, {admitted} of {all} were admitted; lost: {:?}, {} by kernels",
        drops(stage),
        lost_by_kernels(stage)
    );
    let counts = listeners.counts();
    assert_eq!(counts.len(), scenario.hosts.len() - 1);
    assert!(counts.values().all(|count| *count == COUNT), "{counts:?}");
    assert!(!drops(stage).contains_key("off_tree"), "{:?}", drops(stage));
}

fn every_host_reaches_every_other_one(file: &str) {
    let scenario = scenario(file, &[]);
    let result = run_as_expected_and(&scenario, |stage| {
        assert_eq!(
            without_answer(&scenario, stage.names()),
            Vec::<String>::new()
        );
        broadcasts_arrive_once(&scenario, stage);
    });
    assert_eq!(result.applications.len(), scenario.applications.len());
    for application in result.applications.iter().filter(|one| one.name != "ping") {
        assert!(application.bits_per_second > Some(1e6), "{application:?}");
    }
}

#[test]
fn in_a_ring_every_host_reaches_every_other_one() {
    every_host_reaches_every_other_one("kernel/ring4-kernel.toml");
}

#[test]
fn with_equal_cost_paths_every_host_reaches_every_other_one() {
    every_host_reaches_every_other_one("kernel/leaf-spine-kernel.toml");
}

/// Control: without the tree ARP is dropped.
#[test]
fn without_a_tree_nobody_is_found() {
    let scenario = scenario("kernel/ring4-kernel.toml", &["application="]);
    let stage = Stage::set_up_with(&scenario, false, |config| config.multicast.tree = None);
    let stage = stage.unwrap_or_else(|error| panic!("{error:#}"));
    let hosts = scenario.hosts.len();
    let failed = without_answer(&scenario, stage.names());
    assert_eq!(failed.len(), hosts * (hosts - 1));
    assert!(drops(&stage)["no_route"] > 0);
    stage.tear_down().unwrap();
}

/// One host broadcasts at full speed for some seconds: the frames for others are limited to the rate, and none of their
/// pings is lost.
#[test]
fn a_storm_is_bounded_and_others_lose_nothing() {
    const RATE: u64 = 500;
    const SECONDS: u64 = 4;
    let rate = format!("multicast.edge-rate={RATE}");
    let scenario = scenario("kernel/ring4-kernel.toml", &["application=", &rate]);
    let stage = Stage::set_up(&scenario, false).unwrap_or_else(|error| panic!("{error:#}"));
    let names = stage.names();
    assert_eq!(without_answer(&scenario, names), Vec::<String>::new());
    let listeners = Listeners::start(&scenario, names, "h1");
    let storm = python(names, "h1", &["storm", &SECONDS.to_string()])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let ping = |from: &str, to: usize| {
        inside(&names.namespace(from), Path::new("ping"))
            .args(["-q", "-c", "300", "-i", "0.01", "-W", "5"])
            .arg(scenario.host_ip(to).to_string())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let pings = [ping("h2", 3), ping("h4", 2), ping("h3", 1)];
    for child in pings {
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.contains("300 received"), "{text}");
    }
    let sent = number(&storm.wait_with_output().unwrap());
    let drained = wait_for(PATIENCE, || Ok((stage.held_frames()? == 0).then_some(())));
    assert!(drained.unwrap().is_some(), "frames go round");
    let counts = listeners.counts();
    let drops = drops(&stage);
    println!("sent {sent}, received {counts:?}, dropped {drops:?}");
    // One bucket of 50 ms, or 32 frames, plus the content of the sender's queue at the end.
    let most = RATE * (SECONDS + 2) + 32;
    assert!(sent > 2 * most, "the storm was none: {sent}");
    for (host, count) in &counts {
        assert!((RATE..=most).contains(count), "{host} got {count}");
    }
    assert!(drops["flood_rate"] > 0);
    assert_eq!(drops.get("off_tree"), None);
    stage.tear_down().unwrap();
}
