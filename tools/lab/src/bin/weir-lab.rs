//! Runs scenarios with real frames.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::{Args, Parser, Subcommand};
use weir_api::run::RunResult;
use weir_config::daemon::{Express, Workers};
use weir_config::scenario::Scenario;
use weir_config::{FileError, Override};
use weir_lab::containerlab::{self, Wanted};
use weir_lab::lab::interrupt::{self, Interrupted};
use weir_lab::lab::names::Names;
use weir_lab::lab::run::{run, Options};
use weir_lab::lab::topology;
use weir_lab::soak::{self, Plan};
use weir_results::{plot, table};

const EXIT_EXPECTATION: u8 = 1;
const EXIT_USAGE: u8 = 2;
const EXIT_FAILURE: u8 = 3;
const EXIT_INTERRUPTED: u8 = 130;

/// Run scenarios with real frames: every switch is a weir-switchd, every host an AF_XDP endpoint, each in a separate network
/// namespace. Needs root.
#[derive(Debug, Parser)]
#[command(
    version,
    max_term_width = 80,
    after_help = "Exit status: 0 all expectations held, 1 an expectation failed, 2 invalid file or command \
                  line, 3 the run failed, 130 interrupted."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run one scenario and check its expectations.
    ///
    /// Example: weir-lab run scenarios/ring4.toml --set deadlock.policy=breaker --json ring4.json
    Run {
        /// The scenario file.
        file: PathBuf,
        /// Override a value of the file: deadlock.policy=breaker, class.lossless.xoff=30KiB.
        #[arg(long = "set", value_name = "PATH=VALUE")]
        overrides: Vec<Override>,
        #[command(flatten)]
        output: Output,
    },
    /// Let the four-switch ring deadlock under plain PFC, then run it with the Deadlock Breaker, then with
    /// Levels; or with every deadlock policy.
    Demo {
        /// The scenario file.
        #[arg(long, default_value = "scenarios/ring4.toml")]
        scenario: PathBuf,
        /// Every deadlock policy, and Levels.
        #[arg(long)]
        all: bool,
        /// Time for which each run offers traffic, such as 8s.
        #[arg(long, value_name = "DURATION")]
        duration: Option<String>,
        #[command(flatten)]
        output: Output,
    },
    /// Run rings and leaf-spines with traffic, one after another, for hours: switches are frozen, reloaded, captured from,
    /// restarted and killed, links go down, and every switch is audited continuously.
    ///
    /// Example: weir-lab soak --hours 2 --json soak.json
    Soak {
        /// Total time in hours; an episode that has begun is completed.
        #[arg(long, value_parser = positive)]
        hours: f64,
        /// Seconds for which hosts send in one network.
        #[arg(long, default_value_t = 300, value_parser = clap::value_parser!(u64).range(10..=540))]
        episode: u64,
        /// Seed of the faults.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Start with the episode of this number, to repeat a failed one.
        #[arg(long, default_value_t = 0, value_name = "NUMBER")]
        first: u64,
        /// Let all permitted frames, of lossy and lossless classes, use the express path.
        #[arg(long)]
        express: bool,
        /// Write the summary as JSON.
        #[arg(long, value_name = "FILE")]
        json: Option<PathBuf>,
    },
    /// Write a scenario's topology for containerlab: each switch is a container of Weir's image, each host one with the
    /// kernel's network. The nodes' files are written into a directory of the same name next to the topology.
    ///
    /// Example: weir-lab export scenarios/kernel/ring4-kernel.toml --containerlab ring4.clab.yml
    Export {
        /// The scenario file.
        file: PathBuf,
        /// Override a value of the file: deadlock.policy=breaker.
        #[arg(long = "set", value_name = "PATH=VALUE")]
        overrides: Vec<Override>,
        /// Topology file to write; must end in `.clab.yml`.
        #[arg(long, value_name = "FILE")]
        containerlab: PathBuf,
        /// Image of the switches.
        #[arg(long, default_value = containerlab::IMAGE)]
        image: String,
        /// Image of the hosts, with ip(8) and ethtool(8).
        #[arg(long, default_value = containerlab::HOST_IMAGE)]
        host_image: String,
        /// Add Prometheus and Grafana, with the rules and dashboards of this directory: packaging, or /usr/share/weir.
        #[arg(long, value_name = "DIRECTORY")]
        monitoring: Option<PathBuf>,
    },
    /// Print the plan of a scenario's topology for netns-scripts/lab-up.sh.
    Plan {
        /// The scenario file.
        file: PathBuf,
    },
}

#[derive(Debug, Args)]
struct Output {
    /// Write the whole result as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write curves as SVG.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Keep logs and configurations.
    #[arg(long)]
    keep: bool,
    /// Print only the result.
    #[arg(long)]
    quiet: bool,
    /// Threads of each switch that serve its sockets: 1 for the switch core's thread, or `auto`.
    #[arg(long, value_name = "N", default_value = "1")]
    workers: Workers,
    /// Let frames of lossy classes that need not queue use the express path.
    #[arg(long)]
    express: bool,
}

