//! `weir-instructions`: counts the cost of a frame in the switch core, and compares it with the baseline.

#![forbid(unsafe_code)]

use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};

use weir_core_bench::case::GUARDED;
use weir_core_bench::instructions::{self, Baseline, TOLERANCE};

/// Instructions for each frame in the switch core, counted by Valgrind.
#[derive(Debug, Parser)]
#[command(
    version,
    max_term_width = 80,
    after_help = "Exit status: 0 every case is within 5 % of its baseline, 1 one is not, 2 the command line is wrong, 3 it could not be counted.\nBuild it optimised: cargo xtask bench --instructions does."
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Count every case and compare it with tests/core-bench/instructions.toml.
    Check,
    /// Count every case and save that as the baseline.
    Accept,
    /// Run the counted part of one case.
    Run {
        /// Its name.
        case: String,
        /// Bursts of 32 frames.
        bursts: usize,
    },
}

fn main() -> ExitCode {
    match run(Arguments::parse().command) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(3)
        }
    }
}

fn run(command: Command) -> Result<bool> {
    match command {
        Command::Check => check(),
        Command::Accept => accept().map(|()| true),
        Command::Run { case, bursts } => {
            let found = GUARDED.iter().find(|(name, _)| *name == case);
            let (_, case) = found.with_context(|| format!("no case is called {case}"))?;
            instructions::run(*case, bursts);
            Ok(true)
        }
    }
}

fn check() -> Result<bool> {
    let baseline = Baseline::load(&instructions::baseline_path())?;
    let compiler = instructions::compiler()?;
    baseline.comparable_with(&compiler)?;
    let counted = instructions::count_all(&std::env::current_exe()?, |_, _| {})?;
    println!(
        "{:<24} {:>12} {:>10} {:>8}",
        "case", "instructions", "baseline", "change"
    );
    let findings = baseline.compare(&counted);
    for finding in &findings {
        let change = finding
            .change()
            .map(|change| format!("{:+.1} %", change * 100.0));
        println!(
            "{:<24} {:>12.1} {:>10} {:>8}{}",
            finding.case,
            finding.counted,
            finding
                .baseline
                .map_or("none".into(), |count| format!("{count:.1}")),
            change.unwrap_or_default(),
            if finding.holds() { "" } else { "  too much" },
        );
    }
    let holds = findings.iter().all(instructions::Finding::holds);
    if !holds {
        println!(
            "More than {:.0} % above the baseline. If that is worth it: cargo xtask bench --instructions --accept",
            TOLERANCE * 100.0
        );
    }
    Ok(holds)
}

fn accept() -> Result<()> {
    let counted = instructions::count_all(&std::env::current_exe()?, |case, count| {
        println!("{case:<24} {count:>12.1}");
    })?;
    let baseline = Baseline {
        compiler: instructions::compiler()?,
        instructions: counted,
    };
    baseline.store(&instructions::baseline_path())
}
