//! Slow parts of a start that need no device: packet memory, programs, and the switch core.
//!
//! In a restart they are prepared while another switch still forwards, so that neighbours wait only for the rest
//! ([`Reserve::new`]). Without preparation, memory and core are made while programs are attached
//! ([`Reserve::fill_beside`]). Either way [`core()`] derives the core's configuration.

use std::os::fd::AsRawFd;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nix::fcntl::{fcntl, FcntlArg};
use tracing::subscriber::NoSubscriber;
use weir_config::daemon::DaemonConfig;
use weir_config::files::SecretError;
use weir_core::config::AuthenticationConfig;
use weir_core::{MacAddress, Switch, SwitchConfig};
use weir_ebpf::queue;

use super::attach;
use super::binding::Reserved;
use super::fabric_key;
use super::launch;
use super::programs::Programs;
use crate::error::DataplaneError;
use crate::kernel::devices::{self, Device, Lack};
use crate::kernel::express::Prospect;
use crate::random;

/// Sockets, programs, maps and links of a port with one queue, and some more.
const DESCRIPTORS_OF_A_PORT: usize = 12;

/// Reads a file that only root may read: the process may have changed its user.
pub type ReadSecret = fn(&Path) -> Result<Vec<u8>, SecretError>;

/// Packet memory, the switch core's memory, and the programs of all ports. Parts that do not fit are made again.
#[derive(Debug)]
pub struct Reserve {
    config: DaemonConfig,
    pub(crate) memory: Option<Reserved>,
    pub(crate) programs: Programs,
    pub(crate) express: Prospect,
    switch: Option<(SwitchConfig, Switch)>,
    /// `None` if they were not prepared.
    pub(crate) secrets: Option<Secrets>,
    /// See [`queue`].
    pub(crate) patience: Duration,
    pub(crate) read_secret: ReadSecret,
}

impl Reserve {
    /// Prepares all parts for a switch with `config` while another runs on the same devices. Leaves memory that cannot be
    /// allocated twice for later.
    ///
    /// # Errors
    ///
    /// Errors of that switch that can be detected without touching a device.
    pub fn new(config: &DaemonConfig, read_secret: ReadSecret) -> Result<Self, DataplaneError> {
        let secrets = Secrets::new(config, read_secret)?;
        let devices = devices::find(config, Lack::WaitsUnlessUsed)?;
        let settled = settled_beforehand(config, &devices)?;
        let core = core(&settled, &devices, secrets);
        let bare = Self::bare(config, read_secret);
        if let Err(error) = grow_descriptor_table(DESCRIPTORS_OF_A_PORT * config.ports.len()) {
            tracing::debug!(%error, "cannot grow the descriptor table now; it will grow while neighbours are paused");
        }
        Ok(Self {
            programs: Programs::load(config, &devices, bare.express.path())?,
            memory: Reserved::beside_another(&settled, core.frame_count as u32),
            switch: Some((core.clone(), new_switch(core)?)),
            secrets: Some(secrets),
            ..bare
        })
    }

    /// Creates an empty reserve, for a start without preparation.
    pub(crate) fn bare(config: &DaemonConfig, read_secret: ReadSecret) -> Self {
        let beside = launch::beside_the_core(&config.dataplane, config.ports.len());
        Self {
            config: config.clone(),
            memory: None,
            programs: Programs::default(),
            express: Prospect::new(config, beside),
            switch: None,
            secrets: None,
            patience: queue::PATIENCE,
            read_secret,
        }
    }

    /// Marks the ports as used by another switch a moment ago.
    pub(crate) fn after_another(self) -> Self {
        Self {
            patience: queue::PATIENCE_AFTER_ANOTHER,
            ..self
        }
    }

    /// Allocates missing memory while `attach` runs.
    pub(crate) fn fill_beside<T>(
        &mut self,
        devices: &[Option<Device>],
        secrets: Secrets,
        attach: impl FnOnce(&mut Programs, &Prospect) -> T,
    ) -> T {
        let (programs, express) = (&mut self.programs, &self.express);
        if self.switch.is_some() {
            return attach(programs, express);
        }
        let config = &self.config;
        let (done, made) = std::thread::scope(|scope| {
            let made = scope.spawn(|| first_memories(config, devices, secrets));
            let done = attach(programs, express);
            (done, made.join())
        });
        // A failure is repeated and reported later.
        if let Ok(Ok((memory, switch))) = made {
            self.memory = Some(memory);
            self.switch = Some(switch);
        }
        done
    }

