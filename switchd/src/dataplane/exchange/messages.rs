//! Messages between the dataplane thread and the control plane.
//!
//! Everything goes through bounded `crossbeam` queues; neither side ever waits for the other. The
//! dataplane allocates nothing for it: a [`Snapshot`] is allocated by the control plane, filled by
//! the dataplane and sent back.

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
use crate::model::histogram::Histogram;

pub use weir_api::counters::KernelLosses;

/// Destinations of the Level Table that a [`Snapshot`] has at most.
pub const LEVEL_ENTRIES_MAX: usize = 1024;

/// A frame that was in a switch at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftFrame {
    /// The port that it came in by.
    pub ingress: PortId,
    /// Its priority.
    pub priority: Priority,
    /// See [`Frame::flow_hash`](weir_core::Frame).
    pub flow_hash: u32,
    /// All of it, Ethernet header first.
    pub bytes: Vec<u8>,
}

/// A request to the dataplane thread.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)] // requests are few, and boxing one would allocate
pub enum Request {
    /// For the switch core.
    Command(Command),
    /// For the switch core, from a requester that waits for an [`Answer`] of the same number.
    Ask {
        /// Which one.
        id: u64,
        /// The command.
        command: Command,
    },
    /// Fill this and send it back.
    Snapshot(Box<Snapshot>),
    /// Show frames to this tap from now on, or to none any more at this place.
    Tap {
        /// Its place; see [`Taps`](super::tap::Taps).
        place: usize,
        /// The tap.
        tap: Option<Arc<Tap>>,
    },
    /// Take readings for this series from now on, or none any more at this place.
    Series {
        /// Which place, below [`PLACES`](super::series::PLACES).
        place: usize,
        /// The series.
        series: Option<Arc<Series>>,
    },
    /// Do this to frames from now on, or nothing any more at this place.
    Impair {
        /// Which place, below [`IMPAIRMENTS_MAX`](super::impair::IMPAIRMENTS_MAX).
        place: usize,
        /// The impairment.
        impairment: Option<Arc<Impairment>>,
    },
    /// Send requests for the addresses of these to them alone from now on.
    Stations(Arc<Stations>),
    /// Copy frames for these from now on; their output ports are reserved already.
    Mirrors(Arc<Mirrors>),
    /// Have no more to do with this port's rings, and hand them out.
    Part {
        /// The port.
        port: PortId,
    },
    /// Take the rings that wait to be handed in for this port, which had none.
    Join {
        /// The port.
        port: PortId,
        /// Its address from now on.
        address: MacAddress,
        /// Checksums may arrive there unfinished.
        finishes: bool,
    },
    /// Take these as if they came in now, before any other.
    Inject(Vec<LeftFrame>),
    /// For the express path.
    Express(ExpressOrder),
    /// Admit nothing more, send what is buffered, and end; at the latest after this long.
    Stop {
        /// Maximum time for draining.
        drain: Duration,
        /// Another switch takes what is not sent: no longer than until nothing comes any more.
        hands_on: bool,
    },
}

/// Result of a [`Request::Ask`] from the switch core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Which one.
    pub id: u64,
    /// It is done, or why it was refused.
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
    /// Filled ones of the tables below, as requested.
    pub tables: Tables,
    /// Routes, if `tables` has them.
    pub routes: RouteTables,
    /// Recent flows, if `tables` has them.
    pub flows: FlowTable,
    /// VLANs: counters always, the rest if `tables` has it.
    pub vlans: VlanTables,
    /// The loop's books, if `tables` has them.
    pub accounts: AccountTable,
    /// The answer to the question, if `tables` has one.
    pub explanation: Option<Explanation>,
    /// Counters of each mirror, in the order of the configuration.
    pub mirrors: [MirrorCounters; MIRRORS_MAX],
    /// Learned addresses that there is room for.
    pub learning_capacity: u64,
    /// Frames inside the switch.
    pub held_frames: u64,
    /// The most since the snapshot before, as with the peaks of the gauges; what the control plane publishes has the most
    /// since the start.
    pub held_frames_max: u64,
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
    /// By priority: its buffers' own thresholds in pools.
    pub pool_thresholds: [Option<Threshold>; PRIORITY_COUNT],
    /// Settings of the port's storm watchdog.
    pub watchdog: Option<WatchdogConfig>,
    /// By priority: credits, of classes that have them.
    pub credits: [Option<CreditGauges>; PRIORITY_COUNT],
    /// Credits that slots of its RX ring surely cover.
    pub credit_slots: u32,
    /// Measurements beside the room that its cable gives.
    pub cable: Option<CableGauges>,
    /// VLANs in which it floods nothing because of a loop.
    pub blocked: BlockedIn,
    /// Learned addresses behind it.
    pub learned: u32,
    /// Its device completes no transmissions.
    pub stuck: bool,
    /// Losses in the kernel on the way to or from the socket.
    pub kernel: KernelLosses,
    /// Frames taken from the RX rings.
    pub received: u64,
    /// Frames that the transmitter is done with.
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
    /// Entries in all.
    pub size: u32,
}

/// The rings of a port's sockets, added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rings {
    /// Memory for the kernel to receive into.
    pub fill: Ring,
    /// Received and not yet processed.
    pub rx: Ring,
    /// Sent and not yet taken by the device.
    pub tx: Ring,
    /// Memory that the device is done with and that was not yet taken back.
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
    /// Those destinations that have been in the table longest, the oldest first: as many as there was
    /// room for.
    pub entries: Vec<LevelEntry>,
    /// Destinations in the table.
    pub total: u64,
}

impl LevelTableSnapshot {
    /// An empty table with room for `capacity` destinations.
    pub fn with_room(capacity: usize) -> Self {
        Self {
            entries: Vec::with_capacity(capacity),
            total: 0,
        }
    }

    /// Copies the table of `switch`, as much of it as there is room for: allocates nothing.
    pub fn fill(&mut self, switch: &Switch) {
        let room = self.entries.capacity();
        self.entries.clear();
        self.entries.extend(switch.level_table().take(room));
        self.total = switch.level_table_len() as u64;
    }

    /// Destinations in the table that are not among the entries.
    pub fn left_out(&self) -> u64 {
        self.total.saturating_sub(self.entries.len() as u64)
    }
}

/// Bounds of [`RoundStats::round_times`] in nanoseconds: powers of two times 1.024 µs, to 134 ms.
pub const ROUND_BOUNDS: &[u64] = &{
    let mut bounds = [0; 18];
    let mut index = 0;
    while index < bounds.len() {
        bounds[index] = 1_024 << index;
        index += 1;
    }
    bounds
};

/// Bounds of [`RoundStats::batches`] in frames; the last is as many as one call takes.
pub const BATCH_BOUNDS: &[u64] = &[1, 2, 4, 8, 16, 32, 64];

/// Figures of the polling loop since the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundStats {
    /// Its counters.
    pub counters: DataplaneCounters,
    /// Longest round, sleep left out.
    pub round_max: Duration,
    /// The longest time for which the thread was held up: a round, or what a sleep took longer than it was to.
    pub delay_max: Duration,
    /// Lengths of the busy rounds in nanoseconds.
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
