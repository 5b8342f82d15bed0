//! Conclusions from the neighbours heard on one port; those about credits are in [`credits`](super::credits).
//!
//! | heard | the neighbour is |
//! |---|---|
//! | none | as configured, otherwise unknown |
//! | a switch with our TLV and the same D and mode of every class with Levels, which also hears us | enhanced |
//! | the same, but it does not announce that it hears us | as configured, otherwise unknown |
//! | a switch with our TLV and another D, mode or version | regular, and a Level mismatch |
//! | a neighbour without our TLV | as configured, otherwise unknown, and regular once that has lasted for our time to live |
//! | several with our TLV, or one with a different D beside others | unknown |
//!
//! `neighbour = "regular"` is always believed, `"enhanced"` until a switch with our TLV announces something else.
//!
//! Two switches that treat each other as enhanced must have the same D. Any other error loses no frame
//! (`crates/core/tests/neighbours/neighbour_changes.rs`). Each has compared the other's announcement with its own
//! settings. If their D differed now, both announcements would stem from before a restart; but the switch that
//! restarted last has heard the other's present announcement. The announcement that it hears us is required as well.
//! Feedback to an enhanced neighbour has no XOFF and no trailing zero, and a neighbour that treats us as unknown does
//! not resume before it receives 0. This does not prevent loss, but lets both come to the same conclusion.
//!
//! An unknown neighbour gets and sends Feedback in a form that every kind understands. So it is the choice while two
//! switches negotiate, and where several are heard: most likely one under an old and a new name. LLDP without our TLV
//! may come from the host that a switch runs on, whose agent was heard before the switch; hence the wait. If one of our
//! switches was heard since, it counts as such an agent.

use super::credits::{hints, mismatch, CreditMismatch};
use super::port::Entry;
use super::AnnouncedPort;
use crate::config::{FeedbackCoding, Neighbour};
use crate::credit::CreditHints;
use crate::units::Priority;
use crate::wire::lldp::dcbx::{PfcConfiguration, PfcMismatch, PrioritySet};
use crate::wire::lldp::weir::{AnnouncedMode, Weir, WeirV1};

/// Findings about one port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Kind of neighbour.
    pub neighbour: Neighbour,
    /// A neighbour that uses the Level protocol like this switch is heard; announcements report it.
    pub hears: bool,
    /// Coding of Feedback: as configured, but no grants to a neighbour that uses another coding.
    pub coding: FeedbackCoding,
    /// Mismatch of PFC.
    pub pfc: Option<PfcMismatch>,
    /// Mismatch of the Level protocol.
    pub level: Option<LevelMismatch>,
    /// Credits that the neighbours announce, for the dataplane.
    pub credit_hints: CreditHints,
    /// Mismatch of credits.
    pub credits: Option<CreditMismatch>,
}

/// Difference between the Level protocol here and at a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LevelMismatch {
    /// It uses an unknown version.
    #[error("the neighbour uses version {0} of the Level protocol, and this switch version 1")]
    Version(u8),
    /// A class that has Levels on at least one end has another mode or D on the other.
    #[error("priority {priority} is {ours} here and {theirs} at the neighbour")]
    Class {
        /// The lowest such priority.
        priority: Priority,
        /// Mode of this switch.
        ours: AnnouncedMode,
        /// Mode of the neighbour.
        theirs: AnnouncedMode,
    },
    /// One end grants frames and the other does not count them: then neither does.
    #[error("Feedback is configured as {} here and as {} at the neighbour; grants are not used", .ours.name(), .theirs.name())]
    Coding {
        /// Coding configured here.
        ours: FeedbackCoding,
        /// Coding configured at the neighbour.
        theirs: FeedbackCoding,
    },
}

/// See the module documentation. `absent`: no neighbour with our TLV has been heard for so long that none is expected.
pub(super) fn judge(port: &AnnouncedPort, entries: &[Entry], absent: bool) -> Findings {
    let coding = entries
        .iter()
        .find_map(|entry| coding_mismatch(port, entry));
    let level = entries
        .iter()
        .find_map(|entry| level_mismatch(port, entry).err().flatten());
    let (neighbour, hears) = neighbour(port, entries, absent);
    Findings {
        neighbour,
        hears,
        coding: match our_coding(port) {
            FeedbackCoding::Grants if !entries.iter().all(|entry| counts(port, entry)) => {
                FeedbackCoding::Pfc
            }
            configured => configured,
        },
        pfc: pfc_mismatch(port, entries),
        level: level.or(coding),
        credit_hints: hints(port, entries),
        credits: mismatch(port, entries),
    }
}

