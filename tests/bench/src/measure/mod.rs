//! Measurements of one system with one kind of traffic: throughput without loss, goodput at
//! overload, latency.
//!
//! The search for rates uses live frames, which cost the sender the least CPU time. Latency is measured with AF_XDP, since
//! live frames wait for their batch.

pub mod idle;
mod search;
pub mod tcp;
pub mod trial;

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use crate::system::System;
use search::{search, Tried};
use trial::{Generator, Load, Outcome, Traffic, Trials};

/// Loads of the overload trials, as multiples of the rate without loss.
pub const OVERLOADS: [u32; 3] = [1, 2, 4];
/// Loads of the latency trials, in percent of the rate without loss.
pub const LATENCY_LOADS: [u32; 3] = [10, 50, 90];
/// Loads in frames per second that are the same for all systems: half the rate of a fast system is more than the sender can
/// time, and not comparable.
pub const SAME_LOADS: [u32; 3] = [100_000, 200_000, 400_000];

/// Effort of a measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Effort {
    /// Number of rounds, in each of which all systems are measured.
    pub rounds: u32,
    /// Bisections of a search.
    pub steps: u32,
    /// One trial of a search, in milliseconds.
    pub search_trial_ms: u64,
    /// One trial at overload, in milliseconds.
    pub overload_trial_ms: u64,
    /// One trial for latency, in milliseconds.
    pub latency_trial_ms: u64,
}

impl Effort {
    /// Three rounds.
    pub const THOROUGH: Self = Self {
        rounds: 3,
        steps: 6,
        search_trial_ms: 400,
        overload_trial_ms: 400,
        latency_trial_ms: 800,
    };
    /// For a quick look: one round, short trials.
    pub const QUICK: Self = Self {
        rounds: 1,
        steps: 5,
        search_trial_ms: 300,
        overload_trial_ms: 300,
        latency_trial_ms: 300,
    };
}

/// One system with one kind of traffic in one round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Counted from 1.
    pub round: u32,
    /// See [`System::name`].
    pub system: String,
    /// Frame length with FCS.
    pub frame_bytes: usize,
    /// Number of flows.
    pub flows: u32,
    /// Throughput without loss.
    pub lossless: LosslessRate,
    /// At the sender's maximum rate.
    pub fastest: Sample,
    /// At multiples of the rate without loss.
    pub overload: Vec<Sample>,
    /// At fractions of it.
    pub latency: Vec<Sample>,
    /// At [`SAME_LOADS`], in this order; empty in older measurements.
    #[serde(default)]
    pub same_load: Vec<Sample>,
    /// Frames lost in all trials, by the system's name for the reason.
    pub losses: BTreeMap<String, u64>,
}

/// Throughput without loss.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LosslessRate {
    /// Frames per second.
    pub frames_per_second: f64,
    /// True if nothing was lost at the sender's maximum rate.
    pub is_sender_bound: bool,
    /// Trials of the search.
    pub trials: u32,
}

/// One trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Target in percent of the rate without loss; `None` for as fast as possible.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percent: Option<u32>,
    /// Sender: `af_xdp` or `live_frames`.
    pub generator: String,
    /// Frames per second sent.
    pub offered: f64,
    /// Frames per second received.
    pub goodput: f64,
    /// Frames sent.
    pub sent: u64,
    /// Number of these lost.
    pub lost: u64,
    /// Frames received after a later one.
    pub reordered: u64,
    /// PFC frames sent by the switch to the sender.
    pub pfc_frames: u64,
    /// CPU time of the switch's threads for each frame received.
    pub switch_nanos_per_frame: f64,
    /// CPU time of the whole path, from the sender's system call to the receiver's program, for each frame received.
    pub path_nanos_per_frame: f64,
    /// CPU time of all other processes, as a share of one CPU.
    pub others_share: f64,
    /// CPU time given by the hypervisor to others, as a share of one CPU; in steps of 10 ms, and 0 if it is not reported.
    #[serde(default)]
    pub stolen_share: f64,
    /// Median latency in nanoseconds.
    pub p50_nanos: Option<u64>,
    /// 99th percentile.
    pub p99_nanos: Option<u64>,
    /// 99.9th percentile.
    pub p999_nanos: Option<u64>,
}

