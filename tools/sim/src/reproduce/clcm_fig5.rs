//! Figure 5 of the CLCM paper: the ring of its Figure 4 locks, one switch becomes master and reroutes flows, and the ring
//! moves again.
//!
//! The paper gives two times, 80 µs to lock and 120 µs to reroute, but no rate, threshold or detection time.
//! [`Setting::DATA_CENTRE`] is chosen so that the times come close to these. We show the shape, and by sweeps how the times
//! follow from the parameters.

mod laws;
mod report;

use serde_json::{json, Value};
use weir_config::scenario::CreditLoop;
use weir_config::Override;
use weir_core::{BitRate, Bytes, Duration, Instant};
use weir_results::chart::{Axis, Chart, Column, Panel};
use weir_results::quantity::{amount, Unit};

pub use laws::{LockLaw, LockPoint, ReroutePoint};

use super::observe::{observe, Moments, Observation};
use super::picture::{amounts, moment, most, rates, seconds, Counted};
use super::setting::{set, Setting};
use super::{File, ReproduceError, Reproduction, ScenarioFile};

/// Interval of the curves.
const INTERVAL: Duration = Duration::from_nanos(500);
/// Averaging window of throughput: about sixteen frames.
const WINDOW: Duration = Duration::from_micros(5);

/// Rates of the lock sweep.
const RATES_MBIT: [u64; 4] = [10_000, 40_000, 100_000, 400_000];
const XOFFS_KIB: [u64; 5] = [14, 28, 56, 112, 224];
/// Detection times of the reroute sweep.
const DETECTS_MICROS: [u64; 5] = [10, 25, 50, 100, 200];
const LATENCIES_NANOS: [u64; 5] = [0, 500, 1_000, 2_000, 5_000];
const SEEDS: u64 = 12;
const FIRST_STEPS_BYTES: [u64; 4] = [1_522, 6 * 1024, 14 * 1024, 28 * 1024];

/// One run of the ring.
#[derive(Clone, Debug)]
pub struct RingRun {
    /// Its parameters.
    pub setting: Setting,
    /// Its policy, by name.
    pub policy: &'static str,
    /// Its seed.
    pub seed: u64,
    /// Names of the switches.
    pub switches: Vec<String>,
    /// Observations.
    pub seen: Observation,
}

impl RingRun {
    /// Runs it.
    ///
    /// # Errors
    ///
    /// The ring has no loop, or the run fails.
    pub fn new(setting: Setting, policy: &'static str, seed: u64) -> Result<Self, ReproduceError> {
        let overrides = Self::overrides(&setting, policy, seed);
        let scenario = ScenarioFile::RING4_ECMP.with(&overrides)?;
        let credit_loop = ring(scenario.credit_loops()).ok_or(ReproduceError::NotAsInThePaper {
            scenario: ScenarioFile::RING4_ECMP.command(&overrides),
            what: "the routes close no loop",
        })?;
        let seen = observe(&scenario, &credit_loop, setting.detect, INTERVAL)?;
        Ok(Self {
            setting,
            policy,
            seed,
            switches: scenario.switches,
            seen,
        })
    }

    fn overrides(setting: &Setting, policy: &str, seed: u64) -> Vec<Override> {
        let mut overrides = setting.overrides();
        overrides.extend(set([
            ("deadlock.policy", policy),
            ("seed", seed.to_string().as_str()),
            ("expect", ""),
        ]));
        overrides
    }

    /// Its events.
    pub fn moments(&self) -> &Moments {
        &self.seen.moments
    }

    /// Name of the master.
    pub fn master(&self) -> Option<&str> {
        let (switch, _) = self.moments().elected?;
        Some(&self.switches[switch])
    }

    /// From the start of traffic to the lock.
    pub fn time_to_lock(&self) -> Option<Duration> {
        let locked = self.moments().locked?;
        Some(locked.saturating_since(Instant::ZERO))
    }

    /// From the lock until flows have moved.
    pub fn time_to_reroute(&self) -> Option<Duration> {
        let rerouted = self.moments().rerouted?;
        Some(rerouted.saturating_since(self.moments().locked?))
    }

    fn sum(&self, of: fn(&weir_api::run::FlowResult) -> f64) -> f64 {
        self.seen.result.flows.iter().map(of).sum()
    }
}

