//! Credits as messages and as a hold on departures.
//!
//! Waiting for credits is modelled as a pause without end, which ends when credits arrive: only this module and the
//! ingress buffer distinguish the two.

use crate::command::CommandError;
use crate::config::PortRole;
use crate::counters::DropReason;
use crate::credit::CreditHints;
use crate::switch::port::Port;
use crate::switch::Switch;
use crate::units::{Bytes, Instant, PortId, Priority, Quanta};
use crate::wire::credit::{CreditRecords, CreditUpdate};
use crate::wire::lldp::dcbx::PrioritySet;

impl Port {
    /// Blocks all priorities with credits until the neighbour has answered. That does not count as a pause by the
    /// neighbour.
    pub(in crate::switch) fn hold_before_credits(&mut self) {
        if let Some(credits) = &mut self.credits {
            for priority in credits.sender.classes().iter() {
                let (until, is_beyond) = credits.held_until(priority);
                if is_beyond {
                    credits.beyond_pfc.insert(priority);
                    self.pause_received.assume(priority, until);
                }
            }
        }
        self.settle_departures();
    }

    /// Blocks or releases frames by the present credits.
    pub(in crate::switch) fn settle_sending(&mut self, now: Instant) {
        let Some(credits) = &mut self.credits else {
            return;
        };
        for priority in credits.sender.classes().iter() {
            let (until, is_beyond) = credits.held_until(priority);
            match is_beyond {
                true => credits.beyond_pfc.insert(priority),
                false => credits.beyond_pfc.remove(priority),
            }
            self.pause_received.hold(now, priority, until);
        }
        self.settle_departures();
    }

    /// To be called after every change of its inputs.
    pub(in crate::switch) fn settle_departures(&mut self) {
        self.departs_apart = self.forced;
        if let Some(credits) = &self.credits {
            for priority in credits.beyond_pfc.iter() {
                self.departs_apart.insert(priority);
            }
        }
    }

    /// Handles a PFC pause or resume for a priority that the neighbour may pause. Returns false if it was ignored
    /// because credits apply.
    pub(in crate::switch) fn receive_pfc(
        &mut self,
        now: Instant,
        priority: Priority,
        quanta: Quanta,
    ) -> bool {
        let until = now + quanta.at(self.pause_received.rate());
        let credits = self.credits.as_mut();
        if credits.is_some_and(|credits| credits.note_pfc(priority, until)) {
            return false;
        }
        self.pause_received.hold(now, priority, until);
        true
    }

    /// Accounts for a departure by credits. Returns true if a timer of the port may be earlier than before.
    pub(in crate::switch) fn consume_credits(
        &mut self,
        now: Instant,
        priority: Priority,
        length: Bytes,
    ) -> bool {
        let Some(credits) = &mut self.credits else {
            return false;
        };
        let times = credits.times;
        let is_earlier = credits.sender.consume(now, &times, priority, length);
        let (until, _) = credits.held_until(priority);
        if until != Instant::ZERO {
            self.pause_received.hold(now, priority, until);
        }
        is_earlier
    }
}

impl Switch {
    pub(in crate::switch) fn receive_credit(
        &mut self,
        now: Instant,
        port: PortId,
        bytes: &[u8],
    ) -> Result<(), DropReason> {
        let update = CreditUpdate::parse(bytes).map_err(|_| DropReason::BadClcm)?;
        let Some(state) = self.ports.get_mut(port.index()) else {
            return Err(DropReason::PortDown);
        };
        let Some(credits) = &mut state.credits else {
            // The neighbour offers credits, but no class here uses them.
            return Ok(());
        };
        let changed = match update.records {
            CreditRecords::Freed(_) => credits.sender.receive(&update),
            CreditRecords::Consumed(_) => {
                let times = credits.times;
                credits.receiver.receive(&times, &update)
            }
        };
        if changed {
            match update.records {
                CreditRecords::Freed(_) => self.settle_credit_sending(now, port),
                CreditRecords::Consumed(_) => self.settle_credit_receiving(port),
            }
        }
        self.note_credits_due(now, port);
        self.ready.note_timer(port);
        Ok(())
    }

    /// Blocks or releases frames at `port` by the present credits. Frames are never forced out without a credit.
    pub(in crate::switch) fn settle_credit_sending(&mut self, now: Instant, port: PortId) {
        self.ports[port.index()].settle_sending(now);
        for priority in self.ports[port.index()].forced.iter() {
            if self.ports[port.index()].sends_by_credits(priority) {
                self.end_traffic_release(now, port, priority, false);
            }
        }
        self.ready.note_port(port);
    }

