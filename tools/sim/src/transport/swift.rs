//! Swift: a window that keeps the round-trip time near a target (Kumar et al., "Swift: Delay is Simple and Effective for
//! Congestion Control in the Datacenter", SIGCOMM 2020, algorithm 1 and section 3.5).
//!
//! Simulated hosts answer at once: there is no endpoint delay, and hence only the fabric's window.

use weir_config::scenario::SwiftConfig;
use weir_core::{Duration, Instant};

/// The sender's side. Windows are in frames.
#[derive(Clone, Debug)]
pub struct Swift {
    config: SwiftConfig,
    /// α and β of flow scaling, in nanoseconds.
    scale: [f64; 2],
    /// cwnd (fcwnd).
    window: f64,
    /// The last round trip.
    round_trip: Duration,
    /// t_last_decrease.
    decreased: Option<Instant>,
    /// retransmit_cnt.
    timeouts: u32,
}

impl Swift {
    /// Creates a flow that has not sent anything.
    pub fn new(config: SwiftConfig) -> Self {
        let range = config.flow_scale.as_nanos() as f64;
        let inverse = |window: f64| 1.0 / window.sqrt();
        let least = inverse(config.flow_scale_window_min.as_f64());
        let most = inverse(f64::from(config.flow_scale_window_max));
        let alpha = range / (least - most);
        let mut swift = Self {
            config,
            scale: [alpha, -alpha * most],
            window: f64::from(config.initial),
            round_trip: Duration::ZERO,
            decreased: None,
            timeouts: 0,
        };
        swift.keep_in_bounds();
        swift
    }

    /// cwnd.
    pub const fn window(&self) -> f64 {
        self.window
    }

    /// Maximum number of frames in flight: at least one, which is [paced](Self::pause).
    pub fn frames(&self) -> u32 {
        (self.window as u32).max(1)
    }

    /// pacing_delay: wait after each frame if the window is below one frame.
    pub fn pause(&self) -> Option<Duration> {
        let nanos = self.round_trip.as_nanos() as f64 / self.window;
        (self.window < 1.0).then(|| Duration::from_nanos(nanos as u64))
    }

    /// Returns the target delay over `hops` switches: t = base + #hops ħ + max(0, min(α/√cwnd + β,
    /// fs_range)).
    pub fn target(&self, hops: u32) -> Duration {
        let [alpha, beta] = self.scale;
        let range = self.config.flow_scale.as_nanos() as f64;
        let scaled = (alpha / self.window.sqrt() + beta).min(range).max(0.0);
        self.config.base_target
            + self.config.hop_scale.saturating_mul(u64::from(hops))
            + Duration::from_nanos(scaled as u64)
    }

    /// `frames` more are acknowledged, by one with this round trip over `hops` switches.
    pub fn acknowledge(&mut self, now: Instant, round_trip: Duration, hops: u32, frames: u32) {
        self.timeouts = 0;
        self.round_trip = round_trip;
        let target = self.target(hops);
        if round_trip < target {
            let step = self.config.additive.as_f64() * f64::from(frames);
            self.window += if self.window >= 1.0 {
                step / self.window
            } else {
                step
            };
            self.keep_in_bounds();
        } else {
            let over = (round_trip.as_nanos() - target.as_nanos()) as f64;
            let share = over / round_trip.as_nanos().max(1) as f64;
            self.decrease(now, self.config.beta.as_f64() * share);
        }
    }

    /// Acknowledgements of later frames revealed a loss.
    pub fn lost(&mut self, now: Instant) {
        self.timeouts = 0;
        self.decrease(now, 1.0);
    }

    /// Acknowledgements are overdue.
    pub fn timed_out(&mut self, now: Instant) {
        self.timeouts = self.timeouts.saturating_add(1);
        if self.timeouts >= self.config.timeouts_max {
            self.window = self.config.window_min.as_f64();
            self.decreased = Some(now);
        } else {
            self.decrease(now, 1.0);
        }
    }

    /// Reduces the window by `share`, but at most by max_mdf and once in a round trip.
    fn decrease(&mut self, now: Instant, share: f64) {
        let may_decrease = self
            .decreased
            .is_none_or(|at| now.saturating_since(at) >= self.round_trip);
        if !may_decrease {
            return;
        }
        self.window *= 1.0 - share.min(self.config.decrease_max.as_f64());
        self.decreased = Some(now);
        self.keep_in_bounds();
    }

