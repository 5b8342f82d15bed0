//! HPCC: a window that keeps the most loaded line of the path at η of its capacity, using telemetry from switches (Li et
//! al., "HPCC: High Precision Congestion Control", SIGCOMM 2019, algorithm 1).
//!
//! Instead of an identifier of the path, the lines themselves of two acknowledgements are compared.

use weir_config::scenario::HpccConfig;
use weir_core::{BitRate, Duration};

use super::telemetry::Hop;

/// The sender's side. Windows are in bytes of frames.
#[derive(Clone, Debug)]
pub struct Hpcc {
    config: HpccConfig,
    /// T, in nanoseconds.
    base_nanos: f64,
    /// Maximum, which is W_init, and minimum window.
    bounds: [f64; 2],
    /// W.
    window: f64,
    /// W_c: the reference window.
    reference: f64,
    /// incStage.
    stage: u32,
    /// U.
    utilization: f64,
    /// lastUpdateSeq.
    updated_until: u32,
    /// L: telemetry of the last acknowledgement.
    hops: Vec<Hop>,
}

impl Hpcc {
    /// Creates a flow that has not sent anything, on a line of rate `line`, with T.
    pub fn new(config: HpccConfig, line: BitRate, base: Duration) -> Self {
        let base_nanos = base.as_nanos().max(1) as f64;
        let bytes = |rate: BitRate| rate.get() as f64 * base_nanos / 8e9;
        let most = bytes(line);
        Self {
            config,
            base_nanos,
            bounds: [bytes(config.rate_min).min(most), most],
            window: most,
            reference: most,
            stage: 0,
            utilization: 1.0,
            updated_until: 0,
            hops: Vec::new(),
        }
    }

    /// W, in bytes.
    pub const fn window_bytes(&self) -> f64 {
        self.window
    }

    /// W_c, in bytes.
    pub const fn reference_bytes(&self) -> f64 {
        self.reference
    }

    /// U.
    pub const fn utilization(&self) -> f64 {
        self.utilization
    }

    /// R = W/T in bytes of frames.
    pub fn rate(&self) -> BitRate {
        let bps = self.window * 8e9 / self.base_nanos;
        BitRate::new(bps as u64).unwrap_or(BitRate::from_mbit(1))
    }

    /// NewAck: everything before frame `before` has arrived, `next` is sent next (snd_nxt), and the frame has met `hops`.
    pub fn acknowledge(&mut self, before: u32, next: u32, hops: &[Hop]) {
        if !self.is_same_way(hops) {
            // The first one, or another path: there is nothing to compare with.
            self.keep(hops);
            return;
        }
        self.measure_inflight(hops);
        let updates = before > self.updated_until;
        self.window = self.compute_window(updates);
        if updates {
            self.updated_until = next;
        }
        self.keep(hops);
    }

    fn is_same_way(&self, hops: &[Hop]) -> bool {
        let pairs = self.hops.iter().zip(hops);
        !hops.is_empty()
            && hops.len() == self.hops.len()
            && pairs.into_iter().all(|(old, new)| old.line == new.line)
    }

    fn keep(&mut self, hops: &[Hop]) {
        self.hops.clear();
        self.hops.extend_from_slice(hops);
    }

    /// MeasureInflight: U, averaged over T.
    fn measure_inflight(&mut self, hops: &[Hop]) {
        let mut fullest: Option<(f64, f64)> = None;
        for (old, new) in self.hops.iter().zip(hops) {
            let span = new.at.saturating_since(old.at).as_nanos() as f64;
            if span == 0.0 {
                // An acknowledgement that was overtaken contains nothing new.
                continue;
            }
            let capacity = new.rate.get() as f64 / 8e9;
            let sent = new.sent_bytes.saturating_sub(old.sent_bytes) as f64;
            let queue = new.queue_bytes.min(old.queue_bytes) as f64;
            let used = queue / (capacity * self.base_nanos) + sent / span / capacity;
            if fullest.is_none_or(|(most, _)| used > most) {
                fullest = Some((used, span));
            }
        }
        if let Some((used, span)) = fullest {
            let weight = span.min(self.base_nanos) / self.base_nanos;
            self.utilization = (1.0 - weight) * self.utilization + weight * used;
        }
    }

