//! Messages between the dataplane thread and the control plane.
//!
//! Everything goes through bounded `crossbeam` queues; neither side ever waits for the other. The dataplane allocates
//! nothing for them: a [`Snapshot`] is allocated by the control plane, filled by the dataplane and sent back.

use std::sync::Arc;

use weir_api::counters::{DataplaneCounters, MirrorCounters};
use weir_api::words::Express;
use weir_config::daemon::MIRRORS_MAX;
use weir_core::config::PoolShare;
use weir_core::counters::PortCounters;
use weir_core::switch::{
    CableGauges, CreditGauges, Explanation, LevelEntry, PoolGauges, PriorityGauges,
};
use weir_core::units::PRIORITY_COUNT;
use weir_core::{
    Command, CommandError, Duration, Instant, MacAddress, PortId, Priority, RedConfig, Switch,
    Threshold, WatchdogConfig,
};

use super::accounts::AccountTable;
use super::express::ExpressOrder;
use super::impair::Impairment;
use super::mirrors::Mirrors;
use super::series::Series;
use super::stations::Stations;
use super::tables::{FlowTable, RouteTables, Tables};
use super::tap::Tap;
use super::vlan_tables::{BlockedIn, VlanTables};
use crate::histogram::Histogram;

pub use weir_api::counters::KernelLosses;

/// Maximum number of Level Table destinations in a [`Snapshot`].
pub const LEVEL_ENTRIES_MAX: usize = 1024;

/// A frame that was inside a switch at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftFrame {
    /// Ingress port.
    pub ingress: PortId,
    /// Its priority.
    pub priority: Priority,
    /// See [`Frame::flow_hash`](weir_core::Frame).
    pub flow_hash: u32,
    /// The whole frame, Ethernet header first.
    pub bytes: Vec<u8>,
}

/// A request to the dataplane thread.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)] // requests are few, and boxing one would allocate
pub enum Request {
    /// Execute a command of the switch core.
    Command(Command),
    /// The same for a requester that waits for the [`Answer`] of this number.
    Ask {
        /// Number of the answer.
        id: u64,
        /// The command.
        command: Command,
    },
    /// Fill this snapshot and return it.
    Snapshot(Box<Snapshot>),
    /// Copy frames to this tap, or clear the slot.
    Tap {
        /// Slot of the tap; see [`Taps`](super::tap::Taps).
        place: usize,
        /// The tap.
        tap: Option<Arc<Tap>>,
    },
    /// Take readings for this series, or clear the slot.
    Series {
        /// Index of the place, below [`PLACES`](super::series::PLACES).
        place: usize,
        /// The series.
        series: Option<Arc<Series>>,
    },
    /// Apply this impairment, or clear the slot.
    Impair {
        /// Slot, below [`IMPAIRMENTS_MAX`](super::impair::IMPAIRMENTS_MAX).
        place: usize,
        /// The impairment.
        impairment: Option<Arc<Impairment>>,
    },
    /// Forward requests for the addresses of these stations only to them.
    Stations(Arc<Stations>),
    /// Copy frames for these mirrors, whose output ports are already reserved.
    Mirrors(Arc<Mirrors>),
    /// Stop using this port's rings and hand them out.
    Part {
        /// The port.
        port: PortId,
    },
    /// Take the rings that are ready for this port, which had none.
    Join {
        /// The port.
        port: PortId,
        /// Its new address.
        address: MacAddress,
        /// True if received checksums may be unfinished.
        finishes: bool,
    },
    /// Process these frames as if they were received now, before any other.
    Inject(Vec<LeftFrame>),
    /// Handle an order about the express path.
    Express(ExpressOrder),
    /// Stop admission, send buffered frames, and end after at most `drain`.
    Stop {
        /// Maximum time for draining.
        drain: Duration,
        /// True if another switch takes unsent frames: then drain only until no more arrive.
        hands_on: bool,
    },
}

/// Result of a [`Request::Ask`] from the switch core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Number of the request.
    pub id: u64,
    /// Success, or the reason for a refusal.
    pub outcome: Result<(), CommandError>,
}

