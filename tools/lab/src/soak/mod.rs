//! Hours of switches in namespaces under random faults, with their accounts checked all the while.
//!
//! A soak is made of episodes. Each is one network with traffic, and faults that follow from the
//! seed; meanwhile every running switch is audited repeatedly, and the resources of its process are
//! noted. At the end of an episode the hosts stop, everything drains, and the frames that they
//! numbered are added up.

mod episode;
mod faults;
mod kinds;
mod leaks;
mod lines;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::Result;
use serde::{Deserialize, Serialize};

use crate::lab::interrupt;

pub use kinds::{Kind, KINDS};

/// Duration and start of a soak.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// In all; an episode that has begun is not cut short.
    pub length: Duration,
    /// Sending time of hosts in an episode.
    pub episode: Duration,
    /// Faults follow from it.
    pub seed: u64,
    /// The first episode's number, which decides of what kind it is, and with the seed what happens in it.
    pub first: u64,
    /// True if all permitted frames use the express path.
    pub express: bool,
}

/// Description of a soak, and its errors.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Of the faults.
    pub seed: u64,
    /// In all.
    pub seconds: f64,
    /// By kind of network.
    pub kinds: BTreeMap<String, Sums>,
    /// Broken promises; empty for a clean soak.
    pub broken: Vec<String>,
}

/// All episodes of one kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sums {
    /// Networks that were built.
    pub episodes: u64,
    /// By what they were.
    pub faults: BTreeMap<String, u64>,
    /// Audits of a switch, every sum of which held.
    pub audits: u64,
    /// Frames that hosts sent.
    pub sent_frames: u64,
    /// Frames that arrived, each once and whole.
    pub received_frames: u64,
    /// Frames that took the express path of a switch, as far as switches tell that were there at the end.
    #[serde(default)]
    pub express_frames: u64,
    /// Of those that arrived, those that a later one of their flow had overtaken.
    pub reordered_frames: u64,
    /// Frames that did not arrive and that are counted, by reason.
    pub lost_frames: BTreeMap<String, u64>,
    /// Frames that did not arrive and that no running process has counted: those of switches that
    /// were killed or restarted, and of links that were down.
    pub gone_frames: u64,
    /// The most that a switch's resident memory grew by once it had run for a third of an episode, in bytes.
    pub memory_growth_bytes_max: u64,
    /// The most that a switch's open descriptors grew by meanwhile.
    pub descriptor_growth_max: u64,
}

/// Runs episodes of all kinds in turns until the time is over. `progress` gets a line now and then.
///
/// # Errors
///
/// When a network cannot be built, or interrupted. Broken promises are in the summary.
pub fn run(plan: Plan, progress: &mut dyn FnMut(&str)) -> Result<Summary> {
    let began = Instant::now();
    let mut summary = Summary {
        seed: plan.seed,
        ..Summary::default()
    };
    for number in plan.first.. {
        interrupt::check()?;
        if began.elapsed() >= plan.length {
            break;
        }
        let kind = &KINDS[number as usize % KINDS.len()];
        let left = plan.length.saturating_sub(began.elapsed()).as_secs();
        progress(&format!(
            "episode {number}: {}, {}:{:02} left",
            kind.name,
            left / 60,
            left % 60
        ));
        let sums = summary.kinds.entry(kind.name.to_owned()).or_default();
        let seed = plan.seed.wrapping_add(number);
        for broken in episode::run(kind, plan, seed, sums)? {
            let broken = format!("episode {number} ({}, seed {seed}): {broken}", kind.name);
            progress(&broken);
            summary.broken.push(broken);
        }
    }
    summary.seconds = began.elapsed().as_secs_f64();
    Ok(summary)
}
