//! Frames of the loop seen by taps.

use std::sync::Arc;

use super::*;
use crate::exchange::tap::{Choice, Record, Tap, TapPlan};
use weir_config::frames::filter::Filter;
use weir_config::frames::sight::{Direction, Verdict};

/// Copies all frames.
pub(super) fn tap(bench: &mut Bench) -> Arc<Tap> {
    let all = Choice::Matching {
        filter: Filter::default(),
        sample: 1,
    };
    tap_at(bench, 0, all, 2_048, 256)
}

/// Sets a tap at every port.
pub(super) fn tap_at(
    bench: &mut Bench,
    place: usize,
    choice: Choice,
    snap_bytes: usize,
    ring_frames: usize,
) -> Arc<Tap> {
    let plan = TapPlan {
        ports: (0..PORT_COUNT).map(id).collect(),
        choice,
        count: u64::MAX,
        snap_bytes,
        ring_frames,
    };
    let tap = Arc::new(Tap::new(plan, PORT_COUNT));
    bench.request(Request::Tap {
        place,
        tap: Some(Arc::clone(&tap)),
    });
    bench.round();
    tap
}

fn records(tap: &Tap) -> Vec<Record> {
    std::iter::from_fn(|| tap.take().map(|record| *record)).collect()
}

#[test]
fn a_frame_is_seen_as_it_comes_and_as_it_goes() {
    let mut bench = Bench::new(&Setup::default());
    let tap = tap(&mut bench);
    bench.arrive_data(0, 1, LOSSLESS, 1);
    bench.settle();
    let seen = records(&tap);
    assert_eq!(seen.len(), 2);
    let (came, went) = (&seen[0], &seen[1]);
    assert_eq!((came.port, came.direction), (id(0), Direction::In));
    assert_eq!((went.port, went.direction), (id(1), Direction::Out));
    assert!(matches!(
        came.verdict,
        Verdict::Admitted { held: false, .. }
    ));
    for record in &seen {
        assert_eq!(record.bytes(), data(0, 1, 1, 500));
        assert_eq!(record.priority.map(Priority::get), Some(LOSSLESS));
    }
    // A removed tap sees no more frames.
    bench.request(Request::Tap {
        place: 0,
        tap: None,
    });
    bench.arrive_data(0, 1, LOSSLESS, 2);
    bench.settle();
    assert!(records(&tap).is_empty());
    bench.assert_conserved();
}

#[test]
fn every_drop_has_the_reason_that_is_counted() {
    let mut bench = Bench::new(&Setup::default());
    let tap = tap(&mut bench);
    for (port, meta, bytes, reason) in frames_to_refuse() {
        bench.arrive(port, meta, &bytes);
        bench.round();
        let seen = records(&tap);
        let verdicts: Vec<Verdict> = seen.iter().map(|record| record.verdict).collect();
        let expected = reason.map_or(Verdict::Read, Verdict::Dropped);
        assert_eq!(verdicts, [expected]);
        assert_eq!(seen[0].bytes(), bytes);
    }
    bench.assert_conserved();
}

#[test]
fn a_pause_is_seen_on_both_sides_and_what_it_holds_says_so() {
    let mut bench = Bench::new(&Setup::default());
    let tap = tap(&mut bench);
    bench.arrive_pfc(1, LOSSLESS, Quanta::MAX);
    bench.settle();
    for number in 0..16 {
        bench.arrive_data(0, 1, LOSSLESS, number);
        bench.round();
    }
    let seen = records(&tap);
    assert_eq!(seen[0].verdict, Verdict::Read);
    let held = |record: &Record| matches!(record.verdict, Verdict::Admitted { held: true, .. });
    assert_eq!(seen.iter().filter(|record| held(record)).count(), 16);
    let last = &seen[seen.len() - 1];
    assert_eq!(
        (last.port, last.direction, last.priority),
        (id(0), Direction::Out, None)
    );
    assert_eq!(pause_of(last.bytes()), Some(Quanta::MAX));
    let pausing =
        |record: &&Record| matches!(record.verdict, Verdict::Admitted { pausing: true, .. });
    assert_eq!(
        seen.iter().filter(pausing).count(),
        1,
        "the last one reaches xoff"
    );
}
