//! Compares with a slow model, and follows one socket step by step.

use proptest::prelude::*;

use super::*;

const ROOM: u32 = 100;
const LONGEST_NS: u64 = 50_000_000;

fn limits() -> Limits {
    Limits {
        xoff_percent: 50,
        xon_percent: 25,
        longest_ns: LONGEST_NS,
        look_ns: 200_000,
        rate: BitRate::new(1_000_000_000).unwrap(),
    }
}

fn reading(socket: u64, used_bytes: u32, drops: u32) -> Reading {
    Reading {
        socket,
        used_bytes,
        room_bytes: ROOM,
        drops,
    }
}

/// History of one socket: time of each check and fill level.
type Past = [(u64, u32)];

/// Returns true if the neighbour is paused for a socket, recomputed from its whole history by the rules.
fn waits(past: &Past) -> bool {
    let Some((&(now, used), before)) = past.split_last() else {
        return false;
    };
    let used = used.min(ROOM);
    if used <= 25 {
        return false;
    }
    if waits(before) {
        // The time since when it has waited without being read.
        let mut since = now;
        for end in (0..=before.len()).rev() {
            since = past[end].0;
            let is_first = !waits(&past[..end]);
            let is_read = end > 0 && past[end].1.min(ROOM) < past[end - 1].1.min(ROOM);
            if is_first || is_read {
                break;
            }
        }
        return now - since < LONGEST_NS;
    }
    // It was given up if it caused a pause once, stopped although it was not low, and was not read since.
    let given_up = (1..before.len())
        .rev()
        .find(|&end| waits(&past[..end]) && !waits(&past[..=end]) && past[end].1.min(ROOM) > 25);
    let is_passed_over = given_up.is_some_and(|at| {
        let mut later = past[at..].windows(2);
        !later.any(|two| two[1].1.min(ROOM) < two[0].1.min(ROOM))
    });
    !is_passed_over && used >= 50
}

proptest! {
    #[test]
    fn the_neighbour_waits_while_the_model_says_so(
        steps in prop::collection::vec(
            (prop_oneof![1u64..2_000_000, 10_000_000u64..30_000_000], prop::collection::vec(0u32..130, 2)),
            1..14,
        ),
    ) {
        let mut fill = Fill::new(limits());
        let (mut now, mut pasts) = (0, [Vec::new(), Vec::new()]);
        let (mut paused_until, mut is_paused) = (0, false);
        for (later, used) in steps {
            now += later;
            let readings: Vec<Reading> = (0..).zip(&used).map(|(socket, used)| reading(socket, *used, 0)).collect();
            let order = fill.look(&readings, now);
            for (past, used) in pasts.iter_mut().zip(&used) {
                past.push((now, *used));
            }
            let expected = pasts.iter().filter(|past| waits(past)).count();
            prop_assert_eq!(fill.full(), expected, "{:?}", pasts);
            prop_assert!((1..=LOOK_MAX_NS).contains(&order.again_ns));
            match order.signal {
                Some(Signal::Xoff) => {
                    is_paused = true;
                    paused_until = now + limits().pause_ns();
                }
                Some(Signal::Xon) => {
                    prop_assert!(is_paused, "XON without XOFF");
                    is_paused = false;
                }
                None => {}
            }
            if let Some(signal) = order.signal {
                fill.sent(signal, now);
            }
            prop_assert_eq!(is_paused, expected > 0);
            // A timely next check never lets the pause expire.
            prop_assert!(!is_paused || now + order.again_ns < paused_until);
        }
        prop_assert!(fill.counts.pauses - fill.counts.resumes <= 1);
    }

    /// Even for a nearly full socket, the line cannot fill it unnoticed between two checks that are further apart than the
    /// minimum.
    #[test]
    fn the_next_look_comes_before_the_line_can_fill_it(used in 0u32..2_000_000, room in 2_000u32..4_000_000) {
        let mut fill = Fill::new(limits());
        let order = fill.look(&[Reading { socket: 1, used_bytes: used, room_bytes: room, drops: 0 }], 0);
        let reachable = used.min(room) as u64 + order.again_ns * MEMORY_FOR_WIRE / 8;
        if fill.full() == 0 && order.again_ns > limits().look_ns {
            prop_assert!(reachable <= u64::from(room / 2) + 1, "{} of {}", reachable, room);
        }
    }
}

