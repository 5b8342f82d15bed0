//! The command line of `switchctl port`.

use clap::Subcommand;

use super::complete;

/// `switchctl port …`.
#[derive(Debug, Subcommand)]
pub enum PortCommand {
    /// Attach a port's device again, after `port remove`.
    #[command(after_help = "\
If the device is missing, the port attaches it as soon as it appears; this is
automatic unless the port was removed. Other ports forward meanwhile without
loss. To create a new port, add it to the configuration file and run `switchctl
restart`.

Exit status: 0 when the port has its device, 1 when it waits for it.

Example:
  switchctl port add h1")]
    Add {
        /// The port.
        #[arg(value_name = "PORT", add = complete::ports())]
        port: String,
    },
    /// Release a port's device, until `port add` or a restart.
    #[command(after_help = "\
The XDP program is detached and the sockets are closed: the device is free for
others. Frames that wait for the port, and new frames for it, are dropped as
`port_down`. Other ports forward meanwhile without loss.

Example:
  switchctl port remove h1")]
    Remove {
        /// The port.
        #[arg(value_name = "PORT", add = complete::ports())]
        port: String,
    },
}
