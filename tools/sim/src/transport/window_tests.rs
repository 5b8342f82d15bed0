//! Windows by hand, and a property: despite any losses everything arrives.

use proptest::prelude::*;
use weir_config::scenario::WindowConfig;
use weir_core::{Duration, Instant};

use super::window::{Algorithm, WindowSender};
use super::Reassembly;

fn at(micros: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(micros)
}

fn config(ssthresh: Option<u32>) -> WindowConfig {
    WindowConfig {
        ssthresh,
        ..WindowConfig::default()
    }
}

fn burst(sender: &mut WindowSender, micros: u64) -> Vec<u32> {
    let mut numbers = Vec::new();
    while sender.may_send() {
        numbers.push(sender.send(at(micros)));
    }
    numbers
}

#[test]
fn slow_start_doubles_and_congestion_avoidance_adds_one_for_each_round_trip() {
    let mut sender = WindowSender::new(Algorithm::Tahoe, config(Some(8)), None);
    let mut windows = Vec::new();
    let mut acknowledged = 0;
    for round in 0..6 {
        let sent = burst(&mut sender, round * 100);
        windows.push(sent.len());
        for _ in sent {
            acknowledged += 1;
            sender.acknowledge(at(round * 100 + 100), acknowledged, at(round * 100), false);
        }
    }
    // Eight acknowledgements of a window of 8 add 1/8 + 1/8.125 + …, slightly less than one.
    assert_eq!(windows, [1, 2, 4, 8, 8, 9]);
}

/// A sender with frames 0 … 7 sent and only 0 acknowledged.
fn eight_in_flight(algorithm: Algorithm) -> WindowSender {
    let config = WindowConfig {
        initial: 8,
        ..config(Some(8))
    };
    let mut sender = WindowSender::new(algorithm, config, None);
    assert_eq!(burst(&mut sender, 0), [0, 1, 2, 3, 4, 5, 6, 7]);
    sender.acknowledge(at(100), 1, at(0), false);
    // W = 8 + 1/8: one more. (Vegas is in slow start, and sends two.)
    let more = burst(&mut sender, 100);
    assert!(algorithm == Algorithm::Vegas || more == [8], "{more:?}");
    sender
}

#[test]
fn tahoe_goes_back_to_the_lost_frame_with_a_window_of_one() {
    let mut sender = eight_in_flight(Algorithm::Tahoe);
    sender.acknowledge(at(101), 1, at(0), false);
    sender.acknowledge(at(102), 1, at(0), false);
    assert_eq!(burst(&mut sender, 102), [0; 0]);
    sender.acknowledge(at(103), 1, at(0), false);
    assert_eq!(burst(&mut sender, 103), [1]);
    // The other frames of the window are also answered: nothing more is lost.
    for micros in 104..108 {
        sender.acknowledge(at(micros), 1, at(0), false);
        assert_eq!(burst(&mut sender, micros), [0; 0]);
    }
    // w_th = 8/2. The receiver has kept what arrived after the gap.
    sender.acknowledge(at(203), 9, at(103), false);
    assert_eq!(sender.window(), 2.0);
    assert_eq!(burst(&mut sender, 203), [9, 10]);
    for number in [10, 11] {
        sender.acknowledge(at(303), number, at(203), false);
    }
    assert_eq!(sender.window(), 4.0);
    sender.acknowledge(at(303), 11, at(203), false);
    assert_eq!(burst(&mut sender, 303), [11, 12, 13, 14]);
    sender.acknowledge(at(403), 12, at(303), false);
    assert_eq!(sender.window(), 4.25);
}

#[test]
fn reno_repeats_the_lost_frame_and_halves_its_window() {
    let mut sender = eight_in_flight(Algorithm::Reno);
    for micros in 101..104 {
        sender.acknowledge(at(micros), 1, at(0), false);
    }
    // W = 8/2 + 3 with eight in flight.
    assert_eq!(sender.window(), 7.0);
    assert_eq!(burst(&mut sender, 103), [1]);
    sender.acknowledge(at(104), 1, at(0), false);
    assert_eq!(burst(&mut sender, 104), [0; 0]);
    sender.acknowledge(at(105), 1, at(0), false);
    assert_eq!(burst(&mut sender, 105), [9]);
    // Frame 4 is also lost: it is repeated at once, without halving again.
    sender.acknowledge(at(203), 4, at(103), false);
    assert_eq!(sender.window(), 9.0 - 3.0 + 1.0);
    assert_eq!(burst(&mut sender, 203), [4, 10]);
    sender.acknowledge(at(303), 11, at(203), false);
    assert_eq!(sender.window(), 4.0);
    assert_eq!(burst(&mut sender, 303), [11, 12, 13, 14]);
}

