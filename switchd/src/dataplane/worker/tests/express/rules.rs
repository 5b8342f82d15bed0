//! What opens and shuts the path, and what is counted.

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
fn a_change_of_routes_shuts_the_path_until_the_programs_know() {
    let mut both = Both::new(&Setup::default());
    assert_eq!(both.state(1), State::Open);
    both.change_route();
    both.bench.round();
    assert!(!both.words.0.is_on.load(Ordering::Relaxed));
    assert_eq!(both.state(1), State::Routes);
    // What the programs have been given is older.
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
    // It looks now and then.
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
