//! Records by index, up to a bound, in memory that is allocated on first use, or all at once.
//!
//! A switch has room for as many frames as its buffers hold, and seldom uses much of it. A simulated network of many
//! switches therefore allocates only the memory that its frames have needed, and keeps it dense. A daemon allocates
//! everything at the start ([`touch`](Records::touch)), and nothing after that.

use core::ops::{Deref, DerefMut};

/// A bounded number of records. Dereferences to those that have been used so far.
#[derive(Debug)]
#[cfg_attr(feature = "testing", derive(Clone))]
pub(in crate::switch) struct Records<T> {
    used: Vec<T>,
    empty: T,
    capacity: usize,
}

impl<T: Copy> Records<T> {
    pub(in crate::switch) const NONE: u32 = u32::MAX;

    /// Creates room for `capacity` records, each of them `empty` until it is written.
    pub(in crate::switch) fn new(capacity: usize, empty: T) -> Self {
        Self {
            used: Vec::new(),
            empty,
            capacity,
        }
    }

    pub(in crate::switch) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Returns the first of the caller's list of free records, or, if that is [`NONE`](Self::NONE), one that has never
    /// been used. Either one names the next free one, so an empty record must name `NONE`. `None` when all are in use.
    #[inline]
    pub(in crate::switch) fn free_or_new(&mut self, free: u32) -> Option<u32> {
        if free != Self::NONE {
            return Some(free);
        }
        self.add()
    }

    /// Returns the index of the lowest record that has never been used; `None` if there is none.
    #[cold]
    fn add(&mut self) -> Option<u32> {
        let index = self.used.len();
        self.reach(index)?;
        u32::try_from(index).ok()
    }

    /// Returns the record of an index, which may be its first use. `None` beyond the capacity.
    #[inline]
    pub(in crate::switch) fn reach(&mut self, index: usize) -> Option<&mut T> {
        if index >= self.used.len() {
            self.grow(index);
        }
        self.used.get_mut(index)
    }

    #[cold]
    fn grow(&mut self, index: usize) {
        if index < self.capacity {
            self.used.resize(index + 1, self.empty);
        }
    }

    /// Allocates all of the memory and writes to it once, so that later nothing is allocated and no page is missing.
    /// Changes nothing else. O(capacity).
    pub(in crate::switch) fn touch(&mut self) {
        let used = self.used.len();
        self.used.reserve_exact(self.capacity - used);
        self.used.resize(self.capacity, self.empty);
        self.used.truncate(used);
    }
}

impl<T> Deref for Records<T> {
    type Target = [T];
    #[inline]
    fn deref(&self) -> &[T] {
        &self.used
    }
}

impl<T> DerefMut for Records<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.used
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_exist_only_as_far_as_used() {
        let mut records = Records::new(3, 7);
        assert_eq!(records.len(), 0);
        assert_eq!(records.add(), Some(0));
        assert_eq!(records.reach(2), Some(&mut 7));
        assert_eq!(&records[..], [7, 7, 7]);
        assert_eq!(records.add(), None);
        assert_eq!(records.reach(3), None);
    }

    #[test]
    fn touching_changes_nothing_and_allocates_nothing_more() {
        let mut records = Records::new(1000, 0u64);
        *records.reach(1).unwrap() = 5;
        records.touch();
        let at = records.as_ptr();
        assert_eq!(&records[..], [0, 5]);
        records.reach(999);
        assert_eq!(records.as_ptr(), at);
        assert_eq!(records.len(), records.capacity());
    }
}
