//! LLDP (IEEE 802.1AB): discovery of the neighbour on a link and its capabilities.
//!
//! | offset | length | field |
//! |---|---|---|
//! | 0 | 6 | destination 01-80-C2-00-00-0E |
//! | 6 | 6 | source |
//! | 12 | 2 | EtherType 0x88CC |
//! | 14 | | Chassis ID, Port ID and Time To Live TLV, in this order (clauses 8.5.2 to 8.5.4) |
//! | | | optional TLVs in any order |
//! | | 2 | End Of LLDPDU TLV, zero (clause 8.5.1) |
//!
//! A TLV begins with 7 bits of type and 9 bits of length of the value (clause 8.4). These are read and written; any
//! other is skipped and counted:
//!
//! | type | OUI, subtype | TLV |
//! |---|---|---|
//! | 4, 5, 6 | | Port Description, System Name, System Description (clauses 8.5.5 to 8.5.7) |
//! | 7 | | System Capabilities (clause 8.5.8) |
//! | 127 | 00-80-C2, 9 | ETS Configuration (IEEE 802.1Q clause D.2.8, from 802.1Qaz) |
//! | 127 | 00-80-C2, 11 | PFC Configuration (D.2.10) |
//! | 127 | 00-80-C2, 12 | Application Priority (D.2.11) |
//! | 127 | 02-57-45, 1 | [`weir`]: exchanged between Weir switches |
//! | 127 | 02-57-45, 2 | [`credits`]: classes with credits, exchanged between Weir switches |
//!
//! The parser refuses a frame if its sender, or the end of a TLV, is in doubt. A bad optional TLV is skipped alone, as
//! in the standard's rxProcessFrame(), and counted in [`Skipped`]. Bytes after those in a TLV's definition are ignored,
//! so that a later edition may add some. The End TLV is always written but not required: the edition of 2016 made it
//! optional, and a frame may end where a TLV does.

pub mod application;
pub mod basic;
pub mod credits;
pub mod dcbx;
mod tlv;
pub mod weir;

use core::fmt;

use self::application::ApplicationTable;
use self::basic::{ChassisId, PortIdentifier, SystemCapabilities, Text, TimeToLive};
use self::credits::Credits;
use self::dcbx::{EtsConfiguration, PfcConfiguration};
use self::tlv::{Tlv, Tlvs, TLV_HEADER_LENGTH};
use self::weir::Weir;
use super::ethernet::{
    start_frame, EthernetView, FRAME_LENGTH_MIN, HEADER_LENGTH, NEAREST_BRIDGE_ADDRESS,
};
use crate::units::MacAddress;

/// EtherType of LLDP (IEEE 802.1AB clause 7).
pub const ETHERTYPE_LLDP: u16 = 0x88cc;
/// Length in bytes of the longest frame that [`Lldp::emit`] writes.
pub const FRAME_LENGTH_MAX: usize = HEADER_LENGTH
    + 2 * (TLV_HEADER_LENGTH + 1 + Text::LENGTH_MAX)
    + (TLV_HEADER_LENGTH + basic::TTL_LENGTH)
    + 3 * (TLV_HEADER_LENGTH + Text::LENGTH_MAX)
    + (TLV_HEADER_LENGTH + basic::CAPABILITIES_LENGTH)
    + (TLV_HEADER_LENGTH + tlv::ORGANISATION_LENGTH + dcbx::ETS_LENGTH)
    + (TLV_HEADER_LENGTH + tlv::ORGANISATION_LENGTH + dcbx::PFC_LENGTH)
    + (TLV_HEADER_LENGTH + tlv::ORGANISATION_LENGTH + application::LENGTH_MAX)
    + (TLV_HEADER_LENGTH + tlv::ORGANISATION_LENGTH + weir::LENGTH)
    + (TLV_HEADER_LENGTH + tlv::ORGANISATION_LENGTH + credits::LENGTH_MAX)
    + TLV_HEADER_LENGTH;

// Every announcement fits any Ethernet link.
const _: () = assert!(FRAME_LENGTH_MAX <= 1500);

/// One LLDP frame, without its source address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lldp {
    /// The sender. Together with `port` it identifies the announcement (the MSAP identifier).
    pub chassis: ChassisId,
    /// The sender's port.
    pub port: PortIdentifier,
    /// Contents.
    pub content: Content,
}

/// Contents of a frame about its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant)] // one in each port's neighbour entry, most of them filled
pub enum Content {
    /// A Time To Live of zero: forget this sender. Such a frame has no optional TLVs.
    Shutdown,
    /// An announcement.
    Announcement(Announcement),
}

