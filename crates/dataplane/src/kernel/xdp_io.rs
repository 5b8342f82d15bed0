//! [`Io`] over AF_XDP.

use std::os::fd::RawFd;

use weir_core::{Duration, Form};
use weir_ebpf::Meta;
use xsk_rs::FrameDesc;

use crate::exchange::messages::{KernelLosses, Rings};
use crate::memory::chains::Begun;
use crate::memory::pool::Chunk;
use crate::memory::umem::Memory;
use crate::rings::io::{Batch, Io, BATCH};
use crate::rings::lane::Lane;
use crate::threads::doorway::Doorway;
use crate::threads::sleeper::Sleeper;

/// The lanes of all ports over one UMEM. Lanes come first: sockets must be closed before the UMEM is unmapped.
#[derive(Debug)]
pub(crate) struct XdpIo<L> {
    ports: Vec<PortLanes<L>>,
    memory: Memory,
    sleeper: Sleeper,
    doorway: LaneDoorway<L>,
}

/// Channel for exchanging the lanes of one port while the loop runs.
pub(crate) type LaneDoorway<L> = Doorway<PortLanes<L>, PortLanes<L>>;

/// The lanes of one port; empty while it has no device. The first lane sends all frames, so that they stay in order.
#[derive(Debug)]
pub(crate) struct PortLanes<L> {
    lanes: Vec<L>,
    /// By lane: the parts received so far of an incomplete frame.
    begun: Vec<Option<Begun>>,
    /// Lane to receive from first next time, so that none is always last.
    turn: usize,
}

impl<L: Lane> XdpIo<L> {
    /// Creates the rings of all ports. The thread sleeps until a lane has work, or `sleeper` is woken.
    pub(crate) fn new(
        ports: Vec<Vec<L>>,
        memory: Memory,
        sleeper: Sleeper,
        doorway: LaneDoorway<L>,
    ) -> Self {
        Self {
            ports: ports.into_iter().map(PortLanes::new).collect(),
            memory,
            sleeper,
            doorway,
        }
    }
}

impl<L: Lane> PortLanes<L> {
    pub(crate) fn new(lanes: Vec<L>) -> Self {
        Self {
            begun: vec![None; lanes.len()],
            lanes,
            turn: 0,
        }
    }

    fn descriptors(&self) -> impl Iterator<Item = RawFd> + '_ {
        self.lanes.iter().filter_map(Lane::descriptor)
    }

    fn first(&mut self) -> Option<&mut L> {
        self.lanes.first_mut()
    }

    /// Returns the lane that lacks the most chunks to receive into, and its number.
    fn neediest(&mut self) -> Option<(usize, &mut L)> {
        let lanes = self.lanes.iter_mut().map(|lane| (lane.fill_room(), lane));
        lanes.max_by_key(|(room, _)| *room)
    }
}

impl<L: Lane> Io for XdpIo<L> {
    fn receive(&mut self, port: usize, into: &mut Batch) {
        let Some(port) = self.ports.get_mut(port) else {
            return;
        };
        let count = port.lanes.len();
        for step in 0..count {
            let at = (port.turn + step) % count;
            if let Some((lane, begun)) = port.lanes.get_mut(at).zip(port.begun.get_mut(at)) {
                receive_by(lane, begun, &mut self.memory, into);
            }
        }
        port.turn = (port.turn + 1) % count.max(1);
    }

    fn received_waiting(&mut self, port: usize) -> usize {
        let port = self.ports.get_mut(port).into_iter();
        let lanes = port.flat_map(|port| &mut port.lanes);
        lanes.map(Lane::received_waiting).sum()
    }

    fn frame(&self, chunk: Chunk) -> (Option<Meta>, &[u8]) {
        self.memory.frame(chunk)
    }

    fn next(&self, chunk: Chunk) -> Option<Chunk> {
        self.memory.next(chunk)
    }

    fn edit(&mut self, chunk: Chunk, edit: &mut dyn FnMut(&mut [u8])) {
        self.memory.edit(chunk, edit);
    }

    fn write(&mut self, chunk: Chunk, write: &mut dyn FnMut(&mut [u8]) -> Option<usize>) -> bool {
        self.memory.write(chunk, write)
    }

    fn has_room_for_tag(&self, chunk: Chunk) -> bool {
        self.memory.has_room_for_tag(chunk)
    }

    fn reform(&mut self, chunk: Chunk, form: Form) -> bool {
        self.memory.reform(chunk, form)
    }

    fn copy(&mut self, from: Chunk, to: Chunk) -> bool {
        self.memory.copy(from, to)
    }

    fn chain(&mut self, chunks: &[Chunk]) {
        self.memory.chain(chunks);
    }

