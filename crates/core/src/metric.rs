//! Definition of a metric, independent of its presentation. Counters of the core name their metric (see
//! [`counters`](crate::counters)).

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
    /// Label names.
    pub labels: &'static [&'static str],
    /// Its meaning.
    pub help: &'static str,
}

/// For expressions, which contain the name.
impl fmt::Display for Definition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
