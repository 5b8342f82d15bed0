//! Sleeping and ending of the loop.

use super::*;

#[test]
fn an_idle_loop_sleeps_until_it_is_woken() {
    let mut bench = Bench::new(&Setup::default());
    bench.settle();
    // A frame not yet taken ends the fake's sleep.
    bench.arrive_data(0, 1, LOSSY, 1);
    bench.worker.sleep(bench.now);
    assert_eq!(bench.worker.io.waits, [Some(SLEEP_MAX)]);
    assert_eq!(bench.worker.stats.counters.sleeps, 1);
}

fn stalls(bench: &Bench) -> Vec<Duration> {
    let of_kind = |event: Event| match event.kind {
        EventKind::DataplaneStalled { lasted } => Some(lasted),
        _ => None,
    };
    bench.events.try_iter().filter_map(of_kind).collect()
}

/// As when the process is stopped while it sleeps, or in the middle of a round.
#[test]
fn a_stall_is_counted_and_reported_with_its_length() {
    let mut bench = Bench::new(&Setup::default());
    bench.settle();
    let late = STALL_MIN.saturating_mul(4);
    for (longer, expected) in [
        (Duration::ZERO, None),
        (Duration::from_millis(499), None),
        (late, Some(late)),
    ] {
        bench.round();
        bench.worker.io.sleeps = Some(SLEEP_MAX + longer);
        bench.worker.sleep(bench.now);
        // Each reading of the fake clock takes a microsecond.
        let told = stalls(&bench).first().map(|it| it.as_nanos() / 1_000_000);
        assert_eq!(told, expected.map(|it| it.as_nanos() / 1_000_000));
    }
    let began = bench.now;
    bench.worker.note_round(began, began + late, true);
    assert_eq!(stalls(&bench), [late]);
    let rounds = bench.snapshot().rounds;
    assert_eq!(rounds.counters.stalls, 2);
    assert!(rounds.counters.stall_nanos >= 2 * late.as_nanos());
    assert!(rounds.delay_max >= late);
    assert!(bench.is_notified());
}

/// A stuck device does not block others: frames that wait for it are dropped, and it keeps only those that it holds.
#[test]
fn a_transmitter_that_completes_nothing_holds_nobody() {
    let mut bench = Bench::new(&Setup {
        outstanding_max: 4,
        ..Setup::default()
    });
    bench.worker.io.set_budget(1, 0);
    bench.send_until_paused();
    bench.round_after(COMPLETION_STALL);
    bench.settle();
    let kinds = |bench: &Bench| -> Vec<EventKind> {
        bench.events.try_iter().map(|event| event.kind).collect()
    };
    let is_stalled = |kind: &EventKind| *kind == EventKind::TransmitterStalled { port: id(1) };
    assert!(kinds(&bench).iter().any(is_stalled));
    assert!(bench.snapshot().ports[1].stuck);
    let last = bench.sent_by(0).pop().unwrap();
    assert_eq!(pause_of(&last), Some(Quanta::ZERO), "the sender may go on");
    assert_eq!(bench.worker.switch.held_frames(), bench.outstanding());
    bench.arrive_data(0, 1, LOSSLESS, 1_000);
    bench.arrive_data(0, 2, LOSSLESS, 1_001);
    bench.settle();
    assert_eq!(bench.sent_by(2), [data(0, 2, 1_001, 500)]);
    // The stuck device does not keep the loop awake.
    bench.worker.sleep(bench.now);
    assert_eq!(bench.worker.io.waits.pop(), Some(Some(SLEEP_MAX)));
    bench.worker.io.set_budget(1, usize::MAX);
    bench.settle();
    let resumed = EventKind::TransmitterResumed { port: id(1) };
    assert_eq!(kinds(&bench), [resumed]);
    bench.arrive_data(0, 1, LOSSLESS, 1_002);
    bench.settle();
    assert!(bench.sent_by(1).contains(&data(0, 1, 1_002, 500)));
    assert_eq!(bench.audit().differences(), []);
    bench.assert_conserved();
}