impl Output {
    fn options(&self) -> Options {
        Options {
            keep: self.keep,
            quiet: self.quiet,
            workers: self.workers,
            express: self.express.then_some(Express::On),
        }
    }
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let outcome = interrupt::catch()
        .context("signal handler")
        .and_then(|()| match &cli.command {
            Command::Run {
                file,
                overrides,
                output,
            } => run_one(file, overrides, output),
            Command::Demo {
                scenario,
                all,
                duration,
                output,
            } => {
                let changes = if *all { &DEMO_ALL[..] } else { &DEMO };
                demo(scenario, changes, duration.as_deref(), output)
            }
            Command::Soak {
                hours,
                episode,
                seed,
                first,
                express,
                json,
            } => soak(
                Plan {
                    length: Duration::from_secs_f64(hours * 3_600.0),
                    episode: Duration::from_secs(*episode),
                    seed: *seed,
                    first: *first,
                    express: *express,
                },
                json.as_deref(),
            ),
            Command::Export {
                file,
                overrides,
                containerlab: to,
                image,
                host_image,
                monitoring,
            } => {
                let wanted = Wanted {
                    image,
                    host_image,
                    monitoring: monitoring.as_deref(),
                };
                containerlab::export(&Scenario::load(file, overrides)?, &wanted, to)?;
                weir_output::sayln!("{}", to.display())?;
                Ok(true)
            }
            Command::Plan { file } => {
                let scenario = Scenario::load(file, &[])?;
                weir_output::say!("{}", topology::plan(&scenario, &Names::new()))?;
                Ok(true)
            }
        });
    let status = match outcome {
        Ok(true) => 0,
        Ok(false) => EXIT_EXPECTATION,
        Err(error) if error.is::<Interrupted>() => {
            eprintln!("\ninterrupted; cleaned up");
            EXIT_INTERRUPTED
        }
        Err(error) => {
            eprintln!("{}", weir_config::told(error.as_ref()));
            if error.is::<FileError>() {
                EXIT_USAGE
            } else {
                EXIT_FAILURE
            }
        }
    };
    ExitCode::from(status)
}

fn run_one(file: &Path, overrides: &[Override], output: &Output) -> Result<bool> {
    let scenario = Scenario::load(file, overrides)?;
    let result = run(&scenario, output.options())?;
    if let Some(path) = &output.json {
        write(path, &serde_json::to_string_pretty(&result)?)?;
    }
    if let Some(path) = &output.svg {
        write(
            path,
            &plot::svg(
                &[(scenario.name.as_str(), &result)],
                plot::Limits::of(&scenario),
            ),
        )?;
    }
    weir_output::say!("{}{}", table::run(&result), table::credit_loops(&scenario))?;
    Ok(result
        .expectations
        .iter()
        .all(|expectation| expectation.held))
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(hours) if hours > 0.0 && hours <= 1_000.0 => Ok(hours),
        _ => Err("must be a number above 0 and up to 1000".to_owned()),
    }
}

/// Returns true for a clean run.
fn soak(plan: Plan, json: Option<&Path>) -> Result<bool> {
    let summary = soak::run(plan, &mut |line| {
        // The summary reports an error of standard output.
        let _ = weir_output::sayln!("{line}");
    })?;
    let text = serde_json::to_string_pretty(&summary)?;
    if let Some(path) = json {
        write(path, &text)?;
    }
    weir_output::sayln!("{text}")?;
    weir_output::sayln!(
        "{}",
        match summary.broken.len() {
            0 => "all checks passed".to_owned(),
            count => format!("{count} checks failed"),
        }
    )?;
    Ok(summary.broken.is_empty())
}

/// Variants of the demo, each an override of the scenario file.
const DEMO: [&str; 3] = [
    "deadlock.policy=off",
    "deadlock.policy=breaker",
    "class.lossless.mode=level",
];

/// Variants with every remedy; those that drop come first.
const DEMO_ALL: [&str; 7] = [
    "deadlock.policy=off",
    "deadlock.policy=watchdog",
    "deadlock.policy=lifetime",
    "deadlock.policy=loop-breaker",
    "deadlock.policy=breaker",
    "deadlock.policy=auto",
    "class.lossless.mode=level",
];

fn demo(file: &Path, changes: &[&str], duration: Option<&str>, output: &Output) -> Result<bool> {
    let mut results: Vec<RunResult> = Vec::new();
    let mut limits = plot::Limits::default();
    for change in changes {
        let mut overrides = vec![parse_override(change)?];
        if let Some(duration) = duration {
            overrides.push(parse_override(&format!("duration={duration}"))?);
        }
        let scenario = Scenario::load(file, &overrides)?;
        limits = plot::Limits::of(&scenario);
        results.push(run(&scenario, output.options())?);
    }
    let rows: Vec<&RunResult> = results.iter().collect();
    weir_output::sayln!("\n{}", table::demo(&rows))?;
    weir_output::sayln!(
        "before: mean rate until the deadlock, or of the whole run without one; after: mean rate of the last third"
    )?;
    if let Some(path) = &output.svg {
        let titles: Vec<String> = results.iter().map(table::title).collect();
        let columns: Vec<(&str, &RunResult)> =
            titles.iter().map(String::as_str).zip(rows).collect();
        write(path, &plot::svg(&columns, limits))?;
        weir_output::sayln!("curves: {}", path.display())?;
    }
    if let Some(path) = &output.json {
        let all = serde_json::json!({ "format": weir_api::run::RUN_FORMAT, "runs": results });
        write(path, &serde_json::to_string_pretty(&all)?)?;
        weir_output::sayln!("result: {}", path.display())?;
    }
    let failed: Vec<String> = results
        .iter()
        .flat_map(|result| {
            result
                .expectations
                .iter()
                .filter(|expectation| !expectation.held)
                .map(|expectation| {
                    format!(
                        "{}: {} (seen: {})",
                        table::title(result),
                        expectation.what,
                        expectation.seen
                    )
                })
        })
        .collect();
    for failure in &failed {
        weir_output::sayln!("expectation failed: {failure}")?;
    }
    Ok(failed.is_empty())
}

fn parse_override(text: &str) -> Result<Override> {
    text.parse().map_err(anyhow::Error::msg)
}

fn write(path: &Path, text: &str) -> Result<()> {
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
    }
    std::fs::write(path, text).with_context(|| path.display().to_string())
}
