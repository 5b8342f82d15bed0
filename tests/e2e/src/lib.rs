//! Shared helpers of the end-to-end tests, all of which need root.
//!
//! Design: docs/src/internals/design/labs.md.

pub mod book;
pub mod browser;
#[path = "../../../crates/export/tests/capture.rs"]
pub mod capture;
pub mod collector;
pub mod cpu;
pub mod faults;
pub mod iperf;
pub mod metrics;
pub mod namespace;
pub mod prometheus;
pub mod scapy;
pub mod switches;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Once;
use std::time::{Duration, Instant};

use weir_api::daemon::{Pfc, Port};
use weir_api::run::RunResult;
use weir_config::daemon::{DaemonConfig, Express, Workers};
use weir_config::scenario::Scenario;
use weir_lab::lab::configuration::{lab_config, METRICS_ADDRESS};
use weir_lab::lab::interrupt::{self, wait_for};
use weir_lab::lab::names::Names;
use weir_lab::lab::process::{inside, Process};
use weir_lab::lab::run::{run_and, Options};
use weir_lab::lab::stage::Stage;
use weir_lab::lab::switches::SwitchProcess;
use weir_lab::lab::topology::{plan, Topology};
use weir_results::table;

/// Time limit of any one condition.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// Words of ping(8) for three requests at once: it ends with the third reply, and waits for it for 30 s. After requests at
/// intervals it waits for one interval or two round trips only, which a busy machine exceeds.
pub const PING_THREE: [&str; 7] = ["ping", "-c", "3", "-l", "3", "-i", "30"];
/// Priority of the scenarios' lossless class.
pub const LOSSLESS: u8 = 3;
/// For runs in which nothing may be suspected. A switch whose process stalls for longer than the detection time is correctly
/// suspected by its neighbour, and on a shared machine processes stall: with 127 injected stops of 120 to 240 ms and
/// detection after 100 ms, ports were suspected in one run of 14, and nothing was lost. A real lock lasts for the rest of
/// the run.
pub const PATIENT_DETECTION: &str = "deadlock.detect=400ms";

/// For `ring4.toml`: hosts send a twentieth of their lines' capacity, so that a machine that stalls for a second causes no
/// pause.
pub const GENTLE_RING: [&str; 7] = [
    "flow.a.rate=5Mbit",
    "flow.b.rate=5Mbit",
    "flow.c.rate=5Mbit",
    "flow.d.rate=5Mbit",
    "flow.e.rate=5Mbit",
    "class.lossless.xon=500KiB",
    "class.lossless.xoff=600KiB",
];

/// Reads a file of `scenarios/` with overrides.
pub fn scenario(file: &str, overrides: &[&str]) -> Scenario {
    clean_up_on_signals();
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../scenarios")
        .join(file);
    let overrides: Vec<_> = overrides.iter().map(|text| text.parse().unwrap()).collect();
    Scenario::load(&path, &overrides).unwrap_or_else(|error| panic!("{error}"))
}

