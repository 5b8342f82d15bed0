//! Empirical test of Theorem 1: random networks in which protocol P must never lose or reorder a frame or hold one forever
//! (Karol, Golestani and Lee, section IV), and in which plain PFC must sometimes lock, otherwise the search proves nothing.

pub(crate) mod faults;
pub mod harm;
mod network;
mod pool;
mod routes;
pub mod wide;

use weir_core::{Duration, Instant};

use crate::network::{Flow, Imbalance, Network, PlanError};

pub use network::{Case, Mode};

/// Test of each network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Question {
    /// Links, switches, hosts and control frames fail, but only during traffic. Frames may then be lost if a fault permits
    /// it, but all must be accounted for, and in the end none may be left inside.
    pub with_faults: bool,
}

/// Result of one network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Frames sent by hosts.
    pub sent: u64,
    /// Frames that arrived.
    pub received: u64,
    /// Frames times lines crossed.
    pub frame_hops: u64,
    /// Frames still inside after nothing had moved for longer than any pause lasts: a deadlock.
    pub stuck: u64,
    /// Frames lost for any reason.
    pub lost: u64,
    /// Frames dropped by a switch itself.
    pub dropped: u64,
    /// Frames that overtook others of their flow.
    pub reordered: u64,
    /// Pauses and Feedback sent.
    pub control_frames: u64,
    /// True if faults that lose frames were injected.
    pub may_lose: bool,
}

/// Reason for which a network could not be tested.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SearchError {
    /// A switch refused its configuration.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A frame is unaccounted for.
    #[error(transparent)]
    Imbalance(#[from] Imbalance),
}

const CHECKS: u64 = 20;

/// Runs the random network of `seed` with classes of `mode`.
///
/// # Errors
///
/// See [`SearchError`]: both are errors of this program in any mode.
pub fn ask(seed: u64, mode: Mode, question: Question) -> Result<Answer, SearchError> {
    let case = Case::new(seed);
    let mut plan = case.plan(mode);
    if question.with_faults {
        plan.actions = faults::actions(seed, &plan, case.arrivals());
    }
    let may_lose = plan
        .actions
        .iter()
        .any(|(_, action)| faults::may_lose(action));
    let mut network = Network::new(plan)?;
    for part in 1..=CHECKS {
        let until = Duration::from_nanos(case.arrivals().as_nanos() * part / CHECKS);
        network.run_until(Instant::ZERO + until);
        network.check_conservation()?;
    }
    network.drain(case.standstill(), Duration::from_secs(20));
    network.check_conservation()?;
    let sum = |count: fn(&Flow) -> u64| network.flows().iter().map(count).sum::<u64>();
    let (sent, received) = (sum(|flow| flow.sent), sum(|flow| flow.received));
    let stuck = network.frames_in_network() as u64;
    Ok(Answer {
        sent,
        received,
        frame_hops: network.totals().frame_hops,
        stuck,
        lost: sent - received - stuck,
        dropped: network.totals().dropped,
        reordered: sum(|flow| flow.reordered),
        control_frames: network.counters().pfc_sent,
        may_lose,
    })
}

impl Answer {
    /// Returns true if no frame of the lossless classes was lost or overtaken, even if some wait forever: the guarantee of
    /// the buffers alone.
    pub fn loses_nothing(&self) -> bool {
        self.reordered == 0 && self.lost == 0 && self.dropped == 0
    }

    /// Returns true if the result agrees with Theorem 1: no loss except by a fault that causes it, no reordering, no frame
    /// left.
    pub fn keeps_the_promise(&self) -> bool {
        self.reordered == 0 && self.stuck == 0 && (self.may_lose || self.lost == 0)
    }
}
