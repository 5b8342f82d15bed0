//! Copies of frames for mirrors, in separate chunks so that the frame itself never waits for its copy.

use std::sync::Arc;

use weir_api::counters::MirrorCounters;
use weir_config::daemon::MIRRORS_MAX;
use weir_core::{
    Bytes, DropReason, Frame, FrameHandle, Instant, MacAddress, PortId, VlanId, VlanTag,
};
use weir_ebpf::FrameClass;

use super::vlans::tag_of;
use super::Worker;
use crate::exchange::mirrors::{Copying, Mirrors};
use crate::memory::pool::Chunk;
use crate::rings::io::Io;

/// Maximum number of chunks of one frame: a kernel delivers at most 17 fragments and a head.
const PARTS_MAX: usize = 18;

/// Marks a copy, which no mirror copies again.
const COPY: u8 = u8::MAX;

/// The mirrors, and which frames they have copied.
#[derive(Debug)]
pub(super) struct Mirroring {
    mirrors: Arc<Mirrors>,
    /// By chunk: one bit for each mirror that has copied the frame.
    copied: Box<[u8]>,
    pub(super) counters: [MirrorCounters; MIRRORS_MAX],
}

impl Mirroring {
    pub(super) fn new(chunk_count: usize) -> Self {
        Self {
            mirrors: Arc::default(),
            copied: vec![0; chunk_count].into_boxed_slice(),
            counters: Default::default(),
        }
    }

    /// Replaces the mirrors; a mirror that keeps its name keeps its counters.
    pub(super) fn set(&mut self, mirrors: Arc<Mirrors>) {
        let before = std::mem::take(&mut self.counters);
        for (place, counters) in self.counters.iter_mut().enumerate() {
            let known = self.mirrors.same_as(&mirrors, place);
            if let Some(known) = known.and_then(|known| before.get(known)) {
                *counters = *known;
            }
        }
        if !mirrors.is_on() {
            self.copied.fill(0);
        }
        self.mirrors = mirrors;
    }

    pub(super) fn is_on(&self) -> bool {
        self.mirrors.is_on()
    }

    /// Returns true if `chunk` holds a copy, which has no metadata in front.
    pub(super) fn is_copy(&self, chunk: Chunk) -> bool {
        self.copied.get(chunk as usize) == Some(&COPY)
    }

    fn note(&mut self, chunk: Chunk, copied: u8) {
        if let Some(known) = self.copied.get_mut(chunk as usize) {
            *known = copied;
        }
    }

    /// Returns true if frames received on `port` are copied.
    #[inline(always)]
    pub(super) fn looks_at_arrivals(&self, port: PortId) -> bool {
        self.mirrors.is_on() && self.mirrors.looks_at_arrivals(port)
    }

    /// Returns true if frames sent by `port` are copied.
    #[inline(always)]
    pub(super) fn looks_at_departures(&self, port: PortId) -> bool {
        self.mirrors.is_on() && self.mirrors.looks_at_departures(port)
    }
}

impl<I: Io> Worker<I> {
    /// Copies a received data frame with its original bytes. Control frames are not copied, since a receiver of the copy
    /// would obey them.
    #[cold]
    pub(super) fn mirror_data(&mut self, now: Instant, port: PortId, chunk: Chunk) {
        let meta = self.io.frame(chunk).0;
        if meta.is_some_and(|meta| meta.class == FrameClass::Data) {
            self.mirror_arrival(now, port, chunk);
        }
    }

    /// Returns the VLAN of a frame received on `port`; `None` without a VLAN, or if no mirror selects by it.
    fn vlan_on_arrival(&mut self, port: PortId, chunk: Chunk) -> Option<VlanId> {
        if !self.mirroring.mirrors.looks_at_vlans() {
            return None;
        }
        let tag = tag_of(self.io.frame(chunk).1).ok()?;
        match self.switch.is_vlan_aware() {
            true => self.switch.vlan_of(port, tag),
            false => tag.map_or(Some(VlanId::UNTAGGED), VlanTag::vlan),
        }
    }

    /// Returns the VLAN of a frame to be sent; its first bytes may have been payload on arrival.
    fn vlan_on_departure(&mut self, chunk: Chunk) -> Option<VlanId> {
        if !self.mirroring.mirrors.looks_at_vlans() {
            return None;
        }
        if self.switch.is_vlan_aware() {
            return self.switch.vlan_inside(FrameHandle(chunk));
        }
        let tag = tag_of(self.io.frame(chunk).1).ok()?;
        tag.map_or(Some(VlanId::UNTAGGED), VlanTag::vlan)
    }

    fn mirror_arrival(&mut self, now: Instant, port: PortId, chunk: Chunk) {
        let mut copied = 0;
        let vlan = self.vlan_on_arrival(port, chunk);
        for place in 0..MIRRORS_MAX {
            let Some(mirror) = self.mirroring.mirrors.get(place) else {
                break;
            };
            let is_selected = self.mirroring.mirrors.selects(place, vlan);
            if mirror.arriving.contains(port) && is_selected {
                copied |= 1 << place;
                self.copy(now, place, mirror, chunk);
            }
        }
        self.mirroring.note(chunk, copied);
    }

