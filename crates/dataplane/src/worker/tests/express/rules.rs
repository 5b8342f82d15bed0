//! Conditions that open and close the path, and its counters.

use super::super::taps::tap;
use super::*;

#[test]
fn what_passes_is_counted_with_the_rest_and_by_itself() {
    let mut both = Both::new(&Setup::default());
    let bytes = frame(0, 1, 1, LOSSY);
    assert!(both.arrive(0, 1, LOSSY, &bytes));
    both.words.close(1);
    assert!(both.arrive(0, 1, LOSSY, &bytes));
    both.bench.settle();
    assert_eq!((both.express, both.slow), (1, 1));
    let snapshot = both.snapshot();
    let of = |port: usize| snapshot.ports[port].counters.priority[usize::from(LOSSY)];
    assert_eq!((of(0).rx_frames, of(0).express_rx_frames), (2, 1));
    assert_eq!((of(1).tx_frames, of(1).express_tx_frames), (2, 1));
    assert_eq!((of(0).rx_bytes, of(1).tx_bytes), (200, 200));
    assert_eq!((of(0).express_tx_frames, of(1).express_rx_frames), (0, 0));
    both.bench.assert_conserved();
}

#[test]
fn frames_that_a_device_had_no_room_for_are_counted_at_it() {
    let mut both = Both::new(&Setup::default());
    // As the program that checks the ring does.
    both.words.0.no_room[1].store(5, Ordering::Relaxed);
    let snapshot = both.snapshot();
    let counted = snapshot
        .ports
        .iter()
        .map(|port| port.counters.express_no_room);
    assert!(counted.eq([0, 5, 0]));
}

#[test]
fn a_change_of_routes_shuts_the_path_until_the_programs_know() {
    let mut both = Both::new(&Setup::default());
    assert_eq!(both.state(1), State::Open);
    both.change_route();
    both.bench.round();
    assert!(!both.words.0.is_on.load(Ordering::Relaxed));
    assert_eq!(both.state(1), State::Routes);
    // The programs have older routes.
    let version = both.bench.worker.switch.routes_version();
    both.order(ExpressOrder::Ready {
        version: version - 1,
    });
    assert_eq!(both.state(1), State::Routes);
    let routes = both.learn_routes();
    assert!(routes.contains(&(host(1), id(1))));
    assert_eq!(both.state(1), State::Open);
}

#[test]
fn a_capture_sees_every_frame() {
    let mut both = Both::new(&Setup::default());
    let on = |both: &Both| both.words.0.is_on.load(Ordering::Relaxed);
    let _tap = tap(&mut both.bench);
    assert!(!on(&both));
    assert_eq!(both.state(1), State::Capture);
    both.bench
        .requests
        .send(Request::Tap {
            place: 0,
            tap: None,
        })
        .unwrap();
    both.bench.round();
    assert!(on(&both));
}

#[test]
fn a_lost_frame_shuts_its_port_for_a_second() {
    let mut both = Both::new(&Setup::default());
    // As the program at the kernel's tracepoint does.
    both.words.0.lost[1].store(3, Ordering::Relaxed);
    both.words.close(1);
    both.bench.round_after(Duration::from_millis(10));
    assert_eq!(both.state(1), State::Loss);
    assert_eq!(both.snapshot().ports[1].kernel.tx_redirect_total, 3);
    assert_eq!(both.state(2), State::Open);
    both.bench.round_after(Duration::from_millis(980));
    assert!(!both.is_open(1));
    both.bench.round_after(Duration::from_millis(20));
    assert!(both.is_open(1));
}

#[test]
fn a_mac_control_frame_that_never_comes_is_waited_for_as_long_as_a_pause_lasts() {
    let mut both = Both::new(&Setup::default());
    both.words.0.gates[1].fetch_add(SEEN, Ordering::Relaxed);
    both.words.close(1);
    both.bench.round();
    assert_eq!(both.state(1), State::Open, "as the loop left it");
    // The core checks at intervals.
    both.bench.round_after(Duration::from_millis(2));
    assert!(!both.is_open(1));
    both.bench.round_after(Duration::from_millis(6_990));
    assert!(!both.is_open(1));
    both.bench.round_after(Duration::from_millis(11));
    assert!(both.is_open(1));
}

#[test]
fn a_frame_that_never_comes_is_given_up_and_no_other() {
    let mut both = Both::new(&Setup::default());
    both.lose(0, LOSSY);
    both.words.close(1);
    assert!(both.arrive(0, 1, LOSSY, &frame(0, 1, 1, LOSSY)));
    assert!(both.arrive(0, 1, LOSSY, &frame(0, 1, 2, LOSSY)));
    let finished =
        |both: &Both| both.words.0.finished[0][usize::from(LOSSY)].load(Ordering::Relaxed);
    both.search();
    both.bench.settle();
    assert_eq!(finished(&both), 3);
    assert!(both.arrive(0, 1, LOSSY, &frame(0, 1, 3, LOSSY)));
    assert_eq!((both.express, both.slow), (1, 2));
    both.search();
    assert_eq!(finished(&both), 3, "none is given up twice");
}

