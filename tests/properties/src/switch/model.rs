//! Reference model of the switch: a list of all its frames, slow and simple.

use std::collections::{BTreeMap, VecDeque};

use weir_core::wire::clcm::Clcm;
use weir_core::FrameHandle;

use super::setup::{CELL, FRAME_LENGTH_MAX, HEADROOM, LOSSLESS, LOSSY, PORTS, XOFF, XON};

/// One frame in the model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModelFrame {
    pub handle: FrameHandle,
    pub ingress: u8,
    pub priority: u8,
    pub length: u64,
}

/// (egress, priority, ingress, destination).
pub type QueueKey = (u8, u8, u8, u8);

/// State of the switch and messages to it. Times are in nanoseconds.
pub struct Model {
    /// Waiting frames, oldest first.
    pub waiting: BTreeMap<QueueKey, VecDeque<ModelFrame>>,
    /// Sent but not completed, with the egress.
    pub sent: Vec<ModelFrame>,
    /// Egress by destination.
    pub routes: BTreeMap<u8, u8>,
    pub up: [bool; PORTS],
    pub outage: [Outage; PORTS],
    /// Control messages waiting to be sent.
    pub messages: [VecDeque<Clcm>; PORTS],
    pub pause_all: [u64; PORTS],
    pub pause: [[u64; 8]; PORTS],
    /// (ingress, until) by (egress, priority).
    pub rules: BTreeMap<(u8, u8), (u8, u64)>,
    raise: [[Raise; 8]; PORTS],
    pub pausing: [[bool; 8]; PORTS],
}

/// State of a port whose link is down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outage {
    None,
    /// Frames wait for it until this time.
    Held(u64),
    Over,
}

/// Effect of a release on an ingress buffer's thresholds.
#[derive(Clone, Copy, Debug, Default)]
enum Raise {
    #[default]
    None,
    Active {
        xoff: u64,
        xon: u64,
        until: u64,
    },
    /// Over, but the occupancy has not yet returned to the normal xoff.
    Draining {
        xoff: u64,
    },
}

impl Model {
    pub fn new() -> Self {
        Self {
            waiting: BTreeMap::new(),
            sent: Vec::new(),
            routes: (0..PORTS as u8).map(|port| (port, port)).collect(),
            up: [true; PORTS],
            outage: [Outage::None; PORTS],
            messages: Default::default(),
            pause_all: [0; PORTS],
            pause: [[0; 8]; PORTS],
            rules: BTreeMap::new(),
            raise: Default::default(),
            pausing: Default::default(),
        }
    }

    fn raise_of(&mut self, port: u8, priority: u8) -> &mut Raise {
        &mut self.raise[usize::from(port)][usize::from(priority)]
    }

    pub fn thresholds(&self, port: u8, priority: u8) -> (u64, u64) {
        match self.raise[usize::from(port)][usize::from(priority)] {
            Raise::Active { xoff, xon, .. } => (xoff, xon),
            Raise::None | Raise::Draining { .. } => (XOFF, XON),
        }
    }

    pub fn limit(&self, port: u8, priority: u8) -> u64 {
        if !LOSSLESS.contains(&priority) {
            return LOSSY;
        }
        match self.raise[usize::from(port)][usize::from(priority)] {
            Raise::None => XOFF + HEADROOM,
            Raise::Active { xoff, .. } | Raise::Draining { xoff } => xoff + HEADROOM,
        }
    }

    pub fn raise(&mut self, port: u8, priority: u8, until: u64) {
        let extra = FRAME_LENGTH_MAX.div_ceil(CELL) * CELL;
        let stored = self.occupancy(port, priority);
        let xoff = (stored + extra).clamp(XOFF, XOFF + HEADROOM);
        let before = match *self.raise_of(port, priority) {
            Raise::Active { until, .. } => until,
            _ => 0,
        };
        *self.raise_of(port, priority) = Raise::Active {
            xoff,
            // The neighbour resumes at the current occupancy, or with the first frame that leaves.
            xon: (xoff - extra).max(XON).max(stored.min(xoff - 1)),
            until: until.max(before),
        };
    }

