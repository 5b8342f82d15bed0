//! The XDP programs of all ports. They are attached first, since attaching may change a device's queues, and opened once
//! every queue has its socket. Until then they pass all frames to the kernel.

use std::fs::{DirEntry, File};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use weir_config::daemon::{DaemonConfig, Fallback, Port, XdpMode, QUEUES_MAX};
use weir_core::PortId;
use weir_ebpf::{AttachedMode, EbpfError, PortProgram, PortSettings, Promiscuous};

use super::allowed;
use super::programs::{self, Programs};
use crate::error::DataplaneError;
use crate::exchange::link::AttachedPort;
use crate::kernel::devices::{port_ids, Device};
use crate::kernel::ethtool;
use crate::kernel::express::ExpressPath;
use crate::kernel::long_frames::{self, Lro};
use crate::kernel::napi::Deferred;
use crate::kernel::offloads::{self, SwitchedOff};
use crate::kernel::queueing::Queueing;
use crate::kernel::settings;
use crate::kernel::socket::XdpSocket;

/// Time for a link to return after attaching a program, for which many drivers reset it.
const LINK_WAIT: Duration = Duration::from_secs(5);
const LOCK_WAIT: Duration = Duration::from_secs(2);
const LINK_POLL: Duration = Duration::from_millis(20);

const _: () = assert!(
    QUEUES_MAX == weir_ebpf::QUEUES_MAX,
    "what a file can ask for has a place in the map of sockets"
);

#[derive(Debug)]
pub(crate) struct AttachedProgram {
    pub(crate) program: PortProgram,
    pub(crate) number: PortId,
    pub(crate) facts: AttachedPort,
    pub(crate) mode: AttachedMode,
    /// See [`PortSettings::cut_length`](weir_ebpf::PortSettings::cut_length).
    pub(crate) cut_length: u16,
    /// Duplicates of its open sockets; the first one owns the packet memory.
    pub(crate) sockets: Vec<OwnedFd>,
    /// `xdp-mode = "auto"`.
    may_fall_back: bool,
    offloads: Vec<SwitchedOff>,
    lro: Option<Lro>,
    queueing: Option<Queueing>,
    deferred: Option<Deferred>,
    _promiscuous: Option<Promiscuous>,
}

impl AttachedProgram {
    /// Makes the program pass all frames to the kernel: the sockets are no longer read, and closed later.
    pub(crate) fn close(&self) -> Result<(), EbpfError> {
        self.program.update_settings(&PortSettings {
            fallback: weir_ebpf::Fallback::Pass,
            ..PortSettings::default()
        })?;
        self.program.forget_sockets();
        Ok(())
    }

    /// Attaches the program in generic mode, if the configuration permits it and the driver's queues are empty.
    pub(crate) fn fall_back(&mut self) -> Result<bool, EbpfError> {
        let may = self.may_fall_back && self.mode == AttachedMode::Native && !self.facts.zero_copy;
        if may {
            self.program
                .attach_again(self.facts.ifindex, AttachedMode::Generic)?;
            self.mode = AttachedMode::Generic;
        }
        Ok(may)
    }

    /// Detaches the program, and restores the settings that attaching it changed.
    pub(crate) fn detach(self) -> Result<(), EbpfError> {
        let detached = self.program.detach();
        if let Some(lro) = &self.lro {
            lro.put_back();
        }
        if let Some(queueing) = &self.queueing {
            queueing.put_back();
        }
        if let Some(deferred) = &self.deferred {
            deferred.put_back();
        }
        detached
    }

    /// Changes the device's settings while the switch uses it, now that no driver will restart. A virtual device needs no
    /// offload switched off: if tags are stored next to its frames, the sender put them there.
    pub(crate) fn see_to_device(
        &mut self,
        config: &DaemonConfig,
        port: &Port,
        device: &Device,
    ) -> Result<(), DataplaneError> {
        self.deferred = Deferred::see_to(&config.dataplane, &port.device, device);
        self.offloads = offloads::see_to_all(config.dataplane.offloads, port, device)?;
        Ok(())
    }
}

