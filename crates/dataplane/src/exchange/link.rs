//! Interface of a dataplane to the code above it: its ends of the queues, its programs, its life.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use crossbeam::channel::Receiver;
use weir_api::words::Attached;
use weir_config::daemon::Port;
use weir_core::{Event, MacAddress, PortId};

use super::messages::{Answer, LeftFrame, Request, Snapshot};
use crate::closing::Closing;

/// Both directions between control plane and dataplane.
pub struct DataplaneLink {
    /// Sends requests.
    pub requests: Box<dyn Requests>,
    /// Receives events, oldest first.
    pub events: Receiver<Event>,
    /// Receives requested snapshots, filled.
    pub snapshots: Receiver<Box<Snapshot>>,
    /// Receives answers to requests with a waiting sender, in the order of the requests.
    pub answers: Receiver<Answer>,
    /// An eventfd that becomes readable when events, snapshots or answers are queued.
    pub notify: OwnedFd,
}

/// Sends requests to the dataplane without waiting.
pub trait Requests: Send {
    /// Queues `request` and wakes the dataplane.
    ///
    /// # Errors
    ///
    /// [`Busy`] when the queue is full or the dataplane has ended; the request is lost.
    fn try_send(&self, request: Request) -> Result<(), Busy>;
}

/// The dataplane accepts no more requests now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the queue to the dataplane is full; try again in a moment")]
pub struct Busy;

