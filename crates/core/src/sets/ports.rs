//! A set of ports as a bitmap, so that scans go in port order and cost no allocation.

use crate::units::{PortId, PORT_COUNT_MAX};

const WORD_COUNT: usize = PORT_COUNT_MAX / 64;

/// A set of ports of one switch. All operations are O(1) or O(ports ÷ 64).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortSet {
    words: [u64; WORD_COUNT],
}

impl PortSet {
    /// The empty set.
    pub const EMPTY: Self = Self {
        words: [0; WORD_COUNT],
    };

    /// Adds `port`.
    pub fn insert(&mut self, port: PortId) {
        self.words[port.index() / 64] |= 1 << (port.index() % 64);
    }

    /// Adds all of `others`.
    pub fn insert_all(&mut self, others: &Self) {
        for (word, other) in self.words.iter_mut().zip(others.words) {
            *word |= other;
        }
    }

    /// Removes `port`.
    pub fn remove(&mut self, port: PortId) {
        self.words[port.index() / 64] &= !(1 << (port.index() % 64));
    }

    /// True when `port` is in the set.
    pub fn contains(&self, port: PortId) -> bool {
        self.words[port.index() / 64] & (1 << (port.index() % 64)) != 0
    }

    /// True when no port is in the set.
    pub fn is_empty(&self) -> bool {
        self.words == [0; WORD_COUNT]
    }

    /// Returns the number of ports in the set.
    pub fn count(&self) -> usize {
        self.words
            .iter()
            .map(|word| word.count_ones() as usize)
            .sum()
    }

    /// Iterates over the ports in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = PortId> + '_ {
        let mut rest = *self;
        core::iter::from_fn(move || rest.take_first())
    }

    /// Returns the first port after `port` in ascending order, and round from the highest number to the lowest; `port`
    /// itself if it is the only one.
    pub fn next_after(&self, port: PortId) -> Option<PortId> {
        let (first, bit) = (port.index() / 64, port.index() % 64);
        let above = u64::MAX << bit << 1;
        let word_of = |step: usize| {
            let index = (first + step) % WORD_COUNT;
            let word = match step {
                0 => self.words[index] & above,
                WORD_COUNT => self.words[index] & !above,
                _ => self.words[index],
            };
            (word != 0).then(|| index * 64 + word.trailing_zeros() as usize)
        };
        (0..=WORD_COUNT)
            .find_map(word_of)
            .and_then(PortId::from_index)
    }

    /// Removes and returns the port with the lowest number.
    #[inline]
    pub fn take_first(&mut self) -> Option<PortId> {
        for (index, word) in self.words.iter_mut().enumerate() {
            if *word != 0 {
                let bit = word.trailing_zeros() as usize;
                *word &= *word - 1;
                return PortId::from_index(index * 64 + bit);
            }
        }
        None
    }
}

impl FromIterator<PortId> for PortSet {
    fn from_iter<I: IntoIterator<Item = PortId>>(ports: I) -> Self {
        let mut set = Self::EMPTY;
        for port in ports {
            set.insert(port);
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iterates_in_port_order() {
        let numbers = [255u8, 0, 63, 64, 130];
        let mut set: PortSet = numbers.iter().map(|n| PortId::new(*n)).collect();
        let seen: Vec<u8> = set.iter().map(PortId::get).collect();
        assert_eq!(seen, [0, 63, 64, 130, 255]);
        assert_eq!(set.count(), 5);
        set.remove(PortId::new(64));
        assert!(!set.contains(PortId::new(64)));
        assert!(set.contains(PortId::new(63)));
        let mut other = PortSet::from_iter([PortId::new(7), PortId::new(130)]);
        other.insert_all(&set);
        let seen: Vec<u8> = other.iter().map(PortId::get).collect();
        assert_eq!(seen, [0, 7, 63, 130, 255]);
    }

    #[test]
    fn the_next_port_is_found_all_the_way_round() {
        for numbers in [&[255u8, 0, 63, 64, 130][..], &[63], &[200, 201], &[]] {
            let set: PortSet = numbers.iter().map(|n| PortId::new(*n)).collect();
            for from in 0..=255u8 {
                let steps = (1..=256u16).map(|step| PortId::new((u16::from(from) + step) as u8));
                let expected = steps.into_iter().find(|port| set.contains(*port));
                assert_eq!(
                    set.next_after(PortId::new(from)),
                    expected,
                    "{numbers:?}, {from}"
                );
            }
        }
    }
}
