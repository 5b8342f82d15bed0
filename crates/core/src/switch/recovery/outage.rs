//! Frames for a port whose link is down: they wait for a bounded time, and are then dropped.
//!
//! A link that flaps loses no waiting frame. A link that stays down must not block other traffic. Frames that wait for
//! it are charged to their ingress ports. Once those buffers are full, lossy frames of these ports are dropped and
//! their neighbours are paused. A lossless frame may cost its sender a pause of
//! [`link_down_hold`](crate::SwitchConfig::link_down_hold). Meanwhile lossy frames use at most half of a buffer, so
//! that the other half is left for frames to other ports.

use crate::command::CommandError;
use crate::counters::DropReason;
use crate::event::EventKind;
use crate::frame::FrameHandle;
use crate::level::Level;
use crate::switch::levels::ShareId;
use crate::switch::port::Port;
use crate::switch::virtual_queues::Gate;
use crate::switch::Switch;
use crate::units::{Bytes, Instant, PortId, Priority};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::switch) enum Outage {
    #[default]
    None,
    /// Frames wait for it until `until`.
    Held { until: Instant },
    /// Frames for it are dropped.
    Over,
}

impl Outage {
    /// Returns when frames stop waiting.
    pub(in crate::switch) fn next_change(self) -> Instant {
        match self {
            Self::Held { until } => until,
            Self::None | Self::Over => Instant::FAR_FUTURE,
        }
    }
}

impl Port {
    /// The reason why all frames for this egress are dropped on arrival, if they are.
    #[cold]
    pub(in crate::switch) fn why_refused(&self, priority: Priority) -> Option<DropReason> {
        if self.storms.drops(priority) {
            Some(DropReason::Storm)
        } else if self.heads[priority.index()].is_stalled() {
            Some(DropReason::Lifetime)
        } else if self.gone || self.takes_no_more() {
            Some(DropReason::PortDown)
        } else {
            None
        }
    }

    /// Returns true if its link has been down for too long, or its transmitter is stuck.
    pub(in crate::switch) fn takes_no_more(&self) -> bool {
        self.stuck || self.outage == Outage::Over
    }

    /// Returns true while frames for this egress may be dropped on arrival: see [`settle_arrivals`](Self::settle_arrivals).
    #[cold]
    pub(in crate::switch) fn may_refuse(&self, priority: Priority) -> bool {
        self.outage != Outage::None || self.why_refused(priority).is_some()
    }
}

impl Switch {
    /// Sets the state of `port`'s link; no effect if unchanged.
    pub(in crate::switch) fn note_outage(&mut self, now: Instant, port: PortId) {
        let hold = self.config.link_down_hold;
        let state = &mut self.ports[port.index()];
        let before = state.outage;
        state.outage = match (state.up, before) {
            (true, _) => Outage::None,
            (false, Outage::None) => Outage::Held { until: now + hold },
            (false, outage) => outage,
        };
        state.settle_arrivals();
        let (is_up, is_new) = (state.up, state.outage != before);
        self.forwarding.note_link(port, is_up);
        if !is_new {
            return;
        }
        let state = &mut self.ports[port.index()];
        if is_up {
            // Their lifetime starts again: the link was down.
            for head in &mut state.heads {
                head.note_first(now);
            }
            return;
        }
        self.make_room_for_others(port);
        self.end_hold(now, port);
    }

    /// Drops the frames that wait for a link that has been down for too long, and forgets the addresses behind it.
    pub(in crate::switch) fn end_hold(&mut self, now: Instant, port: PortId) {
        let state = &mut self.ports[port.index()];
        if state.outage.next_change() > now {
            return;
        }
        state.outage = Outage::Over;
        state.settle_arrivals();
        self.drop_all_for(port);
        self.forget_learnt_at(now, port);
    }

    /// Drops all frames that wait for `port`. O(1) for each.
    pub(in crate::switch) fn drop_all_for(&mut self, port: PortId) {
        for priority in Priority::ALL {
            while self.drop_head(port, priority, DropReason::PortDown) {}
        }
    }

    /// Drops lossy frames for a link that has gone down, if they use more than half of a buffer. O(1) for each frame,
    /// and O(ports × priorities).
    fn make_room_for_others(&mut self, port: PortId) {
        for priority in Priority::ALL {
            for ingress in (0..self.ports.len()).filter_map(PortId::from_index) {
                let gate = Gate::OnlyFrom(ingress, Level::ZERO);
                while self.crowds_others(ingress, priority)
                    && self.drop_head_through(port, priority, gate, DropReason::PortDown)
                {
                }
            }
        }
    }

    /// Returns true if frames for `port` are dropped because its link has been down for too long or its transmitter is
    /// stuck. [Charge](Self::charge_to_egress) the frames that the transmitter still has to the port then.
    pub fn drops_all_to(&self, port: PortId) -> bool {
        let state = self.ports.get(port.index());
        state.is_some_and(Port::takes_no_more)
    }

    /// Charges a frame in the transmitter of `port`, which [accepts no more](Self::drops_all_to), to the lossy buffer
    /// of `port` with the most room. Its sender no longer lacks that room, and no additional memory is needed.
    ///
    /// Returns false if the frame remains charged to its sender: no lossy buffer of `port` has room for it now, or its
    /// other copies must leave first.
    pub fn charge_to_egress(&mut self, port: PortId, handle: FrameHandle) -> bool {
        let Some(charge) = self.charges.get(handle) else {
            return true;
        };
        if charge.ingress == port || charge.cells == Bytes::ZERO || !self.drops_all_to(port) {
            return true;
        }
        // Copies that wait are found by their ingress port, and hold a share of their Level.
        let is_bound = self.ages.is_on() || charge.share != ShareId::NONE;
        if is_bound && !self.charges.is_last_copy(handle) {
            return false;
        }
        let room = |priority: &Priority| {
            self.ports[port.index()].ingress[priority.index()].room(&self.pools)
        };
        let lossless = self.lossless;
        let lossy = Priority::ALL
            .into_iter()
            .filter(|priority| !lossless.contains(*priority));
        let Some(priority) = lossy.max_by_key(room) else {
            return false;
        };
        if room(&priority) < charge.cells {
            return false;
        }
        let buffer = &mut self.ports[port.index()].ingress[priority.index()];
        if buffer.admit(charge.cells, &mut self.pools).is_err() {
            return false;
        }
        self.charges.transfer(handle, port, priority);
        self.discharge(&charge);
        true
    }

    pub(in crate::switch) fn set_transmitter(
        &mut self,
        now: Instant,
        port: PortId,
        completes: bool,
    ) -> Result<(), CommandError> {
        let state = self.port_mut(port)?;
        if state.stuck != completes {
            return Ok(());
        }
        state.stuck = !completes;
        state.settle_arrivals();
        if state.stuck {
            self.drop_all_for(port);
        }
        let kind = match completes {
            true => EventKind::TransmitterResumed { port },
            false => EventKind::TransmitterStalled { port },
        };
        self.push_event(now, kind);
        Ok(())
    }
}
