//! Comparison of two runs of one scenario: usually one in network namespaces and one in virtual time.
//!
//! Judged properties, and their values:
//!
//! * The verdict and the path to it must be equal. The suspected peak must be the same number if both runs end locked:
//!   the ports of the loop. Otherwise, like losses, reordering, releases and masters, it depends on how often a loop
//!   came back, and with SPUIDs on chance: both runs must have some, or neither.
//! * Times to detect, to release and to recover must exist in both or in neither. Their values are shown but not
//!   judged: in namespaces they mostly consist of the scheduling of processes.
//! * A flow that moved until the end is judged by its mean rate in the last third, when queues have found their
//!   balance.
//! * A flow that was stalled at the end of two locked runs is judged by the frames that it delivered before they
//!   locked. Its rate until then is less precise: the standstill is known to one interval of the series, and a ring
//!   locks within a few of them. The time to lock depends on which host sends first: eight runs of `ring4.toml` in
//!   namespaces had 144 to 205 frames of flow a at 100 Mbit/s and stalled after 53 to 79 ms. Hence a separate
//!   tolerance.
//! * A flow that had stopped by itself is judged by its mean rate over the whole run.

use std::collections::BTreeSet;

use weir_api::run::{FlowResult, RunResult};

use crate::quantity::{rate, setting, short, time};
use crate::table::{grid, title};
use crate::verdict::{rate_before, standstill};

/// Tolerated differences: the larger value is at most `1 + tolerance` times the smaller one, so the order of the runs
/// does not matter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// For a flow's rate.
    pub rate: f64,
    /// For the frames that a flow delivered before the network locked.
    pub frames_before_lock: f64,
}

impl Default for Tolerance {
    fn default() -> Self {
        Self {
            rate: 0.10,
            frames_before_lock: 0.50,
        }
    }
}

/// Value by which a flow is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// Mean rate over the last third of the run, bits per second.
    LastThird,
    /// Mean rate over the whole run, bits per second.
    WholeRun,
    /// Frames delivered before the network locked.
    FramesBeforeLock,
}

impl Figure {
    /// Name for display.
    pub const fn name(self) -> &'static str {
        match self {
            Self::LastThird => "last third",
            Self::WholeRun => "whole run",
            Self::FramesBeforeLock => "before the lock",
        }
    }

    fn of(self, flow: &FlowResult) -> f64 {
        match self {
            Self::LastThird => flow.bits_per_second_last_third,
            Self::WholeRun => flow.bits_per_second,
            Self::FramesBeforeLock => flow.received as f64,
        }
    }

    fn text(self, value: f64) -> String {
        match self {
            Self::LastThird | Self::WholeRun => rate(value),
            Self::FramesBeforeLock => format!("{value:.0} frames"),
        }
    }

    fn tolerance(self, tolerance: Tolerance) -> f64 {
        match self {
            Self::LastThird | Self::WholeRun => tolerance.rate,
            Self::FramesBeforeLock => tolerance.frames_before_lock,
        }
    }
}

/// Judgement of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// Both runs have the same value.
    Agrees,
    /// They have different values.
    Differs,
    /// Shown but not judged.
    Told,
}

impl Judgement {
    const fn of(agrees: bool) -> Self {
        if agrees {
            Self::Agrees
        } else {
            Self::Differs
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Differs => "DIFFERS",
            Self::Told => "",
        }
    }
}

/// One line about the whole network.
#[derive(Clone, Debug, PartialEq)]
pub struct Fact {
    /// Subject.
    pub what: &'static str,
    /// Value of the first run, for display.
    pub a: String,
    /// Value of the second run.
    pub b: String,
    /// Second divided by first, if both are numbers and the first is not zero.
    pub ratio: Option<f64>,
    /// Judgement of the difference.
    pub judgement: Judgement,
}

/// A flow of both runs.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowComparison {
    /// The flow's name.
    pub name: String,
    /// Compared value.
    pub figure: Figure,
    /// Value of the first run, in its unit.
    pub a: f64,
    /// Value of the second run.
    pub b: f64,
    /// Second divided by first; `None` if the first is zero.
    pub ratio: Option<f64>,
    /// True if the difference is tolerated.
    pub is_within: bool,
}

/// Comparison of two runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Runner of the first run.
    pub a: String,
    /// Runner of the second run.
    pub b: String,
    /// Lines about the network.
    pub facts: Vec<Fact>,
    /// The flows of both runs, in the order of the first one.
    pub flows: Vec<FlowComparison>,
}

/// Compares `b` with `a`.
pub fn compare(a: &RunResult, b: &RunResult, tolerance: Tolerance) -> Comparison {
    let pair = |flow: &FlowResult| {
        let other = b.flows.iter().find(|other| other.name == flow.name)?;
        let are_locked = a.deadlocked && b.deadlocked;
        Some(flow_comparison(flow, other, are_locked, tolerance))
    };
    Comparison {
        a: a.runner.to_string(),
        b: b.runner.to_string(),
        facts: facts(a, b),
        flows: a.flows.iter().filter_map(pair).collect(),
    }
}

