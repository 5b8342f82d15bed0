//! ECN profiles with real frames: a curve set at run time marks later frames, in order and without loss, and survives a
//! restart and a reload until the file has another one.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Stdio};

use serde_json::Value;
use weir_config::daemon::EcnProfile;
use weir_core::{Bytes, MarkAt, PartsPerMillion};
use weir_tests::scapy::Scapy;
use weir_tests::switches::switchctl;
use weir_tests::{until, Bench};

/// A pause of 65535 quanta lasts 3.4 s at this rate.
const SLOW: &str = "link-defaults.rate=10Mbit";
const FRAMES: usize = 20;
/// First UDP port, to which a frame's number is added.
const FIRST: usize = 5_000;
const PFC: &str = "Ether(src='02:57:00:00:00:02', dst='01:80:c2:00:00:01')\
    / MACControlClassBasedFlowControl(c3_enabled=1, c3_pause_time=QUANTA)";
const NAME: &str = "AZURE_LOSSLESS";
const NONE: [usize; 0] = [];

const RECEIVER: &str = "
import socket, sys
ETH_P_ALL, OUTGOING = 3, 4
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
s.bind((sys.argv[1], 0))
print('ready', flush=True)
while True:
    frame, address = s.recvfrom(4096)
    if address[2] == OUTGOING:
        continue
    at = 18 if frame[12:14] == bytes([0x81, 0]) else 14
    if frame[at - 2:at] == bytes([8, 0]) and frame[at + 9] == 17:
        print(int.from_bytes(frame[at + 22:at + 24], 'big') - 5000, frame[at + 1] & 3, flush=True)
";

/// Frames received by `h2`; killed on drop.
struct Receiver {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Receiver {
    fn start(bench: &Bench) -> Self {
        let mut child = bench
            .command("h2", "/usr/bin/python3")
            .args(["-c", RECEIVER, bench.host_device()])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        let mut receiver = Self { child, lines };
        assert_eq!(receiver.line(), "ready");
        receiver
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line.trim().to_owned()
    }

