//! `switchctl doctor --loop` over a veth with a reflector at the other end: a good one, and some with each possible fault of
//! a NIC.

use std::fs;
use std::io::{BufRead, BufReader, Lines};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use nix::sys::signal::{kill, Signal};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;
use weir_lab::lab::process::{inside, program};
use weir_tests::namespace::Namespace;
use weir_tests::{printed, until, Bench};

/// `left` is tested; `right` reflects, in another namespace.
const LINKS: &str = "ip link set lo up
ip link add left numrxqueues 4 numtxqueues 4 type veth peer name right netns FAR numrxqueues 4 numtxqueues 4
ethtool -L left rx QUEUES tx QUEUES
ip link set left mtu MTU
ip link set left up";
const FAR_LINKS: &str = "ethtool -L right rx QUEUES tx QUEUES
ethtool -K right tx off txvlan off
ip link set right mtu MTU
ip link set right up";

/// Two namespaces with a veth between them, and a switch's file. Removed on drop.
struct Place {
    near: Namespace,
    far: Namespace,
    directory: TempDir,
}

impl Place {
    fn new(name: &str, dataplane: &str, mtu: u32, queues: u32) -> Self {
        let own = |end: &str| Namespace::create(&format!("loop-{name}-{end}"));
        let place = Self {
            near: own("n"),
            far: own("f"),
            directory: tempfile::tempdir().unwrap(),
        };
        for (namespace, commands) in [(&place.near, LINKS), (&place.far, FAR_LINKS)] {
            let commands = commands
                .replace("FAR", place.far.name())
                .replace("QUEUES", &queues.to_string())
                .replace("MTU", &mtu.to_string());
            let mut shell = inside(namespace.name(), Path::new("sh"));
            printed(shell.args(["-e", "-c", &commands]));
        }
        let directory = place.directory.path().display();
        let text = format!(
            "name = \"s1\"\nrun-dir = \"{directory}/run\"\n[dataplane]\n{dataplane}\n\
             [[port]]\nname = \"p\"\ndevice = \"left\"\nrole = \"edge\"\nrate = \"1Gbit\"\n\
             [[port]]\nname = \"q\"\ndevice = \"absent\"\nrole = \"edge\"\nrate = \"1Gbit\"\n"
        );
        fs::write(directory.to_string() + "/s1.toml", text).unwrap();
        place
    }

    /// Starts the reflector, and waits until it is ready.
    fn reflector(&self, fault: Option<&str>) -> Reflector {
        let mut command = inside(self.far.name(), &program("weir-endpoint").unwrap());
        command.args(["reflect", "right"]);
        command.args(fault.iter().flat_map(|fault| ["--fault", *fault]));
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let first = lines.next().unwrap().unwrap();
        assert!(first.starts_with("reflecting at right"), "{first}");
        Reflector { child, lines }
    }

    fn doctor(&self, more: &[&str]) -> Command {
        let mut command = inside(self.near.name(), &program("switchctl").unwrap());
        command.args(["--json", "doctor", "--loop", "left", "--config"]);
        command.arg(self.directory.path().join("s1.toml"));
        command.args(more);
        command
    }

    fn findings(&self, more: &[&str]) -> (Output, Vec<Value>) {
        let output = self.doctor(more).output().unwrap();
        let findings = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {output:?}"));
        (output, findings)
    }

    /// Checks that no program is left at either end, and no socket listens to all addresses.
    fn is_clean(&self) {
        for (namespace, device) in [(&self.near, "left"), (&self.far, "right")] {
            let mut command = inside(namespace.name(), Path::new("ip"));
            let text = printed(command.args(["-details", "link", "show", device]));
            assert!(!text.contains("xdp"), "{text}");
            assert!(text.contains("promiscuity 0 "), "{text}");
        }
    }
}

/// The reflector. Killed on drop.
struct Reflector {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Reflector {
    fn end(mut self) {
        kill(Pid::from_raw(self.child.id() as i32), Signal::SIGTERM).unwrap();
        let last = self.lines.next().unwrap().unwrap();
        assert!(last.starts_with("the last test: "), "{last}");
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}");
    }
}

