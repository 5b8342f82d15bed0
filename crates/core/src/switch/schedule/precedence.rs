//! Precedence over the turns of a port: guaranteed rates and strict priorities; and maximum rates of classes.
//!
//! Of the frames that may leave now, in this order:
//!
//! 1. owed frames ([`virtual_queues`](crate::switch::virtual_queues));
//! 2. priorities that have had less than their guaranteed rate, the one below it for longest first;
//! 3. strict priorities, the highest first;
//! 4. the others, by turns.
//!
//! **Bound on starvation by strict traffic.** 2 and 3 have a share of the line,
//! [`strict_share`](crate::SwitchConfig::strict_share). Each of their frames that leaves while one of 4 could have left
//! adds (1 − share) times its length to the debt to the turns; a frame of 1 or 4 that leaves while one of 2 or 3 could
//! have left deducts share times its length. While the debt is at least the longest frame, 4 goes first. So under an
//! overload of strict traffic the turns as a whole get 1 − share of the bytes, and wait for at most ⌈longest frame ×
//! share ÷ (1 − share)⌉ bytes of others before each frame; after owed frames that went first, for nine times as many
//! ([`CREDIT_FRAMES_MAX`]). Unused share is not saved up: only frames that could have left count.
//!
//! A strict priority that others passed while it was paused is owed nothing: it goes first as soon as it may. The bound
//! of `virtual_queues/owed.rs` holds for priorities that take turns, with the bytes above before each of their frames.

use super::{Offer, Shaper};
use crate::config::{Algorithm, SchedulerConfig, SwitchConfig};
use crate::sets::PrioritySet;
use crate::units::{Bytes, Instant, Priority, PRIORITY_COUNT};

/// Maximum, in longest frames, deducted from the turns for owed frames that went before strict ones.
const CREDIT_FRAMES_MAX: i64 = 8;

/// Precedence of one port; absent if no class needs it.
#[derive(Debug)]
#[cfg_attr(feature = "testing", derive(Clone))]
pub(in crate::switch) struct Precedence {
    strict: PrioritySet,
    guaranteed: PrioritySet,
    /// Virtual lines of the guaranteed rates, by priority: a free line means that the priority has had less.
    least: [Option<Shaper>; PRIORITY_COUNT],
    /// Virtual lines of the maximum rates, by priority.
    most: [Option<Shaper>; PRIORITY_COUNT],
    /// In bytes × millionths; negative if the turns have had more than their share.
    owed_to_turns: i64,
    share_ppm: i64,
    frame_max: i64,
    /// Set if the last choice overtook a priority that precedes the turns.
    went_ahead: bool,
}

impl Precedence {
    /// Returns `None` for classes that all take turns by weight without limits.
    pub(in crate::switch) fn new(config: &SwitchConfig) -> Option<Box<Self>> {
        let schedulers = config.classes.map(|class| class.scheduler);
        if schedulers.iter().all(SchedulerConfig::is_plain) {
            return None;
        }
        let those = |is: fn(&SchedulerConfig) -> bool| {
            let with = |priority: &Priority| is(&schedulers[priority.index()]);
            let mut set = PrioritySet::default();
            for priority in Priority::ALL.into_iter().filter(with) {
                set.insert(priority);
            }
            set
        };
        Some(Box::new(Self {
            strict: those(|scheduler| scheduler.algorithm == Algorithm::Strict),
            guaranteed: those(|scheduler| scheduler.rate_min.is_some()),
            least: schedulers.map(|scheduler| {
                let rate = scheduler.rate_min?;
                Some(Shaper::new(rate, rate.time_for(config.frame_length_max)))
            }),
            most: schedulers.map(|scheduler| {
                let rate = scheduler.rate_max?;
                // A frame may have to wait until another one has left the line.
                let frames = config.frame_length_max + config.frame_length_max;
                let late = config.shaper_lateness(rate).max(rate.time_for(frames));
                Some(Shaper::new(rate, late))
            }),
            owed_to_turns: 0,
            share_ppm: i64::from(config.strict_share.get()),
            frame_max: config.frame_length_max.get() as i64,
            went_ahead: false,
        }))
    }

