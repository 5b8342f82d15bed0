//! A host's end of the credits on its link. It consumes frames on arrival, so their credits return immediately.

use super::{CreditReceiver, CreditSender, CreditState, CreditTerms, CreditTimes};
use crate::units::{Bytes, Instant, Priority, PRIORITY_COUNT};
use crate::wire::credit::{CreditRecords, CreditUpdate};

/// Both directions of one host's link.
#[derive(Clone, Debug)]
pub struct HostCredits {
    sender: CreditSender,
    receiver: CreditReceiver,
    times: CreditTimes,
    longest: Bytes,
    terms: [Option<CreditTerms>; PRIORITY_COUNT],
}

impl HostCredits {
    /// Creates them for a host that gives credits on `terms` and sends frames up to `longest`. `None` without a class
    /// with credits.
    pub fn new(
        terms: [Option<CreditTerms>; PRIORITY_COUNT],
        times: CreditTimes,
        longest: Bytes,
    ) -> Option<Self> {
        let classes = Priority::ALL.into_iter();
        let classes = classes.filter(|priority| terms[priority.index()].is_some());
        (terms != [None; PRIORITY_COUNT]).then(|| Self {
            sender: CreditSender::new(classes, &times),
            receiver: CreditReceiver::new(terms, &times),
            times,
            longest,
            terms,
        })
    }

    /// Sets the number of frames with a credit that the host's ring can hold.
    pub fn set_slots(&mut self, slots: u32) {
        self.receiver.set_slots(Some(slots));
    }

    /// True while no frame of `priority` may be sent. `None` if PFC decides, because the class or the switch does not use
    /// credits.
    pub fn holds(&self, priority: Priority) -> Option<bool> {
        match self.sender.state(priority) {
            CreditState::Credits => Some(!self.sender.may_send(priority, self.longest)),
            CreditState::Waiting => Some(true),
            CreditState::Fallback => None,
        }
    }

    /// Accounts for a frame that the host sends.
    pub fn note_sent(&mut self, now: Instant, priority: Priority, length: Bytes) {
        self.sender.consume(now, &self.times, priority, length);
    }

    /// Accounts for a frame that the host has consumed.
    pub fn note_arrival(&mut self, priority: Priority, length: Bytes) {
        self.receiver.note_arrival(priority, length);
        self.promise();
    }

    fn promise(&mut self) {
        for priority in Priority::ALL {
            if let Some(terms) = &self.terms[priority.index()] {
                let room = u64::from(terms.limit()) * u64::from(terms.size());
                self.receiver
                    .promise(&self.times, priority, Bytes::new(room));
            }
        }
    }

    /// Processes a frame of the switch; all but messages about credits are ignored.
    pub fn receive(&mut self, bytes: &[u8]) {
        let Ok(update) = CreditUpdate::parse(bytes) else {
            return;
        };
        match update.records {
            CreditRecords::Freed(_) => {
                self.sender.receive(&update);
            }
            CreditRecords::Consumed(_) => {
                self.receiver.receive(&self.times, &update);
                self.promise();
            }
        }
    }

    /// Takes the message due at `now`.
    pub fn take(&mut self, now: Instant) -> Option<CreditUpdate> {
        self.receiver.refresh(now, &self.times);
        self.sender.refresh(now, &self.times);
        let freed = self.receiver.take(now, &self.times);
        freed.or_else(|| self.sender.take(now, &self.times))
    }

    /// Returns the earliest time of the next message.
    pub fn next_at(&self) -> Instant {
        if self.receiver.is_due() {
            return Instant::ZERO;
        }
        let sender = self.sender.next_at().min(self.sender.due_at(&self.times));
        sender.min(self.receiver.next_at())
    }

    /// Returns the credits that the host uses of those granted by its switch in `priority`, and the credits that it has
    /// granted.
    pub fn balance(&self, priority: Priority) -> Option<(u32, u32)> {
        let used = self.sender.gauges(priority)?.used;
        Some((used, self.receiver.gauges(priority)?.outstanding))
    }
}
