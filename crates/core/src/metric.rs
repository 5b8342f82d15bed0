//! What a metric is, whoever shows it. Counters of the core say themselves which metric they are part of (see
//! [`counters`](crate::counters)).

use core::fmt;

/// What a metric is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only grows while the daemon runs.
    Counter,
    /// Goes up and down.
    Gauge,
    /// How many observations were at most each of a list of bounds, their sum and their count.
    Histogram,
}

impl Kind {
    /// As the text exposition format says it.
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
    /// What it is.
    pub kind: Kind,
    /// The labels of each of its series.
    pub labels: &'static [&'static str],
    /// Its meaning.
    pub help: &'static str,
}

/// The name: expressions are written with it.
impl fmt::Display for Definition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
