//! Definition of a metric, independent of how it is shown. Counters of the core name the metric
//! that they belong to (see [`counters`](crate::counters)).

use core::fmt;

/// Type of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only grows while the daemon runs.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Number of observations up to each of a list of bounds, their sum and their count.
    Histogram,
}

impl Kind {
    /// Returns the name in the text exposition format.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

/// One metric.
#[derive(Clone, Copy, Debug)]
pub struct Definition {
    /// Its name.
    pub name: &'static str,
    /// Type of the metric.
    pub kind: Kind,
    /// The labels of each of its series.
    pub labels: &'static [&'static str],
    /// Its meaning.
    pub help: &'static str,
}

/// Writes the name, which expressions contain.
impl fmt::Display for Definition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