/// The same with a transmitter that has enough frames of one sender to pause it: after a link that is down for too long, and
/// after a second without a completion.
#[test]
fn frames_in_a_transmitter_that_takes_no_more_pause_nobody() {
    let hold = weir_core::SwitchConfig::LINK_DOWN_HOLD;
    for (is_up, after) in [(true, COMPLETION_STALL), (false, hold)] {
        let mut bench = Bench::new(&Setup::default());
        bench.worker.io.set_budget(1, 0);
        bench.send_until_paused();
        bench.settle();
        assert_eq!(bench.worker.switch.held_frames(), bench.outstanding());
        bench.command(Command::SetLink {
            port: id(1),
            up: is_up,
        });
        bench.round();
        bench.round_after(after);
        bench.settle();
        let last = bench.sent_by(0).pop().unwrap();
        assert_eq!(pause_of(&last), Some(Quanta::ZERO), "the sender may go on");
        assert_eq!(bench.worker.switch.held_frames(), bench.outstanding());
        bench.arrive_data(0, 2, LOSSLESS, 1_001);
        bench.settle();
        assert_eq!(bench.sent_by(2), [data(0, 2, 1_001, 500)]);
        bench.command(Command::SetLink {
            port: id(1),
            up: true,
        });
        bench.worker.io.set_budget(1, usize::MAX);
        bench.settle();
        assert_eq!(bench.worker.switch.held_frames(), 0);
        bench.arrive_data(0, 1, LOSSLESS, 1_002);
        bench.settle();
        assert!(bench.sent_by(1).contains(&data(0, 1, 1_002, 500)));
        assert_eq!(bench.audit().differences(), []);
        bench.assert_conserved();
    }
}

#[test]
fn a_request_keeps_the_loop_awake() {
    let mut bench = Bench::new(&Setup::default());
    bench.settle();
    bench.command(Command::Drain);
    bench.worker.sleep(bench.now);
    assert_eq!(bench.worker.io.waits, []);
}

#[test]
fn a_sleep_ends_when_the_shaper_lets_the_next_frame_out() {
    let mut bench = Bench::new(&Setup {
        rate: SLOW,
        ..Setup::default()
    });
    bench.arrive_data(0, 1, LOSSY, 1);
    bench.arrive_data(0, 1, LOSSY, 2);
    bench.settle();
    assert_eq!(bench.sent_by(1).len(), 1);
    // 500 B and 24 B of line overhead at 10 Mbit/s; the frame started in the first round.
    let first = Instant::from_nanos(1_000_000_000) + STEP;
    let next = first + Duration::from_nanos(524 * 800);
    bench.worker.sleep(bench.now);
    let left = next.saturating_since(bench.now);
    assert_eq!(bench.worker.io.waits, [Some(left)]);
    let step = next.saturating_since(bench.now + SLEEP_MIN) + Duration::from_nanos(1);
    bench.round_after(step);
    bench.worker.sleep(bench.now);
    assert_eq!(bench.worker.io.waits.len(), 1, "not worth a sleep");
    bench.round_after(SLEEP_MIN);
    assert_eq!(bench.sent_by(1).len(), 2);
}

#[test]
fn completions_that_are_due_bound_a_sleep() {
    let mut bench = Bench::new(&Setup {
        outstanding_max: 1,
        ..Setup::default()
    });
    bench.worker.io.set_budget(1, 0);
    bench.arrive_data(0, 1, LOSSY, 1);
    bench.arrive_data(0, 1, LOSSY, 2);
    bench.settle();
    bench.worker.sleep(bench.now);
    assert_eq!(bench.worker.io.waits, [Some(COMPLETION_WAIT)]);
}

