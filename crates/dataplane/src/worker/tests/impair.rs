//! Impairments of received frames.

use super::*;
use crate::exchange::impair::{Action, ImpairFigures, ImpairPlan, Impairment};
use weir_config::daemon::DELAYED_MAX;
use weir_config::frames::filter;

pub(super) fn impair(
    bench: &mut Bench,
    filter: &str,
    one_in: u64,
    action: Action,
) -> Arc<Impairment> {
    let impairment = Arc::new(Impairment::new(ImpairPlan {
        port: id(0),
        filter: filter::parse(filter, [0; 8]).unwrap(),
        one_in,
        action,
        until: bench.now + Duration::from_secs(3_600),
    }));
    bench.request(Request::Impair {
        place: 0,
        impairment: Some(Arc::clone(&impairment)),
    });
    bench.round();
    impairment
}

fn end(bench: &mut Bench) {
    bench.request(Request::Impair {
        place: 0,
        impairment: None,
    });
    bench.round();
}

/// Returns the numbers of the frames sent by port 1, in order.
fn arrived(bench: &Bench, count: u32) -> Vec<u32> {
    let sent = sent_by(&bench.sent(), 1);
    let number = |bytes: &Vec<u8>| (0..count).find(|number| *bytes == data(0, 1, *number, 500));
    sent.iter().filter_map(number).collect()
}

#[test]
fn each_nth_of_the_frames_that_are_meant_is_dropped_and_counted() {
    let mut bench = Bench::new(&Setup::default());
    let impairment = impair(&mut bench, "priority 3", 4, Action::Drop);
    for number in 0..12 {
        bench.arrive_data(0, 1, LOSSLESS, number);
        bench.arrive_data(0, 1, LOSSY, 100 + number);
        // Frames of another port are not affected.
        bench.arrive_data(1, 0, LOSSLESS, number);
        bench.settle();
    }
    assert_eq!(arrived(&bench, 12), [0, 1, 2, 4, 5, 6, 8, 9, 10]);
    assert_eq!(sent_by(&bench.sent(), 0).len(), 12);
    let drops = bench.worker.switch.counters(id(0)).drops;
    assert_eq!(drops[DropReason::Impaired.index()], 3);
    let figures = ImpairFigures {
        matched: 12,
        impaired: 3,
        overflowed: 0,
    };
    assert_eq!(impairment.figures(), figures);
    bench.assert_conserved();
    end(&mut bench);
    bench.arrive_data(0, 1, LOSSLESS, 0);
    bench.settle();
    assert_eq!(impairment.figures(), figures);
    // It ends on time even if no request ends it.
    impair(&mut bench, "", 1, Action::Drop);
    bench.now = bench.now + Duration::from_secs(3_601);
    let before = sent_by(&bench.sent(), 1).len();
    bench.arrive_data(0, 1, LOSSLESS, 0);
    bench.settle();
    assert_eq!(sent_by(&bench.sent(), 1).len(), before + 1);
    bench.assert_conserved();
}

#[test]
fn delayed_frames_keep_their_order_and_wake_the_loop() {
    let mut bench = Bench::new(&Setup::default());
    let delay = Duration::from_millis(2);
    impair(&mut bench, "", 1, Action::Delay(delay));
    for number in 0..5 {
        bench.arrive_data(0, 1, LOSSLESS, number);
        bench.round();
    }
    assert!(arrived(&bench, 5).is_empty());
    assert_eq!(
        bench.worker.switch.held_frames(),
        0,
        "they are on their way"
    );
    let due = bench.worker.impairing.next_due().unwrap();
    bench.round_after(due.saturating_since(bench.now));
    bench.round();
    assert_eq!(arrived(&bench, 5)[..1], [0]);
    bench.round_after(delay);
    bench.settle();
    assert_eq!(arrived(&bench, 5), [0, 1, 2, 3, 4]);
    assert_eq!(bench.worker.impairing.next_due(), None);
    bench.assert_conserved();

    // Ending it forwards its delayed frames at once.
    for number in 5..8 {
        bench.arrive_data(0, 1, LOSSLESS, number);
        bench.round();
    }
    end(&mut bench);
    bench.settle();
    assert_eq!(arrived(&bench, 8), [0, 1, 2, 3, 4, 5, 6, 7]);
    bench.assert_conserved();
}

#[test]
fn more_than_can_be_delayed_is_dropped_and_said_so() {
    let mut bench = Bench::new(&Setup {
        spare: 2 * DELAYED_MAX,
        ..Setup::default()
    });
    let delay = Duration::from_secs(1);
    let impairment = impair(&mut bench, "", 1, Action::Delay(delay));
    for _ in 0..DELAYED_MAX + 7 {
        bench.arrive_data(0, 1, LOSSY, 1);
        bench.round();
    }
    let figures = impairment.figures();
    assert_eq!(figures.overflowed, 7);
    let drops = bench.worker.switch.counters(id(0)).drops;
    assert_eq!(drops[DropReason::Impaired.index()], 7);
    // Draining does not wait for delayed frames.
    bench.request(Request::Stop {
        drain: Duration::from_secs(60),
        hands_on: false,
    });
    bench.round();
    assert_eq!(bench.worker.impairing.next_due(), None);
    bench.settle();
    bench.assert_conserved();
}
