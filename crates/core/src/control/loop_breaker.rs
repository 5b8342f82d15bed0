//! The Loop Breaker of the CLCM paper's section 3.2: one switch of the loop is elected, moves the flows on its
//! {ingress, egress} to other ports, and forces some traffic out so that the loop moves again.

use super::{ControlPlane, IgnoreReason, NoAlternative, ReportKind};
use crate::command::{Command, RerouteSelection};
use crate::sets::PortSet;
use crate::units::{Bytes, Instant, PortId, Priority};
use crate::wire::clcm::{Clcm, Hop};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mastership {
    ingress: PortId,
    acted_at: Instant,
    moved: u32,
    step: Bytes,
}

impl ControlPlane {
    /// The four cases of section 3.2.1.
    pub(super) fn receive_election(
        &mut self,
        now: Instant,
        ingress: PortId,
        message: &Clcm,
        toward: &PortSet,
    ) {
        let priority = message.priority();
        let candidates = self.suspected_among(priority, toward);
        if candidates.is_empty() {
            self.ignore(now, ingress, message, IgnoreReason::NotSuspected);
            return;
        }
        let own = candidates.iter().find(|egress| {
            let suspect = self.suspects.current(*egress, priority);
            suspect.is_some_and(|suspect| suspect.spuid == message.origin())
        });
        if let Some(egress) = own {
            self.lead(now, ingress, egress, message);
            return;
        }
        if self.suspects.is_own(priority, message.origin()) {
            self.ignore(now, ingress, message, IgnoreReason::NotOnLoop);
            return;
        }
        let mut reason = IgnoreReason::AlreadyHere;
        let mut passed_on = false;
        for egress in candidates.iter() {
            match self.pass_on(now, ingress, egress, message) {
                Ok(()) => passed_on = true,
                Err(why) => reason = why,
            }
        }
        if !passed_on {
            self.ignore(now, ingress, message, reason);
        }
    }

    pub(super) fn note_rerouted(
        &mut self,
        now: Instant,
        selection: RerouteSelection,
        egress: PortId,
        priority: Priority,
        moved: u32,
    ) {
        let no_alternative = self.config.loop_breaker.no_alternative;
        let interval = self.config.clcm_interval;
        let releases = self.config.policy.releases();
        let Some(suspect) = self.suspects.current_mut(egress, priority) else {
            return;
        };
        let Some(mastership) = &mut suspect.mastership else {
            return;
        };
        let ingress = mastership.ingress;
        mastership.moved += moved;
        if mastership.moved > 0 {
            if releases {
                // The Deadlock Breaker can make the loop move without loss: start it at once.
                suspect.next_detection = suspect.next_detection.min(now);
            } else {
                self.force(now, ingress, egress, priority);
            }
            return;
        }
        let is_first_try = selection == RerouteSelection::From(ingress);
        if is_first_try && no_alternative == NoAlternative::RerouteEntering {
            self.reroute(RerouteSelection::NotFrom(ingress), egress, priority);
            return;
        }
        // Another switch may have a path: leave the election to others for a while.
        suspect.retire(now, interval);
        self.report(now, egress, priority, ReportKind::NoAlternative { ingress });
    }

    fn lead(&mut self, now: Instant, ingress: PortId, egress: PortId, message: &Clcm) {
        let priority = message.priority();
        let interval = self.config.clcm_interval;
        let first_step = self.config.loop_breaker.traffic_release;
        let Some(suspect) = self.suspects.current_mut(egress, priority) else {
            return;
        };
        if !suspect.stands_for_election() {
            self.ignore(now, ingress, message, IgnoreReason::Outranked);
            return;
        }
        let acted = suspect.mastership.filter(|past| past.ingress == ingress);
        // Copies of one message may arrive on several paths.
        let half = interval.divided_by(2);
        if acted.is_some_and(|past| now.saturating_since(past.acted_at) < half) {
            self.ignore(now, ingress, message, IgnoreReason::AlreadyHere);
            return;
        }
        suspect.is_answered = true;
        suspect.mastership = Some(Mastership {
            acted_at: now,
            ..acted.unwrap_or(Mastership {
                ingress,
                acted_at: now,
                moved: 0,
                step: first_step,
            })
        });
        self.counters.elections_won += 1;
        self.note_loop(now, egress);
        let length = message.hops().len() as u8;
        self.report(
            now,
            ingress,
            priority,
            ReportKind::MasterElected { egress, length },
        );
        self.reroute(RerouteSelection::From(ingress), egress, priority);
    }

    fn reroute(&mut self, selection: RerouteSelection, egress: PortId, priority: Priority) {
        self.counters.reroutes_ordered += 1;
        self.command(Command::Reroute {
            selection,
            egress,
            priority,
            by: self.config.loop_breaker.reroute_by,
        });
    }

    /// Takes one step of the traffic release (section 3.2.3).
    fn force(&mut self, now: Instant, ingress: PortId, egress: PortId, priority: Priority) {
        let period = self.config.clcm_interval;
        let largest = self.config.loop_breaker.traffic_release_max;
        let suspect = self.suspects.current_mut(egress, priority);
        let Some(mastership) = suspect.and_then(|suspect| suspect.mastership.as_mut()) else {
            return;
        };
        let amount = mastership.step;
        mastership.step = (amount + amount).min(largest);
        self.counters.traffic_releases_ordered += 1;
        self.command(Command::TrafficRelease {
            ingress,
            egress,
            priority,
            amount,
            period,
        });
        self.report(
            now,
            ingress,
            priority,
            ReportKind::TrafficReleaseOrdered { egress, amount },
        );
    }

    /// Forwards another switch's message through `egress`, or returns the reason for ignoring it.
    fn pass_on(
        &mut self,
        now: Instant,
        ingress: PortId,
        egress: PortId,
        message: &Clcm,
    ) -> Result<(), IgnoreReason> {
        let priority = message.priority();
        let half = self.config.clcm_interval.divided_by(2);
        let suspect = self
            .suspects
            .current_mut(egress, priority)
            .ok_or(IgnoreReason::NotSuspected)?;
        let spuid = suspect.spuid;
        if message.hops().iter().any(|hop| hop.spuid == spuid) {
            return Err(IgnoreReason::AlreadyHere);
        }
        if suspect.stands_for_election() && message.origin() > spuid {
            return Err(IgnoreReason::Outranked);
        }
        let mut message = *message;
        message
            .push(Hop { spuid, egress })
            .map_err(|_| IgnoreReason::HopsFull)?;
        if !suspect.take_passage(now, message.origin(), half) {
            return Err(IgnoreReason::AlreadyHere);
        }
        self.forward(now, ingress, egress, message);
        Ok(())
    }
}
