//! Lifetimes of entries and shares, and their order when listed.

use super::*;

const P3: Priority = Priority::ALL[3];
const P4: Priority = Priority::ALL[4];

fn host(number: u8) -> MacAddress {
    MacAddress([2, 0, 0, 0, 0, number])
}

fn port(number: u8) -> PortId {
    PortId::new(number)
}

fn level(number: u8) -> Level {
    Level::new(number).unwrap()
}

fn enter(table: &mut LevelTable, destination: u8, ingress: u8, at: u8) -> ShareId {
    let destination = host(destination);
    let (ingress, cells) = (port(ingress), Bytes::new(256));
    let egress = Some(port(9));
    let share = match table.find(P3, destination, ingress) {
        Some(entry) => table.enter(entry, ingress, egress, cells),
        None => table.add(P3, destination, level(at), ingress, egress, cells),
    };
    let share = share.unwrap();
    table.note_egress(share, port(8));
    let both = PortSet::from_iter([port(8), port(9)]);
    let entry = table.find(P3, destination, ingress).unwrap();
    let of_port = |share: &Share| share.ingress == ingress;
    assert_eq!(table.shares(entry).filter(of_port).count(), 1);
    assert!(table.shares(entry).all(|share| share.egresses == both));
    share
}

fn level_of(table: &LevelTable, priority: Priority, destination: u8) -> Option<Level> {
    let entry = table.find(priority, host(destination), port(0))?;
    Some(table.level(entry))
}

#[test]
fn an_entry_lives_as_long_as_its_frames() {
    let mut table = LevelTable::new(8, 10, false);
    assert_eq!(level_of(&table, P3, 1), None);
    let one = enter(&mut table, 1, 1, 2);
    let same = enter(&mut table, 1, 1, 2);
    let other = enter(&mut table, 1, 2, 2);
    assert_eq!(one, same);
    assert_eq!((table.len(), level_of(&table, P3, 1)), (1, Some(level(2))));
    assert_eq!(level_of(&table, P4, 1), None, "another class");
    let entry = table.find(P3, host(1), port(0)).unwrap();
    table.set_level(entry, level(3));
    let mut shares: Vec<_> = table
        .shares(entry)
        .map(|share| (share.ingress.get(), share.cells.get()))
        .collect();
    shares.sort_unstable();
    assert_eq!(shares, [(1, 512), (2, 256)]);
    assert_eq!(table.leave(one, Bytes::new(256)), Some(level(3)));
    assert_eq!(table.leave(other, Bytes::new(256)), Some(level(3)));
    assert_eq!(table.shares(entry).count(), 1);
    assert_eq!(table.leave(one, Bytes::new(256)), Some(level(3)));
    assert_eq!((table.len(), level_of(&table, P3, 1)), (0, None));
    assert_eq!(table.iter().count(), 0);
}

#[test]
fn the_first_share_is_consumed_first_and_can_come_again() {
    let mut table = LevelTable::new(8, 10, false);
    let listed = |table: &LevelTable| -> Vec<(u8, u64)> {
        let entry = table.find(P3, host(1), port(0)).unwrap();
        let shares = table.shares(entry);
        shares
            .map(|share| (share.ingress.get(), share.cells.get()))
            .collect()
    };
    let first = enter(&mut table, 1, 1, 2);
    let second = enter(&mut table, 1, 2, 2);
    let third = enter(&mut table, 1, 3, 2);
    assert_eq!(
        listed(&table),
        [(3, 256), (2, 256), (1, 256)],
        "newest first"
    );
    table.leave(first, Bytes::new(256));
    assert_eq!(listed(&table), [(3, 256), (2, 256)]);
    let again = enter(&mut table, 1, 1, 2);
    assert_eq!(again, enter(&mut table, 1, 1, 2));
    assert_eq!(listed(&table), [(1, 512), (3, 256), (2, 256)]);
    table.leave(third, Bytes::new(256));
    table.leave(again, Bytes::new(256));
    assert_eq!(listed(&table), [(1, 256), (2, 256)]);
    table.leave(again, Bytes::new(256));
    assert_eq!(table.leave(second, Bytes::new(256)), Some(level(2)));
    assert_eq!(table.len(), 0);
    assert_eq!(table.leave(ShareId::NONE, Bytes::new(256)), None);
}

#[test]
fn room_for_as_many_destinations_as_frames() {
    let mut table = LevelTable::new(5, 10, false);
    for round in 0..3 {
        let shares: Vec<_> = (0..5).map(|n| enter(&mut table, n, round, n)).collect();
        assert_eq!(table.len(), 5);
        let one_more = table.add(P4, host(7), level(1), port(1), None, Bytes::new(256));
        assert_eq!(one_more, None, "full");
        let mut levels: Vec<_> = table.iter().map(|entry| entry.level.get()).collect();
        levels.sort_unstable();
        assert_eq!(levels, [0, 1, 2, 3, 4]);
        for share in shares {
            table.leave(share, Bytes::new(256));
        }
    }
    assert_eq!(table.len(), 0);
}

#[test]
fn lists_the_oldest_first_whichever_leave() {
    let mut table = LevelTable::new(6, 10, false);
    let shares: Vec<_> = (0..5).map(|n| enter(&mut table, n, 1, 0)).collect();
    enter(&mut table, 1, 2, 0);
    let listed = |table: &LevelTable| -> Vec<(u8, u64)> {
        let entries = table.iter();
        entries
            .map(|entry| (entry.destination.0[5], entry.buffered.get()))
            .collect()
    };
    assert_eq!(
        listed(&table),
        [(0, 256), (1, 512), (2, 256), (3, 256), (4, 256)]
    );
    for gone in [2, 0, 4, 1] {
        table.leave(shares[gone], Bytes::new(256));
    }
    assert_eq!(listed(&table), [(1, 256), (3, 256)]);
    enter(&mut table, 2, 1, 0);
    assert_eq!(listed(&table), [(1, 256), (3, 256), (2, 256)]);
    assert_eq!(table.iter().take(2).count(), 2);
}

#[test]
fn each_ingress_port_may_have_an_entry_of_its_own() {
    let mut table = LevelTable::new(4, 10, true);
    let one = enter(&mut table, 1, 1, 1);
    let other = enter(&mut table, 1, 9, 2);
    assert_eq!(table.len(), 2);
    for (ingress, at) in [(1, 1), (9, 2)] {
        let entry = table.find(P3, host(1), port(ingress)).unwrap();
        assert_eq!(table.level(entry), level(at));
    }
    assert_eq!(level_of(&table, P3, 1), None, "nothing came in by port 0");
    let listed: Vec<_> = table
        .iter()
        .map(|entry| (entry.priority, entry.destination, entry.level))
        .collect();
    let row = |at| (P3, host(1), level(at));
    assert_eq!(listed, [row(1), row(2)], "the destination's own address");
    assert_eq!(table.leave(one, Bytes::new(256)), Some(level(1)));
    assert_eq!(table.leave(other, Bytes::new(256)), Some(level(2)));
    assert_eq!(table.len(), 0);
}
