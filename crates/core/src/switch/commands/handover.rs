//! Links and devices that come and go, and handover between switches: the old one drains or drops waiting frames, and
//! the new one assumes the worst.

use crate::command::CommandError;
use crate::counters::DropReason;
use crate::switch::recovery::Outage;
use crate::switch::Switch;
use crate::units::{Instant, PortId, Priority, Quanta};

impl Switch {
    /// Pauses every neighbour. Frames in flight are still admitted into the headroom, so that a shutdown with time to
    /// drain loses nothing of a lossless class.
    pub(in crate::switch) fn drain(&mut self) {
        self.draining = true;
        self.settle_observation();
        for index in 0..self.ports.len() {
            let Some(port) = PortId::from_index(index) else {
                return;
            };
            for priority in self.lossless.iter() {
                let change = self.ports[index].ingress[priority.index()].close(&mut self.pools);
                self.note_pause_change(port, priority, change);
            }
        }
        self.close_levels();
    }

    pub(in crate::switch) fn hold_neighbour(
        &mut self,
        port: PortId,
        priority: Priority,
        held: bool,
    ) -> Result<(), CommandError> {
        self.port_mut(port)?;
        let buffer = &mut self.ports[port.index()].ingress[priority.index()];
        if !buffer.may_pause() {
            return Err(CommandError::NotPausing { port, priority });
        }
        let change = buffer.hold(held, &mut self.pools);
        self.note_pause_change(port, priority, change);
        self.promise_credits(port, priority);
        Ok(())
    }

    /// Assumes the longest possible pause, since a neighbour that still pauses refreshes it before that ends. For
    /// Levels it assumes the Feedback that blocks everything, which ends with the neighbour's next Feedback, or
    /// expires unrefreshed like any other.
    pub(in crate::switch) fn assume_paused(&mut self, now: Instant) {
        let refresh = self.config.feedback_refresh;
        for state in &mut self.ports {
            for priority in self.lossless.iter() {
                state.receive_pfc(now, priority, Quanta::MAX);
                if let Some(level) = &mut state.levels[priority.index()] {
                    if level.obeys {
                        level.received.receive(now, level.budget.depth(), refresh);
                        // No earlier Feedback can linger.
                        level.received.note_opportunity();
                    }
                }
            }
        }
    }

    pub(in crate::switch) fn set_link(
        &mut self,
        now: Instant,
        port: PortId,
        up: bool,
    ) -> Result<(), CommandError> {
        let is_back = self.port_mut(port)?.note_link(up);
        self.note_outage(now, port);
        if is_back {
            self.renew_credits(now, port);
            self.note_ways_changed(now);
        }
        if !up {
            self.forget_loop(now, port);
        }
        Ok(())
    }

    /// [`Command::DeviceGone`](crate::Command::DeviceGone). O(1) for each frame that waits.
    pub(in crate::switch) fn give_up_port(
        &mut self,
        now: Instant,
        port: PortId,
    ) -> Result<(), CommandError> {
        let state = self.port_mut(port)?;
        state.up = false;
        state.gone = true;
        state.stuck = false;
        self.note_outage(now, port);
        self.drop_all_for(port);
        self.forget_learnt_at(now, port);
        Ok(())
    }

    pub(in crate::switch) fn take_port_back(
        &mut self,
        now: Instant,
        port: PortId,
    ) -> Result<(), CommandError> {
        let state = self.port_mut(port)?;
        if !state.gone {
            return Ok(());
        }
        state.gone = false;
        // Frames wait for the link again.
        state.outage = Outage::None;
        state.pause_received.receive_pause(now, Quanta::ZERO);
        for priority in Priority::ALL {
            state.receive_pfc(now, priority, Quanta::ZERO);
            if let Some(level) = &mut state.levels[priority.index()] {
                level.received.forget();
                level.taken.close();
                level.told.forget();
            }
        }
        self.note_outage(now, port);
        Ok(())
    }

    /// [`Command::GiveUpAll`](crate::Command::GiveUpAll).
    pub(in crate::switch) fn give_up_all(&mut self) {
        for port in (0..self.ports.len()).filter_map(PortId::from_index) {
            for priority in Priority::ALL {
                while self.drop_head(port, priority, DropReason::Draining) {}
            }
        }
    }
}
