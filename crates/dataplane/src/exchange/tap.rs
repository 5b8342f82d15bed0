//! Taps: copies of frames for captures and for sFlow, with their fates.
//!
//! A [`Tap`] is shared by the threads that see frames (the dataplane thread, and the LLDP agent) and the one that reads the
//! copies. All memory is allocated before the first frame: a thread that sees a frame takes a free [`Record`], fills it and
//! puts it into the ring, and never waits. Without a free record the frame is counted as lost to the capture; its treatment
//! by the switch is the same.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;

use crossbeam::queue::ArrayQueue;
use weir_core::units::NANOS_PER_SECOND;
use weir_core::{Instant, PortId, PortSet, Priority};

use weir_config::frames::filter::Filter;
use weir_config::frames::headers::Headers;
use weir_config::frames::sight::{Direction, Sight, Verdict};

/// Maximum number of concurrent captures. They use the first slots of [`Taps`].
pub const TAPS_MAX: usize = 4;
/// Slot of the tap for sFlow's reports of dropped frames.
pub const DROPS_PLACE: usize = TAPS_MAX;
/// Slot of the tap for sFlow's packet samples.
pub const SAMPLES_PLACE: usize = TAPS_MAX + 1;
const PLACES: usize = TAPS_MAX + 2;

/// Recorded parts of a [`Sight`].
#[derive(Debug)]
pub struct Record {
    /// Time on `CLOCK_MONOTONIC`.
    pub at: Instant,
    /// Port of the frame.
    pub port: PortId,
    /// Direction of the frame.
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
    /// Frames that the filter matched.
    pub matched: u64,
    /// Matched frames that a rate limit suppressed.
    pub withheld: u64,
    /// Selected frames for which no record was free.
    pub lost: u64,
    /// Frames copied.
    pub copied: u64,
}

impl std::iter::Sum for TapFigures {
    fn sum<I: Iterator<Item = Self>>(ports: I) -> Self {
        ports.fold(Self::default(), |sum, port| Self {
            seen: sum.seen + port.seen,
            matched: sum.matched + port.matched,
            withheld: sum.withheld + port.withheld,
            lost: sum.lost + port.lost,
            copied: sum.copied + port.copied,
        })
    }
}

#[derive(Debug, Default)]
struct TapCounters {
    seen: AtomicU64,
    matched: AtomicU64,
    withheld: AtomicU64,
    lost: AtomicU64,
    copied: AtomicU64,
}

/// Frames that a tap takes.
#[derive(Clone, Debug)]
pub enum Choice {
    /// Copy one in `sample` of the frames that `filter` matches, beginning with the first.
    Matching {
        /// The filter.
        filter: Filter,
        /// Sampling interval in frames.
        sample: u64,
    },
    /// Copy one in `one_in` received and admitted frames on average, at random. For one thread only.
    Sampled {
        /// Mean sampling interval in frames.
        one_in: u32,
        /// Seed of the random numbers.
        seed: u64,
    },
    /// Copy dropped frames, at most `per_second`, with bursts of the same size. For one thread only.
    Dropped {
        /// Rate limit and burst size, in frames.
        per_second: u32,
    },
}

impl Choice {
    /// Returns false if no frame with this fate is copied.
    fn may_want(&self, fate: Fate) -> bool {
        match self {
            Self::Matching { .. } => true,
            Self::Sampled { .. } => fate == Fate::Admitted,
            Self::Dropped { .. } => fate == Fate::Dropped,
        }
    }
}

/// Fate of a frame, as far as a tap's choice depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Received and buffered.
    Admitted,
    /// Dropped.
    Dropped,
    /// Consumed by the switch, or sent.
    Other,
}

impl Fate {
    const ALL: [Self; 3] = [Self::Admitted, Self::Dropped, Self::Other];
}

impl From<Verdict> for Fate {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Admitted { .. } => Self::Admitted,
            Verdict::Dropped(_) => Self::Dropped,
            Verdict::Read | Verdict::Sent { .. } => Self::Other,
        }
    }
}

/// Selection of frames by a tap.
#[derive(Clone, Debug)]
pub struct TapPlan {
    /// Ports.
    pub ports: PortSet,
    /// Frames.
    pub choice: Choice,
    /// Maximum number of frames.
    pub count: u64,
    /// Bytes copied of each frame.
    pub snap_bytes: usize,
    /// Maximum number of frames waiting for the reader.
    pub ring_frames: usize,
}

