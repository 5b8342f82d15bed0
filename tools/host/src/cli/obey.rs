//! Options of `weir-host attach` and `weir-host plug`.

use std::time::Duration;

use anyhow::{bail, Context as _};
use clap::Args;
use weir_config::units::{parse_rate, parse_size};
use weir_core::{BitRate, Bytes, Priority};

use super::{parse_priority, parse_span, rate, DrainArguments};
use crate::attach::Drain;
use crate::device::Device;
use crate::plug::Plan;
use crate::settings::{PortRule, Settings, Source, DSCPS, PORTS_MAX, PRIORITIES};

const PRIORITY_MAX: u16 = PRIORITIES as u16 - 1;

/// Pauses to obey, and frames that they affect.
#[derive(Debug, Args)]
pub struct ObeyArguments {
    /// The link's rate, since pauses are in bit times [default: the device's].
    #[arg(long, value_parser = parse_rate)]
    pub rate: Option<BitRate>,
    /// The rate that the device does not exceed, with preamble, FCS and gap. For devices without a line, such as veth
    /// [default: unbounded].
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    pub max_rate: Option<BitRate>,
    /// Source of a frame's priority.
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
    /// Maximum size of a priority's queue; frames beyond it are dropped. Make it larger than the send buffers of all
    /// its sockets together.
    #[arg(long, value_parser = parse_size, default_value = "64MiB")]
    pub limit: Bytes,
    /// Replace a queueing discipline configured by someone else. It is not restored.
    #[arg(long)]
    pub replace: bool,
}

/// Settings of an attachment.
#[derive(Debug, Args)]
pub struct AttachArguments {
    /// The network device.
    pub device: String,
    /// Pauses to obey, and frames that they affect.
    #[command(flatten)]
    pub obey: ObeyArguments,
    /// A priority's share of the link under contention, 1 to 1000, relative to the others'. Repeatable [default: 1 for
    /// each].
    #[arg(long = "share", value_name = "PRIORITY=SHARE")]
    pub shares: Vec<String>,
    /// Maximum segments per GSO frame. 1 reacts fastest to XOFF, at the cost of throughput. Detaching restores the
    /// device's value [default: unchanged].
    #[arg(long, value_name = "SEGMENTS", value_parser = clap::value_parser!(u32).range(1..=65535))]
    pub gso_segments: Option<u32>,
    /// Settings for draining an existing attachment.
    #[command(flatten)]
    pub drain: DrainArguments,
}

/// Settings for obeying pauses without BPF.
#[derive(Debug, Args)]
pub struct PlugArguments {
    /// The network device.
    pub device: String,
    /// Pauses to obey, and frames that they affect.
    #[command(flatten)]
    pub obey: ObeyArguments,
    /// Time limit for draining the queue at the end. Frames still paused then are sent.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = parse_span)]
    drain: Duration,
    /// Process that removes the queue.
    #[arg(long, hide = true)]
    pub worker_of: Option<i32>,
}

impl PlugArguments {
    /// Converts the options to the library's plan.
    ///
    /// # Errors
    ///
    /// When a value is invalid, or the rate is unknown.
    pub fn plan(&self, device: &Device) -> anyhow::Result<Plan> {
        Ok(Plan {
            settings: self.obey.settings(device)?,
            drain: Drain {
                limit: self.drain,
                force: true,
            },
        })
    }
}

impl AttachArguments {
    /// Converts the options to the library's settings.
    ///
    /// # Errors
    ///
    /// When a value is invalid, or the rate is unknown.
    pub fn settings(&self, device: &Device) -> anyhow::Result<Settings> {
        let mut settings = self.obey.settings(device)?;
        for text in &self.shares {
            let (priority, share) = pair("--share", text, PRIORITY_MAX, (1, 1000))?;
            if let Some(place) = settings.shares.get_mut(usize::from(priority)) {
                *place = share;
            }
        }
        settings.gso_segments = self.gso_segments;
        Ok(settings)
    }
}

impl ObeyArguments {
    /// Converts the options to the library's settings, with equal shares.
    ///
    /// # Errors
    ///
    /// When a value is invalid, or the rate is unknown.
    pub fn settings(&self, device: &Device) -> anyhow::Result<Settings> {
        let mut settings = Settings::new(rate(self.rate, device)?);
        settings.max_rate = self.max_rate;
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
        settings.obeyed = [false; PRIORITIES];
        for priority in &self.obey {
            if let Some(place) = settings.obeyed.get_mut(usize::from(priority.get())) {
                *place = true;
            }
        }
        settings.obeys_global_pause = !self.ignore_pause;
        settings.limit = self.limit;
        settings.replace = self.replace;
        Ok(settings)
    }
}

/// Parses `KEY=VALUE`, both numbers within limits.
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

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::{Cli, Command};

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
            "--max-rate",
            "1Gbit",
        ]);
        let read = read.unwrap();
        assert_eq!(read.max_rate, BitRate::new(1_000_000_000));
        assert_eq!(
            read.in_force().max_rate_bits_per_second,
            Some(1_000_000_000)
        );
        assert_eq!(read.rate, BitRate::new(10_000_000_000).unwrap());
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

    #[test]
    fn plug_takes_the_same_options_but_shares_and_segments() {
        let plan = |options: &[&str]| {
            let words = ["weir-host", "plug", "lo", "--rate", "10Gbit"];
            let cli = Cli::try_parse_from(words.iter().chain(options))?;
            let Command::Plug(arguments) = cli.command else {
                panic!("no plug");
            };
            arguments.plan(&Device::find("lo").unwrap())
        };
        let read = plan(&["--priorities", "dscp", "--udp", "4791=3", "--obey", "3"]).unwrap();
        assert_eq!(read.settings.max_rate, None);
        let bounded = plan(&["--max-rate", "1Gbit"]).unwrap().settings;
        assert_eq!(bounded.max_rate, BitRate::new(1_000_000_000));
        assert_eq!(read.settings.source, Source::Dscp);
        assert_eq!(read.settings.ports[0].priority, Priority::ALL[3]);
        assert_eq!(read.settings.in_force().obeyed, [3]);
        let error = plan(&["--udp", "1=9"]).unwrap_err().to_string();
        assert!(error.contains("--udp 1=9"), "{error}");
        assert!(plan(&["--share", "3=2"]).is_err());
    }
}
