//! RX ring slots reserved for frames with a credit.

use weir_core::{Command, CreditState, Duration, Instant, PortId, Priority};

use super::{ids, Worker};
use crate::rings::io::Io;

/// Interval between searches for slots of frames that the kernel lost.
const SEARCH: Duration = Duration::from_millis(100);

impl<I: Io> Worker<I> {
    /// Updates the state after a port's rings have changed.
    pub(super) fn note_slots(&mut self) {
        self.has_slots = (0..self.ports.len()).any(|port| self.io.keeps_slots(port));
    }

    /// Withdraws the credits of `port`, whose rings are gone.
    pub(super) fn take_back_slots(&mut self, now: Instant, port: PortId) {
        self.tell_slots(now, port, 0);
    }

    fn tell_slots(&mut self, now: Instant, port: PortId, sure: u32) {
        let Some(state) = self.ports.get_mut(port.index()) else {
            return;
        };
        if state.credit_slots != sure {
            state.credit_slots = sure;
            let slots = Some(sure);
            // Fails only for an unknown port.
            let _ = self
                .switch
                .apply(now, Command::SetCreditSlots { port, slots });
        }
    }

    /// Accounts for the batch's frames leaving the ring of `port`. Their chunks cover no credit until the ring is refilled,
    /// so the core, which is about to process the frames, must not grant credits for them.
    #[cold]
    pub(super) fn count_out(&mut self, now: Instant, port: PortId) {
        if !self.io.keeps_slots(port.index()) {
            return;
        }
        for at in 0..self.batch.len() {
            let Some(chunk) = self.batch.get(at) else {
                break;
            };
            let (meta, bytes) = self.io.frame(chunk);
            let length = bytes.len() + self.io.length_behind(chunk);
            // Without metadata it may have had a credit.
            let has_credit = meta.is_none_or(|meta| meta.has_credit);
            self.io.count_out(port.index(), length as u64, has_credit);
        }
        let sure = self.io.settle_slots(port.index());
        self.tell_slots(now, port, sure);
    }

    /// Fills the rings, and reports the credits certainly covered. Runs between receiving and sending, because credits are
    /// sent with frames.
    pub(super) fn settle_slots(&mut self, now: Instant) {
        if !self.has_slots {
            return;
        }
        self.fill_rings();
        let searches = now.saturating_since(self.slots_searched) >= SEARCH;
        if searches {
            self.slots_searched = now;
        }
        for port in ids(self.ports.len()) {
            let index = port.index();
            if !self.io.keeps_slots(index) {
                continue;
            }
            if searches {
                self.io.forget_lost(index);
            }
            let sure = self.io.settle_slots(index);
            self.tell_slots(now, port, sure);
            let credited = Priority::ALL.into_iter().filter(|priority| {
                let gauges = self.switch.credit_gauges(port, *priority);
                gauges.is_some_and(|gauges| gauges.receiving.state == CreditState::Credits)
            });
            let credited = credited.fold(0, |bits, priority| bits | 1 << priority.index());
            self.io.set_credited(index, credited);
        }
    }
}