    /// Switches buffers between credits and PFC, and promises the available room.
    pub(in crate::switch) fn settle_credit_receiving(&mut self, port: PortId) {
        for priority in self.lossless.iter() {
            let state = &mut self.ports[port.index()];
            let by_credits = state.receives_by_credits(priority);
            let change = state.ingress[priority.index()].set_by_credits(by_credits);
            self.note_pause_change(port, priority, change);
            self.promise_credits(port, priority);
        }
        let state = &mut self.ports[port.index()];
        if !state
            .credits
            .as_ref()
            .is_none_or(|credits| credits.closes.is_empty())
        {
            state.settle_arrivals();
        }
    }

    fn note_credits_due(&mut self, now: Instant, port: PortId) {
        let state = &mut self.ports[port.index()];
        if let Some(credits) = state.credits.as_mut().filter(|credits| credits.is_due(now)) {
            credits.is_noted = true;
            state.due.seldom.set_credits(true);
            self.ready.note_port(port);
        }
    }

    pub(in crate::switch) fn refresh_credits(&mut self, now: Instant, port: PortId) {
        let state = &mut self.ports[port.index()];
        let up = state.up;
        let Some(credits) = state.credits.as_mut().filter(|_| up) else {
            return;
        };
        let times = credits.times;
        credits.receiver.refresh(now, &times);
        if credits.sender.refresh(now, &times) {
            self.settle_credit_sending(now, port);
        }
        self.note_credits_due(now, port);
    }

    /// Promises the room made by a release: the neighbour is notified at once.
    pub(in crate::switch) fn lend_credits(&mut self, port: PortId, priority: Priority) {
        if let Some(credits) = &mut self.ports[port.index()].credits {
            credits.receiver.tell_at_once();
        }
        self.promise_credits(port, priority);
    }

    /// Begins an epoch in both directions of a link that has come up.
    pub(in crate::switch) fn renew_credits(&mut self, now: Instant, port: PortId) {
        if self.ports[port.index()].credits.is_none() {
            return;
        }
        self.ports[port.index()].begin_credits_anew(now);
        self.settle_credit_sending(now, port);
        self.settle_credit_receiving(port);
        self.note_credits_due(now, port);
    }

    pub(in crate::switch) fn set_credit_slots(
        &mut self,
        port: PortId,
        slots: Option<u32>,
    ) -> Result<(), CommandError> {
        let state = self.port_mut(port)?;
        if let Some(credits) = &mut state.credits {
            credits.receiver.set_slots(slots);
        }
        for priority in self.lossless.iter() {
            self.promise_credits(port, priority);
        }
        Ok(())
    }

    pub(in crate::switch) fn set_credit_hints(
        &mut self,
        now: Instant,
        port: PortId,
        mut hints: CreditHints,
    ) -> Result<(), CommandError> {
        let state = self.port_mut(port)?;
        // No watchdog ends a wait for credits: a host must not prolong it, since frames of others wait behind.
        if state.role == PortRole::Edge {
            hints.offered = PrioritySet::EMPTY;
        }
        let Some(credits) = &state.credits else {
            return Ok(());
        };
        if credits.sender.hints() == hints {
            return Ok(());
        }
        let denied = credits.newly_denied(&hints);
        // A link that is down begins an epoch once it is up.
        if !denied.is_empty() && self.ports[port.index()].up {
            self.renew_credits(now, port);
        }
        if let Some(credits) = &mut self.ports[port.index()].credits {
            let times = credits.times;
            // A neighbour that answered before is given the time to answer again.
            let absent = hints.absent.without(denied);
            credits
                .sender
                .set_hints(&times, CreditHints { absent, ..hints });
        }
        self.settle_credit_sending(now, port);
        Ok(())
    }

    /// Reserves up to `most` credits of `port` for frames that the caller sends without the switch, and
    /// returns their number. They count as consumed.
    pub fn set_credits_aside(
        &mut self,
        now: Instant,
        port: PortId,
        priority: Priority,
        most: u32,
    ) -> u32 {
        let Some(state) = self.ports.get_mut(port.index()) else {
            return 0;
        };
        let Some(credits) = &mut state.credits else {
            return 0;
        };
        let number = credits.sender.set_aside(priority, most);
        state.settle_sending(now);
        self.ready.note_timer(port);
        number
    }

    /// Returns credits that were [reserved](Self::set_credits_aside) in this epoch and not used.
    pub fn take_credits_back(
        &mut self,
        now: Instant,
        port: PortId,
        priority: Priority,
        number: u32,
    ) {
        let Some(state) = self.ports.get_mut(port.index()) else {
            return;
        };
        if let Some(credits) = &mut state.credits {
            credits.sender.take_back(priority, number);
            self.settle_credit_sending(now, port);
        }
    }

    /// Accounts for frames worth `number` credits that arrived on `port` and bypassed the switch.
    pub fn note_credits_passed(&mut self, port: PortId, priority: Priority, number: u32) {
        let state = self.ports.get_mut(port.index());
        if let Some(credits) = state.and_then(|state| state.credits.as_mut()) {
            credits.receiver.note_passed(priority, number);
            self.promise_credits(port, priority);
        }
    }
}
