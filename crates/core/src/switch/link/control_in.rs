//! Received control frames: limited first, then verified, then parsed.

use crate::config::PortRole;
use crate::counters::DropReason;
use crate::event::EventKind;
use crate::switch::port::Port;
use crate::switch::Switch;
use crate::units::{Instant, PortId, Priority, Quanta};
use crate::wire::clcm::Clcm;
use crate::wire::credit::CreditUpdate;
use crate::wire::echo::Echo;
use crate::wire::mac_control::MacControl;

impl Switch {
    /// Handles a MAC control frame received on `port`: 802.3x PAUSE or PFC. `bytes` is the whole frame.
    ///
    /// # Errors
    ///
    /// [`DropReason::BadMacControl`] for a malformed frame, [`DropReason::ControlRate`] for one above the limit;
    /// counted.
    pub fn receive_mac_control(
        &mut self,
        now: Instant,
        port: PortId,
        bytes: &[u8],
    ) -> Result<(), DropReason> {
        let Some(state) = self.ports.get_mut(port.index()) else {
            return Err(DropReason::PortDown);
        };
        if !state.pause_limit.take(now) {
            state.counters.drop_frame(DropReason::ControlRate);
            return Err(DropReason::ControlRate);
        }
        self.ready.note_port(port);
        if !self.with_levels.is_empty() {
            self.ready.note_timer(port);
        }
        match MacControl::parse(bytes) {
            Ok(MacControl::Pause { quanta }) => {
                state.counters.pause_received += 1;
                if self.receive_link_feedback(now, port, quanta) {
                    return Ok(());
                }
                let has_lossless = !self.lossless.is_empty();
                let rule = self.config.ports[port.index()].pause;
                let state = &mut self.ports[port.index()];
                if !rule.obeys(has_lossless) {
                    state.counters.pause_ignored += 1;
                    return Ok(());
                }
                for priority in Priority::ALL {
                    state.count_pause(priority, quanta);
                }
                state.pause_received.receive_pause(now, quanta);
            }
            Ok(MacControl::Pfc { times }) => {
                state.counters.pfc_received += 1;
                for (priority, quanta) in Priority::ALL.into_iter().zip(times) {
                    let Some(quanta) = quanta else { continue };
                    if !self.receive_feedback(now, port, priority, quanta) {
                        let state = &mut self.ports[port.index()];
                        state.count_pause(priority, quanta);
                        let obeys = self.lossless.contains(priority)
                            && state.receive_pfc(now, priority, quanta);
                        if !obeys && quanta != Quanta::ZERO {
                            // Credits apply instead; or it would keep lossy frames in buffers that others need, and no
                            // watchdog checks those.
                            state.counters.priority[priority.index()].pauses_ignored += 1;
                        }
                    }
                }
            }
            Err(_) => {
                state.counters.drop_frame(DropReason::BadMacControl);
                return Err(DropReason::BadMacControl);
            }
        }
        Ok(())
    }

    /// Handles a CLCM, echo or credit frame received on `port`; a CLCM from a fabric port becomes
    /// [`EventKind::ClcmReceived`]. `bytes` is the whole frame. Pass a credit frame after the data frames that arrived
    /// before it.
    ///
    /// # Errors
    ///
    /// The reason for which it was ignored and counted.
    pub fn receive_clcm(
        &mut self,
        now: Instant,
        port: PortId,
        bytes: &[u8],
    ) -> Result<(), DropReason> {
        match self.believe(now, port, bytes) {
            Ok(true) => {}
            Ok(false) => return Ok(()),
            Err(reason) => {
                self.count_drop(port, reason);
                return Err(reason);
            }
        }
        if CreditUpdate::is_update(bytes) {
            let outcome = self.receive_credit(now, port, bytes);
            if let Err(reason) = outcome {
                self.count_drop(port, reason);
            }
            return outcome;
        }
        if Echo::is_echo(bytes) {
            self.ready.note_all();
            let outcome = self.receive_echo(now, port, bytes);
            if let Err(reason) = outcome {
                self.count_drop(port, reason);
            }
            return outcome;
        }
        let role = self.ports.get(port.index()).map(|state| state.role);
        let outcome = match (role, Clcm::parse(bytes)) {
            (None, _) => return Err(DropReason::PortDown),
            (Some(PortRole::Edge), _) => Err(DropReason::ClcmFromEdge),
            (Some(PortRole::Fabric), Err(_)) => Err(DropReason::BadClcm),
            (Some(PortRole::Fabric), Ok(message)) => Ok(message),
        };
        match outcome {
            Ok(message) => {
                self.ports[port.index()].counters.clcm_received += 1;
                let toward = self.waiting_from(port, message.priority());
                self.push_event(
                    now,
                    EventKind::ClcmReceived {
                        ingress: port,
                        message,
                        toward,
                    },
                );
                Ok(())
            }
            Err(reason) => {
                self.count_drop(port, reason);
                Err(reason)
            }
        }
    }

    /// Checks that a message is within the limits and authentic; returns `Ok(false)` for one that needs no further
    /// work. The cheap checks come first: a flood must not cost one authentication code per frame.
    fn believe(&mut self, now: Instant, port: PortId, bytes: &[u8]) -> Result<bool, DropReason> {
        let Some(state) = self.ports.get_mut(port.index()) else {
            return Err(DropReason::PortDown);
        };
        // Credit updates are as frequent as pauses, unlike other messages.
        let limit = match CreditUpdate::is_update(bytes) {
            true => &mut state.pause_limit,
            false => &mut state.message_limit,
        };
        if !limit.take(now) {
            return Err(DropReason::ControlRate);
        }
        if state.role == PortRole::Edge {
            // Dropped like any message from a host, regardless of its contents.
            return Ok(true);
        }
        self.authenticate(port, bytes)
    }
}

impl Port {
    fn count_pause(&mut self, priority: Priority, quanta: Quanta) {
        let counters = &mut self.counters.priority[priority.index()];
        if quanta == Quanta::ZERO {
            counters.resume_received += 1;
        } else {
            counters.pause_received += 1;
        }
    }
}