/// One reader's tap.
#[derive(Debug)]
pub struct Tap {
    plan: TapPlan,
    free: ArrayQueue<Box<Record>>,
    filled: ArrayQueue<Box<Record>>,
    counters: Vec<TapCounters>,
    matched: AtomicU64,
    copied: AtomicU64,
    over: AtomicBool,
    /// Frames to skip before the next sample.
    skip: AtomicU64,
    random: AtomicU64,
    /// Time in nanoseconds until which the frames copied so far use up the rate limit.
    spent_until: AtomicU64,
}

impl Tap {
    /// Creates a tap for a switch with `port_count` ports. Allocates all of its memory: about
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
            // The queue has room for exactly this many.
            let _ = free.push(Box::new(record));
        }
        let tap = Self {
            free,
            filled: ArrayQueue::new(ring_frames),
            counters: (0..port_count).map(|_| TapCounters::default()).collect(),
            matched: AtomicU64::new(0),
            copied: AtomicU64::new(0),
            over: AtomicBool::new(false),
            skip: AtomicU64::new(0),
            random: AtomicU64::new(0),
            spent_until: AtomicU64::new(0),
            plan,
        };
        if let Choice::Sampled { one_in, seed } = tap.plan.choice {
            // xorshift never leaves the state zero.
            tap.random.store(seed | 1, Ordering::Relaxed);
            tap.draw(one_in);
        }
        tap
    }

    /// Returns the selection.
    pub fn plan(&self) -> &TapPlan {
        &self.plan
    }

    /// Returns true if a frame that [it may want](Choice::may_want) is to be [offered](Self::offer).
    fn wants(&self, port: PortId) -> bool {
        match self.plan.choice {
            Choice::Matching { .. } | Choice::Dropped { .. } => true,
            Choice::Sampled { one_in, .. } => {
                if !self.plan.ports.contains(port) {
                    return false;
                }
                if let Some(counters) = self.counters.get(port.index()) {
                    counters.seen.fetch_add(1, Ordering::Relaxed);
                }
                let skip = self.skip.load(Ordering::Relaxed);
                if skip > 0 {
                    self.skip.store(skip - 1, Ordering::Relaxed);
                    return false;
                }
                self.draw(one_in);
                true
            }
        }
    }

    /// Draws the frames to skip: 0 to 2 (`one_in` - 1) with equal probability, so that the mean distance between
    /// samples is `one_in`.
    fn draw(&self, one_in: u32) {
        let mut random = self.random.load(Ordering::Relaxed);
        // xorshift64
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        self.random.store(random, Ordering::Relaxed);
        let choices = 2 * u64::from(one_in.max(1)) - 1;
        // The high bits are the better ones.
        self.skip.store((random >> 16) % choices, Ordering::Relaxed);
    }

    /// Takes one frame from the rate limit; returns false when it is used up.
    fn takes_one(&self, at: Instant, per_second: u32) -> bool {
        let (now, step) = (
            at.as_nanos(),
            NANOS_PER_SECOND / u64::from(per_second.max(1)),
        );
        let spent_until = self.spent_until.load(Ordering::Relaxed).max(now);
        let is_within = spent_until + step <= now + NANOS_PER_SECOND;
        if is_within {
            self.spent_until
                .store(spent_until + step, Ordering::Relaxed);
        }
        is_within
    }

    /// Returns true if this frame is to be copied.
    fn chooses(&self, sight: &Sight<'_>, headers: &Headers, counters: &TapCounters) -> bool {
        match &self.plan.choice {
            Choice::Matching { filter, sample } => {
                counters.seen.fetch_add(1, Ordering::Relaxed);
                if !filter.matches(sight, headers) {
                    return false;
                }
                counters.matched.fetch_add(1, Ordering::Relaxed);
                let number = self.matched.fetch_add(1, Ordering::Relaxed);
                number.is_multiple_of((*sample).max(1))
            }
            Choice::Sampled { .. } => {
                counters.matched.fetch_add(1, Ordering::Relaxed);
                true
            }
            Choice::Dropped { per_second } => {
                counters.seen.fetch_add(1, Ordering::Relaxed);
                counters.matched.fetch_add(1, Ordering::Relaxed);
                let is_within = self.takes_one(sight.at, *per_second);
                if !is_within {
                    counters.withheld.fetch_add(1, Ordering::Relaxed);
                }
                is_within
            }
        }
    }

    /// Copies a frame if it is selected. Never waits and allocates nothing.
    pub fn offer(&self, sight: &Sight<'_>, headers: &Headers) {
        if !self.plan.ports.contains(sight.port) || self.is_over() {
            return;
        }
        let Some(counters) = self.counters.get(sight.port.index()) else {
            return;
        };
        if !self.chooses(sight, headers, counters) {
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
        // The queue has as many places as there are records.
        let _ = self.filled.push(record);
    }

    /// Takes the oldest waiting frame.
    pub fn take(&self) -> Option<Box<Record>> {
        self.filled.pop()
    }

    /// Returns a record for reuse.
    pub fn recycle(&self, record: Box<Record>) {
        let _ = self.free.push(record);
    }

    /// Stops copying.
    pub fn end(&self) {
        self.over.store(true, Ordering::Release);
    }

    /// Returns true once copying has stopped.
    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// Returns the number of frames copied at all ports.
    pub fn copied(&self) -> u64 {
        self.copied.load(Ordering::Acquire).min(self.plan.count)
    }

    /// Returns the counts of all ports.
    pub fn total(&self) -> TapFigures {
        self.plan.ports.iter().map(|port| self.figures(port)).sum()
    }

    /// Returns the counts at `port`.
    pub fn figures(&self, port: PortId) -> TapFigures {
        self.counters
            .get(port.index())
            .map_or_else(TapFigures::default, |counters| TapFigures {
                seen: counters.seen.load(Ordering::Relaxed),
                matched: counters.matched.load(Ordering::Relaxed),
                withheld: counters.withheld.load(Ordering::Relaxed),
                lost: counters.lost.load(Ordering::Relaxed),
                copied: counters.copied.load(Ordering::Relaxed),
            })
    }
}