/// Locks the pins while a switch runs, since attaching takes over existing ones. The lock also ends with the process.
///
/// # Errors
///
/// When another switch holds the lock.
pub(crate) fn lock(
    config: &DaemonConfig,
    pin_root: &Path,
) -> Result<Option<Flock<File>>, DataplaneError> {
    let deadline = Instant::now() + LOCK_WAIT;
    loop {
        // Without a directory nothing can be pinned; pinning reports it.
        let Ok(directory) = File::open(pin_root) else {
            return Ok(None);
        };
        match Flock::lock(directory, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => return Ok(Some(lock)),
            Err((_, Errno::EWOULDBLOCK)) if Instant::now() >= deadline => break,
            Err((_, Errno::EWOULDBLOCK)) => std::thread::sleep(LINK_POLL),
            // The file system has no locks.
            Err(_) => return Ok(None),
        }
    }
    let port = config.ports.first();
    Err(DataplaneError::Socket {
        device: port.map(|port| port.device.clone()).unwrap_or_default(),
        queue: port.map_or(0, |port| port.queue),
        reason: format!(
            "another switch runs with its pins in {}",
            pin_root.display()
        ),
    })
}

/// Attaches the programs and waits for the links to return. Pins are under `pin_root` if programs are to survive a killed
/// process. A port without a device has no program.
pub(crate) fn attach(
    config: &DaemonConfig,
    devices: &[Option<Device>],
    pin_root: Option<&Path>,
    express: Option<&ExpressPath>,
    loaded: &mut Programs,
) -> Result<Vec<Option<AttachedProgram>>, DataplaneError> {
    if let Some(pin_root) = pin_root {
        remove_other_pins(config, devices, pin_root)?;
    }
    let checked = port_ids().zip(devices).map(|(number, device)| {
        let device = device.as_ref();
        device
            .map(|device| Checked::new(config, number, device, pin_root))
            .transpose()
    });
    let checked = checked.collect::<Result<Vec<_>, _>>()?;
    loaded.load_missing(config, devices, express)?;
    let mut attached = Vec::with_capacity(devices.len());
    for checked in checked {
        let program = checked.map(|checked| checked.attach(config, express, loaded));
        match program.transpose() {
            Ok(program) => attached.push(program),
            Err(error) => {
                detach_all(attached.into_iter().flatten());
                return Err(error);
            }
        }
    }
    wait_for_links(config, devices);
    let seen_to = config
        .ports
        .iter()
        .zip(devices)
        .zip(&mut attached)
        .try_for_each(|((port, device), attached)| match (device, attached) {
            (Some(device), Some(attached)) => attached.see_to_device(config, port, device),
            _ => Ok(()),
        });
    match seen_to {
        Ok(()) => Ok(attached),
        Err(error) => {
            detach_all(attached.into_iter().flatten());
            Err(error)
        }
    }
}

/// Removes the pins of other ports: a killed or replaced switch may have had others, and its programs stay attached as long
/// as their pins.
fn remove_other_pins(
    config: &DaemonConfig,
    devices: &[Option<Device>],
    pin_root: &Path,
) -> Result<(), DataplaneError> {
    // Without a directory nothing can be pinned; pinning reports it.
    let Ok(entries) = std::fs::read_dir(pin_root) else {
        return Ok(());
    };
    // Files there belong to the kernel (progs.debug, maps.debug).
    let is_directory = |entry: &DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    for entry in entries.flatten().filter(is_directory) {
        let (name, pins) = (entry.file_name(), entry.path());
        let device = weir_ebpf::pinned_device(&pins);
        let mut ports = config.ports.iter().zip(devices);
        let is_ours = ports.any(|(port, at)| {
            name.to_str() == Some(&port.name) && at.is_some_and(|at| device == Some(at.index))
        });
        if !is_ours {
            weir_ebpf::remove_stale(&pins).map_err(|source| DataplaneError::Program {
                port: name.to_string_lossy().into_owned(),
                source,
            })?;
        }
    }
    Ok(())
}

/// Attaches one port's program, with the express path if there is one. Loads it unless it is loaded already.
pub(crate) fn attach_one(
    config: &DaemonConfig,
    number: PortId,
    device: &Device,
    pin_root: Option<&Path>,
    express: Option<&ExpressPath>,
    loaded: &mut Programs,
) -> Result<AttachedProgram, DataplaneError> {
    Checked::new(config, number, device, pin_root)?.attach(config, express, loaded)
}

/// A device that can run a program and that no other process uses.
struct Checked<'a> {
    number: PortId,
    device: &'a Device,
    pins: Option<PathBuf>,
    /// True if the previous switch has left its program attached.
    is_attached: bool,
}

