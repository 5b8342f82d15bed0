//! RX ring slots reserved for frames with a credit.
//!
//! The XDP program counts the slots that all other frames take, up to a limit that only grows. The loop counts them out of
//! the ring and raises the limit. `docs/src/internals/design/credits-rings.md` explains why this suffices.

use std::fmt::Debug;

use super::io::BATCH;

/// Chunks that a fill ring may lack even after the loop has filled it, since fewer are not worth a call.
const LACKING_MAX: u64 = BATCH as u64 / 2 - 1;
/// Slots that data frames leave to control frames, and the fraction of all slots that lossy frames leave to others.
const KEPT_FOR_CONTROL: u64 = 64;
const KEPT_PART: u64 = 4;

/// Words that a program shares with the loop, for one queue.
pub(crate) trait Words: Debug {
    /// Returns the slots taken by frames without a credit since the start.
    fn entered(&self) -> u64;
    /// Returns the number of frames that the program has begun to forward. Read last, it includes all of these.
    fn begun(&self) -> u64;
    /// Returns the number of these frames that the socket will not get.
    fn returned(&self) -> u64;
    /// Lets frames without a credit take slots up to this total.
    fn raise_limit(&self, limit: u64);
    /// Sets the priorities whose frames have a credit, one bit for each.
    fn set_credited(&self, priorities: u8);
}

/// Reservation of RX ring slots for frames with a credit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeptSlots {
    /// Number of reserved slots.
    pub(crate) kept: u32,
    /// Slots that one credit may take; at least one.
    pub(crate) per_credit: u32,
    /// Priorities of lossless classes, one bit for each.
    pub(crate) lossless: u8,
    /// Bytes of a frame in one slot; zero if every frame takes one.
    pub(crate) part_bytes: u64,
}

/// Slots shared by frames without a credit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shared {
    pub(crate) slots: u64,
    /// Slots that lossless classes leave to control frames.
    pub(crate) kept_from_lossless: u64,
    /// Slots that lossy classes leave to all others.
    pub(crate) kept_from_lossy: u64,
}

impl Shared {
    /// Divides a ring with this many entries, of which `kept` are reserved.
    pub(crate) fn of(ring: u32, kept: u32) -> Self {
        let slots = u64::from(ring).saturating_sub(u64::from(kept) + LACKING_MAX);
        let kept_from_lossless = KEPT_FOR_CONTROL.min(slots / KEPT_PART);
        Self {
            slots,
            kept_from_lossless,
            kept_from_lossy: kept_from_lossless.max(slots / KEPT_PART),
        }
    }
}

/// The loop's account of one RX ring.
#[derive(Debug)]
pub(crate) struct Ledger<W> {
    words: W,
    shared: u64,
    slots: KeptSlots,
    /// Slots of frames without a credit that have left the ring or never reached it.
    out: u64,
    /// Frames that have left the ring.
    frames: u64,
    limit: u64,
    credited: u8,
}

impl<W: Words> Ledger<W> {
    /// Creates the account of an empty ring.
    pub(crate) fn new(words: W, shared: Shared, slots: KeptSlots) -> Self {
        Self {
            words,
            shared: shared.slots,
            slots,
            out: 0,
            frames: 0,
            limit: 0,
            credited: 0,
        }
    }

    /// Accounts for a frame of this length leaving the ring. Call with `has_credit` for a frame without metadata, which may
    /// have had one.
    pub(crate) fn count_out(&mut self, length: u64, has_credit: bool) {
        self.frames += 1;
        if !has_credit {
            self.out += match self.slots.part_bytes {
                0 => 1,
                part => length.div_ceil(part),
            };
        }
    }

    /// Frees slots as far as `lent` allows: chunks that the kernel can receive into or has filled. Returns the number of
    /// credits certainly covered by slots, including those of frames in the ring.
    pub(crate) fn settle(&mut self, lent: usize) -> u32 {
        let (lent, kept) = (lent as u64, u64::from(self.slots.kept));
        let free = self.out + self.shared.min(lent.saturating_sub(kept));
        if free > self.limit {
            self.limit = free;
            self.words.raise_limit(free);
        }
        let sure = lent.saturating_sub(self.limit - self.out).min(kept);
        u32::try_from(sure).unwrap_or(u32::MAX) / self.slots.per_credit.max(1)
    }

