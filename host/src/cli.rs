//! The command line of `weir-host`.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{bail, Context as _};
use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use weir_config::units::{parse_duration, parse_rate, parse_size};
use weir_core::{BitRate, Bytes, Priority};

use crate::attach::Drain;
use crate::device::Device;
use crate::error::Error;
use crate::settings::{PortRule, Settings, Source, DSCPS, PORTS_MAX, PRIORITIES};

/// Make Linux network devices obey PFC and PAUSE.
///
/// A queueing discipline in BPF holds the frames of a paused priority until XON, or until the pause
/// expires. Sockets feel it as backpressure, and nothing is dropped. Once attached nothing runs: no
/// daemon, no polling.
#[derive(Debug, Parser)]
#[command(
    name = "weir-host",
    version,
    max_term_width = 100,
    arg_required_else_help = true,
    after_help = "\
Needs Linux 6.16 or newer with CONFIG_NET_SCH_BPF, and root (CAP_NET_ADMIN, CAP_BPF, CAP_PERFMON).

XOFF does not work at once: what the driver has already got goes out. `weir-host measure` tells how
much that is; the switch's headroom has to have room for it.

Examples:
  weir-host attach eth1
  weir-host attach eth1 --rate 10Gbit --obey 3 --udp 4791=3 --share 3=4
  weir-host status
  weir-host detach eth1

Exit status: 0 done, 1 not done (standard error says why), 2 the command line is wrong."
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
    /// Make a device obey pauses. One that is attached gets the new settings.
    #[command(after_help = "\
A device that is attached already is drained, detached and attached anew. A killed attach leaves a
device that `attach` or `detach` puts in order.

Examples:
  weir-host attach eth1
  weir-host attach eth1 --priorities dscp --obey 3,4
  weir-host attach eth1 --udp 4791=3        # RoCEv2 has no socket priority")]
    Attach(AttachArguments),
    /// Let a device be as it was: drains its queue first, and leaves nothing.
    #[command(after_help = "\
While it drains new frames are refused; TCP offers them again. The kernel itself drops what is sent
in the instant in which a queueing discipline is exchanged.

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
    /// Show attached devices: what is paused, and what waits.
    #[command(after_help = "\
Exit status 1: the device is not attached, or a part is missing.

Examples:
  weir-host status
  weir-host --json status eth1 | jq '.[0].priorities[3].paused_for_ns'")]
    Status {
        /// The network device [default: all that are attached].
        device: Option<String>,
    },
    /// Show everything that a device has counted.
    #[command(after_help = "\
Example:
  weir-host counters eth1")]
    Counters {
        /// The network device.
        device: String,
    },
    /// Print all attached devices' counters for Prometheus.
    #[command(after_help = "\
For node_exporter's textfile collector, from a timer:
  weir-host metrics --out /var/lib/prometheus/node-exporter/weir_host.prom")]
    Metrics {
        /// Write to this file, all at once, instead of standard output.
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Measure how much a neighbour still sends after XOFF.
    Measure(MeasureArguments),
    /// Print a shell's completions of this command line.
    #[command(
        hide = true,
        after_help = "\
Example:
  weir-host completions bash > /usr/share/bash-completion/completions/weir-host"
    )]
    Completions {
        /// Which shell.
        #[arg(value_enum)]
        shell: Shell,
    },
    /// Write manual pages, one for each command.
    #[command(
        hide = true,
        after_help = "\
Example:
  weir-host man /usr/local/share/man/man1"
    )]
    Man {
        /// Where to.
        directory: PathBuf,
    },
}

