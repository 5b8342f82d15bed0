//! Both ends compared with a slow model, written from the rules of credit-based flow control: counters without limits,
//! frames in lists, R_CF the sum of all departures.

use std::collections::VecDeque;

use proptest::prelude::*;

use super::{CreditReceiver, CreditSender, CreditState, CreditTerms, CreditTimes};
use crate::units::{Bytes, Duration, Instant, Priority, PRIORITY_COUNT};
use crate::wire::credit::{CreditRecords, CreditUpdate};

const P3: Priority = Priority::ALL[3];
const LONGEST: Bytes = Bytes::new(1500);

/// Makes all timers due at any moment.
const TIMES: CreditTimes = CreditTimes {
    epoch: 7,
    refresh: Duration::ZERO,
    consumed: Duration::ZERO,
    idle: Duration::ZERO,
    patience: Duration::from_secs(1),
    patience_offered: Duration::from_secs(5),
    spacing: Some(Bytes::new(1)),
};

fn terms(limit: u32) -> CreditTerms {
    CreditTerms::new(512, 16, limit).unwrap()
}

/// A link: both ends and the slow model of its counters.
struct Link {
    sender: CreditSender,
    receiver: CreditReceiver,
    terms: CreditTerms,
    /// Lengths of frames in flight, in order, with the number of CC_Updates sent before each.
    wire: VecDeque<(u64, usize)>,
    stored: VecDeque<u64>,
    to_receiver: VecDeque<(CreditUpdate, usize)>,
    to_sender: VecDeque<CreditUpdate>,
    /// CC, R_CC and R_CF without wrapping.
    consumed: u64,
    arrived: u64,
    freed: u64,
    lost: u64,
    /// Frames sent and frames taken off the wire: tells which data precedes a message.
    sent: usize,
    gone: usize,
    updates_sent: usize,
    updates_gone: usize,
}

impl Link {
    fn new(limit: u32) -> Self {
        let terms = terms(limit);
        let mut all = [None; PRIORITY_COUNT];
        all[P3.index()] = Some(terms);
        let mut link = Self {
            sender: CreditSender::new([P3].into_iter(), &TIMES),
            receiver: CreditReceiver::new(all, &TIMES),
            terms,
            wire: VecDeque::new(),
            stored: VecDeque::new(),
            to_receiver: VecDeque::new(),
            to_sender: VecDeque::new(),
            consumed: 0,
            arrived: 0,
            freed: 0,
            lost: 0,
            sent: 0,
            gone: 0,
            updates_sent: 0,
            updates_gone: 0,
        };
        link.settle();
        assert_eq!(link.sender.state(P3), CreditState::Credits);
        assert_eq!(link.receiver.state(P3), CreditState::Credits);
        link
    }

    fn cost(&self, length: u64) -> u64 {
        // Written out: bytes and overhead, in whole credits.
        (length + 16).div_ceil(512)
    }

    fn held(&self) -> u64 {
        self.stored.iter().map(|length| self.cost(*length)).sum()
    }

    fn promise(&mut self) {
        let free = u64::from(self.terms.limit()) - self.held();
        self.receiver.promise(&TIMES, P3, Bytes::new(free * 512));
    }

    fn send(&mut self, length: u64) -> bool {
        let may = self.sender.may_send(P3, LONGEST);
        // CU + cost <= CL in the model, for the longest frame.
        let used = self.consumed.saturating_sub(self.model_heard());
        let model_may = used + self.cost(LONGEST.get()) <= u64::from(self.terms.limit());
        assert_eq!(may, model_may, "CU {used}");
        if may {
            self.sender
                .consume(Instant::ZERO, &TIMES, P3, Bytes::new(length));
            self.consumed += self.cost(length);
            self.wire.push_back((length, self.updates_sent));
            self.sent += 1;
        }
        may
    }

    /// R_CF known to the sender, without wrapping.
    fn model_heard(&self) -> u64 {
        let gauges = self.sender.gauges(P3).unwrap();
        u64::from(gauges.freed)
    }

    fn arrive(&mut self) {
        // Data overtakes at most one CC_Update.
        let next = self.wire.front();
        if next.is_some_and(|(_, updates)| *updates > self.updates_gone + 1) {
            return;
        }
        if let Some((length, _)) = self.wire.pop_front() {
            self.gone += 1;
            self.receiver.note_arrival(P3, Bytes::new(length));
            self.arrived += self.cost(length);
            self.stored.push_back(length);
            assert!(self.held() <= u64::from(self.terms.limit()), "no room");
        }
    }

    fn lose(&mut self) {
        if let Some((length, _)) = self.wire.pop_front() {
            self.gone += 1;
            self.lost += self.cost(length);
        }
    }

