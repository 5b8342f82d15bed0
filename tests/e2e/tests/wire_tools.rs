//! Independent tools as judges: tshark decodes our PAUSE and PFC frames, and frames built by scapy pause and resume our
//! queues.

use std::path::Path;
use std::process::Command;

use weir_core::units::{MacAddress, Quanta};
use weir_core::wire::mac_control::MacControl;
use weir_core::PauseRule;
use weir_tests::capture::write_capture;
use weir_tests::scapy::Scapy;
use weir_tests::{until, Bench, LOSSLESS};

/// A pause of 65535 quanta lasts 3.4 s at this rate.
const SLOW: &str = "link-defaults.rate=10Mbit";
/// More than xoff (60 KiB) and less than headroom.
const FRAMES: u32 = 100;
/// A lossless frame from `h1` to `h2`; complete, so scapy resolves no address.
const DATA: &str = "Ether(src='02:57:00:00:00:01', dst='02:57:00:00:00:02')\
    / Dot1Q(prio=3, vlan=0) / IP(src='10.99.0.1', dst='10.99.0.2') / UDP() / Raw(bytes(1400))";
const PFC: &str = "Ether(src='02:57:00:00:00:02', dst='01:80:c2:00:00:01')\
    / MACControlClassBasedFlowControl(c3_enabled=1, c3_pause_time=QUANTA)";
const PAUSE: &str = "Ether(src='02:57:00:00:00:02', dst='01:80:c2:00:00:01')\
    / MACControlPause(pause_time=QUANTA)";

fn with_quanta(frame: &str, quanta: u16) -> String {
    frame.replace("QUANTA", &quanta.to_string())
}

/// Returns the values of `fields` in every MAC control frame of a capture, as tshark decodes them.
fn decode(capture: &Path, fields: &[&str]) -> Vec<Vec<String>> {
    let mut tshark = Command::new("tshark");
    tshark
        .args(["-n", "-Y", "macc", "-T", "fields", "-r"])
        .arg(capture);
    for field in fields {
        tshark.args(["-e", field]);
    }
    let output = tshark.output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines()
        .map(|line| line.split('\t').map(str::to_owned).collect())
        .collect()
}

fn assert_no_complaint(capture: &Path) {
    let output = Command::new("tshark")
        .args(["-n", "-Y", "_ws.expert || _ws.malformed", "-r"])
        .arg(capture)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.is_empty(), "{text}");
}

#[test]
fn tshark_reads_every_value_that_we_write() {
    let directory = tempfile::tempdir().unwrap();
    let capture = directory.path().join("all.pcap");
    let times = [0, 1, 2, 3, 4, 5, 6, 7].map(|index| {
        (index != 2).then_some(Quanta(if index == 7 { u16::MAX } else { 1_000 * index }))
    });
    let frames = [
        MacControl::Pause {
            quanta: Quanta(513),
        },
        MacControl::Pfc { times },
    ];
    let source = MacAddress([2, 0, 0, 0, 0, 9]);
    let frames: Vec<Vec<u8>> = frames
        .iter()
        .map(|frame| {
            let mut buffer = vec![0; 64];
            let length = frame.emit(source, &mut buffer).unwrap();
            buffer[..length].to_vec()
        })
        .collect();
    write_capture(&capture, &frames);
    assert_no_complaint(&capture);

    let mut fields = vec![
        "frame.len",
        "eth.dst",
        "eth.src",
        "macc.opcode",
        "macc.pause_time",
    ];
    fields.push("macc.cbfc.enbv");
    let classes: Vec<String> = (0..8)
        .map(|class| format!("macc.cbfc.pause_time.c{class}"))
        .collect();
    fields.extend(classes.iter().map(String::as_str));
    let decoded = decode(&capture, &fields);
    let common = ["60", "01:80:c2:00:00:01", "02:00:00:00:00:09"];
    assert_eq!(decoded[0][..3], common);
    assert_eq!(decoded[0][3..5], ["0x0001", "513"]);
    assert_eq!(decoded[1][..3], common);
    assert_eq!(decoded[1][3..6], ["0x0101", "", "0x00fb"]);
    let expected = ["0", "1000", "0", "3000", "4000", "5000", "6000", "65535"];
    assert_eq!(decoded[1][6..], expected);
}

