//! Reception: from the RX rings into the switch.

use weir_core::wire::checksum::{unfinished, Sum};
use weir_core::wire::ecn::{mark_congestion, Marking};
use weir_core::wire::ethernet::{is_link_local, EthernetView};
use weir_core::wire::resolution::redirect;
use weir_core::{Bytes, DropReason, Frame, FrameHandle, Instant, PortId, Priority};
use weir_ebpf::FrameClass;

use super::impair::Fate;
use super::{Taken, Worker};
use crate::memory::pool::Chunk;
use crate::rings::io::{Io, BATCH, FEW, RECEIVE_BATCHES};

/// If this many frames remain after the first batch, treat the ring as filling: take as many as its share allows. Fewer
/// frames wait for the next rounds, which are short.
const FILLING: usize = BATCH;

impl<I: Io> Worker<I> {
    /// Receives frames of a port: a few, or up to [`RECEIVE_BATCHES`] batches if more wait.
    pub(super) fn receive(&mut self, now: Instant, port: PortId) -> bool {
        let mut any = false;
        let mut most = FEW;
        for _ in 0..RECEIVE_BATCHES {
            self.batch.clear_for(most);
            self.io.receive(port.index(), &mut self.batch);
            let count = self.batch.len();
            if count == 0 {
                break;
            }
            any = true;
            self.stats.batches.observe(count as u64);
            if self.spin.wants_arrival() {
                self.note_arrival();
            }
            self.take_batch(now, port);
            if count < most {
                break;
            }
            if most < BATCH {
                if self.io.received_waiting(port.index()) < FILLING {
                    break;
                }
                self.is_filling = true;
                most = BATCH;
            }
        }
        any
    }

    /// Measures how late the first frame after a sleep is taken.
    fn note_arrival(&mut self) {
        let first = self.batch.get(0);
        let meta = first.and_then(|chunk| self.io.frame(chunk).0);
        let arrival = meta.map_or(0, |meta| meta.arrival_nanos);
        self.spin.note_arrival(Instant::from_nanos(arrival));
    }

    fn take_batch(&mut self, now: Instant, port: PortId) {
        if self.has_slots {
            self.count_out(now, port);
        }
        for at in 0..self.batch.len() {
            let Some(chunk) = self.batch.get(at) else {
                break;
            };
            self.stats.counters.rx_frames += 1;
            self.see_to_checksum(port, chunk);
            if self.mirroring.looks_at_arrivals(port) {
                self.mirror_data(now, port, chunk);
            } else {
                self.note_not_mirrored(chunk);
            }
            let mut is_marked = false;
            if self.impairing.looks_at(port) {
                match self.impair(now, port, chunk) {
                    Fate::Goes => {}
                    Fate::Marked => is_marked = true,
                    Fate::Kept => continue,
                    Fate::Dropped => {
                        self.drop_impaired(now, port, chunk);
                        continue;
                    }
                }
            }
            self.take_one(now, port, chunk, is_marked);
        }
    }

    /// Processes a frame received on `port`. If `is_marked`, it is marked regardless of the switch's decision.
    #[inline(always)]
    pub(super) fn take_one(&mut self, now: Instant, port: PortId, chunk: Chunk, is_marked: bool) {
        self.note_parts(port, chunk);
        let taken = self.take_frame(now, port, chunk);
        if self.taps.is_on() {
            self.show_received(now, port, chunk, taken);
        }
        match taken {
            Taken::Admitted {
                priority,
                mark,
                station,
            } => {
                self.accounts.note_admitted(port.index(), chunk);
                if let Some(station) = station {
                    self.io.edit(chunk, &mut |frame| redirect(frame, station));
                }
                if mark | is_marked {
                    self.mark(port, priority, chunk);
                }
                if self.switch.is_vlan_aware() {
                    self.give_form(now, chunk);
                }
            }
            Taken::Dropped(reason) => {
                self.accounts.note_refused(port.index(), reason);
                self.give_back(chunk);
            }
            Taken::Read => {
                self.accounts.note_read(port.index());
                self.give_back(chunk);
            }
        }
    }

