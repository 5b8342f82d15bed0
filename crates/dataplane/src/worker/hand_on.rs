//! Unsent frames at the end of the loop, for the next switch.

use weir_core::wire::ethernet::EthernetView;
use weir_core::{Bytes, Command, DropReason, Frame, FrameHandle, Instant, PortId};

use super::Worker;
use crate::exchange::messages::LeftFrame;
use crate::memory::pool::Chunk;
use crate::rings::io::Io;

impl<I: Io> Worker<I> {
    /// Takes all frames out of the switch, those of a flow in sending order. A frame that waits at several ports is returned
    /// once, and will be sent to all of them again.
    pub(super) fn take_left(&mut self, now: Instant) -> Vec<LeftFrame> {
        // Nothing else is left to discard, since a round has just ended.
        if self.switch.apply(now, Command::GiveUpAll).is_err() {
            return Vec::new();
        }
        let mut left = Vec::new();
        while let Some(discarded) = self.switch.poll_discarded() {
            if !self.give_back_form(discarded.ingress, discarded.handle.0) {
                continue;
            }
            let (meta, bytes) = self.io.whole(discarded.handle.0, &mut self.whole);
            left.push(LeftFrame {
                ingress: discarded.ingress,
                priority: discarded.priority,
                flow_hash: meta.map_or(0, |meta| meta.flow_hash),
                bytes: bytes.to_vec(),
            });
        }
        left
    }

    /// Lets the switch process frames as if they were received now. Frames that it refuses are counted as if from the wire.
    pub(super) fn inject(&mut self, now: Instant, frames: Vec<LeftFrame>) {
        for frame in frames {
            let port = frame.ingress.index();
            let Some(first) = self.store(port, &frame.bytes) else {
                self.switch.count_data_drop(
                    frame.ingress,
                    frame.priority,
                    DropReason::Unclassified,
                );
                self.accounts.note_lent(port, 1);
                self.accounts.note_refused(port, DropReason::Unclassified);
                continue;
            };
            match self.receive_stored(now, first, &frame) {
                Ok(()) => {
                    let priority = frame.priority.index() as u8;
                    self.express.note_injected(first, frame.ingress, priority);
                    self.accounts.note_admitted(port, first);
                }
                Err(reason) => {
                    self.accounts.note_refused(port, reason);
                    self.give_back(first);
                }
            }
        }
    }

    fn receive_stored(
        &mut self,
        now: Instant,
        first: Chunk,
        frame: &LeftFrame,
    ) -> Result<(), DropReason> {
        let ingress: PortId = frame.ingress;
        let Ok(ethernet) = EthernetView::new_checked(&frame.bytes) else {
            self.switch
                .count_data_drop(ingress, frame.priority, DropReason::Unclassified);
            return Err(DropReason::Unclassified);
        };
        let frame = Frame {
            handle: FrameHandle(first),
            length: Bytes::new(frame.bytes.len() as u64),
            priority: frame.priority,
            destination: ethernet.destination(),
            source: ethernet.source(),
            flow_hash: frame.flow_hash,
        };
        // The first switch already set a congestion mark on arrival.
        self.receive_handed_on(now, ingress, frame)
    }

    /// Stores a frame in new chunks, and accounts for them as if the kernel had received into them. Returns `None` when
    /// there is no room.
    fn store(&mut self, port: usize, bytes: &[u8]) -> Option<Chunk> {
        let mut chunks = Vec::new();
        let mut rest = bytes;
        while !rest.is_empty() {
            let mut length = 0;
            let chunk = self.pool.take_for_receive();
            let is_written = chunk.is_some_and(|chunk| {
                chunks.push(chunk);
                self.io.write(chunk, &mut |buffer| {
                    length = rest.len().min(buffer.len());
                    buffer
                        .get_mut(..length)?
                        .copy_from_slice(rest.get(..length)?);
                    (length > 0).then_some(length)
                })
            });
            if !is_written {
                chunks.iter().for_each(|chunk| self.pool.give_back(*chunk));
                return None;
            }
            rest = rest.get(length..).unwrap_or_default();
        }
        self.io.chain(&chunks);
        let (first, further) = chunks.split_first()?;
        self.stats.counters.rx_frames += 1;
        self.accounts.note_lent(port, chunks.len());
        for chunk in further {
            self.accounts.note_further(port, *chunk);
        }
        Some(*first)
    }
}
