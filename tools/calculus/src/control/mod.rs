//! Congestion control of a single flow: Algorithms 1 (rate-based), 2 (window-based) and 3 (TCP Vegas) of the paper's appendices.
//!
//! Time is cut into intervals in which the network is min-plus linear. At each event the origin moves, the remaining traffic
//! is convolved with the source's new service curve, and the result with the path server's. Everything is computed up to the
//! next foreseeable event and no further, so nothing is computed that a later event would change.

mod origins;
pub mod rate_based;
pub mod vegas;
pub mod window_based;

use thiserror::Error;

use crate::algebra::{Curve, CurveError};

/// Maximum number of events; a longer run has a mistake in its parameters.
pub const EVENTS_MAX: usize = 1_000_000;

/// Reason for which a run has no result.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum ControlError {
    /// Error of the algebra.
    #[error(transparent)]
    Curve(#[from] CurveError),
    /// A parameter is invalid.
    #[error("{0}")]
    Parameter(&'static str),
    /// [`EVENTS_MAX`] was reached.
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
