//! Sources, a path server and its thresholds: the input of a prediction.

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
    /// Ingress port, for PFC per port and for fair queuing between ports.
    pub port: usize,
    /// Class, for strict priority; 0 is the highest.
    pub class: usize,
}

/// Scheduling of the path server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Discipline {
    /// In order of arrival (IV-A). Simultaneous arrivals are served in proportion to each source's part.
    #[default]
    Fifo,
    /// Ingress ports in turn, FIFO within a port, as at a Weir egress.
    FairPorts,
    /// Lowest class number first, FIFO within a class.
    Priority,
}

/// Scope of a pause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PauseScope {
    /// X_off applies to the total backlog of all ports and pauses all, as in the paper's path server.
    #[default]
    AllPorts,
    /// X_off applies to the backlog of each ingress port and pauses its sources, as in switches.
    EachPort,
}

/// Priority Flow Control.
#[derive(Clone, Debug, PartialEq)]
pub struct Pfc<S> {
    /// X_off and X_on.
    pub thresholds: Thresholds<S>,
    /// Interpretation of a pause's end.
    pub resume: Resume,
    /// Scope of the comparison and the pause.
    pub scope: PauseScope,
    /// Delay from the crossing of a threshold to its effect at the server, in µs: ΔR of the paper; round trip and reaction
    /// time of a link.
    pub delay: S,
}

/// Condition for marking traffic while B ≥ K_max.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Marking {
    /// Always, as in III-B, even for sources that are not sending.
    #[default]
    ByBacklog,
    /// For sending sources only, since only a packet can be marked.
    ByArrivals,
}

/// RED between K_min and K_max.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Between<S> {
    /// Nothing is marked.
    #[default]
    Nothing,
    /// In expectation: a source is marked each time the marking probability, summed over its packets, has grown by one.
    ///
    /// With a linear backlog the sum is a quadratic of time, whose root is irrational: the instant is rounded up to a multiple
    /// of `quantum`. It is the only instant of a prediction that is rounded.
    Expected {
        /// Packet length in kbit.
        packet: S,
        /// Rounding step in µs.
        quantum: S,
    },
}

/// Explicit Congestion Notification.
#[derive(Clone, Debug, PartialEq)]
pub struct Ecn<S> {
    /// Thresholds for the server's backlog.
    pub red: Red<S>,
    /// Δτ_ecn: the minimum time between notifications to a source.
    pub gap: S,
    /// Marking from K_max on.
    pub marking: Marking,
    /// Marking below K_max.
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
    /// Scheduling of the server.
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
    /// Creates a scenario without PFC, ECN and timeouts.
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
