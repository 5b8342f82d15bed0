//! Slots reserved for frames with a credit.

use super::*;

fn told(bench: &Bench, port: usize) -> u32 {
    bench.worker.ports[port].credit_slots
}

#[test]
fn credits_are_covered_by_the_chunks_that_the_kernel_has() {
    const KEPT: u32 = 8;
    let mut bench = Bench::new(&Setup::default());
    assert_eq!(told(&bench, 0), 0);
    bench.worker.io.kept = Some(KEPT);
    bench.worker.note_slots();
    bench.round();
    assert_eq!(told(&bench, 0), KEPT);
    bench.worker.part(bench.now, id(0));
    assert_eq!((told(&bench, 0), told(&bench, 1)), (0, KEPT));
    bench.worker.give_up_port(id(0));
    bench.assert_conserved();
}

/// A frame without metadata may have had a credit, in which case it used no shared slot.
#[test]
fn frames_without_a_credit_are_counted_out() {
    let mut bench = Bench::new(&Setup::default());
    bench.arrive_data(0, 1, LOSSY, 1);
    bench.round();
    assert_eq!(bench.worker.io.counted_out, [0, 0], "no slots are kept");
    bench.worker.io.kept = Some(1);
    bench.worker.note_slots();
    let paid = Meta {
        has_credit: true,
        ..meta(FrameClass::Data, LOSSLESS)
    };
    bench.arrive(0, Some(paid), &data(0, 1, 2, 500));
    bench.arrive(0, None, &data(0, 1, 3, 500));
    bench.arrive_data(0, 1, LOSSY, 4);
    bench.round();
    assert_eq!(bench.worker.io.counted_out, [2, 1]);
    bench.assert_conserved();
}
