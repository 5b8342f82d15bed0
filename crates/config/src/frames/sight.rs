//! A frame as whoever handles it shows it to captures.

use weir_core::{DropReason, Duration, Instant, PortId, Priority};

/// Which way a frame went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// It came in by the port.
    In,
    /// It went out by the port.
    Out,
}

/// What the switch did with a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is buffered.
    Admitted {
        /// It was marked Congestion Experienced on its way in.
        marked: bool,
        /// The ingress buffer is past xoff: the neighbour is told to pause.
        pausing: bool,
        /// It waits, or others of its port and priority do, for an egress that its neighbour pauses.
        held: bool,
    },
    /// It is dropped.
    Dropped(DropReason),
    /// A control frame that was read.
    Read,
    /// It left.
    Sent {
        /// It was marked Congestion Experienced on its way out.
        marked: bool,
        /// How long it was inside the switch, where that is known.
        inside: Option<Duration>,
    },
}

/// A frame as whoever handles it sees it.
#[derive(Clone, Copy, Debug)]
pub struct Sight<'a> {
    /// When, on `CLOCK_MONOTONIC`.
    pub at: Instant,
    /// Where.
    pub port: PortId,
    /// Which way.
    pub direction: Direction,
    /// What became of it.
    pub verdict: Verdict,
    /// The priority that a data frame was given; `None` for control frames.
    pub priority: Option<Priority>,
    /// When the device received it, by the device's own clock: the lowest 48 bits of its nanoseconds. `None` where it does not say.
    pub hardware_nanos: Option<u64>,
    /// The whole frame, without FCS.
    pub bytes: &'a [u8],
}