#[test]
fn stopping_sends_what_is_buffered() {
    let mut bench = Bench::new(&Setup {
        rate: SLOW,
        ..Setup::default()
    });
    for number in 0..10 {
        bench.arrive_data(0, 1, LOSSLESS, number);
        bench.arrive_data(2, 1, LOSSY, 100 + number);
    }
    bench.round();
    assert_eq!(bench.worker.switch.held_frames(), 19);
    bench.request(Request::Stop {
        drain: Duration::from_secs(1),
        hands_on: false,
    });
    let sent = bench.worker.io.sent.clone();
    let ended = bench.worker.run();
    assert_eq!((ended.held_frames, ended.left.len()), (0, 0));
    let sent = sent.borrow();
    let data_frames = |from| {
        let frames = sent_by(&sent, 1);
        let from_it = frames
            .into_iter()
            .filter(move |it| it[6..12] == host(from).0);
        from_it.collect::<Vec<_>>()
    };
    let expected = |from, first| (first..first + 10).map(move |it| data(from, 1, it, 500));
    assert!(data_frames(0).into_iter().eq(expected(0, 0)));
    assert!(data_frames(2).into_iter().eq(expected(2, 100)));
    for port in 0..PORT_COUNT {
        let told: Vec<_> = sent_by(&sent, port)
            .iter()
            .filter_map(|it| pause_of(it))
            .collect();
        assert_eq!(told, [Quanta::MAX], "the neighbour of port {port} is held");
    }
}

#[test]
fn draining_admits_only_what_a_lossless_neighbour_had_under_way() {
    let mut bench = Bench::new(&Setup::default());
    bench.request(Request::Stop {
        drain: Duration::from_secs(1),
        hands_on: false,
    });
    bench.round();
    let almost = DRAIN_QUIET.saturating_mul(9).divided_by(10);
    bench.arrive_data(0, 1, LOSSLESS, 1);
    bench.arrive_data(0, 1, LOSSY, 2);
    bench.round_after(almost);
    bench.settle();
    let frames = bench.sent_by(1);
    assert!(frames.contains(&data(0, 1, 1, 500)), "{frames:?}");
    assert!(!frames.contains(&data(0, 1, 2, 500)), "{frames:?}");
    assert_eq!(bench.counters(0).drops[DropReason::Draining.index()], 1);
    bench.round_after(almost);
    assert!(
        !bench.worker.is_finished(bench.now),
        "more may be under way"
    );
    bench.round_after(DRAIN_QUIET);
    assert!(bench.worker.is_finished(bench.now));
}

/// Three frames wait for a neighbour whose pause outlasts any test.
fn with_three_that_wait() -> Bench {
    let mut bench = Bench::new(&Setup {
        rate: SLOW,
        ..Setup::default()
    });
    // 3.4 s at this rate.
    bench.arrive_pfc(1, LOSSLESS, Quanta::MAX);
    bench.round();
    for number in 0..3 {
        bench.arrive_data(0, 1, LOSSLESS, number);
    }
    bench.round();
    bench
}

#[test]
fn draining_ends_at_its_deadline_and_says_what_is_left() {
    let bench = with_three_that_wait();
    let drain = Duration::from_millis(300);
    bench.request(Request::Stop {
        drain,
        hands_on: false,
    });
    let asked = bench.now;
    let ended = bench.worker.run();
    assert_eq!((ended.held_frames, ended.left.len()), (0, 3));
    let took = clock().saturating_since(asked);
    assert!(took >= drain && took < drain + DRAIN_QUIET, "{took:?}");
}

/// Neighbours wait for the next switch, so this one does not wait for frames of paused queues.
#[test]
fn a_hand_over_waits_only_for_frames_in_flight() {
    let mut bench = with_three_that_wait();
    bench.request(Request::Stop {
        drain: Duration::from_secs(10),
        hands_on: true,
    });
    bench.round();
    let almost = DRAIN_QUIET.saturating_mul(9).divided_by(10);
    bench.round_after(almost);
    bench.arrive_data(2, 1, LOSSLESS, 3);
    bench.round();
    bench.round_after(almost);
    assert!(!bench.worker.is_finished(bench.now), "one came just now");
    bench.round_after(DRAIN_QUIET);
    assert!(bench.worker.is_finished(bench.now));
    let frames = bench.sent_by(1);
    assert!(!frames.contains(&data(0, 1, 0, 500)), "it is paused");
    let left = bench.worker.take_left(bench.now);
    assert_eq!(left.len(), 4);
}

