//! 128-bit digest of the state that a switch's future depends on.

mod setup;

use crate::config::FeedbackCoding;
use crate::switch::levels::LevelState;
use crate::switch::port::Port;
use crate::switch::recovery::Outage;
use crate::switch::Switch;
use crate::testing::{Clock, Digest};
use crate::units::{Bytes, Duration, PortId, Priority};

impl Switch {
    /// Returns a digest of all state that decides this switch's answers: two switches with one configuration and the
    /// same digest give the same answers to the same calls, except for the handles in them. Counters and watermarks are
    /// left out.
    ///
    /// For a caller that completes each frame right after its transmission, polls all events and discarded frames, asks
    /// all ports, and drops echo messages, which only measure.
    ///
    /// `None` for features that it does not cover: learning and groups of ports, the recent-flow monitor, age and
    /// lifetime limits, the storm watchdog, strict priorities and rates of classes, authentication, limits of control
    /// frames, grants, Feedback for whole links, marking, a switch that drains, one with a link that is down or a
    /// transmitter that is stuck, and one that holds frames in flight, lossy ones, or events that have not been polled.
    ///
    /// O(ports × lossless priorities × Levels + frames).
    pub fn digest(&self, clock: Clock) -> Option<u128> {
        self.digest_into(Digest::new(clock))
    }

    /// [`digest`](Self::digest) without the turns among waiting frames.
    pub fn digest_without_turns(&self, clock: Clock) -> Option<u128> {
        self.digest_into(Digest::new(clock).without_turns())
    }

    fn digest_into(&self, mut digest: Digest) -> Option<u128> {
        if !self.is_digestible() {
            return None;
        }
        let clock = digest.clock();
        let ids = (0..self.ports.len()).filter_map(PortId::from_index);
        for (id, port) in ids.zip(&self.ports) {
            self.digest_port(&mut digest, id, port);
        }
        // Without learning an entry covers all ingress ports.
        let any = PortId::new(0);
        let entries = self.levels.iter().map(|entry| {
            let mut part = Digest::new(clock);
            part.word(entry.priority.get());
            part.word(entry.destination.to_u64());
            part.word(entry.level.get());
            if let Some(id) = self.levels.find(entry.priority, entry.destination, any) {
                // In the order of a lift.
                for share in self.levels.shares(id) {
                    part.word(share.ingress.get());
                    part.word(share.cells.get());
                    for egress in share.egresses.iter() {
                        part.word(egress.get());
                    }
                }
            }
            part
        });
        digest.unordered(entries);
        self.digest_detector(&mut digest);
        Some(digest.finish())
    }

    fn is_digestible(&self) -> bool {
        let waiting = |port: &Port| -> u64 {
            let egress = port.egress.iter();
            egress.map(|egress| egress.frame_count()).sum()
        };
        let under_way = self.held_frames() as u64 != self.ports.iter().map(waiting).sum::<u64>();
        let lossy = Priority::ALL.into_iter().any(|priority| {
            let is_empty = |port: &Port| port.ingress[priority.index()].occupancy() == Bytes::ZERO;
            !self.lossless.contains(priority) && !self.ports.iter().all(is_empty)
        });
        let pending = self.events.last().is_some() || !self.discarded.is_empty();
        !(self.observes_arrivals || self.draining || pending || lossy || under_way)
            && self.marks_departures.is_empty()
            && setup::is_plain(&self.config)
            && self.ports.iter().all(|port| {
                port.storms.config().is_none() && port.outage == Outage::None && !port.stuck
            })
    }

    fn digest_port(&self, digest: &mut Digest, id: PortId, port: &Port) {
        let detector = self.config.detector;
        let detect = detector.map_or(Duration::ZERO, |detector| detector.detect);
        debug_assert!(port.coding == FeedbackCoding::Pfc);
        for flag in [port.up, port.gone, port.reserved] {
            digest.word(flag);
        }
        for set in [port.waiting, port.forced] {
            digest.word(set.0);
        }
        port.due.digest(digest);
        digest.word(port.neighbour as u8);
        digest.word(port.clcm_queue.len() as u64);
        for message in &port.clcm_queue {
            digest.text(&(message.priority(), message.phase(), message.hops()));
        }
        self.queues.digest_owed(digest, id, self.lossless.iter());
        port.shaper.digest(digest);
        port.pause_received.digest(digest, self.lossless.iter());
        digest.turn(port.turn.current as u64);
        for priority in self.lossless.iter() {
            digest.turn(port.turn.deficits[priority.index()]);
            port.ingress[priority.index()].digest(digest);
            port.egress[priority.index()].digest(digest, detect);
            self.queues.digest(digest, id, priority);
            let Some(level) = &port.levels[priority.index()] else {
                continue;
            };
            let LevelState {
                received,
                sent,
                budget,
                told,
                obeys: _,
                repeat_after: _,
                // Grants are not supported.
                taken: _,
                given: _,
            } = level.as_ref();
            received.digest(digest);
            sent.digest(digest);
            budget.digest(digest);
            told.digest(digest);
        }
    }
}
