//! The head-of-queue lifetime limit, InfiniBand's remedy for deadlocks: a frame that stays at the head of its (egress,
//! priority) for too long is dropped (InfiniBand Architecture Specification, section 18.2.5.4: HOQLife, VLStallCount,
//! VLStalled).
//!
//! The clock is that of the queue, not of a frame. It starts when a frame reaches the head: the previous one has left
//! or was dropped, or the queue was empty.

use crate::config::{ClassMode, LifetimeConfig};
use crate::counters::DropReason;
use crate::event::EventKind;
use crate::switch::virtual_queues::Gate;
use crate::switch::Switch;
use crate::units::{Duration, Instant, PortId, Priority};

/// A timeout that is late by this fraction of the limit shows that the switch itself was stopped, and may have missed
/// that the frame could leave. The frame then gets the same fraction once more.
const GRACE_DIVISOR: u64 = 8;

/// The head of one (egress, priority).
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::switch) struct Head {
    since: Instant,
    grace: Duration,
    /// Number of consecutive frames that stayed here for too long.
    drops: u8,
    /// VLStalled until this time.
    stalled_until: Option<Instant>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Wait,
    Drop,
    /// The drop that makes the queue VLStalled.
    Stall,
    /// No longer VLStalled.
    Recovered,
}

impl Head {
    pub(in crate::switch) fn note_first(&mut self, now: Instant) {
        self.since = now;
        self.grace = Duration::ZERO;
    }

    pub(in crate::switch) fn note_departure(&mut self, now: Instant) {
        self.note_first(now);
        self.drops = 0;
    }

    /// Returns true while everything is dropped.
    pub(in crate::switch) fn is_stalled(&self) -> bool {
        self.stalled_until.is_some()
    }

    fn due(&self, config: &LifetimeConfig, waiting: bool) -> Option<Instant> {
        self.stalled_until
            .or_else(|| waiting.then(|| self.since + config.limit + self.grace))
    }

    fn check(&mut self, now: Instant, config: &LifetimeConfig, waiting: bool) -> Verdict {
        let Some(due) = self.due(config, waiting).filter(|due| *due <= now) else {
            return Verdict::Wait;
        };
        if self.stalled_until.take().is_some() {
            self.drops = 0;
            self.note_first(now);
            return Verdict::Recovered;
        }
        let part = config.limit.divided_by(GRACE_DIVISOR);
        let late = now.saturating_since(due);
        if late > part && self.grace.is_zero() {
            self.grace = late + part;
            return Verdict::Wait;
        }
        self.note_first(now);
        self.drops = self.drops.saturating_add(1);
        if self.drops == config.stall_count {
            self.stalled_until = Some(now + config.stalled_for());
            return Verdict::Stall;
        }
        Verdict::Drop
    }
}

impl Switch {
    /// The time at which the next head's lifetime ends. O(ports × priorities).
    pub(in crate::switch) fn next_lifetime(&self) -> Option<Instant> {
        let config = self.config.lifetime?;
        let ports = self.ports.iter().enumerate();
        let ports = ports.filter_map(|(index, port)| Some((PortId::from_index(index)?, port)));
        let heads = ports.flat_map(|(egress, port)| {
            Priority::ALL.into_iter().filter_map(move |priority| {
                let waiting = port.waiting.contains(priority);
                self.has_lifetime(egress, priority)
                    .then(|| port.heads[priority.index()].due(&config, waiting))?
            })
        });
        heads.min()
    }

    /// Drops heads above their lifetime. O(ports × priorities), and O(1) for each frame.
    pub(in crate::switch) fn drop_overdue_heads(&mut self, now: Instant) {
        let Some(config) = self.config.lifetime else {
            return;
        };
        for index in 0..self.ports.len() {
            let Some(egress) = PortId::from_index(index) else {
                return;
            };
            for priority in Priority::ALL {
                if self.has_lifetime(egress, priority) {
                    self.check_head(now, &config, egress, priority);
                }
            }
        }
    }