/// Frames held by the transmitter are still sent, and no others.
#[test]
fn a_hand_over_waits_for_the_transmitter() {
    let mut bench = Bench::new(&Setup::default());
    bench.worker.io.set_budget(1, 0);
    for number in 0..3 {
        bench.arrive_data(0, 1, LOSSLESS, number);
    }
    bench.round();
    let outstanding = bench.outstanding();
    assert!(outstanding > 0);
    bench.request(Request::Stop {
        drain: Duration::from_secs(10),
        hands_on: true,
    });
    bench.round();
    bench.round_after(DRAIN_QUIET);
    assert!(!bench.worker.is_finished(bench.now));
    bench.worker.io.set_budget(1, usize::MAX);
    bench.settle();
    assert!(bench.worker.is_finished(bench.now));
}

/// Frames of one and of several chunks: the next loop sends each as it was received, in its flow's order, and counts it as
/// received.
#[test]
fn what_could_not_leave_goes_by_the_next_loop() {
    for part in [256, 2048] {
        let setup = || {
            let mut bench = Bench::new(&Setup::default());
            bench.worker.io.part = part;
            bench
        };
        let mut before = setup();
        before.arrive_pfc(1, LOSSLESS, Quanta::MAX);
        before.round();
        for number in 0..10 {
            before.arrive_data(0, 1, LOSSLESS, number);
            before.arrive_data(2, 1, LOSSLESS, 100 + number);
        }
        before.round();
        before.assert_conserved();
        before.request(Request::Stop {
            drain: Duration::ZERO,
            hands_on: false,
        });
        let Ended {
            held_frames, left, ..
        } = before.worker.run();
        assert_eq!((held_frames, left.len()), (0, 20));

        let mut next = setup();
        next.request(Request::Inject(left));
        next.round();
        next.settle();
        let sent = next.sent_by(1);
        for (from, first) in [(0, 0), (2, 100)] {
            let of_flow: Vec<_> = sent.iter().filter(|it| it[6..12] == host(from).0).collect();
            let expected: Vec<_> = (first..first + 10)
                .map(|it| data(from, 1, it, 500))
                .collect();
            assert!(of_flow.into_iter().eq(&expected), "from {from}");
        }
        next.assert_conserved();
    }
}

/// A draining switch admits no lossy frame, and a restart has to count such frames as missed.
#[test]
fn lossy_frames_that_arrive_while_the_loop_drains_are_reported_at_its_end() {
    let mut bench = with_three_that_wait();
    bench.request(Request::Stop {
        drain: Duration::from_millis(50),
        hands_on: false,
    });
    bench.round();
    for number in 0..2 {
        bench.arrive_data(0, 1, LOSSY, 100 + number);
    }
    let ended = bench.worker.run();
    assert_eq!((ended.refused, ended.left.len()), (2, 3));
}

/// Frames for which the next switch has no room or no route are dropped and counted there, without losing a chunk.
#[test]
fn what_the_next_loop_cannot_take_is_counted() {
    let mut bench = Bench::new(&Setup::default());
    let frame = |bytes: Vec<u8>| LeftFrame {
        ingress: PortId::new(0),
        priority: Priority::from_low_bits(LOSSLESS),
        flow_hash: 1,
        bytes,
    };
    let nowhere = [frame_between(host(0), host(77)), vec![0; 100]].concat();
    let frames = vec![frame(nowhere), frame(vec![1; 5]), frame(Vec::new())];
    bench.request(Request::Inject(frames));
    bench.round();
    bench.settle();
    let drops = bench.counters(0).drops;
    assert_eq!(drops[DropReason::NoRoute.index()], 1);
    assert_eq!(drops[DropReason::Unclassified.index()], 2);
    bench.assert_conserved();
}