    fn leave(&mut self) {
        if let Some(length) = self.stored.pop_front() {
            self.freed += self.cost(length);
            self.promise();
        }
    }

    fn update_sender(&mut self) {
        self.receiver.refresh(Instant::ZERO, &TIMES);
        self.to_sender
            .extend(self.receiver.take(Instant::ZERO, &TIMES));
    }

    fn update_receiver(&mut self) {
        self.sender.refresh(Instant::ZERO, &TIMES);
        let update = self.sender.take(Instant::ZERO, &TIMES);
        let sent = self.sent;
        self.updates_sent += usize::from(update.is_some());
        self.to_receiver.extend(update.map(|update| (update, sent)));
    }

    /// Delivers the next CC_Update, if all data before it has been delivered or lost.
    fn hear_consumed(&mut self) {
        let is_next = |(_, sent): &&(CreditUpdate, usize)| *sent <= self.gone;
        if self.to_receiver.front().filter(is_next).is_none() {
            return;
        }
        let Some((update, _)) = self.to_receiver.pop_front() else {
            return;
        };
        self.updates_gone += 1;
        let before = self.receiver.gauges(P3).unwrap().returned;
        self.receiver.receive(&TIMES, &update);
        let returned = self.receiver.gauges(P3).unwrap().returned - before;
        // R_CF += S_CC − R_CC; R_CC = S_CC.
        self.arrived += returned;
        self.freed += returned;
        assert!(self.arrived <= self.consumed, "more than was sent");
        self.promise();
    }

    fn hear_freed(&mut self) {
        if let Some(update) = self.to_sender.pop_front() {
            self.sender.receive(&update);
        }
    }

    fn check(&self) {
        let receiving = self.receiver.gauges(P3).unwrap();
        let sending = self.sender.gauges(P3).unwrap();
        assert_eq!(u64::from(receiving.arrived), self.arrived, "R_CC");
        assert_eq!(u64::from(sending.consumed), self.consumed, "CC");
        // Withheld for a moment at most: a promise may lag behind the departures, and never precedes them.
        assert!(u64::from(receiving.freed) <= self.freed, "R_CF");
        let under_way: u64 = self.wire.iter().map(|(length, _)| self.cost(*length)).sum();
        let claims = u64::from(self.terms.limit()).saturating_sub(u64::from(sending.used));
        assert!(claims + under_way + self.held() <= u64::from(self.terms.limit()));
    }