/// Properties of the sender, valid until its time to live is over or the next announcement, which replaces all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Announcement {
    /// Lifetime of the announcement.
    pub ttl: TimeToLive,
    /// Description of the port.
    pub port_description: Option<Text>,
    /// The system's name, on most systems its host name.
    pub system_name: Option<Text>,
    /// Description of hardware and software.
    pub system_description: Option<Text>,
    /// Kind of system.
    pub capabilities: Option<SystemCapabilities>,
    /// Sharing of bandwidth.
    pub ets: Option<EtsConfiguration>,
    /// Priorities that it pauses.
    pub pfc: Option<PfcConfiguration>,
    /// Priorities of applications.
    pub applications: Option<ApplicationTable>,
    /// Sent only by Weir.
    pub weir: Option<Weir>,
    /// Sent only by Weir, if a class has credits.
    pub credits: Option<Credits>,
}

impl Announcement {
    /// Creates an announcement without any optional TLV.
    pub const fn new(ttl: TimeToLive) -> Self {
        Self {
            ttl,
            port_description: None,
            system_name: None,
            system_description: None,
            capabilities: None,
            ets: None,
            pfc: None,
            applications: None,
            weir: None,
            credits: None,
        }
    }
}

/// A parsed frame, and its skipped parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// The frame.
    pub lldp: Lldp,
    /// Skipped parts.
    pub skipped: Skipped,
}

/// Counts of the parts of an announcement that the parser skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// Unknown TLVs (statsTLVsUnrecognizedTotal).
    pub unknown: u16,
    /// Known TLVs with invalid contents (statsTLVsDiscardedTotal).
    pub malformed: u16,
    /// Repeated TLVs of a kind that may occur once; the first is kept.
    pub repeated: u16,
    /// Entries of an Application Priority TLV with a reserved selector, or beyond
    /// [`ENTRIES_MAX`](application::ENTRIES_MAX).
    pub applications: u16,
}

/// The mandatory TLVs of an LLDPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // names are the standard's
pub enum Mandatory {
    ChassisId,
    PortId,
    TimeToLive,
    End,
}

impl fmt::Display for Mandatory {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::ChassisId => "Chassis ID TLV",
            Self::PortId => "Port ID TLV",
            Self::TimeToLive => "Time To Live TLV",
            Self::End => "End Of LLDPDU TLV",
        })
    }
}

/// Reason for refusing a frame. Offsets are in bytes from the start of the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // the messages describe the fields
pub enum LldpError {
    #[error("offset {length}: the frame ends inside its Ethernet header")]
    NoHeader { length: usize },
    #[error("offset 0: destination {0} is not the nearest bridge")]
    Destination(MacAddress),
    #[error("offset 12: EtherType {0:#06x} is not LLDP's")]
    EtherType(u16),
    #[error("offset {offset}: the frame ends {missing} B before its last TLV does")]
    Truncated { offset: usize, missing: usize },
    #[error("offset {offset}: found a TLV of type {found}, expected the {expected}")]
    Order {
        offset: usize,
        expected: Mandatory,
        found: u8,
    },
    #[error("offset {offset}: the LLDPDU ends before the {expected}")]
    Missing { offset: usize, expected: Mandatory },
    #[error("offset {offset}: the {tlv} cannot have {length} B")]
    Length {
        offset: usize,
        tlv: Mandatory,
        length: usize,
    },
    #[error("offset {offset}: a second {tlv}")]
    Repeated { offset: usize, tlv: Mandatory },
}

/// Error: the buffer is too small; nothing was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the frame needs {needed} B and the buffer has {available} B")]
pub struct BufferTooSmall {
    /// Length of the frame.
    pub needed: usize,
    /// Length of the buffer.
    pub available: usize,
}

/// The bytes of an LLDP frame in which every TLV is complete.
#[derive(Clone, Copy, Debug)]
pub struct LldpView<'a>(&'a [u8]);

