//! The command line.

mod search;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use weir_config::scenario::Transport;
use weir_config::{Fraction, Override};
use weir_core::{Bytes, Duration, FeedbackCoding, MarkAt};
use weir_sim::fairness::Topology;
use weir_sim::sweep::Shard;

use crate::import::{ChakraArguments, CHAKRA_HELP};

pub use search::{SearchArguments, WideMode};

/// Run scenario files in virtual time, with the switch core of weir-switchd and simulated hosts and links. The same file and
/// seed give the same result, byte for byte, on any machine.
#[derive(Debug, Parser)]
#[command(
    version,
    max_term_width = 80,
    after_help = "Exit status: 0 all expectations held, 1 an expectation failed, 2 invalid file or command \
                  line, 3 the run failed."
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run one scenario and check its expectations.
    #[command(after_help = RUN_HELP)]
    Run(RunArguments),
    /// Run one scenario many times, on all cores, with different values and seeds.
    ///
    /// FILE is a sweep file, whose results become Parquet files, or a scenario file, whose runs are given by `--over` and
    /// `--seeds` and whose results are printed.
    #[command(after_help = SWEEP_HELP)]
    Sweep(SweepArguments),
    /// Convert files of another simulator; print the scenario file.
    #[command(after_help = IMPORT_HELP)]
    Import(ImportArguments),
    /// Compare two results, such as one of the lab and one of the simulator.
    #[command(after_help = COMPARE_HELP)]
    Compare(CompareArguments),
    /// Test Theorem 1 of protocol P on random networks, on all cores: no frame lost, reordered or stuck.
    #[command(after_help = search::SEARCH_HELP)]
    Search(SearchArguments),
    /// Compare Levels with PFC and the Deadlock Breaker in the same networks: waiting times and throughput.
    #[command(after_help = FAIRNESS_HELP)]
    Fairness(FairnessArguments),
    /// Reproduce a figure of a paper, with the paper's numbers next to the measured ones, or compare the costs of ways to
    /// live with credit loops.
    #[command(after_help = REPRODUCE_HELP)]
    Reproduce(ReproduceArguments),
}

const RUN_HELP: &str = "\
Examples:
  weir-sim run scenarios/ring4.toml
  weir-sim run scenarios/ring4.toml --set deadlock.policy=breaker --svg ring4.svg
  weir-sim run scenarios/ring4.toml --set deadlock.policy=breaker --html ring4.html
  weir-sim run scenarios/ring4.toml --set deadlock.policy=breaker \\
    --perfetto ring4.pftrace
  weir-sim run scenarios/fat-tree.toml --seed 7 --until 2ms
  weir-sim run scenarios/fat-tree.toml --threads 2
  weir-sim run scenarios/workload.toml --set traffic.0.sizes=web-search \\
    --slowdown slowdown.svg";

const SWEEP_HELP: &str = "\
A finished run is not run again: the same command continues an interrupted
sweep. A run that fails is a row with its error. The same runs give the
same files, byte for byte.

Examples:
  weir-sim sweep scenarios/sweeps/ring4.toml --list
  weir-sim sweep scenarios/sweeps/ring4.toml --out sweep-ring4
  weir-sim sweep scenarios/sweeps/ring4.toml --out sweep-ring4 --shard 0/10
  weir-sim sweep scenarios/ring4.toml --over deadlock.policy=off,breaker,auto \\
    --seeds 20

Exit status: 0 all runs are in the files, with any result; 1 an
expectation of a scenario file with --over failed; 2 invalid file or command
line; 3 failed; 130 interrupted.";

const IMPORT_HELP: &str = "\
Examples:
  weir-sim import hpcc --topology fat.txt --flow flow.txt > fat.toml
  weir-sim run fat.toml
  weir-sim import chakra --trace step --network fabric.toml > step.toml
  weir-sim run step.toml";

const HPCC_HELP: &str = "\
Read are HPCC's own formats: the numbers of nodes, switches and links, the
switches, and `src dst rate delay error_rate` of each link; the number of flows,
and `src dst pg dport size start_time` of each. Priority group N becomes a class
pgN with PFC and marking for DCQCN. Flows begin as long after each other as
there, the first one at once. Features that a scenario lacks are refused, with
the line and a remedy.

Examples:
  weir-sim import hpcc --topology fat.txt --flow flow.txt > fat.toml
  weir-sim import hpcc --topology fat.txt --flow flow.txt --trace trace.txt \\
    --payload 4000B --duration 50ms > fat.toml";

