//! The command line of `switchctl xdp`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::complete;
use crate::target::{Target, TargetError};

/// `switchctl xdp …`.
#[derive(Debug, Subcommand)]
pub enum XdpCommand {
    /// Attached XDP programs and their counters.
    #[command(after_help = "\
`held by` names the daemon that serves the port; with `nobody` the daemon is
gone but its program is still attached, and every frame gets the port's
fallback. To see the names of devices in a network namespace, run the command
inside it. Needs root.

Examples:
  switchctl --name s1 xdp status
  nsenter --net=/run/netns/s1 switchctl --name s1 xdp status")]
    Status {
        /// Directory of the pins.
        #[command(flatten)]
        place: Pins,
    },
    /// Detach XDP programs that a daemon left behind, and remove their pins.
    #[command(after_help = "\
The kernel receives the device's frames again. A running daemon detaches its
programs itself when it stops; links in use are refused unless --force is given.
Needs root.

Examples:
  switchctl --name s1 xdp detach
  switchctl xdp detach --run-dir /run/weir/s1 s2 s4")]
    Detach {
        /// Directory of the pins.
        #[command(flatten)]
        place: Pins,
        /// Ports to detach. Default: all.
        #[arg(value_name = "PORT", add = complete::pinned_ports())]
        ports: Vec<String>,
        /// All ports, as without PORT.
        #[arg(long, conflicts_with = "ports")]
        all: bool,
        /// Detach even from a running daemon.
        #[arg(long)]
        force: bool,
    },
}

/// Directory of the pins.
#[derive(Debug, Args)]
pub struct Pins {
    /// Run directory of the daemon. Default: that of --name, --socket or $WEIR_SOCKET, else the only one under /run/weir.
    #[arg(long, value_name = "DIR")]
    run_dir: Option<PathBuf>,
    /// Directory with a directory of pins for each port. Default: `bpf` in the run directory.
    #[arg(long, value_name = "DIR")]
    bpf_dir: Option<PathBuf>,
}

impl Pins {
    /// Returns the directory that contains the ports' pin directories.
    ///
    /// # Errors
    ///
    /// When none is selected and there is not exactly one.
    pub fn pins(&self, target: &Target) -> Result<PathBuf, TargetError> {
        target.pins(self.run_dir.as_deref(), self.bpf_dir.as_deref())
    }
}
