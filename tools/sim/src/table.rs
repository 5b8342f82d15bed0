//! Entries by index in the plan: all of them, or those of one thread.

use std::ops::{Index, IndexMut};

/// Position of an index that a part does not have.
const ELSEWHERE: u32 = u32::MAX;

/// A whole table, or a part of one, with the same indexes.
#[derive(Debug)]
pub(crate) struct Table<T> {
    entries: Vec<T>,
    /// In a part: index of each entry, ascending. Empty in a whole table.
    indexes: Vec<u32>,
    /// In a part: position of the entry by index. Empty in a whole table.
    positions: Vec<u32>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self::whole(Vec::new())
    }
}

impl<T> Table<T> {
    pub(crate) const fn whole(entries: Vec<T>) -> Self {
        Self {
            entries,
            indexes: Vec::new(),
            positions: Vec::new(),
        }
    }

    /// Returns the entries here, in the order of indexes.
    pub(crate) fn as_slice(&self) -> &[T] {
        &self.entries
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, T> {
        self.entries.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.entries.iter_mut()
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns true if the entry of `index` is here.
    pub(crate) fn has(&self, index: usize) -> bool {
        self.position(index) < self.entries.len()
    }

    pub(crate) fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        let position = self.position(index);
        self.entries.get_mut(position)
    }

    /// Returns the position of the entry of `index` in [`as_slice`](Self::as_slice); past its end if it is elsewhere.
    #[inline]
    pub(crate) fn position(&self, index: usize) -> usize {
        if self.positions.is_empty() {
            index
        } else {
            self.positions[index] as usize
        }
    }

    /// Returns the index of the entry at `position`.
    #[inline]
    pub(crate) fn index_at(&self, position: usize) -> u32 {
        if self.indexes.is_empty() {
            position as u32
        } else {
            self.indexes[position]
        }
    }

    #[inline]
    pub(crate) fn at_mut(&mut self, position: usize) -> &mut T {
        &mut self.entries[position]
    }

    /// Splits a whole table into `count` parts: `owner` returns that of each index, and `copy` another part that gets a
    /// copy.
    pub(crate) fn split(
        self,
        count: usize,
        owner: impl Fn(usize, &T) -> usize,
        copy: impl Fn(usize, &T) -> Option<(usize, T)>,
    ) -> Vec<Self> {
        let part = || Self {
            entries: Vec::new(),
            indexes: Vec::new(),
            positions: vec![ELSEWHERE; self.entries.len()],
        };
        let mut parts: Vec<Self> = std::iter::repeat_with(part).take(count).collect();
        for (index, entry) in self.entries.into_iter().enumerate() {
            let own = owner(index, &entry);
            if let Some((other, copied)) = copy(index, &entry).filter(|(other, _)| *other != own) {
                parts[other].add(index, copied);
            }
            parts[own].add(index, entry);
        }
        parts
    }

    /// Joins the parts. Of an entry and its copy `is_copy` identifies the copy by its part, and `merge` takes the copy's
    /// newer values.
    pub(crate) fn join(
        parts: Vec<Self>,
        owner: impl Fn(usize, &T) -> usize,
        mut merge: impl FnMut(&mut T, T),
    ) -> Self {
        let length = parts.first().map_or(0, |part| part.positions.len());
        let mut whole: Vec<Option<T>> = std::iter::repeat_with(|| None).take(length).collect();
        let mut copies = Vec::new();
        for (number, part) in parts.into_iter().enumerate() {
            for (index, entry) in part.indexes.into_iter().zip(part.entries) {
                let index = index as usize;
                if owner(index, &entry) == number {
                    whole[index] = Some(entry);
                } else {
                    copies.push((index, entry));
                }
            }
        }
        for (index, copied) in copies {
            if let Some(entry) = &mut whole[index] {
                merge(entry, copied);
            }
        }
        let entries: Vec<T> = whole.into_iter().flatten().collect();
        debug_assert_eq!(entries.len(), length, "every entry has an owner");
        Self::whole(entries)
    }

    fn add(&mut self, index: usize, entry: T) {
        self.positions[index] = self.entries.len() as u32;
        self.indexes.push(index as u32);
        self.entries.push(entry);
    }
}

impl<T> Index<usize> for Table<T> {
    type Output = T;

    #[inline]
    fn index(&self, index: usize) -> &T {
        &self.entries[self.position(index)]
    }
}

impl<T> IndexMut<usize> for Table<T> {
    #[inline]
    fn index_mut(&mut self, index: usize) -> &mut T {
        let position = self.position(index);
        &mut self.entries[position]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_whole_again_with_what_its_copies_know() {
        let table = Table::whole(vec![10, 11, 12, 13, 14]);
        let copy = |index: usize, entry: &i32| (index == 3).then_some((0, *entry));
        let mut parts = table.split(2, |index, _| index % 2, copy);
        assert_eq!(parts[0].as_slice(), [10, 12, 13, 14]);
        assert_eq!(parts[1].as_slice(), [11, 13]);
        assert!(parts[0].has(3) && parts[1].has(3) && !parts[1].has(2));
        assert_eq!(parts[0].index_at(3), 4);
        assert!(parts[1].get_mut(0).is_none());
        parts[0][3] = 33;
        parts[1][1] = 21;
        let whole = Table::join(
            parts,
            |index, _| index % 2,
            |entry, copied| *entry += copied,
        );
        assert_eq!(whole.as_slice(), [10, 21, 12, 46, 14]);
        assert!(whole.has(4) && !whole.has(5));
    }
}
