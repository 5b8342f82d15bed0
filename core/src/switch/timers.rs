//! What happens by the clock: pause refresh, the end of releases, and the deadlock detector.

use super::port::Port;
use super::schedule::{ReleaseRule, WatchChange};
use super::{Switch, SAMPLES_PER_DETECT};
use crate::event::EventKind;
use crate::units::{Duration, Instant, PortId, Priority};

impl Switch {
    /// Does what is due at `now`. O(ports × lossless priorities).
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
            self.end_traffic_releases(now, port);
            for priority in self.lossless.iter() {
                self.refresh_pause(now, port, priority);
                self.refresh_feedback(now, port, priority);
                self.end_release(now, port, priority);
            }
        }
        self.drop_aged(now);
        self.drop_overdue_heads(now);
        self.sample_for_storms(now);
        self.sample_for_deadlocks(now);
    }

    /// When [`handle_timeout`](Self::handle_timeout) or [`transmit`](Self::transmit) may next have
    /// something to do without any other call. `None`: not before the next frame or command. A moment
    /// that is past means that a port could send at once.
    /// O(ports × priorities).
    pub fn next_timeout(&self) -> Option<Instant> {
        let ports = (0..self.ports.len()).filter_map(PortId::from_index);
        let sends = ports.filter_map(|port| self.next_transmit(port)).min();
        let next = self.earliest_timer();
        let next = sends.map_or(next, |sends| sends.min(next));
        (next != Instant::FAR_FUTURE).then_some(next)
    }

    /// When something is due by the clock, beside what ports may send.
    fn earliest_timer(&self) -> Instant {
        let of_ports = self.ports.iter().map(|port| self.port_timer(port));
        of_ports.fold(self.common_timer(), Instant::min)
    }

    /// When something is due that belongs to no port alone.
    pub(super) fn common_timer(&self) -> Instant {
        let mut next = [
            self.ages.next(),
            self.next_storm_sample(),
            self.next_lifetime(),
        ]
        .into_iter()
        .flatten()
        .min()
        .unwrap_or(Instant::FAR_FUTURE);
        if self.detector_runs() {
            next = next.min(self.detector.next);
        }
        next
    }

    /// When something is due at one port.
    pub(super) fn port_timer(&self, port: &Port) -> Instant {
        let mut next = port.link_sent.refresh_at();
        if let (Some(echo), true) = (&port.echo, port.up) {
            next = next.min(echo.next_at());
        }
        if let (Some(authentication), true) = (&port.authentication, port.up) {
            next = next.min(authentication.next_at());
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

    /// A lossless egress has begun to hold frames: the detector has something to watch.
    #[inline(always)]
    pub(super) fn note_backlog(&mut self, now: Instant) {
        self.start_storm_clock(now);
        if self.detector.backlogged == 0 {
            self.ready.timers = true;
        }
        if self.detector.backlogged == 0 && self.detector.suspected == 0 {
            self.detector.last = now;
            self.detector.next = now + self.sample_interval();
        }
        self.detector.backlogged += 1;
    }

    /// An egress has sent or dropped its last frame.
    pub(super) fn note_empty(&mut self, egress: PortId, priority: Priority) {
        self.ports[egress.index()].waiting.remove(priority);
        self.note_no_backlog(priority);
    }

    /// What [`note_backlog`](Self::note_backlog) began is over.
    #[inline]
    pub(super) fn note_no_backlog(&mut self, priority: Priority) {
        if self.lossless.contains(priority) {
            self.detector.backlogged -= 1;
        }
    }

    fn refresh_pause(&mut self, now: Instant, port: PortId, priority: Priority) {
        #[cfg(feature = "testing")]
        if self.forgets_refresh() {
            return;
        }
        let state = &mut self.ports[port.index()];
        if state.ingress[priority.index()].take_refresh(now) {
            state.pfc_due.insert(priority);
        }
    }

    fn end_release(&mut self, now: Instant, port: PortId, priority: Priority) {
        let state = &mut self.ports[port.index()];
        let ended = state.egress[priority.index()].expire_release(now);
        let change = state.ingress[priority.index()].expire_raise(now);
        self.note_pause_change(port, priority, change);
        self.end_loan(now, port, priority);
        self.tell_release_ended(now, port, priority, ended);
    }

    pub(super) fn tell_release_ended(
        &mut self,
        now: Instant,
        egress: PortId,
        priority: Priority,
        ended: Option<ReleaseRule>,
    ) {
        if let Some(rule) = ended {
            self.push_event(
                now,
                EventKind::ReleaseEnded {
                    ingress: rule.ingress,
                    egress,
                    priority,
                    released: rule.released,
                },
            );
        }
    }

    fn detector_runs(&self) -> bool {
        self.config.detector.is_some()
            && (self.detector.backlogged > 0 || self.detector.suspected > 0)
    }

    pub(super) fn sample_interval(&self) -> Duration {
        self.config.detector.map_or(Duration::ZERO, |detector| {
            detector
                .detect
                .divided_by(SAMPLES_PER_DETECT)
                .max(Duration::from_nanos(1))
        })
    }

    fn sample_for_deadlocks(&mut self, now: Instant) {
        let Some(detector) = self.config.detector else {
            return;
        };
        if !self.detector_runs() || self.detector.next > now {
            return;
        }
        let interval = self.sample_interval();
        // A sampler that was held up must not take its own delay for the egress's.
        let elapsed = now
            .saturating_since(self.detector.last)
            .min(interval.saturating_mul(2));
        self.detector.last = now;
        self.detector.next = now + interval;
        for index in 0..self.ports.len() {
            let Some(egress) = PortId::from_index(index) else {
                return;
            };
            for priority in self.lossless.iter() {
                let change = self.ports[index].egress[priority.index()].sample(
                    now,
                    elapsed,
                    detector.detect,
                );
                self.note_watch_change(now, egress, priority, change);
            }
        }
    }

    pub(super) fn note_watch_change(
        &mut self,
        now: Instant,
        egress: PortId,
        priority: Priority,
        change: WatchChange,
    ) {
        let kind = match change {
            WatchChange::None => return,
            WatchChange::Suspected { idle } => {
                self.detector.suspected += 1;
                let alternatives_from = self.alternatives_from(now, egress, priority);
                let state = &mut self.ports[egress.index()];
                state.counters.priority[priority.index()].suspicions += 1;
                let paused = state.pause_received.is_paused(now, priority);
                let waiting = &state.egress[priority.index()];
                let may_leave = self
                    .queues
                    .may_leave(egress, priority, state.gate(priority));
                let has_levels = state.levels[priority.index()].is_some();
                EventKind::Suspected {
                    egress,
                    priority,
                    reason: waiting.reason(paused, has_levels, may_leave),
                    queued: waiting.backlog(),
                    idle,
                    alternatives: !alternatives_from.is_empty(),
                    alternatives_from,
                }
            }
            WatchChange::Ended { lasted } => {
                self.detector.suspected -= 1;
                EventKind::SuspicionEnded {
                    egress,
                    priority,
                    lasted,
                }
            }
        };
        self.push_event(now, kind);
    }
}