    /// ComputeWind.
    fn compute_window(&mut self, updates: bool) -> f64 {
        let eta = self.config.eta.as_f64();
        let step = self.config.additive.get() as f64;
        let is_multiplicative = self.utilization >= eta || self.stage >= self.config.max_stage;
        let window = if is_multiplicative {
            // An idle line would make it infinite; the bound below applies.
            self.reference * eta / self.utilization.max(f64::MIN_POSITIVE) + step
        } else {
            self.reference + step
        };
        let [least, most] = self.bounds;
        let window = window.max(least).min(most);
        if updates {
            self.stage = if is_multiplicative { 0 } else { self.stage + 1 };
            self.reference = window;
        }
        window
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use weir_core::Instant;

    use super::*;

    const LINE: BitRate = BitRate::from_mbit(100_000);
    const T: Duration = Duration::from_micros(10);

    fn hop(line: u32, micros: u64, sent_bytes: u64, queue_bytes: u64) -> Hop {
        Hop {
            line,
            at: Instant::ZERO + Duration::from_micros(micros),
            sent_bytes,
            queue_bytes,
            rate: LINE,
        }
    }

    #[track_caller]
    fn assert_near(seen: f64, wanted: f64) {
        assert!(
            (seen - wanted).abs() < 1e-6 * wanted.abs(),
            "{seen}, not {wanted}"
        );
    }

    #[test]
    fn begins_with_the_line_for_a_round_trip() {
        let hpcc = Hpcc::new(HpccConfig::default(), LINE, T);
        assert_near(hpcc.window_bytes(), 125_000.0);
        assert_eq!(hpcc.rate(), LINE);
    }

    /// Algorithm 1 by hand: a line that carries 12.5 kB in 1 µs is full; with 62.5 kB waiting, half of B T, U is 1.5.
    #[test]
    fn a_full_line_with_a_queue_shrinks_the_window_to_eta() {
        let mut hpcc = Hpcc::new(HpccConfig::default(), LINE, T);
        hpcc.acknowledge(1, 100, &[hop(7, 0, 0, 62_500)]);
        assert_near(hpcc.window_bytes(), 125_000.0);
        // τ = 10 µs = T: all of U is new. min(qlen) counts, not the newer one.
        hpcc.acknowledge(2, 110, &[hop(7, 10, 125_000, 90_000)]);
        assert_near(hpcc.utilization(), 1.5);
        let first = 125_000.0 * 0.95 / 1.5 + 80.0;
        assert_near(hpcc.window_bytes(), first);
        assert_near(hpcc.reference_bytes(), first);
        assert_near(hpcc.rate().get() as f64, first * 8e5);
        // Until frame 110 is acknowledged, the window changes but the reference does not. τ/T = 1/10: U = 0.9 · 1.5 + 0.1 ·
        // 0.5.
        hpcc.acknowledge(3, 120, &[hop(7, 11, 131_250, 0)]);
        assert_near(hpcc.utilization(), 1.4);
        assert_near(hpcc.window_bytes(), first * 0.95 / 1.4 + 80.0);
        assert_near(hpcc.reference_bytes(), first);
        hpcc.acknowledge(111, 130, &[hop(7, 21, 131_250 + 118_750, 0)]);
        assert_near(hpcc.utilization(), 0.95);
        assert_near(hpcc.reference_bytes(), first + 80.0);
    }

    #[test]
    fn the_fullest_line_counts() {
        let mut hpcc = Hpcc::new(HpccConfig::default(), LINE, T);
        hpcc.acknowledge(1, 2, &[hop(1, 0, 0, 0), hop(2, 0, 0, 0), hop(3, 0, 0, 0)]);
        let met = [
            hop(1, 10, 50_000, 0),
            hop(2, 10, 150_000, 0),
            hop(3, 10, 100_000, 0),
        ];
        hpcc.acknowledge(2, 3, &met);
        assert_near(hpcc.utilization(), 1.2);
    }

    #[test]
    fn below_eta_it_adds_up_to_max_stage_times_and_then_multiplies() {
        let mut hpcc = Hpcc::new(HpccConfig::default(), LINE, T);
        hpcc.acknowledge(1, 2, &[hop(1, 0, 0, 125_000)]);
        hpcc.acknowledge(2, 3, &[hop(1, 10, 125_000, 125_000)]);
        // U = 2.
        let mut reference = 125_000.0 * 0.475 + 80.0;
        assert_near(hpcc.reference_bytes(), reference);
        let mut sent = 125_000;
        for round in 1..=6u32 {
            sent += 62_500;
            let micros = 10 + 10 * u64::from(round);
            hpcc.acknowledge(3 + round, 3 + round, &[hop(1, micros, sent, 0)]);
            assert_near(hpcc.utilization(), 0.5);
            reference = if round <= 5 {
                reference + 80.0
            } else {
                // incStage = maxStage: W_c · 0.95/0.5.
                reference * 1.9 + 80.0
            };
            assert_near(hpcc.reference_bytes(), reference);
        }
    }

    #[test]
    fn another_path_is_measured_anew() {
        let mut hpcc = Hpcc::new(HpccConfig::default(), LINE, T);
        hpcc.acknowledge(1, 2, &[hop(1, 0, 0, 0)]);
        hpcc.acknowledge(2, 3, &[hop(2, 1, 1_000_000_000, 0)]);
        assert_near(hpcc.utilization(), 1.0);
        assert_near(hpcc.window_bytes(), 125_000.0);
        // The same for one with more hops, and one without any.
        hpcc.acknowledge(3, 4, &[hop(2, 2, 1_000_000_000, 0), hop(3, 2, 0, 0)]);
        hpcc.acknowledge(4, 5, &[]);
        assert_near(hpcc.window_bytes(), 125_000.0);
    }

    proptest! {
        #[test]
        fn windows_stay_in_their_bounds(steps in prop::collection::vec((0u64..30, 0u64..400_000, 0u64..500_000), 0..200)) {
            let mut hpcc = Hpcc::new(HpccConfig::default(), LINE, T);
            let (mut micros, mut sent) = (0, 0);
            for (index, (time, bytes, queue)) in steps.into_iter().enumerate() {
                micros += time;
                sent += bytes;
                let before = index as u32 + 1;
                hpcc.acknowledge(before, before + 10, &[hop(1, micros, sent, queue)]);
                prop_assert!((125.0..=125_000.0).contains(&hpcc.window_bytes()));
                prop_assert!((125.0..=125_000.0).contains(&hpcc.reference_bytes()));
                prop_assert!(hpcc.rate() <= LINE && hpcc.rate() >= BitRate::from_mbit(99));
            }
        }
    }
}
