//! Control frames to send, in this order: PAUSE and PFC, probes for loops, greetings, credit updates, echo messages,
//! CLCM.

use super::{Authentication, EchoState};
use crate::command::CommandError;
use crate::switch::port::Port;
use crate::switch::Switch;
use crate::units::{Instant, PortId};
use crate::wire::clcm::Clcm;
use crate::wire::ControlFrame;

/// Maximum number of CLCM messages that wait for one port's transmitter.
pub(in crate::switch) const CLCM_QUEUE_CAPACITY: usize = 16;

impl Switch {
    pub(in crate::switch) fn send_clcm(
        &mut self,
        port: PortId,
        message: Clcm,
    ) -> Result<(), CommandError> {
        let state = self.port_mut(port)?;
        if state.clcm_queue.len() >= CLCM_QUEUE_CAPACITY {
            state.counters.control_overflow += 1;
            return Err(CommandError::ControlQueueFull(port));
        }
        state.clcm_queue.push_back(message);
        Ok(())
    }

    #[cold]
    pub(in crate::switch) fn next_control(
        &mut self,
        now: Instant,
        port: PortId,
    ) -> Option<ControlFrame> {
        if let Some(frame) = self.next_mac_control(now, port) {
            return Some(ControlFrame::Mac(frame));
        }
        if let Some(probe) = self.next_probe(port) {
            return Some(probe);
        }
        let state = &mut self.ports[port.index()];
        if let Some(authentication) = &mut state.authentication {
            if let Some(greeting) = authentication.take_greeting() {
                return Some(ControlFrame::Sealed(greeting));
            }
            if !authentication.is_open() {
                return None;
            }
        }
        if let Some(message) = state.next_credit_update(now) {
            return state.spoken(message.into());
        }
        if let Some(message) = state.next_echo(now) {
            return state.spoken(message.into());
        }
        let message = state.clcm_queue.pop_front()?;
        state.counters.clcm_sent += 1;
        state.spoken(message.into())
    }
}

impl Port {
    #[inline]
    pub(in crate::switch) fn has_control(&self) -> bool {
        self.due.is_any()
            || self.has_messages()
            || self
                .authentication
                .as_deref()
                .is_some_and(Authentication::greeting_is_due)
    }

    /// Returns true if there is a message that the neighbour would accept.
    #[inline]
    fn has_messages(&self) -> bool {
        (!self.clcm_queue.is_empty() || self.echo.as_deref().is_some_and(EchoState::is_due))
            && self.may_speak()
    }
}
