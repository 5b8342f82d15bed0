//! Messages between the loop, the ports' programs and the [clerk](crate::kernel::express) about the express path.
//! `docs/src/internals/express.md` explains why they suffice.

use std::fmt::Debug;

use crossbeam::channel::Sender;
use weir_api::words::Express;
use weir_core::units::PRIORITY_COUNT;
use weir_core::{MacAddress, PortId};

/// One number for each (port, priority).
pub type ByFlow = Vec<[u64; PRIORITY_COUNT]>;

/// Frames and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    /// Frames.
    pub frames: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Words that the programs of all ports share with the loop.
pub trait Words: Debug + Send {
    /// Enables the path for frames of up to this many bytes.
    fn switch_on(&self, length_max: u64);
    /// Disables the path for all frames.
    fn switch_off(&self);
    fn gate(&self, port: u8) -> u64;
    /// Returns the number of pauses of a gate that its program has seen.
    fn seen(&self, gate: u64) -> u32;
    /// Opens an egress for `priorities` unless its gate has changed from `gate`.
    fn open(&self, port: u8, gate: u64, priorities: u8) -> bool;
    fn close(&self, port: u8);
    /// Returns the time at which its line is free, in nanoseconds.
    fn free_at(&self, port: u8) -> u64;
    /// Marks its line as busy until at least this time.
    fn occupy(&self, port: u8, until_nanos: u64);
    /// Returns the number of frames that its device did not accept.
    fn lost(&self, port: u8) -> u64;
    /// Returns the number of frames that programs have forwarded and its device has not yet received. Counted only where the
    /// device must have room.
    fn on_way(&self, port: u8) -> u64;
    /// Returns the number of frames that went to the core because its device had no room. Counted only where the device must
    /// have room.
    fn no_room(&self, port: u8) -> u64;
    /// Returns the express traffic received on a port.
    fn came_in(&self, port: u8, priority: u8) -> Passed;
    /// Returns the express traffic sent by a port, or lost there.
    fn went_out(&self, port: u8, priority: u8) -> Passed;
    /// Counts a frame inside that no program has handed over.
    fn enter(&self, ingress: u8, priority: u8);
    /// Removes `count` frames from those inside.
    fn finish(&self, ingress: u8, priority: u8, count: u64);
    /// Records that the loop's thread runs.
    fn beat(&self, now_nanos: u64);
}

/// State that the loop needs for the path.
#[derive(Debug)]
pub struct ExpressParts {
    /// The words.
    pub words: Box<dyn Words>,
    /// Priorities that may use the path, one bit for each.
    pub priorities: u8,
    /// Maximum frame length in bytes.
    pub length_max: u64,
    /// Returns the listing; it has room for the only one.
    pub listings: Sender<Box<Listing>>,
}

/// The routes that the path may use.
#[derive(Debug)]
pub struct Listing {
    /// Version of the routes; `None` before the first.
    pub version: Option<u64>,
    /// By destination, the single egress of all its flows. As many as there is room for.
    pub routes: Vec<(MacAddress, PortId)>,
}

/// Request of the clerk to the loop.
#[derive(Debug)]
pub enum ExpressOrder {
    /// Update this listing and return it.
    List(Box<Listing>),
    /// The programs have the routes of this version.
    Ready {
        /// The version.
        version: u64,
    },
    /// Open this port for express frames, or close it for the stated reason.
    Judge {
        /// The port.
        port: PortId,
        /// [`Express::Open`], or the reason against it.
        state: Express,
    },
    /// Frames that programs had forwarded, by (ingress, priority), before a grace period; those not yet received are
    /// lost.
    Missing(ByFlow),
}
