//! Options of `weir-host push-back`.

use std::time::Duration;

use anyhow::{bail, Result};
use clap::Args;
use weir_config::units::parse_rate;
use weir_core::{BitRate, Priority};

use super::{parse_priority, parse_span, rate};
use crate::device::Device;
use crate::push_back::fill::{Limits, LOOK_MAX_NS};
use crate::push_back::Plan;
use crate::settings::PORTS_MAX;

/// Minimum time between two checks, in ns; each costs about 20 µs.
const LOOK_MIN_NS: u64 = 100_000;

/// Settings for pausing the neighbour.
#[derive(Debug, Args)]
#[command(after_help = "\
Watches the receive buffers of UDP sockets: the kernel drops datagrams that
have no room. TCP does not need this: its window limits the sender.

The buffer above --xoff must hold datagrams that still arrive. The kernel's
default of 208 KiB is too small for fast links: give sockets more with
SO_RCVBUF, up to net.core.rmem_max. Under `chrt -f 10` this process reacts
sooner.

Examples:
  weir-host push-back eth1 --priority 3 --port 5000,5001 --longest 200ms
  weir-host push-back eth1 --priority 3 --all-sockets")]
pub struct PushBackArguments {
    /// The network device.
    pub device: String,
    /// Priority to pause: that of the frames received by the sockets.
    #[arg(long, value_parser = parse_priority)]
    pub priority: Priority,
    /// Pause while a socket's buffer is filled up to this share.
    #[arg(long, value_name = "PERCENT", default_value = "50%", value_parser = parse_percent)]
    pub xoff: u8,
    /// Resume when no buffer is filled further than this.
    #[arg(long, value_name = "PERCENT", default_value = "25%", value_parser = parse_percent)]
    pub xon: u8,
    /// Watch the sockets bound to these UDP ports, up to eight. Ports below 1024 require root.
    #[arg(
        long = "port",
        value_name = "PORTS",
        value_delimiter = ',',
        required_unless_present = "all_sockets"
    )]
    pub ports: Vec<u16>,
    /// Watch all UDP sockets of the network namespace. Any local user can then make the switch pause the priority.
    #[arg(long, conflicts_with = "ports")]
    pub all_sockets: bool,
    /// Time for which a socket that is not read may cause pauses. It causes none again until it is read.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = parse_span)]
    pub longest: Duration,
    /// Minimum time between two checks, from 100µs to 10ms. Checks are less frequent while no buffer can fill sooner.
    #[arg(long, value_name = "TIME", default_value = "200us", value_parser = parse_span)]
    pub look: Duration,
    /// The link's rate [default: the device's].
    #[arg(long, value_parser = parse_rate)]
    pub rate: Option<BitRate>,
}

impl PushBackArguments {
    /// Converts the options to the library's plan.
    ///
    /// # Errors
    ///
    /// When a value is invalid, or the rate is unknown.
    pub fn plan(&self, device: &Device) -> Result<Plan> {
        if self.xon >= self.xoff {
            bail!(
                "--xon {}%: must be below --xoff, which is {}%",
                self.xon,
                self.xoff
            );
        }
        if self.ports.len() > PORTS_MAX {
            bail!(
                "--port: {} ports; at most {PORTS_MAX} are supported",
                self.ports.len()
            );
        }
        if self.ports.contains(&0) {
            bail!("--port 0: port 0 is not valid");
        }
        let look_ns = self.look.as_nanos() as u64;
        if !(LOOK_MIN_NS..=LOOK_MAX_NS).contains(&look_ns) {
            bail!("--look {:?}: must be from 100µs to 10ms", self.look);
        }
        Ok(Plan {
            priority: self.priority,
            ports: self.ports.clone(),
            limits: Limits {
                xoff_percent: self.xoff,
                xon_percent: self.xon,
                longest_ns: self.longest.as_nanos() as u64,
                look_ns,
                rate: rate(self.rate, device)?,
            },
        })
    }
}

fn parse_percent(text: &str) -> Result<u8, String> {
    let number = text.trim().trim_end_matches('%').trim_end().parse().ok();
    number
        .filter(|percent| *percent <= 100)
        .ok_or_else(|| format!("invalid percentage `{text}`; valid are 0% to 100%"))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::{Cli, Command};

    fn plan(options: &[&str]) -> Result<Plan> {
        let words = [
            "weir-host",
            "push-back",
            "lo",
            "--rate",
            "10Gbit",
            "--priority",
            "3",
        ];
        let cli = Cli::try_parse_from(words.iter().chain(options))?;
        let Command::PushBack(arguments) = cli.command else {
            panic!("no push-back");
        };
        arguments.plan(&Device::find("lo").unwrap())
    }

    #[test]
    fn options_become_a_plan() {
        let usual = plan(&["--all-sockets"]).unwrap();
        assert_eq!(
            (usual.limits.xoff_percent, usual.limits.xon_percent),
            (50, 25)
        );
        assert_eq!(
            (usual.limits.longest_ns, usual.limits.look_ns),
            (1_000_000_000, 200_000)
        );
        assert!(usual.ports.is_empty());
        let other = plan(&["--port", "53,54", "--xoff", "80", "--xon", "0%"]).unwrap();
        assert_eq!(other.ports, [53, 54]);
        assert_eq!(
            (other.limits.xoff_percent, other.limits.xon_percent),
            (80, 0)
        );
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (options, named) in [
            (&[][..], "--port"),
            (&["--all-sockets", "--port", "53"], "cannot be used with"),
            (
                &["--port", "53", "--xon", "50%"],
                "--xon 50%: must be below --xoff",
            ),
            (&["--port", "0"], "port 0 is not valid"),
            (&["--port", "1,2,3,4,5,6,7,8,9"], "9 ports; at most 8"),
            (&["--port", "53", "--look", "50us"], "from 100µs to 10ms"),
            (&["--port", "53", "--look", "11ms"], "from 100µs to 10ms"),
        ] {
            let error = plan(options).unwrap_err().to_string();
            assert!(error.contains(named), "{error}");
        }
        assert!(parse_percent("101%").unwrap_err().contains("101%"));
    }
}
