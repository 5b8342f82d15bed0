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
mod times;
mod tool;
mod vm;
mod wheel;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Parser, Subcommand};

/// Build, test and demonstrate Weir.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", max_term_width = 80)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Check for everything that building and testing need, and install what is missing.
    Setup(SetupArguments),
    /// Show a deadlock in a ring, the Deadlock Breaker that resolves it, and Levels that prevent it.
    #[command(after_help = DEMO_HELP)]
    Demo(DemoArguments),
    /// Run one scenario file in network namespaces with real frames.
    #[command(after_help = LAB_HELP)]
    Lab(LabArguments),
    /// Run the tests, including those in network namespaces.
    #[command(after_help = TEST_HELP)]
    Test(TestArguments),
    /// Runs one test and records its times; `test --times` makes cargo-nextest call this.
    #[command(hide = true)]
    TimeTest {
        /// The test's executable and arguments.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        command: Vec<OsString>,
    },
    /// Measure the cost of a frame, the speed of the simulator, or switches wire to wire.
    #[command(after_help = BENCH_HELP)]
    Bench(BenchArguments),
    /// Run the simulator: `cargo xtask sim run scenarios/ring4.toml`, `cargo xtask sim help`.
    Sim(ProgramArguments),
    /// Explore every order of events in small networks of real switch cores: `cargo xtask explore --story pfc-ring`.
    Explore(ProgramArguments),
    /// Run long tests: Theorem 1 on ten thousand random networks, with and without faults; or real switches under faults
    /// for hours.
    #[command(after_help = SOAK_HELP)]
    Soak(SoakArguments),
    /// Test the daemon on emulated NICs with their real drivers, in a guest.
    #[command(after_help = vm::HELP)]
    VmTest(vm::Arguments),
    /// Fuzz parsers, files and the whole switch with cargo-fuzz.
    #[command(after_help = FUZZ_HELP)]
    Fuzz(FuzzArguments),
    /// Run the tests against mutants of the core at two revisions, which takes hours. An interrupted run continues.
    Mutants(MutantsArguments),
    /// Check licences and sources of all dependencies against deny.toml, with cargo-deny.
    #[command(after_help = DENY_HELP)]
    Deny(DenyArguments),
    /// Generate the Grafana dashboards and the Prometheus rules in packaging/, and the API's document in the book.
    Dashboards(DashboardsArguments),
    /// Render the book with mdBook.
    #[command(after_help = BOOK_HELP)]
    Book,
    /// Generate the figures of the book's concepts, from runs of the simulator.
    Figures(FiguresArguments),
    /// Build the Debian package, or all artefacts to install.
    #[command(after_help = dist::HELP)]
    Dist(dist::Arguments),
    /// Build the container image.
    #[command(after_help = dist::image::HELP)]
    Image(dist::image::Arguments),
    /// Build the wheel of the Python package, and check it.
    #[command(after_help = wheel::HELP)]
    Wheel(SetupArguments),
    /// Remove network namespaces and run directories of labs that were killed.
    #[command(after_help = CLEAN_HELP)]
    CleanNet(CleanNetArguments),
}

const DEMO_HELP: &str = "\
Builds a ring of four switches with hosts that overload it, in network
namespaces: first with PFC alone, where the ring deadlocks for good, then with
the Deadlock Breaker, then with Levels (protocol P), under which it never
deadlocks. Prints a table of all three and draws throughput and buffers over
time.

Needs root. As another user:
  sudo -E env PATH=\"$PATH\" cargo xtask demo";

const LAB_HELP: &str = "\
Examples:
  cargo xtask lab scenarios/ring4.toml
  cargo xtask lab scenarios/ring4.toml --set deadlock.policy=breaker \\
    --svg ring4.svg
  cargo xtask lab scenarios/ring4.toml --set class.lossless.xoff=64KiB \\
    --json result.json

Exit status: 0 all expectations held, 1 an expectation failed, 2 invalid file or
command line, 3 the run failed, 130 interrupted.

Needs root. As another user:
  sudo -E env PATH=\"$PATH\" cargo xtask lab FILE";

const TEST_HELP: &str = "\
Without options: the tests that tell whether a build is good, which are all but
long searches in virtual time, and one test with real frames for each promise.
--all: every test, as CI runs them.