#[test]
fn a_port_that_goes_and_a_switch_that_ends_let_nothing_pass() {
    let mut both = Both::new(&Setup::default());
    both.judge(1, State::NoDevice);
    assert!(!both.is_open(1));
    assert_eq!(both.state(1), State::NoDevice);
    assert!(both.is_open(2));
    let drain = Duration::from_millis(100);
    both.bench
        .requests
        .send(Request::Stop {
            drain,
            hands_on: false,
        })
        .unwrap();
    both.bench.round();
    assert!(!both.words.0.is_on.load(Ordering::Relaxed));
}

#[test]
fn a_pause_shuts_the_priorities_that_obey_it_and_no_others() {
    let mut both = Both::new(&Setup::default());
    let open = |both: &Both| both.words.gate(1) & OPEN;
    let lossless = 1 << LOSSLESS;
    assert_eq!(open(&both), 0xff);
    both.pause(1, LOSSLESS, Quanta::MAX);
    assert_eq!(open(&both), 0);
    both.bench.round();
    assert_eq!(open(&both), 0xff & !lossless);
    assert!(both.arrive(0, 1, LOSSLESS, &frame(0, 1, 1, LOSSLESS)));
    both.bench.round();
    assert_eq!((both.express, both.slow, open(&both)), (0, 1, 0));
    both.pause(1, LOSSLESS, Quanta::ZERO);
    both.bench.settle();
    assert_eq!(open(&both), 0xff);
    assert!(both.arrive(0, 1, LOSSLESS, &frame(0, 1, 2, LOSSLESS)));
    assert_eq!((both.express, both.slow), (1, 1));
}

#[test]
fn frames_with_levels_pass_at_feedback_0_and_no_other() {
    let mut both = Both::new(&Setup {
        has_levels: true,
        ..Setup::default()
    });
    assert_eq!(both.words.gate(1) & OPEN, 0xff);
    for (feedback, open) in [(1, 0xff & !(1 << LOSSLESS)), (0, 0xff)] {
        // Coded as a pause time of 1 + f, followed by zero.
        both.pause(1, LOSSLESS, Quanta(1 + feedback));
        both.pause(1, LOSSLESS, Quanta::ZERO);
        both.bench.settle();
        assert_eq!(both.words.gate(1) & OPEN, open, "Feedback {feedback}");
    }
}

/// Closes port 1 while its device has not yet received a forwarded frame, and the core has another one to send there.
fn with_one_on_its_way() -> Both {
    let mut both = Both::new(&Setup::default());
    both.words.0.on_way[1].store(1, Ordering::Relaxed);
    both.words.close(1);
    assert!(both.arrive(0, 1, LOSSLESS, &frame(0, 1, 1, LOSSLESS)));
    both.bench.round();
    both
}

fn has_sent(both: &Both) -> bool {
    let sent = both.bench.worker.io.sent.borrow();
    both.bench.worker.io.tx_waiting(1) > 0 || sent.iter().any(|sent| sent.port == 1)
}

#[test]
fn the_core_sends_nothing_while_frames_are_on_their_way() {
    let mut both = with_one_on_its_way();
    assert!(!has_sent(&both));
    assert!(
        both.bench.round_after(Duration::from_micros(10)),
        "it looks again"
    );
    assert!(!has_sent(&both));
    both.words.0.on_way[1].store(0, Ordering::Relaxed);
    both.bench.settle();
    assert!(has_sent(&both));
    assert!(both.is_open(1));
}

/// It would otherwise be too late.
#[test]
fn a_pause_waits_for_no_frame_on_its_way() {
    let mut both = Both::new(&Setup::default());
    both.words.0.on_way[0].store(1, Ordering::Relaxed);
    both.words.close(0);
    both.words.close(1);
    both.bench.worker.io.set_budget(1, 0);
    // 512 B each in whole cells: the last one reaches xoff.
    for number in 0..16 {
        both.bench.arrive_data(0, 1, LOSSLESS, number);
    }
    // A frame for the same port waits.
    assert!(both.arrive(2, 0, LOSSLESS, &frame(2, 0, 1, LOSSLESS)));
    for _ in 0..4 {
        both.bench.round();
    }
    let [pause] = both.bench.sent_by(0).try_into().unwrap();
    assert_eq!(pause_of(&pause), Some(Quanta::MAX));
    both.words.0.on_way[0].store(0, Ordering::Relaxed);
    both.bench.settle();
    assert_eq!(both.bench.sent_by(0).len(), 2);
}

#[test]
fn a_count_that_went_wrong_shuts_the_path_and_not_the_port() {
    let mut both = with_one_on_its_way();
    both.bench.round_after(Duration::from_millis(40));
    assert!(!has_sent(&both));
    both.bench.round_after(Duration::from_millis(11));
    both.bench.settle();
    assert!(has_sent(&both));
    both.bench.round_after(Duration::from_secs(10));
    assert!(!both.is_open(1));
    both.words.0.on_way[1].store(0, Ordering::Relaxed);
    both.bench.round_after(Duration::from_millis(2));
    assert!(both.is_open(1));
}
