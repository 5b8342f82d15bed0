//! Promises of a wide network, and their verification.
//!
//! | promise | except |
//! |---|---|
//! | no frame is lost | frames on a link that goes down; frames that were in flight when a route turned back to where they came from, or that came to a switch before its route; under Levels, where some T is shorter than its line needs, frames for which a buffer has no room |
//! | no frame arrives after one of its flow that was sent later | networks in which a route changes |
//! | when traffic has ended, every frame leaves | |
//! | under Levels no steady flow waits longer for a frame than [`TIMES_PFC`] times the longest wait in the same network under PFC with the Deadlock Breaker, one refresh and two T more | networks in which that is more than [`BOUND_PERCENT`] of the run ([`Told::Nothing`]) |
//! | under PFC no steady flow waits for a third of the run | runs that are too short for that: less than [`FILLINGS`] times what full buffers on a flow's way take to move, or so many rounds of the Deadlock Breaker ([`Told::Nothing`]) |
//!
//! A network in which the bound is meaningless, or that seems to break it, is run again for longer:
//! a promise is broken when it still is then.

use std::path::Path;

use weir_config::scenario::Scenario;
use weir_core::{Duration, FeedbackCoding, Quanta};

use super::case::{Case, GAMMA_MAX};
use super::Protocol;
use crate::scenario::plan;
use crate::trial::{self, Drain, Trial};

/// Maximum ratio of a flow's wait under Levels to the longest wait under PFC.
pub const TIMES_PFC: u64 = 5;
/// Maximum ratio of the bound on waits to the run's duration, in percent.
pub const BOUND_PERCENT: u64 = 70;
/// Under PFC, waits are only judged in runs in which buffers on the path could be filled and emptied this many times.
pub const FILLINGS: u64 = 5;
/// Maximum number of times that a run is lengthened.
const ROUNDS_MAX: u32 = 6;
/// A run is not lengthened beyond this number of line crossings.
const CROSSINGS_MAX: u64 = 200_000;
/// Limit for a run in which a flow seems to starve.
const CROSSINGS_TO_BE_SURE: u64 = 1_000_000;

/// Permission to lengthen runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// Keep the case's duration.
    AsItIs,
    /// Lengthen if needed.
    Longer,
}

/// Criterion for waiting flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Told {
    /// The bound derived from PFC.
    Bound,
    /// A third of the run.
    Thirds,
    /// None: the run is too short.
    Nothing,
}

/// A broken promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Broken {
    /// The network could not be run, or frames are unaccounted for: an error of this program.
    Refused,
    /// Frames were lost.
    Lost,
    /// Frames were reordered.
    Reordered,
    /// Frames remained inside for good.
    Stuck,
    /// A flow waited too long.
    Starved,
}

/// Results of one network.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// Broken promises.
    pub broken: Vec<Broken>,
    /// Description in words.
    pub words: String,
    /// Criterion for waits.
    pub told: Told,
    /// Duration of traffic in the decisive run.
    pub duration: Duration,
    /// Longest wait of a steady flow relative to its limit.
    pub wait: f64,
    /// Jain's index of the flows' shares, and that under PFC.
    pub jain: [f64; 2],
    /// Frames sent by hosts.
    pub sent: u64,
    /// Frames lost for any reason.
    pub lost: u64,
    /// Line crossings in all runs.
    pub frame_hops: u64,
}

/// Runs `case` with `protocol` and checks the promises. For Levels, also runs it under PFC.
pub fn judge(case: &Case, protocol: Protocol, patience: Patience) -> Answer {
    let mut judging = Judging {
        case: case.clone(),
        protocol,
        frame_hops: 0,
    };
    judging
        .answer(patience)
        .unwrap_or_else(|error| Answer::refused(error, case.duration, judging.frame_hops))
}

struct Judging {
    case: Case,
    protocol: Protocol,
    frame_hops: u64,
}

impl Judging {
    fn answer(&mut self, patience: Patience) -> Result<Answer, String> {
        match self.protocol {
            Protocol::Level => self.beside_pfc(patience),
            _ => self.by_itself(patience),
        }
    }