Uses cargo-nextest if installed (it runs tests side by side and stops tests that
hang), otherwise cargo test, one test at a time. Documentation tests follow.

Examples:
  cargo xtask test
  cargo xtask test --all
  cargo xtask test -- -p weir-core
  cargo xtask test -- ring_breaker

Needs root; plain `cargo test` runs the tests that do not. As another user:
  sudo -E env PATH=\"$PATH\" cargo xtask test";

const BENCH_HELP: &str = "\
Without options: the cost of a frame in a class of mode level compared with one
of mode pfc, alternately in one process.

--core: nanoseconds per frame in the switch core alone, by mode, ports,
destinations, waiting frames and concurrent events; then frames a second of one
core and of two that hand frames over to each other. Takes about five minutes.
--instructions: instructions instead, counted by Valgrind and compared with
tests/core-bench/instructions.toml; the exit status is 1 if a case costs over 5 % more.

--sim: events and frame-hops per second of CPU, and memory, on a fat-tree of k =
16 and on networks of 100, 1,000 and 10,000 switches (needs 8 GiB of memory);
also the fat-tree in ns-3 if libns3-dev is installed.

--wire: throughput without loss, goodput at overload, latency and CPU time of
Weir, a bare AF_XDP forwarder, Open vSwitch and the kernel's bridge, over veth
devices. Takes about half an hour, with --quick one or two minutes. Needs root,
and Open vSwitch (apt-get install openvswitch-switch) unless excluded by
--systems. --tcp: iperf3 between two kernels through the same systems, both
ways, with CPU time a Gbit. --idle: CPU time of a switch that has nothing to do,
and with 100 frames a second. Each takes about four minutes.

Examples:
  cargo xtask bench
  cargo xtask bench --core
  cargo xtask bench --instructions
  cargo xtask bench --sim --json speed.json
  cargo xtask bench --wire --quick
  cargo xtask bench --wire --json wire.json --svg wire.svg
  cargo xtask bench --wire -- --systems bare,weir-pfc --sizes 64 --flows 1
  cargo xtask bench --tcp";

const SOAK_HELP: &str = "\
A network that fails is reported with its seed and the command to replay it, and
the exit status is 1.

--hours: rings and leaf-spines of real switches in network namespaces, with
traffic. Switches are frozen, reloaded, restarted and killed, links go down, and
every switch is audited five times a second. An unexpected loss, a sum that
differs, a process that grows or a daemon that does not recover is reported, and
the exit status is 1.

Examples:
  cargo xtask soak --networks 1000
  cargo xtask soak --search
  cargo xtask soak --hours 2";

const FUZZ_HELP: &str = "\
Needs cargo-fuzz and a nightly toolchain; if they are missing, says how to
install them. Runs one process at a time, of at most 2 GiB. New inputs go to
target/fuzz/corpus, findings to tests/fuzz/artifacts. With findings the exit status is
1.

Examples:
  cargo xtask fuzz lldp --seconds 60
  cargo xtask fuzz --executions 1000000
  cargo xtask fuzz clcm --executions 100000000 --keep --record";

const DENY_HELP: &str = "\
Checks offline that deny.toml allows every licence (licenses), that no
dependency has a wildcard version (bans), and that all come from cargo's default
registry or this repository (sources). With --advisories also that RustSec lists
no vulnerability and that every dependency is maintained and not yanked; this
fetches the database. If it cannot be reached, the exit status is 3.

Installs cargo-deny under target/tools if it is missing.";

const BOOK_HELP: &str = "\
Writes target/book/index.html, with a search over all pages. Installs mdBook
under target/tools if it is missing, which takes some minutes.";

const CLEAN_HELP: &str = "\
A lab cleans up when it ends, is interrupted, or panics. Only a killed lab
leaves namespaces, named weir-PID-N-NODE. Those of running labs are kept, unless
selected by --prefix.";

#[derive(Debug, Args)]
struct SetupArguments {
    /// Install nothing: list what is missing, and exit with status 1 if anything is.
    #[arg(long)]
    no_install: bool,
}