    fn keep_in_bounds(&mut self) {
        let least = self.config.window_min.as_f64();
        let most = f64::from(self.config.window_max);
        self.window = self.window.max(least).min(most);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(micros: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(micros)
    }

    fn micros(micros: u64) -> Duration {
        Duration::from_micros(micros)
    }

    fn config() -> SwiftConfig {
        SwiftConfig {
            hop_scale: micros(3),
            ..SwiftConfig::default()
        }
    }

    #[track_caller]
    fn assert_near(seen: f64, wanted: f64) {
        assert!(
            (seen - wanted).abs() < 1e-9 * wanted,
            "{seen}, not {wanted}"
        );
    }

    fn with_window(window: f64) -> Swift {
        let mut swift = Swift::new(config());
        swift.window = window;
        swift
    }

    /// Section 3.5: fs_range below fs_min_cwnd, nothing from fs_max_cwnd on, and between them a line over 1/√cwnd.
    #[test]
    fn the_target_grows_with_hops_and_with_smaller_windows() {
        let target = |window: f64, hops| with_window(window).target(hops).as_nanos();
        assert_eq!(target(100.0, 0), 20_000);
        assert_eq!(target(500.0, 5), 35_000);
        assert_eq!(target(0.1, 5), 135_000);
        assert_eq!(target(0.001, 5), 135_000);
        // 1/√0.1 − 1/√100 = 3.0622777; α = 32.655 µs, β = −3.2655 µs.
        assert_eq!(target(1.0, 0), 20_000 + 29_389);
        assert_eq!(target(4.0, 0), 20_000 + 13_062);
    }

    #[test]
    fn one_frame_for_each_round_trip_below_the_target() {
        let mut swift = with_window(10.0);
        let mut expected = 10.0;
        for _ in 0..10 {
            swift.acknowledge(at(100), micros(20), 2, 1);
            expected += 1.0 / expected;
            assert_near(swift.window(), expected);
        }
        let mut small = with_window(0.25);
        small.acknowledge(at(100), micros(20), 2, 1);
        assert_near(small.window(), 1.25);
        // Five at once.
        let mut several = with_window(10.0);
        several.acknowledge(at(100), micros(20), 2, 5);
        assert_near(several.window(), 10.5);
    }

    #[test]
    fn above_the_target_it_falls_by_how_much_once_in_a_round_trip() {
        let mut swift = with_window(200.0);
        // Target 20 µs; 1 − 0.8 · 5/25.
        swift.acknowledge(at(100), micros(25), 0, 1);
        assert_near(swift.window(), 168.0);
        swift.acknowledge(at(124), micros(25), 0, 1);
        assert_near(swift.window(), 168.0);
        // 1 − 0.8 · 20/40, when 40 µs have passed.
        swift.acknowledge(at(140), micros(40), 0, 1);
        assert_near(swift.window(), 168.0 * 0.6);
        // At most a half: 0.8 · (1 − 20.4/200) is more.
        swift.acknowledge(at(400), micros(200), 0, 1);
        assert_near(swift.window(), 168.0 * 0.3);
    }

    #[test]
    fn losses_halve_it_and_timeouts_in_a_row_reset_it() {
        let mut swift = with_window(16.0);
        swift.acknowledge(at(0), micros(10), 0, 0);
        swift.lost(at(100));
        assert_near(swift.window(), 8.0);
        swift.lost(at(105));
        assert_near(swift.window(), 8.0);
        for timeout in 1..=4 {
            swift.timed_out(at(100 + 1000 * timeout));
        }
        assert_near(swift.window(), 0.5);
        swift.timed_out(at(9000));
        assert_near(swift.window(), 0.001);
        swift.acknowledge(at(9100), micros(10), 0, 1);
        assert_near(swift.window(), 1.001);
    }

    #[test]
    fn below_one_frame_it_is_paced() {
        let mut swift = with_window(0.25);
        assert_eq!(swift.frames(), 1);
        swift.round_trip = micros(50);
        assert_eq!(swift.pause(), Some(micros(200)));
        swift.window = 1.0;
        assert_eq!(swift.pause(), None);
        swift.window = 3.9;
        assert_eq!(swift.frames(), 3);
    }

    proptest! {
        #[test]
        fn windows_stay_in_their_bounds(steps in prop::collection::vec((0u8..3, 1u64..500, 0u32..6, 1u32..20), 0..300)) {
            let mut swift = Swift::new(config());
            let mut now = 0;
            for (what, time, hops, frames) in steps {
                now += time;
                match what {
                    0 => swift.acknowledge(at(now), micros(time), hops, frames),
                    1 => swift.lost(at(now)),
                    _ => swift.timed_out(at(now)),
                }
                prop_assert!((0.001..=1000.0).contains(&swift.window()));
            }
        }
    }
}
