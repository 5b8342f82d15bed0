//! `weir-sim fairness`.

use std::sync::Mutex;

use anyhow::{anyhow, Result};
use weir_core::FeedbackCoding;
use weir_sim::fairness::{
    compare, json, markdown, Comparison, FairnessError, Lines, Question, Topology, ROUND_TRIPS,
};

use crate::cli::FairnessArguments;
use crate::output::{bar, write};
use crate::parallel::on_all_cores;

/// Maximum number of exceeded bounds listed one by one.
const TOLD_MAX: usize = 20;

/// Returns true if no bound was exceeded.
pub fn fairness(arguments: &FairnessArguments) -> Result<bool> {
    let question = question(arguments);
    let networks = networks(arguments);
    let runs_each = question.round_trips.len() * question.codings.len();
    let bar = bar((networks.len() * runs_each) as u64, arguments.quiet);
    let outcomes: Vec<_> = networks.iter().map(|_| Mutex::new(None)).collect();
    on_all_cores(arguments.threads, networks.len(), &|index| {
        let (topology, seed) = networks[index];
        bar.set_message(format!("{topology}, seed {seed},"));
        let outcome = compare(topology, seed, &question, &|| bar.inc(1));
        if let Ok(mut place) = outcomes[index].lock() {
            *place = Some(outcome);
        }
    });
    bar.finish_and_clear();
    let outcomes = outcomes.into_iter().map(|place| place.into_inner());
    let comparisons: Result<Vec<Vec<Comparison>>> = outcomes
        .map(|outcome| match outcome {
            Ok(Some(outcome)) => outcome.map_err(FairnessError::into),
            _ => Err(anyhow!("a run ended without an outcome")),
        })
        .collect();
    // Sorted by topology, T, coding and seed, independent of the threads' order.
    let comparisons: Vec<Comparison> = comparisons?.into_iter().flatten().collect();
    tell(arguments, &comparisons)
}

fn tell(arguments: &FairnessArguments, comparisons: &[Comparison]) -> Result<bool> {
    let table = markdown(comparisons);
    if arguments
        .json
        .as_ref()
        .is_none_or(|path| path.as_os_str() != "-")
    {
        weir_output::say!("{table}")?;
    }
    if let Some(path) = &arguments.json {
        write(path, &serde_json::to_string_pretty(&json(comparisons))?)?;
    }
    if let Some(path) = &arguments.markdown {
        write(path, &table)?;
    }
    let broken: Vec<&Comparison> = comparisons
        .iter()
        .filter(|one| !one.broken().is_empty())
        .collect();
    let untold = comparisons
        .iter()
        .filter(|one| one.wait_of_bound().is_none())
        .count();
    eprintln!(
        "{} comparisons, {} over a bound; in {untold} the waits under PFC were too long for a bound",
        comparisons.len(),
        broken.len(),
    );
    for one in broken.iter().take(TOLD_MAX) {
        eprintln!(
            "{}, seed {}, T {}, {}: {}",
            one.topology,
            one.seed,
            weir_config::units::format_duration(one.round_trip),
            one.coding.name(),
            one.broken().join(", "),
        );
    }
    Ok(broken.is_empty())
}

fn question(arguments: &FairnessArguments) -> Question {
    let or_all = |given: &[weir_core::Duration]| match given {
        [] => ROUND_TRIPS.to_vec(),
        given => given.to_vec(),
    };
    Question {
        round_trips: or_all(&arguments.round_trips),
        codings: match &arguments.codings[..] {
            [] => FeedbackCoding::ALL.to_vec(),
            given => given.iter().map(|coding| coding.0).collect(),
        },
        lines: if arguments.long_lines {
            Lines::Long
        } else {
            Lines::Short
        },
        duration: arguments.duration,
    }
}

/// Large ones first, so that threads end together; the table sorts them again.
fn networks(arguments: &FairnessArguments) -> Vec<(Topology, u64)> {
    let all;
    let topologies = if arguments.topologies.is_empty() {
        all = Topology::all();
        &all
    } else {
        &arguments.topologies
    };
    let seeds = arguments.seeds.clone();
    let networks = topologies
        .iter()
        .flat_map(|topology| seeds.clone().map(move |seed| (*topology, seed)));
    networks.collect()
}
