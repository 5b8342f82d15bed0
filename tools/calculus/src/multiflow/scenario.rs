//! Sources, a path server and its thresholds: what a prediction is made from.

use super::control::RateControl;
use crate::algebra::{Curve, Scalar};
use crate::congestion::ecn::Red;
use crate::congestion::pfc::{Resume, Thresholds};

/// One source of traffic behind an ingress port.
#[derive(Debug)]
pub struct Source<S> {
    /// A, cumulative, in kbit. Finite and never decreasing.
    pub arrivals: Curve<S>,
    /// Its rate limit.
    pub control: Box<dyn RateControl<S>>,
    /// The ingress port, for PFC of each port and for fair queuing between ports.
    pub port: usize,
    /// The class, for strict priority; 0 goes first.
    pub class: usize,
}

/// Choice of the path server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Discipline {
    /// In order of arrival (IV-A). Of traffic that comes at the same time each source's part is in proportion.
    #[default]
    Fifo,
    /// Ingress ports take turns, FIFO within a port. A Weir egress does so.
    FairPorts,
    /// The lowest class first, FIFO within a class.
    Priority,
}

/// Scope of a pause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PauseScope {
    /// X_off is for the backlog of all ports together and pauses all, as in the paper's path server.
    #[default]
    AllPorts,
    /// X_off is for the backlog of each ingress port and pauses its sources, as in switches.
    EachPort,
}

/// Priority Flow Control.
#[derive(Clone, Debug, PartialEq)]
pub struct Pfc<S> {
    /// X_off and X_on.
    pub thresholds: Thresholds<S>,
    /// The end of a pause.
    pub resume: Resume,
    /// Scope of the comparison and the pause.
    pub scope: PauseScope,
    /// From the crossing of a threshold to its effect at the server, in µs: ΔR of the paper; round trip and reaction time of a link.
    pub delay: S,
}

/// When traffic counts as marked while B ≥ K_max.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Marking {
    /// Always, as III-B says it, also for sources that send nothing at the time.
    #[default]
    ByBacklog,
    /// For sources that are sending, since only a packet can be marked.
    ByArrivals,
}

/// RED between K_min and K_max.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Between<S> {
    /// Nothing is marked.
    #[default]
    Nothing,
    /// In expectation: a source is marked each time the marking probability, summed up over the packets that it sent, has grown by one.
    ///
    /// With a linear backlog the sum is a quadratic of time, whose root is irrational: the instant is rounded up to a multiple
    /// of `quantum`. It is the only instant of a prediction that is rounded.
    Expected {
        /// Packet length in kbit.
        packet: S,
        /// In µs.
        quantum: S,
    },
}

/// Explicit Congestion Notification.
#[derive(Clone, Debug, PartialEq)]
pub struct Ecn<S> {
    /// Thresholds for the server's backlog.
    pub red: Red<S>,
    /// Δτ_ecn: the least time between notifications to a source.
    pub gap: S,
    /// Marking from K_max on.
    pub marking: Marking,
    /// And below it.
    pub between: Between<S>,
}

/// Sources at one path server with service curve C·t.
#[derive(Debug)]
pub struct Scenario<S> {
    /// C in Gbit/s.
    pub rate: S,
    /// ΔR in µs, of acknowledgements and notifications.
    pub feedback_delay: S,
    /// The sources.
    pub sources: Vec<Source<S>>,
    /// Choice of the server.
    pub discipline: Discipline,
    /// PFC, if on.
    pub pfc: Option<Pfc<S>>,
    /// ECN, if on.
    pub ecn: Option<Ecn<S>>,
    /// τ_o in µs, if sources have timeouts.
    pub timeout: Option<S>,
    /// The end of the prediction in µs.
    pub end: S,
}

impl<S: Scalar> Scenario<S> {
    /// A scenario without PFC, ECN and timeouts.
    pub fn new(rate: S, feedback_delay: S, sources: Vec<Source<S>>, end: S) -> Self {
        Self {
            rate,
            feedback_delay,
            sources,
            discipline: Discipline::default(),
            pfc: None,
            ecn: None,
            timeout: None,
            end,
        }
    }
}
