//! Figure 7 of the CLCM paper: a miswired 3-level fat tree with nine flows. Without a remedy the flows on the loop stall
//! forever; with the Deadlock Breaker they make progress, and nothing is lost.
//!
//! The wiring of the paper's Figure 6 is only shown as a picture; `scenarios/figure7.toml` is a design with the properties
//! stated in the text. Two more runs show that the mistakes and the six flows that load the loop are both necessary.

use serde_json::{json, Value};
use weir_api::run::FlowResult;
use weir_config::scenario::Scenario;
use weir_config::Override;
use weir_core::Duration;
use weir_results::chart::{Axis, Chart, Column, Panel};
use weir_results::quantity::{amount, rate, setting as span, Unit};
use weir_results::table::grid;

use super::observe::{observe, Observation};
use super::picture::{amounts, moment, most, rates, seconds, Counted};
use super::setting::{set, Setting};
use super::{ReproduceError, Reproduction, ScenarioFile};
use crate::scenario::{run, Options};

/// Flows that close the loop.
pub const LOOP_FLOWS: [&str; 3] = ["9-15", "13-32", "30-17"];
/// Flows that load it.
pub const PRESSING_FLOWS: [&str; 6] = ["14-15", "16-15", "18-17", "20-17", "29-32", "31-32"];

/// Swapped cables: for each pair, the correct places of both.
const MISTAKES: [[[&str; 2]; 2]; 4] = [
    [["a2-2", "l5"], ["a4-2", "l13"]],
    [["a4-1", "l15"], ["a2-2", "l6"]],
    [["a2-1", "l8"], ["a3-1", "l9"]],
    [["a3-2", "l10"], ["a4-2", "l14"]],
];

/// Interval of the curves.
const INTERVAL: Duration = Duration::from_micros(2);
/// Averaging window of throughput.
const WINDOW: Duration = Duration::from_micros(20);

/// Parameters of Figure 5, for longer.
pub const SETTING: Setting = Setting {
    duration: Duration::from_millis(1),
    ..Setting::DATA_CENTRE
};

/// Data of the figure.
#[derive(Clone, Debug)]
pub struct Figure7 {
    /// By policy: off, then the Deadlock Breaker, then the others.
    pub runs: Vec<TreeRun>,
    /// Runs that must not lock.
    pub controls: Vec<TreeRun>,
}

/// One run of the tree.
#[derive(Clone, Debug)]
pub struct TreeRun {
    /// Name of the variant.
    pub name: &'static str,
    /// True if its routes close a loop.
    pub has_loop: bool,
    /// Observations; without a loop only its result.
    pub seen: Seen,
}

/// Observations with and without a loop.
#[derive(Clone, Debug)]
pub enum Seen {
    /// Routes close the loop of six links.
    Loop(Box<Observation>),
    /// There is no loop to observe.
    Plain(Box<weir_api::run::RunResult>),
}

impl TreeRun {
    fn new(name: &'static str, more: &[Override]) -> Result<Self, ReproduceError> {
        const LENGTH: usize = 6;
        let mut overrides = SETTING.overrides();
        overrides.extend(set([("expect", "")]));
        overrides.extend_from_slice(more);
        let scenario = ScenarioFile::FIGURE7.with(&overrides)?;
        let loops = scenario.credit_loops();
        let credit_loop = loops.iter().find(|found| found.switches.len() == LENGTH);
        let seen = match credit_loop {
            Some(found) => Seen::Loop(Box::new(observe(
                &scenario,
                found,
                SETTING.detect,
                INTERVAL,
            )?)),
            None => Seen::Plain(Box::new(run(&scenario, Options::default())?)),
        };
        Ok(Self {
            name,
            has_loop: !loops.is_empty(),
            seen,
        })
    }

    /// Its result.
    pub fn result(&self) -> &weir_api::run::RunResult {
        match &self.seen {
            Seen::Loop(seen) => &seen.result,
            Seen::Plain(result) => result,
        }
    }

    /// Number of spans in which nothing moved on the loop.
    pub fn standstills(&self) -> usize {
        match &self.seen {
            Seen::Loop(seen) => seen.standstills.len(),
            Seen::Plain(_) => 0,
        }
    }

    /// Those of the named flows that exist.
    pub fn flows<'a>(&'a self, names: &'a [&str]) -> impl Iterator<Item = &'a FlowResult> + 'a {
        let flows = self.result().flows.iter();
        flows.filter(|flow| names.contains(&flow.name.as_str()))
    }
}

