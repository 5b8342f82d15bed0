//! `cargo xtask`: set-up, the demo, the lab, the tests, the explorer, fuzzing, the benchmark, the dashboards, the book, and the package.
#![forbid(unsafe_code)]
#![warn(clippy::too_many_lines)]

mod book;
mod build;
mod clean_net;
mod dashboards;
mod deny;
mod dist;
mod fuzz;
mod root;
mod run;
mod setup;
mod soak;
mod tests;
mod tool;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Parser, Subcommand};

/// What can be done with this repository in one command.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Check that everything is there that building and testing need, and install what is missing.
    Setup(SetupArguments),
    /// Show a credit loop deadlock, the Deadlock Breaker that resolves it, and Levels that prevent it.
    #[command(after_help = DEMO_HELP)]
    Demo(DemoArguments),
    /// Run one scenario file in network namespaces with real frames.
    #[command(after_help = LAB_HELP)]
    Lab(LabArguments),
    /// Run every test, those in network namespaces included.
    #[command(after_help = TEST_HELP)]
    Test(TestArguments),
    /// Measure what a frame costs in classes of mode pfc and level, how fast the simulator is, or switches wire to wire.
    #[command(after_help = BENCH_HELP)]
    Bench(BenchArguments),
    /// Run the simulator: `cargo xtask sim run scenarios/ring4.toml`, `cargo xtask sim help`.
    Sim(SimArguments),
    /// Go through every order of events in small networks of real switches: `cargo xtask explore --story pfc-ring`.
    Explore(ExploreArguments),
    /// Run what takes too long for the tests: Theorem 1 on ten thousand random networks, with and without faults; or real
    /// switches under faults for hours.
    #[command(after_help = SOAK_HELP)]
    Soak(SoakArguments),
    /// Fuzz parsers, files and the whole switch with cargo-fuzz.
    #[command(after_help = FUZZ_HELP)]
    Fuzz(FuzzArguments),
    /// Hold the licences and sources of all dependencies against deny.toml, with cargo-deny.
    #[command(after_help = DENY_HELP)]
    Deny(DenyArguments),
    /// Write the Grafana dashboards and the Prometheus rules of packaging/ anew from their source.
    Dashboards(DashboardsArguments),
    /// Render the book with mdBook.
    #[command(after_help = BOOK_HELP)]
    Book,
    /// Draw the pictures of the book's concepts anew, from runs of the simulator.
    Figures(FiguresArguments),
    /// Build the Debian package.
    #[command(after_help = DIST_HELP)]
    Dist(DistArguments),
    /// Remove what a killed lab left: network namespaces and run directories.
    #[command(after_help = CLEAN_HELP)]
    CleanNet(CleanNetArguments),
}

const DEMO_HELP: &str = "\
Builds four switches in a ring, with hosts that overload it, in network namespaces: first with PFC alone,
where the ring locks and stays locked, then with the Deadlock Breaker, then with Levels (protocol P), under
which it never locks. Prints a table of all three and draws throughput and buffers over time.

Needs root. As another user:
  sudo -E env PATH=\"$PATH\" cargo xtask demo";

const LAB_HELP: &str = "\
Examples:
  cargo xtask lab scenarios/ring4.toml
  cargo xtask lab scenarios/ring4.toml --set deadlock.policy=breaker --svg ring4.svg
  cargo xtask lab scenarios/ring4.toml --set class.lossless.xoff=64KiB --json result.json

Exit status: 0 all expectations of the scenario held, 1 one failed, 2 the command line or the file is
not legal, 3 the run could not be made, 130 interrupted.

Needs root. As another user:
  sudo -E env PATH=\"$PATH\" cargo xtask lab FILE";

const TEST_HELP: &str = "\
Uses cargo-nextest where it is installed (it runs the namespace tests one at a time and stops what hangs),
else cargo test. Documentation tests follow.

