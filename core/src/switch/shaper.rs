//! One port's line: when the next frame may start.

use crate::units::{BitRate, Bytes, Duration, Instant};

/// Preamble and start delimiter (8 B), FCS (4 B) and interpacket gap (12 B): what a frame occupies of
/// the line beside its own bytes (IEEE 802.3 clauses 3 and 4.4.2).
pub const LINE_OVERHEAD: Bytes = Bytes::new(24);

/// A virtual line of fixed rate. Frames go out back to back; a caller that comes late may catch up by
/// at most `burst`, and control frames that go out at once push later frames back.
#[derive(Debug)]
pub(super) struct Shaper {
    rate: BitRate,
    burst: Duration,
    free_at: Instant,
}

impl Shaper {
    /// A line that lets a caller catch up who is late by no more than `burst`.
    pub(super) fn new(rate: BitRate, burst: Duration) -> Self {
        Self {
            rate,
            burst,
            free_at: Instant::ZERO,
        }
    }

    /// When the next frame may start.
    pub(super) fn free_at(&self) -> Instant {
        self.free_at
    }

    /// Books a frame of `length` that starts at `now`.
    pub(super) fn book(&mut self, now: Instant, length: Bytes) {
        let earliest = Instant::from_nanos(now.as_nanos().saturating_sub(self.burst.as_nanos()));
        self.free_at = self.free_at.max(earliest) + self.rate.time_for(length + LINE_OVERHEAD);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_line_carries_its_rate() {
        let mut shaper = Shaper::new(BitRate::from_mbit(100), Duration::ZERO);
        let mut now = Instant::from_nanos(1_000_000);
        let start = now;
        for _ in 0..1000 {
            shaper.book(now, Bytes::new(1476));
            now = shaper.free_at();
        }
        assert_eq!(
            now.saturating_since(start),
            Duration::from_micros(120).saturating_mul(1000)
        );
    }

    #[test]
    fn a_late_caller_catches_up_by_the_burst_only() {
        let mut shaper = Shaper::new(BitRate::from_mbit(100), Duration::from_micros(240));
        let now = Instant::ZERO + Duration::from_secs(1);
        let mut back_to_back = 0;
        while shaper.free_at() <= now {
            shaper.book(now, Bytes::new(1476));
            back_to_back += 1;
        }
        assert_eq!(
            back_to_back, 3,
            "3000 B of credit and the frame in its own time"
        );
    }
}
