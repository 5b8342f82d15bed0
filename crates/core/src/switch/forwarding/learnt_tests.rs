use super::*;

const PORTS: usize = 4;
/// Ports to switches without a limit.
const SWITCHES: PortRule = PortRule {
    is_edge: false,
    limit: u32::MAX,
    is_up: true,
};

fn table() -> LearntTable {
    LearntTable::with(8, Duration::from_secs(300), None, vec![SWITCHES; PORTS])
}

#[test]
fn an_address_that_moves_too_often_is_reported_once_per_span() {
    let moves = MoveConfig {
        count: 4,
        within: Duration::from_secs(1),
        proves: true,
    };
    let mut table = LearntTable::with(
        8,
        Duration::from_secs(300),
        Some(moves),
        vec![SWITCHES; PORTS],
    );
    let mut told = |at: Duration, step: Duration, count: u32| {
        let mut now = Instant::ZERO + at;
        let mut times = 0;
        for number in 0..count {
            let moved = table.note(now, 42, PortId::new((number % 2) as u8));
            times += u32::from(matches!(moved, Some(Noted::Moved(moved)) if moved.is_too_often));
            now = now + step;
        }
        times
    };
    // One move every 400 ms: three in any second.
    assert_eq!(
        told(Duration::from_secs(1), Duration::from_millis(400), 40),
        0
    );
    assert_eq!(
        told(Duration::from_secs(60), Duration::from_millis(1), 5),
        1
    );
    // Frames on any port, once a second.
    assert_eq!(
        told(Duration::from_secs(90), Duration::from_micros(10), 100_000),
        1
    );
    // The counter of milliseconds wraps: five moves in each of two seconds.
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
fn is_bounded_whatever_arrives() {
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

#[test]
fn a_port_with_many_addresses_yields_entries_to_one_with_few() {
    let mut table = LearntTable::with(64, Duration::from_secs(300), None, vec![SWITCHES; PORTS]);
    let (few, many) = (PortId::new(1), PortId::new(2));
    for address in 0..8 {
        table.note(Instant::from_nanos(address), address, few);
    }
    let mut told = 0;
    for address in 1_000..11_000u64 {
        let noted = table.note(Instant::from_nanos(address), address, many);
        told += u64::from(noted == Some(Noted::Crowded { is_news: true }));
    }
    let now = Instant::from_nanos(11_000);
    for address in 0..8 {
        assert_eq!(table.find(now, address), Some(few), "{address}");
    }
    assert_eq!(table.count_at(few), 8);
    assert!(table.count_at(many) > 8 && table.len() <= 64);
    assert_eq!(told, 1, "once in a minute");
}

fn hosts(limit: u32) -> LearntTable {
    let is_edge = true;
    let rule = PortRule {
        is_edge,
        limit,
        is_up: true,
    };
    let rules = vec![rule; PORTS];
    LearntTable::with(1 << 12, Duration::from_secs(300), None, rules)
}

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(10_000 + millis)
}

#[test]
fn a_host_cannot_take_an_address_just_seen_elsewhere() {
    let (own, thief, third) = (PortId::new(0), PortId::new(1), PortId::new(2));
    let mut table = hosts(100);
    table.note(at(0), 42, own);
    for millis in [1, 500, 999] {
        let noted = table.note(at(millis), 42, thief);
        assert!(matches!(noted, Some(Noted::Kept(moved)) if moved.from == own));
        assert_eq!(table.find(at(millis), 42), Some(own));
    }
    // Attempts by other ports do not renew the entry: a host that has moved is found a second after its last frame.
    let noted = table.note(at(1_000), 42, thief);
    assert!(matches!(noted, Some(Noted::Moved(moved)) if moved.from == own));
    // The owner is back at once; a third port is not accepted.
    assert!(matches!(
        table.note(at(1_100), 42, third),
        Some(Noted::Kept(_))
    ));
    assert!(matches!(
        table.note(at(1_200), 42, own),
        Some(Noted::Moved(_))
    ));
    assert!(matches!(
        table.note(at(1_300), 42, thief),
        Some(Noted::Kept(_))
    ));
    // A port to a switch does not take it either; between two such ports addresses move as paths change.
    table.rules[thief.index()].is_edge = false;
    let noted = table.note(at(1_400), 42, thief);
    assert!(matches!(noted, Some(Noted::Kept(_))));
    table.rules[own.index()].is_edge = false;
    let noted = table.note(at(1_500), 42, thief);
    assert!(matches!(noted, Some(Noted::Moved(_))));
}

/// The home of an address that has been at a port for two ages is there.
#[test]
fn a_moved_address_stays_at_its_new_port() {
    let (old, new) = (PortId::new(0), PortId::new(1));
    for (seconds, is_home) in [(400, false), (700, true)] {
        let mut table = hosts(100);
        table.note(at(0), 42, old);
        table.note(at(1_000), 42, new);
        let mut now = at(1_000);
        for _ in 0..seconds {
            now = now + Duration::from_secs(1);
            table.sweep(now);
            assert_eq!(table.note(now, 42, new), None);
        }
        let noted = table.note(now + Duration::from_millis(1), 42, old);
        assert_eq!(matches!(noted, Some(Noted::Kept(_))), is_home, "{noted:?}");
    }
}

#[test]
fn a_host_with_too_many_addresses_evicts_none_of_others() {
    let (other, many) = (PortId::new(0), PortId::new(1));
    let mut table = hosts(256);
    for address in 0..200 {
        table.note(at(0), address, other);
    }
    let mut told = 0;
    let mut refused = 0;
    for address in 10_000..16_000u64 {
        if let Some(Noted::Limited { is_news }) = table.note(at(address % 700), address, many) {
            refused += 1;
            told += u64::from(is_news);
        }
    }
    assert_eq!((table.count_at(many), refused, told), (256, 6_000 - 256, 1));
    let known = (0..200).filter(|address| table.find(at(700), *address) == Some(other));
    assert_eq!(known.count(), 200);
    // Addresses of other ports count as well: it does not take over what it may not learn.
    let noted = table.note(at(5_000), 7, many);
    assert!(matches!(noted, Some(Noted::Limited { .. })));
}

struct Slow {
    /// Address, when it was seen, and where.
    known: Vec<(u64, Instant, PortId)>,
    age: Duration,
}

impl Slow {
    fn fresh(&self, now: Instant) -> Vec<(u64, PortId, Instant)> {
        let known = self.known.iter();
        let fresh = known.filter(|(_, seen, _)| now.saturating_since(*seen) < self.age);
        let mut fresh: Vec<_> = fresh.map(|(it, seen, port)| (*it, *port, *seen)).collect();
        fresh.sort_unstable();
        fresh
    }

    /// `is_there`: the table has the address, possibly expired. `of_set` returns the addresses of its set, and `counts`
    /// the number of addresses of each port in the table.
    fn note(
        &mut self,
        now: Instant,
        (address, port): (u64, PortId),
        is_there: bool,
        of_set: impl Fn(u64) -> bool,
        counts: &[u32],
    ) {
        let age = self.age;
        let fresh = self.fresh(now);
        let is_fresh = |seen: &Instant| now.saturating_since(*seen) < age;
        self.known
            .retain(|(it, seen, _)| is_fresh(seen) || *it == address && is_there);
        if let Some(known) = self.known.iter_mut().find(|(it, ..)| *it == address) {
            *known = (address, now, port);
            return;
        }
        let in_set: Vec<_> = fresh.iter().filter(|(it, ..)| of_set(*it)).collect();
        if in_set.len() == WAYS {
            let count = |port: PortId| counts[port.index()];
            let most = in_set.iter().map(|(_, it, _)| count(*it)).max().unwrap();
            if most < count(port) {
                return;
            }
            let of_most = in_set.iter().filter(|(_, it, _)| count(*it) == most);
            let oldest = of_most.map(|(it, _, seen)| (*seen, *it)).min().unwrap();
            self.known.retain(|(it, ..)| *it != oldest.1);
        }
        self.known.push((address, now, port));
    }
}

fn check(table: &LearntTable, slow: &Slow, now: Instant) {
    let mut known: Vec<_> = table.iter(now).collect();
    known.sort_unstable();
    assert_eq!(known, slow.fresh(now));
    for port in 0..PORTS {
        let entries = table.sets.iter().flatten().flatten();
        let count = entries.filter(|entry| entry.port.index() == port).count();
        let port = PortId::new(port as u8);
        assert_eq!(table.count_at(port) as usize, count, "{port}");
    }
}

#[test]
fn counts_forgetting_and_sweeps_equal_a_slow_model() {
    let age = Duration::from_millis(40);
    for seed in 0..200 {
        let mut random = crate::random::SplitMix64::new(seed);
        let mut table = LearntTable::with(32, age, None, vec![SWITCHES; PORTS]);
        let mut slow = Slow {
            known: Vec::new(),
            age,
        };
        let mut now = Instant::ZERO + Duration::from_secs(1);
        for _ in 0..300 {
            // No two addresses are seen at the same time, so the oldest one is unambiguous.
            now = now + Duration::from_nanos(1 + random.next_u64() % 400_000);
            while table.next_sweep() <= now {
                let due = table.next_sweep();
                table.sweep(due);
                check(&table, &slow, due);
            }
            let port = PortId::new((random.next_u64() % PORTS as u64) as u8);
            let vlan = random.next_u64() % 3;
            match random.next_u64() % 20 {
                0 => {
                    let job = Forget {
                        port: (!random.next_u64().is_multiple_of(3)).then_some(port),
                        vlan: (!random.next_u64().is_multiple_of(2))
                            .then(|| crate::VlanId::new(vlan as u16))
                            .flatten(),
                        at: now,
                    };
                    assert!(table.forget(now, job));
                    slow.known.retain(|(address, _, at)| {
                        let of_port = job.port.is_none_or(|port| port == *at);
                        let of_vlan = job
                            .vlan
                            .is_none_or(|it| u64::from(it.get()) == address >> 48);
                        !(of_port && of_vlan)
                    });
                }
                _ => {
                    let address = (vlan << 48) | (random.next_u64() % 40);
                    let set = table.set_index(address);
                    let counts = table.counts.clone();
                    let is_it = |entry: &Learnt| entry.address == address;
                    let is_there = table.sets.iter().flatten().flatten().any(is_it);
                    let of_set = |it| table.set_index(it) == set;
                    slow.note(now, (address, port), is_there, of_set, &counts);
                    table.note(now, address, port);
                }
            }
            check(&table, &slow, now);
        }
        // Without further frames everything is forgotten, and nothing is due.
        while table.next_sweep() != Instant::FAR_FUTURE {
            let due = table.next_sweep();
            assert!(due <= now + age.saturating_mul(2), "swept in time");
            table.sweep(due);
        }
        assert_eq!(table.len(), 0);
    }
}

#[test]
fn a_large_table_is_swept_in_steps_and_new_addresses_stay() {
    let mut table = LearntTable::with(
        1 << 14,
        Duration::from_secs(300),
        None,
        vec![SWITCHES; PORTS],
    );
    let (here, there) = (PortId::new(1), PortId::new(2));
    let mut now = Instant::ZERO + Duration::from_secs(1);
    for address in 0..2_000 {
        table.note(now, address, if address % 2 == 0 { here } else { there });
    }
    let job = Forget {
        port: Some(here),
        vlan: None,
        at: now,
    };
    assert!(table.forget(now, job));
    assert!(table.count_at(here) > 0, "one step is not enough");
    now = now + Duration::from_nanos(1);
    table.note(now, 0, here);
    let mut steps = 0;
    while table.next_sweep() <= now {
        table.sweep(now);
        steps += 1;
    }
    assert_eq!(steps, 3, "4,096 sets, 1,024 at a time, the first at once");
    assert_eq!((table.count_at(here), table.count_at(there)), (1, 1_000));
    assert_eq!(table.find(now, 0), Some(here));
}
