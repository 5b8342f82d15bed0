//! Taps: copies of frames for captures, with their fates.
//!
//! A [`Tap`] is shared by the threads that see frames (the dataplane thread, and the LLDP agent)
//! and the one that records them. All memory is allocated before the first frame: a thread that
//! sees a frame takes a free [`Record`], fills it and puts it into the ring, and never waits.
//! Without a free record the frame is counted as lost to the capture; the switch does with it what
//! it would have done anyway.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;

use crossbeam::queue::ArrayQueue;
use weir_core::{Instant, PortId, PortSet, Priority};

use crate::model::filter::Filter;
use crate::model::headers::Headers;
use crate::model::sight::{Direction, Sight, Verdict};

/// Captures at a time.
pub const TAPS_MAX: usize = 4;

/// Recorded parts of a [`Sight`].
#[derive(Debug)]
pub struct Record {
    /// When, on `CLOCK_MONOTONIC`.
    pub at: Instant,
    /// Port of the frame.
    pub port: PortId,
    /// Which way.
    pub direction: Direction,
    /// Fate of the frame.
    pub verdict: Verdict,
    /// See [`Sight::priority`].
    pub priority: Option<Priority>,
    /// See [`Sight::hardware_nanos`].
    pub hardware_nanos: Option<u64>,
    /// Length of the whole frame in bytes.
    pub length: usize,
    kept: usize,
    bytes: Box<[u8]>,
}

impl Record {
    /// The frame's first bytes, as many as the snap length allows.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.kept).unwrap_or(&[])
    }

    fn fill(&mut self, sight: &Sight<'_>) {
        self.at = sight.at;
        self.port = sight.port;
        self.direction = sight.direction;
        self.verdict = sight.verdict;
        self.priority = sight.priority;
        self.hardware_nanos = sight.hardware_nanos;
        self.length = sight.bytes.len();
        self.kept = sight.bytes.len().min(self.bytes.len());
        let (from, to) = (
            sight.bytes.get(..self.kept),
            self.bytes.get_mut(..self.kept),
        );
        if let (Some(from), Some(to)) = (from, to) {
            to.copy_from_slice(from);
        }
    }
}

/// Counts of a tap at one port, or in total.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TapFigures {
    /// Frames seen.
    pub seen: u64,
    /// Frames that the filter let through.
    pub matched: u64,
    /// Frames among these that were chosen and found no free record.
    pub lost: u64,
    /// Frames copied.
    pub copied: u64,
}

#[derive(Debug, Default)]
struct TapCounters {
    seen: AtomicU64,
    matched: AtomicU64,
    lost: AtomicU64,
    copied: AtomicU64,
}

/// Selection of frames by a tap.
#[derive(Clone, Debug)]
pub struct TapPlan {
    /// At which ports.
    pub ports: PortSet,
    /// Which frames.
    pub filter: Filter,
    /// Of those, one in this many, from the first.
    pub sample: u64,
    /// Maximum number of frames.
    pub count: u64,
    /// Bytes taken of a frame.
    pub snap_bytes: usize,
    /// Frames that may wait to be written down.
    pub ring_frames: usize,
}

/// One capture's tap.
#[derive(Debug)]
pub struct Tap {
    plan: TapPlan,
    free: ArrayQueue<Box<Record>>,
    filled: ArrayQueue<Box<Record>>,
    counters: Vec<TapCounters>,
    matched: AtomicU64,
    copied: AtomicU64,
    over: AtomicBool,
}

impl Tap {
    /// A tap for a switch with `port_count` ports. Allocates all that it will ever need: about
    /// `ring_frames` × (`snap_bytes` + 136) bytes.
    pub fn new(plan: TapPlan, port_count: usize) -> Self {
        let ring_frames = plan.ring_frames.max(1);
        let free = ArrayQueue::new(ring_frames);
        for _ in 0..ring_frames {
            let record = Record {
                at: Instant::ZERO,
                port: PortId::new(0),
                direction: Direction::In,
                verdict: Verdict::Read,
                priority: None,
                hardware_nanos: None,
                length: 0,
                kept: 0,
                bytes: vec![0; plan.snap_bytes].into_boxed_slice(),
            };
            // As many as there is room for.
            let _ = free.push(Box::new(record));
        }
        Self {
            free,
            filled: ArrayQueue::new(ring_frames),
            counters: (0..port_count).map(|_| TapCounters::default()).collect(),
            matched: AtomicU64::new(0),
            copied: AtomicU64::new(0),
            over: AtomicBool::new(false),
            plan,
        }
    }

    /// Returns the selection.
    pub fn plan(&self) -> &TapPlan {
        &self.plan
    }

