//! A frame as passed to captures.

use weir_core::{DropReason, Duration, Instant, PortId, Priority};

/// Direction of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Received on the port.
    In,
    /// Sent by the port.
    Out,
}

/// Treatment of a frame by the switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is buffered.
    Admitted {
        /// Marked Congestion Experienced on arrival.
        marked: bool,
        /// The ingress buffer is above xoff: the neighbour is paused.
        pausing: bool,
        /// Frames of its port and priority wait for an egress that its neighbour pauses.
        held: bool,
    },
    /// It is dropped.
    Dropped(DropReason),
    /// A parsed control frame.
    Read,
    /// Sent.
    Sent {
        /// Marked Congestion Experienced on departure.
        marked: bool,
        /// Time in the switch, if known.
        inside: Option<Duration>,
    },
}

/// A frame with its context.
#[derive(Clone, Copy, Debug)]
pub struct Sight<'a> {
    /// Time on `CLOCK_MONOTONIC`.
    pub at: Instant,
    /// Its port.
    pub port: PortId,
    /// Its direction.
    pub direction: Direction,
    /// Its treatment.
    pub verdict: Verdict,
    /// Priority assigned to a data frame; `None` for control frames.
    pub priority: Option<Priority>,
    /// Time of reception by the device's clock: the lowest 48 bits in nanoseconds. `None` if the device does not report
    /// it.
    pub hardware_nanos: Option<u64>,
    /// The whole frame, without FCS.
    pub bytes: &'a [u8],
}
