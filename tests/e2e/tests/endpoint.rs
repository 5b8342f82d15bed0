//! Two endpoints on one veth pair, each in a separate namespace: every frame arrives intact, and a PFC pause holds the
//! sender until the resume. Needs root.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use weir_lab::endpoint::config::{EndpointConfig, ExpectFlow, SendFlow};
use weir_lab::endpoint::report::{EndpointReport, OutputLine, Snapshot};
use weir_lab::endpoint::run::clock;

/// Time limit of any one condition.
const PATIENCE: Duration = Duration::from_secs(60);
const PRIORITY: u8 = 3;

/// Two namespaces and the pair of devices `e0` between them; removed on drop.
struct Link {
    names: [String; 2],
}

impl Link {
    fn new(tag: &str) -> Self {
        let names = ["a", "b"].map(|end| format!("wtn{}{tag}{end}", std::process::id()));
        let link = Self { names };
        let [a, b] = &link.names;
        for name in [a, b] {
            ip(&["netns", "add", name]);
            // otherwise the kernel's neighbour discovery arrives as foreign frames
            let quiet = "echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6";
            assert!(enter(name)
                .args(["sh", "-c", quiet])
                .status()
                .unwrap()
                .success());
        }
        ip(&[
            "link", "add", "e0", "netns", a, "type", "veth", "peer", "name", "e0", "netns", b,
        ]);
        for name in [a, b] {
            ip(&["-n", name, "link", "set", "e0", "up"]);
        }
        link
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = Command::new("ip").args(["netns", "delete", name]).status();
        }
    }
}

fn ip(arguments: &[&str]) {
    let status = Command::new("ip").args(arguments).status().unwrap();
    assert!(status.success(), "ip {arguments:?}");
}

/// Returns a command inside the namespace `name`; the caller appends the program and its arguments.
fn enter(name: &str) -> Command {
    let mut command = Command::new("nsenter");
    command.arg(format!("--net=/run/netns/{name}")).arg("--");
    command
}

/// A running endpoint; killed on drop if it still runs.
struct Endpoint {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<OutputLine>,
    report: PathBuf,
}

