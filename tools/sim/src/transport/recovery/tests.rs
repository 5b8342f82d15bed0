//! Losses by hand, and a property: despite any losses everything arrives, and no more is repeated than necessary.

use proptest::prelude::*;
use weir_config::scenario::Recovery;
use weir_core::{Duration, Instant};

use super::{Listener, Progress, Reply, Resender};
use crate::transport::WINDOW_FRAMES_MAX;

const TIMEOUT: Duration = Duration::from_micros(500);

fn at(micros: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(micros)
}

fn resender(recovery: Recovery, frame_count: u32) -> Resender {
    Resender::new(recovery, Some(frame_count), TIMEOUT)
}

fn burst(resender: &mut Resender, micros: u64, most: usize) -> Vec<u32> {
    let mut numbers = Vec::new();
    while numbers.len() < most && resender.has_frame() {
        numbers.push(resender.send(at(micros)));
    }
    numbers
}

fn ack(before: u32) -> Reply {
    Reply {
        before,
        is_nack: false,
    }
}

fn nack(before: u32) -> Reply {
    Reply {
        before,
        is_nack: true,
    }
}

#[test]
fn go_back_n_takes_frames_in_order_and_complains_once() {
    let mut listener = Listener::new(Recovery::GoBackN);
    let replies: Vec<(bool, Option<Reply>)> = [0, 1, 3, 4, 3, 2, 2, 3, 5]
        .into_iter()
        .map(|number| {
            let receipt = listener.arrive(number);
            (receipt.is_new, receipt.reply)
        })
        .collect();
    let expected = [
        (true, Some(ack(1))),
        (true, Some(ack(2))),
        (false, Some(nack(2))),
        (false, None),
        (false, None),
        (true, Some(ack(3))),
        // A repetition is acknowledged, so that the sender learns of it.
        (false, Some(ack(3))),
        (true, Some(ack(4))),
        (false, Some(nack(4))),
    ];
    assert_eq!(replies, expected);
}

#[test]
fn go_back_n_sends_everything_again_from_the_lost_frame_on() {
    let mut resender = resender(Recovery::GoBackN, 8);
    assert_eq!(burst(&mut resender, 0, 6), [0, 1, 2, 3, 4, 5]);
    let progress = resender.acknowledge(at(10), 1, ack(2), at(0));
    assert_eq!((progress.frames, progress.is_loss), (2, false));
    let progress = resender.acknowledge(at(11), 3, nack(2), at(0));
    assert_eq!((progress.frames, progress.is_loss), (0, true));
    assert!(resender.repeats());
    assert_eq!(resender.in_flight(), 0);
    assert_eq!(burst(&mut resender, 11, 9), [2, 3, 4, 5, 6, 7]);
    assert!(!resender.repeats() && !resender.is_done());
    resender.acknowledge(at(20), 7, ack(8), at(11));
    assert!(resender.is_done());
    assert_eq!(resender.next_timeout(), None);
}

#[test]
fn selective_sends_the_lost_frames_alone() {
    let mut resender = resender(Recovery::Selective, 8);
    assert_eq!(burst(&mut resender, 0, 6), [0, 1, 2, 3, 4, 5]);
    // 1 and 3 are lost.
    let mut listener = Listener::new(Recovery::Selective);
    let mut sent_again = Vec::new();
    for number in [0, 2, 4, 5] {
        let reply = listener.arrive(number).reply.unwrap();
        assert_eq!(reply.is_nack, number > 0);
        let progress = resender.acknowledge(at(10), number, reply, at(0));
        assert_eq!(progress.frames, 1);
        // 2 reveals the loss of 1, 4 that of 3, 5 no new one.
        assert_eq!(progress.is_loss, number == 2 || number == 4, "{number}");
        while resender.has_selected() {
            sent_again.push(resender.send(at(10)));
        }
    }
    assert_eq!(sent_again, [1, 3]);
    assert_eq!(resender.in_flight(), 2);
    assert_eq!(listener.arrive(1).reply, Some(ack(3)));
    assert_eq!(resender.acknowledge(at(20), 1, ack(3), at(10)).frames, 1);
    assert_eq!(listener.arrive(3).reply, Some(ack(6)));
    assert_eq!(resender.acknowledge(at(20), 3, ack(6), at(10)).frames, 1);
    assert_eq!(resender.in_flight(), 0);
    assert_eq!(burst(&mut resender, 20, 9), [6, 7]);
}

