//! The packet memory, and the sockets of all ports on it.

use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use weir_config::daemon::{DaemonConfig, HugePages, Port, ZeroCopy};
use weir_core::{Bytes, Priority};
use weir_ebpf::AttachedMode;

use super::attach::{AttachedProgram, PortDoor};
use crate::error::DataplaneError;
use crate::kernel::devices::Device;
use crate::kernel::socket::{SocketOptions, XdpSocket};
use crate::memory::shares::Shares;
use crate::memory::umem::{self, Memory, MemoryOptions};
use crate::rings::slots::KeptSlots;

/// The memory with all sockets bound to it, by port, and by queue within a port. A port without a device has none.
#[derive(Debug)]
pub(crate) struct Bound {
    pub(crate) memory: Memory,
    pub(crate) shares: Shares,
    pub(crate) sockets: Vec<Vec<XdpSocket>>,
    pub(crate) doors: Vec<Option<PortDoor>>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Wish {
    pub(crate) zero_copy: ZeroCopy,
    /// See [`queue`](weir_ebpf::queue).
    pub(crate) patience: Duration,
}

/// Allocates memory of `chunks` chunks, and a socket on it for every queue of the ports that have a
/// device.
///
/// The kernel shares a UMEM among sockets that are all bound in zero-copy, or all in copy mode. The first decides, and
/// later ones that cannot do the same are refused. With `zero-copy = "auto"`, a single port without zero-copy therefore
/// puts all ports into copy mode.
pub(crate) fn bind(
    config: &DaemonConfig,
    devices: &[Option<Device>],
    attached: &[Option<AttachedProgram>],
    chunks: u32,
    reserved: Option<Reserved>,
    patience: Duration,
) -> Result<Bound, DataplaneError> {
    let wish = Wish {
        zero_copy: config.dataplane.zero_copy,
        patience,
    };
    let options = options(config, chunks);
    let reserved = reserved.filter(|reserved| reserved.options == options);
    let mut bound = match reserved {
        Some(reserved) => Bound::from(reserved),
        None => Bound::from(Reserved::new(options)?),
    };
    let refused = match bound.open_all(config, devices, attached, wish) {
        Ok(()) => return Ok(bound),
        Err(refused) => refused,
    };
    let shares = |of_port: &Vec<XdpSocket>| of_port.iter().any(XdpSocket::is_zero_copy);
    let sharing = bound.sockets.iter().position(shares);
    let Some(sharing) = sharing.filter(|_| wish.zero_copy == ZeroCopy::Auto) else {
        return Err(refused);
    };
    let port = |index: usize| config.ports.get(index).map(|port| port.device.as_str());
    tracing::warn!(
        device = port(sharing),
        without = port(bound.sockets.len()),
        %refused,
        "the kernel shares no memory between ports with and without zero-copy: all ports are copied"
    );
    // Once used by a zero-copy socket, a UMEM accepts only such sockets.
    drop(bound);
    let mut bound = Bound::from(Reserved::new(options)?);
    let copied = Wish {
        zero_copy: ZeroCopy::Off,
        patience,
    };
    bound.open_all(config, devices, attached, copied)?;
    Ok(bound)
}

fn options(config: &DaemonConfig, chunks: u32) -> MemoryOptions {
    MemoryOptions {
        count: chunks,
        chunk_size: config.dataplane.chunk_size().get() as u32,
        fill_ring: config.dataplane.rx_ring(),
        completion_ring: config.dataplane.tx_ring,
        huge_pages: config.dataplane.huge_pages,
        has_long_frames: config.dataplane.has_long_frames(),
    }
}

/// Memory without any bound socket.
#[derive(Debug)]
pub(crate) struct Reserved {
    options: MemoryOptions,
    memory: Memory,
}

impl Reserved {
    /// Allocates memory for a switch that is to replace one with as much. Returns `None` if it cannot be allocated twice, or
    /// only once in huge pages.
    pub(super) fn beside_another(config: &DaemonConfig, chunks: u32) -> Option<Self> {
        let reserved = Self::new(options(config, chunks)).ok()?;
        let is_as_good = config.dataplane.huge_pages == HugePages::Off
            || reserved.memory.has_huge_pages()
            || !umem::machine_has_huge_pages();
        is_as_good.then_some(reserved)
    }

    /// Allocates memory for a switch that has none yet.
    pub(super) fn first(config: &DaemonConfig, chunks: u32) -> Result<Self, DataplaneError> {
        Self::new(options(config, chunks))
    }

