//! The dissector in packaging/wireshark: it decodes Weir's frames in tshark, and no frame makes it fail.

use std::path::{Path, PathBuf};
use std::process::Command;

use weir_api::daemon::EventPage;
use weir_api::neighbors::Neighbor;
use weir_core::wire::clcm::{Clcm, Hop};
use weir_core::wire::echo::Echo;
use weir_core::wire::loop_probe::{LoopProbe, ProbeForm, ProbeSender};
use weir_core::{MacAddress, PortId, Priority, Spuid, VlanTag};
use weir_tests::capture::write_capture;
use weir_tests::scapy::Scapy;
use weir_tests::switches::switchctl;
use weir_tests::{printed, until, Bench};

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/wireshark/weir.lua")
}

/// Returns the output of tshark with the script, which must not fail.
fn tshark(file: &Path, arguments: &[&str]) -> String {
    let output = Command::new("tshark")
        .arg("-X")
        .arg(format!("lua_script:{}", script().display()))
        .arg("-n")
        .args(arguments)
        .arg("-r")
        .arg(file)
        .output()
        .expect("tshark; `cargo xtask setup` installs it");
    let errors = String::from_utf8_lossy(&output.stderr).to_lowercase();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{errors}");
    assert!(
        !errors.contains("lua") && !text.contains("Lua Error"),
        "{errors}{text}"
    );
    text
}

fn fields(file: &Path, filter: &str, fields: &[&str]) -> Vec<Vec<String>> {
    let mut arguments = vec!["-Y", filter, "-T", "fields"];
    for field in fields {
        arguments.extend(["-e", field]);
    }
    let text = tshark(file, &arguments);
    text.lines()
        .map(|line| line.split('\t').map(str::to_owned).collect())
        .collect()
}

fn emitted(emit: impl FnOnce(&mut [u8]) -> Option<usize>) -> Vec<u8> {
    let mut buffer = vec![0; 1_024];
    let length = emit(&mut buffer).unwrap();
    buffer.truncate(length);
    buffer
}

/// Faults of a frame; a comment is also an expert info.
const COMPLAINTS: &str = "_ws.malformed || weir.clcm.truncated || weir.clcm.illegal || \
    weir.echo.truncated || weir.echo.illegal || weir.lldp.truncated || weir.lldp.illegal || \
    weir.probe.truncated || weir.probe.illegal || weir.clcm.unknown_version || weir.echo.unknown_version || weir.lldp.unknown_version";
/// A lossless frame from `h1` to `h2`, and the pause that holds it.
const DATA: &str = "Ether(src='02:57:00:00:00:01', dst='02:57:00:00:00:02')\
    / Dot1Q(prio=3, vlan=0) / IP(src='10.99.0.1', dst='10.99.0.2') / UDP() / Raw(bytes(1400))";
const PFC: &str = "Ether(src='02:57:00:00:00:02', dst='01:80:c2:00:00:01')\
    / MACControlClassBasedFlowControl(c3_enabled=1, c3_pause_time=65535)";
const SOURCE: MacAddress = MacAddress([2, 0x57, 0, 0, 0, 0x99]);

fn clcm(hops: u8) -> Vec<u8> {
    let hop = |number: u8| Hop {
        spuid: Spuid(0x6aaa_2d90 + u32::from(number)),
        egress: PortId::new(number),
    };
    let mut message = Clcm::begin(Priority::ALL[3], hop(0));
    (1..hops).for_each(|number| message.push(hop(number)).unwrap());
    emitted(|buffer| message.emit(SOURCE, buffer))
}

fn echo() -> Vec<u8> {
    let request = Echo::Request {
        id: 7,
        sent: [0, 1, 2, 65_535, 4, 5, 6, 7],
    };
    emitted(|buffer| request.emit(SOURCE, buffer))
}

fn probe(form: ProbeForm) -> Vec<u8> {
    let probe = LoopProbe {
        sender: ProbeSender {
            id: 0xdead_beef,
            port: PortId::new(200),
        },
        round: 77,
        nonce: 0x0102_0304_0506_0708,
    };
    emitted(|buffer| probe.emit(form, buffer))
}

