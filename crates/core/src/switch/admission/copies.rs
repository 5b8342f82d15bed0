//! Copies of frames for monitoring: sent by a dedicated port, without effect on other traffic.

use super::charges::Charge;
use crate::command::CommandError;
use crate::counters::DropReason;
use crate::frame::Frame;
use crate::level::Level;
use crate::switch::levels::ShareId;
use crate::switch::Switch;
use crate::units::{Instant, MacAddress, PortId};

impl Switch {
    /// Sends `frame`, a copy of a frame received or sent elsewhere, by `port`: the port must be
    /// [reserved](crate::Command::Reserve), and the frame's class lossy. It is charged to the port's own ingress
    /// buffer, which no other traffic fills, so it neither delays frames nor pauses a neighbour. Copies leave in the
    /// order of these calls, regardless of their addresses. `Ok` means that the switch now owns the handle. O(1).
    ///
    /// # Errors
    ///
    /// The reason for refusing it; the handle is still the caller's, and nothing is counted.
    pub fn send_copy(
        &mut self,
        now: Instant,
        port: PortId,
        frame: Frame,
    ) -> Result<(), DropReason> {
        let Some(state) = self.ports.get(port.index()) else {
            return Err(DropReason::PortDown);
        };
        if !state.up || state.gone {
            return Err(DropReason::PortDown);
        }
        if !state.reserved || self.lossless.contains(frame.priority) {
            return Err(DropReason::NoRoute);
        }
        if frame.length.get() == 0 || frame.length > self.config.frame_length_max {
            return Err(DropReason::BadLength);
        }
        if self.draining {
            return Err(DropReason::Draining);
        }
        if self.queues.room() < 1 || !self.charges.is_free(frame.handle) {
            return Err(DropReason::TableFull);
        }
        let cells = frame.length.round_up_to(self.config.cell);
        let buffer = &mut self.ports[port.index()].ingress[frame.priority.index()];
        buffer
            .admit(cells, &mut self.pools)
            .map_err(|refusal| refusal.reason)?;
        let charge = Charge {
            cells,
            ingress: port,
            priority: frame.priority,
            share: ShareId::NONE,
        };
        self.charges.open(frame.handle, charge, 1);
        let frame = Frame {
            // One queue for all copies.
            destination: MacAddress::default(),
            ..frame
        };
        self.note_age(now, &frame, Some(port));
        if let Some(vlans) = &mut self.vlans {
            vlans.note_uncounted(frame.handle);
        }
        let length = frame.length;
        self.enqueue(now, port, port, &frame, Level::ZERO, length);
        Ok(())
    }

    pub(in crate::switch) fn reserve(
        &mut self,
        port: PortId,
        reserved: bool,
    ) -> Result<(), CommandError> {
        let leads_there = self.forwarding.leads_to(port);
        let state = self.port_mut(port)?;
        if reserved && leads_there {
            return Err(CommandError::PortInUse(port));
        }
        state.reserved = reserved;
        state.settle_arrivals();
        Ok(())
    }
}