    /// Copies a data frame that is about to be sent by `port`.
    #[cold]
    pub(super) fn mirror_departure(&mut self, now: Instant, port: PortId, chunk: Chunk) {
        let copied = self.mirroring.copied.get(chunk as usize);
        let mut copied = copied.copied().unwrap_or(0);
        let vlan = self.vlan_on_departure(chunk);
        for place in 0..MIRRORS_MAX {
            let Some(mirror) = self.mirroring.mirrors.get(place) else {
                break;
            };
            let is_selected = self.mirroring.mirrors.selects(place, vlan);
            if mirror.leaving.contains(port) && is_selected && copied & (1 << place) == 0 {
                copied |= 1 << place;
                self.copy(now, place, mirror, chunk);
            }
        }
        self.mirroring.note(chunk, copied);
    }

    /// Records that the frame in `chunk` has no copies, since no mirror copies its ingress port.
    #[inline(always)]
    pub(super) fn note_not_mirrored(&mut self, chunk: Chunk) {
        if self.mirroring.is_on() {
            self.mirroring.note(chunk, 0);
        }
    }

    /// Sends a copy of the frame in `chunk` for `mirror`, the one at `place`, if there is room.
    fn copy(&mut self, now: Instant, place: usize, mirror: Copying, chunk: Chunk) {
        let sent = self.store_copy(chunk, mirror.most).and_then(|copy| {
            let frame = Frame {
                handle: FrameHandle(copy.first()),
                length: Bytes::new(copy.length as u64),
                priority: mirror.priority,
                destination: MacAddress::default(),
                source: MacAddress::default(),
                flow_hash: 0,
            };
            let sent = self.switch.send_copy(now, mirror.output, frame);
            match sent {
                Ok(()) => self.book_copy(mirror.output, mirror.priority.get(), &copy),
                Err(_) => copy.parts().for_each(|part| self.pool.give_back(part)),
            }
            sent
        });
        if let Some(counters) = self.mirroring.counters.get_mut(place) {
            match sent {
                Ok(()) => counters.sent += 1,
                Err(_) => counters.lost += 1,
            }
        }
    }

    fn book_copy(&mut self, output: PortId, priority: u8, copy: &Copy) {
        let first = copy.first();
        self.accounts.note_copied(output.index(), first);
        for further in copy.parts().skip(1) {
            self.accounts.load_further(further);
        }
        self.express.note_injected(first, output, priority);
        self.mirroring.note(first, COPY);
    }

    /// Stores the first `most` bytes of a frame in chunks that are not reserved for receiving.
    fn store_copy(&mut self, chunk: Chunk, most: usize) -> Result<Copy, DropReason> {
        let length = self.gather(chunk, most);
        let mut copy = Copy {
            chunks: [0; PARTS_MAX],
            count: 0,
            length,
        };
        let mut written = 0;
        while written < length {
            let place = copy.chunks.get_mut(copy.count);
            let taken = place.and_then(|place| {
                let chunk = self.pool.take_for_receive()?;
                *place = chunk;
                copy.count += 1;
                Some(chunk)
            });
            let rest = self.whole.get(written..length).unwrap_or(&[]);
            let mut part = 0;
            let is_written = taken.is_some_and(|chunk| {
                self.io.write(chunk, &mut |buffer| {
                    part = rest.len().min(buffer.len());
                    buffer.get_mut(..part)?.copy_from_slice(rest.get(..part)?);
                    (part > 0).then_some(part)
                })
            });
            if !is_written {
                copy.parts().for_each(|part| self.pool.give_back(part));
                return Err(DropReason::TableFull);
            }
            written += part;
        }
        if copy.count == 0 {
            return Err(DropReason::BadLength);
        }
        self.io.chain(copy.chunks.get(..copy.count).unwrap_or(&[]));
        Ok(copy)
    }

    /// Copies the first `most` bytes of a frame into the buffer for whole frames; returns their number.
    fn gather(&mut self, first: Chunk, most: usize) -> usize {
        let mut length = 0;
        let mut at = Some(first);
        while let Some(chunk) = at.filter(|_| length < most) {
            let bytes = self.io.frame(chunk).1;
            let part = bytes.len().min(most - length);
            let (from, to) = (bytes.get(..part), self.whole.get_mut(length..length + part));
            let (Some(from), Some(to)) = (from, to) else {
                break;
            };
            to.copy_from_slice(from);
            length += part;
            at = self.io.next(chunk);
        }
        length
    }
}

struct Copy {
    chunks: [Chunk; PARTS_MAX],
    count: usize,
    /// Length in bytes.
    length: usize,
}

impl Copy {
    fn first(&self) -> Chunk {
        self.chunks[0]
    }

    fn parts(&self) -> impl Iterator<Item = Chunk> + '_ {
        self.chunks.iter().take(self.count).copied()
    }
}