const COMPARE_HELP: &str = "\
Example:
  cargo xtask lab scenarios/ring4.toml --json lab.json
  weir-sim run scenarios/ring4.toml --json sim.json
  weir-sim compare lab.json sim.json";

const FAIRNESS_HELP: &str = "\
Each network runs once under PFC with the Deadlock Breaker, and once under
Levels with each T and coding. Traffic is a permutation and two more random
flows per host, all endless, on links of 1 Gbit/s. No flow may wait longer for a
frame than five times the longest wait under PFC plus one refresh, and at least
95 % as much must be delivered. If the waits under PFC are so long that the
bound means nothing, the run is extended, up to eight times.

Examples:
  weir-sim fairness --json fairness.json --markdown fairness.md
  weir-sim fairness --topology torus-5x5 --seeds 0..9 --round-trip 100us \\
    --coding pfc
  weir-sim fairness --long-lines --round-trip 1ms --round-trip 10ms";

const REPRODUCE_HELP: &str = "\
Examples:
  weir-sim reproduce clcm-fig5 --out crates/results/
  weir-sim reproduce calculus-fig8 --initial-alpha 1
  weir-sim reproduce ndp-fig14 --out crates/results/
  weir-sim reproduce credit-loops --k 4,8 --failed 10,20,30 --networks 100";

/// A scenario and its overrides.
#[derive(Debug, Args)]
pub struct Source {
    /// The scenario file.
    pub file: PathBuf,
    /// Override a value of the file: deadlock.policy=breaker, class.lossless.xoff=30KiB. Repeat it for several.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub overrides: Vec<Override>,
    /// Virtual time after which traffic ends, such as 2ms. Default: the file's duration.
    #[arg(long, value_name = "TIME")]
    pub until: Option<String>,
}

const THREADS_MAX: i64 = 1024;

#[derive(Debug, Args)]
pub struct RunArguments {
    #[command(flatten)]
    pub source: Source,
    /// Seed of all randomness. Default: the file's.
    #[arg(long)]
    pub seed: Option<u64>,
    /// Run on N threads, at most one for each switch: the result is the same, byte for byte. Faster only in networks of
    /// hundreds of busy switches.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=THREADS_MAX))]
    pub threads: u16,
    /// Write the whole result as JSON, `-` for standard output.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Draw throughput and buffers over time.
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Draw slowdown over flow size: p50, p95 and p99.
    #[arg(long, value_name = "FILE")]
    pub slowdown: Option<PathBuf>,
    /// Write the run as one page for a browser: pauses and their causes, curves, deadlocks, flows and buffers.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write the run as a trace for Perfetto (ui.perfetto.dev): pauses, queues, suspicions, CLCM and releases of every port,
    /// and arrows from each pause to those that it caused.
    #[arg(long, value_name = "FILE")]
    pub perfetto: Option<PathBuf>,
    /// Show current pauses and arrivals while the run proceeds.
    #[arg(long, conflicts_with = "quiet")]
    pub watch: bool,
    /// Print no progress.
    #[arg(long)]
    pub quiet: bool,
}

#[derive(Debug, Args)]
pub struct SweepArguments {
    #[command(flatten)]
    pub source: Source,
    /// Scenario file: a key and its values: deadlock.policy=off,breaker. Repeat it for several.
    #[arg(long = "over", value_name = "PATH=VALUE,VALUE")]
    pub over: Vec<String>,
    /// Scenario file: number of seeds, starting with the file's. Default: 1.
    #[arg(long)]
    pub seeds: Option<u64>,
    /// Scenario file: write all results as JSON.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Sweep file: list the runs without running any.
    #[arg(long, visible_alias = "dry-run", conflicts_with_all = ["check", "out"])]
    pub list: bool,
    /// Sweep file: check the scenario of every run without running any.
    #[arg(long, conflicts_with = "out")]
    pub check: bool,
    /// Sweep file: run only the I-th of N parts, counted from 0.
    #[arg(long, value_name = "I/N")]
    pub shard: Option<Shard>,
    /// Sweep file: directory for results. Default: sweep- and the sweep's name.
    #[arg(long, value_name = "DIRECTORY")]
    pub out: Option<PathBuf>,
    /// Parallel runs. Default: one for each core.
    #[arg(long)]
    pub jobs: Option<usize>,
    /// Print no progress.
    #[arg(long)]
    pub quiet: bool,
}

#[derive(Debug, Args)]
pub struct ImportArguments {
    #[command(subcommand)]
    pub format: ImportFormat,
}

