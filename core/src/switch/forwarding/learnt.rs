//! Where addresses without a static entry are: learnt from the frames that they send.

use crate::config::{MoveConfig, SwitchConfig};
use crate::units::{Duration, Instant, PortId};

/// Ways of one set in [`LearntTable`]: how many addresses with one hash can be known at a time.
const WAYS: usize = 4;

#[derive(Clone, Copy, Debug)]
struct Learnt {
    address: u64,
    seen_at: Instant,
    port: PortId,
    /// How often it has moved since `moves_since`.
    moves: u16,
    /// In milliseconds, modulo 2³²: what is so old is over in any case, as long as it is asked once in 49 days.
    moves_since: u32,
}

/// An address is behind another port than before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::switch) struct Moved {
    pub(in crate::switch) from: PortId,
    /// It has moved as often as a station does not: said once in each span of [`MoveConfig::within`].
    pub(in crate::switch) is_too_often: bool,
}

fn milliseconds(now: Instant) -> u32 {
    (now.as_nanos() / 1_000_000) as u32
}

/// A set-associative table: bounded memory, O(1), and an address nobody hears of makes room for a
/// newer one. A forgotten address costs a flood, never a loss.
#[derive(Debug)]
#[cfg_attr(feature = "testing", derive(Clone))]
pub(super) struct LearntTable {
    sets: Vec<[Option<Learnt>; WAYS]>,
    age: Duration,
    moves: Option<MoveConfig>,
}

impl LearntTable {
    pub(super) fn new(config: &SwitchConfig) -> Self {
        let moves = config.loops.and_then(|loops| loops.moves);
        Self::with(config.learning_capacity, config.learning_age, moves)
    }

    pub(super) fn with(capacity: usize, age: Duration, moves: Option<MoveConfig>) -> Self {
        let set_count = if capacity == 0 {
            0
        } else {
            capacity.div_ceil(WAYS).next_power_of_two()
        };
        Self {
            sets: vec![[None; WAYS]; set_count],
            age,
            moves,
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

    /// The address is behind `port` now. O(1).
    pub(super) fn note(&mut self, now: Instant, address: u64, port: PortId) -> Option<Moved> {
        let index = self.set_index(address);
        let set = self.sets.get_mut(index)?;
        let known = set
            .iter_mut()
            .flatten()
            .find(|entry| entry.address == address);
        if let Some(entry) = known {
            entry.seen_at = now;
            let from = core::mem::replace(&mut entry.port, port);
            return (from != port).then(|| Moved {
                from,
                is_too_often: Self::count_move(self.moves.as_ref(), now, entry),
            });
        }
        let place = set.iter().position(Option::is_none).or_else(|| {
            (0..WAYS).min_by_key(|way| set[*way].map_or(Instant::ZERO, |entry| entry.seen_at))
        });
        if let Some(way) = place {
            set[way] = Some(Learnt {
                address,
                seen_at: now,
                port,
                moves: 0,
                moves_since: milliseconds(now),
            });
        }
        None
    }

    #[cold]
    fn count_move(config: Option<&MoveConfig>, now: Instant, entry: &mut Learnt) -> bool {
        let Some(config) = config else {
            return false;
        };
        let now = milliseconds(now);
        let within = config.within.as_nanos() / 1_000_000;
        if u64::from(now.wrapping_sub(entry.moves_since)) >= within {
            entry.moves_since = now;
            entry.moves = 0;
        }
        entry.moves = entry.moves.saturating_add(1);
        entry.moves == config.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> LearntTable {
        LearntTable::with(8, Duration::from_secs(300), None)
    }

    #[test]
    fn an_address_that_moves_too_often_is_told_once_in_each_span() {
        let moves = MoveConfig {
            count: 4,
            within: Duration::from_secs(1),
            proves: true,
        };
        let mut table = LearntTable::with(8, Duration::from_secs(300), Some(moves));
        let mut told = |at: Duration, step: Duration, count: u32| {
            let mut now = Instant::ZERO + at;
            let mut times = 0;
            for number in 0..count {
                let moved = table.note(now, 42, PortId::new((number % 2) as u8));
                times += u32::from(moved.is_some_and(|moved| moved.is_too_often));
                now = now + step;
            }
            times
        };
        // A move in each 400 ms: three in any second.
        assert_eq!(
            told(Duration::from_secs(1), Duration::from_millis(400), 40),
            0
        );
        assert_eq!(
            told(Duration::from_secs(60), Duration::from_millis(1), 5),
            1
        );
        // Whatever comes in, once a second.
        assert_eq!(
            told(Duration::from_secs(90), Duration::from_micros(10), 100_000),
            1
        );
        // Milliseconds begin again: five moves in each of two seconds.
        let turn = Duration::from_millis(u64::from(u32::MAX) - 500);
        assert_eq!(told(turn, Duration::from_millis(200), 10), 2);
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
