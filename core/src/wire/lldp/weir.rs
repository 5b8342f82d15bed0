//! What one Weir switch tells another: an organisationally specific TLV (IEEE 802.1AB clause 8.6).
//!
//! | offset in the TLV | length | field |
//! |---|---|---|
//! | 0 | 2 | type 127, length 16 |
//! | 2 | 3 | OUI 02-57-45 (".WE") |
//! | 5 | 1 | subtype 1 |
//! | 6 | 1 | version 1 |
//! | 7 | 1 | flags: bit 0 the Level protocol is spoken, bit 1 CLCM is spoken (SPUIDs are understood) |
//! | 8 | 1 | D, the longest route in links; at least 1 with flag bit 0, zero without |
//! | 9 | 1 | reserved |
//! | 10 | 4 | modes of priorities 0 to 7, four bits each, priority 0 in the upper half of the first byte: 0 lossy, 1 pfc, 2 level |
//! | 14 | 4 | reserved |
//!
//! The OUI is not one that the IEEE assigned, nor can it be: its first byte has the bit of local
//! administration and lies in the quadrant for administratively assigned identifiers (IEEE 802c). Who
//! picks the same three bytes for another purpose collides with us, which version and field checks make
//! improbable but not impossible.
//!
//! Reserved bits and bytes are sent as zero and ignored on receipt, as is what follows the last field.
//! Mode `level` needs flag bit 0; it and any other mode or D without a meaning make the TLV malformed. Any
//! other version of the TLV is known to be there and no more. Should there be one, a switch that speaks
//! both sends this one first.

use core::num::NonZeroU8;

use super::dcbx::{pack_nibbles, unpack_nibbles};
use crate::units::PRIORITY_COUNT;

/// OUI and subtype.
pub(super) const ORGANISATION: [u8; 4] = [0x02, 0x57, 0x45, 1];
/// What follows the subtype.
pub(super) const LENGTH: usize = 12;

const VERSION: u8 = 1;
const LEVEL_PROTOCOL: u8 = 1 << 0;
const CLCM: u8 = 1 << 1;

/// The TLV's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weir {
    /// Version 1.
    V1(WeirV1),
    /// A version that is not known here. It is not sent.
    Unknown(UnknownVersion),
}

/// A version other than 1, as it was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownVersion(u8);

impl UnknownVersion {
    /// The version's number.
    pub const fn get(self) -> u8 {
        self.0
    }
}

/// How a neighbour treats a priority when it is congested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AnnouncedMode {
    /// It drops frames.
    #[default]
    Lossy,
    /// It pauses the priority (802.1Qbb).
    Pfc,
    /// It sends Transmit Feedback (the Level protocol).
    Level,
}

impl AnnouncedMode {
    const fn from_wire(value: u8) -> Option<Self> {
        match value {
            0 => Some(Self::Lossy),
            1 => Some(Self::Pfc),
            2 => Some(Self::Level),
            _ => None,
        }
    }

    const fn to_wire(self) -> u8 {
        match self {
            Self::Lossy => 0,
            Self::Pfc => 1,
            Self::Level => 2,
        }
    }
}

/// Version 1 of the TLV. No value says that a priority is under the Level protocol in a switch that does
/// not speak it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WeirV1 {
    level_max: Option<NonZeroU8>,
    clcm: bool,
    modes: [AnnouncedMode; PRIORITY_COUNT],
}

impl WeirV1 {
    /// `None` when a mode is [`AnnouncedMode::Level`] without a `level_max`.
    pub fn new(
        level_max: Option<NonZeroU8>,
        clcm: bool,
        modes: [AnnouncedMode; PRIORITY_COUNT],
    ) -> Option<Self> {
        let legal = level_max.is_some() || !modes.contains(&AnnouncedMode::Level);
        legal.then_some(Self {
            level_max,
            clcm,
            modes,
        })
    }

    /// D, the greatest Level and the longest route in links; `None` in a switch that does not speak the
    /// Level protocol.
    pub fn level_max(&self) -> Option<NonZeroU8> {
        self.level_max
    }

    /// It takes part in CLCM elections and understands SPUIDs.
    pub fn clcm(&self) -> bool {
        self.clcm
    }

    /// By priority.
    pub fn modes(&self) -> [AnnouncedMode; PRIORITY_COUNT] {
        self.modes
    }

    fn from_wire(value: &[u8]) -> Option<Self> {
        let bytes: &[u8; LENGTH] = value.first_chunk()?;
        let [_version, flags, level_max, _reserved, a, b, c, d, ..] = *bytes;
        let level_max = NonZeroU8::new(level_max);
        if level_max.is_some() != (flags & LEVEL_PROTOCOL != 0) {
            return None;
        }
        let mut modes = [AnnouncedMode::Lossy; PRIORITY_COUNT];
        for (mode, value) in modes.iter_mut().zip(unpack_nibbles(&[a, b, c, d])) {
            *mode = AnnouncedMode::from_wire(value)?;
        }
        Self::new(level_max, flags & CLCM != 0, modes)
    }

    pub(super) fn to_wire(self) -> [u8; LENGTH] {
        let mut bytes = [0; LENGTH];
        bytes[0] = VERSION;
        if let Some(level_max) = self.level_max {
            bytes[1] |= LEVEL_PROTOCOL;
            bytes[2] = level_max.get();
        }
        if self.clcm {
            bytes[1] |= CLCM;
        }
        bytes[4..8].copy_from_slice(&pack_nibbles(self.modes.map(AnnouncedMode::to_wire)));
        bytes
    }
}

impl Weir {
    pub(super) fn from_wire(value: &[u8]) -> Option<Self> {
        match *value.first()? {
            VERSION => WeirV1::from_wire(value).map(Self::V1),
            other => Some(Self::Unknown(UnknownVersion(other))),
        }
    }
}
