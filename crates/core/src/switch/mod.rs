//! The switch's dataplane as a state machine.
//!
//! A frame enters through `admission`, waits in the `virtual_queues`, and leaves through `schedule`; `forwarding` finds
//! its egress. The `link` exchanges messages with the neighbours; `levels` and `credits` implement two protocols of
//! classes. `recovery` handles stalls, `observe` shows them, and `commands` applies the control plane's
//! commands. Notifications go to the `outbox`. The [`Switch`] and its ports are composed of the parts of all modules,
//! and each module adds methods to both.
//!
//! Design: docs/src/internals/design/core.md.

mod admission;
mod ahead;
mod commands;
mod credits;
mod forwarding;
mod levels;
mod link;
mod observe;
mod outbox;
mod port;
mod records;
mod recovery;
mod schedule;
#[cfg(feature = "testing")]
mod testing;
mod timers;
mod virtual_queues;

use std::collections::VecDeque;

use admission::{Ages, Charges, Pools};
use forwarding::{Flows, Forwarding, Loops, Vlans};
use levels::LevelTable;
use outbox::{Events, Ready};
use port::Port;
use recovery::{Detector, StormClock};
use virtual_queues::{Backlogged, VirtualQueues};

use crate::command::CommandError;
use crate::config::{ConfigError, MarkAt, SwitchConfig};
use crate::counters::{DropReason, PortCounters};
use crate::frame::{Discarded, FrameHandle};
use crate::level::Level;
use crate::random::SplitMix64;
use crate::sets::PrioritySet;
use crate::units::{Bytes, PortId, Priority};
use crate::wire::ControlFrame;

pub use credits::CreditGauges;
pub(crate) use forwarding::check_route;
pub use forwarding::{
    FlowRecord, How, LearntEntry, PinEntry, PinnedBy, RouteEntry, VlanTraffic, BLOCKED_VLANS_MAX,
    HALVINGS, VLANS_SEEN_MAX, WAYS,
};
pub use link::PauseGauges;
pub use observe::{
    CableGauges, Explanation, LevelEntry, LevelGauges, Outlook, PoolGauges, PriorityGauges,
};
pub use outbox::EVENT_CAPACITY;
pub use recovery::StormGauges;

/// A frame to send.
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use = "a transmission that is not sent is lost"]
#[allow(clippy::large_enum_variant)] // briefly on the stack
pub enum Transmission {
    /// A data frame. Its handle belongs to the switch until [`Switch::complete`].
    Data {
        /// Handle of the frame's bytes.
        handle: FrameHandle,
        /// Length of the frame.
        length: Bytes,
        /// Its priority.
        priority: Priority,
        /// Mark it Congestion Experienced before it leaves, as with [`Admitted::mark`](crate::frame::Admitted::mark).
        mark: bool,
    },
    /// A control frame; [`ControlFrame::emit`] writes its bytes into the caller's memory.
    Control(ControlFrame),
}

