//! Priorities paused by the switch at the other end: PFC by priority (802.1Qbb) and 802.3x PAUSE for all.

use weir_core::units::{BitRate, Duration, Instant, Priority, Quanta, PRIORITY_COUNT};

/// Pauses that a station obeys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Obedience {
    /// By priority: true if PFC is obeyed.
    pub pfc: [bool; PRIORITY_COUNT],
    /// True if 802.3x PAUSE is obeyed.
    pub pause: bool,
}

/// Pauses in force. They expire by themselves; the caller passes the time.
#[derive(Debug)]
pub struct PauseClock {
    rate: BitRate,
    obey: Obedience,
    all_until: Instant,
    until: [Instant; PRIORITY_COUNT],
    /// Paused time by priority up to `settled_at`, without the future part.
    settled_at: Instant,
    settled: [Duration; PRIORITY_COUNT],
}

impl PauseClock {
    /// Creates a state without pauses. A quantum is 512 bit times of `rate` (IEEE 802.3 Annex 31B.2).
    pub fn new(rate: BitRate, obey: Obedience) -> Self {
        Self {
            rate,
            obey,
            all_until: Instant::ZERO,
            until: [Instant::ZERO; PRIORITY_COUNT],
            settled_at: Instant::ZERO,
            settled: [Duration::ZERO; PRIORITY_COUNT],
        }
    }

    /// Handles an 802.3x PAUSE; zero quanta resume all priorities not paused by PFC.
    pub fn receive_pause(&mut self, now: Instant, quanta: Quanta) {
        if self.obey.pause {
            self.settle(now);
            self.all_until = now + quanta.at(self.rate);
        }
    }

    /// Handles an enabled entry of a PFC frame; zero quanta are XON.
    pub fn receive_pfc(&mut self, now: Instant, priority: Priority, quanta: Quanta) {
        if self.obey.pfc[priority.index()] {
            self.settle(now);
            self.until[priority.index()] = now + quanta.at(self.rate);
        }
    }

    /// Holds `priority` until it is released. Pauses for it have no effect meanwhile.
    pub fn hold(&mut self, now: Instant, priority: Priority, is_held: bool) {
        let until = &self.until[priority.index()];
        let (was_held, until) = (*until == Instant::FAR_FUTURE, (*until).min(now));
        if was_held != is_held {
            self.settle(now);
            self.until[priority.index()] = match is_held {
                true => Instant::FAR_FUTURE,
                false => until,
            };
        }
    }

    /// Sets the priorities whose PFC is obeyed; ends pauses of the others.
    pub fn obey_pfc(&mut self, now: Instant, pfc: [bool; PRIORITY_COUNT]) {
        self.settle(now);
        self.obey.pfc = pfc;
        for (until, obeyed) in self.until.iter_mut().zip(pfc) {
            if !obeyed {
                *until = (*until).min(now);
            }
        }
    }

    /// Returns true while no frame of `priority` may be started.
    pub fn is_paused(&self, now: Instant, priority: Priority) -> bool {
        self.resumes_at(priority) > now
    }

    /// Returns the time at which `priority` may send again if nothing else arrives; not after `now` if it may already.
    pub fn resumes_at(&self, priority: Priority) -> Instant {
        self.all_until.max(self.until[priority.index()])
    }

    /// Returns the total time for which `priority` has been paused, up to `now`.
    pub fn paused_total(&self, now: Instant, priority: Priority) -> Duration {
        let open = self
            .resumes_at(priority)
            .min(now)
            .saturating_since(self.settled_at);
        self.settled[priority.index()] + open
    }

