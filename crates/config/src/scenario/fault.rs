//! Deliberate faults.

use weir_core::{Duration, Priority};

use super::PortPeer;
use crate::switch::FrameConfig;
use crate::Fraction;

/// Time of a fault, from the beginning of traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultTime {
    /// From this time on.
    From(
        /// Its start.
        Duration,
    ),
    /// Once.
    Once {
        /// Its start.
        at: Duration,
        /// Its duration. Zero only for a restart that takes no time.
        length: Duration,
    },
    /// Periodically.
    Every {
        /// Its first start.
        at: Duration,
        /// Duration of each.
        length: Duration,
        /// From one start to the next; above `length`.
        period: Duration,
    },
}

impl FaultTime {
    /// Starts and ends before `end`, in order. A span that lasts beyond `end` ends there.
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

    /// Returns true if the fault is present at `time`.
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

/// Received frames at a port that are impaired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImpairedFrames {
    /// As for `switchctl impair`: an expression for [`filter::parse`](crate::frames::filter::parse). Empty for all.
    pub filter: String,
    /// One in this number of them; 1 for all.
    pub one_in: u64,
}

/// Action of `switchctl impair`, with the same names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Impairing {
    /// Drops received frames.
    Drop(ImpairedFrames),
    /// Delays frames before they reach the switch.
    Delay {
        /// The frames.
        frames: ImpairedFrames,
        /// Their delay.
        by: Duration,
    },
    /// Marks frames Congestion Experienced, if their transport is ECN-capable.
    Mark(ImpairedFrames),
    /// Pauses the neighbour for part of the time.
    Pause {
        /// The priority.
        priority: Priority,
        /// Duration of each pause.
        on: Duration,
        /// From one start to the next; above `on`.
        period: Duration,
    },
    /// Makes the switch treat the link as down for part of the time.
    Flap {
        /// Duration of each.
        on: Duration,
        /// From one start to the next; above `on`.
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

    /// The impaired frames; `None` if a neighbour or link is impaired.
    pub const fn frames(&self) -> Option<&ImpairedFrames> {
        match self {
            Self::Drop(frames) | Self::Mark(frames) | Self::Delay { frames, .. } => Some(frames),
            Self::Pause { .. } | Self::Flap { .. } => None,
        }
    }
}

/// One fault. Links, switches and hosts are indices into the scenario's lists; links are those that work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Control frames between switches (PFC, Feedback, grants, CLCM, LLDP) are lost.
    ControlLoss {
        /// On these links, in both directions.
        links: Vec<usize>,
        /// Probability for each frame.
        probability: Fraction,
        /// Time of the fault.
        time: FaultTime,
    },
    /// A bit of such a frame is flipped, undetected by its FCS: switches receive it damaged.
    ControlCorruption {
        /// On these links, in both directions.
        links: Vec<usize>,
        /// Probability for each frame.
        probability: Fraction,
        /// Time of the fault.
        time: FaultTime,
    },
    /// Such a frame arrives twice.
    ControlDuplication {
        /// On these links, in both directions.
        links: Vec<usize>,
        /// Probability for each frame.
        probability: Fraction,
        /// Time of the fault.
        time: FaultTime,
    },
    /// Such a frame arrives late.
    ControlDelay {
        /// On these links, in both directions.
        links: Vec<usize>,
        /// Probability for each frame.
        probability: Fraction,
        /// Additional delay, beside the link's.
        by: Duration,
        /// Time of the fault.
        time: FaultTime,
    },
    /// A link carries nothing.
    LinkDown {
        /// The link.
        link: usize,
        /// Time of the fault.
        time: FaultTime,
    },
    /// A switch loses its frames and all state; it is silent for the fault's duration.
    SwitchRestart {
        /// The switch.
        switch: usize,
        /// Time of the fault.
        time: FaultTime,
    },
    /// A switch stops, and continues where it stopped.
    SwitchFreeze {
        /// The switch.
        switch: usize,
        /// Time of the fault.
        time: FaultTime,
    },
    /// The latency to the control CPU and back increases.
    SlowControl {
        /// On these switches.
        switches: Vec<usize>,
        /// Replaces [`ControlConfig::latency`].
        latency: Duration,
        /// Time of the fault.
        time: FaultTime,
    },
    /// Both ends of a link are configured with a wrong T.
    RoundTrip {
        /// Of these links.
        links: Vec<usize>,
        /// The configured T.
        round_trip: Duration,
    },
    /// A switch changes its route to a host. Frames already waiting leave by their old egress.
    RouteChange {
        /// The switch.
        switch: usize,
        /// The host that the route leads to.
        host: usize,
        /// Neighbouring switches: the members of the new group.
        members: Vec<usize>,
        /// Time of the change.
        at: Duration,
    },
    /// A host ignores PFC.
    HostIgnoresPfc {
        /// The host.
        host: usize,
        /// Time of the fault.
        time: FaultTime,
    },
    /// A host pauses its switch continually, in every priority of every lossless class.
    HostStorm {
        /// The host.
        host: usize,
        /// Time of the fault.
        time: FaultTime,
    },
    /// A switch impairs frames, a neighbour or a link like `switchctl impair`.
    Impair {
        /// The switch.
        switch: usize,
        /// The peer of the port.
        port: PortPeer,
        /// The action.
        what: Impairing,
        /// Time of the fault. Once, for pauses and flaps.
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
    /// From the dataplane to the control CPU, and back again.
    pub latency: Duration,
    /// Interval at which a switch resends Feedback.
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
        fn spans_cover_exactly_the_times_when_it_holds(time in times(), end in 1u64..200) {
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