impl Endpoint {
    fn start(namespace: &str, directory: &Path, config: &EndpointConfig) -> Self {
        let file = directory.join(format!("{namespace}.json"));
        std::fs::write(&file, serde_json::to_vec(config).unwrap()).unwrap();
        let mut child = enter(namespace)
            .arg(weir_lab::lab::process::program("weir-endpoint").unwrap())
            .args(["run", "--config"])
            .arg(&file)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, lines) = mpsc::channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let _ = sender.send(serde_json::from_str(&line).unwrap());
            }
        });
        let input = child.stdin.take();
        let endpoint = Self {
            child,
            input,
            lines,
            report: config.report.clone(),
        };
        assert_eq!(endpoint.next_line(), OutputLine::Ready(true));
        endpoint
    }

    fn next_line(&self) -> OutputLine {
        self.lines
            .recv_timeout(PATIENCE)
            .expect("the endpoint answers")
    }

    fn tell(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    fn snapshot(&mut self) -> Snapshot {
        self.tell("snapshot");
        match self.next_line() {
            OutputLine::Snapshot(snapshot) => snapshot,
            other => panic!("{other:?}"),
        }
    }

    /// Polls until `condition` is true, and returns the matching snapshot.
    fn wait_until(&mut self, what: &str, condition: impl Fn(&Snapshot) -> bool) -> Snapshot {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let snapshot = self.snapshot();
            if condition(&snapshot) {
                return snapshot;
            }
            assert!(
                Instant::now() < deadline,
                "not in time: {what}; {snapshot:?}"
            );
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn wait_for_report(mut self) -> EndpointReport {
        self.input = None;
        assert!(self.child.wait().unwrap().success());
        serde_json::from_slice(&std::fs::read(&self.report).unwrap()).unwrap()
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns configurations of a sender of flow 1 (1000 B, 20 Mbit/s) and of its receiver, 100 Mbit/s.
fn configs(directory: &Path, stop_nanos: u64) -> [EndpointConfig; 2] {
    let start = clock().unwrap().as_nanos() + 20_000_000;
    let text = format!(
        r#"{{"device": "e0", "address": "02:00:00:00:00:01", "line_bits_per_second": 100000000,
            "report": "", "start_monotonic_nanos": {start}, "run_nanos": 1000000000}}"#
    );
    let mut sender: EndpointConfig = serde_json::from_str(&text).unwrap();
    let mut receiver = sender.clone();
    receiver.address.0[5] = 2;
    sender.report = directory.join("sender-report.json");
    receiver.report = directory.join("receiver-report.json");
    sender.send.push(SendFlow {
        id: 1,
        name: "flow".to_owned(),
        destination: receiver.address,
        priority: PRIORITY,
        source_port: None,
        frame_bytes: 1000,
        bits_per_second: 20_000_000,
        start_nanos: 0,
        stop_nanos,
        ecn_capable: true,
    });
    receiver.expect.push(ExpectFlow {
        id: 1,
        name: "flow".to_owned(),
        start_nanos: 0,
        stop_nanos: Some(stop_nanos),
    });
    [sender, receiver]
}

/// Checks that the receiver has every frame of the sender, in order and intact.
fn assert_lossless(sender: &EndpointReport, receiver: &EndpointReport) {
    let (sent, received) = (&sender.sent[0], &receiver.received[0]);
    assert_eq!((received.frames, received.bytes), (sent.frames, sent.bytes));
    assert_eq!(received.highest_sequence, Some(sent.frames - 1));
    assert_eq!(
        (received.missing, received.reordered, received.duplicated),
        (0, 0, 0)
    );
    assert_eq!(
        (received.corrupted, received.beyond_window, receiver.foreign),
        (0, 0, 0)
    );
    assert_eq!(receiver.corrupted_unattributed, 0);
    assert_eq!(receiver.kernel.received_frames_lost(), 0);
    assert_eq!(
        (sender.kernel.tx_device_drops, sender.kernel.tx_outstanding),
        (0, 0)
    );
    let curve: u64 = received.series_bytes.iter().sum();
    assert_eq!(curve + received.late_bytes, received.bytes);
}

#[test]
fn a_second_of_traffic_arrives_whole() {
    let directory = tempfile::tempdir().unwrap();
    let link = Link::new("s");
    let second = 1_000_000_000;
    let [to_send, to_receive] = configs(directory.path(), second);
    let mut receiver = Endpoint::start(&link.names[1], directory.path(), &to_receive);
    let mut sender = Endpoint::start(&link.names[0], directory.path(), &to_send);

    let sent = sender
        .wait_until("the flow is over", |now| now.nanos >= second)
        .sent[0]
        .frames;
    assert!(sent > 100, "{sent} frames in a second at 2500 a second");
    receiver.wait_until("all is received", |now| now.received[0].frames >= sent);
    sender.tell("finish");
    let terminated = nix::unistd::Pid::from_raw(receiver.child.id() as i32);
    nix::sys::signal::kill(terminated, nix::sys::signal::Signal::SIGTERM).unwrap();

    let (sender, receiver) = (sender.wait_for_report(), receiver.wait_for_report());
    assert_lossless(&sender, &receiver);
    assert!(receiver.received[0].bits_per_second > 0.0);
    let latency = receiver.received[0].latency.as_ref().unwrap();
    assert!(
        latency.min_nanos > 0 && latency.max_nanos < 60 * second,
        "{latency:?}"
    );
}

#[test]
fn xoff_holds_the_sender_until_xon() {
    let directory = tempfile::tempdir().unwrap();
    let link = Link::new("p");
    let [to_send, to_receive] = configs(directory.path(), u64::MAX / 2);
    let mut receiver = Endpoint::start(&link.names[1], directory.path(), &to_receive);
    let mut sender = Endpoint::start(&link.names[0], directory.path(), &to_send);
    sender.wait_until("traffic flows", |now| now.sent[0].frames > 20);

    // the longest pause is 336 ms here; a slow machine may miss it, so try again
    let deadline = Instant::now() + PATIENCE;
    loop {
        receiver.tell("pfc 3 65535");
        let held = sender.wait_until("the pause arrives", |now| now.paused == [PRIORITY]);
        // 50 ms are 125 frames at the flow's rate
        let later = sender.wait_until("time passes", |now| now.nanos > held.nanos + 50_000_000);
        if later.paused == [PRIORITY] {
            assert_eq!(
                later.sent[0].frames, held.sent[0].frames,
                "no frame leaves meanwhile"
            );
            receiver.wait_until("all before the pause arrives", |now| {
                now.received[0].frames == held.sent[0].frames
            });
            break;
        }
        assert!(
            Instant::now() < deadline,
            "the pause always expired before it was looked at"
        );
    }
    receiver.tell("pfc 3 0");
    let resumed = sender.wait_until("XON arrives", |now| now.paused.is_empty());
    sender.wait_until("traffic flows again", |now| {
        now.sent[0].frames > resumed.sent[0].frames + 20
    });

    sender.tell("nonsense");
    assert!(matches!(sender.next_line(), OutputLine::Error(_)));
    sender.tell("stop-sending");
    assert_eq!(sender.next_line(), OutputLine::Stopped(true));
    let sent = sender.snapshot().sent[0].frames;
    receiver.wait_until("the rest arrives", |now| now.received[0].frames >= sent);
    sender.tell("finish");
    receiver.tell("finish");

    let (sender, receiver) = (sender.wait_for_report(), receiver.wait_for_report());
    assert_eq!(
        sender.sent[0].frames, sent,
        "nothing left after stop-sending"
    );
    assert_lossless(&sender, &receiver);
    assert!(sender.control.xoff[usize::from(PRIORITY)] >= 1);
    assert_eq!(sender.control.xon[usize::from(PRIORITY)], 1);
    assert_eq!(receiver.control.injected, sender.control.pfc_frames);
    assert!(
        sender.sent[0].paused_nanos >= 50_000_000,
        "{}",
        sender.sent[0].paused_nanos
    );
    assert!(receiver.received[0].longest_stall_nanos >= 50_000_000);
}
