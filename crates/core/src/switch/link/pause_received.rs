//! Priorities paused by the neighbour on a port: PFC by priority (802.1Qbb) and 802.3x PAUSE for all.

use super::{PauseGauges, PauseSpans};
use crate::units::{BitRate, Instant, Priority, Quanta, PRIORITY_COUNT};

/// Pauses in force at one port. Both kinds gate independently and expire by themselves.
#[derive(Debug)]
#[cfg_attr(feature = "testing", derive(Clone))]
#[repr(C)]
pub(in crate::switch) struct PauseReceived {
    all_until: Instant,
    until: [Instant; PRIORITY_COUNT],
    rate: BitRate,
    /// Not read by frames.
    spans: Box<[PauseSpans; PRIORITY_COUNT]>,
}

impl PauseReceived {
    pub(in crate::switch) fn new(rate: BitRate) -> Self {
        Self {
            rate,
            all_until: Instant::ZERO,
            until: [Instant::ZERO; PRIORITY_COUNT],
            spans: Box::default(),
        }
    }

    /// 802.3x PAUSE: the newest frame counts, zero releases all priorities.
    pub(in crate::switch) fn receive_pause(&mut self, now: Instant, quanta: Quanta) {
        self.all_until = now + quanta.at(self.rate);
        for priority in Priority::ALL {
            self.note_span(now, priority);
        }
    }

    pub(in crate::switch) fn receive_pfc(
        &mut self,
        now: Instant,
        priority: Priority,
        quanta: Quanta,
    ) {
        self.hold(now, priority, now + quanta.at(self.rate));
    }

    /// Pauses `priority` until `until`.
    pub(in crate::switch) fn hold(&mut self, now: Instant, priority: Priority, until: Instant) {
        self.until[priority.index()] = until;
        self.note_span(now, priority);
    }

    /// Pauses `priority` until `until` without counting it as a pause by the neighbour.
    pub(in crate::switch) fn assume(&mut self, priority: Priority, until: Instant) {
        self.until[priority.index()] = until;
    }

    pub(in crate::switch) fn rate(&self) -> BitRate {
        self.rate
    }

    /// Returns true while `priority` must not start another frame.
    pub(in crate::switch) fn is_paused(&self, now: Instant, priority: Priority) -> bool {
        self.resumes_at(priority) > now
    }

    /// Returns when `priority` may send again if nothing else is received; in the past if it may already.
    pub(in crate::switch) fn resumes_at(&self, priority: Priority) -> Instant {
        self.all_until.max(self.until[priority.index()])
    }

    /// Returns the number and total time of pauses of `priority` up to `now`, of either kind.
    pub(in crate::switch) fn gauges(&self, now: Instant, priority: Priority) -> PauseGauges {
        self.spans[priority.index()].at(now)
    }

    fn note_span(&mut self, now: Instant, priority: Priority) {
        let until = self.resumes_at(priority);
        self.spans[priority.index()].hold(now, until);
    }
}

#[cfg(feature = "testing")]
#[path = "digest/pause_received.rs"]
mod digest;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Duration;

    fn at(micros: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(micros)
    }

    #[test]
    fn pfc_gates_what_it_names_and_expires() {
        // 1 Gbit/s: one quantum is 512 ns
        let mut pause = PauseReceived::new(BitRate::from_mbit(1000));
        let three = Priority::new(3).unwrap();
        pause.receive_pfc(at(10), three, Quanta(1000));
        assert!(pause.is_paused(at(10), three));
        assert!(!pause.is_paused(at(10), Priority::new(4).unwrap()));
        assert!(pause.is_paused(at(10 + 511), three));
        assert!(!pause.is_paused(at(10 + 512), three));
        assert_eq!(
            pause.gauges(at(2000), three).total,
            Duration::from_micros(512)
        );
    }

    #[test]
    fn a_refresh_prolongs_and_zero_resumes() {
        let mut pause = PauseReceived::new(BitRate::from_mbit(1000));
        let zero = Priority::new(0).unwrap();
        pause.receive_pfc(at(0), zero, Quanta(1000));
        pause.receive_pfc(at(400), zero, Quanta(1000));
        assert!(pause.is_paused(at(900), zero));
        pause.receive_pfc(at(900), zero, Quanta::ZERO);
        assert!(!pause.is_paused(at(900), zero));
        assert_eq!(
            pause.gauges(at(5000), zero).total,
            Duration::from_micros(900)
        );
    }

    #[test]
    fn pause_holds_all_and_leaves_pfc_alone() {
        let mut pause = PauseReceived::new(BitRate::from_mbit(1000));
        let seven = Priority::new(7).unwrap();
        pause.receive_pfc(at(0), seven, Quanta(1000));
        pause.receive_pause(at(0), Quanta(10));
        assert!(Priority::ALL.iter().all(|p| pause.is_paused(at(1), *p)));
        pause.receive_pause(at(1), Quanta::ZERO);
        assert!(pause.is_paused(at(1), seven), "PFC's own pause goes on");
        assert!(!pause.is_paused(at(1), Priority::new(0).unwrap()));
    }
}
