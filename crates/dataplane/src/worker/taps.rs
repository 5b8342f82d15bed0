//! Frames shown to [taps](crate::exchange::tap) by the polling loop, while there are any.

use weir_core::wire::ecn::{marking_of, Marking};
use weir_core::{Discarded, Duration, Instant, PortId, Priority};
use weir_ebpf::FrameClass;

use super::{Io, Taken, Worker};
use crate::exchange::tap::Fate;
use crate::memory::pool::Chunk;
use weir_config::frames::sight::{Direction, Sight, Verdict};

impl<I: Io> Worker<I> {
    /// Returns true if a tap needs all frames to pass through this loop.
    pub(super) fn looks_on(&self) -> bool {
        self.taps.sees_passing() || self.mirroring.is_on() || self.impairing.is_on()
    }

    /// Shows a received frame with its original bytes and its fate.
    #[cold]
    pub(super) fn show_received(&mut self, now: Instant, port: PortId, chunk: Chunk, taken: Taken) {
        let fate = match taken {
            Taken::Admitted { .. } => Fate::Admitted,
            Taken::Dropped(_) => Fate::Dropped,
            Taken::Read => Fate::Other,
        };
        let wanting = self.taps.wanting(port, fate);
        if wanting.is_empty() {
            return;
        }
        let (meta, bytes) = self.io.whole(chunk, &mut self.whole);
        let priority = meta
            .filter(|meta| meta.class == FrameClass::Data)
            .map(|meta| Priority::from_low_bits(meta.priority));
        let verdict = match taken {
            Taken::Admitted { priority, mark, .. } => Verdict::Admitted {
                marked: mark && marking_of(bytes) == Marking::Marked,
                pausing: self.switch.gauges(now, port, priority).pausing,
                held: self
                    .switch
                    .waiting_from(port, priority)
                    .iter()
                    .any(|egress| self.switch.gauges(now, egress, priority).paused),
            },
            Taken::Dropped(reason) => Verdict::Dropped(reason),
            Taken::Read => Verdict::Read,
        };
        let sight = Sight {
            at: now,
            port,
            direction: Direction::In,
            verdict,
            priority,
            hardware_nanos: meta.and_then(|meta| meta.hardware.nanos()),
            bytes,
        };
        self.taps.offer(wanting, &sight);
    }

    /// Shows that an admitted frame was dropped later.
    #[cold]
    pub(super) fn show_discarded(&mut self, now: Instant, discarded: &Discarded) {
        let wanting = self.taps.wanting(discarded.ingress, Fate::Dropped);
        if wanting.is_empty() {
            return;
        }
        let (meta, bytes) = self.io.whole(discarded.handle.0, &mut self.whole);
        let sight = Sight {
            at: now,
            port: discarded.ingress,
            direction: Direction::In,
            verdict: Verdict::Dropped(discarded.reason),
            priority: Some(discarded.priority),
            hardware_nanos: meta.and_then(|meta| meta.hardware.nanos()),
            bytes,
        };
        self.taps.offer(wanting, &sight);
    }

    /// Shows a frame about to be passed to `port`'s transmitter. `data` has its priority, and true if it was marked now;
    /// `None` for a control frame.
    #[cold]
    pub(super) fn show_sent(
        &mut self,
        now: Instant,
        port: PortId,
        chunk: Chunk,
        data: Option<(Priority, bool)>,
    ) {
        let wanting = self.taps.wanting(port, Fate::Other);
        if wanting.is_empty() {
            return;
        }
        let (meta, bytes) = self.io.whole(chunk, &mut self.whole);
        // The XDP program's metadata is still in front of the frame.
        let meta = meta.filter(|_| !self.mirroring.is_copy(chunk));
        let inside = data.and(meta).map(|meta| {
            let arrival = Instant::from_nanos(meta.arrival_nanos);
            now.saturating_since(arrival)
        });
        let sight = Sight {
            at: now,
            port,
            direction: Direction::Out,
            verdict: Verdict::Sent {
                marked: data.is_some_and(|(_, marked)| marked),
                inside: inside.filter(|inside| *inside < Duration::from_secs(3_600)),
            },
            priority: data.map(|(priority, _)| priority),
            hardware_nanos: None,
            bytes,
        };
        self.taps.offer(wanting, &sight);
    }
}
