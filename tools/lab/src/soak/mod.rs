//! Runs switches in namespaces under random faults for hours, with continuous checks of their accounts.
//!
//! A soak consists of episodes. Each is a network with traffic, and faults determined by the seed. Every running switch is
//! audited repeatedly, and the resources of its process are recorded. At the end of an episode the hosts stop, everything
//! drains, and the numbered frames are added up.

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
    /// Total duration; an episode that has begun is completed.
    pub length: Duration,
    /// Sending time of hosts in an episode.
    pub episode: Duration,
    /// Seed of the faults.
    pub seed: u64,
    /// Number of the first episode, which determines its kind and, with the seed, its faults.
    pub first: u64,
    /// True if all permitted frames use the express path.
    pub express: bool,
}

/// Summary of a soak, and its errors.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Seed of the faults.
    pub seed: u64,
    /// Total duration.
    pub seconds: f64,
    /// Totals by kind of network.
    pub kinds: BTreeMap<String, Sums>,
    /// Violated guarantees; empty for a clean soak.
    pub broken: Vec<String>,
}

/// Totals of all episodes of one kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sums {
    /// Number of networks built.
    pub episodes: u64,
    /// Faults by kind.
    pub faults: BTreeMap<String, u64>,
    /// Successful audits of a switch.
    pub audits: u64,
    /// Frames that hosts sent.
    pub sent_frames: u64,
    /// Distinct frames that arrived intact.
    pub received_frames: u64,
    /// Frames on the express path of a switch, as reported by the switches running at the end.
    #[serde(default)]
    pub express_frames: u64,
    /// Arrived frames overtaken by a later one of their flow.
    pub reordered_frames: u64,
    /// Lost frames that are counted, by reason.
    pub lost_frames: BTreeMap<String, u64>,
    /// Lost frames that no running process has counted: those of switches that were killed or restarted, and of links that
    /// were down.
    pub gone_frames: u64,
    /// Maximum growth of a switch's resident memory after a third of an episode, in bytes.
    pub memory_growth_bytes_max: u64,
    /// Maximum growth of a switch's open descriptors in that time.
    pub descriptor_growth_max: u64,
}

/// Runs episodes of all kinds in turn until the time is over. `progress` receives lines of text.
///
/// # Errors
///
/// When a network cannot be built, or interrupted. The summary has violated guarantees.
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
