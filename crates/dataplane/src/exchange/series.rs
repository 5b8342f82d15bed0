//! Series: readings of queues, pauses and drops at intervals down to a millisecond, for records and exports.
//!
//! The dataplane thread takes readings without a request and with its own time, before it changes the switch. Readings
//! that became due while it slept or worked show the state at their times. All memory is allocated before the first
//! reading. A [`Series`] is shared by that thread and one reader, which [takes](Series::take) readings and
//! [returns](Series::recycle) them. Readings without room, and readings too old to be taken, are counted as lost.
//! Readings are totals since the start, so sums over a series stay correct without the lost ones.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crossbeam::queue::ArrayQueue;
use weir_core::counters::DropCounts;
use weir_core::switch::{CreditGauges, PauseGauges};
use weir_core::units::PRIORITY_COUNT;
use weir_core::{Bytes, Duration, Instant, PortId, Priority, Switch};

/// Recordings at a time. They have the first places.
pub const SERIES_MAX: usize = 4;
/// Place of the series for IPFIX.
pub const IPFIX_PLACE: usize = SERIES_MAX;
/// Series at a time.
pub const PLACES: usize = SERIES_MAX + 1;
/// The shortest interval.
pub const INTERVAL_MIN: Duration = Duration::from_millis(1);
/// The longest one.
pub const INTERVAL_MAX: Duration = Duration::from_secs(1);

/// Maximum memory of one series in bytes. A switch has at most 256 ports.
const MEMORY_MAX: usize = 16 << 20;
const READINGS: std::ops::RangeInclusive<usize> = 16..=1_024;
/// Readings that are reused first, so that those in use stay in the processor's cache.
const WARM: usize = 32;
/// A sleeping dataplane thread takes readings at most this much later than they are due.
const SLACK: Duration = Duration::from_millis(20);
/// Least and most time between two looks of a reader at its readings.
const POLL: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(50));
/// Most readings that the dataplane thread catches up on one by one, which bounds the delay of the next frame.
const CATCH_UP_MAX: usize = 32;

/// The switch at one moment.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// Time of the reading.
    pub at: Instant,
    /// Number of further readings, at the series' interval, with the same values.
    pub repeats: u64,
    /// By port.
    pub ports: Vec<PortReading>,
}

/// One port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortReading {
    /// By priority.
    pub priorities: [QueueReading; PRIORITY_COUNT],
    /// Frames from this port that the switch core dropped.
    pub drops: DropCounts,
}

/// One (port, priority).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueReading {
    /// Bytes charged to the ingress buffer.
    pub ingress: Bytes,
    /// Bytes waiting for the port as egress.
    pub egress: Bytes,
    /// Pauses received from the neighbour.
    pub received: PauseGauges,
    /// Pauses sent to the neighbour.
    pub sent: PauseGauges,
    /// Credits; `None` in a class without.
    pub credits: Option<CreditReading>,
    /// Data frames that came from the port with this priority and that the switch core dropped.
    pub dropped: u64,
}

/// Credits of one (port, priority).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CreditReading {
    /// Those of the neighbour that are consumed and not freed.
    pub used: u32,
    /// The neighbour's credits at most.
    pub limit: u32,
    /// Those given to the neighbour whose frames have not arrived.
    pub outstanding: u32,
}

impl From<CreditGauges> for CreditReading {
    fn from(gauges: CreditGauges) -> Self {
        Self {
            used: gauges.sending.used,
            limit: gauges.sending.limit,
            outstanding: gauges.receiving.outstanding,
        }
    }
}

impl Reading {
    /// Reads `switch`. Returns true if the values will stay the same until the switch changes: no pause is in progress.
    /// O(ports), without allocation if there is room.
    fn fill(&mut self, at: Instant, switch: &Switch) -> bool {
        self.at = at;
        let mut is_steady = true;
        for (index, reading) in self.ports.iter_mut().enumerate() {
            let Some(port) = PortId::from_index(index) else {
                break;
            };
            let counters = switch.counters(port);
            reading.drops = counters.drops;
            for (priority, queue) in Priority::ALL.into_iter().zip(&mut reading.priorities) {
                (queue.ingress, queue.egress) = switch.occupancy(port, priority);
                [queue.received, queue.sent] = switch.pauses(at, port, priority);
                let credits = switch.credit_gauges(port, priority);
                queue.credits = credits.map(CreditReading::from);
                queue.dropped = counters.data_drops[priority.index()];
                is_steady &= !queue.received.active && !queue.sent.active;
            }
        }
        is_steady
    }
}

/// One series.
#[derive(Debug)]
pub struct Series {
    interval: Duration,
    /// Used before `free`.
    warm: ArrayQueue<Box<Reading>>,
    free: ArrayQueue<Box<Reading>>,
    filled: ArrayQueue<Box<Reading>>,
    late: AtomicU64,
    crowded: AtomicU64,
}

