//! The slow model: protocol P as defined in the paper, over a list of all frames and a list of all messages.

use weir_core::{Duration, FrameHandle};

use super::{egress_of, CELL, EDGE_LIMIT, FABRIC, GAMMA};

/// Of this many consecutive signals, at least one is assumed to be received.
const HEARD_OF: usize = 3;

#[derive(Clone, Copy, Debug)]
pub struct ModelFrame {
    pub handle: FrameHandle,
    pub ingress: u8,
    pub destination: u8,
    pub length: u64,
    pub cells: u64,
    pub level: u8,
    /// Its egress port, from transmission to completion.
    pub is_sent: bool,
}

pub struct Model {
    pub budgets: Vec<u64>,
    pub reserve: u64,
    /// In order of arrival.
    pub frames: Vec<ModelFrame>,
    pub feedback_received: [u8; FABRIC as usize],
    pub paused_until: [u64; FABRIC as usize],
    round_trip: u64,
    /// Time for which a Feedback replaced by a higher one permits one more frame.
    lingering: u64,
    /// Feedback replaced by a higher one since the last opportunity to send, with its time.
    replaced: [Vec<(u64, u8)>; FABRIC as usize],
    /// Feedback sent to each link's neighbour, with its time.
    told: [Vec<(u64, u8)>; FABRIC as usize],
}

impl Model {
    pub fn new(budgets: &[u64], reserve: u64, round_trip: Duration, lingering: Duration) -> Self {
        Self {
            budgets: budgets.to_vec(),
            reserve,
            frames: Vec::new(),
            feedback_received: [0; FABRIC as usize],
            paused_until: [0; FABRIC as usize],
            round_trip: round_trip.as_nanos(),
            lingering: lingering.as_nanos(),
            replaced: core::array::from_fn(|_| Vec::new()),
            // A neighbour without Feedback may send anything.
            told: core::array::from_fn(|_| vec![(0, 0); HEARD_OF]),
        }
    }

    pub fn tell(&mut self, now: u64, link: u8, feedback: u8) {
        self.told[usize::from(link)].push((now, feedback));
    }

    pub fn hear(&mut self, now: u64, link: u8, feedback: u8) {
        let at = usize::from(link);
        let before = self.feedback_received[at];
        // A higher one lingers without effect.
        if before < feedback && before <= self.lets_out_from(now, link) {
            self.replaced[at].push((now, before));
        }
        if feedback == self.depth() {
            self.replaced[at].clear();
        }
        self.feedback_received[at] = feedback;
    }

    /// Frames wait, the line is free, and a frame left or none could.
    pub fn note_opportunity(&mut self, link: u8) {
        if let Some(replaced) = self.replaced.get_mut(usize::from(link)) {
            replaced.clear();
        }
    }

    /// Returns the lowest of the Feedback in force and lingering ones.
    fn lets_out_from(&self, now: u64, link: u8) -> u8 {
        let at = usize::from(link);
        let lingering = self.replaced[at]
            .iter()
            .filter(|(when, _)| when + self.lingering > now)
            .map(|(_, feedback)| *feedback);
        lingering.chain([self.feedback_received[at]]).min().unwrap()
    }

    /// Returns true if frames wait for a port that is not paused.
    pub fn has_opportunity(&self, now: u64, egress: u8) -> bool {
        let paused = self.paused_until.get(usize::from(egress));
        paused.is_none_or(|until| *until <= now)
            && self
                .frames
                .iter()
                .any(|frame| !frame.is_sent && egress_of(frame.destination) == egress)
    }

    /// Returns the lowest Feedback that may have released a frame that arrives now: each counts until [`HEARD_OF`]
    /// others were sent after it, plus the round-trip time and the neighbour's lingering.
    fn lowest_told(&self, now: u64, link: u8) -> u8 {
        let told = &self.told[usize::from(link)];
        let counting = told.iter().enumerate().filter(|(index, _)| {
            let heard = told.get(index + HEARD_OF);
            heard.is_none_or(|(when, _)| when + self.round_trip + self.lingering > now)
        });
        counting.map(|(_, (_, feedback))| *feedback).min().unwrap()
    }

    pub fn depth(&self) -> u8 {
        self.budgets.len() as u8
    }