    /// Raises end with time, and their limit with the frames that they admitted.
    pub fn settle_raises(&mut self, now: u64) {
        for port in 0..PORTS as u8 {
            self.settle_raises_of(port, now);
        }
    }

    pub fn settle_raises_of(&mut self, port: u8, now: u64) {
        for priority in LOSSLESS {
            let occupancy = self.occupancy(port, priority);
            let raise = self.raise_of(port, priority);
            match *raise {
                Raise::Active { xoff, until, .. } if until <= now => {
                    *raise = Raise::Draining { xoff };
                }
                _ => {}
            }
            if matches!(raise, Raise::Draining { .. }) && occupancy <= XOFF {
                *raise = Raise::None;
            }
        }
    }

    /// Returns true if a frame from `ingress` for a downed link would leave less than half of its buffer to others.
    pub fn crowds_others(&self, ingress: u8, egress: u8, priority: u8) -> bool {
        self.outage[usize::from(egress)] != Outage::None
            && !LOSSLESS.contains(&priority)
            && 2 * self.occupancy(ingress, priority) >= LOSSY
    }

    /// Removes a frame that is the oldest of its virtual queue at `egress`.
    pub fn take_front(&mut self, egress: u8, handle: FrameHandle) -> Option<ModelFrame> {
        let is_it = |(key, frames): &(&QueueKey, &VecDeque<ModelFrame>)| {
            key.0 == egress && frames.front().is_some_and(|frame| frame.handle == handle)
        };
        let key = *self.waiting.iter().find(is_it)?.0;
        let queue = self.waiting.get_mut(&key)?;
        let frame = queue.pop_front();
        if queue.is_empty() {
            self.waiting.remove(&key);
        }
        frame
    }

    /// Number of frames that wait for `egress`.
    pub fn waits_for(&self, egress: u8) -> usize {
        let queues = self.waiting.iter().filter(|((e, ..), _)| *e == egress);
        queues.map(|(_, frames)| frames.len()).sum()
    }

    pub fn frames(&self) -> impl Iterator<Item = &ModelFrame> {
        self.waiting.values().flatten().chain(&self.sent)
    }

    pub fn occupancy(&self, port: u8, priority: u8) -> u64 {
        self.frames()
            .filter(|frame| frame.ingress == port && frame.priority == priority)
            .map(|frame| frame.length.div_ceil(CELL) * CELL)
            .sum()
    }

    pub fn backlog(&self, egress: u8, priority: u8) -> (u64, u64) {
        self.waiting
            .iter()
            .filter(|((e, p, ..), _)| (*e, *p) == (egress, priority))
            .flat_map(|(_, frames)| frames)
            .fold((0, 0), |(bytes, count), frame| {
                (bytes + frame.length, count + 1)
            })
    }

    pub fn is_paused(&self, now: u64, port: u8, priority: u8) -> bool {
        let port = usize::from(port);
        self.pause_all[port].max(self.pause[port][usize::from(priority)]) > now
    }

    /// Returns head frames that may leave by `egress` now, regardless of the shaper.
    pub fn eligible(&self, now: u64, egress: u8) -> Vec<(QueueKey, ModelFrame)> {
        if !self.up[usize::from(egress)] {
            return Vec::new();
        }
        self.waiting
            .iter()
            .filter(|((e, priority, ingress, _), _)| {
                let rule = self.rules.get(&(*e, *priority));
                *e == egress
                    && !self.is_paused(now, egress, *priority)
                    && rule.is_none_or(|(only, _)| only == ingress)
            })
            .filter_map(|(key, frames)| frames.front().map(|frame| (*key, *frame)))
            .collect()
    }
}
