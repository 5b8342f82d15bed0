//! Age limit: a frame that has waited for too long is dropped (Karol, Golestani and Lee, section V).

use crate::counters::DropReason;
use crate::switch::admission::Expired;
use crate::switch::virtual_queues::Place;
use crate::switch::Switch;
use crate::units::{Instant, PortId, Priority};

impl Switch {
    /// Drops frames above their age limit. O(1) for a frame, O(ports) for a flooded one.
    pub(in crate::switch) fn drop_aged(&mut self, now: Instant) {
        for priority in Priority::ALL {
            while let Some(expired) = self.ages.take_expired(now, priority) {
                self.discard(now, priority, &expired);
            }
        }
    }

    /// Drops the copies that still wait. One already with a transmitter counts as sent.
    fn discard(&mut self, now: Instant, priority: Priority, expired: &Expired) {
        let Some((ingress, _)) = self.charges.origin(expired.handle) else {
            return;
        };
        let (first, end) = match expired.egress {
            Some(egress) => (egress.index(), egress.index() + 1),
            None => (0, self.ports.len()),
        };
        let mut dropped = false;
        for egress in (first..end).filter_map(PortId::from_index) {
            let place = Place {
                egress,
                priority,
                ingress,
                destination: expired.destination.to_u64(),
            };
            // It is the oldest of its virtual queue: all others arrived later.
            dropped |= self.take_if_front(now, &place, expired.handle, DropReason::Aged);
        }
        if dropped {
            self.count_data_drop(ingress, priority, DropReason::Aged);
        }
    }
}