/// A lossless switch without I/O.
///
/// # The polling contract
///
/// The caller owns time and memory. It calls the mutating methods in any order, and after each of them
///
/// * calls [`poll_event`](Self::poll_event) until it returns `None`,
/// * calls [`transmit`](Self::transmit) for each port that can take a frame, until it returns `None`. Its result may
///   change with every other call, and with time; with many ports, [`poll_ready`](Self::poll_ready) and
///   [`next_transmit`](Self::next_transmit) report which ports to ask;
/// * calls [`next_timeout`](Self::next_timeout) again, and [`handle_timeout`](Self::handle_timeout) at that time or
///   later. Early or repeated calls have no effect. A caller that asks each port for `next_transmit` needs only
///   [`next_timer`](Self::next_timer), again whenever [`timers_moved`](Self::timers_moved) returns true;
/// * calls [`poll_discarded`](Self::poll_discarded) until it returns `None`.
///
/// `now` must never go back. The switch reads no clock, has no randomness but that of [`SwitchConfig::seed`], and
/// returns the same answers for the same configuration and calls. Nothing allocates after
/// [`touch_memory`](Self::touch_memory).
///
/// # Memory
///
/// A [`FrameHandle`] belongs to the caller until [`receive`](Self::receive) accepts it, and again after
/// [`complete`](Self::complete) has returned it. Each data frame from [`transmit`](Self::transmit) needs one call of
/// `complete`, in any order; a flooded frame is transmitted by several ports and returns with the last of them. A frame
/// that was dropped while waiting returns from `poll_discarded` instead, and may never be transmitted.
#[derive(Debug)]
#[cfg_attr(feature = "testing", derive(Clone))]
pub struct Switch {
    config: SwitchConfig,
    ports: Vec<Port>,
    forwarding: Forwarding,
    /// `None` if the switch ignores tags.
    vlans: Option<Box<Vlans>>,
    flows: Flows,
    /// Room for sorting the flows moved by a reroute.
    to_move: Vec<recovery::Candidate>,
    queues: VirtualQueues,
    backlogged: Backlogged,
    charges: Charges,
    pools: Pools,
    levels: LevelTable,
    ages: Ages,
    /// Handles to return to the caller; bounded by the number of handles.
    discarded: VecDeque<Discarded>,
    events: Events,
    lossless: PrioritySet,
    with_levels: PrioritySet,
    /// Classes that mark by the egress backlog that an arriving frame finds.
    marks_arrivals: PrioritySet,
    /// Set if the switch drains, is VLAN-aware, or learns addresses: see `inspect_arrival`.
    inspects_arrivals: bool,
    /// Set if the ages of frames, their marks or their flows are kept: see `observe_arrival`.
    observes_arrivals: bool,
    /// Classes that mark by the egress backlog that a frame leaves behind.
    marks_departures: PrioritySet,
    random: SplitMix64,
    /// Set if addresses are learned and loops are detected.
    loops: Option<Box<Loops>>,
    detector: Detector,
    storm_clock: StormClock,
    ready: Ready,
    draining: bool,
    #[cfg(feature = "testing")]
    faults: crate::testing::Faults,
}

impl Switch {
    /// Creates a switch with empty buffers and all links up.
    ///
    /// # Errors
    ///
    /// The setting of `config` that cannot work, with its numbers.
    pub fn new(config: SwitchConfig) -> Result<Self, ConfigError> {
        config.validate()?;
        let (mut lossless, mut with_levels) = (PrioritySet::default(), PrioritySet::default());
        for priority in Priority::ALL {
            let mode = config.classes[priority.index()].mode;
            if mode.is_lossless() {
                lossless.insert(priority);
            }
            if mode.depth() > Level::ZERO {
                with_levels.insert(priority);
            }
        }
        let [marks_arrivals, marks_departures] = [MarkAt::Arrival, MarkAt::Departure]
            .map(|at| admission::classes_that_mark(&config, at));
        let port_count = config.ports.len();
        let depths = config.classes.map(|class| class.mode.depth());
        let flows = Flows::new(&config.flows);
        let age_limits = config.classes.map(|class| class.age_limit);
        let ports: Vec<Port> = config
            .ports
            .iter()
            .enumerate()
            .map(|(index, port)| Port::new(&config, port, index))
            .collect();
        let mut switch = Self {
            inspects_arrivals: false,
            observes_arrivals: false,
            storm_clock: StormClock::new(ports.iter().map(|port| &port.storms)),
            ready: Ready::new(port_count),
            ports,
            forwarding: Forwarding::new(&config),
            vlans: Vlans::new(&config),
            to_move: Vec::with_capacity(flows.capacity()),
            flows,
            levels: LevelTable::new(
                if with_levels.is_empty() {
                    0
                } else {
                    config.frame_count
                },
                port_count,
                config.learning_capacity > 0,
            ),
            queues: VirtualQueues::new(
                port_count,
                &depths,
                waiting_capacity(&config),
                config.frame_length_max.get(),
            ),
            backlogged: Backlogged::default(),
            charges: Charges::new(config.frame_count),
            pools: Pools::new(&config),
            discarded: VecDeque::new(),
            ages: Ages::new(age_limits, config.frame_count),
            events: Events::default(),
            lossless,
            with_levels,
            marks_arrivals,
            marks_departures,
            random: SplitMix64::new(config.seed),
            loops: Loops::of(&config).map(Box::new),
            detector: Detector::default(),
            draining: false,
            #[cfg(feature = "testing")]
            faults: crate::testing::Faults::default(),
            config,
        };
        switch.settle_observation();
        // The forwarding table has them, with later changes.
        switch.config.routes = Vec::new();
        Ok(switch)
    }

