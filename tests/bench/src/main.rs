//! `weir-bench`: measures switches wire to wire.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{bail, Context, Result};
use clap::{Args, Parser, Subcommand};
use weir_bench::cpu::{load_average, Cpus};
use weir_bench::measure::tcp::TcpPlan;
use weir_bench::measure::{self, Effort};
use weir_bench::rounds::{Measured, Plan};
use weir_bench::system::System;
use weir_bench::{forwarder, report};
use weir_lab::lab::interrupt;

const INTERRUPTED: u8 = 130;

#[derive(Debug, Parser)]
#[command(
    name = "weir-bench",
    version,
    about = "Measure switches wire to wire over veth",
    max_term_width = 80
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Measure throughput, overload, latency and CPU time.
    Wire(WireArguments),
    /// Measure TCP (iperf3) between two kernels in both directions, with CPU time per Gbit.
    Tcp(TcpArguments),
    /// Measure the cost of an idle switch, and of one with 100 frames per second.
    Idle(IdleArguments),
    /// Print the report of an earlier measurement.
    Report(ReportArguments),
    /// Load and unload the XDP programs of the measuring hosts and the bare forwarder.
    #[command(hide = true)]
    TryPrograms,
    /// The bare forwarder in this network namespace; ends with standard input.
    #[command(hide = true)]
    Forward {
        first: String,
        second: String,
        /// CPU to which it is bound.
        #[arg(long)]
        cpu: Option<usize>,
    },
}

#[derive(Debug, Args)]
struct WireArguments {
    /// One round of short trials, with the smallest and the largest frame.
    #[arg(long)]
    quick: bool,
    /// Systems to measure [default: all].
    #[arg(long, value_enum, value_delimiter = ',')]
    systems: Vec<System>,
    /// Frame sizes in bytes, including FCS [default: 64,256,1024,1500; with --quick 64,1500].
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u32).range(64..=1518))]
    sizes: Vec<u32>,
    /// Numbers of flows, powers of two [default: 1,1024; with --quick 1].
    #[arg(long, value_delimiter = ',', value_parser = flow_count)]
    flows: Vec<u32>,
    /// Number of rounds; medians are reported [default: 3; with --quick 1].
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: Option<u32>,
    #[command(flatten)]
    output: OutputArguments,
}

#[derive(Debug, Args)]
struct TcpArguments {
    /// Systems to measure [default: weir-lossy, weir-express, ovs, bridge]. Kernels ignore pauses, so a lossless class would
    /// lose frames.
    #[arg(long, value_enum, value_delimiter = ',')]
    systems: Vec<System>,
    /// Number of rounds; medians are reported.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Seconds of each transfer.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=60))]
    seconds: u32,
    /// Write all transfers as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct IdleArguments {
    /// Systems to measure [default: weir-lossy, weir-express, weir-pfc-express, ovs].
    #[arg(long, value_enum, value_delimiter = ',')]
    systems: Vec<System>,
    /// Number of rounds; medians are reported.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Seconds of each observation.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=600))]
    seconds: u32,
}

#[derive(Debug, Args)]
struct ReportArguments {
    /// A measurement written by `--json`; or, for --svg, a page in Markdown with the table of all cells.
    file: PathBuf,
    /// Draw the results.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct OutputArguments {
    /// Write all measurements as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Draw the results.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            match error.downcast_ref::<interrupt::Interrupted>() {
                Some(_) => ExitCode::from(INTERRUPTED),
                None => ExitCode::FAILURE,
            }
        }
    }
}

fn run(command: Command) -> Result<()> {
    match command {
        Command::TryPrograms => weir_bench::programs::try_load(),
        Command::Forward { first, second, cpu } => forwarder::run([&first, &second], cpu),
        Command::Wire(arguments) => wire(arguments),
        Command::Tcp(arguments) => tcp(arguments),
        Command::Idle(arguments) => idle(arguments),
        Command::Report(ReportArguments { file, svg }) => {
            let text =
                std::fs::read_to_string(&file).with_context(|| file.display().to_string())?;
            if file.extension().is_some_and(|end| end == "md") {
                return draw_page(&file, &text, svg.as_deref());
            }
            let measured: Measured =
                serde_json::from_str(&text).with_context(|| file.display().to_string())?;
            print(&measured, svg.as_deref())
        }
    }
}

fn draw_page(page: &Path, text: &str, svg: Option<&Path>) -> Result<()> {
    let Some(svg) = svg else {
        bail!("{} is a page: --svg FILE draws its table", page.display());
    };
    let rows = report::overview::read(text).with_context(|| {
        let names = report::overview::QUANTITIES.join(", ");
        format!("{} has no table with the columns {names}", page.display())
    })?;
    std::fs::write(svg, report::svg(&rows)).with_context(|| svg.display().to_string())
}