#[test]
fn a_lost_repetition_and_a_lost_tail_take_a_timeout() {
    for recovery in [Recovery::GoBackN, Recovery::Selective] {
        let mut resender = resender(recovery, 4);
        burst(&mut resender, 0, 4);
        resender.acknowledge(at(10), 1, ack(2), at(0));
        assert_eq!(resender.next_timeout(), Some(at(510)));
        assert!(!resender.handle_timeout(at(509)));
        assert!(!resender.has_frame());
        assert!(resender.handle_timeout(at(510)));
        assert_eq!(burst(&mut resender, 510, 9), [2, 3], "{recovery:?}");
        // Twice as long.
        assert_eq!(resender.next_timeout(), Some(at(1510)));
        assert!(resender.handle_timeout(at(1510)));
        assert_eq!(burst(&mut resender, 1510, 9), [2, 3]);
        resender.acknowledge(at(1520), 3, ack(4), at(1510));
        assert!(resender.is_done());
    }
}

#[test]
fn acknowledgements_of_what_was_never_sent_mean_nothing() {
    for recovery in [Recovery::GoBackN, Recovery::Selective] {
        let mut resender = resender(recovery, 100);
        burst(&mut resender, 0, 3);
        for (number, reply) in [(2, ack(4)), (3, ack(1)), (7, nack(0)), (9, ack(9))] {
            let progress = resender.acknowledge(at(1), number, reply, at(0));
            assert_eq!(progress, Progress::default());
        }
        assert_eq!(burst(&mut resender, 1, 1), [3]);
    }
}

#[test]
fn no_more_is_under_way_than_a_receiver_holds() {
    let mut resender = Resender::new(Recovery::Selective, None, TIMEOUT);
    let sent = burst(&mut resender, 0, 100_000);
    assert_eq!(sent.len(), WINDOW_FRAMES_MAX as usize);
}

/// Simulates a line that loses frames and answers, and may reorder two. Returns the repeated frames, and the lost ones.
fn transfer(
    recovery: Recovery,
    frame_count: u32,
    losses: &[bool],
    swaps: &[bool],
) -> Result<[u32; 2], TestCaseError> {
    let mut resender = resender(recovery, frame_count);
    let mut listener = Listener::new(recovery);
    let mut losses = losses.iter().copied().chain(std::iter::repeat(false));
    let mut swaps = swaps.iter().copied().chain(std::iter::repeat(false));
    let (mut now, mut arrived, mut repeated, mut lost) = (0, 0, 0, 0);
    for _ in 0..20 * frame_count as usize + 4000 {
        if resender.is_done() {
            break;
        }
        let mut sent = Vec::new();
        while sent.len() < 16 && resender.has_frame() {
            repeated += u32::from(resender.repeats());
            sent.push(resender.send(at(now)));
        }
        if sent.is_empty() {
            let due = resender.next_timeout();
            prop_assert!(due.is_some(), "nothing to send and nothing to wait for");
            now = now.max(due.map_or(0, |due| due.as_nanos().div_ceil(1000)));
            resender.handle_timeout(at(now));
            continue;
        }
        for place in 1..sent.len() {
            if swaps.next() == Some(true) {
                sent.swap(place - 1, place);
            }
        }
        let mut answers = Vec::new();
        for number in sent {
            prop_assert!(number < frame_count);
            if losses.next() == Some(true) {
                lost += 1;
                continue;
            }
            let receipt = listener.arrive(number);
            arrived += u32::from(receipt.is_new);
            answers.extend(receipt.reply.map(|reply| (number, reply)));
        }
        for (number, reply) in answers {
            if losses.next() != Some(true) {
                resender.acknowledge(at(now + 100), number, reply, at(now));
            }
        }
        now += 100;
        prop_assert!(resender.in_flight() <= WINDOW_FRAMES_MAX);
    }
    prop_assert!(resender.is_done(), "{resender:?}");
    prop_assert_eq!(arrived, frame_count, "each counts once");
    Ok([repeated, lost])
}

proptest! {
    #[test]
    fn everything_arrives_whatever_is_lost(
        frame_count in 1u32..200,
        losses in prop::collection::vec(prop::bool::weighted(0.3), 0..500),
        swaps in prop::collection::vec(prop::bool::weighted(0.1), 0..300),
    ) {
        for recovery in [Recovery::GoBackN, Recovery::Selective] {
            transfer(recovery, frame_count, &losses, &swaps)?;
        }
    }

    /// If only frames are lost, in order, and the answers to later ones arrive, selective repetition sends exactly what was
    /// lost.
    #[test]
    fn selective_sends_nothing_twice_for_nothing(lost in prop::collection::btree_set(0usize..15, 0..15)) {
        let mut losses = vec![false; 16];
        for place in lost {
            losses[place] = true;
        }
        let [repeated, lost] = transfer(Recovery::Selective, 100, &losses, &[])?;
        prop_assert_eq!(repeated, lost);
        let [by_going_back, _] = transfer(Recovery::GoBackN, 100, &losses, &[])?;
        prop_assert!(by_going_back >= repeated);
    }
}
