//! All exports at once while collectors are dead, slow or lying: nothing is lost, and memory grows no more than that of a switch
//! which exports nothing.

use std::net::UdpSocket;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use nix::sys::socket::{setsockopt, sockopt};
use weir_api::daemon::Exports;
use weir_config::daemon::{DaemonConfig, IpfixConfig, SflowConfig};
use weir_lab::lab::stage::Stage;
use weir_lab::lab::switches::SwitchProcess;
use weir_tests::collector::{address, bind, namespace_of, IPFIX_PORT, SFLOW_PORT};
use weir_tests::switches::events;
use weir_tests::{go_on_for, scenario, tear_down, until, variable};

/// Seconds of the soak; some by default.
const VARIABLE: &str = "WEIR_EXPORT_SOAK_SECONDS";
const SECONDS: u64 = 10;
/// Hosts keep samples of their rates, so that a run of theirs is bounded.
const ROUND_SECONDS: u64 = 300;
/// Memory by which a switch may grow more than one without exports. Both grow until their history and records are full.
const MORE_KIB: u64 = 8 * 1_024;
/// The switch that exports nothing.
const QUIET: usize = 3;

/// A collector's behaviour, by the number of the switch.
enum Collector {
    /// Nobody listens.
    Dead,
    /// It never reads, and its buffer is as small as can be.
    Slow([UdpSocket; 2]),
    /// It answers each datagram with others that make no sense, and sends more than it gets.
    Lying(Vec<JoinHandle<u64>>),
    /// There is none, and the switch exports nothing.
    Absent,
}

fn lie(socket: UdpSocket, over: &Arc<AtomicBool>) -> JoinHandle<u64> {
    socket
        .set_read_timeout(Some(Duration::from_millis(100)))
        .unwrap();
    let over = Arc::clone(over);
    std::thread::spawn(move || {
        let mut buffer = [0; 2_048];
        let mut count = 0;
        while !over.load(Ordering::Relaxed) {
            let Ok((length, from)) = socket.recv_from(&mut buffer) else {
                continue;
            };
            count += 1;
            for _ in 0..4 {
                // A full buffer at the other end is no error.
                let _ = socket.send_to(&buffer[..length], from);
                let _ = socket.send_to(b"", from);
            }
        }
        count
    })
}

impl Collector {
    fn start(number: usize, namespace: &str, over: &Arc<AtomicBool>) -> Self {
        let sockets = || [IPFIX_PORT, SFLOW_PORT].map(|port| bind(namespace, port).unwrap());
        match number {
            0 => Self::Dead,
            1 => {
                let slow = sockets();
                for socket in &slow {
                    setsockopt(socket, sockopt::RcvBuf, &1).unwrap();
                }
                Self::Slow(slow)
            }
            2 => Self::Lying(sockets().into_iter().map(|it| lie(it, over)).collect()),
            _ => Self::Absent,
        }
    }
}

/// A recording whose client reads as it pleases.
fn record(switch: &SwitchProcess, stdout: Stdio) -> Child {
    let mut curl = Command::new("curl");
    curl.args(["-sN", "--unix-socket"]);
    curl.arg(&switch.config.api_socket);
    let request = r#"{"every_seconds": 0.001, "duration_seconds": 3600}"#;
    curl.args(["-H", "Content-Type: application/json", "-d", request]);
    curl.arg("http://localhost/v1/recordings");
    curl.stdout(stdout).spawn().unwrap()
}

fn end(mut child: Child) {
    // It may have ended by itself.
    let _ = child.kill();
    child.wait().unwrap();
}

fn anonymous_kib(pid: u32) -> u64 {
    let path = format!("/proc/{pid}/status");
    let text = std::fs::read_to_string(Path::new(&path)).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    line.unwrap()
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .unwrap()
}

fn memory(stage: &Stage) -> Vec<u64> {
    let pids = stage.switches.iter().filter_map(SwitchProcess::pid);
    pids.map(anonymous_kib).collect()
}