fn ring(loops: Vec<CreditLoop>) -> Option<CreditLoop> {
    loops.into_iter().find(|found| found.switches.len() == 4)
}

/// Data of the figure.
#[derive(Clone, Debug)]
pub struct Figure5 {
    /// The ring without a remedy.
    pub plain: RingRun,
    /// The ring of the figure.
    pub breaker: RingRun,
    /// By rate and X_off.
    pub locks: Vec<LockPoint>,
    /// The law of the lock times.
    pub lock_law: LockLaw,
    /// By detection time, then by control latency.
    pub reroutes: Vec<ReroutePoint>,
    /// The figure's ring with other seeds, hence other masters.
    pub seeds: Vec<RingRun>,
    /// Runs with other first steps of the traffic release.
    pub first_steps: Vec<RingRun>,
}

impl Figure5 {
    /// Runs everything: about a hundred short runs.
    ///
    /// # Errors
    ///
    /// A run fails, or a ring does not lock.
    pub fn run() -> Result<Self, ReproduceError> {
        let base = Setting::DATA_CENTRE;
        let mut locks = Vec::new();
        for rate in RATES_MBIT.map(BitRate::from_mbit) {
            for xoff in XOFFS_KIB.map(|kib| Bytes::new(kib * 1024)) {
                locks.push(LockPoint::run(Setting { rate, xoff, ..base })?);
            }
        }
        let detects = DETECTS_MICROS.map(|micros| Setting {
            detect: Duration::from_micros(micros),
            ..base
        });
        let latencies = LATENCIES_NANOS.map(|nanos| Setting {
            control_latency: Duration::from_nanos(nanos),
            ..base
        });
        let reroutes = detects.into_iter().chain(latencies);
        let with_seeds = |setting: Setting| {
            let run = move |seed| RingRun::new(setting, "loop-breaker", seed);
            (1..=SEEDS).map(run).collect::<Result<Vec<_>, _>>()
        };
        let mut first_steps = Vec::new();
        for traffic_release in FIRST_STEPS_BYTES.map(Bytes::new) {
            first_steps.extend(with_seeds(Setting {
                traffic_release,
                ..base
            })?);
        }
        Ok(Self {
            plain: RingRun::new(base, "off", 1)?,
            breaker: RingRun::new(base, "loop-breaker", 1)?,
            lock_law: LockLaw::of(&locks),
            locks,
            reroutes: reroutes.map(ReroutePoint::run).collect::<Result<_, _>>()?,
            seeds: with_seeds(base)?,
            first_steps,
        })
    }

    /// Returns pictures, table and numbers.
    pub fn reproduction(&self) -> Reproduction {
        let report = report::text(self);
        Reproduction {
            files: vec![
                File::new("clcm-fig5.svg", weir_results::chart::svg(&self.curves())),
                File::new(
                    "clcm-fig5-laws.svg",
                    weir_results::chart::svg(&laws::chart(self)),
                ),
                File::new("clcm-fig5.txt", report.clone()),
                File::new("clcm-fig5.json", super::json(&self.numbers())),
            ],
            report,
        }
    }

    fn curves(&self) -> Chart {
        let setting = &self.breaker.setting;
        Chart {
            title: format!(
                "CLCM paper, Figure 5: the ring of Figure 4 at {} Gbit/s, X_off {}",
                setting.rate.get() / 1_000_000_000,
                amount(setting.xoff.get() as f64)
            ),
            columns: vec![
                column("plain PFC", &self.plain),
                column("Loop Breaker", &self.breaker),
            ],
        }
    }

    fn numbers(&self) -> Value {
        json!({
            "format": 1,
            "figure": "clcm-fig5",
            "paper": { "lock_seconds": 80e-6, "reroute_seconds": 120e-6 },
            "setting": setting_json(&self.breaker.setting),
            "runs": [run_json(&self.plain), run_json(&self.breaker)],
            "lock_law": self.lock_law.json(),
            "locks": self.locks.iter().map(LockPoint::json).collect::<Vec<_>>(),
            "reroutes": self.reroutes.iter().map(ReroutePoint::json).collect::<Vec<_>>(),
            "seeds": self.seeds.iter().map(run_json).collect::<Vec<_>>(),
            "first_steps": self.first_steps.iter().map(run_json).collect::<Vec<_>>(),
        })
    }
}

