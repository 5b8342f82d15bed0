//! Credits of a port in both directions.
//!
//! Waiting for credits is modelled as a pause without end, which ends when credits arrive: only this module and the
//! ingress buffer distinguish the two.

use crate::command::CommandError;
use crate::config::{Police, PortConfig, PortRole, SwitchConfig};
use crate::counters::DropReason;
use crate::credit::{
    CreditFallback, CreditReceiver, CreditSender, CreditState, CreditTimes, ReceivingGauges,
    SendingGauges,
};
use crate::sets::PrioritySet;
use crate::switch::port::Port;
use crate::switch::Switch;
use crate::units::{Bytes, Instant, PortId, Priority, Quanta, PRIORITY_COUNT};
use crate::wire::credit::{CreditRecords, CreditUpdate};

/// Both directions of one link, for all classes with credits.
#[derive(Debug)]
#[cfg_attr(feature = "testing", derive(Clone))]
pub(in crate::switch) struct PortCredits {
    sender: CreditSender,
    receiver: CreditReceiver,
    times: CreditTimes,
    longest: Bytes,
    /// Classes that are closed to a neighbour without credits.
    closes: PrioritySet,
    /// Priorities that ignore PFC: the neighbour has not answered, or gives credits.
    beyond_pfc: PrioritySet,
    /// End of the pause by PFC, for a later fallback from credits.
    pfc_until: [Instant; PRIORITY_COUNT],
    /// The port has noted that a message is due.
    is_noted: bool,
}

/// Both ends of the credits of one (port, priority).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CreditGauges {
    /// Credits given by the neighbour.
    pub sending: SendingGauges,
    /// Credits given to the neighbour.
    pub receiving: ReceivingGauges,
    /// CC_Updates sent, CF_Updates received, and how many of those were of another epoch or late, and implausible.
    /// Totals of the port.
    pub sender_updates: [u64; 4],
    /// CF_Updates sent, CC_Updates received, and how many of those were of another epoch, and implausible. Totals of
    /// the port.
    pub receiver_updates: [u64; 4],
}

impl PortCredits {
    /// `None` for a port without a class with credits.
    pub(in crate::switch) fn new(config: &SwitchConfig, port: &PortConfig) -> Option<Self> {
        // A policed host obeys nothing.
        let is_policed = port.role == PortRole::Edge && port.police != Police::Off;
        let terms = config.classes.map(|class| match is_policed {
            true => None,
            false => class.credit_terms(port),
        });
        if terms == [None; PRIORITY_COUNT] {
            return None;
        }
        let classes = Priority::ALL.into_iter();
        let classes = classes.filter(|priority| terms[priority.index()].is_some());
        let mut closes = PrioritySet::default();
        for priority in classes.clone() {
            let credits = config.classes[priority.index()].credits;
            if credits.is_some_and(|credits| credits.fallback == CreditFallback::Closed) {
                closes.insert(priority);
            }
        }
        let sender = CreditSender::new(classes, &config.credits);
        let mut receiver = CreditReceiver::new(terms, &config.credits);
        receiver.set_slots(port.credit_slots);
        Some(Self {
            sender,
            receiver,
            times: config.credits,
            longest: config.frame_length_max,
            closes,
            beyond_pfc: PrioritySet::default(),
            pfc_until: [Instant::ZERO; PRIORITY_COUNT],
            is_noted: false,
        })
    }

    pub(in crate::switch) fn next_at(&self) -> Instant {
        let due_at = match self.is_noted {
            true => Instant::FAR_FUTURE,
            false => self.sender.due_at(&self.times),
        };
        let next_at = self.sender.next_at().min(self.receiver.next_at());
        next_at.min(due_at)
    }

    /// Returns true if frames of `priority` are sent only by credits, or wait for the neighbour's answer.
    pub(in crate::switch) fn holds(&self, priority: Priority) -> bool {
        self.beyond_pfc.contains(priority)
    }

    /// Notes the end of a pause by PFC. Returns false if the pause must be obeyed.
    fn note_pfc(&mut self, priority: Priority, until: Instant) -> bool {
        self.pfc_until[priority.index()] = until;
        self.holds(priority)
    }

