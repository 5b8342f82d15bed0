//! VLANs of IEEE 802.1Q: numbers, tags, and sets of numbers.

use crate::units::Priority;

/// Numbers below this one name VLANs: 4095 (0xFFF) is reserved and never on a line (802.1Q, table 9-2).
pub const VLAN_COUNT: usize = 4095;

/// A VLAN: 1 to 4094, or 0 for [untagged frames without one](Self::UNTAGGED).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VlanId(u16);

impl VlanId {
    /// VLAN of frames that arrive untagged on a trunk, as in Open vSwitch. Its frames leave untagged everywhere: number
    /// 0 in a tag (a *priority tag*) means that the frame has no VLAN.
    pub const UNTAGGED: Self = Self(0);

    /// Returns a VLAN; `None` from 4095 on.
    pub const fn new(number: u16) -> Option<Self> {
        if (number as usize) < VLAN_COUNT {
            Some(Self(number))
        } else {
            None
        }
    }

    /// Its number.
    pub const fn get(self) -> u16 {
        self.0
    }

    /// Index into arrays of [`VLAN_COUNT`].
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl core::fmt::Display for VlanId {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.0.fmt(f)
    }
}

/// The control information of a tag with EtherType 0x8100 (a C-tag): priority code point, drop eligibility, and VLAN
/// number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VlanTag(u16);

impl VlanTag {
    /// Creates a tag with this priority and VLAN.
    pub const fn new(priority: Priority, vlan: VlanId) -> Self {
        Self((priority.get() as u16) << 13 | vlan.0)
    }

    /// Creates a tag from its 16 bits in a frame.
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    /// The 16 bits in a frame.
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// The VLAN; `None` for the reserved number.
    pub const fn vlan(self) -> Option<VlanId> {
        VlanId::new(self.0 & 0xfff)
    }

    /// Returns the same priority and drop eligibility with another VLAN.
    #[must_use]
    pub const fn in_vlan(self, vlan: VlanId) -> Self {
        Self(self.0 & 0xf000 | vlan.0)
    }
}

/// A set of VLANs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct VlanSet([u64; 64]);

impl VlanSet {
    /// The empty set.
    pub const EMPTY: Self = Self([0; 64]);

    /// All VLANs, including that of untagged frames.
    pub fn all() -> Self {
        (0..VLAN_COUNT as u16).filter_map(VlanId::new).collect()
    }

    /// Returns true if the set contains `vlan`.
    #[inline]
    pub fn contains(&self, vlan: VlanId) -> bool {
        self.0[usize::from(vlan.0 >> 6) & 63] >> (vlan.0 & 63) & 1 != 0
    }

    /// Adds `vlan`.
    pub fn insert(&mut self, vlan: VlanId) {
        self.0[usize::from(vlan.0 >> 6) & 63] |= 1 << (vlan.0 & 63);
    }

    /// Removes `vlan`.
    pub fn remove(&mut self, vlan: VlanId) {
        self.0[usize::from(vlan.0 >> 6) & 63] &= !(1 << (vlan.0 & 63));
    }

    /// Returns true if the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0 == [0; 64]
    }

    /// Iterates over the VLANs in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = VlanId> + '_ {
        let all = (0..VLAN_COUNT as u16).filter_map(VlanId::new);
        all.filter(|vlan| self.contains(*vlan))
    }

    /// Returns the VLANs that are also in `others`.
    #[must_use]
    pub fn and(&self, others: &Self) -> Self {
        let mut both = *self;
        for (word, other) in both.0.iter_mut().zip(others.0) {
            *word &= other;
        }
        both
    }

    /// The next VLAN after `last`, cyclically. O(1).
    pub fn next_after(&self, last: VlanId) -> Option<VlanId> {
        let begin = usize::from(last.0) + 1;
        let first_in = |index: usize, from: usize| {
            let word = self.0.get(index)? >> from << from;
            let at = index * 64 + word.trailing_zeros() as usize;
            (word != 0).then(|| VlanId::new(at as u16)).flatten()
        };
        let words = self.0.len();
        let own = (begin / 64).min(words - 1);
        let behind = first_in(own, begin % 64);
        behind
            .or_else(|| (own + 1..words).find_map(|index| first_in(index, 0)))
            .or_else(|| (0..=own).find_map(|index| first_in(index, 0)))
    }

    /// The minimal list of ranges (first, last), in ascending order.
    pub fn ranges(&self) -> Vec<(VlanId, VlanId)> {
        let mut ranges: Vec<(VlanId, VlanId)> = Vec::new();
        for vlan in self.iter() {
            match ranges.last_mut() {
                Some((_, last)) if last.0 + 1 == vlan.0 => *last = vlan,
                _ => ranges.push((vlan, vlan)),
            }
        }
        ranges
    }
}

impl FromIterator<VlanId> for VlanSet {
    fn from_iter<I: IntoIterator<Item = VlanId>>(vlans: I) -> Self {
        let mut set = Self::EMPTY;
        vlans.into_iter().for_each(|vlan| set.insert(vlan));
        set
    }
}

impl core::fmt::Debug for VlanSet {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let ranges = self.ranges();
        f.debug_set()
            .entries(ranges.iter().map(|(first, last)| first.0..=last.0))
            .finish()
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn goes_round_in_order() {
        let set: VlanSet = [0, 63, 64, 4094]
            .into_iter()
            .filter_map(VlanId::new)
            .collect();
        let mut at = VlanId::UNTAGGED;
        let seen: Vec<u16> = std::iter::repeat_with(|| {
            at = set.next_after(at).unwrap();
            at.get()
        })
        .take(6)
        .collect();
        assert_eq!(seen, [63, 64, 4094, 0, 63, 64]);
        assert_eq!(VlanSet::EMPTY.next_after(at), None);
        let last = VlanId::new(4094).unwrap();
        let only: VlanSet = [last].into_iter().collect();
        assert_eq!(only.next_after(last), Some(last));
        assert_eq!(set.and(&only), only);
    }

    use super::*;

    fn vlan(number: u16) -> VlanId {
        VlanId::new(number).unwrap()
    }

    #[test]
    fn a_set_contains_what_was_inserted() {
        let numbers = [0, 1, 2, 63, 64, 127, 4094];
        let set: VlanSet = numbers.into_iter().map(vlan).collect();
        assert_eq!(set.iter().map(VlanId::get).collect::<Vec<_>>(), numbers);
        assert_eq!(
            format!("{set:?}"),
            "{0..=2, 63..=64, 127..=127, 4094..=4094}"
        );
        assert!(!set.contains(vlan(3)) && !set.is_empty() && VlanSet::EMPTY.is_empty());
        assert_eq!(VlanSet::all().ranges(), [(vlan(0), vlan(4094))]);
    }

    #[test]
    fn a_tag_keeps_its_priority_in_another_vlan() {
        let tag = VlanTag::from_bits(0xb064);
        assert_eq!(tag.vlan(), VlanId::new(100));
        assert_eq!(tag.in_vlan(vlan(7)).bits(), 0xb007);
        assert_eq!(VlanTag::new(Priority::ALL[5], vlan(7)).bits(), 0xa007);
        assert_eq!(VlanTag::from_bits(0x0fff).vlan(), None);
    }
}
