//! Checksums that hosts leave to virtual devices.

use weir_core::wire::checksum::{unfinished, Sum};

use super::*;

const PAYLOAD: usize = 301;

/// A UDP datagram whose checksum holds the pseudo header's sum, from port 0 to port 1.
fn datagram() -> Vec<u8> {
    let length = (8 + PAYLOAD) as u16;
    let mut frame = frame_between(host(0), host(1));
    frame.extend([0x45, 0]);
    frame.extend((length + 20).to_be_bytes());
    frame.extend([0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    let mut pseudo = Sum::default();
    pseudo.add(&frame[26..34]);
    pseudo.add(&[0, 17]);
    pseudo.add(&length.to_be_bytes());
    frame.extend([0, 9, 0, 9]);
    frame.extend(length.to_be_bytes());
    frame.extend(pseudo.folded().to_be_bytes());
    frame.extend((0..PAYLOAD).map(|n| (n * 31) as u8));
    frame
}

/// Returns the frame sent for one received, and the number of finished checksums.
fn forwarded(finishes: bool, frame: &[u8]) -> (Vec<u8>, u64) {
    let mut bench = Bench::new(&Setup {
        finishes,
        ..Setup::default()
    });
    bench.arrive(0, Some(meta(FrameClass::Data, LOSSY)), frame);
    bench.settle();
    bench.assert_conserved();
    let sent = bench.sent_by(1);
    let data = sent.into_iter().find(|sent| sent.len() == frame.len());
    let counted = bench.snapshot().rounds.counters.checksums_finished;
    (data.unwrap(), counted)
}

#[test]
fn a_checksum_is_finished_where_the_device_is_virtual() {
    let frame = datagram();
    let found = unfinished(&frame).unwrap();
    let (sent, counted) = forwarded(true, &frame);
    assert_eq!(counted, 1);
    assert_eq!(unfinished(&sent), None);
    let mut sum = Sum::default();
    sum.add(&sent[26..34]);
    sum.add(&[0, 17]);
    sum.add(&(found.length as u16).to_be_bytes());
    sum.add(&sent[found.start..]);
    assert_eq!(sum.folded(), 0xFFFF, "a receiver takes it");
    // All else is unchanged, and a complete frame stays as it is.
    let mut restored = sent.clone();
    restored[found.at..found.at + 2].copy_from_slice(&frame[found.at..found.at + 2]);
    assert_eq!(restored, frame);
    assert_eq!(forwarded(true, &sent), (sent, 0));
}

#[test]
fn hardware_sends_whole_frames_and_they_are_not_looked_at() {
    let frame = datagram();
    assert_eq!(forwarded(false, &frame), (frame, 0));
}
