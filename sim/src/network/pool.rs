//! What is under way: hosts' frames as records, control frames as the bytes that a wire would carry.

use weir_core::{Bytes, Instant, Priority};

/// A list whose entries keep their place until they are given back.
#[derive(Debug)]
pub(super) struct Pool<T> {
    entries: Vec<T>,
    free: Vec<u32>,
}

impl<T> Pool<T> {
    pub(super) const fn new() -> Self {
        Self {
            entries: Vec::new(),
            free: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, entry: T) -> u32 {
        if let Some(index) = self.free.pop() {
            self.entries[index as usize] = entry;
            return index;
        }
        self.entries.push(entry);
        (self.entries.len() - 1) as u32
    }

    pub(super) fn get(&self, index: u32) -> &T {
        &self.entries[index as usize]
    }

    pub(super) fn get_mut(&mut self, index: u32) -> &mut T {
        &mut self.entries[index as usize]
    }

    /// `index` is free again; its entry stays until it is given out anew.
    pub(super) fn give_back(&mut self, index: u32) {
        self.free.push(index);
    }

    /// Takes an entry out of its place.
    pub(super) fn take(&mut self, index: u32) -> T
    where
        T: Default,
    {
        self.give_back(index);
        std::mem::take(&mut self.entries[index as usize])
    }

    /// Entries in use, in the order of their places. O(entries).
    pub(super) fn iter_used(&self) -> impl Iterator<Item = &T> {
        let mut used = vec![true; self.entries.len()];
        for index in &self.free {
            used[*index as usize] = false;
        }
        self.entries
            .iter()
            .zip(used)
            .filter_map(|(entry, used)| used.then_some(entry))
    }

    /// Entries in use.
    pub(super) fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }
}

/// What a host's frame is to its flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FrameKind {
    /// From the sender to the receiver.
    Data,
    /// Back from the receiver: a notification or an acknowledgement.
    Answer,
}

/// One frame of a host.
#[derive(Clone, Copy, Debug)]
pub(super) struct FrameRecord {
    pub(super) flow: u32,
    /// Of data: how many frames of the flow were sent before it, repetitions among them.
    pub(super) sequence: u32,
    /// Of data: which of the flow's frames it is. Of an acknowledgement: the first one that is missing.
    pub(super) number: u32,
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) flow_hash: u32,
    pub(super) length_bytes: u32,
    pub(super) priority: Priority,
    /// Congestion Experienced.
    pub(super) marked: bool,
    pub(super) kind: FrameKind,
    /// When it was sent; of an answer, when the frame was sent that it answers.
    pub(super) sent: Instant,
}

impl FrameRecord {
    pub(super) const fn length(&self) -> Bytes {
        Bytes::new(self.length_bytes as u64)
    }
}

/// There are millions of them: each is read at every hop.
const _: () = assert!(size_of::<FrameRecord>() <= 40);
