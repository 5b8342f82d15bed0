//! One direction of a link: a transmitter that sends one thing at a time, and the way to the other end.

use weir_core::units::{LINE_OVERHEAD, NANOS_PER_SECOND};
use weir_core::{BitRate, Bytes, Duration, FrameHandle, Instant, LineClock};

use super::faults::disturbance::Disturbance;
use super::plan::{End, PriorityMap};
use crate::random::Random;

/// One direction of a link. What every frame reads comes first, in one cache line: there are thousands of them, and no near
/// cache holds all.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(super) struct Line {
    /// `None` while nothing is connected: what is sent is lost, and counted.
    pub(super) to: Option<End>,
    pub(super) from: End,
    clock: LineClock,
    pub(super) delay: Duration,
    /// Which priority data frames have behind it.
    pub(super) priority_map: PriorityMap,
    /// Where arrivals happen.
    pub(super) to_place: u32,
    /// Arrivals that were sent before the link last went down carry an older number and are lost.
    pub(super) epoch: u16,
    /// Reasons for which the link carries nothing.
    pub(super) down_count: u16,
    /// Something is being sent.
    pub(super) is_busy: bool,
    /// A wake-up is under way for this moment.
    pub(super) wake_at: Instant,
    /// Reasons for which the switch at its beginning takes the link for down, though it is not.
    pub(super) flaps: u16,
    /// That of the other direction, where it is not the identity: pauses that arrive here were told behind it.
    pub(super) priority_map_back: Option<PriorityMap>,
    /// Its transmitter completes nothing; what it has sent meanwhile.
    pub(super) hangs: bool,
    pub(super) held: Option<(u16, FrameHandle)>,
    /// Impairments at its end, by their place in the plan.
    pub(super) impairments: Vec<u32>,
    /// What control frames meet.
    pub(super) disturbances: Vec<Disturbance>,
    /// Whether they do.
    pub(super) faults: Random,
}

const _: () = assert!(core::mem::offset_of!(Line, wake_at) <= 64);

impl Line {
    pub(super) fn new(from: End, rate: BitRate) -> Self {
        Self {
            from,
            to: None,
            to_place: 0,
            faults: Random::new(0),
            clock: LineClock::new(rate),
            delay: Duration::ZERO,
            priority_map: PriorityMap::IDENTITY,
            priority_map_back: None,
            impairments: Vec::new(),
            flaps: 0,
            hangs: false,
            held: None,
            down_count: 0,
            disturbances: Vec::new(),
            is_busy: false,
            wake_at: Instant::FAR_FUTURE,
            epoch: 0,
        }
    }

    pub(super) const fn is_up(&self) -> bool {
        self.down_count == 0
    }

    /// What the switch at its beginning is told of it.
    pub(super) const fn is_taken_for_up(&self) -> bool {
        self.is_up() && self.flaps == 0
    }

    pub(super) const fn rate(&self) -> BitRate {
        self.clock.rate()
    }

    /// A frame of `length` begins to leave at `now`: the moments at which the line is free again, and at which the frame is at the
    /// other end. That is never this moment: it would overtake what happens there.
    #[inline]
    pub(super) fn send(&mut self, now: Instant, length: Bytes) -> (Instant, Instant) {
        self.is_busy = true;
        let sent = self.clock.book(now, length + LINE_OVERHEAD);
        let arrives = (sent + self.delay).max(now + Duration::from_nanos(1));
        (sent, arrives)
    }

    /// Nothing arrives sooner than this after it began to leave. Frames that go back to back share a nanosecond.
    pub(super) fn shortest(&self) -> Duration {
        let nanos = u128::from(LINE_OVERHEAD.get()) * u128::from(8 * NANOS_PER_SECOND)
            / u128::from(self.rate().get());
        let nanos = u64::try_from(nanos).unwrap_or(u64::MAX);
        (Duration::from_nanos(nanos) + self.delay).max(Duration::from_nanos(1))
    }

    /// Whether a wake-up at `at` must be asked for; notes that it is.
    pub(super) fn wants_wake(&mut self, now: Instant, at: Instant) -> bool {
        let pending = self.wake_at > now && self.wake_at <= at;
        if !pending {
            self.wake_at = at;
        }
        !pending
    }
}