/// How to attach.
#[derive(Debug, Args)]
pub struct AttachArguments {
    /// The network device.
    pub device: String,
    /// The link's rate: pauses are told in bit times [default: what the device says].
    #[arg(long, value_parser = parse_rate)]
    pub rate: Option<BitRate>,
    /// Where a frame's priority is taken from.
    #[arg(long, value_enum, default_value = "socket")]
    pub priorities: Source,
    /// The priority of a DSCP, for `--priorities dscp`. May be given again [default: DSCP ÷ 8].
    #[arg(long = "dscp", value_name = "DSCP=PRIORITY")]
    pub dscp: Vec<String>,
    /// The priority of frames to a UDP port, before all else. May be given again, eight times at most.
    #[arg(long = "udp", value_name = "PORT=PRIORITY")]
    pub udp: Vec<String>,
    /// Priorities whose pauses are obeyed.
    #[arg(long, value_name = "PRIORITIES", value_delimiter = ',', value_parser = parse_priority,
          default_value = "0,1,2,3,4,5,6,7")]
    pub obey: Vec<Priority>,
    /// Ignore 802.3x PAUSE, which stops all priorities of `--obey`.
    #[arg(long)]
    pub ignore_pause: bool,
    /// What a priority gets of the link while others have something to send: 1 to 1000, relative to theirs. May be given
    /// again [default: 1 for each].
    #[arg(long = "share", value_name = "PRIORITY=SHARE")]
    pub shares: Vec<String>,
    /// The most that one priority's queue holds; what comes then is dropped. It should have room for the send buffers of
    /// all its sockets.
    #[arg(long, value_parser = parse_size, default_value = "64MiB")]
    pub limit: Bytes,
    /// Segments that the stack may hand to the device as one frame. 1 is the shortest reaction to XOFF, at the cost of
    /// throughput. Detach sets it back [default: as it is].
    #[arg(long, value_name = "SEGMENTS", value_parser = clap::value_parser!(u32).range(1..=65535))]
    pub gso_segments: Option<u32>,
    /// Take away a queueing discipline that somebody has set. It does not come back.
    #[arg(long)]
    pub replace: bool,
    /// How what is attached already is drained.
    #[command(flatten)]
    pub drain: DrainArguments,
}

/// How to drain.
#[derive(Clone, Copy, Debug, Args)]
pub struct DrainArguments {
    /// How long the queue may take to become empty, if it is paused.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = parse_span)]
    drain: Duration,
    /// Free what has not left by then, instead of staying attached.
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
Two ends of one cable: the host, which sends, and what is to become the switch, which pauses it.
  host:    weir-host attach eth1 --rate 10Gbit
           weir-host measure eth1 --load --priority 3 --for 60s
  switch:  weir-host measure swp1 --priority 3 --rate 10Gbit   (before its daemon runs)
Frames and bytes after XOFF count from the moment before XOFF is handed to the kernel, so that they
have the way there and back in them: they are the headroom that this link needs.")]
pub struct MeasureArguments {
    /// The network device.
    pub device: String,
    /// Send frames to be paused, instead of pausing.
    #[arg(long, conflicts_with_all = ["pauses", "any"])]
    pub load: bool,
    /// The priority.
    #[arg(long, default_value = "0", value_parser = parse_priority)]
    pub priority: Priority,
    /// With --load: how long.
    #[arg(long = "for", value_name = "TIME", default_value = "10s", value_parser = parse_span)]
    pub span: Duration,
    /// With --load: the frames' length, without FCS.
    #[arg(long, value_name = "BYTES", default_value = "1514",
          value_parser = clap::value_parser!(u16).range(60..=9018))]
    pub length: u16,
    /// How often to pause.
    #[arg(long, default_value = "100", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub pauses: u32,
    /// How long each pause lasts.
    #[arg(long, value_name = "TIME", default_value = "20ms", value_parser = parse_span)]
    pub paused: Duration,
    /// How long the neighbour may send between two.
    #[arg(long, value_name = "TIME", default_value = "20ms", value_parser = parse_span)]
    pub between: Duration,
    /// The link's rate [default: what the device says].
    #[arg(long, value_parser = parse_rate)]
    pub rate: Option<BitRate>,
    /// Count every frame, not only those of --load: for applications as load. No other priority may send meanwhile.
    #[arg(long)]
    pub any: bool,
}

fn parse_priority(text: &str) -> Result<Priority, String> {
    let number = text.trim().parse().ok().and_then(Priority::new);
    number.ok_or_else(|| format!("`{text}` is no priority: 0 to 7"))
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
            "{option} {text}: expected two numbers, 0 to {key_max} and {} to {}, with = between them",
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
    /// When a value is not legal, or the rate is not known.
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
                bail!("--udp {text}: 0 is no port");
            }
            settings.ports.push(PortRule {
                port,
                priority: Priority::from_low_bits(priority as u8),
            });
        }
        if settings.ports.len() > PORTS_MAX {
            bail!("--udp: {} ports, {PORTS_MAX} at most", settings.ports.len());
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
            (&["--udp", "0=1"], "0 is no port"),
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