#[test]
fn collectors_that_are_dead_slow_or_lying_cost_nothing() {
    let seconds = variable(VARIABLE, SECONDS);
    let overrides = [
        "duration=900s",
        "deadlock.policy=breaker",
        "link-defaults.rate=25Mbit",
    ];
    let scenario = scenario("ring4.toml", &overrides);
    let over = Arc::new(AtomicBool::new(false));
    let mut collectors = Vec::new();
    let change = |config: &mut DaemonConfig| {
        let collector = Collector::start(collectors.len(), &namespace_of(config), &over);
        collectors.push(collector);
        if collectors.len() > QUIET {
            return;
        }
        config.ipfix = IpfixConfig {
            collector: Some(address(IPFIX_PORT)),
            interval: weir_core::Duration::from_millis(1),
            ..IpfixConfig::default()
        };
        config.sflow = SflowConfig {
            collector: Some(address(SFLOW_PORT)),
            sampling: Some(1),
            interval: weir_core::Duration::from_secs(1),
            ..SflowConfig::default()
        };
    };
    let mut stage =
        Stage::set_up_with(&scenario, false, change).unwrap_or_else(|error| panic!("{error:#}"));
    // One client of each switch reads all, and one reads nothing.
    let mut clients = Vec::new();
    for switch in &stage.switches[..QUIET] {
        clients.push(record(switch, Stdio::null()));
        clients.push(record(switch, Stdio::piped()));
    }
    let (mut left, mut sent, mut received) = (seconds, 0, 0);
    let mut before = None;
    while left > 0 {
        let round = left.min(ROUND_SECONDS);
        left -= round;
        stage.start_hosts(&scenario).unwrap();
        let before = before.get_or_insert_with(|| {
            go_on_for(Duration::from_secs(5), || ());
            memory(&stage)
        });
        go_on_for(Duration::from_secs(round), || stage.check().unwrap());
        for host in &mut stage.hosts {
            host.stop_sending().unwrap();
        }
        until("the network has drained", || {
            (stage.held_frames().unwrap() == 0).then_some(())
        });
        let reports = stage.finish_hosts().unwrap();
        let flows = reports.iter().flat_map(|report| &report.received);
        received += flows.map(|flow| flow.frames).sum::<u64>();
        let flows = reports.iter().flat_map(|report| &report.sent);
        sent += flows.map(|flow| flow.frames).sum::<u64>();
        let now = memory(&stage);
        eprintln!(
            "{} s of {seconds} s; {received} frames of {sent}; memory {before:?} KiB, then {now:?} KiB",
            seconds - left
        );
        assert!(sent > 0 && received == sent, "{received} of {sent}");
    }
    let (before, after) = (before.unwrap(), memory(&stage));
    let grown = before.iter().zip(&after);
    let grown: Vec<u64> = grown
        .map(|(before, after)| after.saturating_sub(*before))
        .collect();
    let most = 2 * grown[QUIET] + MORE_KIB;
    assert!(grown.iter().all(|grown| *grown <= most), "{grown:?} KiB");
    let mut releases = 0;
    for (switch, collector) in stage.switches.iter().zip(&collectors) {
        assert!(switch.status().unwrap().drops_total.is_empty());
        releases += events(switch, "release_started").len();
        let exports: Exports = switch.get("/v1/exports").unwrap();
        if matches!(collector, Collector::Absent) {
            assert_eq!(exports, Exports::default());
            continue;
        }
        let (ipfix, sflow) = (exports.ipfix.unwrap(), exports.sflow.unwrap());
        eprintln!("{}: {ipfix:?} {sflow:?}", switch.config.name);
        assert!(ipfix.messages_sent_total > 0 && sflow.datagrams_sent_total > 0);
        assert_eq!(
            (ipfix.messages_lost_total, sflow.datagrams_lost_total),
            (0, 0)
        );
        let is_refused = ipfix.messages_refused_total > 0 && sflow.datagrams_refused_total > 0;
        assert_eq!(is_refused, matches!(collector, Collector::Dead));
    }
    assert!(releases > 0, "nothing locked");
    clients.into_iter().for_each(end);
    over.store(true, Ordering::Relaxed);
    for collector in collectors {
        match collector {
            Collector::Lying(threads) => {
                let counts = threads.into_iter().map(|thread| thread.join().unwrap());
                assert!(counts.into_iter().all(|count| count > 0));
            }
            Collector::Slow(sockets) => drop(sockets),
            Collector::Dead | Collector::Absent => {}
        }
    }
    tear_down(stage);
}