/// Makes the figure.
///
/// # Errors
///
/// Those of [`Figure5::run`].
pub fn reproduce() -> Result<Reproduction, ReproduceError> {
    Ok(Figure5::run()?.reproduction())
}

fn column(title: &str, run: &RingRun) -> Column {
    let seen = &run.seen;
    let end = run.setting.duration.as_secs_f64();
    let across = Axis::until("time", Unit::of_time(end), end);
    let occupancy = amounts(&seen.occupancy, seen.interval);
    let throughput = rates(
        &seen.sent,
        seen.interval,
        WINDOW,
        run.setting.rate,
        Counted::AtItsBeginning,
    );
    let xoff = run.setting.xoff.get() as f64;
    // Same axes for every run of a setting, unless one exceeds them.
    let buffer = most(&occupancy).max(xoff * 1.5);
    let line = most(&throughput).max(run.setting.rate.get() as f64);
    let moments = seen.moments;
    let master = run.master().unwrap_or_default();
    Column {
        title: title.to_owned(),
        panels: vec![
            Panel {
                title: String::new(),
                across: across.clone(),
                up: Axis::linear("ingress buffer", Unit::of_amount(buffer), buffer),
                curves: occupancy,
                levels: vec![(xoff, format!("X_off {}", amount(xoff)))],
            },
            Panel {
                title: String::new(),
                across,
                up: Axis::linear("sent by port", Unit::of_rate(line), line),
                curves: throughput,
                levels: Vec::new(),
            },
        ],
        moments: [
            moment(moments.locked, "the loop locks: last frame sent on it"),
            moment(
                moments.first_suspected,
                "the first of its ports is suspected",
            ),
            moment(moments.all_suspected, "the last of its ports is suspected"),
            moment(
                moments.elected.map(|(_, at)| at),
                format!("{master} is elected master"),
            ),
            moment(
                moments.rerouted,
                format!("{master} has moved flows to the other way round"),
            ),
            moment(
                moments.moved_again,
                "the first frame is forced out, the loop moves",
            ),
        ]
        .into_iter()
        .flatten()
        .collect(),
        ..Column::default()
    }
}

fn setting_json(setting: &Setting) -> Value {
    json!({
        "rate_bits_per_second": setting.rate.get(),
        "delay_seconds": setting.delay.as_secs_f64(),
        "xoff_bytes": setting.xoff.get(),
        "xon_bytes": setting.xoff.get() / 8 * 7,
        "headroom_bytes": setting.headroom().get(),
        "detect_seconds": setting.detect.as_secs_f64(),
        "clcm_interval_seconds": setting.clcm_interval.as_secs_f64(),
        "control_latency_seconds": setting.control_latency.as_secs_f64(),
        "duration_seconds": setting.duration.as_secs_f64(),
    })
}

fn run_json(run: &RingRun) -> Value {
    let moments = run.moments();
    let at = |at: Option<Instant>| at.map(seconds);
    let count = |of: fn(&weir_api::run::FlowResult) -> u64| {
        run.seen.result.flows.iter().map(of).sum::<u64>()
    };
    json!({
        "policy": run.policy,
        "seed": run.seed,
        "first_step_bytes": run.setting.traffic_release.get(),
        "deadlocked": run.seen.result.deadlocked,
        "locked_seconds": at(moments.locked),
        "first_suspected_seconds": at(moments.first_suspected),
        "all_suspected_seconds": at(moments.all_suspected),
        "elected_seconds": at(moments.elected.map(|(_, at)| at)),
        "masters": run.seen.result.masters,
        "rerouted_seconds": at(moments.rerouted),
        "moved_again_seconds": at(moments.moved_again),
        "standstills": run.seen.standstills.len(),
        "flows_moved": run.seen.result.flows_moved,
        "forced_frames": run.seen.forced_frames,
        "received": count(|flow| flow.received),
        "lost": count(|flow| flow.lost),
        "reordered": count(|flow| flow.reordered),
        "bits_per_second_last_third": run.sum(|flow| flow.bits_per_second_last_third),
    })
}
