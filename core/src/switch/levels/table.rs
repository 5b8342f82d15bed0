//! The Level Table: which Level each destination has, and how much is buffered for it behind which link.

use crate::level::Level;
use crate::port_set::PortSet;
use crate::switch::hash::spread;
use crate::switch::LevelEntry;
use crate::units::{Bytes, MacAddress, PortId, Priority, PRIORITY_COUNT};

const NIL: u32 = u32::MAX;

/// Entries of one bucket if every frame were for a destination of its own: few are, and larger tables would have
/// each lookup read memory that no other one has read.
const ENTRIES_OF_BUCKET: usize = 4;

/// Names a [`Share`] for as long as it has frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::switch) struct ShareId(u32);

impl ShareId {
    /// For frames of classes that have no Levels.
    pub(in crate::switch) const NONE: Self = Self(NIL);
}

/// Names a destination in the table for as long as it has frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::switch) struct EntryId(u32);

/// What is buffered for one destination behind one ingress port.
#[derive(Clone, Copy, Debug)]
pub(in crate::switch) struct Share {
    pub(in crate::switch) ingress: PortId,
    /// Ports that its frames leave by.
    pub(in crate::switch) egresses: PortSet,
    /// In whole cells, from admission to completion.
    pub(in crate::switch) cells: Bytes,
    entry: u32,
    /// Next and previous of the same entry.
    next: u32,
    previous: u32,
    /// Next in the same hash bucket, or next free one.
    chain: u32,
}

/// A destination of a priority: the address as a number, and the priority above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Key(u64);

impl Key {
    fn new(priority: Priority, destination: MacAddress) -> Self {
        Self(destination.to_u64() | u64::from(priority.get()) << 48)
    }

    fn priority(self) -> Priority {
        Priority::ALL[(self.0 >> 48) as usize % PRIORITY_COUNT]
    }

    fn destination(self) -> MacAddress {
        MacAddress::from_u64(self.0)
    }
}

/// One destination of one priority: each class is a network of its own, with buffers and Feedback of
/// its own.
#[derive(Clone, Copy, Debug)]
struct Entry {
    key: Key,
    level: Level,
    /// The first share; an entry has at least one.
    shares: u32,
    /// Neighbours in the order of age.
    older: u32,
    newer: u32,
    /// Next in the same hash bucket, or next free one.
    chain: u32,
}

/// Level Assignment Rules 1, 2, 3 and 6. An entry goes with its last frame. All operations are O(1), but
/// [`shares`](Self::shares), which has one item for each ingress port, and [`iter`](Self::iter).
#[derive(Debug)]
pub(in crate::switch) struct LevelTable {
    entries: Vec<Entry>,
    free_entry: u32,
    entry_buckets: Vec<u32>,
    entry_count: usize,
    oldest: u32,
    newest: u32,
    shares: Vec<Share>,
    free_share: u32,
    share_buckets: Vec<u32>,
    port_count: usize,
}

impl LevelTable {
    /// Room for `frame_count` frames: a share has one at least, an entry a share.
    pub(in crate::switch) fn new(frame_count: usize, port_count: usize) -> Self {
        let link = |index: usize| {
            if index + 1 < frame_count {
                index as u32 + 1
            } else {
                NIL
            }
        };
        let entry = |index| Entry {
            key: Key(0),
            level: Level::ZERO,
            shares: NIL,
            older: NIL,
            newer: NIL,
            chain: link(index),
        };
        let share = |index| Share {
            ingress: PortId::new(0),
            egresses: PortSet::EMPTY,
            cells: Bytes::ZERO,
            entry: NIL,
            next: NIL,
            previous: NIL,
            chain: link(index),
        };
        let first = if frame_count == 0 { NIL } else { 0 };
        let bucket_count = frame_count.div_ceil(ENTRIES_OF_BUCKET).next_power_of_two();
        Self {
            entries: (0..frame_count).map(entry).collect(),
            free_entry: first,
            entry_buckets: vec![NIL; bucket_count],
            entry_count: 0,
            oldest: NIL,
            newest: NIL,
            shares: (0..frame_count).map(share).collect(),
            free_share: first,
            share_buckets: vec![NIL; bucket_count],
            port_count,
        }
    }

    /// Destinations in the table.
    pub(in crate::switch) fn len(&self) -> usize {
        self.entry_count
    }

    /// A destination, if it is in the table; one that is not has Level 0 (rule 2).
    pub(in crate::switch) fn find(
        &self,
        priority: Priority,
        destination: MacAddress,
    ) -> Option<EntryId> {
        self.find_entry(Key::new(priority, destination))
            .map(EntryId)
    }

