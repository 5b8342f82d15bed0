//! State of one port.

use std::collections::VecDeque;

use super::admission::{BufferMode, IngressBuffer, Pooled};
use super::credits::PortCredits;
use super::levels::{FeedbackSent, LevelState};
use super::link::{
    Authentication, EchoState, Limiter, PauseReceived, PauseSpans, CLCM_QUEUE_CAPACITY,
};
use super::outbox::Due;
use super::recovery::{Head, Outage, Storms};
use super::schedule::{PortTurns, Precedence, PriorityTurn, Shaper};
use super::virtual_queues::EgressState;
use crate::config::{CableRoom, FeedbackCoding, Neighbour, PortConfig, PortRole, SwitchConfig};
use crate::counters::{DropReason, PortCounters};
use crate::sets::PrioritySet;
use crate::units::{Priority, PRIORITY_COUNT};
use crate::wire::clcm::Clcm;

/// State of one port. Fields that every frame reads come first, in few cache lines; other fields used by frames of one
/// priority are grouped by priority.
#[derive(Debug)]
#[cfg_attr(feature = "testing", derive(Clone))]
#[repr(C, align(64))]
pub(super) struct Port {
    /// The port is up and not reserved: frames may enter and be flooded there.
    pub(super) takes_frames: bool,
    /// Priorities accepted on arrival: none while it accepts no frames.
    pub(super) takes: PrioritySet,
    /// Configured limit on the priorities.
    priorities: PrioritySet,
    pub(super) up: bool,
    /// Its device is gone.
    pub(super) gone: bool,
    /// It only sends copies of mirrored frames.
    pub(super) reserved: bool,
    pub(super) role: PortRole,
    pub(super) neighbour: Neighbour,
    pub(super) coding: FeedbackCoding,
    pub(super) waiting: PrioritySet,
    /// Priorities for which frames for this egress are, or may be, dropped on arrival.
    pub(super) refuses: PrioritySet,
    pub(super) forced: PrioritySet,
    /// Priorities that send in spite of a pause because it is a storm.
    pub(super) ignores_pause: PrioritySet,
    /// Priorities whose departures need more than counting: forced ones, and those by credits.
    pub(super) departs_apart: PrioritySet,
    /// Set if arrivals are counted in addition to the counters: for grants and credits.
    pub(super) counts_arrivals: bool,
    /// Pending messages to the neighbour.
    pub(super) due: Due,
    /// CLCM messages to send outside the data priorities; at most [`CLCM_QUEUE_CAPACITY`].
    pub(super) clcm_queue: VecDeque<Clcm>,
    pub(super) shaper: Shaper,
    pub(super) turn: PriorityTurn,
    /// Set if a class is strict, or has a guaranteed or maximum rate.
    pub(super) precedence: Option<Box<Precedence>>,
    /// Turns between ingress ports, for priorities that share by them.
    pub(super) port_turns: PortTurns,
    /// For fabric ports, if a class has Levels or the cable is known.
    pub(super) echo: Option<Box<EchoState>>,
    /// For fabric ports, if there is a key.
    pub(super) authentication: Option<Box<Authentication>>,
    /// If a class has credits.
    pub(super) credits: Option<Box<PortCredits>>,
    /// For classes with Levels at fabric ports.
    pub(super) levels: [Option<Box<LevelState>>; PRIORITY_COUNT],
    pub(super) storms: Storms,
    pub(super) pause_received: PauseReceived,
    pub(super) pause_limit: Limiter,
    pub(super) message_limit: Limiter,
    pub(super) flood_limit: Limiter,
    pub(super) ingress: [IngressBuffer; PRIORITY_COUNT],
    pub(super) egress: [EgressState; PRIORITY_COUNT],
    pub(super) counters: PortCounters,
    pub(super) heads: [Head; PRIORITY_COUNT],
    /// Feedback of the whole link.
    pub(super) link_sent: FeedbackSent,
    pub(super) pause_sent: [PauseSpans; PRIORITY_COUNT],
    pub(super) outage: Outage,
    pub(super) stuck: bool,
    /// Reasons for which all frames of a priority for this egress are dropped on arrival.
    pub(super) refusals: [Option<DropReason>; PRIORITY_COUNT],
}