#[test]
fn a_held_switch_pauses_its_neighbour_and_tshark_sees_it() {
    let bench = Bench::new(&[SLOW], |_| {});
    let capture = bench.file("h1.pcap");
    let filter = "ether proto 0x8808";
    let arguments = ["tcpdump", "-U", "-i", bench.host_device(), "-Q", "in", "-w"];
    let mut words = arguments.to_vec();
    words.extend([capture.to_str().unwrap(), filter]);
    let tcpdump = bench.start("h1", &words);
    until("tcpdump listens", || {
        tcpdump.log_end().contains("listening").then_some(())
    });
    let mut h1 = Scapy::start(&bench, "h1");
    let mut h2 = Scapy::start(&bench, "h2");

    // A machine that stalls for seconds may miss a pause, so it is sent again.
    let mut sent = 0;
    until("frames are held and the neighbour is paused", || {
        h2.send(1, &with_quanta(PFC, u16::MAX));
        if sent == 0 {
            h1.send(FRAMES, DATA);
            sent = FRAMES;
        }
        (bench.pfc("h1").pausing && bench.pfc("h2").paused).then_some(())
    });
    let held = bench.switch.status().unwrap().held_frames;
    assert!(held > 0);
    h2.send(1, &with_quanta(PFC, 0));
    until("all has left", || {
        let status = bench.switch.status().unwrap();
        (status.held_frames == 0 && !bench.pfc("h1").pausing).then_some(())
    });
    assert_eq!(bench.port("h2").tx_frames_total, u64::from(FRAMES));
    assert_eq!(bench.port("h1").drops_total.values().sum::<u64>(), 0);

    let (time, enabled) = ("macc.cbfc.pause_time.c3", "macc.cbfc.enbv");
    let fields = [
        "eth.dst",
        "eth.src",
        "frame.len",
        "macc.opcode",
        enabled,
        time,
    ];
    let frames = until("XOFF and XON are captured", || {
        let frames = decode(&capture, &fields);
        let times: Vec<&str> = frames.iter().map(|frame| frame[5].as_str()).collect();
        (times.contains(&"65535") && times.last() == Some(&"0")).then_some(frames)
    });
    assert_no_complaint(&capture);
    for frame in &frames {
        assert_eq!(frame[0], "01:80:c2:00:00:01");
        assert_eq!(frame[1], bench.port("h1").address);
        assert_eq!(frame[2..5], ["60", "0x0101", "0x0008"], "{frame:?}");
    }
    assert_eq!(frames[0][5], "65535", "XOFF comes first");
    drop((h1, h2, tcpdump));
    bench.end();
}

#[test]
fn a_pfc_frame_by_scapy_holds_its_priority_until_it_expires() {
    let bench = Bench::new(&[SLOW], |_| {});
    let mut h1 = Scapy::start(&bench, "h1");
    let mut h2 = Scapy::start(&bench, "h2");
    until("the queue is held", || {
        h2.send(1, &with_quanta(PFC, u16::MAX));
        bench.pfc("h2").paused.then_some(())
    });
    h1.send(1, DATA);
    // Another priority is not affected and passes.
    h1.send(1, &DATA.replace("prio=3", "prio=5"));
    until("the other priority passes", || {
        (bench.port("h2").tx_frames_total >= 1).then_some(())
    });
    until("the pause expires by itself", || {
        (!bench.pfc("h2").paused).then_some(())
    });
    until("the frame leaves", || {
        (bench.port("h2").tx_frames_total == 2).then_some(())
    });
    let pfc = bench.pfc("h2");
    assert!(pfc.pause_received_total >= 1, "{pfc:?}");
    assert_eq!(pfc.resume_received_total, 0, "nobody sent XON: {pfc:?}");
    assert!(pfc.paused_seconds_total >= 3.0, "{pfc:?}");
    assert_eq!(pfc.priority, LOSSLESS);
    drop((h1, h2));
    bench.end();
}

#[test]
fn a_pause_frame_by_scapy_holds_everything_until_it_is_taken_back() {
    let bench = Bench::new(&[SLOW], |config| {
        for port in &mut config.ports {
            port.pause = Some(PauseRule::Obey);
        }
    });
    let mut h1 = Scapy::start(&bench, "h1");
    let mut h2 = Scapy::start(&bench, "h2");
    until("the port is held", || {
        h2.send(1, &with_quanta(PAUSE, u16::MAX));
        bench.pfc("h2").paused.then_some(())
    });
    h1.send(1, DATA);
    h1.send(1, &DATA.replace("prio=3", "prio=5"));
    until("both priorities are held", || {
        h2.send(1, &with_quanta(PAUSE, u16::MAX));
        (bench.switch.status().unwrap().held_frames == 2).then_some(())
    });
    assert_eq!(bench.port("h2").tx_frames_total, 0);
    h2.send(1, &with_quanta(PAUSE, 0));
    until("both leave", || {
        (bench.port("h2").tx_frames_total == 2).then_some(())
    });
    let pfc = bench.pfc("h2");
    assert!(!pfc.paused && pfc.resume_received_total >= 1, "{pfc:?}");
    drop((h1, h2));
    bench.end();
}