    #[cold]
    fn drop_impaired(&mut self, now: Instant, port: PortId, chunk: Chunk) {
        self.note_parts(port, chunk);
        let reason = DropReason::Impaired;
        match self.io.frame(chunk).0 {
            Some(meta) if meta.class == FrameClass::Data => {
                self.express.note_received(chunk, port, meta.priority & 7);
                self.express.note_finished(chunk);
                let priority = Priority::from_low_bits(meta.priority);
                self.switch.count_data_drop(port, priority, reason);
            }
            _ => self.switch.count_drop(port, reason),
        }
        if self.taps.is_on() {
            self.show_received(now, port, chunk, Taken::Dropped(reason));
        }
        self.accounts.note_refused(port.index(), reason);
        self.give_back(chunk);
    }

    /// Accounts for the further chunks of a frame.
    fn note_parts(&mut self, port: PortId, first: Chunk) {
        let mut at = first;
        while let Some(further) = self.io.next(at) {
            self.accounts.note_further(port.index(), further);
            at = further;
        }
    }

    fn take_frame(&mut self, now: Instant, port: PortId, chunk: Chunk) -> Taken {
        let (meta, bytes) = self.io.frame(chunk);
        let (Some(meta), Ok(ethernet)) = (meta, EthernetView::new_checked(bytes)) else {
            self.switch.count_drop(port, DropReason::Unclassified);
            return Taken::Dropped(DropReason::Unclassified);
        };
        let read = match meta.class {
            FrameClass::Data => {
                let behind = self.io.length_behind(chunk);
                let mut frame = Frame {
                    handle: FrameHandle(chunk),
                    length: Bytes::new((bytes.len() + behind) as u64),
                    priority: Priority::from_low_bits(meta.priority),
                    destination: ethernet.destination(),
                    source: ethernet.source(),
                    flow_hash: meta.flow_hash,
                };
                self.express.note_received(chunk, port, meta.priority & 7);
                if is_link_local(frame.destination) {
                    self.express.note_finished(chunk);
                    let reason = DropReason::ReservedDestination;
                    self.switch.count_data_drop(port, frame.priority, reason);
                    return Taken::Dropped(DropReason::ReservedDestination);
                }
                let station = if frame.destination.is_group() && self.stations.is_on() {
                    self.station_asked_for(now, port, &frame)
                } else {
                    None
                };
                if let Some(station) = station {
                    frame.destination = station;
                }
                let outcome = if self.switch.is_vlan_aware() {
                    self.receive_in_vlan(now, port, frame)
                } else {
                    self.switch.receive(now, port, frame)
                };
                return match outcome {
                    Ok(admitted) => {
                        self.last_admitted = now;
                        Taken::Admitted {
                            priority: frame.priority,
                            mark: admitted.mark,
                            station,
                        }
                    }
                    Err(reason) => {
                        self.express.note_finished(chunk);
                        if reason == DropReason::LoopProbe {
                            let bytes = self.io.frame(chunk).1;
                            self.switch.receive_probe(now, port, bytes);
                        }
                        Taken::Dropped(reason)
                    }
                };
            }
            // The core has counted their errors.
            FrameClass::MacControl => {
                self.express.note_control(port);
                self.switch.receive_mac_control(now, port, bytes)
            }
            FrameClass::Clcm => self.switch.receive_clcm(now, port, bytes),
            // The XDP program passes it to the kernel: the control plane has separate sockets.
            FrameClass::Lldp => Ok(()),
        };
        read.map_or_else(Taken::Dropped, |()| Taken::Read)
    }

    /// Finishes the checksum of a frame from `port`, if its device leaves that to the receiver.
    #[inline]
    fn see_to_checksum(&mut self, port: PortId, chunk: Chunk) {
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
        // A frame shorter than its packet is damaged.
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

    /// Marks a frame; returns true if it was marked. Frames of transports without ECN stay unchanged, until there is no room
    /// for them.
    pub(super) fn mark(&mut self, port: PortId, priority: Priority, chunk: Chunk) -> bool {
        let mut marking = Marking::NotCapable;
        self.io
            .edit(chunk, &mut |frame| marking = mark_congestion(frame));
        let marked = marking == Marking::Marked;
        if marked {
            self.switch.count_mark(port, priority);
        }
        marked
    }
}
