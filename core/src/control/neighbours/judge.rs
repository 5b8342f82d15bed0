//! What follows from the neighbours that are heard on one port.
//!
//! | heard | the neighbour is |
//! |---|---|
//! | nobody | as configured, else unknown |
//! | one, with our TLV and the same D and mode of every class with Levels | enhanced |
//! | one, with our TLV and another D, mode or version | regular, and a Level mismatch |
//! | one, without our TLV | regular |
//! | several | unknown |
//!
//! Two switches compare the same two announcements, so that both come to the same end: were one enhanced
//! to the other and this one regular to it, frames could be lost. For that reason a port that speaks plain
//! PFC by its configuration announces its classes with Levels as `pfc`. An unknown neighbour is told
//! things, and understood, whatever it is; that makes it the answer where several talk, such as a
//! switch and an LLDP agent beside it, or one switch under an old and a new name.

use super::port::Entry;
use super::AnnouncedPort;
use crate::config::Neighbour;
use crate::units::Priority;
use crate::wire::lldp::dcbx::{PfcConfiguration, PfcMismatch, PrioritySet};
use crate::wire::lldp::weir::{AnnouncedMode, Weir, WeirV1};

/// What has been found out about one port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// What is on the other side.
    pub neighbour: Neighbour,
    /// Where PFC differs.
    pub pfc: Option<PfcMismatch>,
    /// Where the Level protocol differs.
    pub level: Option<LevelMismatch>,
}

/// What is wrong between the Level protocol here and at a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LevelMismatch {
    /// It speaks a version that is not known here.
    #[error(
        "the neighbour speaks version {0} of the Level protocol, and version 1 is spoken here"
    )]
    Version(u8),
    /// A class that has Levels on one side at least has another mode or D on the other.
    #[error("priority {priority} is {ours} here and {theirs} at the neighbour")]
    Class {
        /// The lowest such priority.
        priority: Priority,
        /// What it is here.
        ours: AnnouncedMode,
        /// What it is there.
        theirs: AnnouncedMode,
    },
}

/// See the module.
pub(super) fn judge(port: &AnnouncedPort, entries: &[Entry]) -> Findings {
    Findings {
        neighbour: neighbour(port, entries),
        pfc: pfc_mismatch(port, entries),
        level: entries
            .iter()
            .find_map(|entry| level_mismatch(port, entry).err().flatten()),
    }
}

fn neighbour(port: &AnnouncedPort, entries: &[Entry]) -> Neighbour {
    match entries {
        [] => port.configured,
        [entry] if level_mismatch(port, entry).is_ok() => Neighbour::Enhanced,
        [_] => Neighbour::Regular,
        _ => Neighbour::Unknown,
    }
}

/// `Ok` when both speak the Level protocol in the same way; `Err(None)` when one of them does not speak it
/// and that is nobody's mistake.
fn level_mismatch(port: &AnnouncedPort, entry: &Entry) -> Result<(), Option<LevelMismatch>> {
    let Some(Weir::V1(ours)) = port.announcement.weir else {
        return Err(None);
    };
    // Where plain PFC is spoken on purpose there is nothing to compare.
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
            None if has_levels(&ours) => Ok(()),
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

/// Whoever announces PFC must have it as we do. That nobody announces it counts once somebody is heard.
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