impl Port {
    pub(super) fn new(config: &SwitchConfig, port: &PortConfig, index: usize) -> Self {
        let limits = config.control_limits;
        let levels: [_; PRIORITY_COUNT] =
            core::array::from_fn(|index| LevelState::new(config, port, index));
        let is_limited = |room: &CableRoom| room.round_trip_max != CableRoom::UNLIMITED;
        let measures_cable =
            port.role == PortRole::Fabric && port.cable.as_ref().is_some_and(is_limited);
        let obeying = levels.iter().flatten().any(|level| level.obeys);
        let mut made = Self {
            credits: PortCredits::new(config, port).map(Box::new),
            counts_arrivals: false,
            departs_apart: PrioritySet::default(),
            echo: (levels.iter().any(Option::is_some) || measures_cable)
                .then(|| Box::new(EchoState::new())),
            authentication: Self::new_authentication(config.authentication, port.role, index)
                .map(Box::new),
            pause_limit: Limiter::new(limits.pause_rate),
            message_limit: Limiter::new(limits.message_rate),
            flood_limit: Limiter::new(match port.role {
                PortRole::Edge => config.flood.edge_rate,
                PortRole::Fabric => config.flood.fabric_rate,
            }),
            coding: port.feedback,
            link_sent: if obeying && port.feedback == FeedbackCoding::Pause {
                FeedbackSent::new()
            } else {
                FeedbackSent::silent()
            },
            role: port.role,
            takes_frames: true,
            takes: allowed(port),
            priorities: allowed(port),
            up: true,
            gone: false,
            outage: Outage::None,
            stuck: false,
            reserved: false,
            ingress: core::array::from_fn(|priority| {
                let class = &config.classes[priority];
                let place = (index, Priority::ALL[priority]);
                let buffer =
                    IngressBuffer::new(BufferMode::of(class, port), Pooled::of(class, port, place));
                match class.credits {
                    Some(_) => buffer.with_loans(),
                    None => buffer,
                }
            }),
            levels,
            neighbour: port.neighbour,
            egress: core::array::from_fn(|_| EgressState::default()),
            pause_received: PauseReceived::new(port.rate),
            pause_sent: Default::default(),
            storms: Storms::new(port.watchdog),
            heads: Default::default(),
            shaper: Shaper::new(port.rate, config.shaper_lateness(port.rate)),
            counters: PortCounters::default(),
            clcm_queue: VecDeque::new(),
            due: Due::default(),
            waiting: PrioritySet::default(),
            refuses: PrioritySet::default(),
            refusals: [None; PRIORITY_COUNT],
            forced: PrioritySet::default(),
            ignores_pause: PrioritySet::default(),
            turn: PriorityTurn::default(),
            precedence: Precedence::new(config),
            port_turns: PortTurns::new(config),
        };
        made.hold_before_credits();
        made.settle_counting();
        made.settle_arrivals();
        made
    }

    /// To be called after every change of its inputs.
    pub(super) fn settle_counting(&mut self) {
        self.counts_arrivals = self.coding == FeedbackCoding::Grants || self.credits.is_some();
    }

    pub(super) fn touch(&mut self) {
        let more = CLCM_QUEUE_CAPACITY - self.clcm_queue.len();
        self.clcm_queue.reserve_exact(more);
        self.port_turns.touch();
    }

    /// To be called after every change of its inputs.
    pub(super) fn settle_arrivals(&mut self) {
        self.takes_frames = self.up && !self.reserved;
        self.takes = match self.takes_frames {
            true => self.priorities,
            false => PrioritySet::default(),
        };
        for priority in self.closed_by_credits().iter() {
            self.takes.remove(priority);
        }
        self.refuses = PrioritySet::default();
        for priority in Priority::ALL {
            self.refusals[priority.index()] = self.why_refused(priority);
            if self.may_refuse(priority) {
                self.refuses.insert(priority);
            }
        }
    }

    /// Returns true if nothing has changed since [`settle_arrivals`](Self::settle_arrivals).
    pub(super) fn is_settled(&self, priority: Priority) -> bool {
        self.refuses.contains(priority) == self.may_refuse(priority)
            && self.refusals[priority.index()] == self.why_refused(priority)
    }
}

fn allowed(port: &PortConfig) -> PrioritySet {
    let mut priorities = PrioritySet::default();
    let all = Priority::ALL.into_iter().zip(port.priorities);
    all.filter(|(_, is_allowed)| *is_allowed)
        .for_each(|(priority, _)| priorities.insert(priority));
    priorities
}
