//! A wide network in terms of a scenario file.

use std::collections::BTreeMap;

use weir_core::config::Reserve;
use weir_core::units::LINE_OVERHEAD;
use weir_core::{BitRate, Bytes, Duration, FeedbackCoding};

/// Length from destination address to FCS.
pub(super) const FRAME_MAX: Bytes = Bytes::new(1522);
pub(super) const CELL: Bytes = Bytes::new(256);
/// γmax: the longest frame in whole cells.
pub(super) const GAMMA_MAX: u64 = 1536;

/// A network that can be written as a scenario file. Switches, hosts and links are identified by index; shrinking leaves no
/// gaps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// Seed of flow hashes.
    pub seed: u64,
    /// The kind of graph.
    pub shape: &'static str,
    pub(super) duration: Duration,
    pub(super) refresh: Duration,
    pub(super) latency: Duration,
    pub(super) breaker: Breaker,
    pub(super) host_line: Line,
    pub(super) switches: Vec<Switch>,
    /// By host: its switch.
    pub(super) hosts: Vec<usize>,
    pub(super) links: Vec<Link>,
    pub(super) classes: Vec<Class>,
    pub(super) routes: Routes,
    pub(super) flows: Vec<Flow>,
    pub(super) faults: Vec<Fault>,
}

/// By (destination host, switch): the next switches.
pub(super) type Routes = BTreeMap<(usize, usize), Vec<usize>>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Switch {
    pub(super) levels: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) rate: BitRate,
    pub(super) delay: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) ends: [usize; 2],
    pub(super) line: Line,
    /// Configured T.
    pub(super) round_trip: Duration,
    pub(super) coding: FeedbackCoding,
    pub(super) known: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Class {
    pub(super) priority: u8,
    /// b_1 … b_D beyond the minimum, in frames.
    pub(super) spare: Vec<u64>,
    /// X_off at edge ports, in frames.
    pub(super) edge_xoff: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Flow {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) class: usize,
    /// Length without FCS.
    pub(super) frame: u64,
    pub(super) rate: Option<BitRate>,
    pub(super) start: Duration,
    pub(super) size: Option<u64>,
    pub(super) on_off: Option<[Duration; 2]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Breaker {
    pub(super) detect: Duration,
    pub(super) interval: Duration,
    pub(super) release: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    LinkDown {
        link: usize,
        at: Duration,
        length: Duration,
    },
    Route {
        switch: usize,
        to: usize,
        next: Vec<usize>,
        at: Duration,
    },
    SlowControl {
        switch: usize,
        latency: Duration,
        at: Duration,
        length: Duration,
    },
}

impl Line {
    /// Returns T: a Feedback waits for the frame on our line and for earlier control frames, crosses, and finds that the
    /// neighbour's last frame has just begun.
    pub(super) fn round_trip(&self) -> Duration {
        const CONTROL_BEFORE: u64 = 3;
        let frame = self.rate.time_for(FRAME_MAX + LINE_OVERHEAD);
        let control = self.rate.time_for(Bytes::new(64) + LINE_OVERHEAD);
        frame.saturating_mul(2)
            + self.delay.saturating_mul(2)
            + control.saturating_mul(1 + CONTROL_BEFORE)
    }

    pub(super) fn frame_time(&self) -> Duration {
        self.rate.time_for(FRAME_MAX + LINE_OVERHEAD)
    }
}

/// Returns the room for frames that arrive within `round_trip`.
pub(super) fn reserve(rate: BitRate, round_trip: Duration) -> u64 {
    let reserve = Reserve::new(rate, round_trip, CELL, FRAME_MAX).total();
    reserve.round_up_to(CELL).get()
}

impl Flow {
    /// True if it has frames from its start to the end.
    pub(super) const fn is_steady(&self) -> bool {
        self.size.is_none() && self.on_off.is_none()
    }

    /// Returns the longest silence due to its own pattern.
    pub(super) fn own_gap(&self) -> Duration {
        let frame = Bytes::new(self.frame);
        self.rate
            .map_or(Duration::ZERO, |rate| rate.time_for(frame))
    }
}

impl Case {
    /// Returns the part of every budget besides one frame: room for frames that arrive within the longest T.
    pub(super) fn reserve(&self) -> u64 {
        let links = self.links.iter();
        let reserves = links.map(|link| reserve(link.line.rate, link.round_trip));
        reserves.max().unwrap_or(0)
    }

    /// Like [`reserve`](Self::reserve), for the actual T of lines, including those of hosts.
    pub(super) fn true_reserve(&self) -> u64 {
        let lines = self.links.iter().map(|link| link.line);
        let reserves = lines
            .chain([self.host_line])
            .map(|line| reserve(line.rate, line.round_trip()));
        reserves.max().unwrap_or(0)
    }

    /// Returns b_1 … b_D of a class, in bytes.
    pub(super) fn budgets(&self, class: &Class) -> Vec<u64> {
        let needed = GAMMA_MAX + self.reserve();
        let spare = class.spare.iter();
        spare.map(|spare| needed + spare * GAMMA_MAX).collect()
    }

    pub(super) fn slowest(&self) -> Line {
        let lines = self.links.iter().map(|link| link.line);
        lines
            .chain([self.host_line])
            .min_by_key(|line| line.rate)
            .unwrap_or(self.host_line)
    }

    pub(super) fn longest_round_trip(&self) -> Duration {
        let links = self.links.iter().map(|link| link.round_trip);
        links.max().unwrap_or(Duration::ZERO)
    }

    /// True if some T is shorter than its line needs.
    pub fn has_short_round_trip(&self) -> bool {
        let mut links = self.links.iter();
        links.any(|link| link.round_trip < link.line.round_trip())
    }

    /// True if some T is at least twice as long as its line needs.
    pub fn has_long_round_trip(&self) -> bool {
        let mut links = self.links.iter();
        links.any(|link| link.round_trip > link.line.round_trip().saturating_mul(2))
    }

    /// True if some switch lacks Levels.
    pub fn is_mixed(&self) -> bool {
        self.switches.iter().any(|switch| !switch.levels)
    }

    /// True if some route changes during traffic.
    pub fn changes_routes(&self) -> bool {
        let mut faults = self.faults.iter();
        faults.any(|fault| matches!(fault, Fault::Route { .. }))
    }

    /// True if routes to a host change at several moments, between which frames may loop.
    pub fn has_moments_of_loops(&self) -> bool {
        let mut when: BTreeMap<usize, Duration> = BTreeMap::new();
        self.faults.iter().any(|fault| match fault {
            Fault::Route { to, at, .. } => when.insert(*to, *at).is_some_and(|other| other != *at),
            _ => false,
        })
    }

    /// True if some link is down for a while.
    pub fn loses_links(&self) -> bool {
        let mut faults = self.faults.iter();
        faults.any(|fault| matches!(fault, Fault::LinkDown { .. }))
    }
}
