//! Commands of the control plane to the switch. Each command is passed to the module that implements it; a refused
//! command has no effect.
//!
//! Design: docs/src/internals/design/core.md.

mod handover;
mod reconfigure;

use super::Switch;
use crate::command::{Command, CommandError};
use crate::units::Instant;

impl Switch {
    /// Applies a command of the control plane.
    ///
    /// # Errors
    ///
    /// The reason for refusing it; the switch is then unchanged.
    pub fn apply(&mut self, now: Instant, command: Command) -> Result<(), CommandError> {
        self.ready.note_all();
        match command {
            Command::SendClcm { port, message } => self.send_clcm(port, message),
            Command::Release {
                ingress,
                egress,
                priority,
                period,
                preference,
                extra,
            } => {
                let exclusive_until = now + period;
                let until = exclusive_until + preference;
                self.release(
                    now,
                    ingress,
                    egress,
                    priority,
                    [exclusive_until, until],
                    extra,
                )
            }
            Command::TrafficRelease {
                ingress,
                egress,
                priority,
                amount,
                period,
            } => self.begin_traffic_release(now, ingress, egress, priority, amount, period),
            Command::SetCreditSlots { port, slots } => self.set_credit_slots(port, slots),
            Command::SetCreditHints { port, hints } => self.set_credit_hints(now, port, hints),
            Command::SetLink { port, up } => self.set_link(now, port, up),
            Command::DeviceGone { port } => self.give_up_port(now, port),
            Command::DeviceBack { port } => self.take_port_back(now, port),
            Command::SetTransmitter { port, completes } => {
                self.set_transmitter(now, port, completes)
            }
            Command::ForgetLearned { port, vlan } => self.forget_learnt(now, port, vlan),
            Command::SetNeighbour { port, neighbour } => self.set_neighbour(port, neighbour),
            Command::SetFeedback { port, coding } => self.set_feedback(port, coding),
            Command::SetRoute {
                destination,
                members,
                buckets,
            } => self
                .set_route_in(None, destination, members, buckets)
                .map(|()| self.note_ways_changed(now)),
            Command::SetVlanRoute {
                vlan,
                destination,
                members,
                buckets,
            } => self
                .set_route_in(Some(vlan), destination, members, buckets)
                .map(|()| self.note_ways_changed(now)),
            Command::RemoveVlanRoute { vlan, destination } => {
                self.forwarding.remove_route_in(Some(vlan), destination)
            }
            Command::RemoveRoute { destination } => self.forwarding.remove_route(destination),
            Command::MoveBucket {
                destination,
                bucket,
                to,
            } => self.forwarding.move_bucket(destination, bucket, to),
            Command::PinFlow {
                destination,
                flow_hash,
                port,
            } => self.forwarding.pin(now, destination, flow_hash, port),
            Command::UnpinFlow {
                destination,
                flow_hash,
            } => self.forwarding.unpin(destination, flow_hash),
            Command::Reserve { port, reserved } => self.reserve(port, reserved),
            Command::HoldNeighbour {
                port,
                priority,
                held,
            } => self.hold_neighbour(port, priority, held),
            Command::Reroute {
                selection,
                egress,
                priority,
                by,
            } => self.reroute(now, selection, egress, priority, by),
            Command::CallStorm { egress, priority } => self.call_storm(now, egress, priority),
            Command::SetWatchdog { port, watchdog } => self.set_watchdog(now, port, watchdog),
            Command::SetClass { priority, class } => self.set_class(priority, class),
            Command::SetMarking { priority, marking } => self.set_marking(priority, marking),
            Command::SetDetector { detector } => self.set_detector(now, detector),
            Command::Drain => {
                self.drain();
                Ok(())
            }
            Command::GiveUpAll => {
                self.give_up_all();
                Ok(())
            }
            Command::AssumePaused => {
                self.assume_paused(now);
                Ok(())
            }
        }
    }
}
