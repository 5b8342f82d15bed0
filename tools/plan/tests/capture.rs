//! `switchctl plan --from-capture`: recorded arrivals instead of a scenario's flows.

use std::borrow::Cow;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::support::{run, text_of};
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::DataLink;
use serde_json::Value;
use weir_config::scenario::Scenario;
use weir_sim::scenario::{run as simulate, Options};

const FRAME: usize = 1500;
/// 1524 bytes at 10 Mbit/s.
const FRAME_NANOS: u64 = 1_219_200;
/// Number of frames that each of two hosts sends at line rate.
const FRAMES: u64 = 200;
const PRIORITY: u8 = 3;

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/burst.toml")
}

fn plan(words: &[&str]) -> Value {
    let file = text_of(&path());
    let mut all = vec!["--json", &file];
    all.extend(words);
    let run = run(&all);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    serde_json::from_str(&run.stdout).unwrap()
}

/// Builds a tagged frame from one host of the scenario to another; only its header is captured.
fn header(scenario: &Scenario, from: usize, to: usize, priority: u8) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend(scenario.hosts[to].address.0);
    bytes.extend(scenario.hosts[from].address.0);
    bytes.extend([0x81, 0x00, priority << 5, 0x00, 0x08, 0x00]);
    bytes
}

/// Returns the arrivals of the two hosts' frames in order of time: nanoseconds and host.
fn arrivals() -> impl Iterator<Item = (u64, usize)> {
    (1..=FRAMES).flat_map(|frame| [(frame * FRAME_NANOS, 0), (frame * FRAME_NANOS, 1)])
}

/// Wall clock at the beginning of the recording.
const BEGINNING: Duration = Duration::from_secs(1_763_000_000);

fn write_pcap(file: &Path, scenario: &Scenario) {
    let header_of_file = PcapHeader {
        datalink: DataLink::ETHERNET,
        ..PcapHeader::default()
    };
    let mut writer = PcapWriter::with_header(File::create(file).unwrap(), header_of_file).unwrap();
    for (nanos, host) in arrivals() {
        let bytes = header(scenario, host, 3, PRIORITY);
        let time = BEGINNING + Duration::from_nanos(nanos);
        let packet = PcapPacket::new(time, FRAME as u32, &bytes);
        writer.write_packet(&packet).unwrap();
    }
}

/// Writes ticks of 10^-9 s, with sent and received frames, and frames that the plan ignores.
fn write_pcapng(file: &Path, scenario: &Scenario) {
    const INBOUND: u32 = 1;
    const OUTBOUND: u32 = 2;
    let mut writer = PcapNgWriter::new(File::create(file).unwrap()).unwrap();
    let mut interface = InterfaceDescriptionBlock::new(DataLink::ETHERNET, 0);
    interface
        .options
        .push(InterfaceDescriptionOption::IfTsResol(9));
    writer.write_pcapng_block(interface).unwrap();
    let mut write = |nanos: u64, flags: u32, bytes: &[u8]| {
        let block = EnhancedPacketBlock {
            interface_id: 0,
            timestamp: BEGINNING + Duration::from_nanos(nanos),
            original_len: FRAME as u32,
            data: Cow::Borrowed(bytes),
            options: vec![EnhancedPacketOption::Flags(flags)],
        };
        writer.write_pcapng_block(block).unwrap();
    };
    for (nanos, host) in arrivals() {
        let bytes = header(scenario, host, 3, PRIORITY);
        write(nanos, INBOUND, &bytes);
        write(nanos + FRAME_NANOS, OUTBOUND, &bytes);
    }
    // No class of the scenario has this priority.
    write(FRAMES * FRAME_NANOS, INBOUND, &header(scenario, 2, 3, 5));
}

/// Returns peaks and pauses of buffers, and the peak of the queue.
fn numbers(plan: &Value) -> (Vec<(u64, u64)>, u64) {
    let ingress = plan["ingress"].as_array().unwrap().iter();
    let rows = ingress.map(|row| {
        let pauses = row["pauses"]["count"].as_u64().unwrap_or(0);
        (row["peak_bytes"].as_u64().unwrap(), pauses)
    });
    let egress = plan["egress"].as_array().unwrap();
    assert_eq!(egress.len(), 1);
    (rows.collect(), egress[0]["peak_bytes"].as_u64().unwrap())
}

