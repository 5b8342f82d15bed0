//! Accounts of all frames of a network. Hosts number their frames, so losses are counted rather than estimated.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result};

use super::interrupt::wait_for;
use super::stage::Stage;
use crate::endpoint::report::EndpointReport;

/// Number of consecutive unchanged checks, 20 ms apart, for a network that holds no frames.
const QUIET: u32 = 25;
/// The same for a network that holds frames: they may wait for a pause to expire, which takes 3.4 s at a lab's lowest rate.
const QUIET_HOLDING: u32 = 200;

/// Condition for a network with silent hosts to be at rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// All held frames have left.
    Drained,
    /// No frame moves any longer, even if some cannot leave.
    Still,
}

/// Accounts of all frames once none moves any longer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Balance {
    /// Frames that the hosts passed to their devices.
    pub sent: u64,
    /// Distinct frames that arrived intact.
    pub received: u64,
    /// Frames dropped by the running switches, by reason.
    pub dropped: BTreeMap<String, u64>,
    /// Frames lost in the rings of the running switches.
    pub lost_by_kernel: u64,
    /// Frames lost in the rings or at the devices of the hosts.
    pub lost_by_hosts: u64,
    /// Frames held by the running switches.
    pub held: u64,
}

impl Balance {
    /// Returns the number of frames that did not arrive.
    pub fn missing(&self) -> u64 {
        self.sent.saturating_sub(self.received)
    }

    /// Returns the number of frames counted as lost, or held by a switch.
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
    /// When it is not at rest within `limit`, or a switch or host does not answer.
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

    /// Returns the number of distinct frames that hosts have received intact.
    fn arrived_frames(&mut self) -> Result<u64> {
        let mut arrived = 0;
        for host in &mut self.hosts {
            let flows = host.snapshot()?.received;
            arrived += flows.iter().map(|flow| flow.frames).sum::<u64>();
        }
        Ok(arrived)
    }

    /// Ends the hosts and adds up the frames; also returns each host's report. Call it once the network has
    /// [settled](Self::settle).
    ///
    /// # Errors
    ///
    /// When a switch or host does not answer, or a host fails.
    pub fn balance(&mut self) -> Result<(Balance, Vec<EndpointReport>)> {
        // First: frames held for a host may leave once it is gone.
        let mut balance = Balance::of_switches(self)?;
        let reports = self.finish_hosts()?;
        reports.iter().for_each(|report| balance.add_host(report));
        Ok((balance, reports))
    }
}