/// Returns the example of the book's page on LLDP after the three mandatory TLVs.
fn lldp() -> Vec<u8> {
    let mut frame = vec![
        0x01, 0x80, 0xc2, 0, 0, 0x0e, 2, 0x57, 0, 0, 0, 0x99, 0x88, 0xcc,
    ];
    frame.extend([2, 7, 4, 2, 0, 0, 0, 0, 1, 4, 3, 5, b'e', b'1', 6, 2, 0, 121]);
    frame.extend([
        0xfe, 0x10, 0x02, 0x57, 0x45, 1, 1, 1, 0, 0, 0, 0, 0, 0x44, 0x20, 0, 0, 0,
    ]);
    frame.extend([0, 0]);
    frame
}

/// Returns a frame with the TLV of credits after that of [`lldp`]: priorities 3 and 4, the latter closed without credits.
fn credits() -> Vec<u8> {
    let mut frame = lldp();
    frame.truncate(frame.len() - 2);
    frame.extend([
        0xfe, 0x1a, 0x02, 0x57, 0x45, 2, 1, 1, 0x18, 0x10, 0x05, 0xee,
    ]);
    frame.extend([0, 0, 1, 44, 8, 0, 0xfc, 0, 0, 0, 0, 75, 16, 0, 0, 0]);
    frame.extend([0, 0]);
    frame
}

#[test]
fn announced_credits_come_out_as_they_were_written() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("credits.pcap");
    write_capture(&file, &[lldp(), credits()]);
    let asked = [
        "frame.number",
        "weir.lldp.credits.version",
        "weir.lldp.credits.flags.gives",
        "weir.lldp.credits.priorities",
        "weir.lldp.credits.closed",
        "weir.lldp.credits.longest_frame",
        "weir.lldp.credits.limit",
        "weir.lldp.credits.size",
        "weir.lldp.credits.overhead",
    ];
    let row = [
        "2",
        "1",
        "1",
        "0x18",
        "0x10",
        "1518",
        "300,75",
        "2048,4096",
        "-4,0",
    ];
    assert_eq!(fields(&file, "weir.lldp.credits", &asked), [row]);
    assert_eq!(
        fields(&file, "weir.lldp", &["frame.number"]),
        [["1"], ["2"]]
    );
    assert_eq!(fields(&file, COMPLAINTS, &["frame.number"]).len(), 0);
}

#[test]
fn every_field_comes_out_as_it_was_written() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("whole.pcap");
    write_capture(&file, &[clcm(2), echo(), lldp(), clcm(64)]);
    let read = fields(
        &file,
        "weir.clcm",
        &[
            "frame.number",
            "weir.clcm.kind",
            "weir.clcm.priority",
            "weir.clcm.cur_phase",
            "weir.clcm.cur_index",
            "weir.clcm.hops",
            "weir.clcm.spuid",
            "weir.clcm.hop.spuid",
            "weir.clcm.hop.egress_port",
        ],
    );
    let two = [
        "1",
        "2",
        "3",
        "1",
        "2",
        "2",
        "0x6aaa2d90",
        "0x6aaa2d90,0x6aaa2d91",
        "0,1",
    ];
    assert_eq!(read[0], two);
    assert_eq!(read[1][7].split(',').count(), 64);
    let read = fields(
        &file,
        "weir.echo",
        &["weir.echo.kind", "weir.echo.id", "weir.echo.sent"],
    );
    assert_eq!(read, [["1", "7", "0,1,2,65535,4,5,6,7"]]);
    let read = fields(
        &file,
        "weir.lldp",
        &[
            "weir.lldp.version",
            "weir.lldp.flags.clcm",
            "weir.lldp.mode",
            "weir.lldp.max_hops",
        ],
    );
    assert_eq!(read, [["1", "1", "0,0,0,2,1,0,0,0", "0,0,0,4,0,0,0,0"]]);
    assert_eq!(fields(&file, COMPLAINTS, &["frame.number"]).len(), 0);
}

