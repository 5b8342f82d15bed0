//! What switches and their control planes have told, in the order of time.

use weir_core::control::Report;
use weir_core::{Event, Instant};

/// One line of the log.
#[derive(Clone, Copy, Debug)]
pub struct LogEntry {
    /// When.
    pub at: Instant,
    /// The switch.
    pub switch: u32,
    /// What it told.
    pub kind: LogKind,
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
pub(super) struct Log {
    entries: Vec<LogEntry>,
    capacity: usize,
    overflow: u64,
}

impl Log {
    pub(super) const fn new(capacity: usize) -> Self {
        Self {
            entries: Vec::new(),
            capacity,
            overflow: 0,
        }
    }

    /// Adds an entry behind those of its moment that switches of the same or a lower number have added.
    /// O(entries of the last microseconds).
    pub(super) fn add(&mut self, at: Instant, switch: usize, kind: LogKind) {
        if self.entries.len() < self.capacity {
            let switch = switch as u32;
            let is_before = |entry: &LogEntry| (entry.at, entry.switch) <= (at, switch);
            let later = self.entries.iter().rev();
            let later = later.take_while(|entry| !is_before(entry)).count();
            let place = self.entries.len() - later;
            self.entries.insert(place, LogEntry { at, switch, kind });
        } else {
            self.overflow += 1;
        }
    }

    pub(super) fn entries(&self) -> &[LogEntry] {
        &self.entries
    }

    pub(super) const fn overflow(&self) -> u64 {
        self.overflow
    }
}
