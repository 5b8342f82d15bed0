//! TIMELY: a rate that follows the gradient of the round trip time (Mittal et al., "TIMELY: RTT-based Congestion Control for
//! the Datacenter", SIGCOMM 2015, algorithm 1).
//!
//! Frames are paced one by one, not by segment; the round trip of a segment is that of its last frame.

use weir_config::scenario::TimelyConfig;
use weir_core::{BitRate, Bytes, Duration};

/// N of hyperactive increase.
const HYPER_STEPS: f64 = 5.0;

/// The sender's side.
#[derive(Clone, Debug)]
pub struct Timely {
    config: TimelyConfig,
    line_bps: f64,
    rate_bps: f64,
    /// prev_rtt, in nanoseconds.
    previous: Option<f64>,
    /// rtt_diff, in nanoseconds.
    difference: f64,
    /// Consecutive completions without a positive gradient.
    falling: u32,
    /// Bytes acknowledged since the last completion.
    bytes: u64,
}

impl Timely {
    /// Creates a flow that has not sent anything, on a line of rate `line`.
    pub fn new(config: TimelyConfig, line: BitRate) -> Self {
        let line_bps = line.get() as f64;
        let initial = config
            .initial_rate
            .map_or(line_bps, |rate| rate.get() as f64);
        Self {
            config,
            line_bps,
            rate_bps: initial.min(line_bps),
            previous: None,
            difference: 0.0,
            falling: 0,
            bytes: 0,
        }
    }

    /// Rate of the flow in bytes of frames.
    pub fn rate(&self) -> BitRate {
        BitRate::new(self.rate_bps as u64).unwrap_or(BitRate::from_mbit(1))
    }

    /// rate, in bits per second.
    pub const fn rate_bps(&self) -> f64 {
        self.rate_bps
    }

    /// `length` more is acknowledged, by a frame with this round trip.
    pub fn acknowledge(&mut self, round_trip: Duration, length: Bytes) {
        self.bytes += length.get();
        if self.bytes >= self.config.segment.get().max(1) {
            self.bytes = 0;
            self.complete(round_trip);
        }
    }

    fn complete(&mut self, round_trip: Duration) {
        let config = &self.config;
        let new = round_trip.as_nanos() as f64;
        let difference = new - self.previous.replace(new).unwrap_or(new);
        let alpha = config.alpha.as_f64();
        self.difference = (1.0 - alpha) * self.difference + alpha * difference;
        let gradient = self.difference / config.rtt_min.as_nanos() as f64;
        let (low, high) = (config.low.as_nanos() as f64, config.high.as_nanos() as f64);
        let (beta, step) = (config.beta.as_f64(), config.additive.get() as f64);
        self.falling = if gradient <= 0.0 {
            self.falling.saturating_add(1)
        } else {
            0
        };
        if new < low {
            self.rate_bps += step;
        } else if new > high {
            self.rate_bps *= 1.0 - beta * (1.0 - high / new);
        } else if gradient <= 0.0 {
            let is_hyper = self.falling >= config.hyper_after;
            self.rate_bps += step * if is_hyper { HYPER_STEPS } else { 1.0 };
        } else {
            self.rate_bps *= 1.0 - beta * gradient;
        }
        let least = config.rate_min.get() as f64;
        self.rate_bps = self.rate_bps.max(least).min(self.line_bps);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: BitRate = BitRate::from_mbit(10_000);

    fn timely(initial_mbit: u64) -> Timely {
        let config = TimelyConfig {
            initial_rate: Some(BitRate::from_mbit(initial_mbit)),
            ..TimelyConfig::default()
        };
        Timely::new(config, LINE)
    }

    /// Completes one segment; returns the rate after it, in Mbit/s.
    fn segment(timely: &mut Timely, micros: u64) -> f64 {
        for _ in 0..15 {
            timely.acknowledge(Duration::from_micros(999), Bytes::new(1000));
        }
        timely.acknowledge(Duration::from_micros(micros), Bytes::new(1000));
        timely.rate_bps() / 1e6
    }

    #[track_caller]
    fn assert_near(seen: f64, wanted: f64) {
        assert!(
            (seen - wanted).abs() < 1e-9 * wanted,
            "{seen}, not {wanted}"
        );
    }

    #[test]
    fn below_t_low_it_grows_and_above_t_high_it_falls_whatever_the_gradient() {
        let mut timely = timely(1000);
        assert_near(segment(&mut timely, 20), 1010.0);
        // The gradient is positive, and T_low is not reached.
        assert_near(segment(&mut timely, 49), 1020.0);
        // 1 − 0.8 (1 − 500/1000).
        assert_near(segment(&mut timely, 1000), 1020.0 * 0.6);
        // The gradient is negative.
        assert_near(segment(&mut timely, 625), 1020.0 * 0.6 * (1.0 - 0.8 * 0.2));
    }

    #[test]
    fn the_gradient_decides_between_them() {
        let mut timely = timely(1000);
        // The first has no difference.
        assert_near(segment(&mut timely, 100), 1010.0);
        // rtt_diff = 0.875 · 8 µs = 7 µs; gradient 7/20.
        assert_near(segment(&mut timely, 108), 1010.0 * (1.0 - 0.8 * 0.35));
        // rtt_diff = 0.125 · 7 µs + 0.875 · 0 = 0.875 µs.
        let before = 1010.0 * (1.0 - 0.8 * 0.35);
        assert_near(
            segment(&mut timely, 108),
            before * (1.0 - 0.8 * 0.875 / 20.0),
        );
    }

    #[test]
    fn five_completions_without_growth_make_the_step_five_times_as_large() {
        let mut timely = timely(1000);
        let mut expected = 1000.0;
        for completion in 1..=8 {
            expected += if completion >= 5 { 50.0 } else { 10.0 };
            assert_near(segment(&mut timely, 200 - completion), expected);
        }
        // A growing round trip ends it.
        assert!(segment(&mut timely, 400) < expected);
        let before = timely.rate_bps() / 1e6;
        // rtt_diff = 0.125 · positive + 0.875 · (100 − 400): falling again.
        assert_near(segment(&mut timely, 100), before + 10.0);
    }

    #[test]
    fn rates_stay_between_the_least_and_the_line() {
        let mut timely = Timely::new(TimelyConfig::default(), LINE);
        assert_near(segment(&mut timely, 20), 10_000.0);
        for step in 0..100 {
            segment(&mut timely, 1000 * (step + 1));
        }
        assert_near(timely.rate_bps(), 1e8);
        assert_eq!(timely.rate(), BitRate::from_mbit(100));
    }
}
