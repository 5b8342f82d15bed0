//! What crosses between the dataplane thread and the control plane.
//!
//! Everything goes through bounded `crossbeam` queues; neither side ever waits for the other. The
//! dataplane allocates nothing for it: a [`Snapshot`] is allocated by the control plane, filled by the
//! dataplane and sent back.

use weir_core::counters::PortCounters;
use weir_core::switch::PriorityGauges;
use weir_core::units::PRIORITY_COUNT;
use weir_core::{Command, Duration, Instant};

/// A request to the dataplane thread.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)] // requests are few, and boxing one would allocate
pub enum Request {
    /// For the switch core.
    Command(Command),
    /// Fill this and send it back.
    Snapshot(Box<Snapshot>),
    /// Admit nothing more, send what is buffered, and end; at the latest after this long.
    Stop {
        /// How long draining may take.
        drain: Duration,
    },
}

/// The whole switch at one moment.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// When the dataplane took it, on `CLOCK_MONOTONIC`.
    pub at: Instant,
    /// By [`PortId`](weir_core::PortId).
    pub ports: Vec<PortSnapshot>,
    /// Frames inside the switch.
    pub held_frames: u64,
    /// UMEM frames in all.
    pub umem_frames: u64,
    /// UMEM frames in no ring and no queue.
    pub umem_frames_free: u64,
    /// The loop's own figures.
    pub rounds: RoundStats,
}

/// One port in a [`Snapshot`].
#[derive(Clone, Debug, Default)]
pub struct PortSnapshot {
    /// The core's counters.
    pub counters: PortCounters,
    /// The core's gauges, by priority.
    pub gauges: [PriorityGauges; PRIORITY_COUNT],
    /// What the kernel lost on the way to or from the socket.
    pub kernel: KernelLosses,
}

/// `XDP_STATISTICS` of a port's socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelLosses {
    /// Dropped for other reasons than a full ring.
    pub rx_dropped: u64,
    /// Dropped because the RX ring was full.
    pub rx_ring_full: u64,
    /// Failed to take a frame from the fill ring.
    pub rx_fill_ring_empty: u64,
    /// RX descriptors that were not valid.
    pub rx_invalid_descs: u64,
    /// TX descriptors that were not valid.
    pub tx_invalid_descs: u64,
    /// Frames that the device took and dropped.
    pub tx_device_drops: u64,
}

/// Figures of the polling loop since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoundStats {
    /// Rounds.
    pub rounds: u64,
    /// Rounds that found something to do.
    pub busy_rounds: u64,
    /// Times the thread slept in poll(2).
    pub sleeps: u64,
    /// Time spent asleep.
    pub slept: Duration,
    /// Longest round, sleep left out.
    pub round_max: Duration,
    /// Events that found the queue to the control plane full.
    pub events_lost: u64,
    /// Commands that the switch core refused: another loop holds the egress, or the control queue is full.
    pub commands_refused: u64,
    /// Frames received from all ports, control frames included.
    pub rx_frames: u64,
    /// Frames handed to all transmitters, control frames included.
    pub tx_frames: u64,
}
