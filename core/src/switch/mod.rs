//! The switch's dataplane as a state machine.

mod admission;
mod forwarding;
mod levels;
mod link;
mod observe;
mod port;
mod reconfigure;
mod recovery;
mod schedule;
#[cfg(feature = "testing")]
mod testing;
mod timers;
mod virtual_queues;

use std::collections::VecDeque;

use crate::priority_set::PrioritySet;
use admission::Charges;
use admission::PauseChange;
use forwarding::Forwarding;
use levels::LevelTable;
use observe::Flows;
use port::Port;
use recovery::Ages;
use recovery::{Detector, StormClock};
use schedule::Ready;
use virtual_queues::{Gate, VirtualQueues};

use crate::command::{Command, CommandError};
use crate::config::{ConfigError, MarkAt, Neighbour, SwitchConfig, WatchdogConfig};
use crate::counters::{DropReason, PortCounters};
use crate::event::{Event, EventKind};
use crate::frame::{Discarded, FrameHandle};
use crate::level::Level;
use crate::random::SplitMix64;
use crate::units::{Bytes, Instant, PortId, Priority, Quanta};
use crate::wire::ControlFrame;

pub use forwarding::{PinEntry, PinnedBy, RouteEntry};
pub use observe::{FlowRecord, HALVINGS, WAYS};
pub use observe::{LevelEntry, LevelGauges, PriorityGauges};

/// Events that wait to be polled at most; more are counted in [`Switch::events_lost`].
pub const EVENT_CAPACITY: usize = 1024;

/// Room among them that is kept from events which come in great numbers at once.
const EVENT_RESERVE: usize = 128;

/// Something to send.
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use = "a transmission that is not sent is lost"]
#[allow(clippy::large_enum_variant)] // lives on the stack for the moment of sending
pub enum Transmission {
    /// A data frame. Its handle stays with the switch until [`Switch::complete`].
    Data {
        /// Where its bytes are.
        handle: FrameHandle,
        /// How many.
        length: Bytes,
        /// Its priority.
        priority: Priority,
        /// Mark it Congestion Experienced before it leaves, as with [`Admitted::mark`](crate::frame::Admitted::mark).
        mark: bool,
    },
    /// A control frame; its bytes come from [`ControlFrame::emit`], in memory of the caller's own.
    Control(ControlFrame),
}

/// A lossless switch without I/O.
///
/// # The polling contract
///
/// The caller owns time and memory. It calls the mutating methods in any order; after each of them
///
/// * [`poll_event`](Self::poll_event) is called until it gives `None`,
/// * [`transmit`](Self::transmit) is called for each port that can take a frame, until it gives `None`.
///   What it gives may change with every other call, and with time; a caller with many ports learns which
///   of them from [`poll_ready`](Self::poll_ready) and [`next_transmit`](Self::next_transmit);
/// * [`next_timeout`](Self::next_timeout) is asked anew, and [`handle_timeout`](Self::handle_timeout) is
///   called at that moment or later. Calling it too early or too often does nothing;
/// * [`poll_discarded`](Self::poll_discarded) is called until it gives `None`.
///
/// `now` never goes back; the switch reads no clock, has no randomness but [`SwitchConfig::seed`]'s, and
/// given the same configuration and calls gives the same answers. Nothing allocates after [`new`](Self::new).
///
/// # Memory
///
/// A [`FrameHandle`] belongs to the caller until [`receive`](Self::receive) takes it, and again after
/// [`complete`](Self::complete) gave it back. One data frame of [`transmit`](Self::transmit) means one
/// call of `complete`, in any order; a flooded frame comes out of several ports and returns with the
/// last of them. A frame that was dropped where it waited comes back by `poll_discarded` instead, and need
/// not come out at all.
#[derive(Debug)]
#[cfg_attr(feature = "testing", derive(Clone))]
pub struct Switch {
    config: SwitchConfig,
    ports: Vec<Port>,
    forwarding: Forwarding,
    flows: Flows,
    /// Room for sorting the flows that a reroute moves.
    to_move: Vec<recovery::Candidate>,
    queues: VirtualQueues,
    charges: Charges,
    levels: LevelTable,
    ages: Ages,
    /// Handles that go back to the caller; never more than there are.
    discarded: VecDeque<Discarded>,
    events: VecDeque<Event>,
    events_lost: u64,
    lossless: PrioritySet,
    /// Classes of mode `level`.
    with_levels: PrioritySet,
    /// Classes that mark by the egress backlog that a frame comes to.
    marks_arrivals: PrioritySet,
    /// Whether the ages of frames, their marks or their flows are kept: see `observe_arrival`.
    observes_arrivals: bool,
    /// Classes that mark by the egress backlog that a frame leaves behind.
    marks_departures: PrioritySet,
    random: SplitMix64,
    detector: Detector,
    storm_clock: StormClock,
    ready: Ready,
    draining: bool,
    #[cfg(feature = "testing")]
    faults: crate::testing::Faults,
}