    /// Allocates all memory that frames, events and commands may need, and writes to it once, so that later nothing
    /// allocates and no frame waits for a page. Without this call memory is allocated when first needed: of many
    /// switches in one process most need little. O(frames).
    pub fn touch_memory(&mut self) {
        self.events.touch();
        self.discarded
            .reserve_exact(self.config.frame_count - self.discarded.len());
        for port in &mut self.ports {
            port.touch();
        }
        self.forwarding.touch();
        self.levels.touch();
        self.queues.touch();
        self.charges.touch();
        self.ages.touch();
        if let Some(vlans) = &mut self.vlans {
            vlans.touch();
        }
    }

    /// To be called after every change of its inputs.
    fn settle_observation(&mut self) {
        self.inspects_arrivals = self.draining || self.vlans.is_some() || self.forwarding.learns();
        self.observes_arrivals =
            self.ages.is_on() || self.flows.is_on() || !self.marks_arrivals.is_empty();
    }

    /// The switch's configuration, without its routes: [`routes`](Self::routes) has their present state.
    pub fn config(&self) -> &SwitchConfig {
        &self.config
    }

    /// Number of frames admitted and not yet completed.
    pub fn held_frames(&self) -> usize {
        self.charges.held()
    }

    fn port_mut(&mut self, port: PortId) -> Result<&mut Port, CommandError> {
        self.ports
            .get_mut(port.index())
            .ok_or(CommandError::NoSuchPort(port))
    }

    /// A port's counters.
    ///
    /// # Panics
    ///
    /// If the port does not exist.
    pub fn counters(&self, port: PortId) -> &PortCounters {
        &self.ports[port.index()].counters
    }

    /// Returns true while the link of `port` is up.
    pub fn is_up(&self, port: PortId) -> bool {
        self.ports.get(port.index()).is_some_and(|port| port.up)
    }

    /// Counts a frame without a priority that the caller itself refused.
    pub fn count_drop(&mut self, port: PortId, reason: DropReason) {
        if let Some(port) = self.ports.get_mut(port.index()) {
            port.counters.drop_frame(reason);
        }
    }

    /// Counts a data frame that the caller itself refused.
    pub fn count_data_drop(&mut self, port: PortId, priority: Priority, reason: DropReason) {
        if let Some(port) = self.ports.get_mut(port.index()) {
            port.counters.drop_data(priority, reason);
        }
    }

    /// Counts a frame that the caller has marked Congestion Experienced.
    pub fn count_mark(&mut self, port: PortId, priority: Priority) {
        if let Some(port) = self.ports.get_mut(port.index()) {
            port.counters.priority[priority.index()].marks += 1;
        }
    }
}

/// Returns how many frames can wait at once. Without flooding a frame waits at one port; a flooded frame waits at every
/// port, and floods beyond this bound are dropped and counted.
fn waiting_capacity(config: &SwitchConfig) -> usize {
    const FLOOD_COPIES_MAX: usize = 1 << 20;
    let copies = if config.learning_capacity == 0 && config.flood.tree.is_none() {
        0
    } else {
        config
            .frame_count
            .saturating_mul(config.ports.len().saturating_sub(2))
            .min(FLOOD_COPIES_MAX)
    };
    config.frame_count + copies
}
