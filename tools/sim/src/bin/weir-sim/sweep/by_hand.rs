//! Sweeps of a scenario file with runs from the command line, printed as a table.
use std::sync::Mutex;

use anyhow::{bail, Context, Result};
use weir_api::run::{FlowResult, RunResult};
use weir_config::scenario::Scenario;
use weir_results::quantity;
use weir_results::table::grid;
use weir_sim::scenario::{run, Options, RunError};

use crate::cli::SweepArguments;
use crate::output::{bar, write};
use crate::parallel::on_all_cores;
use crate::run::{load, parse_override};

struct Point {
    values: Vec<String>,
    scenario: Scenario,
}

/// Returns true if all expectations of all runs were met.
pub fn sweep_by_hand(arguments: &SweepArguments) -> Result<bool> {
    let axes = axes(&arguments.over)?;
    let points = points(arguments, &axes)?;
    let results = run_all(&points, arguments)?;
    weir_output::say!("{}", table(&axes, &points, &results))?;
    if let Some(path) = &arguments.json {
        let all = serde_json::json!({ "format": weir_api::run::RUN_FORMAT, "runs": results });
        write(path, &serde_json::to_string_pretty(&all)?)?;
    }
    let mut held = true;
    for (point, result) in points.iter().zip(&results) {
        for failed in result
            .expectations
            .iter()
            .filter(|expectation| !expectation.held)
        {
            held = false;
            let values: String = axes
                .iter()
                .zip(&point.values)
                .map(|((path, _), value)| format!(" --set {path}={value}"))
                .collect();
            weir_output::sayln!(
                "expectation failed: {} (seen: {}); replay with: weir-sim run {} --seed {}{values}",
                failed.what,
                failed.seen,
                arguments.source.file.display(),
                result.seed
            )?;
        }
    }
    Ok(held)
}

fn axes(over: &[String]) -> Result<Vec<(String, Vec<String>)>> {
    over.iter()
        .map(|text| {
            let Some((path, values)) = text.split_once('=') else {
                bail!("--over {text}: write PATH=VALUE,VALUE, such as deadlock.policy=off,breaker");
            };
            let values = values.split(',').map(str::to_owned).collect();
            Ok((path.to_owned(), values))
        })
        .collect()
}

/// Returns the runs: the seed varies fastest, then the last axis.
fn points(arguments: &SweepArguments, axes: &[(String, Vec<String>)]) -> Result<Vec<Point>> {
    const POINTS_MAX: usize = 100_000;
    let mut combinations: Vec<Vec<String>> = vec![Vec::new()];
    for (_, values) in axes {
        combinations = combinations
            .iter()
            .flat_map(|known| {
                values.iter().map(move |value| {
                    let mut longer = known.clone();
                    longer.push(value.clone());
                    longer
                })
            })
            .collect();
    }
    let seeds = arguments.seeds.unwrap_or(1).max(1);
    let count = combinations.len().saturating_mul(seeds as usize);
    if count > POINTS_MAX {
        bail!("{count} runs exceed the maximum of {POINTS_MAX}: use fewer values or seeds");
    }
    let mut points = Vec::with_capacity(count);
    for values in combinations {
        let overrides: Vec<_> = axes
            .iter()
            .zip(&values)
            .map(|((path, _), value)| parse_override(&format!("{path}={value}")))
            .collect::<Result<_>>()?;
        let first = load(&arguments.source, None, &overrides)?.seed;
        for seed in first..first + seeds {
            points.push(Point {
                values: values.clone(),
                scenario: load(&arguments.source, Some(seed), &overrides)?,
            });
        }
    }
    Ok(points)
}

fn run_all(points: &[Point], arguments: &SweepArguments) -> Result<Vec<RunResult>> {
    let bar = bar(points.len() as u64, arguments.quiet);
    let results: Vec<Mutex<Option<Result<RunResult, RunError>>>> =
        points.iter().map(|_| Mutex::new(None)).collect();
    on_all_cores(arguments.jobs, points.len(), &|index| {
        let result = run(&points[index].scenario, Options::default());
        if let Ok(mut place) = results[index].lock() {
            *place = Some(result);
        }
        bar.inc(1);
    });
    bar.finish_and_clear();
    points
        .iter()
        .zip(results)
        .map(|(point, result)| {
            let result = result
                .into_inner()
                .ok()
                .flatten()
                .context("a run did not complete")?;
            result.with_context(|| format!("seed {}, {:?}", point.scenario.seed, point.values))
        })
        .collect()
}

fn table(axes: &[(String, Vec<String>)], points: &[Point], results: &[RunResult]) -> String {
    let mut headings: Vec<&str> = axes.iter().map(|(path, _)| path.as_str()).collect();
    headings.extend([
        "seed",
        "verdict",
        "lost",
        "reordered",
        "delivered",
        "last third",
        "detected",
        "releases",
    ]);
    let row = |(point, result): (&Point, &RunResult)| {
        let sum = |count: fn(&FlowResult) -> f64| result.flows.iter().map(count).sum::<f64>();
        let verdict = if result.deadlocked {
            "deadlocked"
        } else {
            "moves"
        };
        let mut row = point.values.clone();
        row.extend([
            result.seed.to_string(),
            verdict.to_owned(),
            format!("{}", sum(|flow| flow.lost as f64)),
            format!("{}", sum(|flow| flow.reordered as f64)),
            quantity::rate(sum(|flow| flow.bits_per_second)),
            quantity::rate(sum(|flow| flow.bits_per_second_last_third)),
            quantity::time(result.detect_seconds),
            result.releases.to_string(),
        ]);
        row
    };
    let rows: Vec<_> = points.iter().zip(results).map(row).collect();
    grid(&headings, &rows)
}