    /// Returns the end of `priority`'s pause, and true if PFC has no influence on it; `None` for a class without
    /// credits.
    fn held_until(&self, priority: Priority) -> (Instant, bool) {
        let until = match self.sender.state(priority) {
            CreditState::Credits if self.sender.may_send(priority, self.longest) => Instant::ZERO,
            CreditState::Fallback if !self.closes.contains(priority) => {
                return (self.pfc_until[priority.index()], false)
            }
            CreditState::Credits | CreditState::Waiting | CreditState::Fallback => {
                Instant::FAR_FUTURE
            }
        };
        (until, true)
    }

    fn is_due(&self, now: Instant) -> bool {
        self.receiver.is_due() || self.sender.is_due(now, &self.times)
    }

    fn take(&mut self, now: Instant) -> Option<CreditUpdate> {
        self.is_noted = false;
        let freed = self.receiver.take(now, &self.times);
        freed.or_else(|| self.sender.take(now, &self.times))
    }
}

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

    pub(in crate::switch) fn note_credit_arrival(&mut self, priority: Priority, length: Bytes) {
        if let Some(credits) = &mut self.credits {
            credits.receiver.note_arrival(priority, length);
        }
    }

    /// Begins an epoch in both directions after the link has come up.
    pub(in crate::switch) fn begin_credits_anew(&mut self, now: Instant) {
        if let Some(credits) = &mut self.credits {
            let times = credits.times;
            credits.sender.begin_anew(now, &times);
            credits.receiver.begin_anew(now);
        }
    }

    pub(in crate::switch) fn next_credit_update(&mut self, now: Instant) -> Option<CreditUpdate> {
        let credits = self.credits.as_mut()?;
        let update = credits.take(now);
        credits.is_noted = credits.is_due(now);
        self.due.seldom.set_credits(credits.is_noted);
        update
    }

    fn receives_by_credits(&self, priority: Priority) -> bool {
        let credits = self.credits.as_ref();
        credits.is_some_and(|credits| credits.receiver.state(priority) == CreditState::Credits)
    }

    pub(in crate::switch) fn sends_by_credits(&self, priority: Priority) -> bool {
        let credits = self.credits.as_ref();
        credits.is_some_and(|credits| credits.holds(priority))
    }

    /// Returns the priorities that accept no frames: they are closed to a neighbour without credits.
    pub(in crate::switch) fn closed_by_credits(&self) -> PrioritySet {
        let mut closed = PrioritySet::default();
        if let Some(credits) = &self.credits {
            for priority in credits.closes.iter() {
                if credits.receiver.state(priority) != CreditState::Credits {
                    closed.insert(priority);
                }
            }
        }
        closed
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

    /// Promises the neighbour the room that the buffer of (`port`, `priority`) has now.
    pub(in crate::switch) fn promise_credits(&mut self, port: PortId, priority: Priority) {
        let Some(state) = self.ports.get_mut(port.index()) else {
            return;
        };
        let Some(credits) = &mut state.credits else {
            return;
        };
        let room = state.ingress[priority.index()].room_for_credits();
        let is_earlier = credits.receiver.promise(&credits.times, priority, room);
        if credits.receiver.is_due() {
            credits.is_noted = true;
            state.due.seldom.set_credits(true);
            self.ready.note_port(port);
        }
        if is_earlier {
            self.ready.note_timer(port);
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

    /// Credit counters of (`port`, `priority`); `None` for a class without credits.
    pub fn credit_gauges(&self, port: PortId, priority: Priority) -> Option<CreditGauges> {
        let credits = self.ports.get(port.index())?.credits.as_ref()?;
        Some(CreditGauges {
            sending: credits.sender.gauges(priority)?,
            receiving: credits.receiver.gauges(priority)?,
            sender_updates: credits.sender.updates(),
            receiver_updates: credits.receiver.updates(),
        })
    }

    /// Sets aside up to `most` credits of `port` for frames that the caller sends without the switch, and returns their
    /// number. They count as consumed.
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

    /// Returns credits that were [set aside](Self::set_credits_aside) in this epoch and not used.
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
