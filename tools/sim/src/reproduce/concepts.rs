//! Pictures of the book's concepts, from runs: a ring that locks, the same ring with each remedy,
//! and one buffer that exceeds X_off into its headroom.

mod animation;
mod headroom;
mod ring;

use weir_config::Override;
use weir_core::Duration;
use weir_results::chart::{self, Axis, Chart, Column, Panel};
use weir_results::quantity::{amount, rate, Unit};
use weir_results::table::grid;

use super::observe::{observe, Observation};
use super::picture::{amounts, moment, most, rates, seconds, spans, Counted};
use super::setting::{set, Setting};
use super::{File, ReproduceError, Reproduction, ScenarioFile};

const INTERVAL: Duration = Duration::from_micros(1);
/// Averaging window of throughput.
const WINDOW: Duration = Duration::from_micros(5);
/// In the Deadlock Breaker's picture a loop locks several times.
const SETTING: Setting = Setting {
    duration: Duration::from_micros(400),
    ..Setting::DATA_CENTRE
};

/// Overrides of the ring, and their presentation.
struct Way {
    file: &'static str,
    title: &'static str,
    overrides: &'static [(&'static str, &'static str)],
    held_back: &'static str,
}

const PAUSED: &str = "paused";
const BREAKER: &str = "deadlock-breaker.svg";
const WAYS: [Way; 4] = [
    Way {
        file: "locked.svg",
        title: "plain PFC",
        overrides: &[("deadlock.policy", "off")],
        held_back: PAUSED,
    },
    Way {
        file: BREAKER,
        title: "Deadlock Breaker",
        overrides: &[("deadlock.policy", "breaker")],
        held_back: PAUSED,
    },
    Way {
        file: "loop-breaker.svg",
        title: "Loop Breaker",
        overrides: &[("deadlock.policy", "loop-breaker")],
        held_back: PAUSED,
    },
    Way {
        file: "levels.svg",
        title: "Levels",
        overrides: &[("class.lossless.mode", "level")],
        held_back: "given f",
    },
];

/// Makes the pictures.
///
/// # Errors
///
/// The ring has no loop, or a run fails.
pub fn reproduce() -> Result<Reproduction, ReproduceError> {
    let mut files = Vec::new();
    let mut rows = Vec::new();
    for (index, way) in WAYS.iter().enumerate() {
        let seen = run(way)?;
        if index == 0 {
            files.push(File::new("credit-loop.svg", ring::svg(&seen, SETTING.xoff)));
        }
        if let (BREAKER, Some(still)) = (way.file, seen.moments.all_suspected) {
            let picture = animation::svg(&seen, SETTING.xoff, still);
            files.push(File::new("ring-recovers.svg", picture));
        }
        let picture = chart::svg(&Chart {
            title: format!(
                "{}: the ring's four buffers, what holds its ports back, and what arrives",
                way.title
            ),
            columns: vec![column(way, &seen)],
        });
        files.push(File::new(way.file, picture));
        rows.push(row(way, &seen));
    }
    files.push(File::new("headroom.svg", headroom::picture()?));
    let report = grid(
        &[
            "",
            "locks",
            "standstills",
            "delivered",
            "lost",
            "reordered",
            "last third",
        ],
        &rows,
    );
    Ok(Reproduction { report, files })
}

fn run(way: &Way) -> Result<Observation, ReproduceError> {
    let mut overrides: Vec<Override> = SETTING.overrides();
    overrides.extend(set(way.overrides.iter().copied()));
    overrides.extend(set([("expect", "")]));
    let ring4 = ScenarioFile::RING4_ECMP;
    let scenario = ring4.with(&overrides)?;
    let loops = scenario.credit_loops();
    let around = loops.iter().find(|found| found.switches.len() == 4);
    let around = around.ok_or_else(|| ReproduceError::NotAsInThePaper {
        scenario: ring4.command(&overrides),
        what: "the routes close no loop",
    })?;
    Ok(observe(&scenario, around, SETTING.detect, INTERVAL)?)
}

fn row(way: &Way, seen: &Observation) -> Vec<String> {
    let sum = |count: fn(&weir_api::run::FlowResult) -> u64| {
        let flows = seen.result.flows.iter().map(count);
        flows.sum::<u64>().to_string()
    };
    let last_third = seen.result.flows.iter();
    let last_third: f64 = last_third.map(|flow| flow.bits_per_second_last_third).sum();
    vec![
        way.title.to_owned(),
        seen.moments.locked.map_or_else(
            || "never".to_owned(),
            |at| format!("at {:.1} µs", seconds(at) * 1e6),
        ),
        seen.standstills.len().to_string(),
        sum(|flow| flow.received),
        sum(|flow| flow.lost),
        sum(|flow| flow.reordered),
        rate(last_third),
    ]
}

fn column(way: &Way, seen: &Observation) -> Column {
    let end = SETTING.duration.as_secs_f64();
    let across = Axis::until("time", Unit::of_time(end), end);
    let xoff = SETTING.xoff.get() as f64;
    let occupancy = amounts(&seen.occupancy, seen.interval);
    let most_held = most(&occupancy).max(xoff);
    let delivered = rates(
        &seen.delivered,
        seen.interval,
        WINDOW,
        SETTING.rate,
        Counted::AtItsEnd,
    );
    let most_delivered = most(&delivered);
    let held_back = spans(&seen.held_back, seen.interval);
    let lanes = Axis {
        label: String::new(),
        unit: Unit::of_amount(1.0),
        from: 0.0,
        to: held_back.len() as f64,
        is_logarithmic: false,
    };
    // Under Levels no buffer between switches has an X_off.
    let has_xoff = way.held_back == PAUSED;
    let levels = has_xoff.then(|| (xoff, format!("X_off {}", amount(xoff))));
    let moments = &seen.moments;
    Column {
        title: String::new(),
        panels: vec![
            Panel {
                title: String::new(),
                across: across.clone(),
                up: Axis::linear("ingress buffer", Unit::of_amount(most_held), most_held),
                curves: occupancy,
                levels: levels.into_iter().collect(),
            },
            Panel {
                title: String::new(),
                across: across.clone(),
                up: lanes,
                curves: held_back
                    .into_iter()
                    .map(|curve| chart::Curve {
                        name: curve
                            .name
                            .replace(", by", &format!(" {} by", way.held_back)),
                        ..curve
                    })
                    .collect(),
                levels: Vec::new(),
            },
            Panel {
                title: String::new(),
                across,
                up: Axis::linear("arrives", Unit::of_rate(most_delivered), most_delivered),
                curves: delivered
                    .into_iter()
                    .map(|curve| chart::Curve {
                        name: format!("flow {}", curve.name),
                        ..curve
                    })
                    .collect(),
                levels: Vec::new(),
            },
        ],
        moments: [
            moment(moments.locked, "the ring locks: the last frame on it"),
            moment(moments.all_suspected, "the last of its ports is suspected"),
            moment(moments.rerouted, "flows have moved to the other way round"),
            moment(moments.released, "the loop is released"),
            moment(moments.moved_again, "the next frame on the ring"),
        ]
        .into_iter()
        .flatten()
        .collect(),
        ..Column::default()
    }
}
