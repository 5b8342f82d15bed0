//! One direction of a link: a transmitter for one frame at a time, and the delay to the other end.

use weir_core::units::{LINE_OVERHEAD, NANOS_PER_SECOND};
use weir_core::{BitRate, Bytes, Duration, FrameHandle, Instant, LineClock};

use super::faults::disturbance::Disturbance;
use super::plan::{End, PriorityMap};
use crate::random::Random;

/// One direction of a link. The fields used by every frame come first, in one cache line: there are thousands of lines, more
/// than a near cache holds.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(super) struct Line {
    /// `None` without a neighbour: frames sent there are lost and counted.
    pub(super) to: Option<End>,
    pub(super) from: End,
    clock: LineClock,
    pub(super) delay: Duration,
    /// Priority of data frames after the line.
    pub(super) priority_map: PriorityMap,
    /// Place of arrivals.
    pub(super) to_place: u32,
    /// Arrivals with an older number were sent before the link last failed, and are lost.
    pub(super) epoch: u16,
    /// Number of reasons for which the link is down.
    pub(super) down_count: u16,
    /// True during a transmission.
    pub(super) is_busy: bool,
    /// Time of the pending wake-up.
    pub(super) wake_at: Instant,
    /// Number of reasons for which the sending switch treats the link as down though it is up.
    pub(super) flaps: u16,
    /// The other direction's map if it is not the identity: pauses that arrive here name priorities after it.
    pub(super) priority_map_back: Option<PriorityMap>,
    /// While its transmitter completes nothing; also the frames sent meanwhile.
    pub(super) hangs: bool,
    pub(super) held: Option<(u16, FrameHandle)>,
    /// Impairments at its end, by index in the plan.
    pub(super) impairments: Vec<u32>,
    /// Disturbances of control frames.
    pub(super) disturbances: Vec<Disturbance>,
    /// Random numbers for these.
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

    /// State of the link as reported to the sending switch.
    pub(super) const fn is_taken_for_up(&self) -> bool {
        self.is_up() && self.flaps == 0
    }

    pub(super) const fn rate(&self) -> BitRate {
        self.clock.rate()
    }

    /// A frame of `length` begins to leave at `now`: returns when the line is free again, and when the frame is at the other
    /// end. That is always later than now: the event must not overtake others there.
    #[inline]
    pub(super) fn send(&mut self, now: Instant, length: Bytes) -> (Instant, Instant) {
        self.is_busy = true;
        let sent = self.clock.book(now, length + LINE_OVERHEAD);
        let arrives = (sent + self.delay).max(now + Duration::from_nanos(1));
        (sent, arrives)
    }

    /// Minimum time from departure to arrival. Frames sent back to back share a nanosecond.
    pub(super) fn shortest(&self) -> Duration {
        let nanos = u128::from(LINE_OVERHEAD.get()) * u128::from(8 * NANOS_PER_SECOND)
            / u128::from(self.rate().get());
        let nanos = u64::try_from(nanos).unwrap_or(u64::MAX);
        (Duration::from_nanos(nanos) + self.delay).max(Duration::from_nanos(1))
    }

    /// Returns true if a wake-up at `at` must be scheduled, and records it.
    pub(super) fn wants_wake(&mut self, now: Instant, at: Instant) -> bool {
        let pending = self.wake_at > now && self.wake_at <= at;
        if !pending {
            self.wake_at = at;
        }
        !pending
    }
}
