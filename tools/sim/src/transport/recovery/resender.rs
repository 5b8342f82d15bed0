//! The sender's state: frames acknowledged, in flight, and to be repeated.

use std::collections::VecDeque;

use weir_config::scenario::Recovery;
use weir_core::{Duration, Instant};

use super::Reply;
use crate::transport::retransmission_timer::RetransmissionTimer;
use crate::transport::WINDOW_FRAMES_MAX;

/// The sender's side of one flow. Frames are numbered from zero; a repetition has the same number.
#[derive(Clone, Debug)]
pub struct Resender {
    is_selective: bool,
    frame_count: Option<u32>,
    acknowledged: u32,
    /// Next frame to send, except for selective repetitions.
    next: u32,
    /// First frame never sent.
    unsent: u32,
    /// From `acknowledged` on: true for frames that the receiver has.
    held: VecDeque<bool>,
    held_count: u32,
    /// Every frame before it was repeated, or need not be.
    looked_before: u32,
    /// Frames before it are lost if the receiver lacks them.
    lost_before: u32,
    timer: RetransmissionTimer,
}

/// Effect of an acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Frames newly known to have arrived.
    pub frames: u32,
    /// Losses were detected.
    pub is_loss: bool,
}

impl Resender {
    /// Creates a flow of `frame_count` frames; `None` for an endless one.
    pub fn new(recovery: Recovery, frame_count: Option<u32>, timeout_min: Duration) -> Self {
        Self {
            is_selective: recovery == Recovery::Selective,
            frame_count,
            acknowledged: 0,
            next: 0,
            unsent: 0,
            held: VecDeque::new(),
            held_count: 0,
            looked_before: 0,
            lost_before: 0,
            timer: RetransmissionTimer::new(timeout_min),
        }
    }

    /// Returns true if there is a frame to send, regardless of windows and rates. A window of [`WINDOW_FRAMES_MAX`] always
    /// applies.
    pub fn has_frame(&self) -> bool {
        let is_in_reach = self.next - self.acknowledged < WINDOW_FRAMES_MAX;
        let is_left = self.frame_count.is_none_or(|count| self.next < count);
        self.has_selected() || (is_in_reach && is_left)
    }

    /// Returns true if a lost frame is to be repeated out of order, which no window limits.
    pub const fn has_selected(&self) -> bool {
        self.looked_before < self.lost_before
    }

    /// Returns true if the next frame is a repetition.
    pub const fn repeats(&self) -> bool {
        self.has_selected() || self.next < self.unsent
    }

    /// Frames sent that are not known to have arrived, without those that go-back-N will repeat.
    pub const fn in_flight(&self) -> u32 {
        self.next - self.acknowledged - self.held_count
    }

    /// One after the last number sent (snd_nxt).
    pub const fn next(&self) -> u32 {
        self.next
    }

    /// True if everything is acknowledged.
    pub fn is_done(&self) -> bool {
        self.frame_count == Some(self.acknowledged)
    }

    /// Sends a frame; returns its number. Call it only if [there is one](Self::has_frame).
    pub fn send(&mut self, now: Instant) -> u32 {
        self.timer.start_unless_running(now);
        if self.has_selected() {
            let number = self.looked_before;
            self.looked_before += 1;
            self.skip_held();
            return number;
        }
        let number = self.next;
        self.next += 1;
        self.unsent = self.unsent.max(self.next);
        number
    }

    /// Handles the receiver's `reply` to frame `number`, which was sent at `sent`. O(frames concerned).
    pub fn acknowledge(
        &mut self,
        now: Instant,
        number: u32,
        reply: Reply,
        sent: Instant,
    ) -> Progress {
        if reply.before > self.unsent || number >= self.unsent {
            return Progress::default();
        }
        self.timer.measure(now.saturating_since(sent));
        let mut progress = Progress::default();
        if reply.before > self.acknowledged {
            progress.frames = self.advance(now, reply.before);
        }
        if self.is_selective {
            progress.frames += self.hold(number);
            if reply.is_nack {
                self.lost_before = self.lost_before.max(number);
            }
            self.skip_held();
            // Out of order, and nothing before it has been repeated yet.
            progress.is_loss = reply.is_nack && self.has_selected();
        } else if reply.is_nack && reply.before == self.acknowledged && self.next > reply.before {
            self.next = reply.before;
            progress.is_loss = true;
        }
        progress
    }

    /// When [`handle_timeout`](Self::handle_timeout) is next due.
    pub fn next_timeout(&self) -> Option<Instant> {
        self.timer.expires_at()
    }

    /// If the timer has expired, returns true, and everything not known to have arrived is lost.
    pub fn handle_timeout(&mut self, now: Instant) -> bool {
        if self.timer.expires_at().is_none_or(|at| at > now) {
            return false;
        }
        self.timer.back_off();
        if self.is_selective {
            self.looked_before = self.acknowledged;
            self.lost_before = self.unsent;
            self.skip_held();
        } else {
            self.next = self.acknowledged;
        }
        true
    }

    /// Handles the arrival of every frame before `before`; returns the number of newly known ones.
    fn advance(&mut self, now: Instant, before: u32) -> u32 {
        let count = before - self.acknowledged;
        let known = (count as usize).min(self.held.len());
        let known = self.held.drain(..known).filter(|held| *held).count() as u32;
        self.held_count -= known;
        self.acknowledged = before;
        self.next = self.next.max(before);
        self.looked_before = self.looked_before.max(before);
        self.timer.acknowledged(now, before < self.unsent);
        count - known
    }

    /// Handles the arrival of `number`; returns 1 if that is new.
    fn hold(&mut self, number: u32) -> u32 {
        let Some(offset) = number.checked_sub(self.acknowledged) else {
            return 0;
        };
        let offset = offset as usize;
        if self.held.len() <= offset {
            self.held.resize(offset + 1, false);
        }
        let is_new = !std::mem::replace(&mut self.held[offset], true);
        self.held_count += u32::from(is_new);
        u32::from(is_new)
    }

    fn skip_held(&mut self) {
        while self.looked_before < self.lost_before {
            let offset = (self.looked_before - self.acknowledged) as usize;
            if self.held.get(offset) != Some(&true) {
                break;
            }
            self.looked_before += 1;
        }
    }
}