/// The whole switch at one moment.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// When the dataplane took it, on `CLOCK_MONOTONIC`.
    pub at: Instant,
    /// By [`PortId`](weir_core::PortId).
    pub ports: Vec<PortSnapshot>,
    /// By pool.
    pub pools: Vec<PoolGauges>,
    /// Shares of the classes, by priority.
    pub shares: [Option<PoolShare>; PRIORITY_COUNT],
    /// Marking of the classes, by priority.
    pub markings: [Option<RedConfig>; PRIORITY_COUNT],
    /// The Level Table, bounded.
    pub level_table: LevelTableSnapshot,
    /// Tables below that were filled, as requested.
    pub tables: Tables,
    /// Routes, if `tables` has them.
    pub routes: RouteTables,
    /// Recent flows, if `tables` has them.
    pub flows: FlowTable,
    /// VLANs: counters always, the rest if `tables` has it.
    pub vlans: VlanTables,
    /// The loop's accounts, if `tables` has them.
    pub accounts: AccountTable,
    /// The answer to the question in `tables`, if any.
    pub explanation: Option<Explanation>,
    /// Counters of each mirror, in the order of the configuration.
    pub mirrors: [MirrorCounters; MIRRORS_MAX],
    /// Maximum number of learned addresses.
    pub learning_capacity: u64,
    /// Frames inside the switch.
    pub held_frames: u64,
    /// Peak since the previous snapshot, like the gauges' peaks; in published snapshots, the peak since the start.
    pub held_frames_max: u64,
    /// Total number of UMEM frames.
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
    /// By priority: the pool thresholds of its buffers.
    pub pool_thresholds: [Option<Threshold>; PRIORITY_COUNT],
    /// Settings of the port's storm watchdog.
    pub watchdog: Option<WatchdogConfig>,
    /// By priority: credits, for classes that use them.
    pub credits: [Option<CreditGauges>; PRIORITY_COUNT],
    /// Credits that are certainly covered by slots of its RX ring.
    pub credit_slots: u32,
    /// Measurements, and the headroom that its cable requires.
    pub cable: Option<CableGauges>,
    /// VLANs in which it does not flood because of a loop.
    pub blocked: BlockedIn,
    /// Learned addresses behind it.
    pub learned: u32,
    /// True if its device completes no transmissions.
    pub stuck: bool,
    /// Losses in the kernel on the way to or from the socket.
    pub kernel: KernelLosses,
    /// Frames taken from the RX rings.
    pub received: u64,
    /// Frames that the transmitter has completed.
    pub completed: u64,
    /// Fill levels of the socket's rings.
    pub rings: Rings,
    /// State of the express path at the port. The counters include its frames.
    pub express: Express,
}

/// One ring of a socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ring {
    /// Entries that hold a frame.
    pub used: u32,
    /// Total number of entries.
    pub size: u32,
}

/// Sums of the rings of a port's sockets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rings {
    /// Memory for the kernel to receive into.
    pub fill: Ring,
    /// Received frames not yet processed.
    pub rx: Ring,
    /// Sent frames not yet taken by the device.
    pub tx: Ring,
    /// Memory of sent frames not yet reclaimed.
    pub completion: Ring,
}

impl std::iter::Sum for Rings {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        let both = |a: Ring, b: Ring| Ring {
            used: a.used + b.used,
            size: a.size + b.size,
        };
        parts.fold(Self::default(), |a, b| Self {
            fill: both(a.fill, b.fill),
            rx: both(a.rx, b.rx),
            tx: both(a.tx, b.tx),
            completion: both(a.completion, b.completion),
        })
    }
}

/// The Level Table in a [`Snapshot`].
#[derive(Clone, Debug, Default)]
pub struct LevelTableSnapshot {
    /// The destinations longest in the table, oldest first; as many as there was room for.
    pub entries: Vec<LevelEntry>,
    /// Total number of destinations in the table.
    pub total: u64,
}

impl LevelTableSnapshot {
    /// Creates an empty table with room for `capacity` destinations.
    pub fn with_room(capacity: usize) -> Self {
        Self {
            entries: Vec::with_capacity(capacity),
            total: 0,
        }
    }

    /// Copies as much of the table of `switch` as there is room for, without allocation.
    pub(crate) fn fill(&mut self, switch: &Switch) {
        let room = self.entries.capacity();
        self.entries.clear();
        self.entries.extend(switch.level_table().take(room));
        self.total = switch.level_table_len() as u64;
    }

    /// Returns the number of destinations missing from `entries`.
    pub fn left_out(&self) -> u64 {
        self.total.saturating_sub(self.entries.len() as u64)
    }
}

/// Bounds of [`RoundStats::round_times`] in nanoseconds: powers of two times 1.024 µs, to 134 ms.
pub(crate) const ROUND_BOUNDS: &[u64] = &{
    let mut bounds = [0; 18];
    let mut index = 0;
    while index < bounds.len() {
        bounds[index] = 1_024 << index;
        index += 1;
    }
    bounds
};

/// Bounds of [`RoundStats::batches`] in frames; the last is the size of one call.
pub(crate) const BATCH_BOUNDS: &[u64] = &[1, 2, 4, 8, 16, 32, 64];

/// Figures of the polling loop since the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundStats {
    /// Its counters.
    pub counters: DataplaneCounters,
    /// Longest round, without sleep.
    pub round_max: Duration,
    /// Longest delay of the thread: a round, or the excess of a sleep over its intended length.
    pub delay_max: Duration,
    /// Durations of busy rounds in nanoseconds.
    pub round_times: Histogram,
    /// Frames taken from an RX ring that was not empty.
    pub batches: Histogram,
}

impl Default for RoundStats {
    fn default() -> Self {
        Self {
            counters: DataplaneCounters::default(),
            round_max: Duration::ZERO,
            delay_max: Duration::ZERO,
            round_times: Histogram::new(ROUND_BOUNDS),
            batches: Histogram::new(BATCH_BOUNDS),
        }
    }
}
