//! Fate of all frames of a network. Hosts number their frames, so that losses are counted and not
//! estimated.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result};

use super::interrupt::wait_for;
use super::stage::Stage;
use crate::endpoint::report::EndpointReport;

/// Consecutive checks, 20 ms apart, without any change: for a network that holds no frames.
const QUIET: u32 = 25;
/// Number of checks for a network that holds frames: they may wait for a pause to run out, which at
/// a lab's slowest rate takes 3.4 s.
const QUIET_HOLDING: u32 = 200;

/// When a network whose hosts send nothing more has come to rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// All that was held has left.
    Drained,
    /// Nothing moves any more, be it that some frames cannot leave.
    Still,
}

/// Fate of all frames, once nothing moves any more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Balance {
    /// Frames that the hosts handed to their devices.
    pub sent: u64,
    /// Frames that arrived whole, each counted once.
    pub received: u64,
    /// Dropped by the switches that run, by reason.
    pub dropped: BTreeMap<String, u64>,
    /// Lost in the rings of the switches that run.
    pub lost_by_kernel: u64,
    /// Lost in the rings or at the devices of the hosts.
    pub lost_by_hosts: u64,
    /// Held by the switches that run.
    pub held: u64,
}

impl Balance {
    /// Frames that did not arrive.
    pub fn missing(&self) -> u64 {
        self.sent.saturating_sub(self.received)
    }

    /// Frames that are counted as lost, or held by a switch.
    pub fn accounted(&self) -> u64 {
        self.dropped.values().sum::<u64>() + self.lost_by_kernel + self.lost_by_hosts + self.held
    }

    /// Reads the present counts of the switches of `stage`.
    fn of_switches(stage: &Stage) -> Result<Self> {
        let mut balance = Self::default();
        for switch in &stage.switches {
            let status = switch.status()?;
            for (reason, frames) in status.drops_total {
                *balance.dropped.entry(reason.to_string()).or_default() += frames;
            }
            balance.lost_by_kernel += status.kernel_losses_total;
            balance.held += status.held_frames;
        }
        Ok(balance)
    }

    fn add_host(&mut self, report: &EndpointReport) {
        self.sent += report.sent.iter().map(|flow| flow.frames).sum::<u64>();
        self.received += report.received.iter().map(|flow| flow.frames).sum::<u64>();
        let kernel = &report.kernel;
        self.lost_by_hosts +=
            kernel.received_frames_lost() + kernel.tx_device_drops + kernel.tx_outstanding;
    }
}

impl Stage {
    /// Silences the hosts, and waits until the network has come to rest.
    ///
    /// # Errors
    ///
    /// When it has not within `limit`, or a switch or host does not answer.
    pub fn settle(&mut self, rest: Rest, limit: Duration) -> Result<()> {
        for host in &mut self.hosts {
            host.stop_sending()?;
        }
        let mut before = None;
        let mut same = 0;
        let settled = wait_for(limit, || {
            let now = (self.held_frames()?, self.arrived_frames()?);
            same = if before == Some(now) { same + 1 } else { 0 };
            before = Some(now);
            let enough = match (now.0, rest) {
                (0, _) => QUIET,
                (_, Rest::Still) => QUIET_HOLDING,
                (_, Rest::Drained) => return Ok(None),
            };
            Ok((same >= enough).then_some(()))
        })?;
        settled.with_context(|| {
            let held = before.map_or(0, |(held, _)| held);
            format!(
                "the network is not idle {} s after the last frame was sent: the switches still hold {held} frames",
                limit.as_secs()
            )
        })
    }

    /// Returns frames that hosts have received whole, each counted once.
    fn arrived_frames(&mut self) -> Result<u64> {
        let mut arrived = 0;
        for host in &mut self.hosts {
            let flows = host.snapshot()?.received;
            arrived += flows.iter().map(|flow| flow.frames).sum::<u64>();
        }
        Ok(arrived)
    }

    /// Ends the hosts and adds up; also returns each host's report. To be called when the network
    /// has [settled](Self::settle).
    ///
    /// # Errors
    ///
    /// When a switch or host does not answer, or a host fails.
    pub fn balance(&mut self) -> Result<(Balance, Vec<EndpointReport>)> {
        // First: what is held for the sake of a host may leave when that is gone.
        let mut balance = Balance::of_switches(self)?;
        let reports = self.finish_hosts()?;
        reports.iter().for_each(|report| balance.add_host(report));
        Ok((balance, reports))
    }
}
