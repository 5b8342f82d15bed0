//! The control plane's end of the queues to the dataplane, whoever is at the other end.

use std::os::fd::OwnedFd;

use crossbeam::channel::Receiver;
use weir_config::daemon::Port;
use weir_core::{Event, PortId};

use crate::dataplane::messages::{Answer, Request, Snapshot};

/// Both directions between control plane and dataplane.
pub struct DataplaneLink {
    /// Takes requests.
    pub requests: Box<dyn Requests>,
    /// What happened, oldest first.
    pub events: Receiver<Event>,
    /// Requested snapshots, filled.
    pub snapshots: Receiver<Box<Snapshot>>,
    /// What became of requests whose sender waits, in the order of the requests.
    pub answers: Receiver<Answer>,
    /// An eventfd that becomes readable when events, snapshots or answers were queued.
    pub notify: OwnedFd,
}

/// Sends requests to the dataplane without waiting.
pub trait Requests: Send {
    /// Queues `request` and wakes the dataplane.
    ///
    /// # Errors
    ///
    /// [`Busy`] when the queue is full or the dataplane has ended; the request is gone then.
    fn try_send(&self, request: Request) -> Result<(), Busy>;
}

/// The dataplane takes no more requests now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the queue to the dataplane is full")]
pub struct Busy;

/// The XDP programs of all ports.
pub trait XdpPrograms: Send + Sync {
    /// Frames seen at `port` by class (`data`, `mac_control` …) since its program was loaded; empty
    /// when they cannot be read.
    fn frames(&self, port: PortId) -> Vec<(&'static str, u64)>;

    /// Has `port` go by other settings: where a frame's priority is looked for, and what becomes of frames without a
    /// socket.
    ///
    /// # Errors
    ///
    /// What the kernel says.
    fn classify(&self, port: PortId, settings: &Port) -> anyhow::Result<()>;
}
