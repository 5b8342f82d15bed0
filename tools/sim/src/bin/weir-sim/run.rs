//! `weir-sim run`.

use std::io::IsTerminal as _;

use anyhow::{bail, Context, Result};
use weir_config::scenario::Scenario;
use weir_config::Override;
use weir_results::{chart, plot, report, slowdown, table};
use weir_sim::network::{Network, PAUSES_MAX};
use weir_sim::scenario::{run as simulate, timeline, Options, Progress, Recorder};

use crate::cli::{RunArguments, Source};
use crate::output::{bar, bar_with_lines, write, write_bytes, write_json};
use crate::watch::Watch;

const PROGRAM: &str = concat!("weir-sim ", env!("CARGO_PKG_VERSION"));

/// Returns true if all expectations were met.
pub fn run(arguments: &RunArguments) -> Result<bool> {
    let scenario = load(&arguments.source, arguments.seed, &[])?;
    let length = scenario.duration.as_nanos();
    let mut watch = watched(arguments, &scenario)?;
    let bar = match &watch {
        Some(_) => bar_with_lines(length),
        None => bar(length, arguments.quiet),
    };
    let is_watched = watch.is_some();
    let mut tell = |progress: Progress| {
        bar.set_position(progress.now.as_nanos());
        let (events, frames) = (progress.events as f64 / 1e6, progress.frames);
        if !is_watched {
            bar.set_message(format!("{events:.1} M events, {frames} frames inside,"));
        }
    };
    let mut recorder = arguments.html.is_some().then(|| Recorder::new(&scenario));
    let is_observed = is_watched || recorder.is_some();
    let mut note = |network: &Network| {
        if let Some(recorder) = &mut recorder {
            recorder.note(network);
        }
        if let Some(watch) = &mut watch {
            bar.set_message(watch.look(network));
        }
    };
    let mut trace = None;
    let mut record = |network: &Network| {
        trace = Some((timeline(&scenario, network), network.pauses_overflow()));
    };
    let result = simulate(
        &scenario,
        Options {
            threads: usize::from(arguments.threads),
            progress: Some(&mut tell),
            observe: is_observed.then_some(&mut note),
            record: arguments.perfetto.is_some().then_some(&mut record),
            ..Options::default()
        },
    );
    bar.finish_and_clear();
    let result = result.with_context(|| replay(&arguments.source, scenario.seed))?;
    if let Some(path) = &arguments.json {
        write_json(path, &result)?;
    }
    if let Some(path) = &arguments.svg {
        let columns = [(scenario.name.as_str(), &result)];
        write(path, &plot::svg(&columns, plot::Limits::of(&scenario)))?;
    }
    if let Some(path) = &arguments.slowdown {
        let chart = slowdown::chart(&result).context(
            "--slowdown: no flow with a size arrived, so there is nothing to draw; give flows a `size`, or traffic of kind \"poisson\"",
        )?;
        write(path, &chart::svg(&chart))?;
    }
    if let (Some(path), Some(recorder)) = (&arguments.html, recorder) {
        let again = replay(&arguments.source, scenario.seed);
        let page = report::html(
            &scenario,
            &result,
            &recorder.into_history(),
            &again,
            PROGRAM,
        );
        write(path, &page)?;
    }
    if let (Some(path), Some((trace, left_out))) = (&arguments.perfetto, trace) {
        write_bytes(path, &trace)?;
        if left_out > 0 {
            eprintln!("weir-sim: {left_out} beginnings and ends of pauses are not in {}: it has the first {PAUSES_MAX}; use a shorter --until", path.display());
        }
    }
    if arguments
        .json
        .as_ref()
        .is_none_or(|path| path.as_os_str() != "-")
    {
        weir_output::say!("{}{}", table::run(&result), table::credit_loops(&scenario))?;
    }
    let held = result
        .expectations
        .iter()
        .all(|expectation| expectation.held);
    if !held {
        eprintln!("replay with: {}", replay(&arguments.source, scenario.seed));
    }
    Ok(held)
}

fn watched(arguments: &RunArguments, scenario: &Scenario) -> Result<Option<Watch>> {
    if !arguments.watch {
        return Ok(None);
    }
    if !std::io::stderr().is_terminal() {
        bail!("--watch draws on a terminal, and standard error is none; --html FILE writes a page to look at later");
    }
    Ok(Some(Watch::new(scenario)))
}

/// Loads the scenario with the overrides of the command line.
pub fn load(source: &Source, seed: Option<u64>, more: &[Override]) -> Result<Scenario> {
    let mut overrides = source.overrides.clone();
    overrides.extend_from_slice(more);
    if let Some(until) = &source.until {
        overrides.push(parse_override(&format!("duration={until}"))?);
    }
    if let Some(seed) = seed {
        overrides.push(parse_override(&format!("seed={seed}"))?);
    }
    Ok(Scenario::load(&source.file, &overrides)?)
}

/// Parses one `PATH=VALUE`.
pub fn parse_override(text: &str) -> Result<Override> {
    text.parse().map_err(anyhow::Error::msg)
}

/// Returns the command that repeats a run.
pub fn replay(source: &Source, seed: u64) -> String {
    let mut words = vec![format!(
        "weir-sim run {} --seed {seed}",
        source.file.display()
    )];
    words.extend(
        source
            .overrides
            .iter()
            .map(|change| format!("--set {change}")),
    );
    words.extend(source.until.iter().map(|until| format!("--until {until}")));
    words.join(" ")
}
