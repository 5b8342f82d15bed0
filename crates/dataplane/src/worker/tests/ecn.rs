//! Congestion marks in the bytes of frames.

use weir_core::{MarkAt, PartsPerMillion, RedConfig};

use super::*;

const NOT_ECT: u8 = 0b00;
const ECT: u8 = 0b10;
const CE: u8 = 0b11;
/// DSCP of every frame here; the low two bits are the ECN field.
const DSCP: u8 = 46 << 2;
const TRAFFIC_CLASS_AT: usize = 15;
const LENGTH: usize = 500;

/// A threshold that two frames reach.
const STEP_AT_TWO: RedConfig = RedConfig {
    kmin: Bytes::new(2 * LENGTH as u64),
    kmax: Bytes::new(2 * LENGTH as u64),
    pmax: PartsPerMillion::ONE,
    at: MarkAt::Arrival,
};

/// Returns an IPv4 packet with a valid header checksum, from port 0 to port 1.
fn packet(ecn: u8, id: u8) -> Vec<u8> {
    let mut frame = frame_between(host(0), host(1));
    let mut header = [
        0x45,
        DSCP | ecn,
        1,
        0xE6,
        0,
        id,
        0x40,
        0,
        64,
        17,
        0,
        0,
        10,
        0,
        0,
        1,
        10,
        0,
        0,
        2,
    ];
    let checksum = !sum(&header);
    header[10..12].copy_from_slice(&checksum.to_be_bytes());
    frame.extend_from_slice(&header);
    frame.resize(LENGTH, id);
    frame
}

/// The ones' complement sum of RFC 1071.
fn sum(header: &[u8]) -> u16 {
    let words = header
        .chunks_exact(2)
        .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
    let sum: u32 = words.sum();
    ((sum & 0xFFFF) + (sum >> 16)) as u16
}

/// Returns the packets with these ECN fields after all of them have waited at one egress.
fn pass(setup: &Setup, priority: u8, fields: &[u8]) -> (Bench, Vec<Vec<u8>>) {
    let mut bench = Bench::new(setup);
    // A lossy class does not obey pauses, but a port whose link is down keeps its frames.
    let set_link = |up| Command::SetLink { port: id(1), up };
    bench.command(set_link(false));
    bench.settle();
    for (id, ecn) in (0..).zip(fields) {
        let meta = meta(FrameClass::Data, priority);
        bench.arrive(0, Some(meta), &packet(*ecn, id));
        bench.round();
    }
    assert_eq!(bench.worker.switch.held_frames(), fields.len());
    bench.command(set_link(true));
    bench.settle();
    bench.assert_conserved();
    let sent = bench.sent_by(1);
    let is_data = |bytes: &Vec<u8>| bytes.len() == LENGTH;
    let sent = sent.into_iter().filter(is_data).collect();
    (bench, sent)
}

#[test]
fn at_departure_what_leaves_a_long_queue_behind_says_so() {
    let setup = Setup {
        ecn: Some(RedConfig {
            at: MarkAt::Departure,
            ..STEP_AT_TWO
        }),
        ..Setup::default()
    };
    let (bench, sent) = pass(&setup, LOSSLESS, &[ECT, ECT, NOT_ECT, ECT, ECT]);
    // Frames waiting behind each: four, three, two, one, none.
    let expected = [CE, CE, NOT_ECT, ECT, ECT];
    assert_eq!(sent.len(), expected.len());
    for (frame, ecn) in sent.iter().zip(expected) {
        assert_eq!(frame[TRAFFIC_CLASS_AT], DSCP | ecn);
        assert_eq!(sum(&frame[14..34]), 0xFFFF, "the checksum holds");
    }
    let marks = |port| {
        bench.worker.switch.counters(PortId::new(port)).priority[usize::from(LOSSLESS)].marks
    };
    assert_eq!([marks(0), marks(1)], [0, 2], "counted at the egress");
}

#[test]
fn what_finds_a_long_queue_leaves_with_congestion_experienced_in_every_mode() {
    for (priority, has_levels) in [(LOSSY, false), (LOSSLESS, false), (LOSSLESS, true)] {
        let setup = Setup {
            ecn: Some(STEP_AT_TWO),
            has_levels,
            ..Setup::default()
        };
        let fields = [ECT, CE, ECT, NOT_ECT, CE, 0b01, ECT];
        let (bench, sent) = pass(&setup, priority, &fields);
        let expected = [ECT, CE, CE, NOT_ECT, CE, CE, CE];
        let told = format!("priority {priority}, Levels {has_levels}");
        assert_eq!(sent.len(), fields.len(), "{told}");
        for (id, (frame, ecn)) in (0..).zip(sent.iter().zip(expected)) {
            assert_eq!(frame, &packet(ecn, id), "{told}: the checksum with it");
            assert_eq!(frame[TRAFFIC_CLASS_AT], DSCP | ecn, "{told}");
        }
        let marks = |port: usize| bench.counters(port).priority.map(|it| it.marks);
        let mut counted = [0; 8];
        counted[usize::from(priority)] = 3;
        assert_eq!(marks(0), counted, "{told}: those that were changed");
        assert_eq!(marks(1), [0; 8], "{told}");
    }
}

#[test]
fn a_class_without_thresholds_marks_nothing() {
    // Lossy frames for a link that is down use at most half of their buffer.
    for (priority, count) in [(LOSSY, 8), (LOSSLESS, 12)] {
        let (bench, sent) = pass(&Setup::default(), priority, &[ECT; 12][..count]);
        for (id, frame) in (0..).zip(&sent) {
            assert_eq!(frame, &packet(ECT, id));
        }
        assert_eq!(bench.counters(0).priority.map(|it| it.marks), [0; 8]);
    }
}
