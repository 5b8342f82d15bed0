//! The Level Table: the Level of each destination, and the bytes buffered for it behind each link.

mod chain;
mod key;

use chain::{unchain, Chained};
use key::Key;

use crate::level::Level;
use crate::random::spread;
use crate::sets::PortSet;
use crate::switch::records::Records;
use crate::switch::LevelEntry;
use crate::units::{Bytes, MacAddress, PortId, Priority};

const NIL: u32 = Records::<Entry>::NONE;

/// Ends the list of an entry's later shares. It is a share without an owner, so that a share is removed from a list
/// without unpredictable checks for its neighbours.
const END: u32 = 0;

/// Entries per bucket if every frame had another destination: few do, and larger tables would make each lookup read
/// uncached memory.
const ENTRIES_OF_BUCKET: usize = 4;

/// Marks the [`ShareId`] of a later share; without it, the identifier is the number of an [`Entry`], for its first
/// share.
const LATER: u32 = 1 << 31;

/// Identifies the bytes buffered for one destination behind one ingress port, for as long as there are any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::switch) struct ShareId(u32);

impl ShareId {
    /// For frames of classes without Levels.
    pub(in crate::switch) const NONE: Self = Self(NIL);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::switch) struct EntryId(u32);

/// Bytes buffered for one destination behind one ingress port.
#[derive(Clone, Copy, Debug)]
pub(in crate::switch) struct Share {
    pub(in crate::switch) ingress: PortId,
    pub(in crate::switch) egresses: PortSet,
    /// In whole cells, from admission to completion.
    pub(in crate::switch) cells: Bytes,
}

/// A share created while the entry had others. One cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct LaterShare {
    share: Share,
    entry: u32,
    next: u32,
    previous: u32,
    /// Next in the same hash bucket, or next free one.
    chain: u32,
}

/// One destination of one priority: each class is a separate network with its own buffers and Feedback.
///
/// It contains its first share: most destinations have no other one. When the first share's frames have left, the share
/// stays empty for the entry's lifetime.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Entry {
    key: Key,
    cells: Bytes,
    level: Level,
    ingress: PortId,
    later: u32,
    /// Neighbours in order of age.
    older: u32,
    newer: u32,
    /// Next in the same hash bucket, or next free one.
    chain: u32,
    bucket: u32,
}

/// Level Assignment Rules 1, 2, 3 and 6. An entry is removed with its last frame. All operations
/// are O(1) except [`shares`](Self::shares), which has one item for each ingress port, and
/// [`iter`](Self::iter).
#[derive(Debug)]
#[cfg_attr(feature = "testing", derive(Clone))]
pub(in crate::switch) struct LevelTable {
    entries: Records<Entry>,
    /// By entry: the egress ports of the frames of its first share. Every frame adds to it, few read it.
    egresses: Records<PortSet>,
    free_entry: u32,
    entry_buckets: Vec<u32>,
    entry_count: usize,
    oldest: u32,
    newest: u32,
    shares: Records<LaterShare>,
    free_share: u32,
    share_buckets: Vec<u32>,
    port_count: usize,
    /// Mask for the ingress port in a [`Key`]: zero, or all of it.
    ingress_mask: u64,
}

impl LevelTable {
    /// Makes room for `frame_count` frames: a share has at least one, an entry at least one share.
    ///
    /// With `by_ingress` a destination has an entry for each ingress port of its frames. Flooded frames need that: they
    /// cross a link in both directions, and the proof of lemma 1 follows the frames that set a Level back to their
    /// source, which ends only if it never crosses a link both ways (the book's chapter on Levels).
    pub(in crate::switch) fn new(frame_count: usize, port_count: usize, by_ingress: bool) -> Self {
        let entry = Entry {
            key: Key(0),
            cells: Bytes::ZERO,
            level: Level::ZERO,
            ingress: PortId::new(0),
            later: END,
            older: NIL,
            newer: NIL,
            bucket: 0,
            chain: NIL,
        };
        let empty = Share {
            ingress: PortId::new(0),
            egresses: PortSet::EMPTY,
            cells: Bytes::ZERO,
        };
        let share = LaterShare {
            share: empty,
            entry: NIL,
            next: END,
            previous: END,
            chain: NIL,
        };
        let mut shares = Records::new(frame_count + 1, share);
        // The share without an owner.
        shares.reach(END as usize);
        let bucket_count = frame_count.div_ceil(ENTRIES_OF_BUCKET).next_power_of_two();
        Self {
            entries: Records::new(frame_count, entry),
            egresses: Records::new(frame_count, PortSet::EMPTY),
            free_entry: NIL,
            entry_buckets: vec![NIL; bucket_count],
            entry_count: 0,
            oldest: NIL,
            newest: NIL,
            shares,
            free_share: NIL,
            share_buckets: vec![NIL; bucket_count],
            port_count,
            ingress_mask: if by_ingress { u64::MAX } else { 0 },
        }
    }

