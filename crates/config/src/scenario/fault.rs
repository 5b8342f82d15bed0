//! What goes wrong on purpose.

use weir_core::{Duration, Priority};

use super::PortPeer;
use crate::switch::FrameConfig;
use crate::Fraction;

/// When a fault is there, after the beginning of traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultTime {
    /// From then on.
    From(
        /// Its beginning.
        Duration,
    ),
    /// Once.
    Once {
        /// Its beginning.
        at: Duration,
        /// For how long. Zero only for a restart that takes no time.
        length: Duration,
    },
    /// Again and again.
    Every {
        /// Its first beginning.
        at: Duration,
        /// For how long each time.
        length: Duration,
        /// From one beginning to the next; above `length`.
        period: Duration,
    },
}

impl FaultTime {
    /// Beginnings and ends before `end`, in order. A span that goes on at `end` ends there.
    pub fn spans(self, end: Duration) -> impl Iterator<Item = (Duration, Duration)> {
        let (at, length, period) = match self {
            Self::From(at) => (at, end, None),
            Self::Once { at, length } => (at, length, None),
            Self::Every { at, length, period } => (at, length, Some(period)),
        };
        let nanos = |duration: Duration| duration.as_nanos();
        let next = move |begin: &u64| begin.checked_add(nanos(period?));
        std::iter::successors(Some(nanos(at)), next)
            .take_while(move |begin| *begin < nanos(end))
            .map(move |begin| {
                let stop = begin.saturating_add(nanos(length)).min(nanos(end));
                (Duration::from_nanos(begin), Duration::from_nanos(stop))
            })
    }

    /// Whether it is there at `time`.
    pub fn holds(self, time: Duration) -> bool {
        match self {
            Self::From(at) => time >= at,
            Self::Once { at, length } => is_within(time, at, length),
            Self::Every { at, length, period } => {
                let since = time.as_nanos().checked_sub(at.as_nanos());
                since.is_some_and(|since| since % period.as_nanos() < length.as_nanos())
            }
        }
    }
}

fn is_within(time: Duration, at: Duration, length: Duration) -> bool {
    let since = time.as_nanos().checked_sub(at.as_nanos());
    since.is_some_and(|since| since < length.as_nanos())
}

/// Which frames that come in by a port are impaired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImpairedFrames {
    /// As for `switchctl impair`: an expression that [`filter::parse`](crate::frames::filter::parse) reads. Empty for all.
    pub filter: String,
    /// Of those each one of this number; 1 for all.
    pub one_in: u64,
}

/// What `switchctl impair` does, with the same names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Impairing {
    /// Frames that come in are dropped.
    Drop(ImpairedFrames),
    /// The switch gets them later.
    Delay {
        /// Which.
        frames: ImpairedFrames,
        /// By so much.
        by: Duration,
    },
    /// They are marked Congestion Experienced, if their transport knows ECN.
    Mark(ImpairedFrames),
    /// The neighbour is paused for a part of the time.
    Pause {
        /// In this priority.
        priority: Priority,
        /// For so long, each time.
        on: Duration,
        /// From one beginning to the next; above `on`.
        period: Duration,
    },
    /// The switch takes the link for down for a part of the time.
    Flap {
        /// For so long, each time.
        on: Duration,
        /// From one beginning to the next; above `on`.
        period: Duration,
    },
}

impl Impairing {
    /// Its `kind` in files, and its word for `switchctl impair`.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Drop(_) => "drop",
            Self::Delay { .. } => "delay",
            Self::Mark(_) => "mark",
            Self::Pause { .. } => "pause",
            Self::Flap { .. } => "flap",
        }
    }

    /// Which frames it is done to; `None` for what is done to a neighbour or a link.
    pub const fn frames(&self) -> Option<&ImpairedFrames> {
        match self {
            Self::Drop(frames) | Self::Mark(frames) | Self::Delay { frames, .. } => Some(frames),
            Self::Pause { .. } | Self::Flap { .. } => None,
        }
    }
}

