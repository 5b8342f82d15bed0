//! The packet memory, and the sockets of all ports on it.

use weir_config::daemon::{DaemonConfig, Port, ZeroCopy};
use weir_ebpf::AttachedMode;

use super::attach::AttachedProgram;
use super::kernel::devices::Device;
use super::kernel::socket::{SocketOptions, XdpSocket};
use super::memory::umem::{Memory, MemoryOptions};
use super::DataplaneError;

/// By port, and within a port by queue.
pub(super) type Sockets = Vec<Vec<XdpSocket>>;

/// Memory of `chunks` chunks, and a socket on it for every queue of the ports.
///
/// The kernel shares a UMEM among sockets that are all bound in zero-copy, or all in copy mode: the first decides, and later ones
/// that cannot do the same are refused. With `zero-copy = "auto"`, one port that cannot therefore has all ports copied.
pub(super) fn bind(
    config: &DaemonConfig,
    devices: &[Device],
    attached: &[AttachedProgram],
    chunks: u32,
) -> Result<(Memory, Sockets), DataplaneError> {
    let wish = config.dataplane.zero_copy;
    let memory = allocate(config, chunks)?;
    let mut sockets = Vec::with_capacity(config.ports.len());
    let refused = match open(config, devices, attached, &memory, wish, &mut sockets) {
        Ok(()) => return Ok((memory, sockets)),
        Err(refused) => refused,
    };
    let shares = |of_port: &Vec<XdpSocket>| of_port.iter().any(XdpSocket::is_zero_copy);
    let sharing = sockets.iter().position(shares);
    let Some(sharing) = sharing.filter(|_| wish == ZeroCopy::Auto) else {
        return Err(refused);
    };
    let port = |index: usize| config.ports.get(index).map(|port| port.device.as_str());
    tracing::warn!(
        device = port(sharing),
        without = port(sockets.len()),
        %refused,
        "the kernel has no memory for ports with and without zero-copy: all ports are copied"
    );
    // The UMEM of a socket in zero-copy is for such sockets for good.
    drop((sockets, memory));
    let memory = allocate(config, chunks)?;
    let mut sockets = Vec::with_capacity(config.ports.len());
    open(
        config,
        devices,
        attached,
        &memory,
        ZeroCopy::Off,
        &mut sockets,
    )?;
    Ok((memory, sockets))
}

fn allocate(config: &DaemonConfig, chunks: u32) -> Result<Memory, DataplaneError> {
    let memory = Memory::new(MemoryOptions {
        count: chunks,
        chunk_size: config.dataplane.chunk_size().get() as u32,
        fill_ring: config.dataplane.rx_ring,
        completion_ring: config.dataplane.tx_ring,
        huge_pages: config.dataplane.huge_pages,
        has_long_frames: config.dataplane.has_long_frames(),
    })?;
    tracing::debug!(
        huge_pages = memory.has_huge_pages(),
        chunk = config.dataplane.chunk_size().get(),
        "packet memory"
    );
    Ok(memory)
}

/// On an error, `sockets` has those of the ports before.
fn open(
    config: &DaemonConfig,
    devices: &[Device],
    attached: &[AttachedProgram],
    memory: &Memory,
    zero_copy: ZeroCopy,
    sockets: &mut Sockets,
) -> Result<(), DataplaneError> {
    let open = |port: &Port, device: &Device, mode, queue| {
        XdpSocket::open(
            memory,
            SocketOptions {
                device: &port.device,
                driver: device.driver.name,
                generic: mode == AttachedMode::Generic,
                queue,
                rx_ring: config.dataplane.rx_ring,
                tx_ring: config.dataplane.tx_ring,
                zero_copy,
                busy_poll: config.dataplane.busy_poll,
                has_long_frames: config.dataplane.has_long_frames(),
            },
        )
    };
    for ((port, device), attached) in config.ports.iter().zip(devices).zip(attached) {
        let queues = port.queue..port.queue + port.queue_count.unwrap_or(1);
        let of_port = queues.map(|queue| open(port, device, attached.mode, queue));
        sockets.push(of_port.collect::<Result<_, _>>()?);
    }
    Ok(())
}