    fn beside_pfc(&mut self, patience: Patience) -> Result<Answer, String> {
        let mut rounds = first_round(patience);
        loop {
            let pfc = self.run(Protocol::PfcLikeLevel)?;
            let wait = self.longest_wait(&pfc);
            let (told, bound) = self.bound(wait);
            if told != Told::Bound && rounds < ROUNDS_MAX {
                rounds += 1;
                let needed = self.promised(wait).saturating_mul(3).divided_by(2);
                if self.lengthen(needed, &pfc, CROSSINGS_MAX) {
                    continue;
                }
            }
            let trial = self.run(Protocol::Level)?;
            let answer = self.judge(&trial, &pfc, told, bound);
            // Runs once more, and longer: a flow that starves also waits then.
            let seems_starved = answer.broken == [Broken::Starved];
            if seems_starved && rounds < ROUNDS_MAX {
                rounds = ROUNDS_MAX;
                let longer = self.case.duration.saturating_mul(4);
                if self.lengthen(longer, &pfc, CROSSINGS_TO_BE_SURE) {
                    continue;
                }
            }
            return Ok(answer);
        }
    }

    fn by_itself(&mut self, patience: Patience) -> Result<Answer, String> {
        let mut rounds = first_round(patience);
        loop {
            let trial = self.run(self.protocol)?;
            let (wait, third) = (self.longest_wait(&trial), self.third());
            let needed = self.time_to_tell();
            if wait > third && rounds < ROUNDS_MAX {
                rounds += 1;
                let longer = needed.max(wait.saturating_mul(4));
                if self.lengthen(longer, &trial, CROSSINGS_TO_BE_SURE) {
                    continue;
                }
            }
            let told = if wait <= third || self.case.duration >= needed {
                Told::Thirds
            } else {
                Told::Nothing
            };
            return Ok(self.judge(&trial, &trial, told, third));
        }
    }

    /// Returns the duration after which a run under PFC shows which flows starve.
    fn time_to_tell(&self) -> Duration {
        let classes = self.case.classes.iter();
        let most = classes.map(|class| class.edge_xoff).max().unwrap_or(0);
        let buffer = most * GAMMA_MAX + self.case.true_reserve();
        let breaker = &self.case.breaker;
        let round = breaker.detect + breaker.interval + breaker.release;
        let filling = self.case.filling_time(buffer);
        (filling + round).saturating_mul(FILLINGS)
    }

    /// Lengthens the run by a factor of two to eight, as close to `needed` as that permits; returns false if it would take
    /// too much work.
    fn lengthen(&mut self, needed: Duration, before: &Trial, most: u64) -> bool {
        let duration = self.case.duration;
        let (twice, more) = (duration.saturating_mul(2), duration.saturating_mul(8));
        let longer = needed.clamp(twice, more);
        let factor = longer.as_nanos() / duration.as_nanos().max(1) + 1;
        let fits = before.frame_hops.saturating_mul(factor) <= most;
        if fits {
            self.case.duration = longer;
        }
        fits
    }

    /// Returns the longest permitted wait of a steady flow under Levels if the longest wait under PFC is `wait`.
    fn promised(&self, wait: Duration) -> Duration {
        let trips = self.case.longest_round_trip().saturating_mul(2);
        wait.saturating_mul(TIMES_PFC) + self.case.refresh + trips
    }

    fn bound(&self, wait: Duration) -> (Told, Duration) {
        let bound = self.promised(wait);
        let duration = u128::from(self.case.duration.as_nanos());
        if u128::from(bound.as_nanos()) * 100 <= duration * u128::from(BOUND_PERCENT) {
            return (Told::Bound, bound);
        }
        (Told::Nothing, bound)
    }

    fn third(&self) -> Duration {
        self.case.duration.divided_by(3)
    }

    /// Longest wait of steady flows, minus the time that they are silent by themselves.
    fn longest_wait(&self, trial: &Trial) -> Duration {
        let flows = self.case.flows.iter().zip(&trial.flows);
        let steady = flows.filter(|(flow, _)| flow.is_steady());
        let waits = steady.map(|(flow, share)| {
            let own = flow.own_gap().as_nanos();
            Duration::from_nanos(share.longest_wait.as_nanos().saturating_sub(own))
        });
        waits.max().unwrap_or(Duration::ZERO)
    }