    /// Copies a frame if it is among those that are wanted. Never waits and allocates nothing.
    pub fn offer(&self, sight: &Sight<'_>, headers: &Headers) {
        if !self.plan.ports.contains(sight.port) || self.is_over() {
            return;
        }
        let Some(counters) = self.counters.get(sight.port.index()) else {
            return;
        };
        counters.seen.fetch_add(1, Ordering::Relaxed);
        if !self.plan.filter.matches(sight, headers) {
            return;
        }
        counters.matched.fetch_add(1, Ordering::Relaxed);
        let number = self.matched.fetch_add(1, Ordering::Relaxed);
        if !number.is_multiple_of(self.plan.sample.max(1)) {
            return;
        }
        let Some(mut record) = self.free.pop() else {
            counters.lost.fetch_add(1, Ordering::Relaxed);
            return;
        };
        let copied = self.copied.fetch_add(1, Ordering::AcqRel) + 1;
        if copied >= self.plan.count {
            self.end();
        }
        if copied > self.plan.count {
            self.recycle(record);
            return;
        }
        counters.copied.fetch_add(1, Ordering::Relaxed);
        record.fill(sight);
        // There are as many places as records.
        let _ = self.filled.push(record);
    }

    /// The oldest frame that waits to be written down.
    pub fn take(&self) -> Option<Box<Record>> {
        self.filled.pop()
    }

    /// Returns a record for reuse.
    pub fn recycle(&self, record: Box<Record>) {
        let _ = self.free.push(record);
    }

    /// Nothing more is copied from now on.
    pub fn end(&self) {
        self.over.store(true, Ordering::Release);
    }

    /// True when nothing more is copied.
    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// Frames copied, at all ports.
    pub fn copied(&self) -> u64 {
        self.copied.load(Ordering::Acquire).min(self.plan.count)
    }

    /// Returns the counts at `port`.
    pub fn figures(&self, port: PortId) -> TapFigures {
        self.counters
            .get(port.index())
            .map_or_else(TapFigures::default, |counters| TapFigures {
                seen: counters.seen.load(Ordering::Relaxed),
                matched: counters.matched.load(Ordering::Relaxed),
                lost: counters.lost.load(Ordering::Relaxed),
                copied: counters.copied.load(Ordering::Relaxed),
            })
    }
}

/// The taps of one who sees frames.
#[derive(Debug, Default)]
pub struct Taps {
    is_on: bool,
    taps: [Option<Arc<Tap>>; TAPS_MAX],
}

impl Taps {
    /// Returns true if there is a tap. This check is the whole cost for a frame while there is
    /// none.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.is_on
    }

    /// Puts a tap at a place, or takes it away from there.
    pub fn set(&mut self, place: usize, tap: Option<Arc<Tap>>) {
        if let Some(slot) = self.taps.get_mut(place) {
            *slot = tap;
        }
        self.is_on = self.taps.iter().any(Option::is_some);
    }

    /// Offers a frame to every tap.
    pub fn offer(&self, sight: &Sight<'_>) {
        let headers = Headers::of(sight.bytes);
        for tap in self.taps.iter().flatten() {
            tap.offer(sight, &headers);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PORT: PortId = PortId::new(1);

    fn tap(sample: u64, count: u64, ring_frames: usize) -> Tap {
        let mut ports = PortSet::EMPTY;
        ports.insert(PORT);
        let plan = TapPlan {
            ports,
            filter: Filter::default(),
            sample,
            count,
            snap_bytes: 64,
            ring_frames,
        };
        Tap::new(plan, 2)
    }

    fn offer(tap: &Tap, port: PortId, bytes: &[u8]) {
        let sight = Sight {
            at: Instant::from_nanos(7),
            port,
            direction: Direction::Out,
            verdict: Verdict::Read,
            priority: None,
            hardware_nanos: None,
            bytes,
        };
        tap.offer(&sight, &Headers::of(bytes));
    }

    #[test]
    fn what_finds_no_room_is_counted_and_room_comes_back() {
        let tap = tap(1, u64::MAX, 16);
        for number in 0..20u8 {
            offer(&tap, PORT, &[number; 100]);
        }
        offer(&tap, PortId::new(0), &[9; 100]);
        let figures = tap.figures(PORT);
        assert_eq!((figures.seen, figures.copied, figures.lost), (20, 16, 4));
        assert_eq!(tap.figures(PortId::new(0)), TapFigures::default());
        for number in 0..16u8 {
            let record = tap.take().unwrap();
            assert_eq!((record.bytes(), record.length), (&[number; 64][..], 100));
            tap.recycle(record);
        }
        assert!(tap.take().is_none());
        offer(&tap, PORT, &[77; 10]);
        assert_eq!(tap.take().unwrap().bytes(), [77; 10]);
    }

    #[test]
    fn one_in_so_many_until_so_many() {
        let tap = tap(3, 4, 16);
        for number in 0..60u8 {
            offer(&tap, PORT, &[number; 20]);
        }
        assert!(tap.is_over());
        let taken: Vec<u8> = std::iter::from_fn(|| Some(tap.take()?.bytes()[0])).collect();
        assert_eq!(taken, [0, 3, 6, 9]);
        assert_eq!(tap.copied(), 4);
    }
}