impl Figure7 {
    /// Runs it.
    ///
    /// # Errors
    ///
    /// A run fails.
    pub fn run() -> Result<Self, ReproduceError> {
        let policy = |name, policy| TreeRun::new(name, &set([("deadlock.policy", policy)]));
        Ok(Self {
            runs: vec![
                policy("plain PFC", "off")?,
                policy("Deadlock Breaker", "breaker")?,
                policy("Loop Breaker", "loop-breaker")?,
                policy("auto", "auto")?,
                TreeRun::new("Levels", &set([("class.lossless.mode", "level")]))?,
            ],
            controls: vec![
                TreeRun::new("loop flows alone", &without_pressing_flows())?,
                TreeRun::new("wired right", &wired_right()?)?,
            ],
        })
    }

    /// Returns pictures, table and numbers.
    pub fn reproduction(&self) -> Reproduction {
        Reproduction::figure(
            "clcm-fig7",
            &self.curves(),
            self.report(),
            ("json", super::json(&self.numbers())),
        )
    }

    fn report(&self) -> String {
        let rows: Vec<Vec<String>> = self.runs.iter().chain(&self.controls).map(row).collect();
        let table = grid(
            &[
                "",
                "loop locks",
                "standstills",
                "flows on the loop",
                "slowest of them",
                "flows beside it",
                "lost",
                "reordered",
                "releases",
                "flows moved",
            ],
            &rows,
        );
        format!(
            "CLCM paper, Figure 7: a miswired 3-level fat tree, three flows that close a loop and six that press on it\n\n\
             Links {}, {} each way; X_off {}; detection time {}; a release holds for {}; {} of traffic.\n\
             Rates are those of the last third of the run, flows together.\n\n{table}\n\
             The paper: without the Deadlock Breaker the bandwidth of the flows on the loop drops fast and stays at zero; with it they make\n\
             temporary progress, and no packet is lost.\n",
            rate(SETTING.rate.get() as f64),
            span(SETTING.delay.as_secs_f64()),
            amount(SETTING.xoff.get() as f64),
            span(SETTING.detect.as_secs_f64()),
            span(SETTING.release.as_secs_f64()),
            span(SETTING.duration.as_secs_f64()),
        )
    }

    fn curves(&self) -> Chart {
        let columns = self.runs.iter().take(2).filter_map(column);
        Chart {
            title: "CLCM paper, Figure 7: three flows on the loop of a miswired fat tree"
                .to_owned(),
            columns: columns.collect(),
        }
    }

    fn numbers(&self) -> Value {
        let runs = |runs: &[TreeRun]| runs.iter().map(run_json).collect::<Vec<_>>();
        json!({
            "format": 1,
            "figure": "clcm-fig7",
            "setting": {
                "rate_bits_per_second": SETTING.rate.get(),
                "delay_seconds": SETTING.delay.as_secs_f64(),
                "xoff_bytes": SETTING.xoff.get(),
                "headroom_bytes": SETTING.headroom().get(),
                "detect_seconds": SETTING.detect.as_secs_f64(),
                "release_seconds": SETTING.release.as_secs_f64(),
                "duration_seconds": SETTING.duration.as_secs_f64(),
            },
            "runs": runs(&self.runs),
            "controls": runs(&self.controls),
        })
    }
}

/// Makes the figure.
///
/// # Errors
///
/// Those of [`Figure7::run`].
pub fn reproduce() -> Result<Reproduction, ReproduceError> {
    Ok(Figure7::run()?.reproduction())
}

fn without_pressing_flows() -> Vec<Override> {
    let paths = PRESSING_FLOWS.map(|flow| format!("flow.{flow}"));
    set(paths.iter().map(|path| (path.as_str(), "")))
}

/// Returns overrides with every cable in its correct place, and flows on shortest paths.
pub(super) fn wired_right() -> Result<Vec<Override>, ReproduceError> {
    let scenario = ScenarioFile::FIGURE7.with(&[])?;
    let mut changes = Vec::new();
    for [one, other] in MISTAKES {
        let ([upper, lower], [other_upper, other_lower]) = (one, other);
        for (found, right) in [([other_upper, lower], one), ([upper, other_lower], other)] {
            let link = link(&scenario, found).ok_or(ReproduceError::NotAsInThePaper {
                scenario: ScenarioFile::FIGURE7.path.to_owned(),
                what: "a wiring mistake is not there",
            })?;
            changes.push((
                format!("link.{link}.ends"),
                format!("[\"{}\", \"{}\"]", right[0], right[1]),
            ));
        }
    }
    changes.extend(
        scenario
            .flows
            .iter()
            .filter(|flow| flow.via.is_some())
            .map(|flow| (format!("flow.{}.via", flow.name), String::new())),
    );
    Ok(set(changes
        .iter()
        .map(|(path, value)| (path.as_str(), value.as_str()))))
}