#[test]
fn a_socket_that_nobody_reads_is_given_up_until_it_is_read() {
    let mut fill = Fill::new(limits());
    let mut look = |used, now_ms: u64| {
        let now = now_ms * 1_000_000;
        let order = fill.look(&[reading(7, used, 0)], now);
        if let Some(signal) = order.signal {
            fill.sent(signal, now);
        }
        (order.signal, fill.counts.given_up)
    };
    assert_eq!(look(49, 0), (None, 0));
    assert_eq!(look(50, 1), (Some(Signal::Xoff), 0));
    assert_eq!(look(90, 5), (None, 0));
    assert_eq!(look(90, 11), (Some(Signal::Xoff), 0));
    // It is read, which restarts the time.
    assert_eq!(look(80, 40), (Some(Signal::Xoff), 0));
    assert_eq!(look(80, 89), (Some(Signal::Xoff), 0));
    assert_eq!(look(80, 90), (Some(Signal::Xon), 1));
    assert_eq!(look(100, 91), (None, 1));
    // A refused frame briefly counts.
    assert_eq!(look(130, 92), (None, 1));
    assert_eq!(look(100, 93), (None, 1));
    // It is read, but still full.
    assert_eq!(look(99, 94), (Some(Signal::Xoff), 1));
    assert_eq!(look(25, 95), (Some(Signal::Xon), 1));
    assert_eq!(fill.counts.pauses, 2);
    assert_eq!(fill.counts.resumes, 2);
    assert_eq!(fill.counts.paused_ns, 90_000_000);
}

#[test]
fn what_was_not_sent_is_ordered_again() {
    let mut fill = Fill::new(limits());
    let full = [reading(1, 60, 0)];
    assert_eq!(fill.look(&full, 0).signal, Some(Signal::Xoff));
    assert_eq!(fill.look(&full, 1).signal, Some(Signal::Xoff));
    fill.sent(Signal::Xoff, 1);
    assert_eq!(fill.look(&full, 2).signal, None);
    let late = 1 + limits().pause_ns() + 1;
    assert_eq!(fill.look(&full, late).signal, Some(Signal::Xoff));
    fill.sent(Signal::Xoff, late);
    assert_eq!((fill.counts.refreshes, fill.counts.late_refreshes), (1, 1));
    assert_eq!(
        fill.look(&[reading(1, 0, 0)], late + 1).signal,
        Some(Signal::Xon)
    );
    assert_eq!(
        fill.look(&[reading(1, 0, 0)], late + 2).signal,
        Some(Signal::Xon)
    );
}

#[test]
fn a_closed_socket_delays_no_one_but_one_check_may_miss_it() {
    let mut fill = Fill::new(limits());
    fill.look(&[reading(1, 60, 0)], 0);
    fill.sent(Signal::Xoff, 0);
    for now in 1..=u64::from(MISSED_MAX) {
        assert_eq!(fill.look(&[], now).signal, None);
    }
    assert_eq!(fill.look(&[], 9).signal, Some(Signal::Xon));
    assert_eq!(fill.sockets(), 0);
}

#[test]
fn only_what_is_dropped_from_the_first_look_on_is_counted() {
    let mut fill = Fill::new(limits());
    fill.look(&[reading(1, 0, 40)], 0);
    fill.look(&[reading(1, 0, 42), reading(2, 0, 5)], 1);
    fill.look(&[reading(1, 0, 42), reading(2, 0, 6)], 2);
    assert_eq!(fill.counts.dropped, 8);
}

#[test]
fn a_pause_that_nobody_ends_is_short_on_any_line() {
    for rate in [10_000_000, 1_000_000_000, 100_000_000_000] {
        let rate = BitRate::new(rate).unwrap();
        let limits = Limits { rate, ..limits() };
        assert!(limits.quanta().0 >= 2);
        assert!(limits.pause_ns() <= PAUSE_NS, "{limits:?}");
    }
}
