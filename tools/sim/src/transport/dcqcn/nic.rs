//! DCQCN with timers only, as in NVIDIA's description of its NICs' parameters and in HPCC's simulator: notifications are
//! only recorded, and each timer checks if one has arrived since it last expired.

use weir_core::Instant;

use super::ReactionPoint;

/// All run from the first notification on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timers {
    alpha: Instant,
    cut: Instant,
    /// Since the last cut.
    increase: Option<Instant>,
    /// True if a notification has arrived since α last changed.
    alpha_notified: bool,
    /// True if a notification has arrived since the last check of the rate.
    cut_notified: bool,
}

impl Timers {
    pub(super) fn next(&self) -> Instant {
        let next = self.alpha.min(self.cut);
        self.increase.map_or(next, |increase| next.min(increase))
    }
}

impl ReactionPoint {
    pub(super) fn notify_nic(&mut self, now: Instant) {
        match &mut self.nic {
            Some(timers) => {
                timers.alpha_notified = true;
                timers.cut_notified = true;
            }
            None => {
                self.target_bps = self.current_bps;
                self.nic = Some(Timers {
                    alpha: now + self.config.alpha_timer,
                    cut: now + self.config.cut_interval,
                    increase: None,
                    // The first one has set α.
                    alpha_notified: false,
                    cut_notified: true,
                });
            }
        }
    }

    /// α changes first, so that a cut at the same time uses the new value.
    pub(super) fn handle_timeout_nic(&mut self, now: Instant) {
        let Some(mut timers) = self.nic else {
            return;
        };
        if timers.alpha <= now {
            let g = self.config.g.as_f64();
            self.alpha *= 1.0 - g;
            if std::mem::take(&mut timers.alpha_notified) {
                self.alpha += g;
            }
            timers.alpha = now + self.config.alpha_timer;
        }
        if timers.cut <= now {
            timers.cut = now + self.config.cut_interval;
            if std::mem::take(&mut timers.cut_notified) {
                self.cut();
                timers.increase = Some(now + self.config.rate_timer);
            }
        }
        if timers.increase.is_some_and(|due| due <= now) {
            timers.increase = Some(now + self.config.rate_timer);
            self.increase_by_timer();
        }
        self.nic = Some(timers);
    }

    fn increase_by_timer(&mut self) {
        match self.timer_count.cmp(&self.config.fast_recovery) {
            std::cmp::Ordering::Less => {}
            std::cmp::Ordering::Equal => self.target_bps += self.config.additive.get() as f64,
            std::cmp::Ordering::Greater => self.target_bps += self.config.hyper.get() as f64,
        }
        self.timer_count = self.timer_count.saturating_add(1);
        self.go_halfway();
    }
}

#[cfg(test)]
mod tests {
    use weir_config::scenario::{DcqcnConfig, Reaction};
    use weir_core::{BitRate, Bytes, Duration, Instant};

    use super::super::ReactionPoint;

    const LINE: BitRate = BitRate::from_mbit(100_000);

    fn at(micros: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(micros)
    }

    /// Values of HPCC's run.py for a line of 100 Gbit/s.
    fn config() -> DcqcnConfig {
        DcqcnConfig {
            alpha_timer: Duration::from_micros(1),
            cut_interval: Duration::from_micros(4),
            rate_timer: Duration::from_micros(300),
            additive: BitRate::from_mbit(20),
            hyper: BitRate::from_mbit(200),
            rate_min: BitRate::from_mbit(1000),
            clamp_target: false,
            reaction: Reaction::Nic,
            fast_recovery: 1,
            ..DcqcnConfig::default()
        }
    }

    /// Handles all timers up to `end`; notifications at each of `notified` come after timers of the same time.
    fn run(point: &mut ReactionPoint, notified: &[u64], end: u64) {
        let mut notified = notified.iter().peekable();
        loop {
            let due = point.next_timeout().filter(|due| *due <= at(end));
            match (due, notified.peek().map(|micros| at(**micros))) {
                (Some(due), None) => point.handle_timeout(due),
                (Some(due), Some(next)) if due <= next => point.handle_timeout(due),
                (_, Some(next)) => {
                    notified.next();
                    point.notify(next);
                }
                (None, None) => return,
            }
        }
    }

    #[track_caller]
    fn assert_near(seen: f64, wanted: f64) {
        assert!(
            (seen - wanted).abs() <= 1e-9 * wanted,
            "{seen}, not {wanted}"
        );
    }

    #[test]
    fn notifications_of_one_interval_are_one_cut_by_the_alpha_of_its_end() {
        let mut point = ReactionPoint::new(config(), LINE);
        assert_eq!(point.next_timeout(), None);
        run(&mut point, &[0, 2, 2, 3, 3], 3);
        assert_eq!((point.cuts(), point.rate()), (0, LINE), "not before 4 µs");
        // α: down at 1 and 2, up at 3 and 4, after notifications in the preceding microsecond.
        let g = config().g.as_f64();
        let mut alpha = (1.0 - g) * (1.0 - g);
        for _ in 0..2 {
            alpha = alpha * (1.0 - g) + g;
        }
        run(&mut point, &[], 4);
        assert_near(point.alpha(), alpha);
        assert_eq!(point.cuts(), 1);
        assert_near(point.current_bps(), 1e11 * (1.0 - alpha / 2.0));
        run(&mut point, &[], 8);
        assert_eq!(point.cuts(), 1, "nothing came after 4 µs");
    }

    #[test]
    fn recovery_is_by_timer_alone_and_hyper_increase_of_one_step() {
        let mut point = ReactionPoint::new(config(), LINE);
        // Three consecutive cuts; the target remains the line rate, since there was no increase in between.
        run(&mut point, &[0, 5, 9], 12);
        assert_eq!((point.cuts(), point.target_bps()), (3, 1e11));
        let cut = point.current_bps();
        point.sent(Bytes::new(1 << 40));
        assert_near(point.current_bps(), cut);
        run(&mut point, &[], 311);
        assert_near(point.current_bps(), cut);
        run(&mut point, &[], 312);
        let recovered = (cut + 1e11) / 2.0;
        assert_near(point.current_bps(), recovered);
        // There was an increase: this cut sets the target. Cuts are at 4 n µs.
        run(&mut point, &[314], 316);
        assert_near(point.target_bps(), recovered);
        let (mut current, mut target) = (point.current_bps(), recovered);
        for (step, add) in [0.0, 2e7, 2e8, 2e8, 2e8].into_iter().enumerate() {
            target += add;
            current = (current + target) / 2.0;
            run(&mut point, &[], 316 + 300 * (step as u64 + 1));
            assert_near(point.target_bps(), target);
            assert_near(point.current_bps(), current);
        }
    }

    #[test]
    fn rates_stay_between_the_least_and_the_line() {
        let mut point = ReactionPoint::new(config(), LINE);
        let always: Vec<u64> = (0..100).collect();
        run(&mut point, &always, 100);
        assert_near(point.current_bps(), 1e9);
        run(&mut point, &[], 1_000_000);
        assert!(point.rate() <= LINE && point.target_bps() <= 1e11);
    }
}