    fn frame(&mut self) -> (usize, u8) {
        let line = self.line();
        let (number, ecn) = line.split_once(' ').unwrap();
        (number.parse().unwrap(), ecn.parse().unwrap())
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Hosts {
    h1: Scapy,
    h2: Scapy,
    receiver: Receiver,
}

/// Sends frames that wait behind a pause of `h2`, and arrive together in order. Returns the numbers of the marked ones. The
/// last has a transport without ECN.
fn marked(bench: &Bench, hosts: &mut Hosts) -> Vec<usize> {
    let pause = |quanta: u16| PFC.replace("QUANTA", &quanta.to_string());
    until("the queue is held", || {
        hosts.h2.send(1, &pause(u16::MAX));
        bench.pfc("h2").paused.then_some(())
    });
    for number in 0..FRAMES {
        let tos = if number + 1 == FRAMES { 0 } else { 2 };
        let port = FIRST + number;
        hosts.h1.send(
            1,
            &format!(
                "Ether(src='02:57:00:00:00:01', dst='02:57:00:00:00:02') / Dot1Q(prio=3, vlan=0) \
                 / IP(src='10.99.0.1', dst='10.99.0.2', tos={tos}) / UDP(dport={port}) / Raw(bytes(1400))"
            ),
        );
        if number % 5 == 0 {
            hosts.h2.send(1, &pause(u16::MAX));
        }
    }
    until("all wait", || {
        let status = bench.switch.status().unwrap();
        (status.held_frames == FRAMES as u64).then_some(())
    });
    hosts.h2.send(1, &pause(0));
    let mut marked = Vec::new();
    for number in 0..FRAMES {
        let (arrived, ecn) = hosts.receiver.frame();
        assert_eq!(arrived, number, "in order, none lost");
        match ecn {
            3 => marked.push(number),
            sent => assert_eq!(sent == 0, number + 1 == FRAMES, "{number}: {ecn}"),
        }
    }
    marked
}

fn run(bench: &Bench, words: &[&str]) -> Value {
    let output = switchctl(&bench.switch.config.api_socket)
        .arg("--json")
        .args(words)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words:?}: {errors}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn keys(settings: &Value) -> Vec<&str> {
    let settings = settings.as_array().unwrap().iter();
    settings
        .map(|setting| setting["key"].as_str().unwrap())
        .collect()
}

#[test]
fn a_curve_set_at_run_time_marks_what_comes_next_and_stays() {
    let threshold = |bytes: u64| EcnProfile {
        name: NAME.to_owned(),
        kmin: Bytes::new(bytes),
        kmax: Bytes::new(bytes),
        pmax: PartsPerMillion::ONE,
        mark_at: MarkAt::Arrival,
    };
    let mut bench = Bench::new(&[SLOW], |config| {
        let profile = threshold(1_000_000);
        config.classes[0].ecn = Some(profile.marking());
        config.classes[0].ecn_profile = Some(profile.name.clone());
        config.ecn = vec![profile];
    });
    let started = bench.switch.start_with_keeper();
    started.unwrap_or_else(|error| panic!("{error:#}"));
    let mut hosts = Hosts {
        h1: Scapy::start(&bench, "h1"),
        h2: Scapy::start(&bench, "h2"),
        receiver: Receiver::start(&bench),
    };
    assert_eq!(marked(&bench, &mut hosts), NONE, "by the file's curve");

    let set = run(
        &bench,
        &["ecn", "set", NAME, "--kmin", "10kB", "--kmax", "10kB"],
    );
    assert_eq!(set["kmax_bytes"], 10_000);
    // Frames have 1446 B, and the first seven are below the threshold; the last must not be marked.
    let expected: Vec<usize> = (7..FRAMES - 1).collect();
    assert_eq!(marked(&bench, &mut hosts), expected);
    let list = run(&bench, &["ecn"]);
    assert_eq!(list[0]["profile"], NAME);
    assert_eq!(list[0]["marked_frames_total"], expected.len());
    let by_hand = [format!("ecn.{NAME}.kmax"), format!("ecn.{NAME}.kmin")];
    let shown: Value = bench.switch.get("/v1/config").unwrap();
    assert_eq!(keys(&shown["by_hand"]), by_hand);

    let restart = bench.switch.restart();
    let restart = restart.unwrap_or_else(|error| panic!("{error:#}"));
    assert_eq!(restart.lost_frames, 0);
    assert_eq!(marked(&bench, &mut hosts), expected, "after a restart");

    // The same profile in the file, and another weight.
    let mut config = bench.switch.config.clone();
    config.classes[0].weight = 5;
    std::fs::write(bench.switch.config_file(), config.to_toml()).unwrap();
    let report = run(&bench, &["reload"]);
    let class = &config.classes[0].name;
    assert_eq!(keys(&report["applied"]), [format!("class.{class}.weight")]);
    assert_eq!(marked(&bench, &mut hosts), expected, "after a reload");

    let saved = run(&bench, &["config", "save"]);
    assert_eq!(keys(&saved["saved"]), by_hand);
    let text = std::fs::read_to_string(bench.switch.config_file()).unwrap();
    assert!(text.contains("kmax = \"10000B\""), "{text}");
    assert_eq!(marked(&bench, &mut hosts), expected, "as the file says");

    config.ecn = vec![threshold(2_000_000)];
    config.classes[0].ecn = Some(config.ecn[0].marking());
    std::fs::write(bench.switch.config_file(), config.to_toml()).unwrap();
    run(&bench, &["reload"]);
    assert_eq!(marked(&bench, &mut hosts), NONE, "by the file's new curve");

    run(
        &bench,
        &["ecn", "set", NAME, "--kmin", "0B", "--kmax", "0B"],
    );
    let all: Vec<usize> = (0..FRAMES - 1).collect();
    assert_eq!(marked(&bench, &mut hosts), all);
    run(&bench, &["ecn", "set", NAME, "--mark-at", "never"]);
    assert_eq!(marked(&bench, &mut hosts), NONE, "switched off");
    drop(hosts);
    bench.end();
}