Examples:
  cargo xtask test
  cargo xtask test -- -p weir-core
  cargo xtask test -- --test ring_breaker

Needs root. As another user:
  sudo -E env PATH=\"$PATH\" cargo xtask test";

const BENCH_HELP: &str = "\
Without options: what a frame costs in a class of mode level against one of mode pfc, in turns in one process.

With --core: nanoseconds for each frame in the switch core alone, by mode, ports, destinations, frames that stand, and what happens
beside. With --instructions: instructions instead, counted by Valgrind, against core/bench/instructions.toml; the exit status is 1 when
a case costs more than 5 % above it.

With --sim: events and frame-hops per second of CPU and memory, on a fat-tree of k = 16 and on networks of 100, 1,000 and 10,000
switches (which takes 8 GiB of memory), and the same fat-tree in ns-3 where libns3-dev is installed.

With --wire: throughput without loss, goodput at overload, latency and CPU time of Weir, of a bare AF_XDP forwarder, of Open
vSwitch and of the kernel's bridge, over veth devices. Takes about half an hour, with --quick one or two minutes. Needs root, and
Open vSwitch (apt-get install openvswitch-switch) unless --systems leaves it out.

Examples:
  cargo xtask bench
  cargo xtask bench --core
  cargo xtask bench --instructions
  cargo xtask bench --sim --json speed.json
  cargo xtask bench --wire --quick
  cargo xtask bench --wire --json wire.json --svg wire.svg
  cargo xtask bench --wire -- --systems bare,weir-pfc --sizes 64 --flows 1";

const SOAK_HELP: &str = "\
A network that breaks its promise is told with its seed and the command that replays it, and the exit status is 1.

With --hours: rings and leaf-spines of real switches in network namespaces, with traffic. They are frozen, reloaded, restarted and
killed and their links go down, while their books are audited five times a second. A frame that is lost where none may be, a sum that does
not hold, a process that grows or a daemon that does not come back is told, and the exit status is 1.

Examples:
  cargo xtask soak --networks 1000
  cargo xtask soak --search
  cargo xtask soak --hours 2";

const FUZZ_HELP: &str = "\
Needs cargo-fuzz and a nightly toolchain, and says how to get them. One process at a time, of 2 GiB at most. New inputs go to
target/fuzz/corpus. What a target finds is in fuzz/artifacts, and the exit status is 1.

Examples:
  cargo xtask fuzz lldp --seconds 60
  cargo xtask fuzz --executions 1000000
  cargo xtask fuzz clcm --executions 100000000 --keep --record";

const DENY_HELP: &str = "\
Without a connection: that every licence is one of those that deny.toml allows (licenses), that no dependency has a wildcard for
a version (bans), and that all come from crates.io or this repository (sources). With --advisories also that RustSec knows of no
vulnerability in them, that each is maintained, and that none was yanked, which fetches the database.

Needs cargo-deny:
  cargo install cargo-deny --locked";

const BOOK_HELP: &str = "\
Writes target/book/index.html. Needs mdBook 0.4:
  cargo install mdbook --locked --version '^0.4'";

const DIST_HELP: &str = "\
Writes target/dist/weir_VERSION_ARCHITECTURE.deb and prints its path. Installs cargo-deb below target/tools if it is not there.

With --check, which needs root: installs it in a clean Debian 12 made by debootstrap, runs the daemon from the installed files,
kills it and starts it again, upgrades to a higher version, removes and purges, and says what it saw.";

const CLEAN_HELP: &str = "\
A lab removes all it made when it ends, is interrupted, or panics. Only one that was killed leaves
namespaces, named weir-PID-N-NODE. Those of labs that still run are left alone, unless --prefix names them.";

#[derive(Debug, Args)]
struct SetupArguments {
    /// Install nothing: name what is missing, and exit with status 1 if anything is.
    #[arg(long)]
    no_install: bool,
}