#[derive(Debug, Subcommand)]
pub enum ImportFormat {
    /// Topology, flow and trace files of HPCC's simulator.
    #[command(after_help = HPCC_HELP)]
    Hpcc(HpccArguments),
    /// Execution traces of chakra, as ASTRA-sim runs them: one file for each rank.
    #[command(after_help = CHAKRA_HELP)]
    Chakra(ChakraArguments),
}

#[derive(Debug, Args)]
pub struct HpccArguments {
    /// HPCC's TOPOLOGY_FILE.
    #[arg(long, value_name = "FILE")]
    pub topology: PathBuf,
    /// HPCC's FLOW_FILE.
    #[arg(long, value_name = "FILE")]
    pub flow: PathBuf,
    /// HPCC's TRACE_FILE: its nodes are checked, and named in a comment.
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// The scenario's name.
    #[arg(long, default_value = "hpcc")]
    pub name: String,
    /// HPCC's PACKET_PAYLOAD_SIZE: payload bytes in a frame.
    #[arg(long, default_value = "1000B", value_name = "SIZE", value_parser = weir_config::units::parse_size)]
    pub payload: Bytes,
    /// Bytes of headers in a frame. Default: HPCC's, without FCS: 48B, or 90B with telemetry under --transport hpcc.
    #[arg(long, value_name = "SIZE", value_parser = weir_config::units::parse_size)]
    pub header: Option<Bytes>,
    #[command(flatten)]
    pub control: ControlArguments,
    /// Duration of traffic. Default: the last start, plus twice the time that the busiest host's line needs for all flows.
    #[arg(long, value_name = "TIME", value_parser = weir_config::units::parse_duration)]
    pub duration: Option<Duration>,
}

/// Options for all importers of flows.
#[derive(Debug, Args)]
pub struct ControlArguments {
    /// Congestion control of flows: open, dcqcn, tahoe, reno, vegas, dctcp, timely, swift, hpcc.
    #[arg(long, default_value = "dcqcn", value_parser = parse_transport)]
    pub transport: Transport,
}

fn parse_transport(name: &str) -> Result<Transport, String> {
    let mut named = Transport::NAMED.into_iter();
    let found = named.find(|(known, _)| *known == name);
    let found = found.map(|(_, transport)| transport);
    found.ok_or_else(|| {
        let names = Transport::NAMED.map(|(name, _)| name);
        format!("write one of {}", names.join(", "))
    })
}

#[derive(Debug, Args)]
pub struct CompareArguments {
    /// The first result.
    pub a: PathBuf,
    /// The second result; its rates are relative to the first one's.
    pub b: PathBuf,
    /// Tolerance of rates, in percent.
    #[arg(long, default_value_t = 10.0, value_name = "PERCENT")]
    pub tolerance: f64,
}

#[derive(Debug, Args)]
pub struct FairnessArguments {
    /// A network: torus-5x5, torus-4x4x4, ring-8, regular-20x4 (switches x degree), fat-tree-4. Repeat it for several.
    /// Default: all of the book's tables.
    #[arg(long = "topology", value_name = "NAME")]
    pub topologies: Vec<Topology>,
    /// First and last seed.
    #[arg(long, default_value = "0..9", value_name = "FIRST..LAST", value_parser = parse_seeds)]
    pub seeds: std::ops::Range<u64>,
    /// T. Repeat it for several. Default: 10us, 100us, 1ms and 10ms.
    #[arg(long = "round-trip", value_name = "TIME", value_parser = weir_config::units::parse_duration)]
    pub round_trips: Vec<Duration>,
    /// Coding of Feedback: pfc, pause or grants. Repeat it for several. Default: all.
    #[arg(long = "coding", value_name = "CODING")]
    pub codings: Vec<Coding>,
    /// Minimum duration of traffic.
    #[arg(long, default_value = "80ms", value_name = "TIME", value_parser = weir_config::units::parse_duration)]
    pub duration: Duration,
    /// Make the delay of links match T, instead of 1 us.
    #[arg(long)]
    pub long_lines: bool,
    /// Parallel runs. Default: one for each core.
    #[arg(long)]
    pub threads: Option<usize>,
    /// Write all comparisons as JSON, `-` for standard output.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write the table as Markdown.
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
    /// Print no progress.
    #[arg(long)]
    pub quiet: bool,
}

/// Parses a coding by its name.
#[derive(Clone, Copy, Debug)]
pub struct Coding(pub FeedbackCoding);

impl std::str::FromStr for Coding {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let known = FeedbackCoding::ALL
            .into_iter()
            .find(|coding| coding.name() == name);
        let known = known.map(Self);
        known.ok_or_else(|| format!("`{name}`: write pfc, pause or grants"))
    }
}

