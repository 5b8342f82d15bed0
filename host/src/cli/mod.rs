//! The command line of `weir-host`.

mod push_back;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{bail, Context as _};
use clap::{Args, Parser, Subcommand};
use weir_config::units::{parse_duration, parse_rate, parse_size};
use weir_core::{BitRate, Bytes, Priority};
use weir_output::generated::Generated;

use crate::attach::Drain;
use crate::device::Device;
use crate::error::Error;
use crate::plug::Plan;
pub use push_back::PushBackArguments;

use crate::settings::{PortRule, Settings, Source, DSCPS, PORTS_MAX, PRIORITIES};

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
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
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
first. Priorities are sockets' SO_PRIORITY. A pause takes effect when this
process has read it, so more frames follow XOFF than with `attach`.

On Ctrl-C or SIGTERM new frames are refused, the queue drains, and everything is
removed; counters are printed. If the process that obeys pauses is killed, its
parent removes the queue, and the other way round. If both are killed, run
`weir-host detach`.

Examples:
  weir-host plug eth1 --obey 3
  weir-host plug eth1 --rate 10Gbit --drain 30s")]
    Plug(PlugArguments),
    /// Pause the switch while UDP sockets are nearly full, while it runs.
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
        /// How to drain.
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
    /// What the command writes about itself.
    #[command(flatten)]
    Generated(Generated),
}

/// How to attach.
#[derive(Debug, Args)]
pub struct AttachArguments {
    /// The network device.
    pub device: String,
    /// The link's rate, since pauses are in bit times [default: the device's].
    #[arg(long, value_parser = parse_rate)]
    pub rate: Option<BitRate>,
    /// Where a frame's priority comes from.
    #[arg(long, value_enum, default_value = "socket")]
    pub priorities: Source,
    /// The priority of a DSCP, with `--priorities dscp`. Repeatable [default: DSCP ÷ 8].
    #[arg(long = "dscp", value_name = "DSCP=PRIORITY")]
    pub dscp: Vec<String>,
    /// The priority of frames to a UDP port; overrides `--priorities`. Repeatable, up to eight times.
    #[arg(long = "udp", value_name = "PORT=PRIORITY")]
    pub udp: Vec<String>,
    /// Priorities whose pauses are obeyed.
    #[arg(long, value_name = "PRIORITIES", value_delimiter = ',', value_parser = parse_priority,
          default_value = "0,1,2,3,4,5,6,7")]
    pub obey: Vec<Priority>,
    /// Ignore 802.3x PAUSE, which otherwise stops all priorities of `--obey`.
    #[arg(long)]
    pub ignore_pause: bool,
    /// A priority's share of the link under contention, 1 to 1000, relative to the others'. Repeatable [default: 1 for
    /// each].
    #[arg(long = "share", value_name = "PRIORITY=SHARE")]
    pub shares: Vec<String>,
    /// Maximum size of a priority's queue; frames beyond it are dropped. Make it larger than the send buffers of all
    /// its sockets together.
    #[arg(long, value_parser = parse_size, default_value = "64MiB")]
    pub limit: Bytes,
    /// Maximum segments per GSO frame. 1 reacts fastest to XOFF, at the cost of throughput. Detaching restores the
    /// device's value [default: unchanged].
    #[arg(long, value_name = "SEGMENTS", value_parser = clap::value_parser!(u32).range(1..=65535))]
    pub gso_segments: Option<u32>,
    /// Replace a queueing discipline configured by someone else. Detaching does not restore it.
    #[arg(long)]
    pub replace: bool,
    /// How what is attached already is drained.
    #[command(flatten)]
    pub drain: DrainArguments,
}

/// How to obey pauses without BPF.
#[derive(Debug, Args)]
pub struct PlugArguments {
    /// The network device.
    pub device: String,
    /// The link's rate, since pauses are in bit times [default: the device's].
    #[arg(long, value_parser = parse_rate)]
    pub rate: Option<BitRate>,
    /// Priorities whose pauses are obeyed.
    #[arg(long, value_name = "PRIORITIES", value_delimiter = ',', value_parser = parse_priority,
          default_value = "0,1,2,3,4,5,6,7")]
    pub obey: Vec<Priority>,
    /// Ignore 802.3x PAUSE, which otherwise stops all priorities of `--obey`.
    #[arg(long)]
    pub ignore_pause: bool,
    /// Maximum size of a priority's queue; frames beyond it are dropped. Make it larger than the send buffers of all
    /// its sockets together.
    #[arg(long, value_parser = parse_size, default_value = "64MiB")]
    pub limit: Bytes,
    /// Replace a queueing discipline configured by someone else. It is not restored.
    #[arg(long)]
    pub replace: bool,
    /// How long the queue may take to drain at the end. What is still paused then is sent.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = parse_span)]
    drain: Duration,
    /// The process that takes the queue away.
    #[arg(long, hide = true)]
    pub worker_of: Option<i32>,
}

impl PlugArguments {
    /// As the library takes it.
    ///
    /// # Errors
    ///
    /// When the rate is not known.
    pub fn plan(&self, device: &Device) -> Result<Plan, Error> {
        let obeys = |priority: usize| self.obey.iter().any(|one| one.index() == priority);
        Ok(Plan {
            rate: rate(self.rate, device)?,
            obeyed: std::array::from_fn(obeys),
            obeys_global: !self.ignore_pause,
            limit: self.limit,
            replace: self.replace,
            drain: Drain {
                limit: self.drain,
                force: true,
            },
        })
    }
}

