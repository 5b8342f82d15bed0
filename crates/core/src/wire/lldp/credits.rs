//! Announcement of a port's credits between Weir switches: an organisationally specific TLV (IEEE 802.1AB clause 8.6).
//! A switch without a class with credits does not send it.
//!
//! | offset in the TLV | length | field |
//! |---|---|---|
//! | 0 | 2 | type 127, length 10 and 8 for each record |
//! | 2 | 3 | OUI 02-57-45, as of [`weir`](super::weir) |
//! | 5 | 1 | subtype 2 |
//! | 6 | 1 | version 1, of this TLV and of the messages about credits |
//! | 7 | 1 | flags: bit 0 the port gives credits; the others are reserved |
//! | 8 | 1 | priorities with a record: bit p is priority p |
//! | 9 | 1 | of these, the priorities closed to a neighbour without credits; the others are PFC to it |
//! | 10 | 2 | longest frame that the port sends, in bytes, from its destination address to its last byte of payload |
//! | 12 | 8 each | records, lowest priority first |
//!
//! A record: credit limit of the port's receiver in credits (4), credit size in bytes (2), packet overhead in bytes (1,
//! signed), reserved (1).
//!
//! It announces what the messages about credits ([`wire::credit`](crate::wire::credit)) will state. Nothing is sent or
//! admitted because of it: these messages have epochs and, with the fabric's key, a seal, and LLDP has neither.
//!
//! Reserved bits and bytes are sent as zero and ignored on receipt, as are bytes after the last record. Terms that no
//! receiver can have, and a closed priority without a record, make the TLV malformed. Of any other version, only the
//! number is known.

use super::dcbx::PrioritySet;
use super::weir::UnknownVersion;
use crate::credit::{CreditFallback, CreditTerms};
use crate::units::{Priority, PRIORITY_COUNT};

/// OUI and subtype.
pub(super) const ORGANISATION: [u8; 4] = [0x02, 0x57, 0x45, 2];
/// Length of the longest value after the subtype.
pub(super) const LENGTH_MAX: usize = FIXED_LENGTH + PRIORITY_COUNT * RECORD_LENGTH;

const VERSION: u8 = 1;
const FIXED_LENGTH: usize = 6;
const RECORD_LENGTH: usize = 8;
const GIVES: u8 = 1 << 0;

/// Contents of the TLV.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Credits {
    /// Version 1.
    V1(CreditsV1),
    /// An unknown version. Never sent.
    Unknown(UnknownVersion),
}

/// Version 1 of the TLV.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CreditsV1 {
    /// The port gives credits: slots of its receive ring are reserved for their frames.
    pub gives: bool,
    /// Longest frame that the port sends, in bytes.
    pub longest_bytes: u16,
    /// By priority; `None` for a class without credits.
    pub classes: [Option<AnnouncedCredits>; PRIORITY_COUNT],
}

/// Credits of one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnnouncedCredits {
    /// Terms on which the port gives credits.
    pub terms: CreditTerms,
    /// Treatment of a neighbour that does not use credits.
    pub fallback: CreditFallback,
}

impl CreditsV1 {
    /// Returns the priorities in which the port gives credits.
    pub fn given(&self) -> PrioritySet {
        match self.gives {
            true => self.priorities_where(|_| true),
            false => PrioritySet::EMPTY,
        }
    }

    /// Returns the terms of `priority`; `None` if the port gives no credits in it.
    pub fn terms(&self, priority: Priority) -> Option<CreditTerms> {
        let class = self.classes[priority.index()].as_ref();
        class.map(|class| class.terms).filter(|_| self.gives)
    }

    fn priorities_where(&self, holds: impl Fn(&AnnouncedCredits) -> bool) -> PrioritySet {
        let classes = Priority::ALL.into_iter().zip(&self.classes);
        classes
            .filter(|(_, class)| class.as_ref().is_some_and(&holds))
            .fold(PrioritySet::EMPTY, |set, (priority, _)| set.with(priority))
    }

    fn from_wire(value: &[u8]) -> Option<Self> {
        let (fixed, records) = value.split_first_chunk::<FIXED_LENGTH>()?;
        let [_version, flags, named, closed, longest @ ..] = *fixed;
        let (named, closed) = (PrioritySet(named), PrioritySet(closed));
        if !closed.without(named).is_empty() {
            return None;
        }
        let mut classes = [None; PRIORITY_COUNT];
        let mut records = records.chunks_exact(RECORD_LENGTH);
        for priority in named.iter() {
            let record: &[u8; RECORD_LENGTH] = records.next()?.first_chunk()?;
            let [l0, l1, l2, l3, s0, s1, overhead, _] = *record;
            let limit = u32::from_be_bytes([l0, l1, l2, l3]);
            let size = u16::from_be_bytes([s0, s1]);
            classes[priority.index()] = Some(AnnouncedCredits {
                terms: CreditTerms::new(size, overhead as i8, limit)?,
                fallback: match closed.contains(priority) {
                    true => CreditFallback::Closed,
                    false => CreditFallback::Pfc,
                },
            });
        }
        Some(Self {
            gives: flags & GIVES != 0,
            longest_bytes: u16::from_be_bytes(longest),
            classes,
        })
    }

    /// Returns a buffer and the length used of it.
    pub(super) fn to_wire(self) -> ([u8; LENGTH_MAX], usize) {
        let mut bytes = [0; LENGTH_MAX];
        let closed = |class: &AnnouncedCredits| class.fallback == CreditFallback::Closed;
        bytes[0] = VERSION;
        bytes[1] = if self.gives { GIVES } else { 0 };
        bytes[2] = self.priorities_where(|_| true).0;
        bytes[3] = self.priorities_where(closed).0;
        bytes[4..FIXED_LENGTH].copy_from_slice(&self.longest_bytes.to_be_bytes());
        let mut length = FIXED_LENGTH;
        let places = bytes[FIXED_LENGTH..].chunks_exact_mut(RECORD_LENGTH);
        for (AnnouncedCredits { terms, .. }, record) in self.classes.iter().flatten().zip(places) {
            record[..4].copy_from_slice(&terms.limit().to_be_bytes());
            record[4..6].copy_from_slice(&terms.size().to_be_bytes());
            record[6] = terms.overhead() as u8;
            length += RECORD_LENGTH;
        }
        (bytes, length)
    }
}

impl Credits {
    pub(super) fn from_wire(value: &[u8]) -> Option<Self> {
        match *value.first()? {
            VERSION => CreditsV1::from_wire(value).map(Self::V1),
            other => Some(Self::Unknown(UnknownVersion(other))),
        }
    }
}