#[test]
fn loop_probes_have_a_name_and_their_sender() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("probes.pcap");
    let tagged = ProbeForm {
        tag: Some(VlanTag::from_bits(20)),
        is_broadcast: true,
    };
    // A frame of `switchctl doctor --loop`, which has the same EtherType.
    let mut other = probe(ProbeForm::default());
    other[15] = 0x52;
    write_capture(&file, &[probe(ProbeForm::default()), probe(tagged), other]);
    let asked = [
        "frame.number",
        "_ws.col.Protocol",
        "_ws.col.Info",
        "weir.probe.switch",
        "weir.probe.port",
        "weir.probe.round",
        "weir.probe.nonce",
    ];
    let info = "Loop probe of switch deadbeef, port 200";
    let nonce = "0x0102030405060708";
    let row = |number| [number, "WEIR-PROBE", info, "0xdeadbeef", "200", "77", nonce];
    assert_eq!(fields(&file, "weir.probe", &asked), [row("1"), row("2")]);
    assert_eq!(fields(&file, COMPLAINTS, &["frame.number"]).len(), 0);
}

#[test]
fn malformed_frames_are_flagged_and_nothing_makes_the_script_fail() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("bad.pcap");
    // Every length of each, and every byte of each inverted.
    let mut frames = Vec::new();
    let probe_frame = probe(ProbeForm::default());
    for whole in [clcm(2), echo(), lldp(), credits(), probe_frame] {
        frames.extend((14..whole.len()).map(|length| whole[..length].to_vec()));
        for at in 14..whole.len() {
            let mut turned = whole.clone();
            turned[at] ^= 0xff;
            frames.push(turned);
        }
    }
    write_capture(&file, &frames);
    tshark(&file, &["-V"]);

    let expert = |frame: Vec<u8>, kind: &str| {
        write_capture(&file, &[frame]);
        let found = fields(&file, kind, &["frame.number"]);
        assert_eq!(found.len(), 1, "{kind}");
    };
    // Without padding: a hop is incomplete.
    expert(clcm(2)[..40].to_vec(), "weir.clcm.truncated");
    expert(echo()[..30].to_vec(), "weir.echo.truncated");
    expert(lldp()[..45].to_vec(), "weir.lldp.truncated");
    let whole = probe(ProbeForm::default());
    expert(whole[..30].to_vec(), "weir.probe.truncated");
    let changed = |mut frame: Vec<u8>, at: usize, to: u8| {
        frame[at] = to;
        frame
    };
    for (at, to) in [
        (17, 3),
        (18, 8),
        (19, 3),
        (20, 1),
        (21, 65),
        (22, 1),
        (24, 0),
        (32, 1),
        (34, 1),
    ] {
        expert(changed(clcm(2), at, to), "weir.clcm.illegal");
    }
    expert(changed(clcm(2), 16, 2), "weir.clcm.unknown_version");
    expert(changed(echo(), 17, 3), "weir.echo.illegal");
    expert(changed(echo(), 16, 2), "weir.echo.unknown_version");
    // Mode pfc with a D.
    expert(changed(lldp(), 32 + 10 + 4, 0x21), "weir.lldp.illegal");
    expert(changed(lldp(), 32 + 6, 2), "weir.lldp.unknown_version");
    let at = 32 + 18;
    let cut = credits()[..at + 2 + 25].to_vec();
    expert(cut, "weir.lldp.credits.truncated");
    // A priority closed without a record, limits of zero and above the largest, a small size, a low overhead.
    for (offset, to) in [(9, 0x11), (15, 0), (13, 0x11), (16, 0), (18, 0xef)] {
        let mut frame = changed(credits(), at + offset, to);
        if offset == 15 {
            frame = changed(frame, at + 14, 0);
        }
        expert(frame, "weir.lldp.credits.illegal");
    }
    expert(
        changed(credits(), at + 6, 2),
        "weir.lldp.credits.unknown_version",
    );
}

/// Captures at the first switch's port to the second until `count` frames have passed `filter`.
fn capture(bench: &Bench, file: &Path, filter: &str, count: &str) {
    let mut capture = switchctl(&bench.switch.config.api_socket);
    capture.args([
        "capture", "s2", "--snap", "1024", "--filter", filter, "--count", count, "-w",
    ]);
    printed(capture.arg(file));
}

