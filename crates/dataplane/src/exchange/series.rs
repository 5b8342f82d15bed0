//! Series: readings of queues, pauses and drops at intervals down to a millisecond, for records and exports.
//!
//! The dataplane thread takes a reading when one is due, without a request and with its own time. All memory is allocated
//! before the first reading. A [`Series`] is shared by that thread and one reader, which [takes](Series::take) readings and
//! [returns](Series::recycle) them. Readings without room, and readings whose time the thread missed, are counted as lost.
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

/// The switch at one moment.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// Time of the reading.
    pub at: Instant,
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
    /// Reads `switch`. O(ports), without allocation if there is room.
    fn fill(&mut self, now: Instant, switch: &Switch) {
        self.at = now;
        for (index, reading) in self.ports.iter_mut().enumerate() {
            let Some(port) = PortId::from_index(index) else {
                return;
            };
            let counters = switch.counters(port);
            reading.drops = counters.drops;
            for (priority, queue) in Priority::ALL.into_iter().zip(&mut reading.priorities) {
                (queue.ingress, queue.egress) = switch.occupancy(port, priority);
                [queue.received, queue.sent] = switch.pauses(now, port, priority);
                let credits = switch.credit_gauges(port, priority);
                queue.credits = credits.map(CreditReading::from);
                queue.dropped = counters.data_drops[priority.index()];
            }
        }
    }
}

/// One series.
#[derive(Debug)]
pub struct Series {
    interval: Duration,
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
                ports: vec![PortReading::default(); port_count],
            };
            // The queue has room for exactly this many.
            let _ = free.push(Box::new(reading));
        }
        Self {
            interval: interval.clamp(INTERVAL_MIN, INTERVAL_MAX),
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

    /// Has `fill` take a reading; without room it is lost.
    #[inline]
    pub fn add(&self, fill: impl FnOnce(&mut Reading)) {
        let Some(mut reading) = self.free.pop() else {
            self.crowded.fetch_add(1, Ordering::Relaxed);
            return;
        };
        fill(&mut reading);
        // The queue has as many places as there are readings.
        let _ = self.filled.push(reading);
    }

    /// Takes the oldest waiting reading.
    pub fn take(&self) -> Option<Box<Reading>> {
        self.filled.pop()
    }

    /// Returns a reading for reuse.
    pub fn recycle(&self, reading: Box<Reading>) {
        let _ = self.free.push(reading);
    }

    /// Returns the number of readings that were due but lost.
    pub fn lost(&self) -> u64 {
        self.late() + self.crowded()
    }

    /// Those among them whose time the dataplane thread missed.
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

    /// Returns the time of the next reading.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.next
    }

    /// Takes the readings that are due.
    #[inline]
    pub(crate) fn read(&mut self, now: Instant, switch: &Switch) {
        if self.next.is_some_and(|due| due <= now) {
            self.read_due(now, switch);
        }
    }

    #[cold]
    fn read_due(&mut self, now: Instant, switch: &Switch) {
        for reader in self.readers.iter_mut().flatten() {
            if reader.due > now {
                continue;
            }
            let interval = reader.series.interval;
            let late = now.saturating_since(reader.due).as_nanos() / interval.as_nanos().max(1);
            reader.series.late.fetch_add(late, Ordering::Relaxed);
            reader.due = reader.due + interval.saturating_mul(late + 1);
            reader.series.add(|reading| reading.fill(now, switch));
        }
        self.settle();
    }

    fn settle(&mut self) {
        let readers = self.readers.iter().flatten();
        self.next = readers.map(|reader| reader.due).min();
    }
}

/// Places of recordings, taken by those who want one.
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