    /// Returns true if slots are taken, some perhaps by frames that were lost before the ring.
    pub(crate) fn may_have_lost(&self) -> bool {
        self.words.entered() != self.out
    }

    /// Frees the slots of lost frames if no frame is between program and ring. `dropped` is the kernel's count of losses,
    /// read before.
    pub(crate) fn forget_lost(&mut self, dropped: u64) {
        // Order matters: every frame in `entered` must be in `begun`.
        let entered = self.words.entered();
        let begun = self.words.begun();
        if self.frames + dropped + self.words.returned() == begun {
            self.out = entered;
        }
    }

    /// Sets the priorities whose frames have a credit, one bit for each.
    pub(crate) fn set_credited(&mut self, priorities: u8) {
        if self.credited != priorities {
            self.credited = priorities;
            self.words.set_credited(priorities);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::collections::VecDeque;
    use std::rc::Rc;

    use proptest::prelude::*;

    use super::*;

    const RING: u32 = 256;
    const KEPT: u32 = 100;
    const SLOTS: KeptSlots = KeptSlots {
        kept: KEPT,
        per_credit: 1,
        lossless: 0,
        part_bytes: 0,
    };

    /// The program's side; `take` does what the C program does.
    #[derive(Clone, Debug, Default)]
    struct Shelf(Rc<Counts>);

    #[derive(Debug, Default)]
    struct Counts {
        entered: Cell<u64>,
        begun: Cell<u64>,
        returned: Cell<u64>,
        limit: Cell<u64>,
    }

    impl Shelf {
        fn add(cell: &Cell<u64>) {
            cell.set(cell.get() + 1);
        }

        fn take(&self, kept: u64) -> bool {
            Self::add(&self.0.begun);
            let (entered, limit) = (self.0.entered.get(), self.0.limit.get());
            let fits = entered + 1 + kept <= limit;
            Self::add(if fits {
                &self.0.entered
            } else {
                &self.0.returned
            });
            fits
        }
    }

    impl Words for Shelf {
        fn entered(&self) -> u64 {
            self.0.entered.get()
        }
        fn begun(&self) -> u64 {
            self.0.begun.get()
        }
        fn returned(&self) -> u64 {
            self.0.returned.get()
        }
        fn raise_limit(&self, limit: u64) {
            assert!(limit > self.0.limit.get(), "it never falls");
            self.0.limit.set(limit);
        }
        fn set_credited(&self, _: u8) {}
    }

    #[derive(Clone, Copy, Debug)]
    enum Step {
        /// Frames without a credit arrive; the kernel loses this many of four behind the program.
        Others(u8, u8),
        /// Frames with a credit arrive, at most as many as there are credits.
        Paid(u8),
        /// Frames move from the program to the ring, or are lost.
        Land(u8),
        /// The loop takes frames out of the ring and holds their chunks.
        Out(u8),
        /// Chunks are returned, and the loop fills the ring and reports credits; with `false` it cannot fill.
        Turn(u8, bool),
        Forget,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (any::<u8>(), 0..4u8).prop_map(|(count, loss)| Step::Others(count, loss)),
            any::<u8>().prop_map(Step::Paid),
            any::<u8>().prop_map(Step::Land),
            any::<u8>().prop_map(Step::Out),
            (any::<u8>(), any::<bool>()).prop_map(|(count, fills)| Step::Turn(count, fills)),
            Just(Step::Forget),
        ]
    }

    proptest! {
        /// A frame with a credit always finds a chunk in the fill ring, whatever else arrives and however late the loop is.
        #[test]
        fn a_frame_with_a_credit_always_has_a_slot(steps in prop::collection::vec(step(), 1..100)) {
            let shelf = Shelf::default();
            let mut ledger = Ledger::new(shelf.clone(), Shared::of(RING, KEPT), SLOTS);
            // Chunks in the fill ring, filled chunks (with a credit?), chunks held by the loop.
            let (mut fill, mut ring, mut pool) = (RING - 1, VecDeque::new(), 1u32);
            let (mut held, mut dropped) = (0u32, 0u64);
            // Credits that the neighbour has.
            let mut credits = ledger.settle(fill as usize);
            prop_assert_eq!(credits, KEPT);
            // Frames between program and ring: with a credit, and lost.
            let mut flying = VecDeque::new();
            for step in steps.into_iter().chain([Step::Land(u8::MAX); 4]) {
                match step {
                    Step::Others(count, loss) => for number in 0..count {
                        if shelf.take(0) {
                            flying.push_back((false, number % 4 < loss));
                        }
                    },
                    Step::Paid(count) => {
                        let count = u32::from(count).min(credits);
                        credits -= count;
                        for _ in 0..count {
                            Shelf::add(&shelf.0.begun);
                            flying.push_back((true, false));
                        }
                    }
                    Step::Land(count) => for _ in 0..count {
                        match flying.pop_front() {
                            Some((_, true)) => dropped += 1,
                            Some((has_credit, false)) => {
                                prop_assert!(fill > 0, "lost, with a credit: {}", has_credit);
                                fill -= 1;
                                ring.push_back(has_credit);
                            }
                            None => break,
                        }
                    },
                    Step::Out(count) => for _ in 0..count {
                        let Some(has_credit) = ring.pop_front() else { break };
                        ledger.count_out(60, has_credit);
                        held += 1;
                    },
                    Step::Turn(count, fills) => {
                        let back = u32::from(count).min(held);
                        (held, pool) = (held - back, pool + back);
                        let room = RING - fill - ring.len() as u32;
                        let filled = if fills { pool.min(room) } else { 0 };
                        (fill, pool) = (fill + filled, pool - filled);
                        let sure = ledger.settle(fill as usize + ring.len());
                        let on_way = flying.iter().map(|(has_credit, _)| *has_credit);
                        let waiting = on_way.chain(ring.iter().copied()).filter(|has_credit| *has_credit);
                        credits = credits.max(sure.saturating_sub(waiting.count() as u32));
                    }
                    Step::Forget => ledger.forget_lost(dropped),
                }
            }
            prop_assert!(flying.is_empty());
            // Once all chunks are returned, every slot can be used again, regardless of losses.
            while let Some(has_credit) = ring.pop_front() {
                ledger.count_out(60, has_credit);
            }
            ledger.forget_lost(dropped);
            prop_assert!(!ledger.may_have_lost());
            prop_assert_eq!(ledger.settle(RING as usize), KEPT);
            prop_assert_eq!(shelf.0.limit.get() - shelf.0.entered.get(), Shared::of(RING, KEPT).slots);
        }
    }

    #[test]
    fn lossy_frames_leave_slots_to_others() {
        let shared = Shared::of(2048, 1024);
        assert_eq!(shared.slots, 2048 - 1024 - LACKING_MAX);
        assert!(shared.kept_from_lossy > shared.kept_from_lossless);
        assert!(shared.kept_from_lossless > 0);
        assert_eq!(Shared::of(64, 64).slots, 0, "none is left");
    }

    #[test]
    fn long_frames_take_several_slots() {
        let shelf = Shelf::default();
        let slots = KeptSlots {
            part_bytes: 1000,
            per_credit: 3,
            ..SLOTS
        };
        let mut ledger = Ledger::new(shelf, Shared::of(RING, KEPT), slots);
        assert_eq!(ledger.settle(RING as usize), KEPT / 3);
        ledger.settle(RING as usize);
        let before = ledger.limit;
        for (length, slots) in [(1, 1), (1000, 2), (1001, 4)] {
            ledger.count_out(length, false);
            ledger.settle(RING as usize);
            assert_eq!(ledger.limit - before, slots, "after {length} B");
        }
        ledger.count_out(9000, true);
        ledger.settle(RING as usize);
        assert_eq!(
            ledger.limit - before,
            4,
            "a frame with a credit is no part of it"
        );
    }
}