impl<'a> LldpView<'a> {
    /// Checks the header and that each TLV ends within the frame. Bytes after the End TLV are padding and ignored.
    ///
    /// # Errors
    ///
    /// See [`LldpError`]. Frames to the other group addresses (nearest non-TPMR bridge, nearest customer bridge) are
    /// refused: their senders need not be at the other end of this link.
    pub fn new_checked(frame: &'a [u8]) -> Result<Self, LldpError> {
        let ethernet = EthernetView::new_checked(frame).map_err(|_| LldpError::NoHeader {
            length: frame.len(),
        })?;
        if ethernet.ethertype() != ETHERTYPE_LLDP {
            return Err(LldpError::EtherType(ethernet.ethertype()));
        }
        if ethernet.destination() != NEAREST_BRIDGE_ADDRESS {
            return Err(LldpError::Destination(ethernet.destination()));
        }
        let mut tlvs = Tlvs::new(frame, HEADER_LENGTH);
        while tlvs.step()?.is_some() {}
        Ok(Self(frame))
    }

    fn to_repr(self) -> Result<Received, LldpError> {
        let mut tlvs = Tlvs::new(self.0, HEADER_LENGTH);
        let chassis = mandatory(&mut tlvs, Mandatory::ChassisId, ChassisId::from_wire)?;
        let port = mandatory(&mut tlvs, Mandatory::PortId, PortIdentifier::from_wire)?;
        let ttl = mandatory(&mut tlvs, Mandatory::TimeToLive, |value| {
            value.first_chunk().map(|bytes| u16::from_be_bytes(*bytes))
        })?;
        let mut skipped = Skipped::default();
        let content = match TimeToLive::new(ttl) {
            // The rest of a shutdown announcement has no meaning.
            None => Content::Shutdown,
            Some(ttl) => {
                let mut announcement = Announcement::new(ttl);
                while let Some(tlv) = tlvs.step()? {
                    announcement.read(&tlv, &mut skipped)?;
                }
                Content::Announcement(announcement)
            }
        };
        let lldp = Lldp {
            chassis,
            port,
            content,
        };
        Ok(Received { lldp, skipped })
    }
}

/// Returns the next TLV, which must be `expected`, as parsed by `read`.
fn mandatory<T>(
    tlvs: &mut Tlvs<'_>,
    expected: Mandatory,
    read: impl FnOnce(&[u8]) -> Option<T>,
) -> Result<T, LldpError> {
    let offset = tlvs.offset();
    let tlv = tlvs
        .step()?
        .ok_or(LldpError::Missing { offset, expected })?;
    if tlv::mandatory(tlv.kind) != Some(expected) {
        return Err(LldpError::Order {
            offset,
            expected,
            found: tlv.kind,
        });
    }
    read(tlv.value).ok_or(LldpError::Length {
        offset,
        tlv: expected,
        length: tlv.value.len(),
    })
}

/// Stores the contents of a TLV, unless it was malformed (`None`) or came before.
fn keep<T>(place: &mut Option<T>, value: Option<T>, skipped: &mut Skipped) {
    match value {
        None => count(&mut skipped.malformed),
        Some(_) if place.is_some() => count(&mut skipped.repeated),
        value => *place = value,
    }
}

fn count(counter: &mut u16) {
    *counter = counter.saturating_add(1);
}

impl Announcement {
    fn read(&mut self, tlv: &Tlv<'_>, skipped: &mut Skipped) -> Result<(), LldpError> {
        if let Some(mandatory) = tlv::mandatory(tlv.kind) {
            return Err(LldpError::Repeated {
                offset: tlv.offset,
                tlv: mandatory,
            });
        }
        let text = || Text::new(tlv.value);
        match tlv.kind {
            tlv::PORT_DESCRIPTION => keep(&mut self.port_description, text(), skipped),
            tlv::SYSTEM_NAME => keep(&mut self.system_name, text(), skipped),
            tlv::SYSTEM_DESCRIPTION => keep(&mut self.system_description, text(), skipped),
            tlv::SYSTEM_CAPABILITIES => {
                let capabilities = SystemCapabilities::from_wire(tlv.value);
                keep(&mut self.capabilities, capabilities, skipped);
            }
            tlv::ORGANISATIONALLY_SPECIFIC => self.read_organisation(tlv.value, skipped),
            _ => count(&mut skipped.unknown),
        }
        Ok(())
    }

    fn read_organisation(&mut self, value: &[u8], skipped: &mut Skipped) {
        let Some((organisation, value)) = value.split_first_chunk() else {
            return count(&mut skipped.malformed);
        };
        match *organisation {
            dcbx::ETS_CONFIGURATION => {
                keep(&mut self.ets, EtsConfiguration::from_wire(value), skipped);
            }
            dcbx::PFC_CONFIGURATION => {
                keep(&mut self.pfc, PfcConfiguration::from_wire(value), skipped);
            }
            application::ORGANISATION => {
                let read = ApplicationTable::from_wire(value);
                if let (Some((_, ignored)), None) = (&read, &self.applications) {
                    skipped.applications = *ignored;
                }
                let table = read.map(|(table, _)| table);
                keep(&mut self.applications, table, skipped);
            }
            weir::ORGANISATION => keep(&mut self.weir, Weir::from_wire(value), skipped),
            credits::ORGANISATION => keep(&mut self.credits, Credits::from_wire(value), skipped),
            _ => count(&mut skipped.unknown),
        }
    }

