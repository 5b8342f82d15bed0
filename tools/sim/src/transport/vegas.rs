//! TCP Vegas: the window depends on the number of frames waiting in queues (Brakmo and Peterson, JSAC 1995; the calculus
//! paper's Algorithm 3, which has the same thresholds and leaves slow start with W · baseRTT/minRTT).

use weir_config::scenario::WindowConfig;
use weir_core::Duration;

/// Minimum window in congestion avoidance: with fewer frames there is no measurable difference.
const WINDOW_MIN: f64 = 2.0;

#[derive(Clone, Debug)]
pub(super) struct Vegas {
    /// baseRTT.
    base: Option<Duration>,
    /// minRTT: shortest round trip since the last update of the window.
    shortest: Option<Duration>,
    /// The window is updated when this frame is acknowledged.
    next_look: u32,
    in_slow_start: bool,
    /// In slow start the window grows only in every other round trip, so that it can be compared with the previous one.
    grows: bool,
}

impl Vegas {
    pub(super) const fn new() -> Self {
        Self {
            base: None,
            shortest: None,
            next_look: 0,
            in_slow_start: true,
            grows: true,
        }
    }

    pub(super) fn lost(&mut self, in_slow_start: bool) {
        self.in_slow_start = in_slow_start;
        self.grows = true;
        self.shortest = None;
    }

    pub(super) fn measure(&mut self, round_trip: Duration) {
        let least =
            |known: Option<Duration>| known.map_or(round_trip, |known| known.min(round_trip));
        self.base = Some(least(self.base));
        self.shortest = Some(least(self.shortest));
    }

    /// Returns the window after the arrival of every frame before `acknowledged`; `next` is the
    /// next frame to be sent.
    pub(super) fn window(
        &mut self,
        window: f64,
        threshold: f64,
        acknowledged: u32,
        next: u32,
        config: &WindowConfig,
    ) -> f64 {
        let mut window = window;
        if self.in_slow_start && self.grows {
            window += 1.0;
        }
        if acknowledged <= self.next_look {
            return window;
        }
        self.next_look = next;
        let (Some(base), Some(shortest)) = (self.base, self.shortest.take()) else {
            return window;
        };
        let ratio = base.as_nanos() as f64 / shortest.as_nanos().max(1) as f64;
        // baseRTT · (W/baseRTT − W/minRTT).
        let extra = window * (1.0 - ratio);
        if self.in_slow_start {
            if extra > f64::from(config.gamma) || window >= threshold {
                self.in_slow_start = false;
                return (window * ratio).max(WINDOW_MIN);
            }
            self.grows = !self.grows;
        } else if extra < f64::from(config.alpha) {
            window += 1.0;
        } else if extra > f64::from(config.beta) {
            window = (window - 1.0).max(WINDOW_MIN);
        }
        window
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: WindowConfig = WindowConfig {
        initial: 1,
        ssthresh: None,
        timeout_min: Duration::from_millis(3),
        duplicate_acks: 3,
        alpha: 1,
        beta: 3,
        gamma: 1,
    };

    /// Sends one whole window of frames with one round-trip time; returns the window after it.
    fn round(vegas: &mut Vegas, window: f64, number: &mut u32, micros: u64) -> f64 {
        let frames = window as u32;
        let next = *number + frames;
        let mut window = window;
        while *number < next {
            *number += 1;
            vegas.measure(Duration::from_micros(micros));
            // Frames sent after each acknowledgement belong to the next round.
            let sent = next + (*number + frames - next);
            window = vegas.window(window, f64::INFINITY, *number, sent, &CONFIG);
        }
        window
    }

    #[test]
    fn doubles_in_every_other_round_trip_until_frames_wait() {
        let mut vegas = Vegas::new();
        let mut number = 0;
        let mut window = 2.0;
        let mut windows = Vec::new();
        for _ in 0..5 {
            window = round(&mut vegas, window, &mut number, 100);
            windows.push(window);
        }
        assert!(windows.windows(2).all(|pair| pair[1] >= pair[0]));
        assert!(vegas.in_slow_start && window >= 8.0, "{windows:?}");
        // At 125 µs a fifth of the window waits: more than γ.
        let before = window;
        while vegas.in_slow_start {
            window = round(&mut vegas, window, &mut number, 125);
        }
        assert!(window < 2.0 * before && window >= 0.8 * before, "{window}");
    }

    #[test]
    fn keeps_between_alpha_and_beta_extra_frames() {
        let mut vegas = Vegas::new();
        vegas.lost(false);
        vegas.measure(Duration::from_micros(100));
        // 20 · (1 − 100/100) = 0 extra frames: one more. 20 · (1 − 100/110) = 1.8: unchanged. 20 · (1 − 100/125) = 4: one
        // less.
        for (micros, after) in [(100, 21.0), (110, 20.0), (125, 19.0)] {
            let look = vegas.next_look + 1;
            vegas.shortest = None;
            vegas.measure(Duration::from_micros(micros));
            let window = vegas.window(20.0, f64::INFINITY, look, look + 20, &CONFIG);
            assert_eq!(window, after, "{micros}");
        }
    }
}
