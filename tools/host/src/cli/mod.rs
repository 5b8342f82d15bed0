//! The command line of `weir-host`.

mod obey;
mod push_back;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use weir_config::units::{parse_duration, parse_rate};
use weir_core::{BitRate, Priority};
use weir_output::generated::Generated;
use weir_output::manual::Manual;

use crate::attach::Drain;
use crate::device::Device;
use crate::error::Error;

pub use obey::{AttachArguments, ObeyArguments, PlugArguments};
pub use push_back::PushBackArguments;

/// Text of the manual pages besides the command line.
pub const MANUAL: Manual = Manual {
    section: "1",
    files: &[],
    environment: &[],
    see_also: &["switchctl(1)", "weir-switchd(8)", "tc(8)", "lldpad(8)"],
};

/// Make Linux network devices obey PFC and PAUSE.
///
/// A BPF queueing discipline holds the frames of a paused priority until XON, or until the pause expires. Sockets see
/// backpressure, and nothing is dropped. Once attached, nothing keeps running: there is no daemon and no polling.
#[derive(Debug, Parser)]
#[command(
    name = "weir-host",
    version,
    max_term_width = 80,
    arg_required_else_help = true,
    after_help = "\
Needs Linux 6.16 or newer with CONFIG_NET_SCH_BPF, and root (CAP_NET_ADMIN,
CAP_BPF, CAP_PERFMON).

XOFF is not immediate: frames already queued in the driver are still sent.
`weir-host measure` reports how many; the switch's headroom must cover them.

Examples:
  weir-host attach eth1
  weir-host attach eth1 --rate 10Gbit --obey 3 --udp 4791=3 --share 3=4
  weir-host status
  weir-host detach eth1

Exit status: 0 success, 1 failure (the reason is on standard error), 2 invalid
command line."
)]
pub struct Cli {
    /// Print JSON instead of tables.
    #[arg(long, global = true)]
    pub json: bool,
    /// Command to run.
    #[command(subcommand)]
    pub command: Command,
}

/// Command to run.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make a device obey pauses, or change the settings of an attached one.
    #[command(after_help = "\
An attached device is drained, detached and attached again. If `attach` is
killed, run `attach` or `detach` again: both clean up.

Examples:
  weir-host attach eth1
  weir-host attach eth1 --priorities dscp --obey 3,4
  weir-host attach eth1 --udp 4791=3        # RoCEv2 has no socket priority")]
    Attach(AttachArguments),
    /// Obey pauses on kernels without BPF queueing disciplines, while it runs.
    #[command(after_help = "\
Makes `prio` the root, with a `plug` for each priority: higher priorities go
first. --udp and --priorities dscp or vlan need CONFIG_NET_CLS_FLOWER. A pause
takes effect when this process has read it, so more frames follow XOFF than with
`attach`. `status`, `counters` and `metrics` show it while it runs.

On Ctrl-C or SIGTERM new frames are refused, the queue drains, and everything is
removed; counters are printed. If the process that obeys pauses is killed, its
parent removes the queue, and the other way round. If both are killed, run
`weir-host detach`.

Examples:
  weir-host plug eth1 --obey 3 --udp 4791=3
  weir-host plug eth1 --rate 10Gbit --drain 30s")]
    Plug(PlugArguments),
    /// Pause the switch while UDP sockets are nearly full; runs until stopped.
    PushBack(PushBackArguments),
    /// Restore a device: drain its queue, then remove everything.
    #[command(after_help = "\
New frames are refused while the queue drains; TCP retransmits them. The kernel
drops frames sent at the moment a queueing discipline is replaced.

Examples:
  weir-host detach eth1
  weir-host detach eth1 --drain 30s")]
    Detach {
        /// The network device.
        device: String,
        /// Settings of the drain.
        #[command(flatten)]
        drain: DrainArguments,
    },
    /// Show attached devices: paused priorities and queued frames.
    #[command(after_help = "\
Exit status 1: the device is not attached, or a part is missing.