    fn new(options: MemoryOptions) -> Result<Self, DataplaneError> {
        let memory = Memory::new(options)?;
        tracing::debug!(
            huge_pages = memory.has_huge_pages(),
            chunk = options.chunk_size,
            "packet memory"
        );
        Ok(Self { options, memory })
    }
}

impl From<Reserved> for Bound {
    fn from(Reserved { options, memory }: Reserved) -> Self {
        Self {
            shares: memory.shares(options),
            memory,
            sockets: Vec::new(),
            doors: Vec::new(),
        }
    }
}

impl Bound {
    /// Opens all sockets. On an error, the sockets of earlier ports stay open.
    fn open_all(
        &mut self,
        config: &DaemonConfig,
        devices: &[Option<Device>],
        attached: &[Option<AttachedProgram>],
        wish: Wish,
    ) -> Result<(), DataplaneError> {
        let ports = config.ports.iter();
        for (port, (device, attached)) in ports.zip(devices.iter().zip(attached)) {
            let (Some(device), Some(attached)) = (device, attached) else {
                self.sockets.push(Vec::new());
                self.doors.push(None);
                continue;
            };
            let shares = &mut self.shares;
            let opened = open(config, port, device, attached, wish, shares)?;
            check_buffers(config, port, device, &opened)?;
            self.doors.push(Some(door_to(config, device, &opened)?));
            self.sockets.push(opened);
        }
        Ok(())
    }
}

pub(crate) fn door_to(
    config: &DaemonConfig,
    device: &Device,
    sockets: &[XdpSocket],
) -> Result<PortDoor, DataplaneError> {
    PortDoor::to(config, device, sockets).map_err(|source| DataplaneError::System {
        what: "duplicating a socket",
        source,
    })
}

pub(crate) fn open(
    config: &DaemonConfig,
    port: &Port,
    device: &Device,
    attached: &AttachedProgram,
    wish: Wish,
    shares: &mut Shares,
) -> Result<Vec<XdpSocket>, DataplaneError> {
    let mut sockets = Vec::new();
    for queue in port.queue..port.queue + port.queue_count.unwrap_or(1) {
        let options = SocketOptions {
            device: &port.device,
            driver: device.driver.name,
            generic: attached.mode == AttachedMode::Generic,
            queue,
            rx_ring: config.dataplane.rx_ring(),
            tx_ring: config.dataplane.tx_ring,
            zero_copy: wish.zero_copy,
            busy_poll: config.dataplane.busy_poll,
            has_long_frames: config.dataplane.has_long_frames(),
            patience: wish.patience,
        };
        let mut socket = XdpSocket::open(shares.umem(), options)?;
        let words = attached.program.slot_words(queue);
        let words = words.map_err(|source| DataplaneError::Program {
            port: port.name.clone(),
            source,
        })?;
        if let (Some(words), Some(kept)) = (words, config.kept_slots(port)) {
            socket.keep_slots(words, kept_slots(config, kept));
        }
        shares.note_open(attached.number.index(), socket.as_fd().as_raw_fd());
        sockets.push(socket);
    }
    Ok(sockets)
}

fn kept_slots(config: &DaemonConfig, kept: u32) -> KeptSlots {
    let lossless = Priority::ALL.into_iter().filter(|priority| {
        let class = config.class_of(*priority);
        class.is_some_and(|class| class.mode.is_lossless())
    });
    KeptSlots {
        kept,
        per_credit: config.slots_of_a_credit(),
        lossless: lossless.fold(0, |bits, priority| bits | 1 << priority.index()),
        part_bytes: config.slot_part().map_or(0, Bytes::get),
    }
}

/// Refuses zero-copy sockets whose buffers do not hold a frame.
pub(crate) fn check_buffers(
    config: &DaemonConfig,
    port: &Port,
    device: &Device,
    sockets: &[XdpSocket],
) -> Result<(), DataplaneError> {
    if !sockets.iter().any(XdpSocket::is_zero_copy) {
        return Ok(());
    }
    device
        .driver
        .holds_frames(&config.dataplane)
        .map_err(|short| DataplaneError::Buffer {
            port: port.name.clone(),
            device: port.device.clone(),
            driver: device.driver.name,
            mtu: config
                .dataplane
                .mtu
                .saturating_sub(short.needed.saturating_sub(short.has)),
            short,
        })
}
