//! Losses and waits of bystanders.

use weir_core::{Duration, Instant};

use super::Case;
use crate::network::plan::NetworkPlan;
use crate::network::Network;
use crate::trial::TrialError;

const CHECKS: u64 = 8;

/// Outcome of one network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Lossless frames sent by others.
    pub sent: u64,
    /// Those that did not arrive.
    pub lost: u64,
    /// Longest additional wait of any other flow compared with the calm network.
    pub longest_wait: Duration,
    /// Maximum permitted wait.
    pub patience: Duration,
    /// Frames still inside at the end.
    pub inside: u64,
    /// Frames that did not arrive, including those of the affected host.
    pub lost_in_all: u64,
}

impl Answer {
    /// Returns true if no other host was harmed.
    pub fn is_good(&self) -> bool {
        self.lost == 0 && self.inside == 0 && self.longest_wait <= self.patience
    }
}

/// Runs a network with its incident, and without.
///
/// # Errors
///
/// Errors of this program, see [`TrialError`].
pub fn judge(case: &Case) -> Result<Answer, TrialError> {
    let end = Instant::ZERO + case.arrivals;
    let calm = run(case.calm.clone(), case)?;
    let network = run(case.plan.clone(), case)?;
    let mut answer = Answer {
        sent: 0,
        lost: 0,
        longest_wait: Duration::ZERO,
        patience: case.patience,
        inside: network.frames_in_network() as u64,
        lost_in_all: 0,
    };
    for (index, flow) in network.flows().iter().enumerate() {
        answer.lost_in_all += flow.sent - flow.received;
        if !case.is_other[index] {
            continue;
        }
        answer.sent += flow.sent;
        answer.lost += flow.sent - flow.received;
        // Flows of the silent host come last, so that those of others have the same indexes in both.
        let wait = |network: &Network| network.flows()[index].longest_stall(end);
        let more = wait(&network)
            .as_nanos()
            .saturating_sub(wait(&calm).as_nanos());
        answer.longest_wait = answer.longest_wait.max(Duration::from_nanos(more));
    }
    Ok(answer)
}

fn run(plan: NetworkPlan, case: &Case) -> Result<Network, TrialError> {
    let mut network = Network::new(plan)?;
    for part in 1..=CHECKS {
        let until = Duration::from_nanos(case.arrivals.as_nanos() * part / CHECKS);
        network.run_until(Instant::ZERO + until);
        network.check_conservation()?;
    }
    network.drain(Duration::from_millis(200), Duration::from_secs(5));
    network.check_conservation()?;
    Ok(network)
}
