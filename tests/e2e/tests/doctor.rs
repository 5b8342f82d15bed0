//! `switchctl doctor` on wrong set-ups: each is identified, and its remedy works literally.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use nix::sys::signal::{kill, Signal};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;
use weir_lab::lab::process::{inside, program};
use weir_tests::namespace::Namespace;
use weir_tests::scapy::Scapy;
use weir_tests::{printed, until, Bench};

/// A veth with the settings that a switch needs: `left` is the port, `right` a neighbour in the same namespace.
const GOOD: &str = "ip link set lo up
ip link add left numrxqueues 4 numtxqueues 4 type veth peer name right numrxqueues 4 numtxqueues 4
ethtool -L left rx 1 tx 1
ethtool -L right rx 1 tx 1
ethtool -K right tx off txvlan off
ip link set left up
ip link set right up";
/// An XDP program that does not belong to the switch.
const FOREIGN: &str = "__attribute__((section(\"xdp\"), used)) int other(void *ctx) { return 2; }
char words[] __attribute__((section(\"license\"), used)) = \"GPL\";";

/// A network namespace with a switch's file. Removed on drop.
struct Place {
    namespace: Namespace,
    directory: TempDir,
}

impl Place {
    fn new(name: &str, dataplane: &str, port: &str) -> Self {
        let place = Self {
            namespace: Namespace::create(&format!("doctor-{name}")),
            directory: tempfile::tempdir().unwrap(),
        };
        place.does(GOOD);
        let directory = place.directory.path().display();
        let port = match port.contains("device") {
            true => port.to_owned(),
            false => format!("device = \"left\"\n{port}"),
        };
        let text = format!(
            "name = \"s1\"\nrun-dir = \"{directory}/run\"\nmetrics = {{ listen = \"off\" }}\n\
             page = {{ listen = \"off\" }}\n[dataplane]\n{dataplane}\n\
             [[port]]\nname = \"p\"\nrole = \"edge\"\nrate = \"1Gbit\"\n{port}\n"
        );
        fs::write(place.file(), text).unwrap();
        place
    }

    fn file(&self) -> PathBuf {
        self.directory.path().join("s1.toml")
    }

    fn program(&self, program: &Path) -> Command {
        inside(self.namespace.name(), program)
    }

    /// Runs shell commands that must all succeed.
    fn does(&self, commands: &str) {
        let mut shell = self.program(Path::new("sh"));
        printed(shell.args(["-e", "-c", commands]));
    }

    fn doctor(&self) -> (Output, Vec<Value>) {
        let mut command = self.program(&program("switchctl").unwrap());
        let command = command.args(["--json", "doctor", "--config"]);
        let output = command.arg(self.file()).output().unwrap();
        let findings = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {output:?}"));
        (output, findings)
    }

    fn mend(&self, remedy: &Value) {
        if let Some(command) = remedy["command"].as_str() {
            return self.does(command);
        }
        let setting = &remedy["setting"];
        let file = setting["file"].as_str().unwrap();
        assert_eq!(Path::new(file), self.file(), "{remedy}");
        let key = setting["key"].as_str().unwrap();
        let (_, key) = key.rsplit_once('.').unwrap();
        let text = fs::read_to_string(file).unwrap();
        let lines = text.lines().filter_map(|line| {
            let is_it = line.starts_with(&format!("{key} = "));
            match (is_it, setting["value"].as_str()) {
                (false, _) => Some(line.to_owned()),
                (true, None) => None,
                (true, Some(value)) => Some(format!("{key} = {value}")),
            }
        });
        let changed = lines.collect::<Vec<_>>().join("\n");
        assert_ne!(changed, text.trim_end(), "{remedy}");
        fs::write(file, changed).unwrap();
    }
}

fn problems(findings: &[Value]) -> Vec<&Value> {
    let problems = findings.iter();
    problems
        .filter(|finding| finding["grade"] == "problem")
        .collect()
}

/// A wrong set-up: its name, the file's `[dataplane]` and port, the change of the veth, and the check that detects it.
type Wrong = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
);

/// A class with less headroom than a host's measured need.
const SHORT: &str =
    "overshoot = \"64KiB\"\nround-trip = \"10us\"\n[[class]]\nname = \"lossless\"\npriority = 3\n\
    mode = \"pfc\"\nxoff = \"64KiB\"\nxon = \"32KiB\"\nheadroom = \"16KiB\"";

const WRONG: [Wrong; 13] = [
    ("down", "", "", "ip link set left down", "link"),
    ("mtu", "", "", "ip link set left mtu 1400", "mtu"),
    ("tag", "", "", "ethtool -K right txvlan on", "other-end"),
    (
        "sum",
        "express = \"auto\"",
        "",
        "ethtool -K right tx on tso off",
        "other-end",
    ),
    (
        "tso",
        "xdp-mode = \"generic\"",
        "",
        "ethtool -K right tx on tso on",
        "other-end",
    ),
    ("many", "", "queues = 1", "ethtool -L left rx 4", "queues"),
    ("few", "", "queues = 4", "true", "queues"),
    ("more", "", "queues = 9", "true", "queues"),
    ("copy", "zero-copy = \"require\"", "", "true", "zero-copy"),
    ("name", "", "device = \"lef\"", "true", "device"),
    (
        "vxlan",
        "xdp-mode = \"native\"",
        "device = \"some\"",
        "ip link add some mtu 1500 type vxlan id 5 dstport 4789; ip link set some up",
        "xdp",
    ),
    ("cpu", "cpu = 999", "", "true", "cpus"),
    ("room", "", SHORT, "true", "headroom"),
];

#[test]
fn each_wrong_set_up_is_named_and_its_remedy_works() {
    for (name, dataplane, port, make_wrong, check) in WRONG {
        let place = Place::new(name, dataplane, port);
        place.does(make_wrong);
        is_mended(&place, name, check);
    }
}

#[test]
fn a_program_of_somebody_else_is_named_and_detached() {
    let place = Place::new("foreign", "", "");
    let directory = place.directory.path();
    let (source, object) = (directory.join("other.c"), directory.join("other.o"));
    fs::write(&source, FOREIGN).unwrap();
    let mut clang = Command::new("clang");
    let clang = clang.args(["-target", "bpf", "-g", "-O2", "-c", "-o"]);
    printed(clang.arg(&object).arg(&source));
    for mode in ["xdpdrv", "xdpgeneric"] {
        let object = object.display();
        place.does(&format!("ip link set dev left {mode} obj {object} sec xdp"));
        is_mended(&place, mode, "xdp");
    }
}

/// Checks that all problems are of this check, and that their remedies remove them.
fn is_mended(place: &Place, name: &str, check: &str) {
    let (output, findings) = place.doctor();
    assert_eq!(output.status.code(), Some(1), "{name}: {findings:#?}");
    let found = problems(&findings);
    let of_check = |it: &&&Value| it["check"] == check;
    assert!(found.iter().all(|it| of_check(&it)), "{name}: {found:#?}");
    for problem in &found {
        place.mend(&problem["remedy"]);
    }
    let (output, findings) = place.doctor();
    assert_eq!(output.status.code(), Some(0), "{name}: {findings:#?}");
    let line = findings.iter().find(|it| it["check"] == check);
    // A file without a CPU has nothing to report. The best result for a tunnel and a veth is a note.
    let is_best = name == "vxlan" || check == "zero-copy";
    let is_good = |line: &Value| line["grade"] == "ok" || (is_best && line["grade"] == "note");
    assert!(line.is_none_or(is_good), "{name}: {line:#?}");
}

#[test]
fn a_running_switch_is_sound_and_its_report_is_complete() {
    let bench = Bench::new(&[], |_| ());
    let report = bench.file("report.json");
    let socket = bench.switch.config.api_socket.display().to_string();
    let mut command = bench.command("s1", program("switchctl").unwrap().to_str().unwrap());
    let command = command.args(["--socket", &socket, "doctor", "--report"]);
    let text = printed(command.arg(&report));
    assert!(text.contains("is attached, native"), "{text}");
    let report: Value = serde_json::from_slice(&fs::read(&report).unwrap()).unwrap();
    assert_eq!(report["facts"]["devices"][0]["name"], "h1", "{report}");
    assert!(report["running"]["pid"].is_u64() && report["configuration"].is_string());
    bench.end();
}

#[test]
fn the_daemon_logs_problems_and_remedies() {
    let place = Place::new("log", "", "");
    place.does("ethtool -K right txvlan on");
    let mut daemon = place.program(&program("weir-switchd").unwrap());
    let daemon = daemon.arg("--config").arg(place.file());
    let mut daemon = daemon.stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(daemon.stderr.take().unwrap()).lines();
    let mut seen = Vec::new();
    // The log ends with the daemon.
    let line = lines.map_while(Result::ok).find(|line| {
        seen.push(line.clone());
        line.contains("ethtool -K right txvlan off")
    });
    kill(Pid::from_raw(daemon.id() as i32), Signal::SIGTERM).unwrap();
    assert!(daemon.wait().unwrap().success());
    let line = line.unwrap_or_else(|| panic!("{seen:#?}"));
    assert!(line.contains("WARN"), "{line}");
}

#[test]
fn a_file_that_is_not_there_is_refused() {
    let place = Place::new("usage", "", "");
    let mut command = place.program(&program("switchctl").unwrap());
    let command = command.args(["doctor", "--config", "/no/such/file.toml"]);
    assert_eq!(command.output().unwrap().status.code(), Some(2));
}

/// h2 pauses, and h1 ignores the switch's pauses.
#[test]
fn a_host_that_sends_on_after_xoff_is_named_with_its_figures() {
    const PAUSE: &str = "bytes.fromhex('0180c2000001025700000002' '8808' '0101' '0008' '000000000000ffff') + bytes(40)";
    const FRAME: &str =
        "Ether(src='02:57:00:00:00:01', dst='02:57:00:00:00:02') / Dot1Q(vlan=0, prio=3) / Raw(bytes(1000))";
    let overrides = ["link-defaults.rate=10Mbit", "class.lossless.headroom=16KiB"];
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/three-hosts.toml");
    let bench = Bench::of(file, &overrides, |_| ());
    let doctor = || {
        let mut command = bench.command("s1", program("switchctl").unwrap().to_str().unwrap());
        command.args(["--json", "doctor", "--config"]);
        let output = command.arg(bench.switch.config_file()).output().unwrap();
        let findings: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
        let about = findings.into_iter();
        about
            .filter(|finding| finding["check"] == "headroom" && finding["grade"] == "problem")
            .collect::<Vec<Value>>()
    };
    assert_eq!(doctor(), Vec::<Value>::new());
    let [mut h1, mut h2] = ["h1", "h2"].map(|host| Scapy::start(&bench, host));
    until("frames are dropped", || {
        h2.send(1, PAUSE);
        h1.send(20, FRAME);
        (bench.drops("h1", "headroom_exceeded") > 0).then_some(())
    });
    let problems = doctor();
    let [problem] = &problems[..] else {
        panic!("{problems:?}");
    };
    assert_eq!(problem["device"], bench.port("h1").device.as_str());
    let found = problem["found"].as_str().unwrap();
    assert!(found.contains("port h1, class lossless"), "{found}");
    assert!(found.contains(" of 16KiB"), "{found}");
    let remedy = problem["remedy"]["other"].as_str().unwrap();
    assert!(remedy.contains("weir-host measure"), "{remedy}");
    drop((h1, h2));
    bench.end();
}