Examples:
  weir-host status
  weir-host --json status eth1 | jq '.[0].priorities[3].paused_for_ns'")]
    Status {
        /// The network device [default: all attached devices].
        device: Option<String>,
    },
    /// Show all counters of a device.
    #[command(after_help = "\
Example:
  weir-host counters eth1")]
    Counters {
        /// The network device.
        device: String,
    },
    /// Print the counters of all attached devices for Prometheus.
    #[command(after_help = "\
For node_exporter's textfile collector, from a timer:
  weir-host metrics --out /var/lib/prometheus/node-exporter/weir_host.prom")]
    Metrics {
        /// Replace this file atomically, instead of printing.
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Measure how much a neighbour still sends after XOFF.
    Measure(MeasureArguments),
    /// Commands that print generated files.
    #[command(flatten)]
    Generated(Generated),
}

/// Settings of the drain.
#[derive(Clone, Copy, Debug, Args)]
pub struct DrainArguments {
    /// Time limit for draining the queue while it is paused.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = parse_span)]
    drain: Duration,
    /// Drop the frames left after that time, instead of staying attached.
    #[arg(long)]
    force: bool,
}

impl DrainArguments {
    /// Converts the options to the library's settings.
    pub fn drain(self) -> Drain {
        Drain {
            limit: self.drain,
            force: self.force,
        }
    }
}

/// Settings of a measurement.
#[derive(Debug, Args)]
#[command(after_help = "\
Run it at both ends of a link: the host sends, and the future switch pauses it,
before its daemon is started.
  host:    weir-host attach eth1 --rate 10Gbit
           weir-host measure eth1 --load --priority 3 --for 60s
  switch:  weir-host measure swp1 --priority 3 --rate 10Gbit

Frames and bytes after XOFF are counted from just before XOFF is handed to the
kernel. They include the round trip, and are the headroom this link needs.")]
pub struct MeasureArguments {
    /// The network device.
    pub device: String,
    /// Generate load that the other end pauses, instead of pausing.
    #[arg(long, conflicts_with_all = ["pauses", "any"])]
    pub load: bool,
    /// The priority.
    #[arg(long, default_value = "0", value_parser = parse_priority)]
    pub priority: Priority,
    /// With --load: duration.
    #[arg(long = "for", value_name = "TIME", default_value = "10s", value_parser = parse_span)]
    pub span: Duration,
    /// With --load: frame length, without FCS.
    #[arg(long, value_name = "BYTES", default_value = "1514",
          value_parser = clap::value_parser!(u16).range(60..=9018))]
    pub length: u16,
    /// Number of pauses.
    #[arg(long, default_value = "100", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub pauses: u32,
    /// Duration of each pause.
    #[arg(long, value_name = "TIME", default_value = "20ms", value_parser = parse_span)]
    pub paused: Duration,
    /// Time between pauses, in which the neighbour sends.
    #[arg(long, value_name = "TIME", default_value = "20ms", value_parser = parse_span)]
    pub between: Duration,
    /// The link's rate [default: the device's].
    #[arg(long, value_parser = parse_rate)]
    pub rate: Option<BitRate>,
    /// Count all frames, not only those of --load, to measure with applications. No other priority may send meanwhile.
    #[arg(long)]
    pub any: bool,
}

fn parse_priority(text: &str) -> Result<Priority, String> {
    let number = text.trim().parse().ok().and_then(Priority::new);
    number.ok_or_else(|| format!("invalid priority `{text}`; valid are 0 to 7"))
}

fn parse_span(text: &str) -> Result<Duration, String> {
    let span = parse_duration(text).map_err(|error| error.to_string())?;
    Ok(Duration::from_nanos(span.as_nanos()))
}

/// Returns the rate from the command line, or the device's.
///
/// # Errors
///
/// When both are unknown.
pub fn rate(given: Option<BitRate>, device: &Device) -> Result<BitRate, Error> {
    given
        .or_else(|| device.rate())
        .ok_or_else(|| Error::NoRate {
            device: device.name.clone(),
        })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }
}