#[derive(Debug, Args)]
struct DemoArguments {
    #[command(flatten)]
    setup: SetupArguments,
    /// Every deadlock policy and Levels, in a ring whose flows have a second way round
    /// (scenarios/ring4-ecmp.toml).
    #[arg(long)]
    all: bool,
    /// Also write all results as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Where the drawing goes [default: target/demo/SCENARIO.svg in the repository].
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// For how many seconds each run offers traffic.
    #[arg(long, value_name = "SECONDS")]
    duration: Option<u32>,
}

#[derive(Debug, Args)]
struct LabArguments {
    /// The scenario file.
    file: PathBuf,
    #[command(flatten)]
    setup: SetupArguments,
    /// Put a value over one of the file, such as deadlock.policy=breaker. May be given again.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    overrides: Vec<String>,
    /// Write the result as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Draw throughput and buffers over time.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Leave namespaces and files in place, to look at them.
    #[arg(long)]
    keep: bool,
}

#[derive(Debug, Args)]
struct TestArguments {
    #[command(flatten)]
    setup: SetupArguments,
    /// For the test runner.
    #[arg(last = true, value_name = "ARGUMENTS")]
    arguments: Vec<OsString>,
}

#[derive(Debug, Args)]
struct ExploreArguments {
    /// For weir-explore.
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "ARGUMENTS"
    )]
    arguments: Vec<OsString>,
}

#[derive(Debug, Args)]
struct SimArguments {
    /// For weir-sim.
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "ARGUMENTS"
    )]
    arguments: Vec<OsString>,
}

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("what").args(["core", "instructions", "sim", "wire"]))]
#[command(group = clap::ArgGroup::new("measured").args(["sim", "wire"]))]
struct BenchArguments {
    /// What a frame costs in the switch core, by many cases.
    #[arg(long)]
    core: bool,
    /// Instructions of the switch core, against their baseline.
    #[arg(long)]
    instructions: bool,
    /// Make what is counted the baseline.
    #[arg(long, requires = "instructions")]
    accept: bool,
    /// The simulator's speed.
    #[arg(long)]
    sim: bool,
    /// Switches, wire to wire.
    #[arg(long)]
    wire: bool,
    /// Short trials, one round.
    #[arg(long, requires = "wire")]
    quick: bool,
    /// All that was measured, as JSON.
    #[arg(long, value_name = "FILE", requires = "measured")]
    json: Option<PathBuf>,
    /// Draw it.
    #[arg(long, value_name = "FILE", requires = "wire")]
    svg: Option<PathBuf>,
    /// How often everything runs; medians are told [default: 5 with --sim, 3 with --wire].
    #[arg(long, value_name = "COUNT", requires = "measured",
          value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: Option<u32>,
    /// For `weir-bench wire`: --systems, --sizes, --flows.
    #[arg(last = true, value_name = "ARGUMENTS", requires = "wire")]
    arguments: Vec<OsString>,
}

