//! Arguments of `weir-sim search`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

pub const SEARCH_HELP: &str = "\
Each seed is a network of 2 to 10 switches with random links, routes, buffers
and traffic. The same seeds are run under plain PFC with as much memory, where
some must deadlock: a search that finds no deadlock there proves nothing.

Examples:
  weir-sim search --networks 10000
  weir-sim search --networks 10000 --faults
  weir-sim search --first 4711 --networks 1
  weir-sim search --wide --networks 10000
  weir-sim search --wide --mode pfc-breaker --networks 10000
  weir-sim search --harm --networks 100000";

#[derive(Debug, Args)]
pub struct SearchArguments {
    /// Number of networks.
    #[arg(long, default_value_t = 1000)]
    pub networks: u64,
    /// Seed of the first network.
    #[arg(long, default_value_t = 0)]
    pub first: u64,
    /// Inject faults of links, switches, hosts and control frames while traffic is offered.
    #[arg(long)]
    pub faults: bool,
    /// Use wide ranges, and check during traffic that no flow with frames is left waiting.
    #[arg(long, conflicts_with = "faults")]
    pub wide: bool,
    /// Use trees of switches with an incident at one host, port or link: no other traffic may be harmed.
    #[arg(long, conflicts_with_all = ["faults", "wide"])]
    pub harm: bool,
    /// Wide networks: protocol under test.
    #[arg(long, value_enum, default_value = "level", requires = "wide")]
    pub mode: WideMode,
    /// Wide networks: directory for findings, shrunk to small scenario files.
    #[arg(
        long,
        value_name = "DIRECTORY",
        default_value = "search-findings",
        requires = "wide"
    )]
    pub findings: PathBuf,
    /// Wide networks: maximum number of findings to shrink.
    #[arg(long, value_name = "COUNT", default_value_t = 3, requires = "wide")]
    pub shrink: usize,
    /// Parallel runs. Default: one for each core.
    #[arg(long, visible_alias = "threads")]
    pub jobs: Option<usize>,
    /// Write the totals as JSON, `-` for standard output.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Print no progress.
    #[arg(long)]
    pub quiet: bool,
}

/// Protocols of wide networks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum WideMode {
    /// Levels.
    Level,
    /// PFC with the Deadlock Breaker.
    PfcBreaker,
    /// Plain PFC, which deadlocks: if a search finds nothing there, it proves nothing.
    Pfc,
}