    /// Returns when `priority` may next send by its maximum rate; in the past without one.
    #[inline]
    pub(in crate::switch) fn free_at(&self, priority: Priority) -> Instant {
        let line = self.most[priority.index()].as_ref();
        line.map_or(Instant::ZERO, Shaper::free_at)
    }

    pub(in crate::switch) fn book(&mut self, now: Instant, priority: Priority, length: Bytes) {
        let index = priority.index();
        let lines = [&mut self.least[index], &mut self.most[index]];
        for line in lines.into_iter().flatten() {
            line.book(now, length);
        }
    }

    /// Returns the priorities that go first only because they are strict.
    pub(in crate::switch) fn strict(&self) -> PrioritySet {
        self.strict
    }

    /// Returns the priority that precedes the turns now, taking the debt to the turns into account. `length_of` returns
    /// the next frame's length in bytes, `None` if nothing may leave. O(priorities).
    pub(in crate::switch) fn choose(
        &mut self,
        offer: &Offer,
        length_of: impl Fn(Priority) -> Option<u32>,
    ) -> Option<Priority> {
        let (priority, length) = self.first(offer, &length_of)?;
        if !self.turns_could(offer, &length_of, priority) {
            return Some(priority);
        }
        if self.owed_to_turns >= self.frame_max * self.share_ppm {
            return None;
        }
        self.owed_to_turns += i64::from(length) * (PPM - self.share_ppm);
        Some(priority)
    }

    /// Accounts for a frame of `priority` that is about to leave by turns, or because it is owed.
    pub(in crate::switch) fn note_turn(
        &mut self,
        offer: &Offer,
        priority: Priority,
        length_of: impl Fn(Priority) -> Option<u32>,
    ) {
        let length = length_of(priority).unwrap_or(0);
        let first = self.first(offer, length_of);
        if self.strict.contains(priority) || first.is_none_or(|(first, _)| first == priority) {
            return;
        }
        self.went_ahead = true;
        let least = -CREDIT_FRAMES_MAX * self.frame_max * PPM;
        self.owed_to_turns = (self.owed_to_turns - i64::from(length) * self.share_ppm).max(least);
    }

    /// Returns true if the frame just chosen overtook one that precedes the turns.
    pub(in crate::switch) fn take_went_ahead(&mut self) -> bool {
        core::mem::take(&mut self.went_ahead)
    }

    /// Returns the priority that comes first by guarantee or strictness, and the length of its next frame.
    fn first(
        &self,
        offer: &Offer,
        length_of: impl Fn(Priority) -> Option<u32>,
    ) -> Option<(Priority, u32)> {
        let with_frame = |priority: Priority| {
            let length = length_of(priority)?;
            Some((priority, length))
        };
        let below = |priority: &Priority| {
            let line = self.least[priority.index()].as_ref();
            line.is_some_and(|line| line.free_at() <= offer.now)
        };
        let since = |priority: Priority| {
            let line = self.least[priority.index()].as_ref();
            line.map_or(Instant::FAR_FUTURE, Shaper::free_at)
        };
        let guaranteed = self.guaranteed.iter().filter(below).filter_map(with_frame);
        guaranteed
            .min_by_key(|(priority, _)| since(*priority))
            .or_else(|| {
                let strict = self.strict.iter().filter_map(with_frame);
                strict.max_by_key(|(priority, _)| *priority)
            })
    }

    /// Returns true if a frame that takes turns could leave instead of `first`.
    fn turns_could(
        &self,
        offer: &Offer,
        length_of: impl Fn(Priority) -> Option<u32>,
        first: Priority,
    ) -> bool {
        let turns = |priority: &Priority| *priority != first && !self.strict.contains(*priority);
        let mut waiting = offer.sendable.iter().filter(turns);
        waiting.any(|priority| length_of(priority).is_some())
    }
}

const PPM: i64 = 1_000_000;