/// Parses a scenario for a single test.
pub fn inline_scenario(name: &str, text: &str) -> Scenario {
    clean_up_on_signals();
    Scenario::parse(text, Path::new(name), &[]).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs a scenario; fails unless all its expectations are met.
pub fn run_as_expected(scenario: &Scenario) -> RunResult {
    run_as_expected_and(scenario, |_| ())
}

/// Like [`run_as_expected`]; `look` sees the network after it has drained, while it still runs.
pub fn run_as_expected_and(scenario: &Scenario, look: impl FnOnce(&Stage)) -> RunResult {
    run_with_workers(scenario, Workers::default(), look)
}

/// Checks that nothing was dropped, and everything sent has arrived.
pub fn assert_delivered(result: &RunResult) {
    assert!(result.drops.is_empty(), "{:?}", result.drops);
    for flow in &result.flows {
        assert_eq!(flow.sent, flow.received, "all has drained: {flow:?}");
    }
}

/// Runs with this number of threads for the sockets of each switch.
pub fn run_with_workers(
    scenario: &Scenario,
    workers: Workers,
    look: impl FnOnce(&Stage),
) -> RunResult {
    let options = Options {
        workers,
        ..Options::default()
    };
    run_with(scenario, options, look)
}

/// Runs with these options.
pub fn run_with(scenario: &Scenario, options: Options, look: impl FnOnce(&Stage)) -> RunResult {
    let options = Options {
        quiet: true,
        ..options
    };
    let looked = |stage: &Stage| {
        look(stage);
        Ok(())
    };
    let (result, ()) =
        run_and(scenario, options, looked).unwrap_or_else(|error| panic!("{error:#}"));
    let as_expected = result.expectations.iter().all(|expected| expected.held);
    assert!(as_expected, "{}", table::run(&result));
    assert!(
        !result.expectations.is_empty(),
        "the scenario expects nothing"
    );
    result
}

/// For tests of the path without express forwarding, regardless of `WEIR_LAB_EXPRESS`.
pub fn keep_off_the_express_path(config: &mut DaemonConfig) {
    config.dataplane.express = Express::Off;
}

/// Builds the scenario's network with forwarding daemons and sending hosts.
pub fn with_traffic(scenario: &Scenario) -> Stage {
    let mut stage = Stage::set_up(scenario, false).unwrap_or_else(|error| panic!("{error:#}"));
    stage
        .start_hosts(scenario)
        .unwrap_or_else(|error| panic!("{error:#}"));
    stage
}

/// Ends it normally; checks that nothing of any switch is left.
pub fn tear_down(stage: Stage) {
    let switches = stage.switches.iter();
    let run_dirs: Vec<_> = switches
        .map(|switch| switch.config.run_dir.clone())
        .collect();
    stage
        .tear_down()
        .unwrap_or_else(|error| panic!("{error:#}"));
    run_dirs.iter().for_each(|dir| assert_nothing_left(dir));
}

/// Polls `condition` until it returns a value.
pub fn until<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    wait_for(PATIENCE, || Ok(condition()))
        .unwrap_or_else(|error| panic!("{error:#}"))
        .unwrap_or_else(|| panic!("not within {} s: {what}", PATIENCE.as_secs()))
}

/// Returns after `time`, and calls `check` again and again meanwhile.
pub fn go_on_for(time: Duration, mut check: impl FnMut()) {
    let began = Instant::now();
    let over = || {
        check();
        Ok((began.elapsed() >= time).then_some(()))
    };
    wait_for(time + PATIENCE, over).unwrap_or_else(|error| panic!("{error:#}"));
}

/// Returns the number in an environment variable, or `default` if it is not set.
pub fn variable(name: &str, default: u64) -> u64 {
    let value = std::env::var(name).ok();
    value.map_or(default, |value| value.parse().unwrap())
}

/// Returns the output of a program that must succeed.
pub fn printed(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {text}{errors}");
    text
}

/// Switches with hosts `h1` and `h2`, which are namespaces with an ordinary kernel. Removed on drop: the fields are dropped
/// in this order.
pub struct Bench {
    /// Switch of `h1`.
    pub switch: SwitchProcess,
    /// Other switches, if any.
    pub others: Vec<SwitchProcess>,
    _topology: Topology,
    names: Names,
    directory: Directory,
}

/// A directory that is removed on drop.
pub struct Directory(pub PathBuf);

impl Bench {
    /// Starts one switch; waits until it forwards. `change` modifies its configuration last.
    pub fn new(overrides: &[&str], change: impl FnMut(&mut DaemonConfig)) -> Self {
        Self::of("one-switch.toml", overrides, change)
    }

    /// Starts the switches of a scenario; waits until all forward.
    pub fn of(file: &str, overrides: &[&str], change: impl FnMut(&mut DaemonConfig)) -> Self {
        Self::prepared(file, overrides, |_| (), change)
    }

    /// Like [`of`](Self::of); calls `prepare` before any switch starts, which may change the devices.
    pub fn prepared(
        file: &str,
        overrides: &[&str],
        prepare: impl FnOnce(&Names),
        mut change: impl FnMut(&mut DaemonConfig),
    ) -> Self {
        let scenario = scenario(file, overrides);
        let names = Names::new();
        let directory = Directory(names.directory().to_owned());
        let topology = Topology::build(&plan(&scenario, &names), &names)
            .unwrap_or_else(|error| panic!("{error:#}"));
        prepare(&names);
        let mut start = |index| {
            let mut config = lab_config(&scenario, index, &names);
            change(&mut config);
            let mut switch = SwitchProcess::start(config, &names).unwrap();
            switch.ready().unwrap_or_else(|error| panic!("{error:#}"));
            switch
        };
        let switch = start(0);
        let others = (1..scenario.switches.len()).map(start).collect();
        Self {
            switch,
            others,
            _topology: topology,
            names,
            directory,
        }
    }

