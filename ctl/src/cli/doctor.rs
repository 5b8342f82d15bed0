//! The command line of `switchctl doctor`.

use std::path::PathBuf;

use clap::Args;

use super::complete;

pub const HELP: &str = "\
Each line is `ok`, `note` or `problem`; below a problem is the command or the
setting that fixes it. Run it in the network namespace of the devices, before
the switch starts or while it runs. Without DEVICE, the ports of the
configuration are checked; without --config, that of the service
(/etc/weir/NAME.toml with --name, else /etc/weir/switchd.toml), and without
that the ports of the running switch. Without root some checks cannot be made;
they are notes.

With --loop, the device is also tried: frames of all sizes, with and without
VLAN tags, and PFC frames go to a neighbour that reflects them
(`weir-endpoint reflect DEVICE`, at the other end of the cable), received and
sent as the switch would with its file. Frames that are lost, cut, changed or
out of order, missing tags, and PFC frames that a NIC kept are problems. Other
programs cannot use the device meanwhile; nothing stays attached. Ctrl-C ends
the test and shows the results so far.

Exit status: 0 without a problem, 1 with problems, 2 for an invalid command line
or configuration.

Examples:
  switchctl doctor
  switchctl doctor eth0 eth1
  switchctl doctor --config /etc/weir/s1.toml --report s1-report.json
  switchctl doctor --loop eth0
  switchctl --json doctor eth0 | jq -r '.[].remedy.command // empty'";

/// `switchctl doctor`.
#[derive(Debug, Args)]
pub struct DoctorArguments {
    /// Devices to check.
    #[arg(value_name = "DEVICE", conflicts_with = "tried", add = complete::devices())]
    pub devices: Vec<String>,
    /// Check this device, and test it against a neighbour that reflects frames.
    #[arg(long = "loop", value_name = "DEVICE", add = complete::devices())]
    pub tried: Option<String>,
    /// Time limit of the test, such as 30s [default: 2min].
    #[arg(long, value_name = "TIME", requires = "tried")]
    pub time: Option<String>,
    /// The switch's configuration file.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Also write all collected data, including the configuration, into this file as JSON.
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
}
