//! Timers: each module does the work that is due, and reports its next due time.

use super::port::Port;
use super::virtual_queues::ReleaseRule;
use super::Switch;
use crate::units::{Instant, PortId};

impl Switch {
    /// Runs the timers that are due at `now`. O(ports × lossless priorities).
    pub fn handle_timeout(&mut self, now: Instant) {
        self.ready.note_all();
        for index in 0..self.ports.len() {
            let Some(port) = PortId::from_index(index) else {
                return;
            };
            let state = &mut self.ports[index];
            if let (Some(echo), true) = (&mut state.echo, state.up) {
                echo.refresh(now);
            }
            if let (Some(authentication), true) = (&mut state.authentication, state.up) {
                authentication.refresh(now);
            }
            self.refresh_credits(now, port);
            self.end_hold(now, port);
            self.end_traffic_releases(now, port);
            for priority in self.lossless.iter() {
                self.refresh_pause(now, port, priority);
                self.refresh_feedback(now, port, priority);
                self.end_release(now, port, priority);
            }
        }
        self.look_for_loops(now);
        self.sweep_learnt(now);
        self.drop_aged(now);
        self.drop_overdue_heads(now);
        self.sample_for_storms(now);
        self.sample_for_deadlocks(now);
    }

    /// The time at which [`handle_timeout`](Self::handle_timeout) or [`transmit`](Self::transmit) next has something to
    /// do without any other call. `None`: not before the next frame or command. A time in the past means that a port
    /// could send at once. O(ports × priorities).
    pub fn next_timeout(&self) -> Option<Instant> {
        let ports = (0..self.ports.len()).filter_map(PortId::from_index);
        let sends = ports.filter_map(|port| self.next_transmit(port)).min();
        let next = self.earliest_timer();
        let next = sends.map_or(next, |sends| sends.min(next));
        (next != Instant::FAR_FUTURE).then_some(next)
    }

    /// The time at which [`handle_timeout`](Self::handle_timeout) is next due: [`next_timeout`](Self::next_timeout)
    /// without the frames that ports may send. It may be too early, never too late. O(1) while nothing has changed at a
    /// port; otherwise O(ports), and O(lossless priorities) for each changed port.
    pub fn next_timer(&mut self) -> Option<Instant> {
        if !self.ready.timer_ports.is_empty() {
            self.settle_port_timers();
        }
        let timer = self.common_timer().min(self.ready.first_port_timer);
        (timer != Instant::FAR_FUTURE).then_some(timer)
    }

    #[inline(never)]
    fn settle_port_timers(&mut self) {
        for port in core::mem::take(&mut self.ready.timer_ports).iter() {
            if let Some(state) = self.ports.get(port.index()) {
                self.ready.port_timers[port.index()] = self.port_timer(state);
            }
        }
        let first = self.ready.port_timers.iter().copied().min();
        self.ready.first_port_timer = first.unwrap_or(Instant::FAR_FUTURE);
    }

    /// Returns when the next timer is due, without those for frames that ports may send.
    fn earliest_timer(&self) -> Instant {
        let of_ports = self.ports.iter().map(|port| self.port_timer(port));
        of_ports.fold(self.common_timer(), Instant::min)
    }

    /// Returns when the next timer without a port is due.
    fn common_timer(&self) -> Instant {
        [
            self.ages.next(),
            self.next_storm_sample(),
            self.next_lifetime(),
            self.next_deadlock_sample(),
        ]
        .into_iter()
        .flatten()
        .min()
        .unwrap_or(Instant::FAR_FUTURE)
        .min(self.forwarding.next_sweep())
        .min(
            self.loops
                .as_ref()
                .map_or(Instant::FAR_FUTURE, |loops| loops.next()),
        )
    }

    fn port_timer(&self, port: &Port) -> Instant {
        let mut next = port.link_sent.refresh_at().min(port.outage.next_change());
        if let (Some(echo), true) = (&port.echo, port.up) {
            next = next.min(echo.next_at());
        }
        if let (Some(authentication), true) = (&port.authentication, port.up) {
            next = next.min(authentication.next_at());
        }
        if let (Some(credits), true) = (&port.credits, port.up) {
            next = next.min(credits.next_at());
        }
        for priority in self.lossless.iter() {
            let ingress = &port.ingress[priority.index()];
            let egress = &port.egress[priority.index()];
            let (release, forced) = (egress.release(), egress.forced());
            let level = port.levels[priority.index()].as_ref();
            for due in [
                level.map(|level| level.sent.refresh_at()),
                level.map(|level| level.received.expires_at()),
                level.and_then(|level| level.budget.lends_until()),
                ingress.refresh_at(),
                ingress.raised_until(),
                release.map(ReleaseRule::next_change),
                forced.map(|forced| forced.until),
            ]
            .into_iter()
            .flatten()
            {
                next = next.min(due);
            }
        }
        next
    }
}
