//! Groups, buckets and pins compared with a model that keeps them in maps.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::units::Duration;

const NOW: Instant = Instant::ZERO;

fn forwarding(spare_routes: usize, spare_buckets: usize, pins: usize) -> Forwarding {
    Forwarding {
        routes: Vec::with_capacity(spare_routes),
        index: RouteIndex::new(spare_routes),
        route_capacity: spare_routes,
        groups: Groups::new(spare_routes, spare_buckets),
        pins: Pins::new(pins),
        learnt: LearntTable::with(0, Duration::ZERO, None, Vec::new()),
        blocked: Blocked::default(),
        tree: None,
        version: 0,
    }
}

fn mac(number: u8) -> MacAddress {
    MacAddress([2, 0, 0, 0, 0, number])
}

fn port(number: u8) -> PortId {
    PortId::new(number)
}

fn ports(numbers: &[u8]) -> PortSet {
    numbers.iter().copied().map(PortId::new).collect()
}

#[test]
fn buckets_are_dealt_round_the_members_and_moved_one_at_a_time() {
    let mut table = forwarding(1, 8, 0);
    table.set_route(mac(1), ports(&[3, 5, 9]), 7).unwrap();
    let dealt = |table: &Forwarding| {
        let entry = table.routes().next().unwrap();
        entry
            .buckets
            .iter()
            .map(|port| port.get())
            .collect::<Vec<_>>()
    };
    assert_eq!(dealt(&table), [3, 5, 9, 3, 5, 9, 3]);
    table.move_bucket(mac(1), 4, port(9)).unwrap();
    assert_eq!(dealt(&table), [3, 5, 9, 3, 9, 9, 3]);
    assert_eq!(table.decide(NOW, mac(1), 11), Decision::Port(port(9)));
    assert_eq!(table.decide(NOW, mac(1), 12), Decision::Port(port(9)));
    assert_eq!(table.decide(NOW, mac(1), 13), Decision::Port(port(3)));
}

#[test]
fn impossible_moves_are_refused_and_change_nothing() {
    let mut table = forwarding(2, 10, 1);
    table.set_route(mac(1), ports(&[1, 2]), 8).unwrap();
    table.set_route(mac(2), ports(&[3]), 64).unwrap();
    table.pin(NOW, mac(1), 77, port(2)).unwrap();
    let before = format!("{table:?}");
    let destination = mac(1);
    let refusals = [
        (
            table.set_route(mac(3), ports(&[1]), 1),
            CommandError::RoutesFull(2),
        ),
        (
            table.set_route(mac(2), ports(&[1, 2]), 3),
            CommandError::BucketsFull {
                wanted: 3,
                free: 2,
                capacity: 10,
            },
        ),
        (
            table.set_route(mac(1), ports(&[1, 2]), 11),
            CommandError::BucketsFull {
                wanted: 11,
                free: 10,
                capacity: 10,
            },
        ),
        (
            table.set_route(mac(1), PortSet::EMPTY, 8),
            CommandError::NoMembers(mac(1)),
        ),
        (
            table.set_route(mac(1), ports(&[1, 2, 3]), 2),
            CommandError::BucketCount {
                buckets: 2,
                members: 3,
            },
        ),
        (
            table.set_route(mac(1), ports(&[1, 2]), 4097),
            CommandError::BucketCount {
                buckets: 4097,
                members: 2,
            },
        ),
        (
            table.remove_route(mac(9)),
            CommandError::NoSuchRoute(mac(9)),
        ),
        (
            table.move_bucket(destination, 8, port(1)),
            CommandError::NoSuchBucket {
                destination,
                bucket: 8,
                buckets: 8,
            },
        ),
        (
            table.move_bucket(destination, 0, port(3)),
            CommandError::NotAMember {
                destination,
                port: port(3),
            },
        ),
        (
            table.move_bucket(mac(2), 0, port(3)),
            CommandError::SingleMember(mac(2)),
        ),
        (
            table.pin(NOW, destination, 78, port(1)),
            CommandError::PinsFull(1),
        ),
        (
            table.pin(NOW, destination, 77, port(9)),
            CommandError::NotAMember {
                destination,
                port: port(9),
            },
        ),
        (
            table.unpin(destination, 78),
            CommandError::NotPinned {
                destination,
                flow_hash: 78,
            },
        ),
        (table.unpin(mac(9), 77), CommandError::NoSuchRoute(mac(9))),
    ];
    for (outcome, expected) in refusals {
        assert_eq!(outcome, Err(expected));
    }
    assert_eq!(format!("{table:?}"), before);
}

