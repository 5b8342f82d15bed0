//! The sender's books: what is acknowledged, what is under way, and what has to be sent again.

use std::collections::VecDeque;

use weir_config::scenario::Recovery;
use weir_core::{Duration, Instant};

use super::Reply;
use crate::transport::retransmission_timer::RetransmissionTimer;
use crate::transport::WINDOW_FRAMES_MAX;

/// The sender's side of one flow. Frames have numbers from zero on; a frame keeps its number when it is sent again.
#[derive(Clone, Debug)]
pub struct Resender {
    is_selective: bool,
    frame_count: Option<u32>,
    acknowledged: u32,
    /// Next frame to send, except for selective repetitions.
    next: u32,
    /// No frame from here on was ever sent.
    unsent: u32,
    /// From `acknowledged` on: true for frames that the receiver has.
    held: VecDeque<bool>,
    held_count: u32,
    /// Every frame before it was sent again, or need not be.
    looked_before: u32,
    /// Frames before it that the receiver lacks are lost.
    lost_before: u32,
    timer: RetransmissionTimer,
}

/// Effect of an acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Frames of which it is known only now that the receiver has them.
    pub frames: u32,
    /// Frames were found to be lost.
    pub is_loss: bool,
}

impl Resender {
    /// A flow of `frame_count` frames; `None`: it has no end.
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

    /// Returns true if there is a frame to send, apart from windows and rates. A window of
    /// [`WINDOW_FRAMES_MAX`] always applies.
    pub fn has_frame(&self) -> bool {
        let is_in_reach = self.next - self.acknowledged < WINDOW_FRAMES_MAX;
        let is_left = self.frame_count.is_none_or(|count| self.next < count);
        self.has_selected() || (is_in_reach && is_left)
    }

    /// Returns true if a lost frame is to be sent again out of its order, which no window holds.
    pub const fn has_selected(&self) -> bool {
        self.looked_before < self.lost_before
    }

    /// Returns true if the next frame was sent before.
    pub const fn repeats(&self) -> bool {
        self.has_selected() || self.next < self.unsent
    }

    /// Frames that were sent and of which the sender does not know that the receiver has them. What go-back-N will send
    /// again is not among them.
    pub const fn in_flight(&self) -> u32 {
        self.next - self.acknowledged - self.held_count
    }

    /// The number after the last one sent (snd_nxt).
    pub const fn next(&self) -> u32 {
        self.next
    }

    /// True when everything is acknowledged.
    pub fn is_done(&self) -> bool {
        self.frame_count == Some(self.acknowledged)
    }

    /// A frame is sent: its number. To be called when [there is one](Self::has_frame).
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

    /// Handles the receiver's `reply` to frame `number`, which was sent at `sent`. O(frames that it
    /// concerns).
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
            // Out of order, and nothing before it was sent again yet.
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

    /// Everything that the receiver is not known to have is lost, if the timer has expired; whether it has.
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

    /// Handles the arrival of every frame before `before`: returns how many are news.
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

    /// Handles the arrival of `number`: returns 1 if that is news.
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
