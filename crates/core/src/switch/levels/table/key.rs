//! Keys of entries in the Level Table.

use crate::units::{MacAddress, Priority, PRIORITY_COUNT};

/// A destination of a priority: the address as a number, the priority above it, and above that the ingress port if
/// entries are per ingress port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key(pub(super) u64);

/// Position of the ingress port in a [`Key`].
pub(super) const INGRESS_SHIFT: u32 = 56;

impl Key {
    pub(super) fn new(priority: Priority, destination: MacAddress, ingress: u64) -> Self {
        let of_class = destination.to_u64() | u64::from(priority.get()) << 48;
        Self(of_class | ingress << INGRESS_SHIFT)
    }

    pub(super) fn priority(self) -> Priority {
        Priority::ALL[(self.0 >> 48) as usize % PRIORITY_COUNT]
    }

    pub(super) fn destination(self) -> MacAddress {
        MacAddress::from_u64(self.0)
    }
}