#[test]
fn only_an_idle_pin_of_a_reroute_is_evicted() {
    let mut table = forwarding(1, 8, 2);
    table.set_route(mac(1), ports(&[1, 2]), 8).unwrap();
    let group = table.group_of(mac(1)).unwrap();
    let at = |nanos| Instant::from_nanos(nanos);
    table.pin(at(0), mac(1), 1, port(2)).unwrap();
    table.repin(at(0), group, 2, port(1), at(0)).unwrap();
    assert_eq!(table.decide(at(50), mac(1), 2), Decision::Port(port(1)));
    let full = Err(CommandError::PinsFull(2));
    assert_eq!(table.repin(at(100), group, 3, port(2), at(49)), full);
    assert_eq!(table.repin(at(100), group, 3, port(2), at(50)), Ok(()));
    let pinned: Vec<u32> = {
        let mut all: Vec<u32> = table.pins().map(|pin| pin.flow_hash).collect();
        all.sort_unstable();
        all
    };
    assert_eq!(pinned, [1, 3]);
    assert_eq!(table.routes().next().unwrap().pins, 2);
}

#[test]
fn groups_of_the_same_members_share_their_buckets_until_one_is_moved() {
    let mut table = forwarding(8, 32, 1);
    for destination in 1..=3 {
        table
            .set_route(mac(destination), ports(&[1, 2]), 8)
            .unwrap();
    }
    table.set_route(mac(4), ports(&[1, 3]), 4).unwrap();
    assert_eq!(table.groups.dealt_bucket_count(), 12);
    // The capacity is that without sharing.
    let full = CommandError::BucketsFull {
        wanted: 5,
        free: 4,
        capacity: 32,
    };
    assert_eq!(table.set_route(mac(5), ports(&[1, 2]), 5), Err(full));
    table.move_bucket(mac(2), 0, port(2)).unwrap();
    assert_eq!(table.groups.dealt_bucket_count(), 20);
    let first = |table: &mut Forwarding, to| table.decide(NOW, mac(to), 0);
    let by = |number| Decision::Port(port(number));
    assert_eq!([1, 2, 3].map(|to| first(&mut table, to)), [1, 2, 1].map(by));
    // A group whose bucket was moved shares its deal with no other; after a new deal it can share again.
    table.set_route(mac(2), ports(&[1, 2]), 8).unwrap();
    assert_eq!(table.groups.dealt_bucket_count(), 12);
    table.pin(NOW, mac(3), 0, port(2)).unwrap();
    assert_eq!([1, 2, 3].map(|to| first(&mut table, to)), [1, 1, 2].map(by));
    for destination in 1..=3 {
        table.remove_route(mac(destination)).unwrap();
    }
    assert_eq!(table.groups.dealt_bucket_count(), 4);
    assert_eq!(first(&mut table, 4), by(1));
}

#[derive(Clone, Copy, Debug)]
enum Change {
    Set(u8, u8, u16),
    Remove(u8),
    Move(u8, u16, u8),
    Pin(u8, u32, u8),
    Unpin(u8, u32),
}

fn change() -> impl Strategy<Value = Change> {
    let mac = 0u8..6;
    prop_oneof![
        (mac.clone(), 0u8..16, 1u16..12).prop_map(|(mac, bits, n)| Change::Set(mac, bits, n)),
        // Often the same members, which then share a deal.
        mac.clone().prop_map(|mac| Change::Set(mac, 0b0111, 6)),
        mac.clone().prop_map(Change::Remove),
        (mac.clone(), 0u16..12, 0u8..4).prop_map(|(mac, n, port)| Change::Move(mac, n, port)),
        (mac.clone(), 0u32..24, 0u8..4).prop_map(|(mac, flow, port)| Change::Pin(mac, flow, port)),
        (mac, 0u32..24).prop_map(|(mac, flow)| Change::Unpin(mac, flow)),
    ]
}

/// A destination in the model: members, buckets (none for a single member), pins.
type Model = BTreeMap<u8, (Vec<u8>, Vec<u8>, BTreeMap<u32, u8>)>;