impl Switch {
    /// A switch with empty buffers and all links up.
    ///
    /// # Errors
    ///
    /// Names what in `config` cannot work, with the numbers.
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
            observes_arrivals: false,
            storm_clock: StormClock::new(ports.iter().map(|port| &port.storms)),
            ready: Ready::new(port_count),
            ports,
            forwarding: Forwarding::new(&config),
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
            charges: Charges::new(config.frame_count),
            discarded: VecDeque::with_capacity(config.frame_count),
            ages: Ages::new(age_limits, config.frame_count),
            events: VecDeque::with_capacity(EVENT_CAPACITY),
            events_lost: 0,
            lossless,
            with_levels,
            marks_arrivals,
            marks_departures,
            random: SplitMix64::new(config.seed),
            detector: Detector::new(),
            draining: false,
            #[cfg(feature = "testing")]
            faults: crate::testing::Faults::default(),
            config,
        };
        switch.settle_observation();
        Ok(switch)
    }

    /// After a change of the classes that mark.
    fn settle_observation(&mut self) {
        self.observes_arrivals =
            self.ages.is_on() || self.flows.is_on() || !self.marks_arrivals.is_empty();
    }

    /// The configuration that the switch runs.
    pub fn config(&self) -> &SwitchConfig {
        &self.config
    }

    /// Does what the control plane asks.
    ///
    /// # Errors
    ///
    /// Says why the command was refused; the switch is then as it was.
    pub fn apply(&mut self, now: Instant, command: Command) -> Result<(), CommandError> {
        self.ready.note_all();
        match command {
            Command::SendClcm { port, message } => {
                let state = self.port_mut(port)?;
                if state.clcm_queue.len() >= port::CONTROL_QUEUE_CAPACITY {
                    state.counters.control_overflow += 1;
                    return Err(CommandError::ControlQueueFull(port));
                }
                state.clcm_queue.push_back(message);
                Ok(())
            }
            Command::Release {
                ingress,
                egress,
                priority,
                period,
                preference,
                extra,
            } => {
                let exclusive_until = now + period;
                let until = exclusive_until + preference;
                self.release(
                    now,
                    ingress,
                    egress,
                    priority,
                    [exclusive_until, until],
                    extra,
                )
            }
            Command::TrafficRelease {
                ingress,
                egress,
                priority,
                amount,
                period,
            } => self.begin_traffic_release(now, ingress, egress, priority, amount, period),
            Command::SetLink { port, up } => {
                if self.port_mut(port)?.set_link(up) {
                    self.note_ways_changed(now);
                }
                Ok(())
            }
            Command::DeviceGone { port } => self.give_up_port(now, port),
            Command::SetNeighbour { port, neighbour } => self.set_neighbour(port, neighbour),
            Command::SetFeedback { port, coding } => self.set_feedback(port, coding),
            Command::SetRoute {
                destination,
                members,
                buckets,
            } => self.set_route(now, destination, members, buckets),
            Command::RemoveRoute { destination } => self.forwarding.remove_route(destination),
            Command::MoveBucket {
                destination,
                bucket,
                to,
            } => self.forwarding.move_bucket(destination, bucket, to),
            Command::PinFlow {
                destination,
                flow_hash,
                port,
            } => self.forwarding.pin(now, destination, flow_hash, port),
            Command::UnpinFlow {
                destination,
                flow_hash,
            } => self.forwarding.unpin(destination, flow_hash),
            Command::Reroute {
                selection,
                egress,
                priority,
                by,
            } => self.reroute(now, selection, egress, priority, by),
            Command::CallStorm { egress, priority } => self.call_storm(now, egress, priority),
            Command::SetWatchdog { port, watchdog } => self.set_watchdog(now, port, watchdog),
            Command::SetClass { priority, class } => self.set_class(priority, class),
            Command::SetDetector { detector } => self.set_detector(now, detector),
            Command::Drain => {
                self.drain();
                Ok(())
            }
            Command::GiveUpAll => {
                self.give_up_all(now);
                Ok(())
            }
            Command::AssumePaused => {
                self.assume_paused(now);
                Ok(())
            }
        }
    }

    /// The next event, oldest first.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Events that found [`EVENT_CAPACITY`] others waiting.
    pub fn events_lost(&self) -> u64 {
        self.events_lost
    }

    /// Frames admitted and not yet completed.
    pub fn held_frames(&self) -> usize {
        self.charges.held()
    }

    /// A port's counters.
    ///
    /// # Panics
    ///
    /// When the configuration has no such port.
    pub fn counters(&self, port: PortId) -> &PortCounters {
        &self.ports[port.index()].counters
    }

    /// Counts a frame that the caller itself refused.
    pub fn count_drop(&mut self, port: PortId, reason: DropReason) {
        if let Some(port) = self.ports.get_mut(port.index()) {
            port.counters.drop_frame(reason);
        }
    }

    /// Counts a frame that the caller has marked Congestion Experienced.
    pub fn count_mark(&mut self, port: PortId, priority: Priority) {
        if let Some(port) = self.ports.get_mut(port.index()) {
            port.counters.priority[priority.index()].marks += 1;
        }
    }

    /// The state of one (port, priority) at `now`; all zero for a port that does not exist.
    pub fn gauges(&self, now: Instant, port: PortId, priority: Priority) -> PriorityGauges {
        let index = port;
        let Some(port) = self.ports.get(port.index()) else {
            return PriorityGauges::default();
        };
        let ingress = &port.ingress[priority.index()];
        let egress = &port.egress[priority.index()];
        let (xoff, xon) = ingress.thresholds();
        PriorityGauges {
            ingress: ingress.occupancy(),
            ingress_max: ingress.occupancy_max(),
            egress: egress.backlog(),
            egress_max: egress.backlog_max(),
            egress_frames: egress.frame_count(),
            xoff,
            xon,
            headroom_used_max: ingress.headroom_used_max(),
            pausing: ingress.is_pausing(),
            paused: port.pause_received.is_paused(now, priority),
            paused_total: port.pause_received.paused_total(now, priority),
            suspected: egress.is_suspected(),
            release_ingress: egress.release_ingress(),
            stalled: port.storms.is_stalled(priority),
            storm: port.storms.action(priority),
            vl_stalled: port.heads[priority.index()].is_stalled(),
            levels: self.level_gauges(index, priority),
        }
    }

    /// What the ingress buffer of (`port`, `priority`) is charged, and what waits for its egress: the part of
    /// [`gauges`](Self::gauges) that is cheap. Zero for a port that does not exist. O(1).
    pub fn occupancy(&self, port: PortId, priority: Priority) -> (Bytes, Bytes) {
        self.ports
            .get(port.index())
            .map_or_else(Default::default, |port| {
                let ingress = &port.ingress[priority.index()];
                (ingress.occupancy(), port.egress[priority.index()].backlog())
            })
    }

    /// The Level Table, those destinations first that have been in it longest.
    /// O(ports) for each that is taken.
    pub fn level_table(&self) -> impl Iterator<Item = LevelEntry> + '_ {
        self.levels.iter()
    }

    /// How `port` is watched for PFC storms; `None` also for a port that does not exist.
    pub fn watchdog(&self, port: PortId) -> Option<WatchdogConfig> {
        self.ports.get(port.index())?.storms.config
    }

    /// How the switch on the other side of `port` is spoken to.
    ///
    /// # Panics
    ///
    /// When the configuration has no such port.
    pub fn neighbour(&self, port: PortId) -> Neighbour {
        self.ports[port.index()].neighbour
    }

    /// Destinations in the Level Table.
    pub fn level_table_len(&self) -> usize {
        self.levels.len()
    }

    fn port_mut(&mut self, port: PortId) -> Result<&mut Port, CommandError> {
        self.ports
            .get_mut(port.index())
            .ok_or(CommandError::NoSuchPort(port))
    }

    /// Holds every neighbour. What they had under way is still admitted (the headroom is there for
    /// it), so that a lossless class loses nothing by a shutdown that has time to drain.
    fn drain(&mut self) {
        self.draining = true;
        for index in 0..self.ports.len() {
            let Some(port) = PortId::from_index(index) else {
                return;
            };
            for priority in self.lossless.iter() {
                let change = self.ports[index].ingress[priority.index()].close();
                self.note_pause_change(port, priority, change);
            }
        }
        self.close_levels();
    }

    /// The longest time that a pause can say, since a neighbour that goes on holding tells it again before that is over; and
    /// for Levels what lets nothing out, which ends with the neighbour's next Feedback, or as any that is not refreshed.
    fn assume_paused(&mut self, now: Instant) {
        let refresh = self.config.feedback_refresh;
        for state in &mut self.ports {
            for priority in self.lossless.iter() {
                let pause = &mut state.pause_received;
                pause.receive_pfc(now, priority, Quanta::MAX);
                if let Some(level) = &mut state.levels[priority.index()] {
                    if level.obeys {
                        level.received.receive(now, level.budget.depth(), refresh);
                    }
                }
            }
        }
    }

    #[inline(never)]
    fn note_pause_change(&mut self, port: PortId, priority: Priority, change: PauseChange) {
        if change != PauseChange::None {
            if let Some(state) = self.ports.get_mut(port.index()) {
                state.pfc_due.insert(priority);
                self.ready.ports.insert(port);
            }
        }
    }

    fn push_event(&mut self, at: Instant, kind: EventKind) {
        self.push_event_within(EVENT_CAPACITY, at, kind);
    }

    /// One of many events that a command causes at once: they leave room for the rest.
    fn push_detail(&mut self, at: Instant, kind: EventKind) {
        self.push_event_within(EVENT_CAPACITY - EVENT_RESERVE, at, kind);
    }

    fn push_event_within(&mut self, capacity: usize, at: Instant, kind: EventKind) {
        if self.events.len() < capacity {
            self.events.push_back(Event { at, kind });
        } else {
            self.events_lost += 1;
        }
    }
}

/// How many frames can wait at once. Without learning a frame waits in one place; a flooded one waits
/// at every port, and what floods beyond this bound is dropped and counted.
fn waiting_capacity(config: &SwitchConfig) -> usize {
    const FLOOD_COPIES_MAX: usize = 1 << 20;
    let copies = if config.learning_capacity == 0 {
        0
    } else {
        config
            .frame_count
            .saturating_mul(config.ports.len().saturating_sub(2))
            .min(FLOOD_COPIES_MAX)
    };
    config.frame_count + copies
}