/// Parses `3..7`, last one included, or `3` alone.
fn parse_seeds(text: &str) -> Result<std::ops::Range<u64>, String> {
    let wrong = |_| format!("`{text}`: write FIRST..LAST, such as 0..9");
    let (first, last) = text.split_once("..").unwrap_or((text, text));
    let (first, last): (u64, u64) = (first.parse().map_err(wrong)?, last.parse().map_err(wrong)?);
    if last < first || last == u64::MAX {
        return Err(format!("`{text}`: the last seed comes before the first"));
    }
    Ok(first..last + 1)
}

#[derive(Debug, Args)]
pub struct ReproduceArguments {
    /// Figure to reproduce.
    pub figure: Figure,
    /// Write pictures, table and numbers into this directory.
    #[arg(long, value_name = "DIRECTORY")]
    pub out: Option<PathBuf>,
    /// Calculus paper: initial α of DCQCN flows, from 0 to 1.
    #[arg(long, default_value = "0.5", value_name = "ALPHA", value_parser = weir_config::fraction::parse_fraction)]
    pub initial_alpha: Fraction,
    /// Calculus paper: every notification sets the target rate.
    #[arg(long)]
    pub clamp_target: bool,
    /// Calculus paper: when switches mark frames.
    #[arg(long, value_enum, default_value = "departure", value_name = "WHEN")]
    pub mark_at: MarkMoment,
    /// Credit loops: fat trees of these k.
    #[arg(long, value_name = "K,K", value_delimiter = ',', default_value = "32", value_parser = clap::value_parser!(u16).range(2..=64))]
    pub k: Vec<u16>,
    /// Credit loops: failed links between switches, in percent.
    #[arg(long, value_name = "PERCENT,PERCENT", value_delimiter = ',', default_value = "1,2,3,4,5", value_parser = clap::value_parser!(u32).range(0..=90))]
    pub failed: Vec<u32>,
    /// Credit loops: number of networks for each k and rate; seeds start at --first.
    #[arg(long, value_name = "COUNT", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(0..=1_000_000))]
    pub networks: u64,
    /// Credit loops: add the numbers of a credit-loops.json with other seeds, for example of an interrupted campaign. Repeat
    /// it for several.
    #[arg(long, value_name = "FILE")]
    pub add: Vec<PathBuf>,
    /// Credit loops: the first seed.
    #[arg(long, value_name = "SEED", default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=1 << 62))]
    pub first: u64,
    /// Parallel networks of credit loops, or threads of a run for HPCC's and the NDP paper. Default: one for each core.
    #[arg(long)]
    pub jobs: Option<usize>,
    /// Print no progress.
    #[arg(long)]
    pub quiet: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Figure {
    /// CLCM paper, Figure 5: a ring locks, one switch is elected and reroutes. Takes seconds.
    ClcmFig5,
    /// CLCM paper, Figure 7: a miswired fat tree with and without the Deadlock Breaker. Takes seconds.
    ClcmFig7,
    /// Costs of each remedy in throughput and buffers, on three networks. Takes a minute or two.
    Baselines,
    /// Pictures of the book's concepts: a ring that locks, each remedy, and one buffer's headroom. Takes a second.
    Concepts,
    /// Frequency of credit loops closed by routes in fat trees with failed links: the CLCM paper's question at scale.
    CreditLoops,
    /// "Network Calculus Characterization of Congestion Control", Figure 7: a burst of 31 senders, 10 ms.
    CalculusFig7,
    /// Its Figure 8: the first 400 µs.
    CalculusFig8,
    /// Influence of the initial α, of clamping the target rate, and of the moment of marking on Figure 7.
    CalculusDependence,
    /// HPCC paper, Figure 11(c): slowdown of a Hadoop cluster's flows, next to the numbers of HPCC's simulator. Takes
    /// minutes.
    HpccFig11c,
    /// NDP paper, Figure 14: a permutation over a fat tree, next to the numbers of htsim. Takes a minute.
    NdpFig14,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum MarkMoment {
    /// On admission.
    Arrival,
    /// On departure.
    Departure,
}

impl From<MarkMoment> for MarkAt {
    fn from(moment: MarkMoment) -> Self {
        match moment {
            MarkMoment::Arrival => Self::Arrival,
            MarkMoment::Departure => Self::Departure,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Cli;
    use clap::CommandFactory;

    #[test]
    fn is_sound() {
        Cli::command().debug_assert();
    }
}
