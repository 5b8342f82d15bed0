//! One place's events of one window: a slot for each nanosecond. All places use the same wheel in turn, so that it stays in
//! the nearest cache.

use super::Entry;

/// Number of slots, each one nanosecond.
pub(super) const SLOT_COUNT: usize = WORD_COUNT * 64;

const WORD_COUNT: usize = 64;

/// "No entry": ends lists and marks empty slots.
const NIL: u32 = u32::MAX;

#[derive(Debug)]
pub(super) struct Wheel<T> {
    /// Time of the first slot.
    start: u64,
    /// Bit s of word w: slot 64 w + s is not empty.
    occupied: [u64; WORD_COUNT],
    /// Bit w: word w is not zero.
    words: u64,
    /// First and last entry of each slot that is not empty.
    slots: Vec<(u32, u32)>,
    /// With the next entry of the same slot.
    entries: Vec<(Entry<T>, u32)>,
    /// The entry that was taken last.
    taken: u32,
}

impl<T: Copy> Wheel<T> {
    pub(super) fn new() -> Self {
        Self {
            start: 0,
            occupied: [0; WORD_COUNT],
            words: 0,
            slots: vec![(NIL, NIL); SLOT_COUNT],
            entries: Vec::new(),
            taken: NIL,
        }
    }

    /// Restarts the empty wheel at `start`.
    pub(super) fn begin(&mut self, start: u64) {
        debug_assert!(self.words == 0);
        self.entries.clear();
        self.start = start;
    }

    /// Adds an entry after those of the same time that were pushed earlier or by an earlier place. O(1), unless it precedes
    /// others of the same time.
    #[inline(always)]
    pub(super) fn insert(&mut self, entry: Entry<T>) {
        let at = entry.at;
        let index = self.entries.len() as u32;
        // Built in place: reading an entry as a whole soon after writing its parts stalls.
        self.entries.push((entry, NIL));
        let slot = (at - self.start) as usize;
        let (word, bit) = (slot / 64, 1 << (slot % 64));
        if self.occupied[word] & bit == 0 {
            self.occupied[word] |= bit;
            self.words |= 1 << word;
            self.slots[slot] = (index, index);
            return;
        }
        self.link(slot, index);
    }

    /// Links the entry of `index` into its place among those of its time.
    #[inline(never)]
    fn link(&mut self, slot: usize, index: u32) {
        let own = rank(&self.entries[index as usize].0);
        let (first, last) = self.slots[slot];
        if rank(&self.entries[last as usize].0) <= own {
            self.entries[last as usize].1 = index;
            self.slots[slot].1 = index;
            return;
        }
        let mut before = NIL;
        let mut after = first;
        while rank(&self.entries[after as usize].0) <= own {
            before = after;
            after = self.entries[after as usize].1;
        }
        self.entries[index as usize].1 = after;
        match self.entries.get_mut(before as usize) {
            Some(before) => before.1 = index,
            None => self.slots[slot].0 = index,
        }
    }

    /// Returns all events added since it was empty, taken or not.
    pub(super) fn events(&self) -> impl Iterator<Item = &T> {
        self.entries.iter().map(|(entry, _)| &entry.event)
    }

    /// Returns the time of the first event, which is [taken](Self::taken).
    #[inline]
    pub(super) fn pop(&mut self) -> Option<u64> {
        if self.words == 0 {
            self.entries.clear();
            return None;
        }
        let word = self.words.trailing_zeros() as usize;
        let slot = word * 64 + self.occupied[word].trailing_zeros() as usize;
        let (first, _) = self.slots[slot];
        self.taken = first;
        let (entry, next) = &self.entries[first as usize];
        if *next == NIL {
            self.occupied[word] &= self.occupied[word] - 1;
            if self.occupied[word] == 0 {
                self.words &= self.words - 1;
            }
        } else {
            self.slots[slot].0 = *next;
        }
        Some(entry.at)
    }

    /// The event that was taken last.
    #[inline]
    pub(super) fn taken(&self) -> &T {
        &self.entries[self.taken as usize].0.event
    }

    /// Takes an event without a slot, while the wheel is empty.
    pub(super) fn take_at_once(&mut self, entry: Entry<T>) {
        debug_assert!(self.words == 0);
        self.entries.clear();
        self.entries.push((entry, NIL));
        self.taken = 0;
    }
}

fn rank<T>(entry: &Entry<T>) -> (u64, u32) {
    (entry.pushed_at, entry.source)
}