#[test]
fn a_timeout_begins_anew_and_the_next_one_takes_twice_as_long() {
    for algorithm in [Algorithm::Tahoe, Algorithm::Reno, Algorithm::Vegas] {
        let mut sender = eight_in_flight(algorithm);
        // The last acknowledgement came at 100 µs.
        assert_eq!(sender.next_timeout(), Some(at(3100)));
        sender.handle_timeout(at(3099));
        assert!(!sender.may_send());
        sender.handle_timeout(at(3100));
        assert_eq!(sender.window(), 1.0);
        assert_eq!(burst(&mut sender, 3100), [1]);
        assert_eq!(sender.next_timeout(), Some(at(3100 + 6000)));
        sender.acknowledge(at(3200), 2, at(3100), false);
        assert_eq!(sender.next_timeout(), Some(at(3200 + 3000)));
        assert_eq!(burst(&mut sender, 3200), [2, 3]);
    }
}

#[test]
fn a_burst_ends_with_its_last_acknowledgement() {
    let mut sender = WindowSender::new(Algorithm::Reno, config(None), Some(3));
    assert_eq!(burst(&mut sender, 0), [0]);
    sender.acknowledge(at(10), 1, at(0), false);
    assert_eq!(burst(&mut sender, 10), [1, 2]);
    sender.acknowledge(at(20), 2, at(10), false);
    assert!(burst(&mut sender, 20).is_empty() && !sender.is_done());
    sender.acknowledge(at(21), 3, at(10), false);
    assert!(sender.is_done());
    assert_eq!(sender.next_timeout(), None);
}

#[test]
fn acknowledgements_of_what_was_never_sent_mean_nothing() {
    let mut sender = eight_in_flight(Algorithm::Reno);
    sender.acknowledge(at(100), 500, at(0), false);
    sender.acknowledge(at(100), 0, at(0), false);
    assert_eq!(burst(&mut sender, 100), [0; 0]);
}

/// Simulates a line that loses frames and acknowledgements and keeps their order.
fn transfer(algorithm: Algorithm, frame_count: u32, losses: &[bool]) -> Result<(), TestCaseError> {
    let mut sender = WindowSender::new(algorithm, config(None), Some(frame_count));
    let mut receiver = Reassembly::default();
    let mut losses = losses.iter().copied().chain(std::iter::repeat(false));
    let mut now = 0;
    let mut arrived = 0;
    // Every step is a round trip or a timeout; the bound is far above the need.
    for _ in 0..20 * frame_count as usize + 2000 {
        if sender.is_done() {
            break;
        }
        let sent = burst(&mut sender, now);
        let mut answers = Vec::new();
        for number in &sent {
            prop_assert!(*number < frame_count);
            if !losses.next().unwrap_or(false) {
                let receipt = receiver.arrive(*number);
                arrived += u32::from(receipt.is_new);
                answers.push(receipt.acknowledgement);
            }
        }
        if sent.is_empty() {
            let due = sender.next_timeout();
            prop_assert!(due.is_some(), "nothing to send and nothing to wait for");
            now = now.max(due.map_or(0, |due| due.as_nanos().div_ceil(1000)));
            sender.handle_timeout(at(now));
            continue;
        }
        for answer in answers {
            if !losses.next().unwrap_or(false) {
                sender.acknowledge(at(now + 100), answer, at(now), false);
            }
        }
        now += 100;
    }
    prop_assert!(sender.is_done(), "{sender:?}");
    prop_assert_eq!(arrived, frame_count);
    Ok(())
}

proptest! {
    #[test]
    fn everything_arrives_whatever_is_lost(
        frame_count in 1u32..120,
        losses in prop::collection::vec(prop::bool::weighted(0.3), 0..400),
    ) {
        for algorithm in [Algorithm::Tahoe, Algorithm::Reno, Algorithm::Vegas] {
            transfer(algorithm, frame_count, &losses)?;
        }
    }
}
