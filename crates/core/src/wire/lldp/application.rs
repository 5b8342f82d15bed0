//! Priorities of applications: the Application Priority TLV of DCBX (IEEE 802.1Q clause D.2.11, from 802.1Qaz).

use core::fmt;

use crate::units::Priority;

/// OUI of IEEE 802.1, and subtype (table D-1).
pub(super) const ORGANISATION: [u8; 4] = [0x00, 0x80, 0xc2, 12];
/// Length of the part after the subtype.
pub(super) const LENGTH_MAX: usize = 1 + ENTRIES_MAX * ENTRY_LENGTH;

const ENTRY_LENGTH: usize = 3;

/// Maximum number of entries that are kept.
pub const ENTRIES_MAX: usize = 16;

/// Match of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Application {
    /// Frames of an EtherType. Zero matches all that no other entry matches.
    EtherType(u16),
    /// A well-known port of TCP or SCTP.
    StreamPort(u16),
    /// A well-known port of UDP or DCCP.
    DatagramPort(u16),
    /// A well-known port of any of the four.
    Port(u16),
    /// A DSCP (from 802.1Qcd), in the low six bits.
    Dscp(u16),
}

impl Application {
    fn from_wire(selector: u8, id: u16) -> Option<Self> {
        match selector {
            1 => Some(Self::EtherType(id)),
            2 => Some(Self::StreamPort(id)),
            3 => Some(Self::DatagramPort(id)),
            4 => Some(Self::Port(id)),
            5 => Some(Self::Dscp(id)),
            _ => None,
        }
    }

    fn to_wire(self) -> (u8, u16) {
        match self {
            Self::EtherType(id) => (1, id),
            Self::StreamPort(id) => (2, id),
            Self::DatagramPort(id) => (3, id),
            Self::Port(id) => (4, id),
            Self::Dscp(id) => (5, id),
        }
    }
}

/// One application and the priority that its frames should have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ApplicationEntry {
    /// Matched protocol.
    pub application: Application,
    /// Priority of the protocol.
    pub priority: Priority,
}

/// Up to [`ENTRIES_MAX`] entries, in the order sent.
#[derive(Clone, Copy)]
pub struct ApplicationTable {
    length: u8,
    entries: [ApplicationEntry; ENTRIES_MAX],
}

impl ApplicationTable {
    /// The empty table.
    pub const EMPTY: Self = Self {
        length: 0,
        entries: [ApplicationEntry {
            application: Application::EtherType(0),
            priority: Priority::ALL[0],
        }; ENTRIES_MAX],
    };

    /// Creates a table; `None` for more than [`ENTRIES_MAX`] entries.
    pub fn new(entries: &[ApplicationEntry]) -> Option<Self> {
        let mut table = Self::EMPTY;
        table
            .entries
            .get_mut(..entries.len())?
            .copy_from_slice(entries);
        table.length = entries.len() as u8;
        Some(table)
    }

    /// The entries.
    pub fn entries(&self) -> &[ApplicationEntry] {
        &self.entries[..usize::from(self.length)]
    }

    /// Parses the table; also returns the number of skipped entries.
    pub(super) fn from_wire(value: &[u8]) -> Option<(Self, u16)> {
        let (_reserved, value) = value.split_first()?;
        let entries = value.chunks_exact(ENTRY_LENGTH);
        if !entries.remainder().is_empty() {
            return None;
        }
        let (mut table, mut ignored) = (Self::EMPTY, 0);
        for bytes in entries {
            let id = u16::from_be_bytes([bytes[1], bytes[2]]);
            let place = table.entries.get_mut(usize::from(table.length));
            let (Some(place), Some(application)) =
                (place, Application::from_wire(bytes[0] & 7, id))
            else {
                ignored += 1;
                continue;
            };
            *place = ApplicationEntry {
                application,
                priority: Priority::from_low_bits(bytes[0] >> 5),
            };
            table.length += 1;
        }
        Some((table, ignored))
    }

    pub(super) fn to_wire(self) -> ([u8; LENGTH_MAX], usize) {
        let mut bytes = [0; LENGTH_MAX];
        let places = bytes[1..].chunks_exact_mut(ENTRY_LENGTH);
        for (entry, place) in self.entries().iter().zip(places) {
            let (selector, id) = entry.application.to_wire();
            place[0] = entry.priority.get() << 5 | selector;
            place[1..].copy_from_slice(&id.to_be_bytes());
        }
        (bytes, 1 + self.entries().len() * ENTRY_LENGTH)
    }
}

impl PartialEq for ApplicationTable {
    fn eq(&self, other: &Self) -> bool {
        self.entries() == other.entries()
    }
}

impl Eq for ApplicationTable {}

impl fmt::Debug for ApplicationTable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.entries()).finish()
    }
}
