//! A host's network card: answers go first, flows take turns on one line, pauses hold them.

use std::collections::VecDeque;

use weir_core::units::PRIORITY_COUNT;
use weir_core::{Bytes, Instant, Priority};

use super::credits::NicCredits;
use crate::network::flow::Flow;
use crate::network::pool::FrameRecord;
use crate::table::Table;
use crate::transport::telemetry::Hop;

/// Answers that wait in one priority at most: a receiver that cannot send them tells nothing more.
const ANSWERS_MAX: usize = 4096;

/// One host's side of its link.
#[derive(Debug)]
pub(in crate::network) struct Nic {
    /// Its line.
    pub(in crate::network) line: u32,
    /// Where its events happen.
    pub(in crate::network) place: u32,
    pub(in crate::network) obeys_pfc: bool,
    pub(in crate::network) paused_until: [Instant; PRIORITY_COUNT],
    /// Where its switch has a class with credits.
    pub(in crate::network) credits: Option<Box<NicCredits>>,
    /// Priorities that it asks its switch to pause, again and again, as bits.
    pub(in crate::network) storm: u8,
    /// A control frame that goes first.
    pub(in crate::network) control: Option<Vec<u8>>,
    /// By priority: answers to frames that have arrived. `None` before the first one.
    answers: Option<Box<[VecDeque<Answer>; PRIORITY_COUNT]>>,
    /// Flows that have something to send, now or at a known moment.
    pub(in crate::network) active: Vec<u32>,
    /// Whose turn it is.
    pub(in crate::network) turn: usize,
}

/// An answer, with what the frame has met that it answers.
pub(in crate::network) type Answer = (FrameRecord, Vec<Hop>);

/// What a card does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::network) enum Next {
    /// A frame of this flow.
    Send(u32),
    /// The first answer of this priority.
    Answer(Priority),
    /// Nothing before this moment.
    Wait(Instant),
    /// Nothing, until something else happens.
    Idle,
}

impl Nic {
    pub(in crate::network) fn new(line: u32, place: u32, obeys_pfc: bool) -> Self {
        Self {
            line,
            place,
            obeys_pfc,
            paused_until: [Instant::ZERO; PRIORITY_COUNT],
            credits: None,
            storm: 0,
            control: None,
            answers: None,
            active: Vec::new(),
            turn: 0,
        }
    }

    pub(in crate::network) fn pause(&mut self, priority: Priority, until: Instant) {
        let by_credits = self.credits.as_ref();
        if by_credits.is_some_and(|credits| credits.counts(priority)) {
            return;
        }
        if self.obeys_pfc {
            self.paused_until[priority.index()] = until;
        }
    }

    /// Accounts for a frame that is sent.
    pub(in crate::network) fn note_sent(
        &mut self,
        now: Instant,
        priority: Priority,
        length: Bytes,
    ) {
        if let Some(credits) = &mut self.credits {
            credits.note_sent(now, priority, length);
            credits.settle(&mut self.paused_until);
        }
    }

    /// When a credit update may be due.
    pub(in crate::network) fn next_credit_message(&self) -> Instant {
        let credits = self.credits.as_ref();
        credits.map_or(Instant::FAR_FUTURE, |credits| credits.next_at())
    }

    /// Has an answer to send; false when there is no room for it.
    pub(in crate::network) fn add_answer(&mut self, answer: Answer) -> bool {
        let answers = self.answers.get_or_insert_default();
        let queue = &mut answers[answer.0.priority.index()];
        let has_room = queue.len() < ANSWERS_MAX;
        if has_room {
            queue.push_back(answer);
        }
        has_room
    }

    pub(in crate::network) fn take_answer(&mut self, priority: Priority) -> Option<Answer> {
        self.answers.as_mut()?[priority.index()].pop_front()
    }

    /// Flow `flow` may have something to send. O(active flows).
    pub(in crate::network) fn activate(&mut self, flow: u32) {
        if !self.active.contains(&flow) {
            self.active.push(flow);
        }
    }

    /// What is sent next: answers first, then flows in turn, round robin. Forgets flows that are silent. O(active
    /// flows).
    pub(in crate::network) fn next(&mut self, now: Instant, flows: &Table<Flow>) -> Next {
        let mut wait = Instant::FAR_FUTURE;
        if let Some(answers) = &self.answers {
            for priority in Priority::ALL {
                if answers[priority.index()].is_empty() {
                    continue;
                }
                let ready = self.paused_until[priority.index()];
                if ready <= now {
                    return Next::Answer(priority);
                }
                wait = wait.min(ready);
            }
        }
        let mut looked_at = 0;
        while looked_at < self.active.len() {
            if self.turn >= self.active.len() {
                self.turn = 0;
            }
            let flow = self.active[self.turn];
            let state = &flows[flow as usize];
            if state.is_silent(now) {
                self.active.remove(self.turn);
                continue;
            }
            let paused = self.paused_until[state.plan.priority.index()];
            let ready = state.next_at.max(paused);
            self.turn += 1;
            if ready <= now {
                return Next::Send(flow);
            }
            wait = wait.min(ready);
            looked_at += 1;
        }
        if wait == Instant::FAR_FUTURE {
            Next::Idle
        } else {
            Next::Wait(wait)
        }
    }
}