fn begin() -> Result<()> {
    if !nix::unistd::geteuid().is_root() {
        bail!("network namespaces need root; try `sudo -E env \"PATH=$PATH\" …`");
    }
    Ok(interrupt::catch()?)
}

fn tcp(arguments: TcpArguments) -> Result<()> {
    begin()?;
    let systems = match arguments.systems.is_empty() {
        true => vec![
            System::WeirLossy,
            System::WeirExpress,
            System::Ovs,
            System::Bridge,
        ],
        false => arguments.systems,
    };
    let plan = TcpPlan {
        systems,
        rounds: arguments.rounds,
        seconds: arguments.seconds,
    };
    let before = load_average();
    let transfers = plan.run()?;
    if let Some(file) = &arguments.json {
        measure::tcp::write(&transfers, file)?;
    }
    print!("{}", report::tcp::text(&transfers));
    println!("\nload {before} before, {} after", load_average());
    Ok(())
}

fn idle(arguments: IdleArguments) -> Result<()> {
    begin()?;
    let systems = match arguments.systems.is_empty() {
        true => vec![
            System::WeirLossy,
            System::WeirExpress,
            System::WeirPfcExpress,
            System::Ovs,
        ],
        false => arguments.systems,
    };
    for system in &systems {
        system.check()?;
    }
    let (cpus, before) = (Cpus::of_this_machine()?, load_average());
    let span = Duration::from_secs(u64::from(arguments.seconds));
    let mut all = Vec::new();
    for round in 1..=arguments.rounds {
        for system in &systems {
            eprintln!("[round {round} of {}] {}", arguments.rounds, system.name());
            all.push((*system, measure::idle::measure(*system, span, cpus)?));
        }
    }
    print!("{}", report::idle::text(&systems, &all));
    println!("\nload {before} before, {} after", load_average());
    Ok(())
}

fn wire(arguments: WireArguments) -> Result<()> {
    begin()?;
    let json = arguments.output.json.clone();
    let svg = arguments.output.svg.clone();
    let measured = plan(arguments).run()?;
    if let Some(file) = json {
        let text = serde_json::to_string_pretty(&measured)?;
        std::fs::write(&file, text).with_context(|| file.display().to_string())?;
    }
    print(&measured, svg.as_deref())
}

fn plan(arguments: WireArguments) -> Plan {
    let quick = arguments.quick;
    let or = |given: Vec<u32>, thorough: &[u32], short: &[u32]| match (given.is_empty(), quick) {
        (false, _) => given,
        (true, false) => thorough.to_vec(),
        (true, true) => short.to_vec(),
    };
    let sizes = or(arguments.sizes, &[64, 256, 1024, 1500], &[64, 1500]);
    let (rounds, effort) = if quick {
        (1, Effort::QUICK)
    } else {
        (3, Effort::THOROUGH)
    };
    Plan {
        systems: if arguments.systems.is_empty() {
            System::ALL.to_vec()
        } else {
            arguments.systems
        },
        frame_bytes: sizes.into_iter().map(|size| size as usize).collect(),
        flows: or(arguments.flows, &[1, 1024], &[1]),
        effort: Effort {
            rounds: arguments.rounds.unwrap_or(rounds),
            ..effort
        },
    }
}

fn print(measured: &Measured, svg: Option<&Path>) -> Result<()> {
    print!("{}", report::text(measured));
    println!(
        "CPUs {:?} of {} ({}), Linux {}; load {} before, {} after; {:.0} s",
        measured.machine.cpus,
        measured.machine.cpu_count,
        measured.machine.processor,
        measured.machine.kernel,
        measured.machine.load_before,
        measured.machine.load_after,
        measured.took_seconds
    );
    if let Some(file) = svg {
        std::fs::write(file, report::svg(&report::overview::overview(measured)))
            .with_context(|| file.display().to_string())?;
    }
    Ok(())
}

fn flow_count(text: &str) -> Result<u32, String> {
    const MOST: u32 = 1 << 15;
    match text.parse::<u32>() {
        Ok(count) if count.is_power_of_two() && count <= MOST => Ok(count),
        _ => Err(format!("a power of two up to {MOST} is legal")),
    }
}

#[cfg(test)]
mod command_line {
    use super::Cli;
    use clap::CommandFactory;

    #[test]
    fn is_sound() {
        Cli::command().debug_assert();
    }
}
