//! The socket's device: its XDP program and its drop counters.

use std::os::fd::AsFd;

use anyhow::{Context, Result};
use weir_ebpf::{AttachMode, Fallback, Lldp, PortProgram, PortSettings, Promiscuous, Verdict};

use super::socket::XdpPort;

/// The program that redirects every frame into its queue's socket. It stays attached until this is dropped or the process
/// ends.
#[derive(Debug)]
pub struct Redirect {
    program: PortProgram,
    _promiscuous: Promiscuous,
}

impl Redirect {
    /// Loads the program and attaches it to `device`. Frames of other queues are dropped, since answers of the host's kernel
    /// would disturb the measurement. LLDP is redirected as well, since a kernel without a listener counts it as dropped.
    ///
    /// # Errors
    /// When the device does not exist, has a program already, or privileges are missing.
    pub fn attach(device: &str, port: &XdpPort) -> Result<Self> {
        let program = load()?;
        program.set_socket(0, port.as_fd())?;
        Self::attach_program(device, program, AttachMode::Auto)
    }

    /// Like [`attach`](Self::attach), without a socket yet: every frame is dropped until
    /// [`serve`](Self::serve).
    ///
    /// # Errors
    /// Those of [`attach`](Self::attach).
    pub fn open(device: &str, mode: AttachMode) -> Result<Self> {
        Self::attach_program(device, load()?, mode)
    }

    /// Redirects frames of `queue` to `port`.
    ///
    /// # Errors
    /// When the kernel refuses the socket.
    pub fn serve(&self, queue: u32, port: &XdpPort) -> Result<()> {
        Ok(self.program.set_socket(queue, port.as_fd())?)
    }

    fn attach_program(device: &str, mut program: PortProgram, mode: AttachMode) -> Result<Self> {
        let index = nix::net::if_::if_nametoindex(device)
            .with_context(|| format!("{device}: no such device here"))?;
        program.attach(index, mode, None)?;
        // Otherwise a NIC drops pauses, whose group address the device has not joined.
        let promiscuous =
            Promiscuous::new(index).with_context(|| format!("{device}: promiscuous mode"))?;
        Ok(Self {
            program,
            _promiscuous: promiscuous,
        })
    }

    /// Returns the number of frames that the program did not redirect.
    ///
    /// # Errors
    /// When its map cannot be read.
    pub fn not_redirected(&self) -> Result<u64> {
        let verdicts = self.program.verdict_counters()?;
        let others = Verdict::ALL
            .into_iter()
            .filter(|verdict| *verdict != Verdict::Redirected);
        Ok(others.map(|verdict| verdicts.get(verdict)).sum())
    }
}

fn load() -> Result<PortProgram> {
    Ok(PortProgram::load(&PortSettings {
        fallback: Fallback::Drop,
        lldp: Lldp::Socket,
        ..PortSettings::default()
    })?)
}

/// `drop` of both directions in `/proc/net/dev`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceDrops {
    /// Received frames dropped.
    pub received: u64,
    /// Sent frames dropped.
    pub sent: u64,
}

/// Returns the drop counters of `device` in the network namespace of this process.
///
/// # Errors
/// When the device does not exist.
pub fn drops(device: &str) -> Result<DeviceDrops> {
    // sysfs would show the namespace in which it was mounted, procfs shows the process's own
    let table = std::fs::read_to_string("/proc/self/net/dev").context("/proc/self/net/dev")?;
    find_drops(&table, device).with_context(|| format!("{device}: no such device here"))
}

/// Finds the drops: after the name are 8 fields of reception and 8 of transmission; the fourth of each is `drop`.
fn find_drops(table: &str, device: &str) -> Option<DeviceDrops> {
    let fields = table.lines().find_map(|line| {
        let (name, fields) = line.split_once(':')?;
        (name.trim() == device).then_some(fields)
    })?;
    let fields: Vec<u64> = fields
        .split_whitespace()
        .map_while(|field| field.parse().ok())
        .collect();
    Some(DeviceDrops {
        received: *fields.get(3)?,
        sent: *fields.get(11)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:       1       2    3    4    5     6          7         8        9      10   11   12   13    14      15         16
 veth0: 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36
";

    #[test]
    fn drops_are_found_by_device_and_column() {
        assert_eq!(
            find_drops(TABLE, "lo"),
            Some(DeviceDrops {
                received: 4,
                sent: 12
            })
        );
        assert_eq!(
            find_drops(TABLE, "veth0"),
            Some(DeviceDrops {
                received: 24,
                sent: 32
            })
        );
        assert_eq!(find_drops(TABLE, "veth"), None);
        assert_eq!(find_drops("", "lo"), None);
    }
}