    /// n_i of a link's Receiving Queue.
    pub fn n(&self, link: u8, level: u8) -> u64 {
        self.frames
            .iter()
            .filter(|frame| (frame.ingress, frame.level) == (link, level))
            .map(|frame| frame.cells)
            .sum()
    }

    /// Equation 8. Signed, to detect negative values.
    pub fn m(&self, link: u8, level: u8) -> i64 {
        (1..=level)
            .map(|j| self.budgets[usize::from(j) - 1] as i64 - self.n(link, j) as i64)
            .sum()
    }

    /// The largest j with m_j below a bound, otherwise 0.
    fn largest_below(&self, link: u8, bound: u64) -> u8 {
        (1..=self.depth())
            .rev()
            .find(|j| self.m(link, *j) < bound as i64)
            .unwrap_or(0)
    }

    /// Section V: m_j − rT < γmax.
    pub fn feedback(&self, link: u8) -> u8 {
        self.largest_below(link, GAMMA + self.reserve)
    }

    /// λ of a destination: that of its frames, zero without any.
    pub fn level_of(&self, destination: u8) -> u8 {
        self.frames
            .iter()
            .find(|frame| frame.destination == destination)
            .map_or(0, |frame| frame.level)
    }

    /// Rules 3 to 5 with equation 22, and at least one Level above the frame's previous one. Returns false if there is
    /// no room.
    pub fn receive(
        &mut self,
        now: u64,
        handle: FrameHandle,
        ingress: u8,
        destination: u8,
        length: u16,
    ) -> bool {
        let cells = u64::from(length).div_ceil(CELL) * CELL;
        let mut level = self.level_of(destination);
        if ingress < FABRIC {
            let j = self.largest_below(ingress, GAMMA);
            if j == self.depth() {
                return false;
            }
            let before = self.lowest_told(now, ingress);
            level = level.max(1 + j).max((1 + before).min(self.depth()));
        } else {
            let of_port = self.frames.iter().filter(|frame| frame.ingress == ingress);
            if of_port.map(|frame| frame.cells).sum::<u64>() + cells > EDGE_LIMIT {
                return false;
            }
        }
        for frame in &mut self.frames {
            if frame.destination == destination {
                frame.level = level;
            }
        }
        self.frames.push(ModelFrame {
            handle,
            ingress,
            destination,
            length: u64::from(length),
            cells,
            level,
            is_sent: false,
        });
        true
    }

    /// Returns frames and bytes that wait to leave by a link: those released by the Feedback, and those blocked by it.
    pub fn waiting(&self, link: u8) -> [(u64, u64); 2] {
        let feedback = self.feedback_received[usize::from(link)];
        let mut sums = [(0, 0); 2];
        let frames = self.frames.iter().filter(|frame| !frame.is_sent);
        for frame in frames.filter(|frame| egress_of(frame.destination) == link) {
            let is_held = frame.level < feedback || feedback == self.depth();
            let (count, bytes) = &mut sums[usize::from(is_held)];
            *count += 1;
            *bytes += frame.length;
        }
        sums
    }

    /// Frames that may leave by a port: the oldest of their ingress and destination, and not below the Feedback
    /// (equation 1) or a lingering one; none with Feedback D.
    pub fn eligible(&self, now: u64, egress: u8) -> Vec<FrameHandle> {
        let waiting = || {
            self.frames
                .iter()
                .filter(move |frame| !frame.is_sent && egress_of(frame.destination) == egress)
        };
        let feedback = match self.feedback_received.get(usize::from(egress)) {
            Some(_) if self.paused_until[usize::from(egress)] > now => return Vec::new(),
            Some(_) => match self.lets_out_from(now, egress) {
                feedback if feedback == self.depth() => return Vec::new(),
                feedback => feedback,
            },
            None => 0,
        };
        waiting()
            .filter(|frame| frame.level >= feedback)
            .filter(|frame| {
                let same = |other: &&ModelFrame| {
                    (other.ingress, other.destination) == (frame.ingress, frame.destination)
                };
                waiting().find(same).map(|first| first.handle) == Some(frame.handle)
            })
            .map(|frame| frame.handle)
            .collect()
    }
}