#[derive(Debug, Args)]
struct DemoArguments {
    #[command(flatten)]
    setup: SetupArguments,
    /// Every deadlock policy and Levels, in a ring whose flows have a second path
    /// (scenarios/ring4-ecmp.toml).
    #[arg(long)]
    all: bool,
    /// Also write all results as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// File for the drawing [default: target/demo/SCENARIO.svg in the repository].
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Seconds for which each run offers traffic.
    #[arg(long, value_name = "SECONDS")]
    duration: Option<u32>,
}

#[derive(Debug, Args)]
struct LabArguments {
    /// The scenario file.
    file: PathBuf,
    #[command(flatten)]
    setup: SetupArguments,
    /// Override a value of the file, such as deadlock.policy=breaker. Repeatable.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    overrides: Vec<String>,
    /// Write the result as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Draw throughput and buffers over time.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Keep namespaces and files for inspection.
    #[arg(long)]
    keep: bool,
}

#[derive(Debug, Args)]
struct TestArguments {
    #[command(flatten)]
    setup: SetupArguments,
    /// Every test, including those that take long.
    #[arg(long, conflicts_with = "arguments")]
    all: bool,
    /// Write clock and processor seconds of the build and of the tests to FILE, as Markdown.
    #[arg(long, value_name = "FILE")]
    times: Option<PathBuf>,
    /// Arguments for the test runner.
    #[arg(last = true, value_name = "ARGUMENTS")]
    arguments: Vec<OsString>,
}

#[derive(Debug, Args)]
struct MutantsArguments {
    /// Revision whose tests are compared with the other's.
    #[arg(long, value_name = "REVISION")]
    before: String,
    /// Revision with the tests in question.
    #[arg(long, value_name = "REVISION")]
    after: String,
    /// Seed of the sample of mutants.
    #[arg(long, default_value_t = 20_261_129)]
    seed: u64,
    /// Mutants in the sample.
    #[arg(long, default_value_t = 900)]
    count: u64,
    /// Tests that run at the same time.
    #[arg(long, default_value_t = 1)]
    jobs: u64,
    /// Only print the tables of what has run so far.
    #[arg(long)]
    report: bool,
}

impl MutantsArguments {
    fn words(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = vec![(&self.before).into(), (&self.after).into()];
        words.extend([self.seed, self.count, self.jobs].map(|it| it.to_string().into()));
        words.push(build::target_directory().join("mutants").into());
        words.extend(self.report.then(|| "--report".into()));
        words
    }
}

#[derive(Debug, Args)]
struct ProgramArguments {
    /// Arguments for the program.
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "ARGUMENTS"
    )]
    arguments: Vec<OsString>,
}

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("what").args(["core", "instructions", "sim", "wire", "tcp", "idle"]))]
#[command(group = clap::ArgGroup::new("switches").args(["wire", "tcp", "idle"]))]
#[command(group = clap::ArgGroup::new("measured").args(["sim", "wire", "tcp", "idle"]))]
struct BenchArguments {
    /// Cost of a frame in the switch core, in many cases.
    #[arg(long)]
    core: bool,
    /// Instructions of the switch core, compared with the baseline.
    #[arg(long)]
    instructions: bool,
    /// Make the result the new baseline.
    #[arg(long, requires = "instructions")]
    accept: bool,
    /// Speed of the simulator.
    #[arg(long)]
    sim: bool,
    /// Switches, wire to wire.
    #[arg(long)]
    wire: bool,
    /// TCP between two kernels, by iperf3.
    #[arg(long)]
    tcp: bool,
    /// Cost of idle switches.
    #[arg(long)]
    idle: bool,
    /// Short trials, one round.
    #[arg(long, requires = "wire")]
    quick: bool,
    /// Write all measurements as JSON.
    #[arg(
        long,
        value_name = "FILE",
        requires = "measured",
        conflicts_with = "idle"
    )]
    json: Option<PathBuf>,
    /// Draw the results.
    #[arg(long, value_name = "FILE", requires = "wire")]
    svg: Option<PathBuf>,
    /// Number of rounds; medians are reported [default: 5 with --sim and --tcp, 3 otherwise].
    #[arg(long, value_name = "COUNT", requires = "measured",
          value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: Option<u32>,
    /// Arguments for `weir-bench`: --systems, with --wire also --sizes and --flows, otherwise --seconds.
    #[arg(last = true, value_name = "ARGUMENTS", requires = "switches")]
    arguments: Vec<OsString>,
}

