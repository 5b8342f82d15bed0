//! Checksums that hosts leave to a virtual device, finished before frames go on.

use weir_core::wire::checksum::{unfinished, Sum};
use weir_core::PortId;
use weir_ebpf::FrameClass;

use super::Worker;
use crate::dataplane::memory::pool::Chunk;
use crate::dataplane::rings::io::Io;

impl<I: Io> Worker<I> {
    /// Finishes the checksum of a frame from `port`, where a device of its kind leaves that to the receiver.
    #[inline]
    pub(super) fn see_to_checksum(&mut self, port: PortId, chunk: Chunk) {
        let state = self.ports.get(port.index());
        if state.is_some_and(|state| state.limits.finishes) {
            self.finish_checksum(chunk);
        }
    }

    fn finish_checksum(&mut self, first: Chunk) {
        let (meta, bytes) = self.io.frame(first);
        if !meta.is_some_and(|meta| meta.class == FrameClass::Data) {
            return;
        }
        let Some(found) = unfinished(bytes) else {
            return;
        };
        let (mut sum, mut skipped, mut left) = (Sum::default(), found.start, found.length);
        let mut at = Some(first);
        while let Some(chunk) = at.filter(|_| left > 0) {
            let part = self.io.frame(chunk).1;
            let part = part.get(skipped..).unwrap_or_default();
            let part = part.get(..left).unwrap_or(part);
            sum.add(part);
            (skipped, left) = (0, left - part.len());
            at = self.io.next(chunk);
        }
        // A frame that ends before its packet does is damaged.
        if left > 0 {
            return;
        }
        let checksum = sum.checksum().to_be_bytes();
        self.io.edit(first, &mut |frame| {
            if let Some(place) = frame.get_mut(found.at..found.at + 2) {
                place.copy_from_slice(&checksum);
            }
        });
        self.stats.counters.checksums_finished += 1;
    }
}
