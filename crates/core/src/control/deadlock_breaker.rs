//! The Deadlock Breaker of the CLCM paper's section 3.3: a message finds the loop and, on its second pass, releases it.

use super::{ControlPlane, IgnoreReason, ReportKind};
use crate::command::Command;
use crate::sets::PortSet;
use crate::units::{Instant, PortId, Priority};
use crate::wire::clcm::{Clcm, Hop};

impl ControlPlane {
    pub(super) fn receive_detection(
        &mut self,
        now: Instant,
        ingress: PortId,
        message: &Clcm,
        toward: &PortSet,
    ) {
        let priority = message.priority();
        let candidates = self.suspected_among(priority, toward);
        if let Some(index) = self.own_hop_among(&candidates, message) {
            self.counters.loops_found += 1;
            let length = (message.hops().len() - index) as u8;
            let egress = message.hops()[index].egress;
            self.report(
                now,
                ingress,
                priority,
                ReportKind::LoopFound { egress, length },
            );
            self.release(now, ingress, message, index);
            self.count_loop(now, egress, priority);
            self.note_loop(now, egress);
            return;
        }
        // A loop may pass this switch twice, by different ports: finding an own hop does not end the search, but the
        // message does not take the same path again.
        let fresh: PortSet = candidates
            .iter()
            .filter(|egress| self.hop_of(*egress, message).is_none())
            .collect();
        if fresh.is_empty() {
            let been_here = message
                .hops()
                .iter()
                .any(|hop| self.suspects.is_own(priority, hop.spuid));
            let reason = if been_here {
                IgnoreReason::NotOnLoop
            } else {
                IgnoreReason::NotSuspected
            };
            self.ignore(now, ingress, message, reason);
            return;
        }
        let choice = self.suspects.choose(fresh.count());
        let Some((egress, spuid)) = fresh.iter().nth(choice).and_then(|egress| {
            let suspect = self.suspects.current(egress, priority)?;
            Some((egress, suspect.spuid))
        }) else {
            return;
        };
        let mut message = *message;
        if message.push(Hop { spuid, egress }).is_err() {
            self.ignore(now, ingress, &message, IgnoreReason::HopsFull);
            return;
        }
        self.forward(now, ingress, egress, message);
    }

    pub(super) fn receive_release(
        &mut self,
        now: Instant,
        ingress: PortId,
        message: &Clcm,
        index: usize,
        toward: &PortSet,
    ) {
        let priority = message.priority();
        let known = message
            .hops()
            .get(index)
            .filter(|hop| self.suspects.is_known(now, hop.egress, priority, hop.spuid));
        match known {
            None => self.ignore(now, ingress, message, IgnoreReason::UnknownSpuid),
            // A neighbour knows the identifier and may have forged the rest.
            Some(hop) if !toward.contains(hop.egress) => {
                self.ignore(now, ingress, message, IgnoreReason::NotOnLoop);
            }
            Some(_) => self.release(now, ingress, message, index),
        }
    }

    /// Releases {`ingress`, EgressPorts\[`index`\]} and sends the message to the next hop of the loop.
    fn release(&mut self, now: Instant, ingress: PortId, message: &Clcm, index: usize) {
        let priority = message.priority();
        let egress = message.hops()[index].egress;
        let interval = self.config.clcm_interval;
        let base = self.config.release_period;
        let preference = self.suspects.get_mut(egress, priority).and_then(|suspect| {
            suspect.is_answered = true;
            let began = suspect.began;
            // The next suspicion comes one detection time after the lock, which comes some time after the release.
            let quiet = (base + suspect.idle).saturating_mul(8);
            suspect
                .take_release(now, interval)
                .then(|| suspect.back_off.preference(now, began, base, quiet))
        });
        if let Some(preference) = preference {
            self.counters.releases_ordered += 1;
            self.command(Command::Release {
                ingress,
                egress,
                priority,
                period: base,
                preference,
                extra: self.config.release_extra,
            });
            self.report(
                now,
                ingress,
                priority,
                ReportKind::ReleaseOrdered { egress, preference },
            );
        }
        match message.released_at(index + 1) {
            Some(next) => self.forward(now, ingress, egress, next),
            None => self.ignore(now, ingress, message, IgnoreReason::LoopComplete),
        }
    }

    fn own_hop_among(&self, egresses: &PortSet, message: &Clcm) -> Option<usize> {
        egresses
            .iter()
            .find_map(|egress| self.hop_of(egress, message))
    }

    fn hop_of(&self, egress: PortId, message: &Clcm) -> Option<usize> {
        let suspect = self.suspects.current(egress, message.priority())?;
        message
            .hops()
            .iter()
            .position(|hop| (hop.spuid, hop.egress) == (suspect.spuid, egress))
    }

    fn count_loop(&mut self, now: Instant, egress: PortId, priority: Priority) {
        if let Some(spuid) = self.suspects.note_loop(egress, priority) {
            self.report(now, egress, priority, ReportKind::SpuidAssigned { spuid });
        }
    }
}
