//! ETS and PFC in data centre bridging exchange, DCBX (IEEE 802.1Q clause 38 and annex D.2, from
//! 802.1Qaz), and mismatches between two neighbours' PFC.
//!
//! The older DCBX (CIN, CEE) has its own OUI and is not read: a neighbour that uses nothing else counts as one that
//! announces nothing about PFC.

use core::fmt;

use crate::units::{Priority, PRIORITY_COUNT};

/// OUI of IEEE 802.1, and subtype (table D-1).
pub(super) const ETS_CONFIGURATION: [u8; 4] = [0x00, 0x80, 0xc2, 9];
pub(super) const PFC_CONFIGURATION: [u8; 4] = [0x00, 0x80, 0xc2, 11];

/// Length of the part after the subtype.
pub(super) const ETS_LENGTH: usize = 1 + PRIORITY_COUNT / 2 + 2 * CLASS_COUNT;
pub(super) const PFC_LENGTH: usize = 2;

const WILLING: u8 = 1 << 7;
const CREDIT_BASED_SHAPER: u8 = 1 << 6;
const MACSEC_BYPASS: u8 = 1 << 6;

/// Maximum number of traffic classes of a port (IEEE 802.1Q clause 8.6.6).
pub const CLASS_COUNT: usize = 8;

/// Two values of four bits in each byte, the first in the upper half.
fn pack_nibbles(values: [u8; PRIORITY_COUNT]) -> [u8; PRIORITY_COUNT / 2] {
    core::array::from_fn(|index| values[2 * index] << 4 | values[2 * index + 1] & 0x0f)
}

/// The inverse of [`pack_nibbles`].
fn unpack_nibbles(bytes: &[u8; PRIORITY_COUNT / 2]) -> [u8; PRIORITY_COUNT] {
    core::array::from_fn(|index| bytes[index / 2] >> (4 * (1 - index % 2)) & 0x0f)
}

/// A set of priorities; bit *i* is priority *i*. Written out as `3,4`, or `none`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PrioritySet(pub u8);

impl PrioritySet {
    /// The empty set.
    pub const EMPTY: Self = Self(0);

    /// Returns true if the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns true if `priority` is in the set.
    pub const fn contains(self, priority: Priority) -> bool {
        self.0 & (1 << priority.get()) != 0
    }

    /// The set with `priority` added.
    #[must_use]
    pub const fn with(self, priority: Priority) -> Self {
        Self(self.0 | 1 << priority.get())
    }

    /// Returns the priorities of this set that are not in `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Returns the priorities that are in both sets.
    #[must_use]
    pub const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Returns the priorities that are in either set.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Iterates over the priorities, lowest first.
    pub fn iter(self) -> impl Iterator<Item = Priority> {
        Priority::ALL
            .into_iter()
            .filter(move |priority| self.contains(*priority))
    }
}

impl fmt::Display for PrioritySet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return formatter.write_str("none");
        }
        for (index, priority) in self.iter().enumerate() {
            let separator = if index == 0 { "" } else { "," };
            write!(formatter, "{separator}{priority}")?;
        }
        Ok(())
    }
}

/// One of eight traffic classes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TrafficClass(u8);

impl TrafficClass {
    /// Creates a traffic class; `None` above 7.
    pub const fn new(number: u8) -> Option<Self> {
        if number < CLASS_COUNT as u8 {
            Some(Self(number))
        } else {
            None
        }
    }

    /// 0 to 7.
    pub const fn get(self) -> u8 {
        self.0
    }
}

/// Number of traffic classes of a system: 1 to 8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClassCount(u8);

impl ClassCount {
    /// All eight.
    pub const EIGHT: Self = Self(CLASS_COUNT as u8);

    /// Creates a count; `None` unless it is 1 to 8.
    pub const fn new(count: u8) -> Option<Self> {
        if count >= 1 && count <= CLASS_COUNT as u8 {
            Some(Self(count))
        } else {
            None
        }
    }

