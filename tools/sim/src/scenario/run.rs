//! One run of one scenario.

use std::ops::ControlFlow;
use std::sync::Arc;

use weir_api::run::RunResult;
use weir_config::scenario::Scenario;
use weir_core::{Duration, Instant};

use super::outcome::{outcome, Delivered};
use super::plan::{plan, PrepareError};
use crate::network::threads::Standing;
use crate::network::{Imbalance, Network, PlanError};
use crate::transport::custom::CustomControls;

/// Options of a run.
#[derive(Default)]
pub struct Options<'a> {
    /// Number of threads; zero is one, and there is at most one for each switch. The result is the same.
    pub threads: usize,
    /// Called periodically with the run's progress.
    pub progress: Option<&'a mut dyn FnMut(Progress)>,
    /// Called at the end of each of the run's parts, at most two hundred.
    pub observe: Option<&'a mut dyn FnMut(&Network)>,
    /// Records pauses; called at the end of the run.
    pub record: Option<&'a mut dyn FnMut(&Network)>,
    /// Called on the caller's thread after some thousand events, on several threads more often: true ends the run.
    pub interrupt: Option<&'a mut dyn FnMut() -> bool>,
    /// Congestion control of the caller, for flows with such a transport. The run has one thread then.
    pub custom: Option<Arc<dyn CustomControls>>,
}

/// Progress of a run.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Virtual time so far.
    pub now: Instant,
    /// The end of traffic.
    pub end: Instant,
    /// Events so far.
    pub events: u64,
    /// Frames inside the network.
    pub frames: usize,
}

/// Reason for which a run has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// The scenario cannot be simulated.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// Its switches do not support the configuration.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The system starts no thread.
    #[error("cannot start a thread: {error}; use fewer --threads, or raise the limit on processes (ulimit -u)")]
    Threads {
        /// The reason.
        error: String,
    },
    /// [`Options::interrupt`] has ended it.
    #[error("interrupted after {seconds} s of virtual time")]
    Interrupted {
        /// Time in seconds.
        seconds: String,
    },
    /// A frame is missing without being counted: an error of the simulator or the switch.
    #[error("after {seconds:.9} s of virtual time: {imbalance}; replay with: weir-sim run FILE --seed {seed}")]
    Imbalance {
        /// The seed.
        seed: u64,
        /// Time in seconds.
        seconds: String,
        /// The numbers.
        imbalance: Imbalance,
    },
}

/// Number of parts of a run, each followed by a check of its accounts.
const CHECKS: u64 = 200;

/// Runs `scenario` in virtual time: for its duration, and then without traffic until the network is
/// empty or stalls.
///
/// # Errors
///
/// See [`RunError`]. An expectation that is not met is no error; the result contains it.
pub fn run(scenario: &Scenario, options: Options<'_>) -> Result<RunResult, RunError> {
    let mut plan = plan(scenario)?;
    let threads = match options.custom {
        // Its calls have one order.
        Some(_) => 1,
        None => options.threads,
    };
    plan.custom = options.custom;
    let mut network = Network::new(plan)?;
    if options.record.is_some() {
        network.record_pauses();
    }
    let end = Instant::ZERO + scenario.duration;
    let part = Duration::from_nanos(scenario.duration.as_nanos().div_ceil(CHECKS).max(1));
    let stops = std::iter::successors(Some(Instant::ZERO), |stop| {
        (*stop < end).then(|| (*stop + part).min(end))
    });
    let stops: Vec<Instant> = stops.skip(1).collect();
    let (mut progress, mut observe) = (options.progress, options.observe);
    let mut asked = options.interrupt;
    let mut is_over = false;
    let mut interrupt = || {
        if let Some(asked) = &mut asked {
            is_over |= asked();
        }
        is_over
    };
    // An observer needs the network in one piece, which it is between two runs.
    let at_a_time = match observe {
        Some(_) => 1,
        None => stops.len().max(1),
    };
    for stops in stops.chunks(at_a_time) {
        let mut watch = |standing: &Standing| {
            if standing.balance.is_err() {
                return ControlFlow::Break(());
            }
            if let Some(progress) = &mut progress {
                progress(Progress {
                    now: standing.now,
                    end,
                    events: standing.events,
                    frames: standing.frames as usize,
                });
            }
            ControlFlow::Continue(())
        };
        let ran = network.run_interruptibly(threads, stops, &mut watch, &mut interrupt);
        let is_whole = ran.map_err(|error| RunError::Threads {
            error: error.to_string(),
        })?;
        if !is_whole {
            return Err(RunError::interrupted(&network));
        }
        check(scenario, &network)?;
        if let Some(observe) = &mut observe {
            observe(&network);
        }
    }
    let delivered = Delivered::of(scenario, &network);
    let still = standstill(scenario);
    let longest = still.saturating_mul(20) + scenario.duration;
    if !network.drain_interruptibly(still, longest, &mut interrupt) {
        return Err(RunError::interrupted(&network));
    }
    check(scenario, &network)?;
    if let Some(record) = options.record {
        record(&network);
    }
    Ok(outcome(scenario, &network, &delivered))
}

fn check(scenario: &Scenario, network: &Network) -> Result<(), RunError> {
    network
        .check_conservation()
        .map_err(|imbalance| RunError::imbalance(scenario, network, imbalance))
}

impl RunError {
    pub(crate) fn imbalance(scenario: &Scenario, network: &Network, imbalance: Imbalance) -> Self {
        Self::Imbalance {
            seed: scenario.seed,
            seconds: seconds(network),
            imbalance,
        }
    }

    fn interrupted(network: &Network) -> Self {
        let seconds = seconds(network);
        Self::Interrupted { seconds }
    }
}

fn seconds(network: &Network) -> String {
    let now = network.now().saturating_since(Instant::ZERO);
    format!("{:.9}", now.as_secs_f64())
}

/// Returns the time after which a network without movement will not move again: longer than an unrefreshed pause, and
/// than the policy's detection of a deadlock.
fn standstill(scenario: &Scenario) -> Duration {
    let rates = scenario.links.iter().map(|link| link.properties.rate);
    let of_hosts = scenario.hosts.iter().map(|host| host.line.rate);
    let slowest = rates.chain(of_hosts).min();
    let slowest = slowest.unwrap_or(scenario.link_defaults.rate);
    let pause = scenario.frames().pause_time.at(slowest);
    let deadlock = &scenario.deadlock;
    let policy = deadlock.detect + deadlock.clcm_interval + deadlock.release + deadlock.lifetime;
    let wait = policy + scenario.control.latency.saturating_mul(2);
    pause.saturating_mul(2) + wait.saturating_mul(8)
}
