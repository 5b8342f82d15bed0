//! Credits of a port in both directions: the room promised to the neighbour, and that promised by it.
//!
//! Owns both ends of the protocol. It is independent of buffers and pauses: admission reports the free room,
//! and the link holds frames that lack a credit.
//!
//! Design: docs/src/internals/design/credits.md.

use crate::config::{PortConfig, SwitchConfig};
use crate::credit::{
    CreditFallback, CreditHints, CreditReceiver, CreditSender, CreditState, CreditTimes,
    ReceivingGauges, SendingGauges,
};
use crate::sets::PrioritySet;
use crate::switch::port::Port;
use crate::switch::Switch;
use crate::units::{Bytes, Instant, PortId, Priority, PRIORITY_COUNT};
use crate::wire::credit::CreditUpdate;
use crate::wire::lldp::dcbx;

/// Both directions of one link, for all classes with credits.
#[derive(Debug)]
#[cfg_attr(feature = "testing", derive(Clone))]
pub(in crate::switch) struct PortCredits {
    pub(in crate::switch) sender: CreditSender,
    pub(in crate::switch) receiver: CreditReceiver,
    pub(in crate::switch) times: CreditTimes,
    longest: Bytes,
    /// Classes that are closed to a neighbour without credits.
    pub(in crate::switch) closes: PrioritySet,
    /// Priorities that ignore PFC: the neighbour has not answered, or gives credits.
    pub(in crate::switch) beyond_pfc: PrioritySet,
    /// End of the pause by PFC, for a later fallback from credits.
    pfc_until: [Instant; PRIORITY_COUNT],
    /// The port has noted that a message is due.
    pub(in crate::switch) is_noted: bool,
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
        let terms = config.classes.map(|class| match port.gives_credits() {
            true => class.credit_terms(port),
            false => None,
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
    pub(in crate::switch) fn note_pfc(&mut self, priority: Priority, until: Instant) -> bool {
        self.pfc_until[priority.index()] = until;
        self.holds(priority)
    }

    /// Returns the end of `priority`'s pause, and true if PFC has no influence on it; `None` for a class without
    /// credits.
    pub(in crate::switch) fn held_until(&self, priority: Priority) -> (Instant, bool) {
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

    pub(in crate::switch) fn is_due(&self, now: Instant) -> bool {
        self.receiver.is_due() || self.sender.is_due(now, &self.times)
    }

    /// Returns the classes that use credits although `hints` newly deny them.
    pub(in crate::switch) fn newly_denied(&self, hints: &CreditHints) -> dcbx::PrioritySet {
        let uses_credits = |priority: &Priority| {
            let states = [self.sender.state(*priority), self.receiver.state(*priority)];
            states.contains(&CreditState::Credits)
        };
        let newly = hints.denied.without(self.sender.hints().denied);
        let denied = newly.iter().filter(uses_credits);
        denied.fold(dcbx::PrioritySet::EMPTY, dcbx::PrioritySet::with)
    }

    fn take(&mut self, now: Instant) -> Option<CreditUpdate> {
        self.is_noted = false;
        let freed = self.receiver.take(now, &self.times);
        freed.or_else(|| self.sender.take(now, &self.times))
    }
}

impl Port {
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

    pub(in crate::switch) fn receives_by_credits(&self, priority: Priority) -> bool {
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
}