    /// 1 to 8.
    pub const fn get(self) -> u8 {
        self.0
    }
}

/// Percentage of the bandwidth left by strict priorities, for each traffic class: 100 in total, or all zero if no class
/// uses ETS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct BandwidthTable([u8; CLASS_COUNT]);

impl BandwidthTable {
    /// All zero.
    pub const ZERO: Self = Self([0; CLASS_COUNT]);

    /// Creates a table; `None` unless the percentages are 100 in total or all zero.
    pub fn new(percent: [u8; CLASS_COUNT]) -> Option<Self> {
        let sum: u16 = percent.iter().copied().map(u16::from).sum();
        matches!(sum, 0 | 100).then_some(Self(percent))
    }

    /// Percentages in proportion to `weights`, each at most one off and 100 in total; zero if all weights are.
    pub fn from_weights(weights: [u16; CLASS_COUNT]) -> Self {
        let total: u32 = weights.iter().copied().map(u32::from).sum();
        if total == 0 {
            return Self::ZERO;
        }
        // Rounding the running sum and not each share leaves no remainder.
        let (mut sum, mut given) = (0, 0);
        Self(weights.map(|weight| {
            sum += u32::from(weight);
            let upto = (sum * 100 + total / 2) / total;
            let share = upto - given;
            given = upto;
            share as u8
        }))
    }

    /// By traffic class.
    pub const fn percent(self) -> [u8; CLASS_COUNT] {
        self.0
    }
}

/// Transmission selection of a traffic class (IEEE 802.1Q clause 8.6.8). Values without a name are
/// reserved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TransmissionSelection(pub u8);

impl TransmissionSelection {
    /// Strict priority.
    pub const STRICT: Self = Self(0);
    /// The credit-based shaper.
    pub const CREDIT_BASED: Self = Self(1);
    /// Enhanced transmission selection: a share of the bandwidth.
    pub const ETS: Self = Self(2);
    /// Vendor-specific.
    pub const VENDOR: Self = Self(255);
}

/// Sharing of bandwidth among priorities by the sender (clause D.2.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EtsConfiguration {
    /// It adopts its neighbour's recommendation.
    pub willing: bool,
    /// It supports the credit-based shaper.
    pub credit_based_shaper: bool,
    /// Number of traffic classes.
    pub classes_max: ClassCount,
    /// Traffic class of each priority.
    pub assignment: [TrafficClass; PRIORITY_COUNT],
    /// Share of each traffic class.
    pub bandwidth: BandwidthTable,
    /// Transmission selection of each traffic class.
    pub selection: [TransmissionSelection; CLASS_COUNT],
}

impl EtsConfiguration {
    pub(super) fn from_wire(value: &[u8]) -> Option<Self> {
        let (&flags, value) = value.split_first()?;
        let (assignment, value) = value.split_first_chunk()?;
        let (bandwidth, value) = value.split_first_chunk()?;
        let selection: &[u8; CLASS_COUNT] = value.first_chunk()?;
        let classes = unpack_nibbles(assignment);
        let assignment = classes.map(|class| TrafficClass(class & 7));
        // Values of 8 and more are reserved.
        if classes
            .iter()
            .any(|&class| TrafficClass::new(class).is_none())
        {
            return None;
        }
        Some(Self {
            willing: flags & WILLING != 0,
            credit_based_shaper: flags & CREDIT_BASED_SHAPER != 0,
            // Zero stands for eight.
            classes_max: ClassCount::new(flags & 7).unwrap_or(ClassCount::EIGHT),
            assignment,
            bandwidth: BandwidthTable::new(*bandwidth)?,
            selection: selection.map(TransmissionSelection),
        })
    }

    pub(super) fn to_wire(self) -> [u8; ETS_LENGTH] {
        let mut bytes = [0; ETS_LENGTH];
        bytes[0] = bit(WILLING, self.willing)
            | bit(CREDIT_BASED_SHAPER, self.credit_based_shaper)
            | self.classes_max.get() & 7;
        bytes[1..5].copy_from_slice(&pack_nibbles(self.assignment.map(TrafficClass::get)));
        bytes[5..13].copy_from_slice(&self.bandwidth.percent());
        bytes[13..].copy_from_slice(&self.selection.map(|selection| selection.0));
        bytes
    }
}

