//! Links that go down and return, and the resulting pauses.

use weir_core::{Command, DropReason, PortId};

use super::model::Outage;
use super::setup::{HOLD, LOSSLESS, LOSSY, PORTS, PRIORITIES};
use super::Run;

impl Run {
    pub(super) fn set_link(&mut self, port: u8, up: bool) {
        let command = Command::SetLink {
            port: PortId::new(port),
            up,
        };
        assert_eq!(self.switch.apply(self.instant(), command), Ok(()));
        let index = usize::from(port);
        self.model.up[index] = up;
        match (up, self.model.outage[index]) {
            (true, _) => self.model.outage[index] = Outage::None,
            (false, Outage::None) => {
                self.model.outage[index] = Outage::Held(self.now + HOLD.as_nanos());
                self.make_room_for_others(port);
            }
            (false, _) => {}
        }
    }

    /// Makes lossy frames for a link that goes down leave half of each buffer to others.
    fn make_room_for_others(&mut self, egress: u8) {
        for priority in PRIORITIES {
            for ingress in 0..PORTS as u8 {
                let waits = |run: &Self| {
                    let keys = run.model.waiting.keys();
                    let mut keys = keys.map(|(e, p, i, _)| (*e, *p, *i));
                    keys.any(|key| key == (egress, priority, ingress))
                };
                while self.model.crowds_others(ingress, egress, priority) && waits(self) {
                    let frame = self.give_up(egress);
                    assert_eq!(frame, (ingress, priority), "of those that crowd others");
                }
            }
        }
        let half = (0..PORTS as u8).all(|ingress| {
            let mut of_egress = self.model.waiting.iter();
            let waits = of_egress
                .any(|((e, p, i, _), _)| (*e, *i) == (egress, ingress) && !LOSSLESS.contains(p));
            !waits || 2 * self.model.occupancy(ingress, PRIORITIES[0]) < LOSSY
        });
        assert!(half, "half of each lossy buffer is left");
    }

    /// Handles a link that has been down for longer than frames wait for it.
    pub(super) fn end_hold(&mut self, port: u8) {
        let index = usize::from(port);
        match self.model.outage[index] {
            Outage::Held(until) if until <= self.now => {}
            _ => return,
        }
        self.model.outage[index] = Outage::Over;
        while self.model.waits_for(port) > 0 {
            self.give_up(port);
        }
        self.model.settle_raises(0);
        self.follow_pauses();
    }

    /// Drops a frame that waits for `egress`: the oldest of its virtual queue. Returns its ingress port and priority.
    fn give_up(&mut self, egress: u8) -> (u8, u8) {
        let discarded = self.switch.poll_discarded();
        let discarded = discarded.expect("a frame for a link that is down is dropped");
        assert_eq!(discarded.reason, DropReason::PortDown);
        let frame = self.model.take_front(egress, discarded.handle);
        let frame = frame.expect("the oldest frame of a virtual queue of that link");
        assert_eq!(discarded.ingress, PortId::new(frame.ingress));
        assert_eq!(discarded.priority.get(), frame.priority);
        self.free.push(frame.handle);
        self.given_up += 1;
        (frame.ingress, frame.priority)
    }

    /// Recomputes the pause state machine of each buffer from thresholds and occupancy.
    pub(super) fn follow_pauses(&mut self) {
        for port in 0..PORTS as u8 {
            for priority in LOSSLESS {
                let occupancy = self.model.occupancy(port, priority);
                let (xoff, xon) = self.model.thresholds(port, priority);
                let pausing = &mut self.model.pausing[usize::from(port)][usize::from(priority)];
                if occupancy >= xoff {
                    *pausing = true;
                } else if occupancy <= xon {
                    *pausing = false;
                }
            }
        }
    }
}