    fn run(&mut self, protocol: Protocol) -> Result<Trial, String> {
        let text = self.case.to_toml(protocol, "");
        let scenario = Scenario::parse(&text, Path::new("wide.toml"), &[]);
        let scenario = scenario.map_err(|error| error.to_string())?;
        let plan = plan(&scenario).map_err(|error| error.to_string())?;
        let drain = (protocol == self.protocol).then(|| self.drain());
        let trial =
            trial::run(plan, self.case.duration, drain).map_err(|error| error.to_string())?;
        self.frame_hops += trial.frame_hops;
        Ok(trial)
    }

    /// Longer than any temporary wait: pauses have expired and been renewed, echo messages have corrected counts of grants,
    /// and the Deadlock Breaker has had enough time.
    fn drain(&self) -> Drain {
        let pause = Quanta::MAX.at(self.case.slowest().rate);
        let breaker = &self.case.breaker;
        let round = breaker.detect + breaker.interval + breaker.release;
        let latency = self.case.latency.saturating_mul(2);
        let mut links = self.case.links.iter();
        let counts = links.any(|link| link.coding == FeedbackCoding::Grants);
        let echo = match self.protocol {
            Protocol::Level if counts => Duration::from_millis(2_500),
            _ => Duration::ZERO,
        };
        let standstill = pause.saturating_mul(2) + (round + latency).saturating_mul(8) + echo;
        Drain {
            standstill,
            longest: standstill.saturating_mul(4) + self.case.duration.saturating_mul(20),
        }
    }

    fn judge(&self, trial: &Trial, pfc: &Trial, told: Told, bound: Duration) -> Answer {
        let (case, is_level) = (&self.case, self.protocol == Protocol::Level);
        let mut excused = 0;
        if case.loses_links() {
            excused += trial.lost_on_lines;
        }
        if case.changes_routes() {
            excused += trial.lost_for_turns;
        }
        if is_level && case.has_short_round_trip() {
            excused += trial.lost_for_room;
        }
        let lost = trial.lost.saturating_sub(excused);
        let wait = self.longest_wait(trial);
        let reordered = if case.changes_routes() {
            0
        } else {
            trial.reordered
        };
        let mut broken = Vec::new();
        let mut words = Vec::new();
        let mut note = |is_broken: bool, what, told: String| {
            if is_broken {
                broken.push(what);
                words.push(told);
            }
        };
        note(lost > 0, Broken::Lost, format!("{lost} frames lost"));
        note(
            reordered > 0,
            Broken::Reordered,
            format!("{reordered} frames reordered"),
        );
        let stuck = format!("{} frames stuck", trial.inside);
        note(trial.inside > 0, Broken::Stuck, stuck);
        let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
        let waited = format!(
            "a flow waited for {:.3} ms of {:.3}, the bound is {:.3}",
            milliseconds(wait),
            milliseconds(case.duration),
            milliseconds(bound)
        );
        let is_judged = told != Told::Nothing;
        note(is_judged && wait > bound, Broken::Starved, waited);
        Answer {
            broken,
            words: words.join("; "),
            told,
            duration: case.duration,
            wait: wait.as_secs_f64() / bound.as_secs_f64().max(1e-9),
            jain: [trial.jain(), pfc.jain()],
            sent: trial.sent,
            lost: trial.lost,
            frame_hops: self.frame_hops,
        }
    }
}

const fn first_round(patience: Patience) -> u32 {
    match patience {
        Patience::AsItIs => ROUNDS_MAX,
        Patience::Longer => 0,
    }
}

impl Answer {
    fn refused(error: String, duration: Duration, frame_hops: u64) -> Self {
        Self {
            broken: vec![Broken::Refused],
            words: error,
            told: Told::Nothing,
            duration,
            wait: 0.0,
            jain: [1.0; 2],
            sent: 0,
            lost: 0,
            frame_hops,
        }
    }
}
