//! Congestion control of a single flow: Algorithms 1 (rate-based), 2 (window-based) and 3 (TCP Vegas) of the paper's appendices.
//!
//! Time is cut into intervals in which the network is min-plus linear. At each event the origin moves, the remaining traffic is
//! convolved with the new service curve of the source, and the result with the path server's. Everything is computed up to
//! the next event that can be foreseen, never further: what a later event would change is not computed at all.

mod origins;
pub mod rate_based;
pub mod vegas;
pub mod window_based;

use thiserror::Error;

use crate::algebra::{Curve, CurveError};

/// More events than this are refused: a run of that many is a mistake in the parameters.
pub const EVENTS_MAX: usize = 1_000_000;

/// Why a run has no result.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum ControlError {
    /// The algebra cannot.
    #[error(transparent)]
    Curve(#[from] CurveError),
    /// A parameter that makes no sense.
    #[error("{0}")]
    Parameter(&'static str),
    /// [`EVENTS_MAX`] is reached.
    #[error("more than {EVENTS_MAX} events")]
    TooManyEvents,
}

/// Result of an algorithm on [0, end].
#[derive(Clone, Debug)]
pub struct Run<S, E> {
    /// Â.
    pub admitted: Curve<S>,
    /// D. It steps back at timeouts, see [`congestion::retransmission`](crate::congestion::retransmission).
    pub departures: Curve<S>,
    /// Events, in order of time.
    pub events: Vec<E>,
}
