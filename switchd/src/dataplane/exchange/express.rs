//! Messages between the loop, the programs of the ports and the
//! [clerk](crate::dataplane::kernel::express) about the express path. The argument is in the book
//! (`docs/src/internals/express.md`).

use std::fmt::Debug;

use crossbeam::channel::Sender;
use weir_api::words::Express;
use weir_core::units::PRIORITY_COUNT;
use weir_core::{MacAddress, PortId};

/// A number for each (port, priority).
pub type ByFlow = Vec<[u64; PRIORITY_COUNT]>;

/// Frames and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    /// Frames.
    pub frames: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// The words that the programs of all ports share with the loop.
pub trait Words: Debug + Send {
    /// Lets frames up to this many bytes take the path.
    fn switch_on(&self, length_max: u64);
    /// No frame may.
    fn switch_off(&self);
    /// The gate of an egress.
    fn gate(&self, port: u8) -> u64;
    /// Pauses that its program has seen, of a gate.
    fn seen(&self, gate: u64) -> u32;
    /// Opens an egress for priorities unless something has happened since its gate was this.
    fn open(&self, port: u8, gate: u64, priorities: u8) -> bool;
    /// Shuts it.
    fn close(&self, port: u8);
    /// When its line is free, in nanoseconds.
    fn free_at(&self, port: u8) -> u64;
    /// Its line is busy at least until then.
    fn occupy(&self, port: u8, until_nanos: u64);
    /// Frames that its device did not take.
    fn lost(&self, port: u8) -> u64;
    /// Frames that its device has not been given yet, of those that programs have let pass; only where the device must have room.
    fn on_way(&self, port: u8) -> u64;
    /// Frames that went to the core since its device had no room for them; only where it must have.
    fn no_room(&self, port: u8) -> u64;
    /// Returns the express traffic received on a port.
    fn came_in(&self, port: u8, priority: u8) -> Passed;
    /// Returns the express traffic sent by a port, or lost there.
    fn went_out(&self, port: u8, priority: u8) -> Passed;
    /// A frame is inside that no program has handed over.
    fn enter(&self, ingress: u8, priority: u8);
    /// Removes this many frames from those inside.
    fn finish(&self, ingress: u8, priority: u8, count: u64);
    /// This thread runs.
    fn beat(&self, now_nanos: u64);
}

/// State that the loop needs for the path.
#[derive(Debug)]
pub struct ExpressParts {
    /// The words.
    pub words: Box<dyn Words>,
    /// Priorities that may use it, one bit for each.
    pub priorities: u8,
    /// The longest frame in bytes.
    pub length_max: u64,
    /// Takes listings back; there is room for the only one.
    pub listings: Sender<Box<Listing>>,
}

/// The routes that frames may go by.
#[derive(Debug)]
pub struct Listing {
    /// Which state of the routes it has; `None` before the first.
    pub version: Option<u64>,
    /// By destination: the one port that all flows leave by. As many as there is room for.
    pub routes: Vec<(MacAddress, PortId)>,
}

/// Request of the clerk to the loop.
#[derive(Debug)]
pub enum ExpressOrder {
    /// Bring this up to date and send it back.
    List(Box<Listing>),
    /// The programs have the routes of this version.
    Ready {
        /// Which.
        version: u64,
    },
    /// Frames may leave by this port, or this keeps them from it.
    Judge {
        /// The port.
        port: PortId,
        /// [`Express::Open`], or why not.
        state: Express,
    },
    /// Programs had passed on these numbers of frames by (ingress, priority) before a grace period:
    /// those that have not come never will.
    Missing(ByFlow),
}