#[derive(Debug, Args)]
struct SoakArguments {
    /// Run real switches in network namespaces under random faults instead, for this many hours. Needs root.
    #[arg(long, conflicts_with_all = ["networks", "first"])]
    hours: Option<f64>,
    /// With --hours: let all permitted frames use the express path.
    #[arg(long, requires = "hours")]
    express: bool,
    /// Test a wide range of random networks instead, also while traffic runs: under Levels, and as many under PFC with the
    /// Deadlock Breaker.
    #[arg(long, conflicts_with = "hours")]
    search: bool,
    /// Number of random networks.
    #[arg(long, default_value_t = 10_000)]
    networks: u64,
    /// Seed of the first network.
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// Directory for the results [default: target/soak in the repository].
    #[arg(long, value_name = "DIRECTORY")]
    out: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct FuzzArguments {
    /// Targets in tests/fuzz/fuzz_targets [default: all].
    #[arg(value_name = "TARGET")]
    targets: Vec<String>,
    /// Executions per target.
    #[arg(long, value_name = "COUNT")]
    executions: Option<u64>,
    /// Seconds per target [default: 60, unless --executions is given].
    #[arg(long, value_name = "SECONDS")]
    seconds: Option<u64>,
    /// Minimise the corpus and replace the committed one.
    #[arg(long)]
    keep: bool,
    /// Record the run in the book.
    #[arg(long)]
    record: bool,
}

#[derive(Debug, Args)]
struct DashboardsArguments {
    /// Base URL of the book, for the alerts' runbook_url.
    #[arg(long, value_name = "URL", default_value = weir_monitoring::BOOK)]
    book: String,
    /// Output directory [default: the repository].
    #[arg(long, value_name = "DIRECTORY")]
    out: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct FiguresArguments {
    /// Output directory [default: docs/src/concepts in the repository].
    #[arg(long, value_name = "DIRECTORY")]
    out: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct DenyArguments {
    /// Check RustSec advisories too; fetches their database.
    #[arg(long)]
    advisories: bool,
}

#[derive(Debug, Args)]
struct CleanNetArguments {
    /// Remove only names with this prefix, even if the lab still runs.
    #[arg(long, value_name = "PREFIX")]
    prefix: Option<String>,
}

fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(status) => status,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<ExitCode> {
    match command {
        // It has its own exit statuses.
        Command::VmTest(arguments) => return Ok(vm::run(&arguments)),
        Command::Setup(setup) => setup::run(setup.no_install, setup::Purpose::All),
        Command::Demo(demo) => run::demo(demo),
        Command::Lab(lab) => run::lab(lab),
        Command::Test(test) => {
            root::require("cargo xtask test")?;
            setup::run(test.setup.no_install, setup::Purpose::All)?;
            let tier = match test.all {
                true => tests::Tier::All,
                false => tests::Tier::First,
            };
            tests::run(tier, &test.arguments, test.times.as_deref())
        }
        Command::TimeTest { command } => return times::one(&command),
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
                    soak::in_namespaces(hours, soak.express, &directory)
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
        Command::Mutants(mutants) => Err(build::become_mutants(&mutants.words())),
        Command::Dashboards(dashboards) => {
            let directory = dashboards.out.unwrap_or_else(build::root);
            dashboards::write(&directory, dashboards.book.trim_end_matches('/'))
        }
        Command::Book => {
            let directory = build::target_directory().join("book");
            println!("{}", book::render(&directory, false)?.display());
            Ok(())
        }
        Command::Figures(figures) => {
            let directory = figures
                .out
                .unwrap_or_else(|| build::root().join("docs/src/concepts"));
            book::figures(&directory)
        }
        Command::Dist(arguments) => dist::run(&arguments),
        Command::Image(image) => dist::image::run(&image),
        Command::Wheel(setup) => wheel::run_wheel(setup.no_install),
        Command::Deny(arguments) => return deny::run(arguments.advisories),
        Command::CleanNet(clean) => {
            root::require("cargo xtask clean-net")?;
            clean_net::run(clean.prefix.as_deref())
        }
    }
    .map(|()| ExitCode::SUCCESS)
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