    /// λ of a destination.
    pub(in crate::switch) fn level(&self, entry: EntryId) -> Level {
        self.entries
            .get(entry.0 as usize)
            .map_or(Level::ZERO, |entry| entry.level)
    }

    /// Where frames for a destination are buffered.
    pub(in crate::switch) fn shares(&self, entry: EntryId) -> impl Iterator<Item = &Share> {
        let entry = self.entries.get(entry.0 as usize);
        let mut at = entry.map_or(NIL, |entry| entry.shares);
        core::iter::from_fn(move || {
            let share = self.shares.get(at as usize)?;
            at = share.next;
            Some(share)
        })
    }

    /// Sets the Level of a destination.
    pub(in crate::switch) fn set_level(&mut self, entry: EntryId, level: Level) {
        if let Some(entry) = self.entries.get_mut(entry.0 as usize) {
            entry.level = level;
        }
    }

    /// A destination that is not in the table; it needs a frame that [`enter`](Self::enter)s. `None` when
    /// the table is full, which more handles than frames would make it.
    pub(in crate::switch) fn add(
        &mut self,
        priority: Priority,
        destination: MacAddress,
        level: Level,
    ) -> Option<EntryId> {
        let key = Key::new(priority, destination);
        debug_assert!(self.find_entry(key).is_none());
        if self.free_share == NIL {
            return None;
        }
        self.make_entry(key, level).map(EntryId)
    }

    /// A frame is admitted from `ingress`. `None` when the table is full.
    pub(in crate::switch) fn enter(
        &mut self,
        entry: EntryId,
        ingress: PortId,
        cells: Bytes,
        egresses: &PortSet,
    ) -> Option<ShareId> {
        let EntryId(entry) = entry;
        let index = match self.find_share(entry, ingress) {
            Some(share) => share,
            None => self.make_share(entry, ingress)?,
        };
        let share = &mut self.shares[index as usize];
        share.cells += cells;
        share.egresses.insert_all(egresses);
        Some(ShareId(index))
    }

    /// A frame has left. Gives the Level that it had.
    pub(in crate::switch) fn leave(&mut self, share: ShareId, cells: Bytes) -> Option<Level> {
        let state = self.shares.get_mut(share.0 as usize)?;
        debug_assert!(state.cells >= cells, "a frame leaves twice");
        state.cells = state.cells.saturating_sub(cells);
        let level = self.entries.get(state.entry as usize)?.level;
        // Every frame charges something.
        if state.cells == Bytes::ZERO {
            self.free_share(share.0);
        }
        Some(level)
    }

