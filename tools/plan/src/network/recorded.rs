//! Recorded arrivals, instead of a scenario's flows.

use std::rc::Rc;

use weir_core::Bytes;

/// Recorded traffic.
#[derive(Debug)]
pub struct Recorded {
    /// Flows with at least one frame.
    pub flows: Vec<RecordedFlow>,
    /// Time from the beginning to the last arrival, in µs.
    pub span: f64,
    /// Notes for the reader.
    pub notes: Vec<String>,
}

/// Frames from one host to another in one class.
#[derive(Debug)]
pub struct RecordedFlow {
    /// Sending host.
    pub from: usize,
    /// Receiving host.
    pub to: usize,
    /// Its class.
    pub class: usize,
    /// Switches on its path, if known.
    pub via: Option<Vec<usize>>,
    /// The longest frame.
    pub longest: Bytes,
    /// Frame length with the highest charge per byte on the line.
    pub wasteful: Bytes,
    /// Charge per byte on the line over all frames.
    pub charge: f64,
    /// Arrivals over time: µs and kbit on the line, connected by straight lines. Ends with the total.
    pub points: Rc<[(f64, f64)]>,
}

impl RecordedFlow {
    /// Returns the total on the line, in kbit.
    pub fn total(&self) -> f64 {
        self.points.last().map_or(0.0, |point| point.1)
    }
}