#[test]
fn what_two_switches_tell_each_other_is_what_their_api_says() {
    let bench = Bench::of("gateway.toml", &[], |config| {
        config.lldp.interval = weir_core::Duration::from_secs(1);
    });
    let file = bench.file("link.pcapng");
    let neighbour = until("the neighbour is known", || {
        let all: Vec<Neighbor> = bench.switch.get("/v1/neighbors").unwrap();
        all.into_iter().find(|neighbour| neighbour.port == "s2")
    });
    let weir = neighbour.weir.unwrap();
    capture(&bench, &file, "in and lldp", "1");
    let names = ["lossy", "pfc", "level"];
    let read = fields(
        &file,
        "weir.lldp",
        &["weir.lldp.mode", "weir.lldp.max_hops"],
    );
    let modes: Vec<&str> = read[0][0]
        .split(',')
        .map(|mode| names[mode.parse::<usize>().unwrap()])
        .collect();
    assert_eq!(weir.modes, modes);
    let depths: Vec<u8> = read[0][1]
        .split(',')
        .map(|depth| depth.parse().unwrap())
        .collect();
    assert_eq!(depths, weir.depths);

    capture(&bench, &file, "echo", "4");
    let read = fields(
        &file,
        "weir.echo",
        &["weir.echo.kind", "weir.echo.id", "frame.comment"],
    );
    assert_eq!(read.len(), 4);
    for echo in read {
        let kind = ["", "request", "reply"][echo[0].parse::<usize>().unwrap()];
        assert!(
            echo[2].ends_with(&format!("echo {kind} {}", echo[1])),
            "{echo:?}"
        );
    }
    capture(&bench, &file, "out and feedback", "2");
    assert_eq!(
        fields(
            &file,
            "frame.comment contains \"priority 3 Feedback 0\"",
            &["frame.number"]
        )
        .len(),
        2
    );
    assert_eq!(fields(&file, COMPLAINTS, &["frame.number"]).len(), 0);
    bench.end();
}

/// A host holds a fabric of two switches: the first one suspects the link between them, and reports it.
#[test]
fn credit_loop_control_messages_have_the_spuids_of_the_event_log() {
    let overrides = [
        "class.lossless.mode=pfc",
        "link-defaults.rate=10Mbit",
        "deadlock.policy=breaker",
        "deadlock.detect=50ms",
    ];
    let bench = Bench::of("gateway.toml", &overrides, |_| {});
    let file = bench.file("clcm.pcapng");
    let mut h1 = Scapy::start(&bench, "h1");
    let mut h2 = Scapy::start(&bench, "h2");
    let mut sent = false;
    let spuids = until("the first switch suspects the link", || {
        h2.send(1, PFC);
        if !std::mem::replace(&mut sent, true) {
            h1.send(150, DATA);
        }
        let page: EventPage = bench.switch.get("/v1/events").unwrap();
        let sent = page
            .events
            .into_iter()
            .filter(|event| event.kind == "clcm_sent");
        let spuids: Vec<String> = sent.map(|event| event.details["spuid"].clone()).collect();
        (!spuids.is_empty()).then_some(spuids)
    });
    h2.send(1, PFC);
    capture(&bench, &file, "out and clcm", "3");
    let read = fields(
        &file,
        "weir.clcm",
        &[
            "weir.clcm.spuid",
            "weir.clcm.priority",
            "weir.clcm.hops",
            "weir.clcm.cur_phase",
        ],
    );
    assert_eq!(read.len(), 3);
    for message in &read {
        let spuid = message[0].trim_start_matches("0x");
        assert!(
            spuids.iter().any(|known| known.contains(spuid)),
            "{message:?} {spuids:?}"
        );
        assert_eq!(message[1..], ["3", "1", "1"]);
    }
    assert_eq!(fields(&file, COMPLAINTS, &["frame.number"]).len(), 0);
    drop((h1, h2));
    bench.end();
}
