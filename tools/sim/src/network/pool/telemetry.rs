//! Telemetry of frames in flight, stored apart from their records: only flows that use it pay for it.

use crate::transport::telemetry::{Hop, HOPS_MAX};

#[derive(Clone, Debug, Default)]
pub(in crate::network) struct Telemetry {
    /// By the frame's place in its pool.
    of_frames: Vec<Vec<Hop>>,
    /// Unused lists, to avoid allocations.
    spare: Vec<Vec<Hop>>,
    /// By line: bytes carried, including preamble, gap and FCS.
    sent: Vec<u64>,
}

impl Telemetry {
    pub(in crate::network) fn new(lines: usize) -> Self {
        Self {
            sent: vec![0; lines],
            ..Self::default()
        }
    }

    /// Returns that of a part of the network, without frames.
    pub(in crate::network) fn of_part(&self) -> Self {
        Self {
            sent: self.sent.clone(),
            ..Self::default()
        }
    }

    /// Copies the telemetry of a part's lines: only one part sends on each line.
    pub(in crate::network) fn join_lines(&mut self, part: &Self) {
        for (own, there) in self.sent.iter_mut().zip(&part.sent) {
            *own = (*own).max(*there);
        }
    }

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

    pub(super) fn take(&mut self, place: u32) -> Vec<Hop> {
        let of_frame = self.of_frames.get_mut(place as usize);
        of_frame.map(std::mem::take).unwrap_or_default()
    }

    pub(super) fn get(&self, place: u32) -> &[Hop] {
        self.of_frames
            .get(place as usize)
            .map_or(&[], Vec::as_slice)
    }

    /// Returns an empty list for a new frame.
    pub(super) fn empty(&mut self) -> Vec<Hop> {
        self.spare.pop().unwrap_or_default()
    }

    pub(in crate::network) fn note(&mut self, place: u32, mut hop: Hop) {
        hop.sent_bytes = self.sent[hop.line as usize];
        if let Some(hops) = self.of_frames.get_mut(place as usize) {
            if hops.len() < HOPS_MAX {
                hops.push(hop);
            }
        }
    }

    pub(in crate::network) fn carried(&mut self, line: u32, bytes: u64) {
        self.sent[line as usize] += bytes;
    }
}
