//! What switches have told the frames that are under way, beside their records: only flows that ask for it pay for it.

use crate::transport::telemetry::{Hop, HOPS_MAX};

/// By frame and by line.
#[derive(Clone, Debug, Default)]
pub(in crate::network) struct Telemetry {
    /// By the frame's place in its pool.
    of_frames: Vec<Vec<Hop>>,
    /// Lists without a frame, so that there is no new one for each.
    spare: Vec<Vec<Hop>>,
    /// By line: bytes that it has carried, with preamble, gap and FCS.
    sent: Vec<u64>,
}

impl Telemetry {
    pub(in crate::network) fn new(lines: usize) -> Self {
        Self {
            sent: vec![0; lines],
            ..Self::default()
        }
    }

    /// Of a part of the network: nothing is under way yet.
    pub(in crate::network) fn of_part(&self) -> Self {
        Self {
            sent: self.sent.clone(),
            ..Self::default()
        }
    }

    /// Takes in what the lines of a part have carried: only one part sends on each.
    pub(in crate::network) fn join_lines(&mut self, part: &Self) {
        for (own, there) in self.sent.iter_mut().zip(&part.sent) {
            *own = (*own).max(*there);
        }
    }

    /// The frame at `place` has met `hops`.
    pub(super) fn put(&mut self, place: u32, hops: Vec<Hop>) {
        let place = place as usize;
        if self.of_frames.len() <= place {
            self.of_frames.resize_with(place + 1, Vec::new);
        }
        let mut old = std::mem::replace(&mut self.of_frames[place], hops);
        old.clear();
        if old.capacity() > 0 {
            self.spare.push(old);
        }
    }

    /// What the frame at `place` has met leaves with it.
    pub(super) fn take(&mut self, place: u32) -> Vec<Hop> {
        let of_frame = self.of_frames.get_mut(place as usize);
        of_frame.map(std::mem::take).unwrap_or_default()
    }

    pub(super) fn get(&self, place: u32) -> &[Hop] {
        self.of_frames
            .get(place as usize)
            .map_or(&[], Vec::as_slice)
    }

    /// A list for a new frame.
    pub(super) fn empty(&mut self) -> Vec<Hop> {
        self.spare.pop().unwrap_or_default()
    }

    /// The frame at `place` meets a switch.
    pub(in crate::network) fn note(&mut self, place: u32, mut hop: Hop) {
        hop.sent_bytes = self.sent[hop.line as usize];
        if let Some(hops) = self.of_frames.get_mut(place as usize) {
            if hops.len() < HOPS_MAX {
                hops.push(hop);
            }
        }
    }

    /// A line carries so many bytes more.
    pub(in crate::network) fn carried(&mut self, line: u32, bytes: u64) {
        self.sent[line as usize] += bytes;
    }
}