/// How to drain.
#[derive(Clone, Copy, Debug, Args)]
pub struct DrainArguments {
    /// How long the queue may take to drain while it is paused.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = parse_span)]
    drain: Duration,
    /// Drop the frames left after that time, instead of staying attached.
    #[arg(long)]
    force: bool,
}

impl DrainArguments {
    /// As the library takes it.
    pub fn drain(self) -> Drain {
        Drain {
            limit: self.drain,
            force: self.force,
        }
    }
}

/// How to measure.
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

/// `KEY=VALUE`, both numbers up to a limit.
fn pair(option: &str, text: &str, key_max: u16, values: (u16, u16)) -> anyhow::Result<(u16, u16)> {
    let read = || {
        let (key, value) = text.split_once('=')?;
        let (key, value) = (key.trim().parse().ok()?, value.trim().parse().ok()?);
        (key <= key_max && (values.0..=values.1).contains(&value)).then_some((key, value))
    };
    read().with_context(|| {
        format!(
            "{option} {text}: expected KEY=VALUE, numbers from 0 to {key_max} and from {} to {}",
            values.0, values.1
        )
    })
}

/// The rate of the command line, or what the device says.
///
/// # Errors
///
/// When neither says it.
pub fn rate(given: Option<BitRate>, device: &Device) -> Result<BitRate, Error> {
    given
        .or_else(|| device.rate())
        .ok_or_else(|| Error::NoRate {
            device: device.name.clone(),
        })
}

impl AttachArguments {
    /// As the library takes it.
    ///
    /// # Errors
    ///
    /// When a value is not valid, or the rate is not known.
    pub fn settings(&self, device: &Device) -> anyhow::Result<Settings> {
        const PRIORITY_MAX: u16 = PRIORITIES as u16 - 1;
        let mut settings = Settings::new(rate(self.rate, device)?);
        settings.source = self.priorities;
        for text in &self.dscp {
            let (dscp, priority) = pair("--dscp", text, DSCPS as u16 - 1, (0, PRIORITY_MAX))?;
            if let Some(place) = settings.dscp.get_mut(usize::from(dscp)) {
                *place = Priority::from_low_bits(priority as u8);
            }
        }
        if !self.dscp.is_empty() && self.priorities != Source::Dscp {
            bail!("--dscp has no effect without --priorities dscp");
        }
        for text in &self.udp {
            let (port, priority) = pair("--udp", text, u16::MAX, (0, PRIORITY_MAX))?;
            if port == 0 {
                bail!("--udp {text}: port 0 is not valid");
            }
            settings.ports.push(PortRule {
                port,
                priority: Priority::from_low_bits(priority as u8),
            });
        }
        if settings.ports.len() > PORTS_MAX {
            bail!(
                "--udp: {} ports; at most {PORTS_MAX} are supported",
                settings.ports.len()
            );
        }
        for text in &self.shares {
            let (priority, share) = pair("--share", text, PRIORITY_MAX, (1, 1000))?;
            if let Some(place) = settings.shares.get_mut(usize::from(priority)) {
                *place = share;
            }
        }
        settings.obeyed = [false; PRIORITIES];
        for priority in &self.obey {
            if let Some(place) = settings.obeyed.get_mut(usize::from(priority.get())) {
                *place = true;
            }
        }
        settings.obeys_global_pause = !self.ignore_pause;
        settings.limit = self.limit;
        settings.gso_segments = self.gso_segments;
        settings.replace = self.replace;
        Ok(settings)
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    fn settings(options: &[&str]) -> anyhow::Result<Settings> {
        let words = ["weir-host", "attach", "lo", "--rate", "10Gbit"];
        let cli = Cli::parse_from(words.iter().chain(options));
        let Command::Attach(arguments) = cli.command else {
            panic!("no attach");
        };
        arguments.settings(&Device::find("lo").unwrap())
    }

    #[test]
    fn options_become_settings() {
        let read = settings(&[
            "--priorities",
            "dscp",
            "--dscp",
            "26=4",
            "--udp",
            "4791=3",
            "--obey",
            "3,4",
            "--share",
            "3=7",
            "--limit",
            "1MiB",
            "--ignore-pause",
        ]);
        let read = read.unwrap();
        assert_eq!(read.dscp[26], Priority::ALL[4]);
        assert_eq!(read.dscp[25], Priority::ALL[3]);
        assert_eq!(read.ports[0].port, 4791);
        let obeyed = [false, false, false, true, true, false, false, false];
        assert_eq!(read.obeyed, obeyed);
        assert_eq!(read.shares[3], 7);
        assert_eq!(read.limit.get(), 1 << 20);
        assert!(!read.obeys_global_pause);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (options, named) in [
            (&["--udp", "4791=8"][..], "--udp 4791=8"),
            (&["--udp", "0=1"], "port 0 is not valid"),
            (&["--share", "3=0"], "--share 3=0"),
            (&["--share", "8=1"], "--share 8=1"),
            (&["--dscp", "3=1"], "--priorities dscp"),
            (&["--priorities", "dscp", "--dscp", "64=1"], "--dscp 64=1"),
        ] {
            let error = settings(options).unwrap_err().to_string();
            assert!(error.contains(named), "{error}");
        }
    }
}
