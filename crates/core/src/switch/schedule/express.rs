//! State of an egress for a caller that sends frames there which bypass the switch.

use crate::sets::PrioritySet;
use crate::switch::{Switch, Transmission};
use crate::units::{Instant, MacAddress, PortId, Priority};

impl Switch {
    /// Returns true if a frame could leave `port` now without overtaking another or taking its time on the line. Then
    /// no frame waits in any priority, no message to the neighbour is pending, no release concerns it, and its line is
    /// free. The caller must itself consider frames that it has been given and that have not completed.
    pub fn is_egress_clear(&self, now: Instant, port: PortId) -> bool {
        self.ports.get(port.index()).is_some_and(|state| {
            let is_released = |priority: Priority| {
                let egress = &state.egress[priority.index()];
                egress.release().is_some() || egress.is_suspected()
            };
            state.up
                && !self.draining
                && state.waiting.is_empty()
                && state.forced.is_empty()
                && !state.has_control()
                && state.shaper.free_at() <= now
                && !Priority::ALL.into_iter().any(is_released)
        })
    }

    /// Priorities, one bit for each, that the switch would neither hold, slow, drop nor mark at `port`: those without a
    /// pause in force, and whose frames of every Level the neighbour permits. A lossless frame that is not held is
    /// charged to no buffer, and needs no Level, since it never waits in the switch.
    pub fn unheld_priorities(&self, now: Instant, port: PortId) -> u8 {
        let Some(state) = self.ports.get(port.index()) else {
            return 0;
        };
        let mut unheld = PrioritySet::default();
        for priority in Priority::ALL {
            let class = &self.config.classes[priority.index()];
            let levels = state.levels[priority.index()].as_ref();
            let is_held = state.pause_received.is_paused(now, priority)
                || state.refuses.contains(priority)
                || levels.is_some_and(|levels| !levels.lets_all_out(state.coding))
                || class.credits.is_some()
                || class.ecn.is_some()
                || class.scheduler.rate_max.is_some()
                || class.age_limit.is_some();
            if !is_held {
                unheld.insert(priority);
            }
        }
        unheld
            .iter()
            .fold(0, |bits, priority| bits | 1 << priority.index())
    }

    /// [`transmit`](Self::transmit) without data: only messages to the neighbour, which wait for no other frame.
    pub fn transmit_told(&mut self, now: Instant, port: PortId) -> Option<Transmission> {
        let state = self.ports.get(port.index())?;
        if !state.up || !state.has_control() {
            return None;
        }
        self.transmit_control(now, port)
    }

    /// Number that differs after each change of the static routes.
    pub fn routes_version(&self) -> u64 {
        self.forwarding.version()
    }

    /// Destinations whose flows all leave by a single port, and that port, in the order of their addresses.
    pub fn single_routes(&self) -> impl Iterator<Item = (MacAddress, PortId)> + '_ {
        let routes = self.forwarding.routes();
        let single = routes.filter(|route| route.buckets.is_empty());
        single.filter_map(|route| Some((route.destination, route.members.iter().next()?)))
    }

    /// The time at which the line of `port` is free; never if the port does not exist.
    pub fn line_free_at(&self, port: PortId) -> Instant {
        let state = self.ports.get(port.index());
        state.map_or(Instant::FAR_FUTURE, |state| state.shaper.free_at())
    }

    /// Marks the line of `port` busy at least until `until`, for frames that bypassed the switch.
    pub fn occupy_line(&mut self, port: PortId, until: Instant) {
        if let Some(state) = self.ports.get_mut(port.index()) {
            state.shaper.occupy(until);
        }
        self.ready.note_port(port);
    }
}
