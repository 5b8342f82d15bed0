//! A network with traffic in which something goes wrong: what every fault's test looks at. Hosts number the frames that
//! they send, so that what was lost is counted and not guessed.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use nix::sys::ptrace;
use nix::sys::wait::{waitpid, WaitPidFlag};
use nix::unistd::Pid;
use weir_api::daemon::{Event, EventPage, Pfc, Port};
use weir_config::daemon::DaemonConfig;
use weir_config::scenario::Scenario;
use weir_lab::endpoint::report::{EndpointReport, Snapshot};
use weir_lab::endpoint::run::clock;
use weir_lab::lab::stage::Stage;
use weir_lab::lab::switches::SwitchProcess;

use super::{scenario, tear_down, until, LOSSLESS};

/// Longer than any of these tests: the hosts send until they are told to stop.
const DURATION: &str = "duration=600s";
/// So slow that a test machine which stands still for a quarter of a second stays within headroom and rings.
const RATE: &str = "link-defaults.rate=25Mbit";

/// A network with traffic.
pub struct Scene {
    pub stage: Stage,
    scenario: Scenario,
}

/// What became of all frames, once nothing moves any more.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Balance {
    /// Frames that the hosts handed to their devices.
    pub sent: u64,
    /// Frames that arrived whole, each counted once.
    pub received: u64,
    /// Dropped by the switches that run, by reason.
    pub dropped: BTreeMap<String, u64>,
    /// Lost in the rings of the switches that run.
    pub lost_by_kernel: u64,
    /// Lost in the rings or at the devices of the hosts.
    pub lost_by_hosts: u64,
    /// Held by the switches that run.
    pub held: u64,
}

impl Balance {
    /// Frames that did not arrive.
    pub fn missing(&self) -> u64 {
        self.sent - self.received
    }

    /// Frames that somebody has counted as lost.
    pub fn accounted(&self) -> u64 {
        self.dropped.values().sum::<u64>() + self.lost_by_kernel + self.lost_by_hosts + self.held
    }

    /// Nothing was lost anywhere.
    pub fn assert_lossless(&self) {
        let whole = Self {
            sent: self.sent,
            received: self.sent,
            ..Self::default()
        };
        assert_eq!(*self, whole);
    }
}

impl Scene {
    /// A scenario of `scenarios/` whose hosts send.
    pub fn new(file: &str, overrides: &[&str], change: impl FnMut(&mut DaemonConfig)) -> Self {
        let mut all = vec![DURATION, RATE];
        all.extend(overrides);
        let scenario = scenario(file, &all);
        let stage = Stage::set_up_with(&scenario, false, change)
            .unwrap_or_else(|error| panic!("{error:#}"));
        let mut scene = Self { stage, scenario };
        scene.start_hosts();
        scene
    }

    /// Hosts anew, whose numbers begin at zero.
    pub fn start_hosts(&mut self) {
        until("the devices of the hosts before are free", || {
            self.stage.hosts.clear();
            let start = clock().unwrap() + weir_core::Duration::from_millis(500);
            match self.stage.start_hosts(&self.scenario, start) {
                Ok(()) => Some(()),
                // The kernel gives up a socket some time after its process is gone.
                Err(error) if format!("{error:#}").contains("resource busy") => None,
                Err(error) => panic!("{error:#}"),
            }
        });
    }

    /// What it is made of.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// One switch.
    pub fn switch(&mut self, index: usize) -> &mut SwitchProcess {
        &mut self.stage.switches[index]
    }

    /// Counters of one host.
    pub fn snapshot(&mut self, host: usize) -> Snapshot {
        self.stage.hosts[host]
            .snapshot()
            .unwrap_or_else(|error| panic!("{error:#}"))
    }

    /// Frames that a host has received.
    pub fn received(&mut self, host: usize) -> u64 {
        let flows = self.snapshot(host).received;
        flows.iter().map(|flow| flow.frames).sum()
    }

    /// Frames that a host has sent.
    pub fn sent(&mut self, host: usize) -> u64 {
        let flows = self.snapshot(host).sent;
        flows.iter().map(|flow| flow.frames).sum()
    }

