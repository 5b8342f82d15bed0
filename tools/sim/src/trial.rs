//! Deliveries to every flow of a network during traffic, and losses.

use weir_core::counters::DropReason;
use weir_core::{Duration, Instant};

use crate::network::plan::NetworkPlan;
use crate::network::{Imbalance, Network, PlanError};

/// Results of a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// By flow, until traffic ended.
    pub flows: Vec<Share>,
    /// Frames sent by hosts.
    pub sent: u64,
    /// Frames lost for any reason.
    pub lost: u64,
    /// Those dropped by full buffers.
    pub lost_for_room: u64,
    /// Those on a line that went down.
    pub lost_on_lines: u64,
    /// Those that would have left a switch by their ingress port, or reached one without a route: switches change routes one
    /// after another.
    pub lost_for_turns: u64,
    /// Frames that arrived after a later one.
    pub reordered: u64,
    /// Frames still inside at the end; after a drain, for good.
    pub inside: u64,
    /// Frames times lines crossed.
    pub frame_hops: u64,
}

/// Results of one flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Bytes that arrived.
    pub bytes: u64,
    /// Bytes that arrived in the last third.
    pub bytes_last_third: u64,
    /// Longest time without an arrival, from its start to the end of traffic.
    pub longest_wait: Duration,
}

/// Reason for which a network has no outcome: an error of this program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TrialError {
    /// A switch refused its configuration.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A frame is unaccounted for.
    #[error(transparent)]
    Imbalance(#[from] Imbalance),
}

const CHECKS: u64 = 10;

/// Runs `plan`, whose traffic ends after `arrivals`. With a drain it then continues without traffic until the network is
/// empty, nothing has moved for `standstill`, or `longest` has passed.
///
/// # Errors
///
/// See [`TrialError`].
pub fn run(
    mut plan: NetworkPlan,
    arrivals: Duration,
    drain: Option<Drain>,
) -> Result<Trial, TrialError> {
    plan.sample_interval = None;
    plan.log_capacity = 0;
    for switch in &mut plan.switches {
        // No route is added and no flow is pinned, so room for them would only cost time.
        let ecmp = &mut switch.config.ecmp;
        ecmp.spare_routes = ecmp.spare_routes.min(64);
        ecmp.spare_buckets = ecmp.spare_buckets.min(4096);
    }
    let third = arrivals.divided_by(3);
    plan.last_part_from = Instant::ZERO + third + third;
    let end = Instant::ZERO + arrivals;
    let mut network = Network::new(plan)?;
    for part in 1..=CHECKS {
        let until = Duration::from_nanos(arrivals.as_nanos() * part / CHECKS);
        network.run_until(Instant::ZERO + until);
        network.check_conservation()?;
    }
    let shares = network.flows().iter().map(|flow| Share {
        bytes: flow.received_bytes,
        bytes_last_third: flow.received_bytes_last_part,
        longest_wait: flow.longest_wait(end),
    });
    let flows = shares.collect();
    if let Some(drain) = drain {
        network.drain(drain.standstill, drain.longest);
        network.check_conservation()?;
    }
    Ok(outcome(&network, flows))
}

/// Limits of draining a network.
#[derive(Clone, Copy, Debug)]
pub struct Drain {
    /// If nothing has moved for this time, nothing will.
    pub standstill: Duration,
    /// Maximum duration.
    pub longest: Duration,
}

fn outcome(network: &Network, flows: Vec<Share>) -> Trial {
    let (totals, counters) = (network.totals(), network.counters());
    let sum = |count: fn(&crate::network::Flow) -> u64| network.flows().iter().map(count).sum();
    Trial {
        flows,
        sent: sum(|flow| flow.sent),
        lost: totals.dropped
            + totals.lost_on_lines
            + totals.lost_in_restarts
            + totals.lost_at_doors,
        lost_on_lines: totals.lost_on_lines,
        lost_for_room: counters.drops[DropReason::HeadroomExceeded.index()],
        lost_for_turns: counters.drops[DropReason::Hairpin.index()]
            + counters.drops[DropReason::NoRoute.index()],
        reordered: sum(|flow| flow.reordered),
        inside: network.frames_in_network() as u64,
        frame_hops: totals.frame_hops,
    }
}

impl Trial {
    /// Longest wait of all flows.
    pub fn longest_wait(&self) -> Duration {
        let waits = self.flows.iter().map(|flow| flow.longest_wait);
        waits.max().unwrap_or(Duration::ZERO)
    }

    /// Bytes that arrived.
    pub fn bytes(&self) -> u64 {
        self.flows.iter().map(|flow| flow.bytes).sum()
    }

    /// Number of flows without an arrival in the last third.
    pub fn starved(&self) -> usize {
        let starved = self.flows.iter().filter(|flow| flow.bytes_last_third == 0);
        starved.count()
    }

    /// Jain's index of the flows' bytes, see [`jain`].
    pub fn jain(&self) -> f64 {
        jain(self.flows.iter().map(|flow| flow.bytes as f64))
    }
}

/// Jain's index, (Σx)² ⁄ (n·Σx²): 1 if all get the same, 1 ⁄ n if one gets all (Jain, Chiu, Hawe: A Quantitative Measure of
/// Fairness and Discrimination, 1984). 1 without shares.
pub fn jain(shares: impl Iterator<Item = f64>) -> f64 {
    let (mut count, mut sum, mut squares) = (0u32, 0.0, 0.0);
    for share in shares {
        count += 1;
        sum += share;
        squares += share * share;
    }
    if squares == 0.0 {
        return 1.0;
    }
    sum * sum / (f64::from(count) * squares)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jains_index_is_that_of_its_definition() {
        let index = |shares: &[f64]| jain(shares.iter().copied());
        assert_eq!(index(&[3.0, 3.0, 3.0, 3.0]), 1.0);
        assert_eq!(index(&[0.0, 5.0, 0.0, 0.0]), 0.25);
        assert_eq!(index(&[1.0, 2.0]), 0.9);
        assert_eq!(index(&[]), 1.0);
    }
}