    /// Delivers all messages and lets all frames leave, until nothing changes.
    fn settle(&mut self) {
        for _ in 0..12 {
            while !self.wire.is_empty() || !self.to_receiver.is_empty() {
                self.arrive();
                self.hear_consumed();
            }
            while !self.stored.is_empty() {
                self.leave();
            }
            self.update_receiver();
            while !self.to_receiver.is_empty() {
                self.hear_consumed();
            }
            self.update_sender();
            while !self.to_sender.is_empty() {
                self.hear_freed();
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn both_ends_agree_with_the_slow_model(
        limit in 8u32..40,
        steps in prop::collection::vec((0u8..10, 60u64..=1500), 1..400),
    ) {
        let mut link = Link::new(limit);
        for (step, length) in steps {
            match step {
                0..=2 => { link.send(length); }
                3 | 4 => link.arrive(),
                5 => link.leave(),
                6 => link.update_sender(),
                7 => link.update_receiver(),
                8 => { link.hear_consumed(); link.hear_freed(); }
                _ => match length % 4 {
                    0 => link.lose(),
                    1 => { link.to_sender.pop_front(); }
                    2 => {
                        let gone = link.to_receiver.pop_front();
                        link.updates_gone += usize::from(gone.is_some());
                    }
                    _ => {
                        link.to_sender.extend(link.to_sender.back().copied());
                        let repeated = link.to_receiver.back().copied();
                        link.updates_sent += usize::from(repeated.is_some());
                        link.to_receiver.extend(repeated);
                    }
                },
            }
            link.check();
        }
        // No credit has leaked.
        link.settle();
        link.check();
        let sending = link.sender.gauges(P3).unwrap();
        prop_assert_eq!(sending.used, 0);
        prop_assert_eq!(link.receiver.gauges(P3).unwrap().outstanding, limit);
        prop_assert_eq!(link.receiver.gauges(P3).unwrap().returned, link.lost);
    }
}

#[test]
fn counters_wrap_round() {
    let mut link = Link::new(8);
    // As if this many had been sent and reported.
    let far = u32::MAX - 100;
    link.sender.set_counters(P3, far);
    link.receiver.set_counters(P3, far);
    assert!(link.sender.may_send(P3, LONGEST));
    for _ in 0..200 {
        assert!(link.sender.may_send(P3, LONGEST));
        link.sender
            .consume(Instant::ZERO, &TIMES, P3, Bytes::new(1400));
        link.receiver.note_arrival(P3, Bytes::new(1400));
        link.settle_cyclic();
    }
    let sending = link.sender.gauges(P3).unwrap();
    assert!(sending.consumed < 1000, "it has passed the end");
    assert_eq!((sending.used, sending.limit), (0, 8));
}

impl Link {
    /// Both messages are exchanged; nothing is stored.
    fn settle_cyclic(&mut self) {
        self.promise();
        self.update_sender();
        self.hear_freed();
        self.update_receiver();
        if let Some((update, _)) = self.to_receiver.pop_front() {
            self.receiver.receive(&TIMES, &update);
        }
        self.promise();
    }
}

#[test]
fn a_deficit_is_returned_when_nothing_is_under_way() {
    let mut link = Link::new(12);
    assert!(link.send(1500));
    assert!(link.send(1500));
    link.lose();
    link.update_receiver();
    link.arrive();
    link.hear_consumed();
    let returned = |link: &Link| link.receiver.gauges(P3).unwrap().returned;
    assert_eq!(returned(&link), 0, "it may have been overtaken");
    link.update_receiver();
    link.hear_consumed();
    assert_eq!(returned(&link), 3);
}

#[test]
fn a_lasting_deficit_stops_the_sender_until_it_is_known() {
    let mut link = Link::new(12);
    let mut used_up = false;
    link.send(1500);
    link.lose();
    for _ in 0..20 {
        used_up |= !link.send(100);
        link.update_receiver();
        link.arrive();
        link.leave();
        link.hear_consumed();
        link.update_sender();
        link.hear_freed();
        link.check();
    }
    assert!(used_up, "credits were withheld");
    assert_eq!(link.receiver.gauges(P3).unwrap().returned, 3);
    assert!(link.send(100), "and given again");
}

#[test]
fn a_repeated_message_counts_once() {
    let mut link = Link::new(12);
    link.send(1500);
    link.lose();
    link.update_receiver();
    let (update, _) = *link.to_receiver.front().unwrap();
    for _ in 0..3 {
        link.receiver.receive(&TIMES, &update);
    }
    assert_eq!(link.receiver.gauges(P3).unwrap().returned, 0);
}

#[test]
fn credits_of_another_epoch_do_not_count() {
    for sender_restarts in [false, true] {
        let mut link = Link::new(12);
        link.send(1500);
        link.arrive();
        link.update_sender();
        let old = link.to_sender.pop_front().unwrap();
        if sender_restarts {
            link.sender.begin_anew(Instant::ZERO, &TIMES);
            assert_eq!(link.sender.state(P3), CreditState::Waiting);
        } else {
            link.receiver.begin_anew(Instant::ZERO);
            link.update_sender();
            let offer = link.to_sender.pop_front().unwrap();
            link.update_receiver();
            let (update, _) = link.to_receiver.pop_front().unwrap();
            link.receiver.receive(&TIMES, &update);
            link.update_sender();
            link.hear_freed();
            assert_ne!(offer.receiver_epoch, old.receiver_epoch);
        }
        assert!(!link.sender.may_send(P3, LONGEST), "nothing was told yet");
        link.sender.receive(&old);
        assert!(!link.sender.may_send(P3, LONGEST), "a late promise");
        link.stored.clear();
        (link.consumed, link.arrived, link.freed) = (0, 0, 0);
        link.settle();
        assert!(link.send(1500));
    }
}

#[test]
fn a_restart_with_a_clock_that_was_set_back_is_followed() {
    let mut all = [None; PRIORITY_COUNT];
    all[P3.index()] = Some(terms(12));
    for sender_restarts in [false, true] {
        let mut link = Link::new(12);
        let earlier = CreditTimes { epoch: 2, ..TIMES };
        match sender_restarts {
            true => link.sender = CreditSender::new([P3].into_iter(), &earlier),
            false => link.receiver = CreditReceiver::new(all, &earlier),
        }
        link.settle();
        assert!(link.send(1500), "sender restarts: {sender_restarts}");
    }
}

#[test]
fn slots_are_shared_between_classes_by_their_limits() {
    let mut all = [None; PRIORITY_COUNT];
    all[3] = Some(terms(30));
    all[4] = Some(terms(10));
    let classes = [P3, Priority::ALL[4]];
    let mut receiver = CreditReceiver::new(all, &TIMES);
    let mut sender = CreditSender::new(classes.into_iter(), &TIMES);
    receiver.set_slots(Some(20));
    for _ in 0..6 {
        sender.refresh(Instant::ZERO, &TIMES);
        if let Some(update) = sender.take(Instant::ZERO, &TIMES) {
            receiver.receive(&TIMES, &update);
        }
        for (class, limit) in classes.into_iter().zip([30, 10]) {
            receiver.promise(&TIMES, class, Bytes::new(limit * 512));
        }
        receiver.refresh(Instant::ZERO, &TIMES);
        if let Some(update) = receiver.take(Instant::ZERO, &TIMES) {
            sender.receive(&update);
        }
    }
    let outstanding = classes.map(|class| receiver.gauges(class).unwrap().outstanding);
    assert_eq!(outstanding, [15, 5]);
}

impl Link {
    /// Begins an epoch at one end, and in the model.
    fn begin_anew(&mut self) {
        self.receiver.begin_anew(Instant::ZERO);
        (self.consumed, self.arrived, self.freed) = (0, 0, 0);
    }

    /// Both ends send what is due; `spoil` may change it.
    fn exchange(&mut self, mut spoil: impl FnMut(&mut CreditUpdate)) {
        self.update_sender();
        if let Some(mut freed) = self.to_sender.pop_front() {
            spoil(&mut freed);
            self.sender.receive(&freed);
        }
        self.update_receiver();
        if let Some((mut consumed, _)) = self.to_receiver.pop_front() {
            spoil(&mut consumed);
            self.receiver.receive(&TIMES, &consumed);
        }
        self.promise();
    }

    /// All credits return, and do not exceed the room.
    fn assert_heals(&mut self, what: &str) {
        for _ in 0..3 {
            while self.sender.may_send(P3, LONGEST) {
                self.sender
                    .consume(Instant::ZERO, &TIMES, P3, Bytes::new(1400));
                self.wire.push_back((1400, 0));
            }
            let under_way: u64 = self.wire.iter().map(|(length, _)| self.cost(*length)).sum();
            assert!(under_way <= u64::from(self.terms.limit()), "{what}");
            while let Some((length, _)) = self.wire.pop_front() {
                self.receiver.note_arrival(P3, Bytes::new(length));
            }
            self.promise();
            for _ in 0..12 {
                self.exchange(|_| ());
            }
        }
        let sending = self.sender.gauges(P3).unwrap();
        let receiving = self.receiver.gauges(P3).unwrap();
        assert_eq!(sending.state, CreditState::Credits, "{what}");
        assert_eq!(sending.used, 0, "{what}: {receiving:?}");
        assert_eq!(receiving.outstanding, self.terms.limit(), "{what}");
    }
}

/// The first messages decide where an epoch starts counting, later ones whether frames were lost.
#[test]
fn a_flipped_bit_in_a_cc_update_gives_no_credit_without_a_slot() {
    let mut refused = 0;
    for (turn, bit) in (0..6).flat_map(|turn| (0..64).map(move |bit| (turn, bit))) {
        let mut link = Link::new(12);
        link.begin_anew();
        for now in 0..6 {
            link.exchange(|update| {
                let CreditRecords::Consumed(records) = &mut update.records else {
                    return;
                };
                if let Some(record) = records[P3.index()].as_mut().filter(|_| now == turn) {
                    match bit {
                        0..32 => record.consumed ^= 1 << bit,
                        _ => record.heard ^= 1 << (bit - 32),
                    }
                }
            });
        }
        refused += link.receiver.updates()[3];
        link.assert_heals(&format!("bit {bit} of message {turn}"));
    }
    assert!(refused > 100, "{refused} were refused");
}

#[test]
fn a_flipped_bit_in_a_cf_update_gives_no_more_than_the_limit_and_heals() {
    for (turn, bit) in (0..6).flat_map(|turn| (0..49).map(move |bit| (turn, bit))) {
        let mut link = Link::new(12);
        link.begin_anew();
        for now in 0..6 {
            link.exchange(|update| {
                let CreditRecords::Freed(records) = &mut update.records else {
                    return;
                };
                let record = &mut records[P3.index()];
                let Some(freed) = record.as_mut().filter(|_| now == turn) else {
                    return;
                };
                match bit {
                    0..32 => freed.freed ^= 1 << bit,
                    32 => *record = None,
                    _ => {
                        let size = terms(12).size() ^ (1 << (bit - 33));
                        let spoilt = CreditTerms::new(size, 16, 12 ^ (1 << (bit % 20)));
                        freed.terms = spoilt.unwrap_or(freed.terms);
                    }
                }
            });
        }
        link.assert_heals(&format!("bit {bit} of message {turn}"));
    }
}

/// Frames of another station that arrive on the same link.
#[test]
fn ends_that_disagree_start_again() {
    for frames in [1, 4, 20, 1000] {
        let mut link = Link::new(12);
        for _ in 0..frames {
            link.receiver.note_arrival(P3, Bytes::new(1400));
            link.promise();
        }
        for _ in 0..12 {
            link.exchange(|_| ());
        }
        link.assert_heals(&format!("{frames} frames"));
    }
}
