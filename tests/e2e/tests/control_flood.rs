//! Cost of a flood of control frames: CPU time of the dataplane, and no loss of lossless frames. Each run prints its
//! measurements, which are in the book's page on threats.

use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

use weir_core::PortRole;
use weir_lab::lab::configuration::METRICS_ADDRESS;
use weir_lab::lab::process::{inside, Process};
use weir_tests::faults::{thread, Scene};
use weir_tests::switches::port;
use weir_tests::{cpu, until, PATIENT_DETECTION};

const SCENARIO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/three-hosts.toml");
const FLOODER: &str = "h3";
/// Frames that each flow must deliver before a measurement, for about a third of a second.
const FRAMES: u64 = 1_000;
/// Control frames per second of each kind in the runs with a limit.
const LIMIT: u32 = 1_000;
/// Minimum drops of each kind in those runs: more than several seconds' worth of the limit.
const DROPPED: u64 = 10_000;

const FLOOD: &str = "
import socket, sys
out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
out.bind((sys.argv[1], 0))
frame = bytes.fromhex(sys.argv[2]).ljust(60, bytes(1))
while True:
    out.send(frame)
";

/// Kinds of control frames, complete except for padding, and their class in XDP.
const KINDS: [(&str, &str, &str); 3] = [
    // A resume of priority 3.
    (
        "PFC",
        "mac_control",
        "0180c2000001 025700000003 8808 0101 0008",
    ),
    // One hop with an identifier that no switch has.
    (
        "CLCM",
        "clcm",
        "0180c200000e 025700000003 88b5 5743 01 02 03 01 01 01 0000 00000007 00000007 0001 0000",
    ),
    (
        "echo",
        "clcm",
        "0180c200000e 025700000003 88b5 5745 01 01 0000 00000007",
    ),
];

/// Measurements of the switch while the hosts sent their frames.
#[derive(Debug)]
struct Figures {
    /// Use of one CPU by the dataplane's thread.
    cpu: f64,
    /// Control frames per second, as seen by XDP.
    flood: f64,
    /// Lossless frames received per second.
    data: f64,
}

fn seen(scene: &Scene, class: &str) -> u64 {
    let namespace = scene.stage.names().namespace("s1");
    let output = inside(&namespace, Path::new("curl"))
        .args(["-s", &format!("http://{METRICS_ADDRESS}/metrics")])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let is_it = |line: &&str| {
        line.starts_with("weir_xdp_frames_total{")
            && line.contains(&format!("port=\"{FLOODER}\""))
            && line.contains(&format!("class=\"{class}\""))
    };
    let line = text.lines().find(is_it);
    let line = line.unwrap_or_else(|| panic!("{class}: {text}"));
    line.rsplit(' ').next().unwrap().parse().unwrap()
}

fn dropped(scene: &Scene) -> u64 {
    let port = port(&scene.stage.switches[0], FLOODER);
    port.drops_total.get("control_rate").copied().unwrap_or(0)
}

fn measure(scene: &mut Scene, class: &str) -> Figures {
    let process = scene.stage.switches[0].pid().unwrap();
    let dataplane = thread(process, "weir-dataplane");
    let arrived = |scene: &mut Scene| scene.received(0) + scene.received(1);
    let before = (seen(scene, class), arrived(scene));
    let (began, cpu_before) = (Instant::now(), cpu::time_of(process, dataplane));
    scene.wait_for_all(FRAMES);
    let cpu = cpu::time_of(process, dataplane) - cpu_before;
    let took = began.elapsed().as_secs_f64();
    let after = (seen(scene, class), arrived(scene));
    Figures {
        cpu: cpu.as_secs_f64() / took,
        flood: (after.0 - before.0) as f64 / took,
        data: (after.1 - before.1) as f64 / took,
    }
}

fn flood(scene: &Scene, frame: &str) -> Process {
    let names = scene.stage.names();
    let mut command = inside(&names.namespace(FLOODER), Path::new("python3"));
    let hex: String = frame.split_whitespace().collect();
    command
        .args(["-c", FLOOD, names.host_device(), &hex])
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    Process::start("flood", command, &scene.stage.directory().join("flood.log")).unwrap()
}

fn floods_cost_no_lossless_frame(limit: Option<u32>) {
    let mut scene = Scene::new(SCENARIO, &[PATIENT_DETECTION], |config| {
        config.control_frames.pause_rate = limit;
        config.control_frames.message_rate = limit;
        for port in &mut config.ports {
            // Control frames of a host are always dropped: this flooder counts as a neighbour switch.
            if port.name == FLOODER {
                port.role = PortRole::Fabric;
            }
        }
    });
    scene.wait_for_all(100);
    for (kind, class, frame) in KINDS {
        let quiet = measure(&mut scene, class);
        let (had_dropped, had_seen) = (dropped(&scene), seen(&scene, class));
        let flood = flood(&scene, frame);
        until("the flood comes", || {
            (seen(&scene, class) > had_seen + DROPPED).then_some(())
        });
        let flooded = measure(&mut scene, class);
        if limit.is_some() {
            until("the flood is cut off", || {
                (dropped(&scene) > had_dropped + DROPPED).then_some(())
            });
        }
        drop(flood);
        let each = (flooded.cpu - quiet.cpu) / flooded.flood * 1e9;
        println!(
            "{kind} limit {limit:?}: {:.0} control frames/s, CPU {:.1} % instead of {:.1} %, {each:.0} ns each, data {:.2} of before",
            flooded.flood, 100.0 * flooded.cpu, 100.0 * quiet.cpu, flooded.data / quiet.data,
        );
    }
    let dropped_all = dropped(&scene);
    let balance = scene.balance();
    assert_eq!(balance.missing(), 0, "{balance:?}");
    assert_eq!(balance.held, 0, "{balance:?}");
    let mut reasons = balance.dropped.clone();
    reasons.retain(|_, count| *count > 0);
    let only_the_flood = match limit {
        Some(_) => reasons.len() == 1 && reasons.get("control_rate") >= Some(&dropped_all),
        None => reasons.is_empty(),
    };
    assert!(only_the_flood, "{reasons:?}");
    scene.end();
}

#[test]
fn floods_within_a_limit_cost_no_lossless_frame() {
    floods_cost_no_lossless_frame(Some(LIMIT));
}

/// Control for the limit: without it all frames are read.
#[test]
fn floods_without_a_limit_cost_no_lossless_frame() {
    floods_cost_no_lossless_frame(None);
}