/// The XDP programs of all ports.
pub trait XdpPrograms: Send + Sync {
    /// Frames seen at `port` by class (`data`, `mac_control` …) since its program was loaded; empty if they cannot be read.
    fn frames(&self, port: PortId) -> Vec<(&'static str, u64)>;

    /// Returns the verdicts on frames at `port` (`redirected`, `dropped` …) since its sockets were
    /// opened; empty when they cannot be read.
    fn verdicts(&self, port: PortId) -> Vec<(&'static str, u64)>;

    /// Returns the mode in which `port`'s program is attached: `native` or `generic`; `None` when
    /// there is no program.
    fn mode(&self, port: PortId) -> Option<&'static str>;

    /// Attaches `port`'s program in generic mode if the configuration permits both modes, and its
    /// sockets are in copy mode. Returns false otherwise.
    ///
    /// # Errors
    ///
    /// The kernel's error.
    fn fall_back(&self, port: PortId) -> anyhow::Result<bool>;

    /// Changes the settings of `port`: the source of a frame's priority, and the fate of frames without a socket.
    ///
    /// # Errors
    ///
    /// The kernel's error.
    fn classify(&self, port: PortId, settings: &Port) -> anyhow::Result<()>;

    /// Attaches `port`'s device and begins to forward. Returns `None` when there is no device, or the port has one already.
    /// May block for some time.
    ///
    /// # Errors
    ///
    /// The reason for which the device cannot be used.
    fn take(&self, port: PortId) -> anyhow::Result<Option<AttachedPort>>;

    /// Releases `port`'s device, present or gone. Frames that wait for it are dropped and counted. May block for some time.
    ///
    /// # Errors
    ///
    /// The kernel's error; the port is released nevertheless.
    fn release(&self, port: PortId) -> anyhow::Result<()>;

    /// Opens a socket for whole LLDP frames on `port`'s device.
    ///
    /// # Errors
    ///
    /// The kernel's error, or that the port has no device.
    fn lldp_socket(&self, port: PortId) -> io::Result<OwnedFd>;
}

/// A running dataplane. The daemon uses [`Dataplane`](crate::Dataplane); tests implement their own.
pub trait RunningDataplane: Send + 'static {
    /// Returns the queues to and from it. Called once.
    ///
    /// # Errors
    ///
    /// When the eventfd cannot be duplicated.
    fn link(&self) -> io::Result<DataplaneLink>;

    /// Returns the properties of each port that are known once it is attached, in the configuration's order.
    fn attached(&self) -> Vec<AttachedPort>;

    /// See [`XdpPrograms::frames`].
    fn xdp_frames(&self, port: PortId) -> Vec<(&'static str, u64)>;

    /// See [`XdpPrograms::verdicts`].
    fn xdp_verdicts(&self, _port: PortId) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// See [`XdpPrograms::mode`].
    fn xdp_mode(&self, port: PortId) -> Option<&'static str> {
        let attached = self.attached();
        attached.get(port.index()).map(|port| port.xdp_mode)
    }

    /// See [`XdpPrograms::fall_back`].
    ///
    /// # Errors
    ///
    /// The kernel's error.
    fn fall_back(&mut self, _port: PortId) -> anyhow::Result<bool> {
        Ok(false)
    }

    /// See [`XdpPrograms::classify`].
    ///
    /// # Errors
    ///
    /// The kernel's error.
    fn classify(&mut self, port: PortId, settings: &Port) -> anyhow::Result<()>;

    /// Returns a socket for each port, in the configuration's order, that sends and receives whole LLDP frames. Called once,
    /// if LLDP is enabled.
    fn lldp_sockets(&self) -> Vec<io::Result<OwnedFd>> {
        Vec::new()
    }

    /// Returns one such socket for a port whose device has appeared since.
    ///
    /// # Errors
    ///
    /// The kernel's error, or that the port has no device.
    fn lldp_socket(&self, _port: PortId) -> io::Result<OwnedFd> {
        Err(io::ErrorKind::NotFound.into())
    }

    /// See [`XdpPrograms::take`].
    ///
    /// # Errors
    ///
    /// The reason for which the device cannot be used.
    fn take(&mut self, _port: PortId) -> anyhow::Result<Option<AttachedPort>> {
        Ok(None)
    }

    /// See [`XdpPrograms::release`].
    ///
    /// # Errors
    ///
    /// The kernel's error.
    fn release(&mut self, _port: PortId) -> anyhow::Result<()> {
        Ok(())
    }

    /// Stops admission, sends buffered frames for at most `drain`, and ends.
    ///
    /// # Errors
    ///
    /// The settings that could not be restored.
    fn stop(self, drain: Duration, programs: Programs) -> anyhow::Result<Stopped>;
}

/// Fate of the XDP programs at the end of a dataplane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Programs {
    /// Detach them.
    Detach,
    /// Leave them attached for the next switch; until then they pass all frames to the kernel. Attaching again would reset
    /// the links of many devices, and no pause could reach a neighbour in the meantime.
    Leave,
}

/// One attached port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttachedPort {
    /// The device's index.
    pub ifindex: u32,
    /// The port's own address.
    pub address: MacAddress,
    /// `native` or `generic`.
    pub xdp_mode: &'static str,
    /// True when the driver shares memory with the socket.
    pub zero_copy: bool,
}

impl AttachedPort {
    /// Describes a port without a device.
    pub fn absent(address: MacAddress) -> Self {
        Self {
            ifindex: 0,
            address,
            xdp_mode: Attached::Detached.name(),
            zero_copy: false,
        }
    }

    /// Returns true without a device.
    pub fn is_absent(&self) -> bool {
        self.xdp_mode == Attached::Detached.name()
    }
}

/// Result of stopping the dataplane.
#[derive(Debug, Default)]
pub struct Stopped {
    /// Frames that a transmitter still held.
    pub lost_in_flight: u64,
    /// Frames that could not be sent.
    pub left: Vec<LeftFrame>,
    /// Frames that found no socket at the end and were handled by the fallback, and frames of lossy classes received during
    /// draining.
    pub missed: u64,
    /// Objects that are not closed yet.
    pub closing: Closing,
}

impl Stopped {
    /// Returns the number of frames that are lost unless another switch takes them.
    pub fn held_frames(&self) -> u64 {
        self.lost_in_flight + self.left.len() as u64
    }
}