    /// Adds the pauses since the last change, whose length is now known.
    fn settle(&mut self, now: Instant) {
        for priority in Priority::ALL {
            self.settled[priority.index()] = self.paused_total(now, priority);
        }
        self.settled_at = now;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ALL: Obedience = Obedience {
        pfc: [true; PRIORITY_COUNT],
        pause: true,
    };

    fn at(micros: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(micros)
    }

    fn priority(value: u8) -> Priority {
        Priority::from_low_bits(value)
    }

    /// 1 Gbit/s: one quantum is 512 ns.
    fn gigabit(obey: Obedience) -> PauseClock {
        PauseClock::new(BitRate::from_mbit(1000), obey)
    }

    #[test]
    fn xoff_holds_what_it_names_for_its_quanta() {
        let mut clock = gigabit(ALL);
        clock.receive_pfc(at(10), priority(3), Quanta(1000));
        assert!(clock.is_paused(at(10), priority(3)));
        assert!(!clock.is_paused(at(10), priority(2)));
        assert!(clock.is_paused(at(521), priority(3)));
        assert!(
            !clock.is_paused(at(522), priority(3)),
            "512 microseconds are over"
        );
        assert_eq!(
            clock.paused_total(at(9000), priority(3)),
            Duration::from_micros(512)
        );
    }

    #[test]
    fn xon_ends_it_at_once_and_pause_is_apart() {
        let mut clock = gigabit(ALL);
        clock.receive_pfc(at(0), priority(3), Quanta::MAX);
        clock.receive_pause(at(100), Quanta::MAX);
        clock.receive_pfc(at(200), priority(3), Quanta::ZERO);
        assert!(clock.is_paused(at(200), priority(3)), "PAUSE goes on");
        clock.receive_pause(at(300), Quanta::ZERO);
        assert!(!clock.is_paused(at(300), priority(3)));
        assert_eq!(
            clock.paused_total(at(900), priority(3)),
            Duration::from_micros(300)
        );
        assert_eq!(
            clock.paused_total(at(900), priority(0)),
            Duration::from_micros(200)
        );
    }

    #[test]
    fn who_ignores_pauses_goes_on_and_who_obeys_again_is_held_by_the_next_one() {
        let mut clock = gigabit(ALL);
        clock.receive_pfc(at(0), priority(3), Quanta::MAX);
        assert!(clock.is_paused(at(10), priority(3)));
        clock.obey_pfc(at(10), [false; PRIORITY_COUNT]);
        assert!(!clock.is_paused(at(10), priority(3)));
        clock.receive_pfc(at(11), priority(3), Quanta::MAX);
        assert!(!clock.is_paused(at(12), priority(3)));
        clock.obey_pfc(at(20), ALL.pfc);
        assert!(!clock.is_paused(at(20), priority(3)));
        clock.receive_pfc(at(30), priority(3), Quanta::MAX);
        assert!(clock.is_paused(at(31), priority(3)));
        assert_eq!(
            clock.paused_total(at(40), priority(3)),
            Duration::from_micros(20)
        );
    }

    #[test]
    fn what_is_not_obeyed_holds_nothing() {
        let mut clock = gigabit(Obedience {
            pfc: [false; PRIORITY_COUNT],
            pause: false,
        });
        clock.receive_pfc(at(0), priority(3), Quanta::MAX);
        clock.receive_pause(at(0), Quanta::MAX);
        assert!(!clock.is_paused(at(1), priority(3)));
        assert_eq!(clock.paused_total(at(500), priority(3)), Duration::ZERO);
    }

    proptest! {
        /// The total equals the paused time counted by the microsecond.
        #[test]
        fn the_total_is_the_time_held(
            changes in prop::collection::vec((0u64..300, prop::option::of(0u8..8), 0u16..500), 0..20)
        ) {
            // 512 Mbit/s: one quantum is one microsecond
            let mut clock = PauseClock::new(BitRate::from_mbit(512), ALL);
            let mut held = [0u64; PRIORITY_COUNT];
            let mut now = 1;
            for (wait, named, quanta) in changes {
                for _ in 0..wait {
                    for p in Priority::ALL {
                        held[p.index()] += u64::from(clock.is_paused(at(now), p));
                    }
                    now += 1;
                }
                match named {
                    Some(named) => clock.receive_pfc(at(now), priority(named), Quanta(quanta)),
                    None => clock.receive_pause(at(now), Quanta(quanta)),
                }
            }
            for p in Priority::ALL {
                prop_assert_eq!(
                    clock.paused_total(at(now), p),
                    Duration::from_micros(held[p.index()])
                );
            }
        }
    }
}
