//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::target::{PinPlace, Target};

/// Looks at and after Weir switches.
#[derive(Debug, Parser)]
#[command(
    name = "switchctl",
    version,
    after_help = "Exit status: 0 all is well; 1 what was asked about is bad or does not exist; 2 wrong command line; \
                  3 no daemon answers.\n\n\
                  Examples:\n  \
                  switchctl status\n  \
                  switchctl --name s1 pfc\n  \
                  switchctl events --follow\n  \
                  switchctl --json deadlock | jq '.past[0]'\n  \
                  switchctl config check /etc/weir/s1.toml\n  \
                  ssh leaf1 switchctl ports"
)]
pub struct Cli {
    /// Which daemon to ask.
    #[command(flatten)]
    pub target: Target,
    /// Print JSON instead of tables.
    #[arg(long, global = true)]
    pub json: bool,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// The switch as a whole: state, load, losses, memory.
    Status,
    /// Every port: link, traffic, drops by reason.
    Ports,
    /// Buffers and backlogs by port and priority.
    Queues {
        /// Also those that never saw a frame.
        #[arg(long)]
        all: bool,
    },
    /// Priority flow control: thresholds, who pauses whom, for how long.
    Pfc,
    /// Deadlock suspicions, current and past.
    Deadlock,
    /// What happened, oldest first.
    Events {
        /// Go on as things happen, until Ctrl-C.
        #[arg(long, short)]
        follow: bool,
        /// Only events after this number.
        #[arg(long, value_name = "SEQUENCE", default_value_t = 0)]
        after: u64,
    },
    /// Look at configuration files.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Look at the kernel side: XDP programs, their maps and links. Works without a daemon.
    #[command(subcommand)]
    Xdp(XdpCommand),
}

/// `switchctl config …`.
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Check a daemon's configuration without starting anything.
    Check {
        /// The file.
        file: PathBuf,
    },
}

/// `switchctl xdp …`.
#[derive(Debug, Subcommand)]
pub enum XdpCommand {
    /// What is attached where, and what it counted.
    Status {
        /// Where the pins are.
        #[command(flatten)]
        place: Pins,
    },
    /// Detach programs that a daemon left behind, and remove their pins.
    Detach {
        /// Where the pins are.
        #[command(flatten)]
        place: Pins,
        /// Ports to detach.
        #[arg(required_unless_present = "all")]
        ports: Vec<String>,
        /// All of them.
        #[arg(long, conflicts_with = "ports")]
        all: bool,
    },
}

/// Where the pins are.
#[derive(Debug, Args)]
pub struct Pins {
    /// Run directory of the daemon, such as /run/weir/s1. Default: the only one under /run/weir.
    #[arg(long, value_name = "DIR")]
    run_dir: Option<PathBuf>,
}

impl Pins {
    /// The run directory that is meant.
    ///
    /// # Errors
    ///
    /// When there is none, or more than one to choose from.
    pub fn directory(&self) -> anyhow::Result<PinPlace> {
        PinPlace::find(self.run_dir.as_deref())
    }
}
