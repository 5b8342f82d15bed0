//! Words with which a program and the loop share the slots of a queue's RX ring, if some are reserved for frames with a
//! credit.

use std::sync::atomic::Ordering;

use libbpf_rs::MapHandle;
use weir_abi as abi;

use crate::error::EbpfError;
use crate::express::Region;

/// The words of one queue, in this process's memory.
#[derive(Debug)]
pub struct SlotWords {
    words: Region,
    at: usize,
}

/// Shares of the slots that frames without a credit may take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotShares {
    /// Slots that data frames leave to control frames.
    pub kept_from_lossless: u64,
    /// Slots that frames of lossy classes leave to all others.
    pub kept_from_lossy: u64,
    /// Priorities of lossless classes, one bit for each.
    pub lossless: u8,
    /// Bytes of a frame in one slot; zero if every frame takes one.
    pub part_bytes: u64,
}

// Offsets in words; see weir_abi.h.
const SLOTS: usize = size_of::<abi::weir_slots>() / 8;
const BEGUN: usize = 0;
const ENTERED: usize = 1;
const RETURNED: usize = 2;
const LIMIT: usize = 8;
const KEPT_FROM_LOSSLESS: usize = 9;
const KEPT_FROM_LOSSY: usize = 10;
const PART_BYTES: usize = 11;
const CREDITED: usize = 12;
const LOSSLESS: usize = 13;

impl SlotWords {
    pub(crate) fn map(map: &MapHandle, queue: u32) -> Result<Self, EbpfError> {
        let queue = queue.min(abi::WEIR_QUEUES_MAX - 1) as usize;
        Ok(Self {
            words: Region::map(map, "weir_slots")?,
            at: queue * SLOTS,
        })
    }

    /// Sets the shares. Until a [limit](Self::raise_limit) is set, no frame without a credit is admitted.
    pub fn set_shares(&self, shares: SlotShares) {
        let set = |place, value| self.store(place, value, Ordering::Relaxed);
        set(KEPT_FROM_LOSSLESS, shares.kept_from_lossless);
        set(KEPT_FROM_LOSSY, shares.kept_from_lossy);
        set(LOSSLESS, shares.lossless.into());
        set(PART_BYTES, shares.part_bytes);
    }

    /// Sets the priorities whose frames have a credit, one bit for each. Frames in flight keep their mark.
    pub fn set_credited(&self, priorities: u8) {
        self.store(CREDITED, priorities.into(), Ordering::Release);
    }

    /// Lets frames without a credit take slots up to this number, counted from the start. It never falls.
    pub fn raise_limit(&self, limit: u64) {
        self.store(LIMIT, limit, Ordering::Release);
    }

    /// Returns the slots taken by frames without a credit since the start.
    pub fn entered(&self) -> u64 {
        self.load(ENTERED)
    }

    /// Returns the number of frames that the program has begun to pass to the socket since the start. If read after
    /// [`entered`](Self::entered), it includes all of those.
    pub fn begun(&self) -> u64 {
        self.load(BEGUN)
    }

    /// Returns the number of these frames that were not passed to the socket.
    pub fn returned(&self) -> u64 {
        self.load(RETURNED)
    }

    fn load(&self, place: usize) -> u64 {
        self.words.word(self.at + place).load(Ordering::Acquire)
    }

    fn store(&self, place: usize, value: u64, order: Ordering) {
        self.words.word(self.at + place).store(value, order);
    }
}
