//! Faults of a network during a soak.

use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{bail, Context, Result};
use nix::sys::signal::Signal;
use weir_core::random::SplitMix64;

use crate::lab::faults::set_link;
use crate::lab::process::{program, Process};
use crate::lab::stage::Stage;

/// A fault, or a request to a switch under load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// A switch's process is frozen, too briefly to fill its rings.
    Freeze,
    /// A switch reloads its configuration.
    Reload,
    /// Frames of all ports of a switch are captured.
    Capture,
    /// A device of a switch goes down and up.
    LinkFlap,
    /// A switch is ended and started again.
    Restart,
    /// A switch is killed and started again.
    Kill,
    /// A switch is restarted by its keeper.
    StartAnew,
}

impl Fault {
    /// Returns the name in the summary.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Freeze => "freeze",
            Self::Reload => "reload",
            Self::Capture => "capture",
            Self::LinkFlap => "link down and up",
            Self::Restart => "restart",
            Self::Kill => "kill",
            Self::StartAnew => "restart by the keeper",
        }
    }

    /// Applies the fault to a random switch, and reverts it before returning.
    ///
    /// # Errors
    ///
    /// When the switch does not survive it.
    pub(super) fn inject(self, stage: &mut Stage, random: &mut SplitMix64) -> Result<()> {
        let index = below(random, stage.switches.len() as u64) as usize;
        let namespace = stage.names().namespace(&stage.switches[index].config.name);
        let switch = &mut stage.switches[index];
        let what = format!("{} of {}", self.name(), switch.config.name);
        match self {
            Self::Freeze => {
                signal(switch.process(), Signal::SIGSTOP)?;
                pause(Duration::from_millis(20 + below(random, 280)));
                signal(switch.process(), Signal::SIGCONT)?;
            }
            Self::Reload => signal(switch.process(), Signal::SIGHUP)?,
            Self::Capture => {
                let status = Command::new(program("switchctl")?)
                    .arg("--socket")
                    .arg(&switch.config.api_socket)
                    .args(["capture", "all", "--count", "200", "--duration", "500ms"])
                    .args(["-w", "/dev/null"])
                    .stdout(Stdio::null())
                    .stderr(Stdio::null())
                    .status()
                    .context("starting switchctl")?;
                if !status.success() {
                    bail!("{what}: {status}");
                }
            }
            Self::LinkFlap => {
                let ports = &switch.config.ports;
                let device = &ports[below(random, ports.len() as u64) as usize].device;
                set_link(&namespace, device, false)?;
                pause(Duration::from_millis(20 + below(random, 400)));
                set_link(&namespace, device, true)?;
            }
            Self::Restart => {
                switch.end_process().context(what)?;
                switch.start_process()?;
                switch.ready()?;
            }
            Self::Kill => {
                switch.kill().context(what)?;
                switch.start_process()?;
                switch.ready()?;
            }
            Self::StartAnew => {
                switch.restart().context(what)?;
            }
        }
        Ok(())
    }
}

/// Returns a number below `limit`, which must not be zero.
pub(super) fn below(random: &mut SplitMix64, limit: u64) -> u64 {
    random.next_u64() % limit.max(1)
}

fn signal(process: Option<&mut Process>, signal: Signal) -> Result<()> {
    process.context("the switch runs")?.signal(signal);
    Ok(())
}

fn pause(span: Duration) {
    std::thread::sleep(span);
}
