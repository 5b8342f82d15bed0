//! Events of switches and reports of their control planes, sorted by time.

use weir_core::control::Report;
use weir_core::{Event, Instant};

/// One line of the log.
#[derive(Clone, Copy, Debug)]
pub struct LogEntry<K = LogKind> {
    /// Time.
    pub at: Instant,
    /// The switch.
    pub switch: u32,
    /// The entry.
    pub kind: K,
}

/// Kinds of entries.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::large_enum_variant)] // both have about the same size, and entries are few
pub enum LogKind {
    /// Something happened in the dataplane.
    Event(Event),
    /// Report of the control plane.
    Report(Report),
}

#[derive(Debug)]
pub(super) struct Log<K = LogKind> {
    entries: Vec<LogEntry<K>>,
    capacity: usize,
    overflow: u64,
}

impl<K> Log<K> {
    pub(super) const fn new(capacity: usize) -> Self {
        Self {
            entries: Vec::new(),
            capacity,
            overflow: 0,
        }
    }

    /// Adds an entry after those of the same time and the same or a lower switch. If there is no room, the last one is
    /// dropped, so the first ones remain regardless of the order of switches. O(entries of the last
    /// microseconds).
    pub(super) fn add(&mut self, at: Instant, switch: usize, kind: K) {
        let switch = switch as u32;
        let is_before = |entry: &LogEntry<K>| (entry.at, entry.switch) <= (at, switch);
        let later = self.entries.iter().rev();
        let later = later.take_while(|entry| !is_before(entry)).count();
        let place = self.entries.len() - later;
        if self.entries.len() == self.capacity {
            self.overflow += 1;
            if later == 0 {
                return;
            }
            self.entries.pop();
        }
        self.entries.insert(place, LogEntry { at, switch, kind });
    }

    /// Splits the log: the first part continues with the existing entries.
    pub(super) fn split(self, count: usize) -> Vec<Self> {
        let mut parts = vec![self];
        let capacity = parts[0].capacity;
        parts.resize_with(count, || Self::new(capacity));
        parts
    }

    /// Joins the parts: the result is the same as that of one log.
    pub(super) fn join(parts: Vec<Self>) -> Self {
        let mut whole = Self::new(parts.first().map_or(0, |part| part.capacity));
        for part in parts {
            whole.overflow += part.overflow;
            whole.entries.extend(part.entries);
        }
        // Stable: a switch's entries are in one part, in their order.
        whole.entries.sort_by_key(|entry| (entry.at, entry.switch));
        let over = whole.entries.len().saturating_sub(whole.capacity);
        whole.overflow += over as u64;
        whole.entries.truncate(whole.capacity);
        whole
    }

    pub(super) fn entries(&self) -> &[LogEntry<K>] {
        &self.entries
    }

    pub(super) const fn overflow(&self) -> u64 {
        self.overflow
    }
}
