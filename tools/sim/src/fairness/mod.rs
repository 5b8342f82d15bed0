//! Compares Levels with PFC plus Deadlock Breaker in the same networks: longest waits and throughput.

mod networks;
mod tables;

use weir_config::FileError;
use weir_core::{Duration, FeedbackCoding};

use crate::scenario::{plan, PrepareError};
use crate::trial::{self, Trial, TrialError};

pub use networks::{Lines, Network, Protocol, Topology};
pub use tables::{json, markdown};

/// Maximum wait of a flow as a multiple of the longest wait under PFC, plus one refresh.
const TIMES_PFC: u64 = 5;
/// Minimum throughput relative to PFC, in percent.
const THROUGHPUT_PERCENT: u64 = 95;
/// Maximum ratio of the bound on waits to the duration, in percent. Above it, a flow could stall forever without exceeding
/// the bound.
const BOUND_PERCENT: u64 = 70;
/// Maximum number of times that the duration is doubled for a network whose bound is too long.
const DOUBLINGS_MAX: u32 = 3;

/// Values of T: 10 µs, 100 µs, 1 ms and 10 ms.
pub const ROUND_TRIPS: [Duration; 4] = [
    Duration::from_micros(10),
    Duration::from_micros(100),
    Duration::from_millis(1),
    Duration::from_millis(10),
];

/// Comparison to make.
#[derive(Clone, Debug)]
pub struct Question {
    /// Values of T.
    pub round_trips: Vec<Duration>,
    /// Codings, each combined with each T.
    pub codings: Vec<FeedbackCoding>,
    /// Lengths of lines.
    pub lines: Lines,
    /// Minimum duration of traffic.
    pub duration: Duration,
}

/// Reason for which networks cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum FairnessError {
    /// A network cannot be built.
    #[error(transparent)]
    File(#[from] FileError),
    /// A network cannot be simulated.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// An error of this program.
    #[error(transparent)]
    Trial(#[from] TrialError),
}

/// One network under Levels and under PFC.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// Its graph.
    pub topology: Topology,
    /// Its seed.
    pub seed: u64,
    /// T.
    pub round_trip: Duration,
    /// Coding of Feedback.
    pub coding: FeedbackCoding,
    /// Duration of traffic.
    pub duration: Duration,
    /// Bound on flows' waits.
    pub bound: Duration,
    /// Under Levels.
    pub level: Trial,
    /// Under PFC with the Deadlock Breaker.
    pub pfc: Trial,
}

impl Comparison {
    /// Longest wait relative to the bound; `None` if the bound is too long to be meaningful.
    pub fn wait_of_bound(&self) -> Option<f64> {
        let wait = self.level.longest_wait().as_secs_f64();
        is_told(self.bound, self.duration).then(|| wait / self.bound.as_secs_f64())
    }

    /// Bytes delivered relative to PFC.
    pub fn throughput(&self) -> f64 {
        self.level.bytes() as f64 / (self.pfc.bytes() as f64).max(1.0)
    }

    /// Names of broken promises.
    pub fn broken(&self) -> Vec<&'static str> {
        let waits = self.wait_of_bound().is_some_and(|part| part > 1.0);
        let less = self.level.bytes() * 100 < self.pfc.bytes() * THROUGHPUT_PERCENT;
        let broken = [
            (waits, "wait"),
            (less, "throughput"),
            (self.level.lost > 0, "lost"),
            (self.level.reordered > 0, "reordered"),
        ];
        let broken = broken.into_iter().filter(|(is_broken, _)| *is_broken);
        broken.map(|(_, what)| what).collect()
    }
}

fn is_told(bound: Duration, duration: Duration) -> bool {
    u128::from(bound.as_nanos()) * 100
        <= u128::from(duration.as_nanos()) * u128::from(BOUND_PERCENT)
}

/// Compares the network of `topology` and `seed`, once for each T and coding. Calls `ran` after each run.
///
/// # Errors
///
/// See [`FairnessError`].
pub fn compare(
    topology: Topology,
    seed: u64,
    question: &Question,
    ran: &dyn Fn(),
) -> Result<Vec<Comparison>, FairnessError> {
    let mut comparisons = Vec::new();
    // If the lines do not depend on T, PFC does not either.
    let mut known: Option<(Duration, Reference)> = None;
    for round_trip in &question.round_trips {
        let of = match question.lines {
            Lines::Short => Duration::ZERO,
            Lines::Long => *round_trip,
        };
        let reference = match known.take() {
            Some((same, reference)) if same == of => reference,
            _ => reference(topology, seed, of, question)?,
        };
        for coding in &question.codings {
            let level = Network {
                topology,
                seed,
                lines: question.lines,
                protocol: Protocol::Level {
                    round_trip: *round_trip,
                    coding: *coding,
                },
                duration: reference.duration,
            };
            let (level, _) = run(&level)?;
            ran();
            comparisons.push(Comparison {
                topology,
                seed,
                round_trip: *round_trip,
                coding: *coding,
                duration: reference.duration,
                bound: reference.bound,
                level,
                pfc: reference.trial.clone(),
            });
        }
        known = Some((of, reference));
    }
    Ok(comparisons)
}

struct Reference {
    trial: Trial,
    duration: Duration,
    bound: Duration,
}

/// Runs it long enough for the bound to distinguish a waiting flow from one that stalls for good.
fn reference(
    topology: Topology,
    seed: u64,
    round_trip: Duration,
    question: &Question,
) -> Result<Reference, FairnessError> {
    let mut duration = question.duration;
    let mut doublings = 0;
    loop {
        let network = Network {
            topology,
            seed,
            lines: question.lines,
            protocol: Protocol::Pfc(round_trip),
            duration,
        };
        let (trial, refresh) = run(&network)?;
        let bound = trial.longest_wait().saturating_mul(TIMES_PFC) + refresh;
        if is_told(bound, duration) || doublings == DOUBLINGS_MAX {
            return Ok(Reference {
                trial,
                duration,
                bound,
            });
        }
        doublings += 1;
        duration = duration.saturating_mul(2);
    }
}

fn run(network: &Network) -> Result<(Trial, Duration), FairnessError> {
    let scenario = network.scenario()?;
    let trial = trial::run(plan(&scenario)?, scenario.duration, None)?;
    Ok((trial, scenario.frames().feedback_refresh))
}