impl Drop for Reflector {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn of_loop(findings: &[Value]) -> Vec<&Value> {
    let is_loop = |it: &&Value| it["check"].as_str().unwrap().starts_with("loop");
    findings.iter().filter(is_loop).collect()
}

#[test]
fn a_good_neighbour_has_everything_come_back() {
    let set_ups = [
        ("native", "", 1500, 1),
        ("generic", "xdp-mode = \"generic\"", 1500, 1),
        ("queues", "", 1500, 4),
        ("long", "mtu = \"3000B\"", 3000, 1),
        ("jumbo", "mtu = \"9000B\"", 9000, 1),
    ];
    for (name, dataplane, mtu, queues) in set_ups {
        let place = Place::new(name, dataplane, mtu, queues);
        let reflector = place.reflector(None);
        let report = place.directory.path().join("report.json");
        let (output, findings) = place.findings(&["--report", report.to_str().unwrap()]);
        let found = of_loop(&findings);
        let is_ok = |it: &&&Value| it["grade"] == "ok";
        assert_eq!(found.iter().filter(is_ok).count(), 4, "{name}: {found:#?}");
        // The trial does not send frames that exceed the neighbour's memory.
        let notes = usize::from(name == "jumbo");
        assert_eq!(found.len(), 4 + notes, "{name}: {found:#?}");
        assert_eq!(output.status.code(), Some(0), "{name}: {findings:#?}");
        let report: Value = serde_json::from_slice(&fs::read(&report).unwrap()).unwrap();
        let trial = &report["trial"];
        let frames = &trial["frames"];
        let longest = mtu.min(4096 - 256 - 14 - 4) + 18;
        assert_eq!(frames["sent"]["shortest_bytes"], 60, "{name}");
        assert_eq!(frames["sent"]["longest_bytes"], longest, "{name}");
        assert_eq!(frames["arrived"], frames["returned"], "{name}");
        assert_eq!(trial["link"]["queues"], queues, "{name}");
        assert_eq!(
            trial["pauses"]["came_here"],
            Value::from(vec![4; 8]),
            "{name}"
        );
        reflector.end();
        place.is_clean();
    }
}

#[test]
fn each_fault_of_a_neighbour_is_named_with_a_remedy() {
    let faults = [
        ("lose=100", "loop-frames", "did not come to the neighbour"),
        ("lose-back=100", "loop-frames", "and not back"),
        ("cut=1024", "loop-frames", "came cut at the neighbour"),
        ("cut-back=1024", "loop-frames", "came cut here"),
        ("strip", "loop-tags", "lost their VLAN tag at the neighbour"),
        ("strip-back", "loop-tags", "lost their VLAN tag here"),
        (
            "change=100",
            "loop-frames",
            "with other bytes at the neighbour",
        ),
        ("swap-back=100", "loop-order", "after a later one"),
        (
            "eat",
            "loop-pfc",
            "0 of 32 PFC frames came to the neighbour",
        ),
        (
            "eat-back",
            "loop-pfc",
            "0 of 32 PFC frames of the neighbour",
        ),
    ];
    let place = Place::new("faults", "", 1500, 1);
    for (fault, check, words) in faults {
        let reflector = place.reflector(Some(fault));
        let (output, findings) = place.findings(&[]);
        assert_eq!(output.status.code(), Some(1), "{fault}: {findings:#?}");
        let is_problem = |it: &&Value| it["grade"] == "problem";
        let problems: Vec<_> = findings.iter().filter(is_problem).collect();
        assert_eq!(problems.len(), 1, "{fault}: {problems:#?}");
        assert_eq!(problems[0]["check"], check, "{fault}");
        assert!(!problems[0]["remedy"].is_null(), "{fault}");
        let found = problems[0]["found"].as_str().unwrap();
        assert!(found.contains(words), "{fault}: {found}");
        reflector.end();
    }
    place.is_clean();
}

#[test]
fn it_ends_without_a_reflector_and_on_interruption() {
    let place = Place::new("ends", "", 1500, 1);
    let (output, findings) = place.findings(&[]);
    assert_eq!(output.status.code(), Some(1));
    let found = of_loop(&findings);
    assert!(found[0]["found"]
        .as_str()
        .unwrap()
        .contains("nobody reflects"));
    place.is_clean();

    // All frames are lost, which takes the maximum time.
    let reflector = place.reflector(Some("lose-back=1"));
    let (_, findings) = place.findings(&["--time", "500ms"]);
    assert!(of_loop(&findings)[0]["found"]
        .as_str()
        .unwrap()
        .contains("not done after"));

    let mut command = place.doctor(&[]);
    let child = command.stdout(Stdio::piped()).spawn().unwrap();
    let is_attached = || {
        let mut command = inside(place.near.name(), Path::new("ip"));
        printed(command.args(["link", "show", "left"])).contains("xdp")
    };
    until("the program is attached", || is_attached().then_some(()));
    // `nsenter` has become the program.
    kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).unwrap();
    let output = child.wait_with_output().unwrap();
    let findings: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    let found = of_loop(&findings);
    assert!(
        found[0]["found"].as_str().unwrap().contains("interrupted"),
        "{found:#?}"
    );
    reflector.end();
    place.is_clean();
}

#[test]
fn a_device_in_no_file_is_tried_with_default_settings() {
    let place = Place::new("default", "", 1500, 1);
    let reflector = place.reflector(None);
    let mut command = inside(place.near.name(), &program("switchctl").unwrap());
    let output = command
        .args(["--json", "doctor", "--loop", "left"])
        .output();
    let output = output.unwrap();
    let findings: Vec<Value> = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {output:?}"));
    let found = of_loop(&findings);
    assert_eq!(found.len(), 4, "{found:#?}");
    assert!(found.iter().all(|it| it["grade"] == "ok"), "{found:#?}");
    reflector.end();
    place.is_clean();
}

#[test]
fn the_device_of_a_switch_that_runs_is_refused() {
    let bench = Bench::new(&[], |_| ());
    let socket = bench.switch.config.api_socket.display().to_string();
    let mut command = bench.command("s1", program("switchctl").unwrap().to_str().unwrap());
    let command = command.args(["--socket", &socket, "doctor", "--loop", "h1"]);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(
        said.contains("`h1` is a port of the switch that runs"),
        "{said}"
    );
    bench.end();
}