    /// Returns an empty reserve if it was made for another configuration.
    pub(crate) fn only_for(self, config: &DaemonConfig) -> Self {
        if self.config == *config {
            self
        } else {
            Self::bare(config, self.read_secret)
        }
    }

    /// Returns the switch core; a new one if none was made with this configuration.
    pub(crate) fn switch(&mut self, core: SwitchConfig) -> Result<Switch, DataplaneError> {
        match self.switch.take() {
            Some((made_with, switch)) if made_with == core => Ok(switch),
            _ => new_switch(core),
        }
    }
}

/// Lets the kernel make its table of this process's descriptors so large now. Each time that it grows in a process of several
/// threads, the thread that opens a descriptor waits for a grace period.
fn grow_descriptor_table(more: usize) -> std::io::Result<()> {
    let probe = std::io::pipe()?.0;
    let highest = probe
        .as_raw_fd()
        .saturating_add(i32::try_from(more).unwrap_or(i32::MAX));
    // The table keeps its size when the duplicate is closed.
    let duplicate = fcntl(&probe, FcntlArg::F_DUPFD_CLOEXEC(highest))?;
    Ok(nix::unistd::close(duplicate)?)
}

/// Allocates the memory of a switch that has none yet.
fn first_memories(
    config: &DaemonConfig,
    devices: &[Option<Device>],
    secrets: Secrets,
) -> Result<(Reserved, (SwitchConfig, Switch)), DataplaneError> {
    let settled = settled_beforehand(config, devices)?;
    let core = core(&settled, devices, secrets);
    let memory = Reserved::first(&settled, core.frame_count as u32)?;
    Ok((memory, (core.clone(), new_switch(core)?)))
}

/// Estimates the settled configuration. Messages about the devices are logged when programs are attached.
fn settled_beforehand(
    config: &DaemonConfig,
    devices: &[Option<Device>],
) -> Result<DaemonConfig, DataplaneError> {
    tracing::subscriber::with_default(NoSubscriber::default(), || attach::settle(config, devices))
}

fn new_switch(core: SwitchConfig) -> Result<Switch, DataplaneError> {
    let mut switch = Switch::new(core)?;
    switch.touch_memory();
    Ok(switch)
}

/// Numbers unknown to hosts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Secrets {
    /// Key of control frames, if they are authenticated.
    key: Option<AuthenticationConfig>,
    /// Secret of loop probes.
    own: u64,
    /// Epoch of credits, later than that of any earlier switch.
    epoch: u32,
}

impl Secrets {
    pub(crate) fn new(
        config: &DaemonConfig,
        read_secret: ReadSecret,
    ) -> Result<Self, DataplaneError> {
        let key_file = config.control_frames.key_file.as_deref();
        let load = |path| fabric_key::load(path, read_secret);
        Ok(Self {
            key: key_file.map(load).transpose()?,
            own: random::seed().map_err(DataplaneError::Random)?,
            epoch: credit_epoch(),
        })
    }
}

pub(crate) fn core(
    config: &DaemonConfig,
    devices: &[Option<Device>],
    secrets: Secrets,
) -> SwitchConfig {
    let address = |device: &Option<Device>| device.map_or_else(Default::default, |it| it.address);
    let addresses: Vec<MacAddress> = devices.iter().map(address).collect();
    let mut core = config.core(&addresses);
    core.authentication = secrets.key;
    core.secret = secrets.own;
    core.credits.epoch = secrets.epoch;
    core
}

/// Returns milliseconds of the wall clock: a later start has a later epoch, modulo 2^32. Zero means none.
fn credit_epoch() -> u32 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let millis = since.map_or(0, |since| since.as_millis());
    (millis as u32).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_descriptors_is_as_large_as_it_must_be() {
        let size = || {
            let status = std::fs::read_to_string("/proc/self/status").unwrap();
            let line = status.lines().find_map(|line| line.strip_prefix("FDSize:"));
            line.unwrap().trim().parse::<usize>().unwrap()
        };
        let more = size();
        grow_descriptor_table(more).unwrap();
        assert!(size() > more);
    }
}