    /// Returns a command inside a host or the switch; append arguments.
    pub fn command(&self, node: &str, program: &str) -> Command {
        inside(&self.names.namespace(node), Path::new(program))
    }

    /// Runs a program inside a host or the switch and returns its output; it must succeed.
    pub fn output(&self, node: &str, words: &[&str]) -> String {
        let mut command = self.command(node, words[0]);
        printed(command.args(&words[1..]))
    }

    /// Starts a program inside a host; killed on drop.
    pub fn start(&self, node: &str, words: &[&str]) -> Process {
        let mut command = self.command(node, words[0]);
        command
            .args(&words[1..])
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        Process::start(
            words[0],
            command,
            &self.file(&format!("{node}-{}.log", words[0])),
        )
        .unwrap()
    }

    /// Returns the network namespace of a host or a switch.
    pub fn namespace(&self, node: &str) -> String {
        self.names.namespace(node)
    }

    /// Returns the path of a file in the bench's directory.
    pub fn file(&self, name: &str) -> PathBuf {
        self.directory.0.join(name)
    }

    /// Gives `h1` 10.99.0.1, and `h2` 10.99.0.2.
    pub fn give_addresses(&self) {
        for (host, address) in [("h1", "10.99.0.1/24"), ("h2", "10.99.0.2/24")] {
            let device = self.host_device();
            self.output(host, &["ip", "address", "add", address, "dev", device]);
            // The receiver would drop a frame redirected by XDP with an incomplete checksum.
            let features = self.output(host, &["ethtool", "-k", device]);
            assert!(features.contains("tx-checksumming: off"), "{features}");
        }
    }

    /// Device name in every host.
    pub fn host_device(&self) -> &str {
        self.names.host_device()
    }

    /// Returns the state of the switch's port to `host`.
    pub fn port(&self, host: &str) -> Port {
        switches::port(&self.switch, host)
    }

    /// Returns the state of the lossless priority at the port to `host`.
    pub fn pfc(&self, host: &str) -> Pfc {
        switches::pfc(&self.switch, host)
    }

    /// Returns a sample of the first switch's metrics by its name and labels, as written there.
    pub fn metric(&self, series: &str) -> u64 {
        let text = self.output(
            "s1",
            &["curl", "-s", &format!("http://{METRICS_ADDRESS}/metrics")],
        );
        let value = text.lines().find_map(|line| {
            let rest = line.strip_prefix(series)?;
            rest.strip_prefix(' ')
        });
        value
            .unwrap_or_else(|| panic!("{series}: {text}"))
            .parse()
            .unwrap()
    }

    /// Returns the number of frames from `host` dropped for `reason`.
    pub fn drops(&self, host: &str, reason: &str) -> u64 {
        self.port(host)
            .drops_total
            .get(reason)
            .copied()
            .unwrap_or(0)
    }

    /// Ends the switches normally; checks that they leave nothing behind.
    pub fn end(mut self) {
        for switch in std::iter::once(&mut self.switch).chain(&mut self.others) {
            switches::end(switch);
            assert_nothing_left(&switch.config.run_dir);
        }
    }
}

/// Checks that nothing exists or is mounted at or below `run_dir`.
pub fn assert_nothing_left(run_dir: &Path) {
    assert!(!run_dir.exists(), "{} is left behind", run_dir.display());
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
    assert!(
        !mounts.contains(run_dir.to_str().unwrap()),
        "left mounted: {mounts}"
    );
}

impl Drop for Directory {
    fn drop(&mut self) {
        for entry in std::fs::read_dir(&self.0).into_iter().flatten().flatten() {
            let _ = Command::new("umount")
                .arg("-q")
                .arg(entry.path().join("bpf"))
                .stderr(Stdio::null())
                .status();
        }
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A test runner that gives up sends SIGTERM: waits then fail, and clean up.
fn clean_up_on_signals() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| interrupt::catch().unwrap());
}

/// Returns Python with the packages of `python/requirements.txt`. `None` if the Python Package Index was not reached: `what`
/// is then reported as missing, as in `cargo xtask setup`. Without a setup this is an error.
pub fn python(what: &str) -> Option<PathBuf> {
    let environment = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/python");
    if environment.join("not-reached").exists() {
        eprintln!("NOT DONE: {what} could not be installed, see `cargo xtask setup`");
        return None;
    }
    let python = environment.join("bin/python");
    assert!(
        python.exists(),
        "{} is missing: `cargo xtask setup` makes it",
        python.display()
    );
    Some(python)
}