#[test]
fn a_capture_of_two_bursts_is_planned_like_two_bursts() {
    let scenario = Scenario::load(&path(), &[]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let pcap = folder.path().join("arrivals.pcap");
    let pcapng = folder.path().join("arrivals.pcapng");
    write_pcap(&pcap, &scenario);
    write_pcapng(&pcapng, &scenario);
    let thresholds: [&[&str]; 2] = [
        &[],
        &[
            "--set",
            "class.lossless.xoff=64KiB",
            "--set",
            "class.lossless.xon=40KiB",
        ],
    ];
    for set in thresholds {
        // The same traffic as flows: each sends its frames at line rate.
        let mut flows = vec!["--set", "flow.c=", "--set", "link-defaults.delay=0s"];
        for change in [
            "flow.a.size=300kB",
            "flow.b.size=300kB",
            "flow.a.start=0s",
            "flow.b.start=0s",
        ] {
            flows.extend(["--set", change]);
        }
        flows.extend(set);
        let (buffers, queue) = numbers(&plan(&flows));
        for file in [&pcap, &pcapng] {
            let file = text_of(file);
            let mut words = vec!["--from-capture", &file, "--set", "link-defaults.delay=0s"];
            words.extend(set);
            let plan = plan(&words);
            let (captured, captured_queue) = numbers(&plan);
            assert_eq!(captured.len(), 2, "h1 and h2 have sent");
            let near = |left: u64, right: u64| left.abs_diff(right) <= 1536;
            for (one, other) in captured.iter().zip(&buffers) {
                assert!(near(one.0, other.0), "{captured:?} {buffers:?}");
                assert!(one.1.abs_diff(other.1) <= 1, "{captured:?} {buffers:?}");
            }
            assert!(near(captured_queue, queue), "{captured_queue} {queue}");
            // Half of the arrivals on two lines stays: 200 frames of 1536 B; less with pauses.
            let pauses: u64 = captured.iter().map(|row| row.1).sum();
            if set.is_empty() {
                assert!(near(captured_queue, 200 * 1536), "{captured_queue}");
                assert_eq!(pauses, 0);
            } else {
                assert!(captured_queue < 140 * 1024, "{captured_queue}");
                assert!(pauses > 4, "{captured:?}");
            }
            let notes = plan["notes"].to_string();
            let is_pcapng = file.ends_with("ng");
            assert_eq!(
                notes.contains("1 frames of the capture"),
                is_pcapng,
                "{notes}"
            );
            assert_eq!(
                notes.contains("400 frames that went out"),
                is_pcapng,
                "{notes}"
            );
        }
    }
}

#[test]
fn the_series_of_a_run_is_planned_for_as_it_came() {
    // With thresholds that never apply, the receiver gets what its port carries, and nothing waits.
    let overrides = ["class.lossless.xoff=8MiB", "class.lossless.xon=7MiB"];
    let scenario = Scenario::load(&path(), &overrides.map(|text| text.parse().unwrap())).unwrap();
    let result = simulate(&scenario, Options::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("run.json");
    std::fs::write(&json, serde_json::to_vec(&result).unwrap()).unwrap();
    let json = text_of(&json);
    let (buffers, queue) = numbers(&plan(&["--from-capture", &json]));
    assert_eq!(buffers.len(), 3);
    assert!(queue < 16 * 1536, "{queue}");
    // At a port of half the rate, half waits until pauses begin.
    let slower = plan(&["--from-capture", &json, "--set", "link-defaults.rate=5Mbit"]);
    let (buffers, _) = numbers(&slower);
    let paused = buffers.iter().filter(|row| row.1 > 0).count();
    assert_eq!(paused, 3, "{buffers:?}");
}

#[test]
fn what_is_no_capture_of_the_scenario_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |name: &str, bytes: &[u8], words: &[&str]| -> String {
        let file = folder.path().join(name);
        std::fs::write(&file, bytes).unwrap();
        let (scenario, file) = (text_of(&path()), text_of(&file));
        let mut all = vec![scenario.as_str(), "--from-capture", &file];
        all.extend(words);
        let run = run(&all);
        assert_ne!(run.code, Some(0));
        assert!(run.stdout.is_empty(), "{}", run.stdout);
        run.stderr
    };
    assert!(refused("empty", b"", &[]).contains("is empty"));
    let text = refused(
        "text",
        b"not a capture, and longer than a header of one",
        &[],
    );
    assert!(text.contains("nor pcapng"), "{text}");
    let text = refused("other.json", br#"{"format": 1}"#, &[]);
    assert!(text.contains("not the result of a run"), "{text}");
    let scenario = Scenario::load(&path(), &[]).unwrap();
    let pcap = folder.path().join("foreign.pcap");
    write_pcap(&pcap, &scenario);
    let bytes = std::fs::read(&pcap).unwrap();
    // The hosts are known, but no class has the priority.
    let text = refused(
        "foreign.pcap",
        &bytes,
        &["--set", "class.lossless.priority=4"],
    );
    assert!(text.contains("no frames from one host"), "{text}");
    assert!(text.contains("400 frames of the capture"), "{text}");
}