#[derive(Debug, Args)]
struct SoakArguments {
    /// Real switches in network namespaces under random faults instead, for so many hours. Needs root.
    #[arg(long, conflicts_with_all = ["networks", "first"])]
    hours: Option<f64>,
    /// Wide random networks instead, judged while traffic runs as well: under Levels, and as many under PFC with the
    /// Deadlock Breaker.
    #[arg(long, conflicts_with = "hours")]
    search: bool,
    /// How many random networks.
    #[arg(long, default_value_t = 10_000)]
    networks: u64,
    /// The first one's seed.
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// Where the sums go [default: target/soak in the repository].
    #[arg(long, value_name = "DIRECTORY")]
    out: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct FuzzArguments {
    /// Which targets of fuzz/fuzz_targets [default: all].
    #[arg(value_name = "TARGET")]
    targets: Vec<String>,
    /// Each target ends after this many executions.
    #[arg(long, value_name = "COUNT")]
    executions: Option<u64>,
    /// Each target ends after this long [default: 60, unless --executions says when].
    #[arg(long, value_name = "SECONDS")]
    seconds: Option<u64>,
    /// Make the smallest set of inputs that reaches what was reached the committed corpus.
    #[arg(long)]
    keep: bool,
    /// Write what was run into the book.
    #[arg(long)]
    record: bool,
}

#[derive(Debug, Args)]
struct DashboardsArguments {
    /// Where the book's pages are, which the alerts' runbook_url points to.
    #[arg(long, value_name = "URL", default_value = weir_monitoring::BOOK)]
    book: String,
    /// The directory that the files go below [default: the repository].
    #[arg(long, value_name = "DIRECTORY")]
    out: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct FiguresArguments {
    /// The directory that they go into [default: docs/src/concepts in the repository].
    #[arg(long, value_name = "DIRECTORY")]
    out: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct DistArguments {
    #[command(flatten)]
    setup: SetupArguments,
    /// Try the package in a clean Debian.
    #[arg(long)]
    check: bool,
}

#[derive(Debug, Args)]
struct DenyArguments {
    /// Look for advisories of RustSec, too; fetches their database.
    #[arg(long)]
    advisories: bool,
}

#[derive(Debug, Args)]
struct CleanNetArguments {
    /// Remove only what begins so, whether its lab still runs or not.
    #[arg(long, value_name = "PREFIX")]
    prefix: Option<String>,
}

fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<()> {
    match command {
        Command::Setup(setup) => setup::run(setup.no_install, setup::Purpose::All),
        Command::Demo(demo) => run::demo(demo),
        Command::Lab(lab) => run::lab(lab),
        Command::Test(test) => {
            root::require("cargo xtask test")?;
            setup::run(test.setup.no_install, setup::Purpose::All)?;
            tests::run(&test.arguments)
        }
        Command::Bench(bench) => run::bench(bench),
        Command::Sim(sim) => {
            let simulator = build::simulator()?;
            Err(build::replace_by(&simulator, &sim.arguments))
        }
        Command::Explore(explore) => {
            let explorer = build::explorer()?;
            Err(build::replace_by(&explorer, &explore.arguments))
        }
        Command::Soak(soak) => {
            let directory = soak
                .out
                .unwrap_or_else(|| build::root().join("target/soak"));
            match soak.hours {
                Some(hours) => {
                    root::require("cargo xtask soak --hours")?;
                    soak::in_namespaces(hours, &directory)
                }
                None if soak.search => soak::wide(soak.networks, soak.first, &directory),
                None => soak::run(soak.networks, soak.first, &directory),
            }
        }
        Command::Fuzz(fuzz) => {
            const SECONDS: u64 = 60;
            let bound = fuzz::Bound {
                executions: fuzz.executions,
                seconds: fuzz
                    .seconds
                    .or(fuzz.executions.is_none().then_some(SECONDS)),
            };
            fuzz::run(&fuzz.targets, bound, fuzz.keep, fuzz.record)
        }
        Command::Dashboards(dashboards) => {
            let directory = dashboards.out.unwrap_or_else(build::root);
            dashboards::write(&directory, dashboards.book.trim_end_matches('/'))
        }
        Command::Book => {
            println!("{}", book::render()?.display());
            Ok(())
        }
        Command::Figures(figures) => {
            let directory = figures
                .out
                .unwrap_or_else(|| build::root().join("docs/src/concepts"));
            book::figures(&directory)
        }
        Command::Dist(dist) if dist.check => {
            root::require("cargo xtask dist --check")?;
            setup::run(dist.setup.no_install, setup::Purpose::All)?;
            dist::check()
        }
        Command::Dist(dist) => {
            setup::run(dist.setup.no_install, setup::Purpose::Lab)?;
            dist::package().map(drop)
        }
        Command::Deny(arguments) => deny::run(arguments.advisories),
        Command::CleanNet(clean) => {
            root::require("cargo xtask clean-net")?;
            clean_net::run(clean.prefix.as_deref())
        }
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
