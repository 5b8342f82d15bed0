//! Ports whose device is removed or returns while the loop runs.

use weir_core::{Command, Instant, MacAddress, PortId};

use super::Worker;
use crate::exchange::messages::KernelLosses;
use crate::memory::pool::Chunk;
use crate::rings::io::Io;

impl<I: Io> Worker<I> {
    /// Reclaims frames that the transmitter of a removed device will never complete.
    pub(super) fn give_up_port(&mut self, port: PortId) {
        if let Some(state) = self.ports.get_mut(port.index()) {
            (state.gone, state.stuck) = (true, false);
        }
        while let Some(chunk) = self.take_outstanding(port) {
            self.accounts.note_completed(port.index(), 1);
            self.take_back(chunk);
        }
        // Until its rings are closed, the kernel may still write into its chunks.
        if self.ports.get(port.index()).is_some_and(|it| it.parted) {
            self.take_back_lent(port);
        }
    }

    /// Reclaims the chunks lent to a port whose rings are closed. O(chunks).
    fn take_back_lent(&mut self, port: PortId) {
        for chunk in 0..self.pool.count() as Chunk {
            if self.accounts.is_lent(port, chunk) && !self.pool.is_free(chunk) {
                self.accounts.note_returned(port, chunk);
                self.pool.give_back(chunk);
            }
        }
    }

    /// Executes a [`Request::Part`](crate::exchange::messages::Request::Part). Received frames are taken first.
    pub(super) fn part(&mut self, now: Instant, port: PortId) {
        while self.receive(now, port) {}
        let losses = self.io.losses(port.index());
        if let Some(state) = self.ports.get_mut(port.index()) {
            (state.gone, state.parted) = (true, true);
            state.lost_before = [state.lost_before, losses].into_iter().sum();
        }
        self.io.part(port.index());
        self.note_slots();
        self.take_back_slots(now, port);
    }

    /// Executes a [`Request::Join`](crate::exchange::messages::Request::Join). Fills the rings before
    /// [noting](Io::note_joined) it, since frames may arrive from then on.
    pub(super) fn join(&mut self, now: Instant, port: PortId, address: MacAddress, finishes: bool) {
        if !self.io.join(port.index()) {
            return;
        }
        // Fails only for an unknown port.
        let _ = self.switch.apply(now, Command::DeviceBack { port });
        if let Some(state) = self.ports.get_mut(port.index()) {
            (state.gone, state.parted) = (false, false);
            state.limits.address = address;
            state.limits.finishes = finishes;
        }
        self.note_slots();
        self.fill_rings();
        self.io.note_joined();
    }

    /// Returns the kernel's losses at a port, including those at removed devices.
    pub(super) fn losses(&self, port: usize) -> KernelLosses {
        let mut losses = self.io.losses(port);
        if let Some(state) = self.ports.get(port) {
            losses = [losses, state.lost_before].into_iter().sum();
            losses.tx_device_drops_total += state.lost_with_device;
        }
        losses
    }

    fn take_outstanding(&mut self, port: PortId) -> Option<Chunk> {
        let state = self.ports.get_mut(port.index())?;
        let oldest = state.outstanding.pop_front()?;
        state.on_line = state.on_line.saturating_sub(oldest.on_line);
        state.lost_with_device += 1;
        Some(oldest.chunk)
    }
}