/// One fault. Links, switches and hosts are indices of the scenario's lists; links are those that work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Control frames between switches (PFC, Feedback, grants, CLCM, LLDP) are lost.
    ControlLoss {
        /// On these links, in both directions.
        links: Vec<usize>,
        /// Of each frame.
        probability: Fraction,
        /// While this holds.
        time: FaultTime,
    },
    /// A bit of such a frame is turned over behind its FCS: switches see it damaged.
    ControlCorruption {
        /// On these links, in both directions.
        links: Vec<usize>,
        /// Of each frame.
        probability: Fraction,
        /// While this holds.
        time: FaultTime,
    },
    /// Such a frame arrives twice.
    ControlDuplication {
        /// On these links, in both directions.
        links: Vec<usize>,
        /// Of each frame.
        probability: Fraction,
        /// While this holds.
        time: FaultTime,
    },
    /// Such a frame arrives later than it should.
    ControlDelay {
        /// On these links, in both directions.
        links: Vec<usize>,
        /// Of each frame.
        probability: Fraction,
        /// So much later, beside the link's delay.
        by: Duration,
        /// While this holds.
        time: FaultTime,
    },
    /// A link carries nothing.
    LinkDown {
        /// The link.
        link: usize,
        /// While this holds.
        time: FaultTime,
    },
    /// A switch loses its frames and all that it knows; it is silent for the fault's length.
    SwitchRestart {
        /// The switch.
        switch: usize,
        /// When.
        time: FaultTime,
    },
    /// A switch stands still and goes on where it stood.
    SwitchFreeze {
        /// The switch.
        switch: usize,
        /// While this holds.
        time: FaultTime,
    },
    /// The way to the control CPU and back takes longer.
    SlowControl {
        /// Of these switches.
        switches: Vec<usize>,
        /// In the place of [`ControlConfig::latency`].
        latency: Duration,
        /// While this holds.
        time: FaultTime,
    },
    /// Both ends of a link are told a wrong T.
    RoundTrip {
        /// Of these links.
        links: Vec<usize>,
        /// T in their configuration.
        round_trip: Duration,
    },
    /// A switch sends frames for a host another way from a moment on. What waits there already leaves where it waits.
    RouteChange {
        /// The switch.
        switch: usize,
        /// The host that the route leads to.
        host: usize,
        /// Switches next to it: the members of the new group.
        members: Vec<usize>,
        /// When.
        at: Duration,
    },
    /// A host sends whatever PFC says.
    HostIgnoresPfc {
        /// The host.
        host: usize,
        /// While this holds.
        time: FaultTime,
    },
    /// A host asks its switch to pause, again and again, in every priority of every lossless class.
    HostStorm {
        /// The host.
        host: usize,
        /// While this holds.
        time: FaultTime,
    },
    /// A switch does to frames, a neighbour or a link what `switchctl impair` asks for.
    Impair {
        /// The switch.
        switch: usize,
        /// What its port leads to.
        port: PortPeer,
        /// What it does there.
        what: Impairing,
        /// While this holds. Of a pause and of a flap: once.
        time: FaultTime,
    },
}

impl Fault {
    /// Its `kind` in files and results.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::ControlLoss { .. } => "control-loss",
            Self::ControlCorruption { .. } => "control-corruption",
            Self::ControlDuplication { .. } => "control-duplication",
            Self::ControlDelay { .. } => "control-delay",
            Self::LinkDown { .. } => "link-down",
            Self::SwitchRestart { .. } => "switch-restart",
            Self::SwitchFreeze { .. } => "switch-freeze",
            Self::SlowControl { .. } => "slow-control",
            Self::RoundTrip { .. } => "round-trip",
            Self::RouteChange { .. } => "route-change",
            Self::HostIgnoresPfc { .. } => "host-ignores-pfc",
            Self::HostStorm { .. } => "host-storm",
            Self::Impair { what, .. } => what.name(),
        }
    }
}

/// `[control]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControlConfig {
    /// From the dataplane to the control CPU, and the same back.
    pub latency: Duration,
    /// How often a switch tells Feedback again.
    pub feedback_refresh: Duration,
}

impl Default for ControlConfig {
    fn default() -> Self {
        Self {
            latency: Duration::ZERO,
            feedback_refresh: FrameConfig::DEFAULT.feedback_refresh,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn times() -> impl Strategy<Value = FaultTime> {
        let nanos = |most: u64| (0..most).prop_map(Duration::from_nanos);
        prop_oneof![
            nanos(100).prop_map(FaultTime::From),
            (nanos(100), nanos(50)).prop_map(|(at, length)| FaultTime::Once { at, length }),
            (nanos(100), 1u64..50, 1u64..50).prop_map(|(at, length, pause)| FaultTime::Every {
                at,
                length: Duration::from_nanos(length),
                period: Duration::from_nanos(length + pause),
            }),
        ]
    }

    proptest! {
        #[test]
        fn spans_are_where_it_holds(time in times(), end in 1u64..200) {
            let end = Duration::from_nanos(end);
            let spans: Vec<_> = time.spans(end).collect();
            for nanos in 0..end.as_nanos() {
                let now = Duration::from_nanos(nanos);
                let inside = spans.iter().any(|(begin, stop)| (*begin..*stop).contains(&now));
                prop_assert_eq!(time.holds(now), inside, "at {}", nanos);
            }
        }
    }
}