impl<'a> Checked<'a> {
    fn new(
        config: &DaemonConfig,
        number: PortId,
        device: &'a Device,
        pin_root: Option<&Path>,
    ) -> Result<Self, DataplaneError> {
        let port = &config.ports[number.index()];
        allowed::check_metadata(config.dataplane.xdp_mode, port, device)?;
        let pins = pin_root.map(|root| root.join(&port.name));
        let pinned = pins.as_deref().and_then(weir_ebpf::pinned_device);
        let is_attached = pinned == Some(device.index);
        if !is_attached {
            allowed::check_holder(config, port, device)?;
        }
        Ok(Self {
            number,
            device,
            pins,
            is_attached,
        })
    }

    /// See [`attach_one`].
    fn attach(
        self,
        config: &DaemonConfig,
        express: Option<&ExpressPath>,
        loaded: &mut Programs,
    ) -> Result<AttachedProgram, DataplaneError> {
        let Self {
            number,
            device,
            pins,
            is_attached,
        } = self;
        let port = &config.ports[number.index()];
        let lro = long_frames::check(&config.dataplane, port, device, is_attached)?;
        let mut program = match loaded.take(number, device) {
            Some(program) => program,
            None => programs::load(config, number, device, express)?,
        };
        let mode = program
            .attach(
                device.index,
                allowed::attach_mode(config.dataplane.xdp_mode, port, device),
                pins.as_deref(),
            )
            .map_err(|error| allowed::cannot_attach(port, device, error))?;
        if mode == AttachedMode::Generic {
            let why = match config.dataplane.xdp_mode {
                XdpMode::Generic => "xdp-mode asks for it",
                _ => "the driver has no native support that a switch can use",
            };
            tracing::warn!(
                port = port.name,
                device = port.device,
                driver = device.driver.name,
                "generic XDP: {why}; forwarding will be slow"
            );
        }
        let promiscuous = Promiscuous::new(device.index)
        .inspect_err(|error| {
            tracing::warn!(
                port = port.name,
                %error,
                "cannot enable promiscuous mode: the device may filter out frames for other addresses"
            );
        })
        .ok();
        Ok(AttachedProgram {
            program,
            number,
            facts: AttachedPort {
                ifindex: device.index,
                address: device.address,
                xdp_mode: mode.name(),
                zero_copy: false,
            },
            mode,
            cut_length: 0,
            sockets: Vec::new(),
            may_fall_back: config.dataplane.xdp_mode == XdpMode::Auto,
            offloads: Vec::new(),
            lro,
            queueing: Queueing::see_to(&port.device, device),
            deferred: None,
            _promiscuous: promiscuous,
        })
    }
}

/// Waits until the links that were up before are back, or a limit is over.
fn wait_for_links(config: &DaemonConfig, devices: &[Option<Device>]) {
    let began = Instant::now();
    for (port, device) in config.ports.iter().zip(devices) {
        let Some(device) = device else { continue };
        let is_down = || ethtool::has_link(&port.device) == Some(false);
        if !device.had_link || !is_down() {
            continue;
        }
        while is_down() && began.elapsed() < LINK_WAIT {
            std::thread::sleep(LINK_POLL);
        }
        tracing::info!(
            port = port.name,
            device = port.device,
            waited = ?began.elapsed(),
            "attaching the XDP program reset the link, as this driver does once at every start"
        );
    }
}

/// Completes the configuration with values known once the programs are attached: receive queues, and the chunk size.
pub(crate) fn settle(
    config: &DaemonConfig,
    devices: &[Option<Device>],
) -> Result<DaemonConfig, DataplaneError> {
    let has: Vec<Option<u32>> = config
        .ports
        .iter()
        .map(|port| ethtool::receive_queues(&port.device))
        .collect();
    let there = devices.iter().flatten();
    let drivers: Vec<_> = there.map(|device| device.driver).collect();
    let settled = config.settled(&has, &drivers);
    for (port, has) in settled.ports.iter().zip(has) {
        check_queues(&settled.ports, port, has)?;
        check_credits(&settled, port)?;
    }
    Ok(settled)
}

/// Refuses several queues for classes with credits, which count the slots of a single ring.
pub(crate) fn check_credits(config: &DaemonConfig, port: &Port) -> Result<(), DataplaneError> {
    match port.queue_count {
        Some(has @ 2..) if config.has_credits() => Err(DataplaneError::CreditQueues {
            port: port.name.clone(),
            device: port.device.clone(),
            has,
        }),
        _ => Ok(()),
    }
}

