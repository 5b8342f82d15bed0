//! A host's network card: answers first, then flows in turn on one line, held by pauses.

use std::collections::VecDeque;

use weir_core::credit::HostCredits;
use weir_core::units::PRIORITY_COUNT;
use weir_core::{Bytes, Instant, Priority};

use crate::network::flow::Flow;
use crate::network::pool::FrameRecord;
use crate::table::Table;
use crate::transport::telemetry::Hop;

/// Maximum number of answers that wait in one priority; further ones are dropped.
const ANSWERS_MAX: usize = 4096;

/// One host's side of its link.
#[derive(Debug)]
pub(in crate::network) struct Nic {
    pub(in crate::network) line: u32,
    /// Place of its events.
    pub(in crate::network) place: u32,
    pub(in crate::network) obeys_pfc: bool,
    pub(in crate::network) paused_until: [Instant; PRIORITY_COUNT],
    /// Present if its switch has a class with credits.
    pub(in crate::network) credits: Option<Box<HostCredits>>,
    /// Priorities, as bits, that it repeatedly asks its switch to pause.
    pub(in crate::network) storm: u8,
    /// A control frame, sent first.
    pub(in crate::network) control: Option<Vec<u8>>,
    /// By priority: answers to frames that have arrived. `None` before the first one.
    answers: Option<Box<[VecDeque<Answer>; PRIORITY_COUNT]>>,
    /// Flows with something to send, now or at a known time.
    pub(in crate::network) active: Vec<u32>,
    /// Index of the next flow.
    pub(in crate::network) turn: usize,
}

/// An answer, with the hops of the answered frame.
pub(in crate::network) type Answer = (FrameRecord, Vec<Hop>);

/// Next action of a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::network) enum Next {
    /// A frame of this flow.
    Send(u32),
    /// The first answer of this priority.
    Answer(Priority),
    /// Nothing before this time.
    Wait(Instant),
    /// Nothing until another event.
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
        if by_credits.is_some_and(|credits| credits.holds(priority).is_some()) {
            return;
        }
        if self.obeys_pfc {
            self.paused_until[priority.index()] = until;
        }
    }

    pub(in crate::network) fn note_sent(
        &mut self,
        now: Instant,
        priority: Priority,
        length: Bytes,
    ) {
        if let Some(credits) = &mut self.credits {
            credits.note_sent(now, priority, length);
            self.obey_credits();
        }
    }

    /// Holds or releases each class with credits.
    pub(in crate::network) fn obey_credits(&mut self) {
        let Some(credits) = &self.credits else {
            return;
        };
        for priority in Priority::ALL {
            let until = &mut self.paused_until[priority.index()];
            match credits.holds(priority) {
                Some(true) => *until = Instant::FAR_FUTURE,
                Some(false) => *until = Instant::ZERO,
                None if *until == Instant::FAR_FUTURE => *until = Instant::ZERO,
                None => {}
            }
        }
    }

    /// Returns the earliest time of a credit update.
    pub(in crate::network) fn next_credit_message(&self) -> Instant {
        let credits = self.credits.as_ref();
        credits.map_or(Instant::FAR_FUTURE, |credits| credits.next_at())
    }

    /// Queues an answer; false if there is no room.
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

    /// Returns the next frame to send: answers first, then flows, round robin. Removes silent flows. O(active
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