    /// Waits until a host has received so many more.
    pub fn wait_for_more(&mut self, host: usize, more: u64) {
        let wanted = self.received(host) + more;
        until("frames arrive", || {
            (self.received(host) >= wanted).then_some(())
        });
    }

    /// Waits until each host that expects frames has received so many more.
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

    /// Nothing moves any more: the hosts send nothing, and what was under way has arrived, is lost, or cannot leave.
    pub fn settle(&mut self) {
        for host in &mut self.stage.hosts {
            host.stop_sending()
                .unwrap_or_else(|error| panic!("{error:#}"));
        }
        let mut before = (u64::MAX, u64::MAX);
        let mut same = 0;
        until("nothing moves", || {
            let held = self.stage.held_frames().unwrap();
            let arrived = (0..self.stage.hosts.len()).map(|host| self.received(host));
            let now = (held, arrived.sum());
            same = if now == before { same + 1 } else { 0 };
            before = now;
            // A held frame may wait for a pause to run out, which at the slowest rate takes 3.4 s.
            let enough = if held == 0 { 20 } else { 200 };
            (same >= enough).then_some(())
        });
    }

    /// Settles, ends the hosts and adds up. Every flow must be in order and whole.
    pub fn balance(&mut self) -> Balance {
        self.settle();
        let mut balance = Balance::default();
        for switch in &self.stage.switches {
            let status = switch.status().unwrap();
            for (reason, count) in status.drops_total {
                *balance.dropped.entry(reason).or_default() += count;
            }
            balance.lost_by_kernel += status.kernel_losses_total;
            balance.held += status.held_frames;
        }
        for report in self.reports() {
            balance.sent += report.sent.iter().map(|flow| flow.frames).sum::<u64>();
            let kernel = &report.kernel;
            balance.lost_by_hosts +=
                kernel.received_frames_lost() + kernel.tx_device_drops + kernel.tx_outstanding;
            for flow in &report.received {
                let wrong = (flow.reordered, flow.duplicated, flow.corrupted);
                assert_eq!(wrong, (0, 0, 0), "{flow:?}");
                balance.received += flow.frames;
            }
        }
        eprintln!("{balance:?}");
        balance
    }

    /// Ends the hosts.
    pub fn reports(&mut self) -> Vec<EndpointReport> {
        let hosts = self.stage.hosts.iter_mut();
        let reports = hosts
            .map(|host| host.finish().unwrap_or_else(|error| panic!("{error:#}")))
            .collect();
        self.stage.hosts.clear();
        reports
    }

    /// Ends it in order; nothing of any switch is left.
    pub fn end(self) {
        tear_down(self.stage);
    }
}

/// Events of this kind that a switch still has, oldest first.
pub fn events(switch: &SwitchProcess, kind: &str) -> Vec<Event> {
    let page: EventPage = switch.get("/v1/events?after=0").unwrap();
    let events = page.events.into_iter();
    events.filter(|event| event.kind == kind).collect()
}

/// What a switch says of a port.
pub fn port(switch: &SwitchProcess, name: &str) -> Port {
    let ports: Vec<Port> = switch.get("/v1/ports").unwrap();
    ports.into_iter().find(|port| port.name == name).unwrap()
}

/// What a switch says of the lossless priority at a port.
pub fn pfc(switch: &SwitchProcess, name: &str) -> Pfc {
    let all: Vec<Pfc> = switch.get("/v1/pfc").unwrap();
    let mut all = all.into_iter();
    all.find(|pfc| pfc.port == name && pfc.priority == LOSSLESS)
        .unwrap()
}

/// The thread of a process that `/proc` has under this name.
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

/// One thread that is held at whatever it was doing, as by a debugger, while all others run. It goes on with the value.
pub struct Held(Pid);

impl Held {
    pub fn new(thread: Pid) -> Self {
        ptrace::seize(thread, ptrace::Options::empty()).unwrap();
        ptrace::interrupt(thread).unwrap();
        // A thread that is not our child is waited for by this flag only.
        waitpid(thread, Some(WaitPidFlag::__WALL)).unwrap();
        Self(thread)
    }

    /// Lets it go on.
    pub fn let_go(self) {}
}

impl Drop for Held {
    fn drop(&mut self) {
        // Fails only for a thread that is gone.
        let _ = ptrace::detach(self.0, None);
    }
}
