//! The command line of `switchctl pfcwd`.

use clap::{Args, Subcommand, ValueEnum};
use weir_core::StormAction;

use crate::cli::complete;

/// `switchctl pfcwd …`.
#[derive(Debug, Subcommand)]
pub enum PfcwdCommand {
    /// Watchdog settings and storms.
    #[command(subcommand)]
    Show(PfcwdShow),
    /// The same as `show stats`.
    #[command(after_help = STATS_HELP)]
    Stats(StatsArguments),
    /// Start the watchdog on ports; `all` means every port.
    #[command(after_help = "\
A queue is stalled when the neighbour pauses it for DETECTION_TIME while frames
wait and none is sent. If the neighbour is a host, that is a storm. If it is a
switch, that is a storm only if the switch is known (by LLDP, or `neighbour =
\"regular\"`) not to distinguish storms from loops itself. The change lasts until
the daemon stops; to make it permanent, set `[pfcwd]` in the configuration file.

Examples:
  switchctl pfcwd start --action drop all 400 --restoration-time 400
  switchctl pfcwd start --action alert h1 h2 200")]
    Start {
        /// Action during a storm: drop the queue's frames, ignore the pause, or only report.
        #[arg(long, short, value_enum, default_value_t = PfcwdAction::Drop)]
        action: PfcwdAction,
        /// A storm ends after this long without a pause. Default: twice DETECTION_TIME.
        #[arg(long, short, value_name = "MILLISECONDS",
              value_parser = clap::value_parser!(u64).range(100..=60_000))]
        restoration_time: Option<u64>,
        /// Ports, or `all`.
        #[arg(value_name = "PORT", required = true, num_args = 1.., add = complete::ports_or_all())]
        ports: Vec<String>,
        /// Detection time in milliseconds.
        #[arg(required = true, value_parser = clap::value_parser!(u64).range(100..=5_000))]
        detection_time: u64,
    },
    /// Start the watchdog on every port with SONiC's defaults: drop, 200 ms, 200 ms.
    #[command(
        name = "start_default",
        after_help = "\
Example:
  switchctl pfcwd start_default"
    )]
    StartDefault,
    /// Stop the watchdog on ports and end their storms. Default: every port.
    #[command(after_help = "\
Example:
  switchctl pfcwd stop h1")]
    Stop {
        /// Ports. Default: all.
        #[arg(value_name = "PORT", add = complete::ports())]
        ports: Vec<String>,
    },
}

/// `switchctl pfcwd show …`.
#[derive(Debug, Subcommand)]
pub enum PfcwdShow {
    /// Detection time, restoration time and action of each port.
    #[command(after_help = "\
Example:
  switchctl pfcwd show config")]
    Config {
        /// Only these ports.
        #[arg(value_name = "PORT", add = complete::ports())]
        ports: Vec<String>,
    },
    /// Storms of each queue, `PORT:PRIORITY`.
    #[command(after_help = STATS_HELP)]
    Stats(StatsArguments),
}

const STATS_HELP: &str = "\
As SONiC's `show pfcwd stats`. `tx ok` counts frames sent while a storm's pause
was ignored, `drop` frames dropped because of a storm; `rx ok` counts frames
that the port received in the priority during storms. `last`: during the present
storm, or the last one. There is no `rx drop`: the watchdog of this switch drops
frames by their queue, not by the port that received them.

Examples:
  switchctl pfcwd stats
  switchctl pfcwd stats --empty h1
  switchctl --json pfcwd stats |
    jq -r '.[] | select(.status == \"stormed\") | .port'";

/// Selection of queues.
#[derive(Debug, Args)]
pub struct StatsArguments {
    /// Only these ports.
    #[arg(value_name = "PORT", add = complete::ports())]
    pub ports: Vec<String>,
    /// Include queues that never had a storm.
    #[arg(long, short)]
    pub empty: bool,
}

/// Action during a storm.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum PfcwdAction {
    /// Drop waiting and arriving frames.
    Drop,
    /// Ignore the pause.
    Forward,
    /// Only report.
    Alert,
}

impl From<PfcwdAction> for StormAction {
    fn from(action: PfcwdAction) -> Self {
        match action {
            PfcwdAction::Drop => Self::Drop,
            PfcwdAction::Forward => Self::Forward,
            PfcwdAction::Alert => Self::Alert,
        }
    }
}
