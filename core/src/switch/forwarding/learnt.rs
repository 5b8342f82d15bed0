//! Where addresses without a static entry are: learnt from the frames that they send.

use crate::units::{Duration, Instant, PortId};

/// Ways of one set in [`LearntTable`]: how many addresses with one hash can be known at a time.
const WAYS: usize = 4;

#[derive(Clone, Copy, Debug)]
struct Learnt {
    address: u64,
    port: PortId,
    seen_at: Instant,
}

/// A set-associative table: bounded memory, O(1), and an address nobody hears of makes room for a
/// newer one. A forgotten address costs a flood, never a loss.
#[derive(Debug)]
#[cfg_attr(feature = "testing", derive(Clone))]
pub(super) struct LearntTable {
    sets: Vec<[Option<Learnt>; WAYS]>,
    age: Duration,
}

impl LearntTable {
    pub(super) fn new(capacity: usize, age: Duration) -> Self {
        let set_count = if capacity == 0 {
            0
        } else {
            capacity.div_ceil(WAYS).next_power_of_two()
        };
        Self {
            sets: vec![[None; WAYS]; set_count],
            age,
        }
    }

    pub(super) fn is_on(&self) -> bool {
        !self.sets.is_empty()
    }

    fn set_index(&self, address: u64) -> usize {
        crate::random::mix(address) as usize & (self.sets.len().max(1) - 1)
    }

    fn is_fresh(&self, now: Instant, entry: &Learnt) -> bool {
        now.saturating_since(entry.seen_at) < self.age
    }

    pub(super) fn find(&self, now: Instant, address: u64) -> Option<PortId> {
        self.sets
            .get(self.set_index(address))?
            .iter()
            .flatten()
            .find(|entry| entry.address == address && self.is_fresh(now, entry))
            .map(|entry| entry.port)
    }

    /// All that is fresh: address, port, and when it was noted. O(capacity).
    pub(super) fn iter(&self, now: Instant) -> impl Iterator<Item = (u64, PortId, Instant)> + '_ {
        let entries = self.sets.iter().flatten().flatten();
        entries
            .filter(move |entry| self.is_fresh(now, entry))
            .map(|entry| (entry.address, entry.port, entry.seen_at))
    }

    pub(super) fn note(&mut self, now: Instant, address: u64, port: PortId) {
        let index = self.set_index(address);
        let Some(set) = self.sets.get_mut(index) else {
            return;
        };
        let place = set
            .iter()
            .position(|way| way.is_some_and(|entry| entry.address == address))
            .or_else(|| set.iter().position(Option::is_none))
            .or_else(|| {
                (0..WAYS).min_by_key(|way| set[*way].map_or(Instant::ZERO, |entry| entry.seen_at))
            });
        if let Some(way) = place {
            set[way] = Some(Learnt {
                address,
                port,
                seen_at: now,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> LearntTable {
        LearntTable::new(8, Duration::from_secs(300))
    }

    #[test]
    fn learns_moves_and_forgets() {
        let mut table = table();
        let (one, two) = (PortId::new(1), PortId::new(2));
        table.note(Instant::ZERO, 42, one);
        assert_eq!(table.find(Instant::ZERO, 42), Some(one));
        table.note(Instant::ZERO, 42, two);
        assert_eq!(table.find(Instant::ZERO, 42), Some(two));
        let later = Instant::ZERO + Duration::from_secs(300);
        assert_eq!(table.find(later, 42), None);
    }

    #[test]
    fn is_bounded_whatever_comes_in() {
        let mut table = table();
        for address in 0..10_000u64 {
            table.note(Instant::from_nanos(address), address, PortId::new(0));
        }
        let known = table.sets.iter().flatten().flatten().count();
        assert_eq!(known, 8);
        assert_eq!(
            table.find(Instant::from_nanos(10_000), 9_999),
            Some(PortId::new(0)),
            "the newest is known"
        );
    }
}
