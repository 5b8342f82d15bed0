//! `switchctl pfcwd` as it is written.

use clap::{Subcommand, ValueEnum};

/// `switchctl pfcwd …`.
#[derive(Debug, Subcommand)]
pub enum PfcwdCommand {
    /// What is watched, and what was found.
    #[command(subcommand)]
    Show(PfcwdShow),
    /// Watch ports for PFC storms from now on, in this way; `all` means every port.
    #[command(after_help = "\
A neighbour that holds a lossless queue for DETECTION_TIME, with frames waiting and none leaving, stalls it.
A host that does so makes a storm. A switch does only when it is known (by LLDP, or `neighbour =
\"regular\"`) not to tell storms from loops itself. The change lasts until the daemon ends; `[pfcwd]` in its
file is for good.

Examples:
  switchctl pfcwd start --action drop all 400 --restoration-time 400
  switchctl pfcwd start --action alert h1 h2 200")]
    Start {
        /// While a storm lasts: drop what is for the queue, ignore the pause, or only tell.
        #[arg(long, short, value_enum, default_value_t = PfcwdAction::Drop)]
        action: PfcwdAction,
        /// A storm is over after this long without a pause. Default: twice DETECTION_TIME.
        #[arg(long, short, value_name = "MILLISECONDS",
              value_parser = clap::value_parser!(u64).range(100..=60_000))]
        restoration_time: Option<u64>,
        /// Ports, or `all`.
        #[arg(value_name = "PORT", required = true, num_args = 1..)]
        ports: Vec<String>,
        /// In milliseconds.
        #[arg(required = true, value_parser = clap::value_parser!(u64).range(100..=5_000))]
        detection_time: u64,
    },
    /// Watch every port with SONiC's default: drop, 200 ms, 200 ms.
    #[command(
        name = "start_default",
        after_help = "\
Example:
  switchctl pfcwd start_default"
    )]
    StartDefault,
    /// Watch ports no longer, and end their storms; every port without a name.
    #[command(after_help = "\
Example:
  switchctl pfcwd stop h1")]
    Stop {
        /// Ports.
        #[arg(value_name = "PORT")]
        ports: Vec<String>,
    },
}

/// `switchctl pfcwd show …`.
#[derive(Debug, Subcommand)]
pub enum PfcwdShow {
    /// Times and action of each port.
    #[command(after_help = "\
Example:
  switchctl pfcwd show config")]
    Config {
        /// Only these.
        #[arg(value_name = "PORT")]
        ports: Vec<String>,
    },
    /// Storms of each queue, `PORT:PRIORITY`.
    #[command(after_help = "\
`tx ok` left while a storm's pause was ignored, `drop` was dropped because of a storm.

Examples:
  switchctl pfcwd show stats
  switchctl --json pfcwd show stats | jq -r '.[] | select(.status == \"stormed\") | .port'")]
    Stats {
        /// Only these.
        #[arg(value_name = "PORT")]
        ports: Vec<String>,
        /// Also queues that never saw a storm.
        #[arg(long, short)]
        empty: bool,
    },
}

/// What is done about a storm.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum PfcwdAction {
    /// Drop what waits and what arrives.
    Drop,
    /// Ignore the pause.
    Forward,
    /// Tell.
    Alert,
}

impl PfcwdAction {
    /// Its name in the API.
    pub fn name(self) -> &'static str {
        match self {
            Self::Drop => "drop",
            Self::Forward => "forward",
            Self::Alert => "alert",
        }
    }
}
