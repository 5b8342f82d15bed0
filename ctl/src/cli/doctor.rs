//! The command line of `switchctl doctor`.

use std::path::PathBuf;

use clap::Args;

pub const HELP: &str = "\
Each line is `ok`, `note` or `problem`; below a problem is the command or the
setting that mends it. Run it in the network namespace of the devices, before
the switch starts or while it runs. Without DEVICE, the ports of the
configuration are checked; without --config, that of the service
(/etc/weir/NAME.toml with --name, else /etc/weir/switchd.toml), and without
that the ports of the running switch. Without root some checks cannot be made;
they are notes.

Exit status: 0 without a problem, 1 with problems, 2 for an invalid command line
or configuration.

Examples:
  switchctl doctor
  switchctl doctor eth0 eth1
  switchctl doctor --config /etc/weir/s1.toml --report s1-report.json
  switchctl --json doctor eth0 | jq -r '.[].remedy.command // empty'";

/// `switchctl doctor`.
#[derive(Debug, Args)]
pub struct DoctorArguments {
    /// Devices to check.
    #[arg(value_name = "DEVICE")]
    pub devices: Vec<String>,
    /// The switch's configuration file.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Also write everything that was read, the configuration included, into this file as JSON.
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
}