/// Refuses a queue that receives frames but has no socket.
pub(crate) fn check_queues(
    ports: &[Port],
    port: &Port,
    has: Option<u32>,
) -> Result<(), DataplaneError> {
    let has = has.unwrap_or(0);
    // A port's own missing queue is reported when its socket is opened.
    let mut left_out = port.left_out(ports, has);
    if left_out.is_empty() {
        return Ok(());
    }
    if let Some(spread_over) = ethtool::rss_queues(&port.device) {
        left_out.retain(|queue| spread_over.contains(queue));
    }
    match left_out.first() {
        None => Ok(()),
        Some(queue) if port.fallback == Fallback::Pass => {
            tracing::warn!(
                port = port.name,
                device = port.device,
                queue,
                "frames of a queue without a socket go to the kernel, as `fallback` requires"
            );
            Ok(())
        }
        Some(queue) => Err(DataplaneError::Queues {
            port: port.name.clone(),
            device: port.device.clone(),
            has,
            queue: *queue,
        }),
    }
}

/// The sockets of a port for its XDP program: by queue, beginning at the port's first.
#[derive(Debug)]
pub(crate) struct PortDoor {
    sockets: Vec<OwnedFd>,
    zero_copy: bool,
    cut_length: u16,
}

impl PortDoor {
    pub(crate) fn to(
        config: &DaemonConfig,
        device: &Device,
        sockets: &[XdpSocket],
    ) -> std::io::Result<Self> {
        let duplicates = sockets
            .iter()
            .map(|socket| socket.as_fd().try_clone_to_owned());
        let zero_copy = sockets.iter().any(XdpSocket::is_zero_copy);
        let is_cut = zero_copy && !config.dataplane.has_long_frames();
        Ok(Self {
            sockets: duplicates.collect::<std::io::Result<_>>()?,
            zero_copy: sockets.iter().all(XdpSocket::is_zero_copy),
            cut_length: device
                .driver
                .cut_length(config.dataplane.chunk_size())
                .filter(|_| is_cut)
                .map_or(0, |length| length.get() as u16),
        })
    }
}

/// Opens the port to frames by passing its sockets to the program. Resets earlier counts.
pub(crate) fn open_door(
    port: &Port,
    attached: &mut AttachedProgram,
    door: PortDoor,
) -> Result<(), DataplaneError> {
    let failed = |source| DataplaneError::Program {
        port: port.name.clone(),
        source,
    };
    attached.facts.zero_copy = door.zero_copy;
    attached.cut_length = door.cut_length;
    let program = &mut attached.program;
    // Nothing is redirected that could be part of a frame.
    let closed = programs::closed(port, attached.number, door.cut_length);
    program.update_settings(&closed).map_err(failed)?;
    program.forget_counters().map_err(failed)?;
    for (queue, socket) in (port.queue..).zip(&door.sockets) {
        program.set_socket(queue, socket.as_fd()).map_err(failed)?;
    }
    let open = settings::program(port, attached.number, door.cut_length);
    program.update_settings(&open).map_err(failed)?;
    attached.sockets = door.sockets;
    Ok(())
}

pub(crate) fn detach_all(ports: impl IntoIterator<Item = AttachedProgram>) {
    for port in ports {
        if let Err(error) = port.detach() {
            tracing::warn!(%error, "cannot detach an XDP program");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ports(text: &str) -> Vec<Port> {
        let text = format!("name = \"s1\"\n{text}");
        let config = DaemonConfig::parse(&text, Path::new("s1.toml")).unwrap();
        config.ports
    }

    fn port(device: &str, more: &str) -> String {
        format!("[[port]]\ndevice = \"{device}\"\nrole = \"edge\"\nrate = \"1Gbit\"\n{more}\n")
    }

    #[test]
    fn a_queue_without_a_socket_is_refused() {
        // Without the device nothing is known about its RSS.
        let split = ports(
            &[
                port("weir-none", "name = \"a\"\nqueues = 2"),
                port("weir-none", "name = \"b\"\nqueue = 2"),
            ]
            .concat(),
        );
        assert!(check_queues(&split, &split[0], Some(3)).is_ok());
        assert!(check_queues(&split, &split[0], None).is_ok());
        let refused = check_queues(&split, &split[0], Some(5)).unwrap_err();
        assert!(matches!(
            refused,
            DataplaneError::Queues {
                has: 5,
                queue: 3,
                ..
            }
        ));
        assert!(
            check_queues(&split, &split[1], Some(2)).is_ok(),
            "no such queue"
        );
        let passing = ports(&port("weir-none", "queues = 1\nfallback = \"pass\""));
        assert!(check_queues(&passing, &passing[0], Some(5)).is_ok());
    }
}
