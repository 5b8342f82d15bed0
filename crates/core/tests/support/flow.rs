//! Counters of a flow's two ends.

use weir_core::{Duration, Instant};

pub struct Flow {
    pub sent: u64,
    pub received: u64,
    pub reordered: u64,
    /// Time since which its frames have been in flight without an arrival.
    standing_since: Option<Instant>,
    longest_standstill: Duration,
    expected: u64,
}

impl Flow {
    pub fn new() -> Self {
        Self {
            sent: 0,
            received: 0,
            reordered: 0,
            standing_since: None,
            longest_standstill: Duration::ZERO,
            expected: 0,
        }
    }

    pub fn note_sent(&mut self, now: Instant) {
        self.sent += 1;
        self.standing_since.get_or_insert(now);
    }

    pub fn note_arrival(&mut self, now: Instant, sequence: u64) {
        self.received += 1;
        self.reordered += u64::from(sequence != self.expected);
        self.expected = sequence + 1;
        self.longest_standstill = self.longest_standstill(now);
        self.standing_since = (self.sent > self.received).then_some(now);
    }

    /// The longest time without an arrival while frames were in flight.
    pub fn longest_standstill(&self, now: Instant) -> Duration {
        let open = self.standing_since.map(|since| now.saturating_since(since));
        self.longest_standstill.max(open.unwrap_or(Duration::ZERO))
    }
}