    fn send(&mut self, port: usize, chunk: Chunk) -> bool {
        let Some(lane) = self.ports.get_mut(port).and_then(PortLanes::first) else {
            return false;
        };
        let mut part = Some(chunk);
        while let Some(chunk) = part {
            let frame = self.memory.descriptor(chunk).copied();
            if !frame.is_some_and(|frame| lane.send(frame)) {
                return false;
            }
            part = self.memory.next(chunk);
        }
        true
    }

    fn flush(&mut self, port: usize) {
        // Every lane: the kernel may also need a wakeup for a fill ring.
        for lane in self
            .ports
            .get_mut(port)
            .into_iter()
            .flat_map(|port| &mut port.lanes)
        {
            lane.flush();
        }
    }

    fn completed(&mut self, port: usize, into: &mut Batch) {
        if let Some(lane) = self.ports.get_mut(port).and_then(PortLanes::first) {
            for frame in lane.completed() {
                if let Some(first) = self.memory.note_completed(frame) {
                    into.push(first);
                }
            }
        }
    }

    fn fill_room(&mut self, port: usize) -> usize {
        let neediest = self.ports.get_mut(port).and_then(PortLanes::neediest);
        neediest.map_or(0, |(room, _)| room)
    }

    fn fill(&mut self, port: usize, chunks: &[Chunk]) {
        let mut frames = [FrameDesc::default(); BATCH];
        let mut count = 0;
        let known = chunks
            .iter()
            .filter_map(|chunk| self.memory.descriptor(*chunk));
        for (place, frame) in frames.iter_mut().zip(known) {
            *place = *frame;
            count += 1;
        }
        if let Some((_, lane)) = self.ports.get_mut(port).and_then(PortLanes::neediest) {
            lane.fill(frames.get(..count).unwrap_or(&[]));
        }
    }

    fn keeps_slots(&self, port: usize) -> bool {
        let lane = self.ports.get(port).and_then(|port| port.lanes.first());
        lane.is_some_and(Lane::keeps_slots)
    }

    fn count_out(&mut self, port: usize, length: u64, has_credit: bool) {
        if let Some(lane) = self.ports.get_mut(port).and_then(PortLanes::first) {
            lane.count_out(length, has_credit);
        }
    }

    fn settle_slots(&mut self, port: usize) -> u32 {
        let lane = self.ports.get_mut(port).and_then(PortLanes::first);
        lane.map_or(0, Lane::settle_slots)
    }

    fn forget_lost(&mut self, port: usize) {
        if let Some(lane) = self.ports.get_mut(port).and_then(PortLanes::first) {
            lane.forget_lost();
        }
    }

    fn set_credited(&mut self, port: usize, priorities: u8) {
        if let Some(lane) = self.ports.get_mut(port).and_then(PortLanes::first) {
            lane.set_credited(priorities);
        }
    }

    fn losses(&self, port: usize) -> KernelLosses {
        let lanes = self
            .ports
            .get(port)
            .into_iter()
            .flat_map(|port| &port.lanes);
        lanes.map(Lane::losses).sum()
    }

    fn rings(&mut self, port: usize) -> Rings {
        let lanes = self
            .ports
            .get_mut(port)
            .into_iter()
            .flat_map(|port| &mut port.lanes);
        lanes.map(Lane::rings).sum()
    }

    fn is_served(&self) -> bool {
        let mut lanes = self.ports.iter().flat_map(|port| &port.lanes);
        lanes.all(Lane::is_served)
    }

    fn part(&mut self, port: usize) {
        if let Some(port) = self.ports.get_mut(port) {
            // An empty list allocates nothing.
            let parted = std::mem::replace(port, PortLanes::new(Vec::new()));
            parted.descriptors().for_each(|fd| self.sleeper.forget(fd));
            self.doorway.hand_out(parted);
        }
    }

    fn join(&mut self, port: usize) -> bool {
        match (self.ports.get_mut(port), self.doorway.arrival()) {
            (Some(port), Some(lanes)) => {
                lanes.descriptors().for_each(|fd| self.sleeper.heed(fd));
                *port = lanes;
                true
            }
            _ => false,
        }
    }

    fn note_joined(&mut self) {
        self.doorway.note_settled();
    }

    fn wait(&mut self, timeout: Option<Duration>) {
        let ports = &self.ports;
        let mut lanes = ports.iter().flat_map(|port| &port.lanes);
        self.sleeper.sleep(timeout, || lanes.any(Lane::has_news));
    }
}

/// Receives until `into` is full or there are no more frames.
fn receive_by<L: Lane>(
    lane: &mut L,
    begun: &mut Option<Begun>,
    memory: &mut Memory,
    into: &mut Batch,
) {
    loop {
        let room = into.room();
        if room == 0 {
            return;
        }
        let parts = lane.receive(room);
        for part in parts {
            if let Some(first) = memory.note_received(*part, begun) {
                into.push(first);
            }
        }
        if parts.len() < room {
            return;
        }
    }
}
