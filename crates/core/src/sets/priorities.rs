//! Sets of priorities.

use crate::units::Priority;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PrioritySet(pub(crate) u8);

impl PrioritySet {
    pub(crate) fn insert(&mut self, priority: Priority) {
        self.0 |= 1 << priority.get();
    }

    pub(crate) fn remove(&mut self, priority: Priority) {
        self.0 &= !(1 << priority.get());
    }

    pub(crate) fn contains(self, priority: Priority) -> bool {
        self.0 & (1 << priority.get()) != 0
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    #[inline]
    pub(crate) fn single(self) -> Option<Priority> {
        let only = self.0 != 0 && self.0 & (self.0 - 1) == 0;
        only.then(|| Priority::from_low_bits(self.0.trailing_zeros() as u8))
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = Priority> {
        let mut rest = self.0;
        core::iter::from_fn(move || {
            let priority = *Priority::ALL.get(rest.trailing_zeros() as usize)?;
            rest &= rest - 1;
            Some(priority)
        })
    }
}