/// The taps of a thread that sees frames.
#[derive(Debug, Default)]
pub struct Taps {
    /// Derived from the others, since every frame needs it.
    is_on: bool,
    /// By fate: the taps that may want such a frame.
    by_fate: [Wanting; Fate::ALL.len()],
    taps: [Option<Arc<Tap>>; PLACES],
}

/// Taps that want a frame: a bit for each slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanting(u8);

const _: () = assert!(PLACES <= u8::BITS as usize);

impl Wanting {
    /// True if no tap wants the frame.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    fn places(self) -> impl Iterator<Item = usize> {
        (0..PLACES).filter(move |place| self.0 & (1 << place) != 0)
    }
}

impl FromIterator<usize> for Wanting {
    fn from_iter<T: IntoIterator<Item = usize>>(places: T) -> Self {
        let bits = places.into_iter().map(|place| 1 << place);
        Self(bits.fold(0, |all, bit| all | bit))
    }
}

impl Taps {
    /// Returns true if there is a tap. This check is the whole cost for a frame while there is
    /// none.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.is_on
    }

    /// Sets or clears the tap of a slot.
    pub fn set(&mut self, place: usize, tap: Option<Arc<Tap>>) {
        if let Some(slot) = self.taps.get_mut(place) {
            *slot = tap;
        }
        let may_want = |place: &usize, fate: Fate| {
            let tap = self.taps[*place].as_ref();
            tap.is_some_and(|tap| tap.plan.choice.may_want(fate))
        };
        self.is_on = self.taps.iter().any(Option::is_some);
        self.by_fate = Fate::ALL.map(|fate| {
            let places = 0..PLACES;
            places.filter(|place| may_want(place, fate)).collect()
        });
    }

    /// Returns true if there is a tap for frames with this fate.
    #[inline]
    pub fn sees(&self, fate: Fate) -> bool {
        !self.by_fate[fate as usize].is_empty()
    }

    /// Returns true if there is a tap for frames that are not dropped.
    pub fn sees_passing(&self) -> bool {
        self.sees(Fate::Admitted) || self.sees(Fate::Other)
    }

    /// Returns the taps that a frame with this fate is to be offered to. Call it once for each frame.
    pub fn wanting(&self, port: PortId, fate: Fate) -> Wanting {
        let places = self.by_fate[fate as usize].places();
        let wants = |place: &usize| {
            let tap = self.taps[*place].as_ref();
            tap.is_some_and(|tap| tap.wants(port))
        };
        places.filter(wants).collect()
    }

    /// Offers a frame to the taps that want it.
    pub fn offer(&self, wanting: Wanting, sight: &Sight<'_>) {
        let headers = Headers::of(sight.bytes);
        for tap in wanting
            .places()
            .filter_map(|place| self.taps[place].as_ref())
        {
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
            choice: Choice::Matching {
                filter: Filter::default(),
                sample,
            },
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

    fn sflow_tap(choice: Choice, ring_frames: usize) -> Taps {
        let plan = TapPlan {
            ports: [PORT].into_iter().collect(),
            choice,
            count: u64::MAX,
            snap_bytes: 64,
            ring_frames,
        };
        let mut taps = Taps::default();
        taps.set(DROPS_PLACE, Some(Arc::new(Tap::new(plan, 2))));
        taps
    }

    fn show(taps: &Taps, at: u64, verdict: Verdict) {
        let wanting = taps.wanting(PORT, verdict.into());
        if wanting.is_empty() {
            return;
        }
        let sight = Sight {
            at: Instant::from_nanos(at),
            port: PORT,
            direction: Direction::In,
            verdict,
            priority: None,
            hardware_nanos: None,
            bytes: &[7; 80],
        };
        taps.offer(wanting, &sight);
    }

    fn figures(taps: &Taps) -> TapFigures {
        taps.taps[DROPS_PLACE].as_ref().unwrap().figures(PORT)
    }

    const DROPPED: Verdict = Verdict::Dropped(weir_core::DropReason::NoRoute);
    const ADMITTED: Verdict = Verdict::Admitted {
        marked: false,
        pausing: false,
        held: false,
    };

    #[test]
    fn every_drop_is_copied_up_to_the_limit_and_the_rest_is_counted() {
        let taps = sflow_tap(Choice::Dropped { per_second: 10 }, 64);
        // A burst of the limit, and one frame more.
        for _ in 0..11 {
            show(&taps, 5, DROPPED);
        }
        let seen = figures(&taps);
        assert_eq!((seen.seen, seen.copied, seen.withheld), (11, 10, 1));
        // Then one each 100 ms.
        for millis in (100..1_000).step_by(50) {
            show(&taps, 5 + millis * 1_000_000, DROPPED);
        }
        let seen = figures(&taps);
        assert_eq!((seen.seen, seen.copied, seen.withheld), (29, 19, 10));
        // A steady rate at the limit is copied in full.
        for number in 0..100 {
            show(&taps, (10_000 + 100 * number) * 1_000_000, DROPPED);
            let tap = taps.taps[DROPS_PLACE].as_ref().unwrap();
            while let Some(record) = tap.take() {
                tap.recycle(record);
            }
        }
        let seen = figures(&taps);
        assert_eq!((seen.seen, seen.copied, seen.withheld), (129, 119, 10));
        assert_eq!(seen.lost, 0);
    }

    #[test]
    fn a_tap_for_drops_sees_nothing_else() {
        let taps = sflow_tap(Choice::Dropped { per_second: 10 }, 8);
        assert!(taps.is_on() && !taps.sees_passing());
        for fate in [Fate::Admitted, Fate::Other] {
            assert!(taps.wanting(PORT, fate).is_empty());
        }
        show(&taps, 1, ADMITTED);
        show(&taps, 1, Verdict::Read);
        assert_eq!(figures(&taps), TapFigures::default());
    }

    #[test]
    fn samples_are_one_in_so_many_and_not_evenly_spaced() {
        let choice = Choice::Sampled {
            one_in: 100,
            seed: 7,
        };
        let taps = sflow_tap(choice, 4_096);
        assert!(taps.sees_passing());
        let mut distances = Vec::new();
        let mut last = 0;
        for number in 0..200_000u64 {
            let before = figures(&taps).copied;
            show(&taps, number, ADMITTED);
            if figures(&taps).copied > before {
                distances.push(number - last);
                last = number;
            }
            // Dropped frames are not sampled.
            show(&taps, number, DROPPED);
        }
        let seen = figures(&taps);
        assert_eq!((seen.seen, seen.lost), (200_000, 0));
        // The mean of 2000 distances has a standard error of 1.3 %.
        assert!((1_900..=2_100).contains(&seen.copied), "{seen:?}");
        assert!(distances.iter().any(|distance| *distance < 20));
        assert!(distances.iter().any(|distance| *distance > 180));
        assert!(distances[1..].iter().all(|distance| *distance < 200));
    }

    #[test]
    fn one_in_one_is_every_frame() {
        let taps = sflow_tap(Choice::Sampled { one_in: 1, seed: 3 }, 64);
        for number in 0..50 {
            show(&taps, number, ADMITTED);
        }
        assert_eq!(figures(&taps).copied, 50);
    }
}