fn link(scenario: &Scenario, ends: [&str; 2]) -> Option<usize> {
    scenario.links.iter().position(|link| {
        let names = link.ends.map(|switch| scenario.switches[switch].as_str());
        names == ends
    })
}

fn together<'a>(flows: impl Iterator<Item = &'a FlowResult>) -> f64 {
    flows.map(|flow| flow.bits_per_second_last_third).sum()
}

fn row(run: &TreeRun) -> Vec<String> {
    let result = run.result();
    let total = |count: fn(&FlowResult) -> u64| result.flows.iter().map(count).sum::<u64>();
    let locked = match &run.seen {
        Seen::Loop(seen) => seen.moments.locked.map_or_else(
            || "never".to_owned(),
            |at| format!("at {:.1} µs", seconds(at) * 1e6),
        ),
        Seen::Plain(_) => "no loop".to_owned(),
    };
    let slowest = run
        .flows(&LOOP_FLOWS)
        .map(|flow| flow.bits_per_second_last_third)
        .fold(f64::INFINITY, f64::min);
    vec![
        run.name.to_owned(),
        locked,
        run.standstills().to_string(),
        rate(together(run.flows(&LOOP_FLOWS))),
        rate(slowest),
        match run.flows(&PRESSING_FLOWS).next() {
            Some(_) => rate(together(run.flows(&PRESSING_FLOWS))),
            None => "–".to_owned(),
        },
        total(|flow| flow.lost).to_string(),
        total(|flow| flow.reordered).to_string(),
        result.releases.to_string(),
        result.flows_moved.to_string(),
    ]
}

fn column(run: &TreeRun) -> Option<Column> {
    let Seen::Loop(seen) = &run.seen else {
        return None;
    };
    let end = SETTING.duration.as_secs_f64();
    let across = Axis::until("time", Unit::of_time(end), end);
    let loop_flows: Vec<_> = seen
        .delivered
        .iter()
        .filter(|series| LOOP_FLOWS.contains(&series.name.as_str()))
        .cloned()
        .collect();
    let mut throughput = rates(
        &loop_flows,
        seen.interval,
        WINDOW,
        SETTING.rate,
        Counted::AtItsEnd,
    );
    for curve in &mut throughput {
        curve.name = curve.name.replace('-', " → ");
    }
    let occupancy = amounts(&seen.occupancy, seen.interval);
    let (line, xoff) = (SETTING.rate.get() as f64, SETTING.xoff.get() as f64);
    // Same axes for every run, unless one exceeds them.
    let most_rate = most(&throughput).max(line / 2.0);
    let buffer = most(&occupancy).max(xoff * 1.5);
    let releases = match run.result().releases {
        0 => None,
        count => moment(
            seen.moments.released,
            format!("the first of {count} releases"),
        ),
    };
    Some(Column {
        title: run.name.to_owned(),
        panels: vec![
            Panel {
                title: String::new(),
                across: across.clone(),
                up: Axis::linear("delivered", Unit::of_rate(most_rate), most_rate),
                curves: throughput,
                levels: Vec::new(),
            },
            Panel {
                title: String::new(),
                across,
                up: Axis::linear("ingress buffer", Unit::of_amount(buffer), buffer),
                curves: occupancy,
                levels: vec![(xoff, format!("X_off {}", amount(xoff)))],
            },
        ],
        moments: [
            moment(seen.moments.locked, "the loop locks: last frame sent on it"),
            moment(
                seen.moments.all_suspected,
                "the last of its ports is suspected",
            ),
            releases,
        ]
        .into_iter()
        .flatten()
        .collect(),
        ..Column::default()
    })
}

fn run_json(run: &TreeRun) -> Value {
    let result = run.result();
    let locked = match &run.seen {
        Seen::Loop(seen) => seen.moments.locked.map(seconds),
        Seen::Plain(_) => None,
    };
    let flows: Vec<Value> = result
        .flows
        .iter()
        .map(|flow| {
            json!({
                "name": flow.name,
                "received": flow.received,
                "lost": flow.lost,
                "reordered": flow.reordered,
                "bits_per_second": flow.bits_per_second,
                "bits_per_second_last_third": flow.bits_per_second_last_third,
                "longest_stall_seconds": flow.longest_stall_seconds,
            })
        })
        .collect();
    json!({
        "name": run.name,
        "policy": result.policy,
        "mode": result.mode,
        "has_loop": run.has_loop,
        "deadlocked": result.deadlocked,
        "locked_seconds": locked,
        "standstills": run.standstills(),
        "releases": result.releases,
        "flows_moved": result.flows_moved,
        "flows": flows,
    })
}
