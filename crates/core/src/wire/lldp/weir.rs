//! Announcement between Weir switches: an organisationally specific TLV (IEEE 802.1AB clause 8.6).
//!
//! | offset in the TLV | length | field |
//! |---|---|---|
//! | 0 | 2 | type 127, length 16 |
//! | 2 | 3 | OUI 02-57-45 (".WE") |
//! | 5 | 1 | subtype 1 |
//! | 6 | 1 | version 1, of this TLV and of the Level protocol |
//! | 7 | 1 | flags: bit 0 CLCM is supported (SPUIDs are understood); bit 1 the neighbour is heard (below); bits 3 and 2 coding of Feedback |
//! | 8 | 2 | reserved |
//! | 10 | 8 | priorities 0 to 7, one byte each: bits 7 to 5 its mode (0 lossy, 1 pfc, 2 level), bits 4 to 0 its D |
//!
//! D, the longest route in links, is 1 to 31 with mode `level` and zero with any other. A class with credits has mode
//! `pfc`, which it is towards neighbours without credits: older switches would call any further mode malformed. Its
//! credits are in a [TLV of their own](super::credits).
//!
//! The neighbour is heard: one switch on this link announces the same D for the same classes, and its Feedback is
//! obeyed even without an XOFF or a trailing zero. Only a sender with that information may omit them. Feedback is coded
//! as 1 pfc, 2 pause, 3 grants; 0 names no coding. Both are in formerly reserved bits: an announcement without them
//! comes from an older switch, and promises nothing.
//!
//! The OUI is not assigned by the IEEE and cannot be. Its first byte has the bit of local administration and is in the
//! quadrant for administratively assigned identifiers (IEEE 802c). A vendor that picks the same three bytes for another
//! purpose collides with us, which version and field checks make improbable but not impossible.
//!
//! Reserved bits and bytes are sent as zero and ignored on receipt, as are bytes after the last field. Any other mode,
//! and a D without a meaning, make the TLV malformed. Of any other version, only the number is known. If there is ever
//! one, a switch that supports both sends this one first.

use core::num::NonZeroU8;

use crate::config::FeedbackCoding;
use crate::level::{Level, LEVEL_MAX};
use crate::units::PRIORITY_COUNT;

/// OUI and subtype.
pub(super) const ORGANISATION: [u8; 4] = [0x02, 0x57, 0x45, 1];
/// Length of the part after the subtype.
pub(super) const LENGTH: usize = 4 + PRIORITY_COUNT;

const VERSION: u8 = 1;
const CLCM: u8 = 1 << 0;
const HEARS: u8 = 1 << 1;
const CODING_SHIFT: u32 = 2;
const CODING_MASK: u8 = 0b11;
const MODE_SHIFT: u32 = 5;
const DEPTH_MASK: u8 = (1 << MODE_SHIFT) - 1;

// Every configurable D fits.
const _: () = assert!(LEVEL_MAX <= DEPTH_MASK as usize);

/// Contents of the TLV.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weir {
    /// Version 1.
    V1(WeirV1),
    /// An unknown version. Never sent.
    Unknown(UnknownVersion),
}

/// A version other than 1, as received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownVersion(pub(super) u8);

impl UnknownVersion {
    /// The version number.
    pub const fn get(self) -> u8 {
        self.0
    }
}

/// D of a class with Levels, in links: 1 to [`LEVEL_MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Depth(NonZeroU8);

impl Depth {
    /// Creates a D; `None` for zero, the D of a class without Levels.
    pub const fn new(depth: Level) -> Option<Self> {
        match NonZeroU8::new(depth.get()) {
            Some(depth) => Some(Self(depth)),
            None => None,
        }
    }

    /// The number of links.
    pub const fn get(self) -> u8 {
        self.0.get()
    }
}

/// Treatment of a congested priority by a neighbour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AnnouncedMode {
    /// It drops frames.
    #[default]
    Lossy,
    /// It pauses the priority (802.1Qbb).
    Pfc,
    /// It sends Transmit Feedback (the Level protocol) for routes of up to D links.
    Level(Depth),
}

impl AnnouncedMode {
    fn from_wire(byte: u8) -> Option<Self> {
        let depth = byte & DEPTH_MASK;
        match byte >> MODE_SHIFT {
            0 if depth == 0 => Some(Self::Lossy),
            1 if depth == 0 => Some(Self::Pfc),
            2 => Level::new(depth).and_then(Depth::new).map(Self::Level),
            _ => None,
        }
    }

    fn to_wire(self) -> u8 {
        match self {
            Self::Lossy => 0,
            Self::Pfc => 1 << MODE_SHIFT,
            Self::Level(depth) => 2 << MODE_SHIFT | depth.get(),
        }
    }

    /// Returns true for the Level protocol.
    pub const fn is_level(self) -> bool {
        matches!(self, Self::Level(_))
    }
}

impl core::fmt::Display for AnnouncedMode {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Lossy => formatter.write_str("lossy"),
            Self::Pfc => formatter.write_str("pfc"),
            Self::Level(depth) => write!(formatter, "level with D = {}", depth.get()),
        }
    }
}

/// Version 1 of the TLV.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WeirV1 {
    /// It takes part in CLCM elections and understands SPUIDs.
    pub clcm: bool,
    /// It hears a neighbour with the same D for the same classes, and obeys its Feedback without an XOFF.
    pub hears: bool,
    /// Configured coding of Feedback; `None` from a switch too old to announce it.
    pub coding: Option<FeedbackCoding>,
    /// By priority.
    pub modes: [AnnouncedMode; PRIORITY_COUNT],
}

impl WeirV1 {
    fn from_wire(value: &[u8]) -> Option<Self> {
        let bytes: &[u8; LENGTH] = value.first_chunk()?;
        let [_version, flags, _, _, classes @ ..] = *bytes;
        let mut modes = [AnnouncedMode::Lossy; PRIORITY_COUNT];
        for (mode, byte) in modes.iter_mut().zip(classes) {
            *mode = AnnouncedMode::from_wire(byte)?;
        }
        Some(Self {
            clcm: flags & CLCM != 0,
            hears: flags & HEARS != 0,
            coding: coding_from_wire(flags >> CODING_SHIFT & CODING_MASK),
            modes,
        })
    }

    pub(super) fn to_wire(self) -> [u8; LENGTH] {
        let mut bytes = [0; LENGTH];
        bytes[0] = VERSION;
        if self.clcm {
            bytes[1] |= CLCM;
        }
        if self.hears {
            bytes[1] |= HEARS;
        }
        bytes[1] |= coding_to_wire(self.coding) << CODING_SHIFT;
        bytes[4..].copy_from_slice(&self.modes.map(AnnouncedMode::to_wire));
        bytes
    }
}

fn coding_from_wire(bits: u8) -> Option<FeedbackCoding> {
    match bits {
        1 => Some(FeedbackCoding::Pfc),
        2 => Some(FeedbackCoding::Pause),
        3 => Some(FeedbackCoding::Grants),
        _ => None,
    }
}

fn coding_to_wire(coding: Option<FeedbackCoding>) -> u8 {
    match coding {
        None => 0,
        Some(FeedbackCoding::Pfc) => 1,
        Some(FeedbackCoding::Pause) => 2,
        Some(FeedbackCoding::Grants) => 3,
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