impl Comparison {
    /// Returns true if no judged value differs.
    pub fn agrees(&self) -> bool {
        self.facts
            .iter()
            .all(|fact| fact.judgement != Judgement::Differs)
            && self.flows.iter().all(|flow| flow.is_within)
    }

    /// Formats a table, one line for each fact and flow.
    pub fn table(&self) -> String {
        let ratio_text = |ratio: Option<f64>| ratio.map_or_else(String::new, |r| short(r, 3));
        let facts = self.facts.iter().map(|fact| {
            vec![
                fact.what.to_owned(),
                fact.a.clone(),
                fact.b.clone(),
                ratio_text(fact.ratio),
                fact.judgement.name().to_owned(),
            ]
        });
        let flows = self.flows.iter().map(|flow| {
            vec![
                format!("flow {}, {}", flow.name, flow.figure.name()),
                flow.figure.text(flow.a),
                flow.figure.text(flow.b),
                ratio_text(flow.ratio),
                Judgement::of(flow.is_within).name().to_owned(),
            ]
        });
        let ratio = format!("{} / {}", self.b, self.a);
        grid(
            &["", self.a.as_str(), self.b.as_str(), ratio.as_str(), ""],
            &facts.chain(flows).collect::<Vec<_>>(),
        )
    }
}

fn flow_comparison(
    a: &FlowResult,
    b: &FlowResult,
    are_locked: bool,
    tolerance: Tolerance,
) -> FlowComparison {
    let stood_still = |flow: &FlowResult| flow.bits_per_second_last_third == 0.0;
    let figure = match (stood_still(a) && stood_still(b), are_locked) {
        (false, _) => Figure::LastThird,
        (true, true) => Figure::FramesBeforeLock,
        (true, false) => Figure::WholeRun,
    };
    let (of_a, of_b) = (figure.of(a), figure.of(b));
    FlowComparison {
        name: a.name.clone(),
        figure,
        a: of_a,
        b: of_b,
        ratio: ratio(of_a, of_b),
        is_within: is_within(of_a, of_b, figure.tolerance(tolerance)),
    }
}

fn ratio(a: f64, b: f64) -> Option<f64> {
    (a > 0.0).then(|| b / a)
}

fn is_within(a: f64, b: f64, tolerance: f64) -> bool {
    a.max(b) <= a.min(b) * (1.0 + tolerance)
}

fn facts(a: &RunResult, b: &RunResult) -> Vec<Fact> {
    let text = |what, of: &dyn Fn(&RunResult) -> String| {
        let (a, b) = (of(a), of(b));
        Fact {
            what,
            judgement: Judgement::of(a == b),
            a,
            b,
            ratio: None,
        }
    };
    // Both runs have some of it, or neither.
    let number = |what, of: &dyn Fn(&RunResult) -> u64| {
        let (a, b) = (of(a), of(b));
        Fact {
            what,
            a: a.to_string(),
            b: b.to_string(),
            ratio: ratio(a as f64, b as f64),
            judgement: Judgement::of((a == 0) == (b == 0)),
        }
    };
    let span = |what, of: &dyn Fn(&RunResult) -> Option<f64>| {
        let (a, b) = (of(a), of(b));
        Fact {
            what,
            a: time(a),
            b: time(b),
            ratio: a.zip(b).and_then(|(a, b)| ratio(a, b)),
            judgement: Judgement::of(a.is_some() == b.is_some()),
        }
    };
    let total = |result: &RunResult, count: fn(&FlowResult) -> u64| -> u64 {
        result.flows.iter().map(count).sum()
    };
    let mut peak = number("suspected peak", &|run| run.suspected_peak as u64);
    if a.deadlocked && b.deadlocked {
        peak.judgement = Judgement::of(a.suspected_peak == b.suspected_peak);
    }
    let mut before = text("rate until the standstill", &|run| rate(rate_before(run)));
    before.ratio = ratio(rate_before(a), rate_before(b));
    before.judgement = Judgement::Told;
    let mut stood_still = span("stood still after", &standstill);
    stood_still.judgement = Judgement::Told;
    vec![
        text("scenario", &|run| run.scenario.clone()),
        text("run", &|run| {
            format!("{}, {}", title(run), setting(run.duration_seconds))
        }),
        text("flows", &flow_names),
        text("verdict", &|run| verdict(run).to_owned()),
        number("lost", &|run| total(run, |flow| flow.lost)),
        number("reordered", &|run| total(run, |flow| flow.reordered)),
        number("corrupted", &|run| {
            total(run, |flow| flow.corrupted + flow.duplicated)
        }),
        peak,
        number("releases", &|run| run.releases),
        number("masters", &|run| run.masters.len() as u64),
        span("time to detect", &|run| run.detect_seconds),
        span("to first release", &|run| run.first_release_seconds),
        span("to recover", &|run| run.recover_seconds),
        stood_still,
        before,
    ]
}

fn verdict(run: &RunResult) -> &'static str {
    if run.deadlocked {
        "deadlocked"
    } else {
        "not deadlocked"
    }
}

fn flow_names(run: &RunResult) -> String {
    let names: BTreeSet<&str> = run.flows.iter().map(|flow| flow.name.as_str()).collect();
    names.into_iter().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
