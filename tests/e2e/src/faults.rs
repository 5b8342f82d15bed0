//! A network with traffic and a fault: checks common to the tests of all faults.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use nix::sys::ptrace;
use nix::sys::wait::{waitpid, WaitPidFlag};
use nix::unistd::Pid;
use weir_config::daemon::DaemonConfig;
use weir_config::scenario::Scenario;
use weir_lab::endpoint::report::{EndpointReport, Snapshot};
use weir_lab::lab::balance::{Balance, Rest};
use weir_lab::lab::stage::Stage;
use weir_lab::lab::switches::SwitchProcess;

use super::{scenario, tear_down, until, PATIENCE, PATIENT_DETECTION};

/// Longer than any of these tests: the hosts send until they are stopped.
const DURATION: &str = "duration=600s";
/// Slow enough that a machine that stalls for a quarter of a second stays within headroom and rings.
const RATE: &str = "link-defaults.rate=25Mbit";

/// A network with traffic.
pub struct Scene {
    /// Its namespaces, switches and hosts.
    pub stage: Stage,
    scenario: Scenario,
}

impl Scene {
    /// Builds a scenario of `scenarios/` whose hosts send.
    pub fn new(file: &str, overrides: &[&str], change: impl FnMut(&mut DaemonConfig)) -> Self {
        let mut all = vec![DURATION, RATE];
        all.extend(overrides);
        Self::of(scenario(file, &all), change)
    }

    /// Builds two switches in a line with PFC, and a receiver that takes a fifth of what is sent.
    pub fn line(change: impl FnMut(&mut DaemonConfig)) -> Self {
        let overrides = ["class.lossless.mode=pfc", PATIENT_DETECTION];
        Self::new("gateway.toml", &overrides, change)
    }

    /// Builds any scenario; its hosts send until they are stopped.
    pub fn of(scenario: Scenario, change: impl FnMut(&mut DaemonConfig)) -> Self {
        let stage = Stage::set_up_with(&scenario, false, change)
            .unwrap_or_else(|error| panic!("{error:#}"));
        let mut scene = Self { stage, scenario };
        scene.start_hosts();
        scene
    }

    /// Restarts the hosts, whose numbers begin at zero.
    pub fn start_hosts(&mut self) {
        // All old hosts must have ended, and each new one waits only for its own device: hosts restarted together would find
        // devices still in use.
        self.stage.hosts.clear();
        let started = self.stage.start_hosts(&self.scenario);
        started.unwrap_or_else(|error| panic!("{error:#}"));
    }

    /// Returns its scenario.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// Returns one switch.
    pub fn switch(&mut self, index: usize) -> &mut SwitchProcess {
        &mut self.stage.switches[index]
    }

    /// Returns the counters of one host.
    pub fn snapshot(&mut self, host: usize) -> Snapshot {
        self.stage.hosts[host]
            .snapshot()
            .unwrap_or_else(|error| panic!("{error:#}"))
    }

    /// Returns the number of frames that a host has received.
    pub fn received(&mut self, host: usize) -> u64 {
        let flows = self.snapshot(host).received;
        flows.iter().map(|flow| flow.frames).sum()
    }

    /// Returns the number of frames that a host has sent.
    pub fn sent(&mut self, host: usize) -> u64 {
        let flows = self.snapshot(host).sent;
        flows.iter().map(|flow| flow.frames).sum()
    }

    /// Waits until a host has received this many more frames.
    pub fn wait_for_more(&mut self, host: usize, more: u64) {
        let wanted = self.received(host) + more;
        until("frames arrive", || {
            (self.received(host) >= wanted).then_some(())
        });
    }

    /// Waits until each host that expects frames has received this many more.
    pub fn wait_for_all(&mut self, more: u64) {
        for host in 0..self.stage.hosts.len() {
            if !self.snapshot(host).received.is_empty() {
                self.wait_for_more(host, more);
            }
        }
    }

