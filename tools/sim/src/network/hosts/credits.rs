//! A host's end of the credits on its link. It consumes frames on arrival, so their credits return immediately.

use weir_core::credit::{CreditReceiver, CreditSender, CreditState, CreditTerms, CreditTimes};
use weir_core::units::PRIORITY_COUNT;
use weir_core::wire::credit::{CreditRecords, CreditUpdate};
use weir_core::{Bytes, Instant, PortConfig, Priority, SwitchConfig};

/// Both ends of one host's link.
#[derive(Debug)]
pub(in crate::network) struct NicCredits {
    sender: CreditSender,
    receiver: CreditReceiver,
    times: CreditTimes,
    longest: Bytes,
    terms: [Option<CreditTerms>; PRIORITY_COUNT],
}

impl NicCredits {
    /// Creates them for a host at `port`; `None` if the switch has no class with credits.
    pub(in crate::network) fn new(switch: &SwitchConfig, port: &PortConfig) -> Option<Self> {
        let terms = switch.classes.map(|class| class.credit_terms(port));
        let classes = Priority::ALL.into_iter();
        let classes = classes.filter(|priority| terms[priority.index()].is_some());
        let times = switch.credits;
        (terms != [None; PRIORITY_COUNT]).then(|| Self {
            sender: CreditSender::new(classes, &times),
            receiver: CreditReceiver::new(terms, &times),
            times,
            longest: switch.frame_length_max,
            terms,
        })
    }

    /// True unless PFC holds `priority`.
    pub(super) fn counts(&self, priority: Priority) -> bool {
        self.sender.state(priority) != CreditState::Fallback
    }

    /// Holds or releases each class with credits.
    pub(super) fn settle(&self, paused_until: &mut [Instant; PRIORITY_COUNT]) {
        for priority in Priority::ALL {
            let until = &mut paused_until[priority.index()];
            match self.sender.state(priority) {
                CreditState::Credits if self.sender.may_send(priority, self.longest) => {
                    *until = Instant::ZERO;
                }
                CreditState::Credits | CreditState::Waiting => *until = Instant::FAR_FUTURE,
                CreditState::Fallback if *until == Instant::FAR_FUTURE => *until = Instant::ZERO,
                CreditState::Fallback => {}
            }
        }
    }

    pub(super) fn note_sent(&mut self, now: Instant, priority: Priority, length: Bytes) {
        self.sender.consume(now, &self.times, priority, length);
    }

    pub(super) fn note_arrival(&mut self, priority: Priority, length: Bytes) {
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

    pub(super) fn receive(&mut self, bytes: &[u8]) {
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
    pub(super) fn take(&mut self, now: Instant) -> Option<CreditUpdate> {
        self.receiver.refresh(now, &self.times);
        self.sender.refresh(now, &self.times);
        let freed = self.receiver.take(now, &self.times);
        freed.or_else(|| self.sender.take(now, &self.times))
    }

    /// Returns the earliest time of the next one.
    pub(super) fn next_at(&self) -> Instant {
        let sender = self.sender.next_at().min(self.sender.due_at(&self.times));
        sender.min(self.receiver.next_at())
    }

    /// Returns the credits that the host uses of those granted by its switch in `priority`, and the credits that it has
    /// granted.
    pub(in crate::network) fn balance(&self, priority: Priority) -> Option<(u32, u32)> {
        let used = self.sender.gauges(priority)?.used;
        Some((used, self.receiver.gauges(priority)?.outstanding))
    }
}