/// Expected result of a change: true if it succeeds.
fn apply(model: &mut Model, change: Change) -> bool {
    let buckets_of = |model: &Model| -> usize { model.values().map(|(_, b, _)| b.len()).sum() };
    let pins_of = |model: &Model| -> usize { model.values().map(|(_, _, p)| p.len()).sum() };
    match change {
        Change::Set(mac, bits, count) => {
            let members: Vec<u8> = (0..4).filter(|port| bits & (1 << port) != 0).collect();
            let old = model.get(&mac).map_or(0, |(_, buckets, _)| buckets.len());
            let wanted = if members.len() > 1 { count as usize } else { 0 };
            if members.is_empty()
                || members.len() > count as usize
                || buckets_of(model) - old + wanted > 30
                || (!model.contains_key(&mac) && model.len() >= 4)
            {
                return false;
            }
            let buckets = (0..wanted).map(|n| members[n % members.len()]).collect();
            let (_, _, mut pins) = model.remove(&mac).unwrap_or_default();
            pins.retain(|_, port| members.len() > 1 && members.contains(port));
            model.insert(mac, (members, buckets, pins));
            true
        }
        Change::Remove(mac) => model.remove(&mac).is_some(),
        Change::Move(mac, bucket, port) => match model.get_mut(&mac) {
            Some((members, buckets, _))
                if members.contains(&port) && usize::from(bucket) < buckets.len() =>
            {
                buckets[usize::from(bucket)] = port;
                true
            }
            _ => false,
        },
        Change::Pin(mac, flow, port) => {
            let is_full = pins_of(model) >= 5;
            match model.get_mut(&mac) {
                Some((members, buckets, pins))
                    if !buckets.is_empty()
                        && members.contains(&port)
                        && (!is_full || pins.contains_key(&flow)) =>
                {
                    pins.insert(flow, port);
                    true
                }
                _ => false,
            }
        }
        Change::Unpin(mac, flow) => model
            .get_mut(&mac)
            .is_some_and(|(_, _, pins)| pins.remove(&flow).is_some()),
    }
}

proptest! {
    #[test]
    fn every_frame_goes_where_the_model_says(changes in prop::collection::vec(change(), 1..200)) {
        let mut table = forwarding(4, 30, 5);
        let mut model = Model::new();
        for change in changes {
            let outcome = match change {
                Change::Set(to, bits, count) => {
                    let members: Vec<u8> = (0..4).filter(|port| bits & (1 << port) != 0).collect();
                    table.set_route(mac(to), ports(&members), count)
                }
                Change::Remove(to) => table.remove_route(mac(to)),
                Change::Move(to, bucket, by) => table.move_bucket(mac(to), bucket, port(by)),
                Change::Pin(to, flow, by) => table.pin(NOW, mac(to), flow, port(by)),
                Change::Unpin(to, flow) => table.unpin(mac(to), flow),
            };
            let done = apply(&mut model, change);
            prop_assert_eq!(outcome.is_ok(), done, "{:?}: {:?}", change, outcome);
            for to in 0..6u8 {
                for flow in 0..24u32 {
                    let expected = model.get(&to).map_or(Decision::NoRoute, |(members, buckets, pins)| {
                        let by_bucket = || match buckets.len() {
                            0 => members[0],
                            count => buckets[flow as usize % count],
                        };
                        Decision::Port(port(pins.get(&flow).copied().unwrap_or_else(by_bucket)))
                    });
                    prop_assert_eq!(table.decide(NOW, mac(to), flow), expected);
                }
            }
            let pins: usize = model.values().map(|(_, _, pins)| pins.len()).sum();
            prop_assert_eq!(table.pin_count(), pins);
            prop_assert_eq!(table.pins().count(), pins);
            prop_assert_eq!(table.routes().map(|route| route.pins).sum::<usize>(), pins);
            prop_assert_eq!(table.route_count(), model.len());
        }
    }
}

#[test]
fn the_likely_port_is_the_chosen_one_without_pins() {
    let mut table = forwarding(2, 8, 1);
    table.set_route(mac(1), ports(&[3, 5, 9]), 7).unwrap();
    table.set_route(mac(2), ports(&[4]), 1).unwrap();
    for flow_hash in 0..20 {
        for destination in [mac(1), mac(2), mac(3)] {
            let decided = table.decide(NOW, destination, flow_hash);
            let likely = table.likely_port(destination, flow_hash);
            assert_eq!(likely.map_or(Decision::NoRoute, Decision::Port), decided);
        }
    }
}
