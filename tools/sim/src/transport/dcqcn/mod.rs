//! DCQCN: section V of the calculus paper with its Tables I and II, after Zhu et al., "Congestion Control for Large-Scale
//! RDMA Deployments", SIGCOMM 2015.
//!
//! The calculus paper prints the cut as R_C (1 − α), which with α = 1 is zero; here it is the original's R_C (1 − α/2).

mod nic;

use weir_config::scenario::{DcqcnConfig, Reaction};
use weir_core::{BitRate, Bytes, Duration, Instant};

/// The sender's side: two rate limits that decrease with notifications and recover with time and bytes.
///
/// A flow begins at line rate. Timers and counters run from its first notification on: before it there is nothing to
/// recover.
#[derive(Clone, Debug)]
pub struct ReactionPoint {
    config: DcqcnConfig,
    line_bps: f64,
    /// R_C.
    current_bps: f64,
    /// R_T.
    target_bps: f64,
    alpha: f64,
    /// i_T.
    timer_count: u32,
    /// i_B.
    byte_count: u32,
    /// Bytes since i_B last grew.
    bytes: u64,
    timers: Option<Timers>,
    /// Replaces `timers` with [`Reaction::Nic`].
    nic: Option<nic::Timers>,
    cuts: u64,
}

#[derive(Clone, Copy, Debug)]
struct Timers {
    alpha: Instant,
    rate: Instant,
}

impl ReactionPoint {
    /// Creates a flow that has not sent anything, on a line of rate `line`.
    pub fn new(config: DcqcnConfig, line: BitRate) -> Self {
        let line_bps = line.get() as f64;
        Self {
            config,
            line_bps,
            current_bps: line_bps,
            target_bps: line_bps,
            alpha: config.initial_alpha.as_f64(),
            timer_count: 0,
            byte_count: 0,
            bytes: 0,
            timers: None,
            nic: None,
            cuts: 0,
        }
    }

    /// R_C: rate limit of the flow in bytes of frames.
    pub fn rate(&self) -> BitRate {
        BitRate::new(self.current_bps as u64).unwrap_or(BitRate::from_mbit(1))
    }

    /// R_T, in bits per second.
    pub const fn target_bps(&self) -> f64 {
        self.target_bps
    }

    /// R_C, in bits per second.
    pub const fn current_bps(&self) -> f64 {
        self.current_bps
    }

    /// α.
    pub const fn alpha(&self) -> f64 {
        self.alpha
    }

    /// Number of cuts of the rate.
    pub const fn cuts(&self) -> u64 {
        self.cuts
    }

    /// Handles a notification.
    pub fn notify(&mut self, now: Instant) {
        if self.config.reaction == Reaction::Nic {
            self.notify_nic(now);
            return;
        }
        self.cut();
        self.alpha += self.config.g.as_f64() * (1.0 - self.alpha);
        self.timers = Some(Timers {
            alpha: now + self.config.alpha_timer,
            rate: now + self.config.rate_timer,
        });
    }

    fn cut(&mut self) {
        if self.config.clamp_target || self.timer_count > 0 {
            self.target_bps = self.current_bps;
        }
        self.current_bps *= 1.0 - self.alpha / 2.0;
        self.keep_in_bounds();
        self.timer_count = 0;
        self.byte_count = 0;
        self.bytes = 0;
        self.cuts += 1;
    }

    /// Accounts for a sent frame of `length`.
    pub fn sent(&mut self, length: Bytes) {
        if self.timers.is_none() {
            return;
        }
        self.bytes += length.get();
        let every = self.config.byte_counter.get().max(1);
        while self.bytes >= every {
            self.bytes -= every;
            self.byte_count = self.byte_count.saturating_add(1);
            self.increase();
        }
    }

    /// When [`handle_timeout`](Self::handle_timeout) is next due.
    pub fn next_timeout(&self) -> Option<Instant> {
        match &self.nic {
            Some(timers) => Some(timers.next()),
            None => self.timers.map(|timers| timers.alpha.min(timers.rate)),
        }
    }

