//! Conclusions from announcements about credits.
//!
//! | heard | a class with credits here |
//! |---|---|
//! | none | waits for the neighbour's messages, as without LLDP |
//! | a neighbour that announces credits in it | waits longer |
//! | neighbours without such an announcement | uses the fallback at once; where a Weir switch is among them, and credits are in use, both ends begin an epoch |
//! | a version of the announcement that is unknown here | waits, as without LLDP |
//!
//! The messages about credits alone decide which credits there are. An announcement may be wrong: from before a restart,
//! of the host that a switch runs on, or of a third station. A class that uses its fallback for that reason loses no more
//! than with PFC, and only until the neighbour's first message, from which on both ends use credits.

use super::port::Entry;
use super::AnnouncedPort;
use crate::credit::CreditHints;
use crate::units::{Bytes, Priority};
use crate::wire::lldp::credits::{Credits, CreditsV1};
use crate::wire::lldp::dcbx::PrioritySet;

/// Difference between the credits here and at a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CreditMismatch {
    /// It announces credits in an unknown version.
    #[error("the neighbour announces credits in version {0}, and this switch knows version 1: run the same release at both ends")]
    Version(u8),
    /// No neighbour is a Weir switch, and none announces credits.
    #[error("credits are on for priorities {ours} here, the neighbour announces none: credit-fallback applies; use mode = \"pfc\" here if it has no credits")]
    NotAnnounced {
        /// Priorities with credits here.
        ours: PrioritySet,
    },
    /// A Weir switch has credits for other priorities.
    #[error("credits are on for priorities {ours} here and {theirs} at the neighbour: credit-fallback applies to the others; give the same classes mode = \"credit\" at both ends")]
    Priorities {
        /// Priorities with credits here.
        ours: PrioritySet,
        /// Priorities with credits at the neighbour.
        theirs: PrioritySet,
    },
    /// The neighbour's longest frame costs more credits than this switch gives: it never sends in that class.
    #[error("priority {priority}: the neighbour's longest frame of {longest_bytes} B costs {cost} credits, and this switch gives {limit}: raise credit-limit here, or lower dataplane.mtu there")]
    LimitHere {
        /// The lowest such priority.
        priority: Priority,
        /// Longest frame of the neighbour, in bytes.
        longest_bytes: u16,
        /// Its cost on the terms of this switch, in credits.
        cost: u32,
        /// Credit limit of this switch, in credits.
        limit: u32,
    },
    /// The longest frame of this switch costs more credits than the neighbour gives: the class never sends.
    #[error("priority {priority}: the longest frame here of {longest_bytes} B costs {cost} credits, and the neighbour gives {limit}: raise credit-limit there, or lower dataplane.mtu here")]
    LimitThere {
        /// The lowest such priority.
        priority: Priority,
        /// Longest frame of this switch, in bytes.
        longest_bytes: u16,
        /// Its cost on the terms of the neighbour, in credits.
        cost: u32,
        /// Credit limit of the neighbour, in credits.
        limit: u32,
    },
}

/// Returns the neighbours' announcements, for the dataplane. See the module documentation.
pub(super) fn hints(port: &AnnouncedPort, entries: &[Entry]) -> CreditHints {
    let ours = given_here(port);
    if entries.is_empty() || entries.iter().any(|entry| version(entry).is_some()) {
        return CreditHints::default();
    }
    let offered = ours.intersection(given_there(entries));
    let absent = ours.without(offered);
    CreditHints {
        offered,
        absent,
        denied: match entries.iter().any(Entry::is_weir) {
            true => absent,
            false => PrioritySet::EMPTY,
        },
    }
}

/// Returns the first difference that keeps a class from using credits.
pub(super) fn mismatch(port: &AnnouncedPort, entries: &[Entry]) -> Option<CreditMismatch> {
    let ours = given_here(port);
    if entries.is_empty() {
        return None;
    }
    if let Some(version) = entries.iter().find_map(version) {
        return (!ours.is_empty()).then_some(CreditMismatch::Version(version));
    }
    let theirs = given_there(entries);
    if ours != theirs {
        return Some(match entries.iter().any(Entry::is_weir) {
            true => CreditMismatch::Priorities { ours, theirs },
            false => CreditMismatch::NotAnnounced { ours },
        });
    }
    let ours = announced(port.announcement.credits.as_ref())?;
    entries.iter().find_map(|entry| {
        let theirs = announced(entry.announcement.credits.as_ref())?;
        if let Some((priority, cost, limit)) = too_costly(ours, theirs) {
            return Some(CreditMismatch::LimitHere {
                priority,
                longest_bytes: theirs.longest_bytes,
                cost,
                limit,
            });
        }
        let (priority, cost, limit) = too_costly(theirs, ours)?;
        Some(CreditMismatch::LimitThere {
            priority,
            longest_bytes: ours.longest_bytes,
            cost,
            limit,
        })
    })
}

/// Returns the lowest priority whose limit at `receiver` is below the cost of `sender`'s longest frame, with that cost and the
/// limit, in credits.
fn too_costly(receiver: &CreditsV1, sender: &CreditsV1) -> Option<(Priority, u32, u32)> {
    let longest = Bytes::new(u64::from(sender.longest_bytes));
    Priority::ALL.into_iter().find_map(|priority| {
        let terms = receiver.terms(priority)?;
        let (cost, limit) = (terms.cost(longest), terms.limit());
        (cost > limit).then_some((priority, cost, limit))
    })
}

fn announced(credits: Option<&Credits>) -> Option<&CreditsV1> {
    match credits {
        Some(Credits::V1(credits)) => Some(credits),
        Some(Credits::Unknown(_)) | None => None,
    }
}

fn given_here(port: &AnnouncedPort) -> PrioritySet {
    let ours = announced(port.announcement.credits.as_ref());
    ours.map_or(PrioritySet::EMPTY, CreditsV1::given)
}

fn given_there(entries: &[Entry]) -> PrioritySet {
    entries
        .iter()
        .filter_map(|entry| announced(entry.announcement.credits.as_ref()))
        .fold(PrioritySet::EMPTY, |set, theirs| set.union(theirs.given()))
}

/// Returns the version of an announcement that is unknown here.
fn version(entry: &Entry) -> Option<u8> {
    match entry.announcement.credits {
        Some(Credits::Unknown(version)) => Some(version.get()),
        Some(Credits::V1(_)) | None => None,
    }
}