    /// Passes each TLV's type and the two parts of its value to `put`.
    fn for_each_tlv(&self, put: &mut impl FnMut(u8, &[u8], &[u8])) {
        for (kind, text) in [
            (tlv::PORT_DESCRIPTION, &self.port_description),
            (tlv::SYSTEM_NAME, &self.system_name),
            (tlv::SYSTEM_DESCRIPTION, &self.system_description),
        ] {
            if let Some(text) = text {
                put(kind, &[], text.as_bytes());
            }
        }
        if let Some(capabilities) = &self.capabilities {
            put(tlv::SYSTEM_CAPABILITIES, &[], &capabilities.to_wire());
        }
        let mut organisation =
            |head: &[u8], value: &[u8]| put(tlv::ORGANISATIONALLY_SPECIFIC, head, value);
        if let Some(ets) = &self.ets {
            organisation(&dcbx::ETS_CONFIGURATION, &ets.to_wire());
        }
        if let Some(pfc) = &self.pfc {
            organisation(&dcbx::PFC_CONFIGURATION, &pfc.to_wire());
        }
        if let Some(applications) = &self.applications {
            let (bytes, length) = applications.to_wire();
            organisation(&application::ORGANISATION, &bytes[..length]);
        }
        // An unknown version cannot be written.
        if let Some(Weir::V1(weir)) = &self.weir {
            organisation(&weir::ORGANISATION, &weir.to_wire());
        }
        if let Some(Credits::V1(credits)) = &self.credits {
            let (bytes, length) = credits.to_wire();
            organisation(&credits::ORGANISATION, &bytes[..length]);
        }
    }
}

impl Lldp {
    /// Parses a whole frame.
    ///
    /// # Errors
    ///
    /// See [`LldpError`].
    pub fn parse(frame: &[u8]) -> Result<Received, LldpError> {
        LldpView::new_checked(frame)?.to_repr()
    }

    /// Writes the whole frame with `source` as its source address, padded to 60 B, and returns its length in bytes.
    ///
    /// # Errors
    ///
    /// [`BufferTooSmall`], which is impossible with [`FRAME_LENGTH_MAX`] bytes.
    pub fn emit(&self, source: MacAddress, buffer: &mut [u8]) -> Result<usize, BufferTooSmall> {
        let mut length = HEADER_LENGTH + TLV_HEADER_LENGTH;
        self.for_each_tlv(&mut |_, head, tail| {
            length += TLV_HEADER_LENGTH + head.len() + tail.len();
        });
        let available = buffer.len();
        let frame = start_frame(
            buffer,
            length,
            NEAREST_BRIDGE_ADDRESS,
            source,
            ETHERTYPE_LLDP,
        )
        .ok_or(BufferTooSmall {
            needed: length.max(FRAME_LENGTH_MIN),
            available,
        })?;
        let mut at = HEADER_LENGTH;
        let mut write = |bytes: &[u8]| {
            frame[at..at + bytes.len()].copy_from_slice(bytes);
            at += bytes.len();
        };
        self.for_each_tlv(&mut |kind, head, tail| {
            write(&tlv::header(kind, head.len() + tail.len()));
            write(head);
            write(tail);
        });
        // The End TLV is zero, like all unwritten bytes.
        Ok(frame.len())
    }

    fn for_each_tlv(&self, put: &mut impl FnMut(u8, &[u8], &[u8])) {
        put(
            tlv::CHASSIS_ID,
            &[self.chassis.subtype()],
            self.chassis.as_bytes(),
        );
        put(tlv::PORT_ID, &[self.port.subtype()], self.port.as_bytes());
        let ttl = match &self.content {
            Content::Shutdown => 0,
            Content::Announcement(announcement) => announcement.ttl.seconds(),
        };
        put(tlv::TIME_TO_LIVE, &[], &ttl.to_be_bytes());
        if let Content::Announcement(announcement) = &self.content {
            announcement.for_each_tlv(put);
        }
    }
}
