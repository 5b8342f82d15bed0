//! The loop's accounts contain every frame and every chunk once, and show what is missing.

use weir_api::audit::Audit;

use super::*;

/// Returns the frames of a port that were dropped from queues for this reason.
fn given_up(audit: &Audit, port: usize, reason: &str) -> u64 {
    audit.ports[port].given_up.get(reason).copied().unwrap_or(0)
}

#[test]
fn frames_that_wait_are_held_by_the_port_they_came_in_by() {
    let mut bench = Bench::new(&Setup::default());
    bench.worker.io.set_budget(1, 0);
    for number in 0..70 {
        bench.arrive_data(0, 1, LOSSY, number);
        bench.round();
    }
    let audit = bench.audit();
    assert_eq!(audit.differences(), []);
    let [from, to, _] = &audit.ports[..] else {
        panic!("three ports")
    };
    // 512 B each in whole cells: sixteen fill a buffer of 8 KiB.
    assert_eq!((from.received, from.admitted, from.held), (70, 16, 16));
    assert_eq!(from.refused["buffer_full"], 54);
    assert_eq!((to.sent_data, to.with_transmitter, to.waiting), (16, 16, 0));
    bench.worker.io.set_budget(1, usize::MAX);
    bench.settle();
    let audit = bench.audit();
    assert_eq!(audit.differences(), []);
    assert_eq!((audit.ports[0].delivered, audit.ports[0].held), (16, 0));
    assert_eq!(
        (audit.ports[1].completed, audit.ports[1].with_transmitter),
        (16, 0)
    );
}

#[test]
fn the_oldest_frame_with_a_transmitter_has_its_age_until_it_is_completed() {
    let mut bench = Bench::new(&Setup::default());
    let oldest = |bench: &mut Bench| bench.books().accounts.oldest_sent_at.clone();
    bench.worker.io.set_budget(1, 0);
    bench.arrive_data(0, 1, LOSSY, 0);
    bench.round();
    let [None, Some(first), None] = oldest(&mut bench)[..] else {
        panic!("port b has a frame");
    };
    bench.arrive_data(0, 1, LOSSY, 1);
    bench.round_after(Duration::from_millis(5));
    assert_eq!(oldest(&mut bench), [None, Some(first), None]);
    bench.worker.io.set_budget(1, usize::MAX);
    bench.settle();
    assert_eq!(oldest(&mut bench), [None; 3]);
    bench.worker.io.set_budget(1, 0);
    bench.arrive_data(0, 1, LOSSY, 2);
    bench.round();
    let again = oldest(&mut bench)[1].unwrap();
    assert!(again.saturating_since(first) >= Duration::from_millis(5));
}

#[test]
fn frames_that_grow_old_are_given_up() {
    let mut bench = Bench::new(&Setup {
        age_limit: Some(Duration::from_millis(1)),
        outstanding_max: 1,
        ..Setup::default()
    });
    bench.worker.io.set_budget(1, 0);
    for number in 0..10 {
        bench.arrive_data(0, 1, LOSSY, number);
    }
    bench.settle();
    assert_eq!(bench.audit().ports[0].held, 10);
    bench.round_after(Duration::from_millis(5));
    let audit = bench.audit();
    assert_eq!(audit.differences(), []);
    // The transmitter holds one, which counts as sent.
    assert_eq!((given_up(&audit, 0, "aged"), audit.ports[0].held), (9, 1));
}

#[test]
fn a_flooded_frame_is_delivered_once_and_sent_by_each_port() {
    let mut bench = Bench::new(&Setup {
        learning_capacity: 16,
        ..Setup::default()
    });
    bench.worker.io.set_budget(2, 0);
    let frame = frame_between(host(0), MacAddress([0xff; 6]));
    bench.arrive(
        0,
        Some(meta(FrameClass::Data, LOSSY)),
        &[&frame[..], &[0; 60]].concat(),
    );
    bench.round();
    let audit = bench.audit();
    assert_eq!(audit.differences(), []);
    assert_eq!((audit.ports[0].held, audit.ports[0].delivered), (1, 0));
    bench.worker.io.set_budget(2, usize::MAX);
    bench.settle();
    let audit = bench.audit();
    assert_eq!(audit.differences(), []);
    assert_eq!((audit.ports[0].held, audit.ports[0].delivered), (0, 1));
    let sent: Vec<u64> = audit.ports.iter().map(|port| port.sent_data).collect();
    assert_eq!(sent, [0, 1, 1]);
}

#[test]
fn a_chunk_that_is_lost_is_found() {
    let mut bench = Bench::new(&Setup::default());
    bench.settle();
    assert_eq!(bench.audit().differences(), []);
    let lost = bench.worker.pool.take();
    assert!(lost.is_some());
    let found: Vec<String> = bench
        .audit()
        .differences()
        .into_iter()
        .map(|difference| difference.equation)
        .collect();
    assert_eq!(
        found,
        [
            "lent - received = chunks that carry nothing",
            "chunks = free + lent - received + held + their further parts + control"
        ]
    );
}

#[test]
fn a_frame_that_the_switch_forgets_is_found() {
    let mut bench = Bench::new(&Setup::default());
    bench.worker.io.set_budget(1, 0);
    let chunk = bench.arrive_data(0, 1, LOSSY, 1);
    bench.round();
    assert_eq!(bench.audit().differences(), []);
    // The core has completed it without reporting that to the loop.
    let _ = bench.worker.switch.complete(FrameHandle(chunk));
    let differences = bench.audit().differences();
    let equations: Vec<&str> = differences.iter().map(|it| it.equation.as_str()).collect();
    assert_eq!(
        equations,
        [
            "held = held by the core",
            "chunks = free + lent - received + held + their further parts + control"
        ]
    );
}
