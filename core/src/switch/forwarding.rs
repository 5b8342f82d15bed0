//! Where a destination is: static entries first, learnt ones where learning is on.

use crate::config::{RouteConfig, SwitchConfig};
use crate::units::{Duration, Instant, MacAddress, PortId};

/// What to do with a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// Send it by this port.
    Port(PortId),
    /// Send it by all ports but the one it came in by.
    Flood,
    /// Nobody knows, and nobody may ask.
    NoRoute,
}

/// Static entries, sorted by address: a lookup is O(log entries), the table never changes while
/// traffic runs. An entry is a group of ports; the flow hash picks one, so a flow stays on its port.
#[derive(Debug)]
pub(super) struct Forwarding {
    routes: Vec<(u64, Vec<PortId>)>,
    learnt: LearntTable,
}

impl Forwarding {
    pub(super) fn new(config: &SwitchConfig) -> Self {
        let mut routes: Vec<_> = config
            .routes
            .iter()
            .map(|RouteConfig { destination, ports }| (destination.to_u64(), ports.clone()))
            .collect();
        routes.sort_unstable_by_key(|(address, _)| *address);
        Self {
            routes,
            learnt: LearntTable::new(config.learning_capacity, config.learning_age),
        }
    }

    pub(super) fn learns(&self) -> bool {
        self.learnt.is_on()
    }

    /// Where to send a frame to `destination`.
    pub(super) fn decide(&self, now: Instant, destination: MacAddress, flow_hash: u32) -> Decision {
        let address = destination.to_u64();
        if let Ok(index) = self
            .routes
            .binary_search_by_key(&address, |(known, _)| *known)
        {
            let group = &self.routes[index].1;
            return group
                .get(flow_hash as usize % group.len().max(1))
                .map_or(Decision::NoRoute, |port| Decision::Port(*port));
        }
        if !self.learns() {
            return Decision::NoRoute;
        }
        if destination.is_group() {
            return Decision::Flood;
        }
        self.learnt
            .find(now, address)
            .map_or(Decision::Flood, Decision::Port)
    }

    /// Notes that `source` is behind `port`. Addresses with a static entry are not learnt.
    pub(super) fn learn(&mut self, now: Instant, source: MacAddress, port: PortId) {
        if !self.learns() || source.is_group() {
            return;
        }
        let address = source.to_u64();
        if self
            .routes
            .binary_search_by_key(&address, |(known, _)| *known)
            .is_err()
        {
            self.learnt.note(now, address, port);
        }
    }
}

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
struct LearntTable {
    sets: Vec<[Option<Learnt>; WAYS]>,
    age: Duration,
}

impl LearntTable {
    fn new(capacity: usize, age: Duration) -> Self {
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

    fn is_on(&self) -> bool {
        !self.sets.is_empty()
    }

    fn set_index(&self, address: u64) -> usize {
        super::hash::mix(address) as usize & (self.sets.len().max(1) - 1)
    }

    fn is_fresh(&self, now: Instant, entry: &Learnt) -> bool {
        now.saturating_since(entry.seen_at) < self.age
    }

    fn find(&self, now: Instant, address: u64) -> Option<PortId> {
        self.sets
            .get(self.set_index(address))?
            .iter()
            .flatten()
            .find(|entry| entry.address == address && self.is_fresh(now, entry))
            .map(|entry| entry.port)
    }

    fn note(&mut self, now: Instant, address: u64, port: PortId) {
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