impl Measurement {
    /// Measures a system that is ready.
    ///
    /// # Errors
    ///
    /// Those of a trial.
    pub fn make(
        system: System,
        round: u32,
        traffic: Traffic,
        effort: &Effort,
        trials: &mut Trials<'_>,
    ) -> Result<Self> {
        let losses_before = trials.switch().losses()?;
        warm_up(trials)?;
        let load = |by: Generator, rate: Option<f64>, millis: u64| Load {
            rate,
            by,
            duration: Duration::from_millis(millis),
        };
        let mut fastest = None;
        let lossless = search(effort.steps, |rate| -> Result<Tried> {
            let outcome = trials.run(load(Generator::LiveFrames, rate, effort.search_trial_ms))?;
            let tried = Tried {
                offered: outcome.offered(),
                goodput: outcome.goodput(),
                lost: outcome.lost(),
            };
            if rate.is_none() {
                fastest = Some(Sample::of(None, Generator::LiveFrames, &outcome));
            }
            Ok(tried)
        })?;
        let fastest =
            fastest.ok_or_else(|| anyhow::anyhow!("a search begins with the fastest rate"))?;
        let mut overload = Vec::with_capacity(OVERLOADS.len());
        for times in OVERLOADS {
            let rate = lossless.rate * f64::from(times);
            if rate > 0.0 {
                let load = load(Generator::LiveFrames, Some(rate), effort.overload_trial_ms);
                overload.push(Sample::of(Some(100 * times), load.by, &trials.run(load)?));
            }
        }
        let mut latency = Vec::with_capacity(LATENCY_LOADS.len());
        for percent in LATENCY_LOADS {
            let rate = lossless.rate * f64::from(percent) / 100.0;
            if rate > 0.0 {
                let load = load(Generator::AfXdp, Some(rate), effort.latency_trial_ms);
                latency.push(Sample::of(Some(percent), load.by, &trials.run(load)?));
            }
        }
        let mut same_load = Vec::with_capacity(SAME_LOADS.len());
        for rate in SAME_LOADS {
            let load = load(
                Generator::AfXdp,
                Some(f64::from(rate)),
                effort.latency_trial_ms,
            );
            same_load.push(Sample::of(None, load.by, &trials.run(load)?));
        }
        let mut losses = trials.switch().losses()?;
        for (reason, count) in &mut losses {
            *count -= losses_before.get(reason).copied().unwrap_or(0).min(*count);
        }
        losses.retain(|_, count| *count > 0);
        Ok(Self {
            round,
            system: system.name().to_owned(),
            frame_bytes: traffic.frame_bytes,
            flows: traffic.flows,
            lossless: LosslessRate {
                frames_per_second: lossless.rate,
                is_sender_bound: lossless.is_sender_bound,
                trials: lossless.trials,
            },
            fastest,
            overload,
            latency,
            same_load,
            losses,
        })
    }
}

fn warm_up(trials: &mut Trials<'_>) -> Result<()> {
    const LOAD: Load = Load {
        rate: Some(100_000.0),
        by: Generator::AfXdp,
        duration: Duration::from_millis(200),
    };
    let outcome = trials.run(LOAD)?;
    if outcome.tally.frames == 0 {
        anyhow::bail!("nothing arrives: {} probes were sent", outcome.sent);
    }
    Ok(())
}

impl Sample {
    fn of(percent: Option<u32>, by: Generator, outcome: &Outcome) -> Self {
        let share = |nanos: u64| nanos as f64 / outcome.elapsed.as_nanos() as f64;
        Self {
            percent,
            generator: by.name().to_owned(),
            offered: outcome.offered(),
            goodput: outcome.goodput(),
            sent: outcome.sent,
            lost: outcome.lost(),
            reordered: outcome.tally.reordered,
            pfc_frames: outcome.pfc_frames,
            switch_nanos_per_frame: outcome.nanos_per_frame(outcome.cpu.switch),
            path_nanos_per_frame: outcome.nanos_per_frame(outcome.cpu.path()),
            others_share: share(outcome.cpu.others()),
            stolen_share: share(outcome.cpu.stolen),
            p50_nanos: outcome.latency.quantile_nanos(0.5),
            p99_nanos: outcome.latency.quantile_nanos(0.99),
            p999_nanos: outcome.latency.quantile_nanos(0.999),
        }
    }
}