    /// Handles timers that are due.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.config.reaction == Reaction::Nic {
            self.handle_timeout_nic(now);
            return;
        }
        let Some(mut timers) = self.timers else {
            return;
        };
        if timers.alpha <= now {
            self.alpha *= 1.0 - self.config.g.as_f64();
            timers.alpha = now + self.config.alpha_timer;
        }
        if timers.rate <= now {
            self.timer_count = self.timer_count.saturating_add(1);
            self.increase();
            timers.rate = now + self.config.rate_timer;
        }
        self.timers = Some(timers);
    }

    /// Table I: i_T or i_B has grown.
    fn increase(&mut self) {
        let least = self.timer_count.min(self.byte_count);
        let most = self.timer_count.max(self.byte_count);
        let fast_recovery = self.config.fast_recovery;
        if least >= fast_recovery {
            let steps = f64::from(least - fast_recovery);
            self.target_bps += steps * self.config.hyper.get() as f64;
        } else if most >= fast_recovery {
            self.target_bps += self.config.additive.get() as f64;
        }
        self.go_halfway();
    }

    fn go_halfway(&mut self) {
        self.target_bps = self.target_bps.min(self.line_bps);
        self.current_bps = (self.current_bps + self.target_bps) / 2.0;
        self.keep_in_bounds();
    }

    fn keep_in_bounds(&mut self) {
        let least = self.config.rate_min.get() as f64;
        self.current_bps = self.current_bps.max(least).min(self.line_bps);
    }
}

/// The receiver's side: answers a marked frame with a notification, at most once per T_gap.
#[derive(Clone, Copy, Debug)]
pub struct NotificationPoint {
    gap: Duration,
    silent_until: Instant,
}

impl NotificationPoint {
    /// Creates one with T_gap.
    pub const fn new(gap: Duration) -> Self {
        Self {
            gap,
            silent_until: Instant::ZERO,
        }
    }

    /// Handles a marked frame; returns true if it is to be answered.
    pub fn marked(&mut self, now: Instant) -> bool {
        if now < self.silent_until {
            return false;
        }
        self.silent_until = now + self.gap;
        true
    }
}

#[cfg(test)]
mod tests {
    use weir_config::Fraction;

    use super::*;

    const LINE: BitRate = BitRate::from_mbit(100_000);
    const GBIT: f64 = 1e9;

    fn at(micros: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(micros)
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * b.abs().max(1.0)
    }

    #[track_caller]
    fn assert_rates(point: &ReactionPoint, current_gbit: f64, target_gbit: f64) {
        let seen = (point.current_bps() / GBIT, point.target_bps() / GBIT);
        let wanted = (current_gbit, target_gbit);
        assert!(
            near(seen.0, wanted.0) && near(seen.1, wanted.1),
            "{seen:?}, not {wanted:?}"
        );
    }

    fn fraction(parts_per_thousand: u32) -> Fraction {
        Fraction::from_parts(parts_per_thousand * (Fraction::ONE_IN_PARTS / 1000)).unwrap()
    }

    #[test]
    fn with_alpha_one_every_notification_halves_the_rate() {
        let mut point = ReactionPoint::new(DcqcnConfig::default(), LINE);
        assert_eq!(point.rate(), LINE);
        assert_eq!(point.next_timeout(), None);
        for (cut, current, target) in [(0, 50.0, 100.0), (1, 25.0, 50.0), (2, 12.5, 25.0)] {
            point.notify(at(cut * 50));
            assert_rates(&point, current, target);
            // α + g (1 − α) stays 1.
            assert!(near(point.alpha(), 1.0));
        }
    }

    #[test]
    fn alpha_of_a_half_cuts_to_three_quarters_and_grows() {
        let config = DcqcnConfig {
            initial_alpha: fraction(500),
            ..DcqcnConfig::default()
        };
        let mut point = ReactionPoint::new(config, LINE);
        point.notify(at(0));
        assert_rates(&point, 75.0, 100.0);
        // g is 1/256 to nine digits.
        let g = config.g.as_f64();
        let alpha = 0.5 + g * 0.5;
        assert!(near(point.alpha(), alpha));
        assert!((alpha - 0.501_953_1).abs() < 1e-7);
        point.notify(at(50));
        assert_rates(&point, 75.0 * (1.0 - alpha / 2.0), 75.0);
        assert!((point.current_bps() / GBIT - 56.176_757_8).abs() < 1e-6);
    }