    /// All destinations in the table with their Levels and what is buffered for them, those first that
    /// have been in it longest. O(ingress ports with frames for it) for each that is taken.
    pub(in crate::switch) fn iter(&self) -> impl Iterator<Item = LevelEntry> + '_ {
        let mut at = self.oldest;
        core::iter::from_fn(move || {
            let id = EntryId(at);
            let entry = self.entries.get(at as usize)?;
            at = entry.newer;
            Some(LevelEntry {
                priority: entry.key.priority(),
                destination: entry.key.destination(),
                level: entry.level,
                buffered: self.shares(id).map(|share| share.cells).sum(),
            })
        })
    }

    fn entry_bucket(&self, key: Key) -> usize {
        spread(key.0) as usize & (self.entry_buckets.len() - 1)
    }

    /// Entries have small numbers, so that no hash is needed: of the entries × ports numbers no more than
    /// there are ports share a bucket.
    fn share_bucket(&self, entry: u32, ingress: PortId) -> usize {
        let number = (entry as usize).wrapping_mul(self.port_count) + ingress.index();
        number & (self.share_buckets.len() - 1)
    }

    fn find_entry(&self, key: Key) -> Option<u32> {
        let mut at = self.entry_buckets[self.entry_bucket(key)];
        while let Some(entry) = self.entries.get(at as usize) {
            if entry.key == key {
                return Some(at);
            }
            at = entry.chain;
        }
        None
    }

    fn find_share(&self, entry: u32, ingress: PortId) -> Option<u32> {
        let mut at = self.share_buckets[self.share_bucket(entry, ingress)];
        while let Some(share) = self.shares.get(at as usize) {
            if share.entry == entry && share.ingress == ingress {
                return Some(at);
            }
            at = share.chain;
        }
        None
    }

    fn make_entry(&mut self, key: Key, level: Level) -> Option<u32> {
        let bucket = self.entry_bucket(key);
        let index = self.free_entry;
        let entry = self.entries.get_mut(index as usize)?;
        self.free_entry = entry.chain;
        *entry = Entry {
            key,
            level,
            shares: NIL,
            older: self.newest,
            newer: NIL,
            chain: self.entry_buckets[bucket],
        };
        self.entry_buckets[bucket] = index;
        match self.entries.get_mut(self.newest as usize) {
            Some(before) => before.newer = index,
            None => self.oldest = index,
        }
        self.newest = index;
        self.entry_count += 1;
        Some(index)
    }

    fn make_share(&mut self, entry: u32, ingress: PortId) -> Option<u32> {
        let bucket = self.share_bucket(entry, ingress);
        let index = self.free_share;
        let next = self.entries[entry as usize].shares;
        let share = self.shares.get_mut(index as usize)?;
        self.free_share = share.chain;
        *share = Share {
            ingress,
            egresses: PortSet::EMPTY,
            cells: Bytes::ZERO,
            entry,
            next,
            previous: NIL,
            chain: self.share_buckets[bucket],
        };
        self.share_buckets[bucket] = index;
        if let Some(after) = self.shares.get_mut(next as usize) {
            after.previous = index;
        }
        self.entries[entry as usize].shares = index;
        Some(index)
    }

    fn free_share(&mut self, index: u32) {
        let share = &self.shares[index as usize];
        let (entry, next, previous) = (share.entry, share.next, share.previous);
        let bucket = self.share_bucket(entry, share.ingress);
        unchain(&mut self.share_buckets[bucket], &mut self.shares, index);
        match self.shares.get_mut(previous as usize) {
            Some(before) => before.next = next,
            None => self.entries[entry as usize].shares = next,
        }
        if let Some(after) = self.shares.get_mut(next as usize) {
            after.previous = previous;
        }
        let free = &mut self.shares[index as usize];
        (free.chain, free.entry) = (self.free_share, NIL);
        self.free_share = index;
        if next == NIL && previous == NIL {
            self.free_entry(entry);
        }
    }

    fn free_entry(&mut self, index: u32) {
        let entry = &self.entries[index as usize];
        let (older, newer) = (entry.older, entry.newer);
        let bucket = self.entry_bucket(entry.key);
        unchain(&mut self.entry_buckets[bucket], &mut self.entries, index);
        match self.entries.get_mut(older as usize) {
            Some(before) => before.newer = newer,
            None => self.oldest = newer,
        }
        match self.entries.get_mut(newer as usize) {
            Some(after) => after.older = older,
            None => self.newest = older,
        }
        self.entries[index as usize].chain = self.free_entry;
        self.free_entry = index;
        self.entry_count -= 1;
    }
}

/// A member of a hash bucket's list.
trait Chained {
    fn chain_mut(&mut self) -> &mut u32;
}

impl Chained for Entry {
    fn chain_mut(&mut self) -> &mut u32 {
        &mut self.chain
    }
}

impl Chained for Share {
    fn chain_mut(&mut self) -> &mut u32 {
        &mut self.chain
    }
}

fn unchain<T: Chained>(first: &mut u32, all: &mut [T], index: u32) {
    let after = *all[index as usize].chain_mut();
    if *first == index {
        *first = after;
        return;
    }
    let mut at = *first;
    while let Some(member) = all.get_mut(at as usize) {
        let chain = member.chain_mut();
        if *chain == index {
            *chain = after;
            return;
        }
        at = *chain;
    }
}

#[cfg(test)]
mod tests {
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
        let egresses = PortSet::from_iter([port(9)]);
        let destination = host(destination);
        let entry = table
            .find(P3, destination)
            .or_else(|| table.add(P3, destination, level(at)))
            .unwrap();
        table
            .enter(entry, port(ingress), Bytes::new(256), &egresses)
            .unwrap()
    }

    fn level_of(table: &LevelTable, priority: Priority, destination: u8) -> Option<Level> {
        let entry = table.find(priority, host(destination))?;
        Some(table.level(entry))
    }

    #[test]
    fn an_entry_lives_as_long_as_its_frames() {
        let mut table = LevelTable::new(8, 10);
        assert_eq!(level_of(&table, P3, 1), None);
        let one = enter(&mut table, 1, 1, 2);
        let same = enter(&mut table, 1, 1, 2);
        let other = enter(&mut table, 1, 2, 2);
        assert_eq!(one, same);
        assert_eq!((table.len(), level_of(&table, P3, 1)), (1, Some(level(2))));
        assert_eq!(level_of(&table, P4, 1), None, "another class");
        let entry = table.find(P3, host(1)).unwrap();
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
    fn room_for_as_many_destinations_as_frames() {
        let mut table = LevelTable::new(5, 10);
        for round in 0..3 {
            let shares: Vec<_> = (0..5).map(|n| enter(&mut table, n, round, n)).collect();
            assert_eq!(table.len(), 5);
            assert_eq!(table.add(P4, host(7), level(1)), None, "full");
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
    fn lists_the_oldest_first_whichever_go() {
        let mut table = LevelTable::new(6, 10);
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
}
