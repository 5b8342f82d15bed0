//! Rings of members that take turns, by deficit round robin (Shreedhar and Varghese, SIGCOMM 1995).
//!
//! The members are in one slab, linked both ways, so that any of them can be removed in O(1): a lifted destination
//! changes its ring, and a release empties a lane in the middle.

pub(super) const NIL: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
pub(super) struct Turns {
    head: u32,
    tail: u32,
}

/// A member's place in its ring, and the rest of its turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    next: u32,
    previous: u32,
    deficit: u64,
}

pub(super) trait Turner {
    fn turn(&self) -> &Turn;
    fn turn_mut(&mut self) -> &mut Turn;
}

impl Turn {
    pub(super) const NONE: Self = Self {
        next: NIL,
        previous: NIL,
        deficit: 0,
    };

    pub(super) fn deficit(&self) -> u64 {
        self.deficit
    }

    /// Subtracts `length` from the deficit, and opens a new turn if the deficit is too small. The quantum is never
    /// below the longest frame, so one turn always suffices.
    pub(super) fn spend(&mut self, length: u64, quantum: u64) {
        debug_assert!(length <= quantum, "a frame longer than the quantum");
        if self.deficit < length {
            self.deficit += quantum;
        }
        self.deficit = self.deficit.saturating_sub(length);
    }
}

impl Turns {
    pub(super) const EMPTY: Self = Self {
        head: NIL,
        tail: NIL,
    };

    /// Returns the member whose turn it is; [`NIL`] in an empty ring.
    pub(super) fn head(&self) -> u32 {
        self.head
    }

    pub(super) fn iter<'a, T: Turner>(&self, all: &'a [T]) -> impl Iterator<Item = u32> + 'a {
        let mut at = self.head;
        core::iter::from_fn(move || {
            let index = at;
            at = all.get(index as usize)?.turn().next;
            Some(index)
        })
    }

    /// Adds a member that is in no ring, at the end and without any rest of earlier turns.
    pub(super) fn append<T: Turner>(&mut self, all: &mut [T], index: u32) {
        *all[index as usize].turn_mut() = Turn::NONE;
        self.link_last(all, index);
    }

    pub(super) fn remove<T: Turner>(&mut self, all: &mut [T], index: u32) {
        if self.head == self.tail {
            debug_assert_eq!(self.head, index, "the only member");
            *self = Self::EMPTY;
            return;
        }
        let Turn { next, previous, .. } = *all[index as usize].turn();
        match all.get_mut(previous as usize) {
            Some(before) => before.turn_mut().next = next,
            None => self.head = next,
        }
        match all.get_mut(next as usize) {
            Some(after) => after.turn_mut().previous = previous,
            None => self.tail = previous,
        }
        let turn = all[index as usize].turn_mut();
        (turn.next, turn.previous) = (NIL, NIL);
    }

    /// Ends the head's turn: it goes to the end and keeps its unused part.
    pub(super) fn rotate<T: Turner>(&mut self, all: &mut [T]) {
        if self.head != self.tail {
            let head = self.head;
            self.remove(all, head);
            self.link_last(all, head);
        }
    }

    fn link_last<T: Turner>(&mut self, all: &mut [T], index: u32) {
        let tail = self.tail;
        match all.get_mut(tail as usize) {
            Some(last) => last.turn_mut().next = index,
            None => self.head = index,
        }
        all[index as usize].turn_mut().previous = tail;
        self.tail = index;
    }
}
