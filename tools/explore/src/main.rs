//! `weir-explore`: explores every order of events in small networks.
#![forbid(unsafe_code)]

use std::process::ExitCode;
use std::time::Instant;

use anyhow::{bail, Result};
use clap::Parser;
use weir_explore::cases::{self, Case, Size, Verdict};
use weir_explore::explore::{explore, Outcome};

/// Explore every order of events in small networks of real switch cores.
///
/// Events are receiving, sending and delivering a frame, the passage of time, and control frames that are lost or
/// repeated.
#[derive(Debug, Parser)]
#[command(
    name = "weir-explore",
    max_term_width = 80,
    after_help = "\
Examples:
  weir-explore --list --large
  weir-explore pfc-ring --story

Exit status: 0 every case has its expected result, 1 one differs or the
exploration failed, 2 invalid command line."
)]
struct Cli {
    /// Cases to explore [default: all small ones].
    cases: Vec<String>,
    /// Include the large cases, which take minutes and gigabytes of memory.
    #[arg(long)]
    large: bool,
    /// Print the shortest sequence of events that leads to each finding.
    #[arg(long)]
    story: bool,
    /// List the cases only.
    #[arg(long)]
    list: bool,
    /// Stop a case after this many states.
    #[arg(long, value_name = "STATES", default_value_t = 30_000_000)]
    most: usize,
}

fn main() -> Result<ExitCode> {
    let cli = Cli::parse();
    let chosen = choose(&cli)?;
    if cli.list {
        for case in chosen {
            weir_output::sayln!("{:<20} {}", case.name, case.about)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    weir_output::sayln!(
        "{:<20} {:>9} {:>10} {:>8} {:>6} {:>7} {:>7}  {:<10} {:<10}",
        "case",
        "states",
        "steps",
        "switches",
        "depth",
        "ticks",
        "time",
        "found",
        "expected"
    )?;
    let mut as_expected = true;
    for case in chosen {
        let begin = Instant::now();
        let outcome = explore(&case, cli.most)?;
        print_row(&case, &outcome, begin.elapsed().as_secs_f64())?;
        if cli.story {
            for line in &outcome.story {
                weir_output::sayln!("{line}")?;
            }
        }
        as_expected &= outcome.verdict == case.expected;
    }
    if as_expected {
        Ok(ExitCode::SUCCESS)
    } else {
        eprintln!("the results differ from those expected");
        Ok(ExitCode::FAILURE)
    }
}

fn choose(cli: &Cli) -> Result<Vec<Case>> {
    let all = cases::all();
    if let Some(name) = cli
        .cases
        .iter()
        .find(|name| !all.iter().any(|case| case.name == **name))
    {
        bail!("unknown case `{name}`; list them with `weir-explore --list --large`");
    }
    let wanted = |case: &Case| {
        if cli.cases.is_empty() {
            cli.large || case.size == Size::Small
        } else {
            cli.cases.iter().any(|name| name == case.name)
        }
    };
    Ok(all.into_iter().filter(wanted).collect())
}

fn print_row(case: &Case, outcome: &Outcome, seconds: f64) -> Result<()> {
    let found = match (outcome.verdict, outcome.locked) {
        (Verdict::Locks, locked) => format!("locks ({locked})"),
        (verdict, _) => verdict.name().to_owned(),
    };
    let ticks = outcome
        .ticks
        .map_or_else(|| "-".to_owned(), |ticks| ticks.to_string());
    weir_output::sayln!(
        "{:<20} {:>9} {:>10} {:>8} {:>6} {:>7} {:>6.1}s  {:<10} {:<10}",
        case.name,
        outcome.states,
        outcome.transitions,
        outcome.node_states,
        outcome.depth,
        ticks,
        seconds,
        found,
        case.expected.name(),
    )
}
