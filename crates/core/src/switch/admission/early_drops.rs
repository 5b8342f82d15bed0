//! Single drops that make a policed host slow down before its buffer is full.

use crate::units::Bytes;

const FRAMES_BETWEEN: u64 = 8;

/// A host's TCP that loses one frame of a round trip slows down and resends that frame; one that fills a buffer
/// completely loses a whole burst. Above a threshold, one frame is dropped whenever as much has been admitted as there
/// was room left at the last drop: more often as the buffer fills.
#[derive(Clone, Debug)]
pub(super) struct EarlyDrops {
    from: Bytes,
    /// Bytes still admitted before the next drop.
    credit: Bytes,
}

impl EarlyDrops {
    pub(super) fn new(from: Bytes, limit: Bytes) -> Self {
        Self {
            from,
            credit: limit.saturating_sub(from),
        }
    }

    pub(super) fn from(&self) -> Bytes {
        self.from
    }

    /// Returns true if a frame of `cells` bytes is dropped at occupancy `found` in a buffer of `limit`.
    pub(super) fn drops(&mut self, found: Bytes, cells: Bytes, limit: Bytes) -> bool {
        if found < self.from {
            return false;
        }
        let is_due = self.credit < cells;
        self.credit = if is_due {
            let least = Bytes::new(cells.get().saturating_mul(FRAMES_BETWEEN));
            limit.saturating_sub(found).max(least)
        } else {
            self.credit - cells
        };
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the numbers of 1,000 B frames admitted between drops while the occupancy stays at `found`.
    fn between_drops(found: u64) -> Vec<usize> {
        let [from, limit] = [60_000, 160_000].map(Bytes::new);
        let mut drops = EarlyDrops::new(from, limit);
        let outcomes: Vec<bool> = (0..1000)
            .map(|_| drops.drops(Bytes::new(found), Bytes::new(1000), limit))
            .collect();
        let spans = outcomes.split(|dropped| *dropped);
        let mut spans: Vec<usize> = spans.map(<[bool]>::len).collect();
        spans.pop();
        spans
    }

    #[test]
    fn none_below_the_threshold() {
        assert_eq!(between_drops(59_999), []);
    }

    #[test]
    fn the_less_room_the_more_drops() {
        assert_eq!(between_drops(60_000), [100; 9]);
        let later = between_drops(140_000);
        assert_eq!(later[0], 100, "first as much as there is room");
        assert!(later[1..].iter().all(|span| *span == 20), "{later:?}");
        let last = between_drops(160_000);
        assert!(last[1..].iter().all(|span| *span == 8), "{last:?}");
    }
}