    pub(in crate::switch) fn touch(&mut self) {
        self.entries.touch();
        self.egresses.touch();
        self.shares.touch();
    }

    fn key(&self, priority: Priority, destination: MacAddress, ingress: PortId) -> Key {
        Key::new(
            priority,
            destination,
            u64::from(ingress.get()) & self.ingress_mask,
        )
    }

    pub(in crate::switch) fn len(&self) -> usize {
        self.entry_count
    }

    /// Finds a destination, for frames from `ingress`, in the table; a missing one has Level 0 (rule 2).
    #[inline(always)]
    pub(in crate::switch) fn find(
        &self,
        priority: Priority,
        destination: MacAddress,
        ingress: PortId,
    ) -> Option<EntryId> {
        self.find_entry(self.key(priority, destination, ingress))
            .map(EntryId)
    }

    pub(in crate::switch) fn level(&self, entry: EntryId) -> Level {
        self.entries
            .get(entry.0 as usize)
            .map_or(Level::ZERO, |entry| entry.level)
    }

    pub(in crate::switch) fn shares(&self, entry: EntryId) -> impl Iterator<Item = Share> + '_ {
        let index = entry.0 as usize;
        let entry = self.entries.get(index);
        let first = entry.filter(|entry| entry.cells > Bytes::ZERO);
        let first = first.map(|entry| Share {
            ingress: entry.ingress,
            egresses: self.egresses[index],
            cells: entry.cells,
        });
        let mut at = entry.map_or(END, |entry| entry.later);
        let later = core::iter::from_fn(move || {
            let later = self.shares.get(at as usize).filter(|_| at != END)?;
            at = later.next;
            Some(later.share)
        });
        later.chain(first)
    }

    /// Returns true if frames of `level` and above received on `ingress` leave by one of `egresses`. O(destinations ×
    /// their ingress ports).
    pub(in crate::switch) fn waits_at(
        &self,
        priority: Priority,
        level: Level,
        ingress: PortId,
        egresses: &PortSet,
    ) -> bool {
        let mut at = self.oldest;
        while let Some(entry) = self.entries.get(at as usize) {
            if entry.key.priority() == priority && entry.level >= level {
                let mut shares = self.shares(EntryId(at));
                if shares.any(|share| {
                    share.ingress == ingress
                        && share.egresses.iter().any(|port| egresses.contains(port))
                }) {
                    return true;
                }
            }
            at = entry.newer;
        }
        false
    }

    pub(in crate::switch) fn set_level(&mut self, entry: EntryId, level: Level) {
        if let Some(entry) = self.entries.get_mut(entry.0 as usize) {
            entry.level = level;
        }
    }

    /// Admits a frame from `ingress` to a destination that is not in the table, and sets its Level to `level`. It
    /// leaves by `egress`; for several egress ports see [`note_egress`](Self::note_egress). `None` if the table is
    /// full, which is impossible unless a handle is used twice.
    #[inline(always)]
    pub(in crate::switch) fn add(
        &mut self,
        priority: Priority,
        destination: MacAddress,
        level: Level,
        ingress: PortId,
        egress: Option<PortId>,
        cells: Bytes,
    ) -> Option<ShareId> {
        let key = self.key(priority, destination, ingress);
        debug_assert!(self.find_entry(key).is_none());
        let bucket = self.entry_bucket(key);
        let index = self.entries.free_or_new(self.free_entry)?;
        let entry = self.entries.get_mut(index as usize)?;
        self.free_entry = entry.chain;
        *entry = Entry {
            key,
            cells,
            level,
            ingress,
            later: END,
            older: self.newest,
            newer: NIL,
            bucket: bucket as u32,
            chain: self.entry_buckets[bucket],
        };
        let egresses = self.egresses.reach(index as usize)?;
        *egresses = PortSet::EMPTY;
        if let Some(egress) = egress {
            egresses.insert(egress);
        }
        self.entry_buckets[bucket] = index;
        match self.entries.get_mut(self.newest as usize) {
            Some(before) => before.newer = index,
            None => self.oldest = index,
        }
        self.newest = index;
        self.entry_count += 1;
        Some(ShareId(index))
    }

    #[inline(never)]
    pub(in crate::switch) fn enter(
        &mut self,
        entry: EntryId,
        ingress: PortId,
        egress: Option<PortId>,
        cells: Bytes,
    ) -> Option<ShareId> {
        let EntryId(index) = entry;
        let entry = self.entries.get_mut(index as usize)?;
        if entry.ingress == ingress && entry.cells > Bytes::ZERO {
            entry.cells += cells;
            if let Some(egress) = egress {
                self.egresses[index as usize].insert(egress);
            }
            return Some(ShareId(index));
        }
        let bucket = self.share_bucket(index, ingress);
        let share = match self.find_share(bucket, index, ingress) {
            Some(share) => share,
            None => self.make_share(bucket, index, ingress)?,
        };
        let later = &mut self.shares[share as usize].share;
        later.cells += cells;
        if let Some(egress) = egress {
            later.egresses.insert(egress);
        }
        Some(ShareId(share | LATER))
    }

    pub(in crate::switch) fn note_egress(&mut self, share: ShareId, egress: PortId) {
        let ShareId(share) = share;
        let egresses = if share & LATER == 0 {
            self.egresses.get_mut(share as usize)
        } else {
            let later = self.shares.get_mut((share & !LATER) as usize);
            later.map(|later| &mut later.share.egresses)
        };
        if let Some(egresses) = egresses {
            egresses.insert(egress);
        }
    }

    pub(in crate::switch) fn leave(&mut self, share: ShareId, cells: Bytes) -> Option<Level> {
        let ShareId(share) = share;
        if share & LATER != 0 {
            return self.leave_later(share & !LATER, cells);
        }
        let entry = self.entries.get_mut(share as usize)?;
        debug_assert!(entry.cells >= cells, "a frame leaves twice");
        entry.cells = entry.cells.saturating_sub(cells);
        let level = entry.level;
        // Every frame charges something.
        if entry.cells == Bytes::ZERO && entry.later == END {
            self.free_entry(share);
        }
        Some(level)
    }

    #[inline(never)]
    fn leave_later(&mut self, index: u32, cells: Bytes) -> Option<Level> {
        let later = self.shares.get_mut(index as usize)?;
        debug_assert!(later.share.cells >= cells, "a frame leaves twice");
        later.share.cells = later.share.cells.saturating_sub(cells);
        let level = self.entries.get(later.entry as usize)?.level;
        if later.share.cells == Bytes::ZERO {
            self.free_share(index);
        }
        Some(level)
    }

    /// Iterates over all destinations with their Levels and buffered bytes, oldest first. O(ingress
    /// ports with frames for it) for each item.
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

    /// Entries have small numbers, so no hash is needed: at most as many of the (entry, port) numbers as there are
    /// ports share a bucket.
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

    fn find_share(&self, bucket: usize, entry: u32, ingress: PortId) -> Option<u32> {
        let mut at = self.share_buckets[bucket];
        while let Some(share) = self.shares.get(at as usize) {
            if share.entry == entry && share.share.ingress == ingress {
                return Some(at);
            }
            at = share.chain;
        }
        None
    }

    fn make_share(&mut self, bucket: usize, entry: u32, ingress: PortId) -> Option<u32> {
        let index = self.shares.free_or_new(self.free_share)?;
        let newest = &mut self.entries[entry as usize].later;
        let later = self.shares.get_mut(index as usize)?;
        self.free_share = later.chain;
        let next = core::mem::replace(newest, index);
        *later = LaterShare {
            share: Share {
                ingress,
                egresses: PortSet::EMPTY,
                cells: Bytes::ZERO,
            },
            entry,
            next,
            previous: END,
            chain: self.share_buckets[bucket],
        };
        self.share_buckets[bucket] = index;
        self.shares[next as usize].previous = index;
        Some(index)
    }

    fn free_share(&mut self, index: u32) {
        let later = &self.shares[index as usize];
        let (entry, next, previous) = (later.entry, later.next, later.previous);
        let bucket = self.share_bucket(entry, later.share.ingress);
        unchain(&mut self.share_buckets[bucket], &mut self.shares, index);
        self.shares[previous as usize].next = next;
        self.shares[next as usize].previous = previous;
        let free = &mut self.shares[index as usize];
        (free.chain, free.entry) = (self.free_share, NIL);
        self.free_share = index;
        let of = &mut self.entries[entry as usize];
        of.later = if previous == END { next } else { of.later };
        if of.later == END && of.cells == Bytes::ZERO {
            self.free_entry(entry);
        }
    }

    fn free_entry(&mut self, index: u32) {
        let entry = &self.entries[index as usize];
        let (older, newer, bucket) = (entry.older, entry.newer, entry.bucket as usize);
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

impl Chained for Entry {
    fn chain_mut(&mut self) -> &mut u32 {
        &mut self.chain
    }
}

impl Chained for LaterShare {
    fn chain_mut(&mut self) -> &mut u32 {
        &mut self.chain
    }
}

#[cfg(test)]
mod tests;