impl Series {
    /// Creates a series for a switch with `port_count` ports; `interval` is clipped to the permitted range.
    pub fn new(interval: Duration, port_count: usize) -> Self {
        let bytes = port_count.max(1) * size_of::<PortReading>();
        let count = (MEMORY_MAX / bytes).clamp(*READINGS.start(), *READINGS.end());
        let free = ArrayQueue::new(count);
        for _ in 0..count {
            let reading = Reading {
                at: Instant::ZERO,
                repeats: 0,
                ports: vec![PortReading::default(); port_count],
            };
            // The queue has room for exactly this many.
            let _ = free.push(Box::new(reading));
        }
        Self {
            interval: interval.clamp(INTERVAL_MIN, INTERVAL_MAX),
            warm: ArrayQueue::new(WARM),
            free,
            filled: ArrayQueue::new(count),
            late: AtomicU64::new(0),
            crowded: AtomicU64::new(0),
        }
    }

    /// Time between two readings.
    pub fn interval(&self) -> Duration {
        self.interval
    }

    /// Has `fill` take the first of `count` readings that are due; it returns true if the others are the same. Returns the
    /// number of readings taken; those without room are lost.
    #[inline]
    pub fn add(&self, count: u64, fill: impl FnOnce(&mut Reading) -> bool) -> u64 {
        let Some(mut reading) = self.warm.pop().or_else(|| self.free.pop()) else {
            self.crowded.fetch_add(count, Ordering::Relaxed);
            return count;
        };
        let is_steady = fill(&mut reading);
        reading.repeats = if is_steady {
            count.saturating_sub(1)
        } else {
            0
        };
        let taken = reading.repeats + 1;
        // The queue has as many places as there are readings.
        let _ = self.filled.push(reading);
        taken
    }

    /// Returns the time after which a reader should take the readings: long, to save wake-ups, and so short that there is
    /// memory for four times as many.
    pub fn poll_interval(&self) -> Duration {
        let quarter = self
            .interval
            .saturating_mul(self.free.capacity() as u64 / 4);
        quarter.clamp(POLL.0, POLL.1).max(self.interval)
    }

    /// Takes the oldest waiting reading.
    pub fn take(&self) -> Option<Box<Reading>> {
        self.filled.pop()
    }

    /// Returns a reading for reuse.
    pub fn recycle(&self, reading: Box<Reading>) {
        if let Err(reading) = self.warm.push(reading) {
            let _ = self.free.push(reading);
        }
    }

    /// Returns the number of readings that were due but lost.
    pub fn lost(&self) -> u64 {
        self.late() + self.crowded()
    }

    /// Those among them that the dataplane thread was too late to take.
    pub fn late(&self) -> u64 {
        self.late.load(Ordering::Relaxed)
    }

    /// Those among them for which the reader had left no room.
    pub fn crowded(&self) -> u64 {
        self.crowded.load(Ordering::Relaxed)
    }
}

/// The series of a dataplane.
#[derive(Debug, Default)]
pub(crate) struct Readers {
    readers: [Option<Reader>; PLACES],
    /// When the next reading is due.
    next: Option<Instant>,
}

#[derive(Debug)]
struct Reader {
    series: Arc<Series>,
    due: Instant,
}

impl Readers {
    /// Begins a series in a slot, or ends the one there.
    pub(crate) fn set(&mut self, now: Instant, place: usize, series: Option<Arc<Series>>) {
        if let Some(slot) = self.readers.get_mut(place) {
            *slot = series.map(|series| Reader { series, due: now });
        }
        self.settle();
    }

    /// Returns when a sleeping thread must wake to take readings.
    pub(crate) fn wake_at(&self) -> Option<Instant> {
        self.next.map(|due| due + SLACK)
    }

    /// Takes the readings that are due. Call this before `switch` changes at `now`.
    #[inline]
    pub(crate) fn read(&mut self, now: Instant, switch: &Switch) {
        if self.next.is_some_and(|due| due <= now) {
            self.read_due(now, switch);
        }
    }

    #[cold]
    fn read_due(&mut self, now: Instant, switch: &Switch) {
        let readers = self.readers.iter_mut().flatten();
        readers
            .filter(|reader| reader.due <= now)
            .for_each(|reader| reader.read(now, switch));
        self.settle();
    }

    fn settle(&mut self) {
        let readers = self.readers.iter().flatten();
        self.next = readers.map(|reader| reader.due).min();
    }
}

impl Reader {
    fn read(&mut self, now: Instant, switch: &Switch) {
        let interval = self.series.interval;
        let late = now.saturating_since(self.due).as_nanos() / interval.as_nanos().max(1);
        let mut left = late + 1;
        for _ in 0..CATCH_UP_MAX {
            let due = self.due;
            let taken = self.series.add(left, |reading| reading.fill(due, switch));
            self.due = self.due + interval.saturating_mul(taken);
            left = left.saturating_sub(taken);
            if left == 0 {
                return;
            }
        }
        self.series.late.fetch_add(left, Ordering::Relaxed);
        self.due = self.due + interval.saturating_mul(left);
    }
}

/// Places of recordings; each recorder takes one.
#[derive(Debug, Default)]
pub struct SeriesPlaces(Mutex<[bool; SERIES_MAX]>);

impl SeriesPlaces {
    /// Takes a slot; `None` when all are taken.
    pub fn take(&self) -> Option<usize> {
        let mut places = self.lock();
        let place = places.iter().position(|taken| !taken)?;
        places[place] = true;
        Some(place)
    }

    /// Frees a slot after its series has ended.
    pub fn give_back(&self, place: usize) {
        if let Some(taken) = self.lock().get_mut(place) {
            *taken = false;
        }
    }

    fn lock(&self) -> MutexGuard<'_, [bool; SERIES_MAX]> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