    #[test]
    fn recovery_goes_half_of_the_way_four_times_and_then_the_target_grows() {
        let mut point = ReactionPoint::new(DcqcnConfig::default(), LINE);
        point.notify(at(0));
        point.notify(at(50));
        assert_rates(&point, 25.0, 50.0);
        let g = DcqcnConfig::default().g.as_f64();
        // T and K are both 55 µs: i_T reaches 5 with the fifth, and R_T grows by 5 Mbit/s.
        let expected = [
            (37.5, 50.0),
            (43.75, 50.0),
            (46.875, 50.0),
            (48.437_5, 50.0),
            (49.221_25, 50.005),
            (49.615_625, 50.01),
        ];
        for (step, (current, target)) in expected.into_iter().enumerate() {
            let due = at(50 + 55 * (step as u64 + 1));
            assert_eq!(point.next_timeout(), Some(due));
            point.handle_timeout(due);
            assert_rates(&point, current, target);
            assert!(near(point.alpha(), (1.0 - g).powi(step as i32 + 1)));
        }
    }

    #[test]
    fn hyper_increase_when_both_counters_have_come_to_five() {
        let config = DcqcnConfig {
            byte_counter: Bytes::new(1000),
            ..DcqcnConfig::default()
        };
        let mut point = ReactionPoint::new(config, LINE);
        point.notify(at(0));
        point.notify(at(50));
        point.notify(at(100));
        assert_rates(&point, 12.5, 25.0);
        // i_B = 4: fast recovery. 25 − 12.5/2⁴.
        point.sent(Bytes::new(4500));
        assert_rates(&point, 24.218_75, 25.0);
        // i_B = 7: three additive increases, half of the distance each time.
        point.sent(Bytes::new(2500));
        let mut current = 24.218_75;
        for target in [25.005, 25.01, 25.015] {
            current = (current + target) / 2.0;
        }
        assert_rates(&point, current, 25.015);
        // i_T = 1 … 4 are additive because of i_B; i_T = 5 is hyper with 0 steps, i_T = 6 with 1, i_T = 7 with 2, and i_T = 8
        // with 2, as i_B is 7.
        let targets = [25.02, 25.025, 25.03, 25.035, 25.035, 25.085, 25.185, 25.285];
        for (step, target) in targets.into_iter().enumerate() {
            point.handle_timeout(at(100 + 55 * (step as u64 + 1)));
            current = (current + target) / 2.0;
            assert_rates(&point, current, target);
        }
        // A notification restarts everything.
        point.notify(at(600));
        assert!(near(point.target_bps() / GBIT, current));
        let before = point.current_bps();
        point.sent(Bytes::new(999));
        assert!(near(point.current_bps(), before));
        point.sent(Bytes::new(1));
        assert!(near(
            point.current_bps(),
            (before + point.target_bps()) / 2.0
        ));
    }

    #[test]
    fn without_clamping_cuts_in_a_row_recover_to_the_rate_before_them() {
        let config = DcqcnConfig {
            clamp_target: false,
            ..DcqcnConfig::default()
        };
        let mut point = ReactionPoint::new(config, LINE);
        point.notify(at(0));
        point.notify(at(50));
        assert_rates(&point, 25.0, 100.0);
        point.handle_timeout(at(105));
        assert_rates(&point, 62.5, 100.0);
        // After an increase by timer the next notification sets the target.
        point.notify(at(110));
        assert_eq!(point.target_bps(), 62.5 * GBIT);
    }

    #[test]
    fn rates_stay_between_the_least_and_the_line() {
        let mut point = ReactionPoint::new(DcqcnConfig::default(), LINE);
        for cut in 0..40 {
            point.notify(at(cut * 50));
        }
        assert_rates(&point, 0.1, 0.1);
        let config = DcqcnConfig {
            additive: LINE,
            ..DcqcnConfig::default()
        };
        let mut point = ReactionPoint::new(config, LINE);
        point.notify(at(0));
        for step in 1..100 {
            point.handle_timeout(at(55 * step));
        }
        assert!(point.rate() <= LINE && point.target_bps() <= 100.0 * GBIT);
    }

    #[test]
    fn notifications_keep_their_distance() {
        let mut point = NotificationPoint::new(Duration::from_micros(50));
        let sent: Vec<u64> = (3..200)
            .filter(|micros| point.marked(at(*micros)))
            .collect();
        assert_eq!(sent, [3, 53, 103, 153]);
    }
}
