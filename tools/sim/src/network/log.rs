//! What switches and their control planes have told, in the order of time.

use weir_core::control::Report;
use weir_core::{Event, Instant};

/// One line of the log.
#[derive(Clone, Copy, Debug)]
pub struct LogEntry<K = LogKind> {
    /// When.
    pub at: Instant,
    /// The switch.
    pub switch: u32,
    /// What it told.
    pub kind: K,
}

/// What was told.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::large_enum_variant)] // both are about as large, and entries are few
pub enum LogKind {
    /// Something happened in the dataplane.
    Event(Event),
    /// The control plane did something.
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

    /// Adds an entry behind those of its moment that switches of the same or a lower number have added. When there is no
    /// room the last one goes, so that the first ones stay in whatever order switches have their turns. O(entries of the
    /// last microseconds).
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

    /// Parts: the first one goes on with what is there.
    pub(super) fn split(self, count: usize) -> Vec<Self> {
        let mut parts = vec![self];
        let capacity = parts[0].capacity;
        parts.resize_with(count, || Self::new(capacity));
        parts
    }

    /// The whole again: what one log would have kept of the entries of all.
    pub(super) fn join(parts: Vec<Self>) -> Self {
        let mut whole = Self::new(parts.first().map_or(0, |part| part.capacity));
        for part in parts {
            whole.overflow += part.overflow;
            whole.entries.extend(part.entries);
        }
        // Stable: the entries of a switch are of one part, in their order.
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