const fn bit(mask: u8, set: bool) -> u8 {
    if set {
        mask
    } else {
        0
    }
}

/// Number of traffic classes that can use PFC at the same time: four bits, of which values above 8 mean 8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PfcCapability(u8);

impl PfcCapability {
    /// PFC for every class.
    pub const EIGHT: Self = Self(8);

    /// Creates a count; `None` above 15.
    pub const fn new(count: u8) -> Option<Self> {
        if count < 16 {
            Some(Self(count))
        } else {
            None
        }
    }

    /// 0 to 15.
    pub const fn get(self) -> u8 {
        self.0
    }
}

/// Priorities that the sender pauses and expects to be paused (clause D.2.10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PfcConfiguration {
    /// It adopts its neighbour's configuration.
    pub willing: bool,
    /// MACsec bypass capability, as sent: true for a system that can *not* bypass MACsec when MACsec is disabled.
    pub mbc: bool,
    /// Number of classes that can use PFC at the same time.
    pub capability: PfcCapability,
    /// Priorities with PFC.
    pub enabled: PrioritySet,
}

impl PfcConfiguration {
    /// Returns the announcement of a switch that uses PFC for `enabled` and is not willing to change.
    pub const fn fixed(enabled: PrioritySet) -> Self {
        Self {
            willing: false,
            mbc: false,
            capability: PfcCapability::EIGHT,
            enabled,
        }
    }

    /// Returns the difference between this configuration and a neighbour's, both as announced on one link, in the parts
    /// that make the link lossless. `None` if they agree; a neighbour that announces nothing agrees with one that uses
    /// PFC for no priority.
    pub fn mismatch(&self, neighbour: Option<&Self>) -> Option<PfcMismatch> {
        let ours = self.enabled;
        match neighbour {
            None if ours.is_empty() => None,
            None => Some(PfcMismatch::NotAnnounced { ours }),
            Some(neighbour) if neighbour.enabled == ours => None,
            Some(neighbour) => Some(PfcMismatch::Enabled {
                ours,
                theirs: neighbour.enabled,
                willing: neighbour.willing,
            }),
        }
    }

    pub(super) fn from_wire(value: &[u8]) -> Option<Self> {
        let [flags, enabled] = *value.first_chunk()?;
        Some(Self {
            willing: flags & WILLING != 0,
            mbc: flags & MACSEC_BYPASS != 0,
            capability: PfcCapability(flags & 0x0f),
            enabled: PrioritySet(enabled),
        })
    }

    pub(super) fn to_wire(self) -> [u8; PFC_LENGTH] {
        let flags = bit(WILLING, self.willing) | bit(MACSEC_BYPASS, self.mbc);
        [flags | self.capability.get(), self.enabled.0]
    }
}

/// Mismatch between our PFC configuration and a neighbour's: frames of some priority are lost, or blocked for good
/// because the neighbour is never sent an XON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PfcMismatch {
    /// The neighbour's announcement has no valid PFC Configuration TLV, and we use PFC.
    #[error("PFC is on for priorities {ours} here, the neighbour announces none")]
    NotAnnounced {
        /// Priorities with PFC here.
        ours: PrioritySet,
    },
    /// Both announce PFC, for different priorities.
    #[error(
        "PFC is on for priorities {ours} here and {theirs} at the neighbour{}",
        if *willing { ", which is willing to change" } else { "" }
    )]
    Enabled {
        /// Priorities with PFC here.
        ours: PrioritySet,
        /// Priorities with PFC at the neighbour.
        theirs: PrioritySet,
        /// The neighbour adopts our configuration once it has seen it, if ours is not willing: the mismatch may end
        /// with its next announcement.
        willing: bool,
    },
}