/// Returns the kind of neighbour, and true if it is heard.
fn neighbour(port: &AnnouncedPort, entries: &[Entry], absent: bool) -> (Neighbour, bool) {
    if port.configured == Neighbour::Regular {
        return (Neighbour::Regular, false);
    }
    let believed = port.configured == Neighbour::Enhanced;
    let mut ours = entries.iter().filter(|entry| entry.is_weir());
    let neighbour = match (ours.next(), ours.next()) {
        (None, _) if entries.is_empty() => port.configured,
        // Irrelevant without Levels.
        (None, _) if !believed && (absent || !speaks_levels(port)) => Neighbour::Regular,
        (None, _) => port.configured,
        (Some(entry), None) => match level_mismatch(port, entry) {
            Err(_) if entries.len() == 1 => Neighbour::Regular,
            Err(_) => Neighbour::Unknown,
            // A neighbour heard beside it may have replaced it.
            Ok(_) if entries.iter().any(|other| other.heard_at > entry.last_at) => port.configured,
            Ok(theirs) if believed || theirs.hears => return (Neighbour::Enhanced, true),
            Ok(_) => return (Neighbour::Unknown, true),
        },
        (Some(_), Some(_)) => {
            let agree = |entry: &Entry| !entry.is_weir() || level_mismatch(port, entry).is_ok();
            match believed && entries.iter().all(agree) {
                true => Neighbour::Enhanced,
                false => Neighbour::Unknown,
            }
        }
    };
    (neighbour, false)
}

impl Entry {
    pub(super) fn is_weir(&self) -> bool {
        self.announcement.weir.is_some()
    }
}

pub(super) fn speaks_levels(port: &AnnouncedPort) -> bool {
    matches!(port.announcement.weir, Some(Weir::V1(ours)) if has_levels(&ours))
}

pub(super) fn our_coding(port: &AnnouncedPort) -> FeedbackCoding {
    match port.announcement.weir {
        Some(Weir::V1(ours)) => ours.coding.unwrap_or_default(),
        _ => FeedbackCoding::default(),
    }
}

/// Returns true for a neighbour that counts the frames granted to it, or announces nothing to the contrary.
fn counts(port: &AnnouncedPort, entry: &Entry) -> bool {
    let same = level_mismatch(port, entry).map(|theirs| theirs.coding);
    !entry.is_weir() || matches!(same, Ok(None | Some(FeedbackCoding::Grants)))
}

/// All neighbours understand Feedback in PFC and in PAUSE frames; only those that grant themselves
/// understand grants. A neighbour that announces nothing about it is assumed to be configured as we
/// are.
fn coding_mismatch(port: &AnnouncedPort, entry: &Entry) -> Option<LevelMismatch> {
    let theirs = level_mismatch(port, entry).ok()?.coding?;
    let ours = our_coding(port);
    let differ = (ours == FeedbackCoding::Grants) != (theirs == FeedbackCoding::Grants);
    differ.then_some(LevelMismatch::Coding { ours, theirs })
}

/// Returns the neighbour's mode when both support the Level protocol in the same way; `Err(None)` when one of them
/// legitimately does not support it.
fn level_mismatch(port: &AnnouncedPort, entry: &Entry) -> Result<WeirV1, Option<LevelMismatch>> {
    let Some(Weir::V1(ours)) = port.announcement.weir else {
        return Err(None);
    };
    // Plain PFC was configured on purpose: there is nothing to compare.
    if port.configured == Neighbour::Regular {
        return Err(None);
    }
    match entry.announcement.weir {
        None => Err(None),
        Some(Weir::Unknown(version)) => {
            Err(has_levels(&ours).then_some(LevelMismatch::Version(version.get())))
        }
        Some(Weir::V1(theirs)) => match differing(&ours, &theirs) {
            Some(mismatch) => Err(Some(mismatch)),
            None if has_levels(&ours) => Ok(theirs),
            None => Err(None),
        },
    }
}

fn has_levels(weir: &WeirV1) -> bool {
    weir.modes.iter().any(|mode| mode.is_level())
}

fn differing(ours: &WeirV1, theirs: &WeirV1) -> Option<LevelMismatch> {
    let modes = ours.modes.into_iter().zip(theirs.modes);
    Priority::ALL
        .into_iter()
        .zip(modes)
        .find(|(_, (ours, theirs))| ours != theirs && (ours.is_level() || theirs.is_level()))
        .map(|(priority, (ours, theirs))| LevelMismatch::Class {
            priority,
            ours,
            theirs,
        })
}

/// A neighbour that announces PFC must have the same settings. A missing announcement counts once
/// any neighbour is heard.
fn pfc_mismatch(port: &AnnouncedPort, entries: &[Entry]) -> Option<PfcMismatch> {
    if entries.is_empty() {
        return None;
    }
    let ours = port
        .announcement
        .pfc
        .unwrap_or(PfcConfiguration::fixed(PrioritySet::EMPTY));
    let mut announced = entries
        .iter()
        .filter_map(|entry| entry.announcement.pfc.as_ref())
        .peekable();
    if announced.peek().is_none() {
        return ours.mismatch(None);
    }
    announced.find_map(|theirs| ours.mismatch(Some(theirs)))
}