    /// Applies to classes of mode `pfc`, and to frames of classes with Levels that have come further than D links. A
    /// link that is down has a separate limit.
    fn has_lifetime(&self, egress: PortId, priority: Priority) -> bool {
        if !self.ports[egress.index()].up {
            return false;
        }
        match self.config.classes[priority.index()].mode {
            ClassMode::Lossy { .. } => false,
            ClassMode::Pfc(_) => true,
            ClassMode::Level { .. } => {
                let heads = &self.ports[egress.index()].heads;
                self.came_too_far(egress, priority) || heads[priority.index()].is_stalled()
            }
        }
    }

    fn check_head(
        &mut self,
        now: Instant,
        config: &LifetimeConfig,
        egress: PortId,
        priority: Priority,
    ) {
        let state = &mut self.ports[egress.index()];
        let waiting = state.waiting.contains(priority);
        let verdict = state.heads[priority.index()].check(now, config, waiting);
        if let Verdict::Stall | Verdict::Recovered = verdict {
            state.settle_arrivals();
        }
        match verdict {
            Verdict::Wait | Verdict::Recovered => {}
            Verdict::Drop => {
                let gate = Gate::FromLevel(self.config.classes[priority.index()].mode.depth());
                self.drop_head_through(egress, priority, gate, DropReason::Lifetime);
            }
            Verdict::Stall => {
                state.counters.priority[priority.index()].lifetime_stalls += 1;
                self.push_event(now, EventKind::LifetimeStalled { egress, priority });
                while self.drop_head(egress, priority, DropReason::Lifetime) {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: LifetimeConfig = LifetimeConfig {
        limit: Duration::from_millis(80),
        stall_count: 3,
    };

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    fn check(head: &mut Head, millis: u64) -> Verdict {
        head.check(at(millis), &CONFIG, true)
    }

    #[test]
    fn each_head_has_its_own_time() {
        let mut head = Head::default();
        head.note_first(at(100));
        assert_eq!(head.due(&CONFIG, true), Some(at(180)));
        assert_eq!(head.due(&CONFIG, false), None);
        assert_eq!(check(&mut head, 179), Verdict::Wait);
        assert_eq!(check(&mut head, 180), Verdict::Drop);
        assert_eq!(check(&mut head, 180), Verdict::Wait);
        head.note_departure(at(200));
        assert_eq!(check(&mut head, 260), Verdict::Wait);
        assert_eq!(check(&mut head, 280), Verdict::Drop);
    }

    #[test]
    fn drops_in_a_row_stall_the_queue_for_eight_times_the_limit() {
        let mut head = Head::default();
        head.note_first(at(0));
        assert_eq!(check(&mut head, 80), Verdict::Drop);
        assert_eq!(check(&mut head, 160), Verdict::Drop);
        assert!(!head.is_stalled());
        assert_eq!(check(&mut head, 240), Verdict::Stall);
        assert!(head.is_stalled());
        assert_eq!(head.due(&CONFIG, false), Some(at(240 + 640)));
        assert_eq!(check(&mut head, 879), Verdict::Wait);
        assert_eq!(check(&mut head, 880), Verdict::Recovered);
        assert!(!head.is_stalled());
        assert_eq!(check(&mut head, 960), Verdict::Drop, "counted from one");
    }

    #[test]
    fn a_departure_breaks_the_row() {
        let mut head = Head::default();
        head.note_first(at(0));
        check(&mut head, 80);
        check(&mut head, 160);
        head.note_departure(at(200));
        assert_eq!(check(&mut head, 280), Verdict::Drop);
        assert_eq!(check(&mut head, 360), Verdict::Drop);
        assert_eq!(check(&mut head, 440), Verdict::Stall);
    }

    #[test]
    fn a_count_of_zero_never_stalls() {
        let config = LifetimeConfig {
            stall_count: 0,
            ..CONFIG
        };
        let mut head = Head::default();
        head.note_first(at(0));
        for n in 1..1000 {
            assert_eq!(head.check(at(80 * n), &config, true), Verdict::Drop);
        }
    }

    #[test]
    fn a_switch_that_stood_still_gives_the_head_one_more_chance() {
        let mut head = Head::default();
        head.note_first(at(0));
        assert_eq!(check(&mut head, 200), Verdict::Wait);
        assert_eq!(head.due(&CONFIG, true), Some(at(210)));
        assert_eq!(check(&mut head, 209), Verdict::Wait);
        assert_eq!(check(&mut head, 300), Verdict::Drop, "once");
    }
}
