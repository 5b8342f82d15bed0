//! Ports worth polling, and their times: for callers with so many ports or switches that polling all of them after each
//! call is too slow.

use super::Due;
use crate::sets::PortSet;
use crate::switch::Switch;
use crate::units::{Instant, PortId};

/// Changes since the caller's last poll.
#[derive(Debug)]
#[cfg_attr(feature = "testing", derive(Clone))]
pub(in crate::switch) struct Ready {
    /// Ports whose `transmit` may return more than before.
    ports: PortSet,
    /// Set if a timer may be earlier than before.
    timers: bool,
    pub(in crate::switch) timer_ports: PortSet,
    /// By port: a lower bound of its timers, except for those of `timer_ports`.
    pub(in crate::switch) port_timers: Vec<Instant>,
    pub(in crate::switch) first_port_timer: Instant,
    all: PortSet,
}

impl Ready {
    pub(in crate::switch) fn new(port_count: usize) -> Self {
        let all: PortSet = (0..port_count).filter_map(PortId::from_index).collect();
        Self {
            ports: all,
            timers: true,
            timer_ports: all,
            port_timers: vec![Instant::FAR_FUTURE; port_count],
            first_port_timer: Instant::FAR_FUTURE,
            all,
        }
    }

    /// Notes that a Feedback may have become due at `port`.
    pub(in crate::switch) fn note_due(&mut self, port: PortId, due: &Due) {
        if due.is_feedback() {
            self.ports.insert(port);
        }
    }

    /// Notes that `port` may have something new to send.
    #[inline]
    pub(in crate::switch) fn note_port(&mut self, port: PortId) {
        self.ports.insert(port);
    }

    /// Notes that a timer without a port may be earlier than before.
    #[inline]
    pub(in crate::switch) fn note_timers(&mut self) {
        self.timers = true;
    }

    /// Notes that a timer of `port` may be earlier than before.
    pub(in crate::switch) fn note_timer(&mut self, port: PortId) {
        self.timer_ports.insert(port);
        self.timers = true;
    }

    pub(in crate::switch) fn note_all(&mut self) {
        self.ports = self.all;
        self.timer_ports = self.all;
        self.timers = true;
    }
}

impl Switch {
    /// Returns a port for which [`transmit`](Self::transmit) may return more than when it was last called; each once,
    /// in the order of numbers. O(ports ÷ 64).
    ///
    /// A port that returned `None` need be polled again only when it is returned here, or at
    /// [`next_transmit`](Self::next_transmit).
    pub fn poll_ready(&mut self) -> Option<PortId> {
        self.ready.ports.take_first()
    }

    /// Returns true if [`next_timer`](Self::next_timer) may be earlier than at the last call. O(1).
    pub fn timers_moved(&mut self) -> bool {
        core::mem::take(&mut self.ready.timers)
    }
}