    /// Runs `ip` in the namespace of a switch or host.
    pub fn ip(&self, node: &str, words: &str) {
        let namespace = self.stage.names().namespace(node);
        let output = Command::new("ip")
            .args(["-n", &namespace])
            .args(words.split_whitespace())
            .output()
            .unwrap();
        assert!(output.status.success(), "{words}: {output:?}");
    }

    /// Makes a host's kernel poll its device only at this interval; zero restores immediate polling.
    pub fn take_late(&self, host: &str, interval: Duration) {
        let names = self.stage.names();
        let times = if interval.is_zero() { 0 } else { i32::MAX };
        let script = format!(
            "cd /sys/class/net/{} && echo {} > gro_flush_timeout && echo {times} > napi_defer_hard_irqs",
            names.host_device(),
            interval.as_nanos(),
        );
        let output = Command::new("ip")
            .args(["netns", "exec", &names.namespace(host), "sh", "-c", &script])
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
    }

    /// Waits until nothing moves: the hosts send nothing, and frames in flight have arrived, are lost, or cannot leave.
    pub fn settle(&mut self) {
        self.stage
            .settle(Rest::Still, PATIENCE)
            .unwrap_or_else(|error| panic!("{error:#}"));
    }

    /// Settles, ends the hosts and adds up. Every flow must be in order and without corruption.
    pub fn balance(&mut self) -> Balance {
        self.settle();
        let (balance, reports) = self
            .stage
            .balance()
            .unwrap_or_else(|error| panic!("{error:#}"));
        for flow in reports.iter().flat_map(|report| &report.received) {
            let wrong = (flow.reordered, flow.duplicated, flow.corrupted);
            assert_eq!(wrong, (0, 0, 0), "{flow:?}");
        }
        eprintln!("{balance:?}");
        reports
            .iter()
            .for_each(|report| eprintln!("{:?}", report.kernel));
        balance
    }

    /// Checks that nothing was lost anywhere.
    pub fn assert_lossless(&mut self) {
        let balance = self.balance();
        let whole = Balance {
            sent: balance.sent,
            received: balance.sent,
            ..Balance::default()
        };
        assert_eq!(balance, whole);
    }

    /// Ends the hosts.
    pub fn reports(&mut self) -> Vec<EndpointReport> {
        self.stage
            .finish_hosts()
            .unwrap_or_else(|error| panic!("{error:#}"))
    }

    /// Ends it normally; checks that nothing of any switch is left.
    pub fn end(self) {
        tear_down(self.stage);
    }
}

/// Returns the thread of a process with this name in `/proc`.
pub fn thread(process: u32, name: &str) -> Pid {
    let tasks = format!("/proc/{process}/task");
    let is_named = |task: &Path| {
        std::fs::read_to_string(task.join("comm")).is_ok_and(|comm| comm.trim_end() == name)
    };
    let task = std::fs::read_dir(&tasks)
        .unwrap()
        .map(|task| task.unwrap().path())
        .find(|task| is_named(task))
        .unwrap_or_else(|| panic!("no thread {name} in {tasks}"));
    let id = task.file_name().unwrap().to_str().unwrap();
    Pid::from_raw(id.parse().unwrap())
}

/// A single thread stopped anywhere, as by a debugger, while all others run. It continues on drop.
pub struct Held(Pid);

impl Held {
    /// Stops `thread` now.
    pub fn new(thread: Pid) -> Self {
        ptrace::seize(thread, ptrace::Options::empty()).unwrap();
        ptrace::interrupt(thread).unwrap();
        // Only this flag waits for a thread that is not our child.
        waitpid(thread, Some(WaitPidFlag::__WALL)).unwrap();
        Self(thread)
    }

    /// Lets it continue.
    pub fn let_go(self) {}
}

impl Drop for Held {
    fn drop(&mut self) {
        // Fails only for a thread that has ended.
        let _ = ptrace::detach(self.0, None);
    }
}
