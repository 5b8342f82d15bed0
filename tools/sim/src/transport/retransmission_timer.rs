//! Retransmission timer (RFC 6298).

use weir_core::{Duration, Instant};

const BACK_OFF_MAX: u32 = 6;

#[derive(Clone, Debug)]
pub(super) struct RetransmissionTimer {
    least: Duration,
    /// SRTT and RTTVAR, in nanoseconds.
    smoothed: Option<(u64, u64)>,
    doublings: u32,
    expires_at: Option<Instant>,
}

impl RetransmissionTimer {
    pub(super) const fn new(least: Duration) -> Self {
        Self {
            least,
            smoothed: None,
            doublings: 0,
            expires_at: None,
        }
    }

    pub(super) fn measure(&mut self, round_trip: Duration) {
        let sample = round_trip.as_nanos();
        self.smoothed = Some(match self.smoothed {
            None => (sample, sample / 2),
            Some((mean, deviation)) => (
                (7 * mean + sample) / 8,
                (3 * deviation + mean.abs_diff(sample)) / 4,
            ),
        });
    }

    /// RTO; the minimum before the first measurement.
    pub(super) fn timeout(&self) -> Duration {
        let measured = self.smoothed.map_or(0, |(mean, deviation)| {
            mean.saturating_add(deviation.saturating_mul(4))
        });
        Duration::from_nanos(measured)
            .max(self.least)
            .saturating_mul(1 << self.doublings)
    }

    pub(super) const fn expires_at(&self) -> Option<Instant> {
        self.expires_at
    }

    pub(super) fn start_unless_running(&mut self, now: Instant) {
        if self.expires_at.is_none() {
            self.expires_at = Some(now + self.timeout());
        }
    }

    /// New frames were acknowledged; the timer continues while others are outstanding.
    pub(super) fn acknowledged(&mut self, now: Instant, is_outstanding: bool) {
        self.doublings = 0;
        self.expires_at = is_outstanding.then(|| now + self.timeout());
    }

    /// Doubles the next timeout after an expiry.
    pub(super) fn back_off(&mut self) {
        self.doublings = (self.doublings + 1).min(BACK_OFF_MAX);
        self.expires_at = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_rfc_6298() {
        let micros = Duration::from_micros;
        let mut timer = RetransmissionTimer::new(micros(100));
        assert_eq!(timer.timeout(), micros(100));
        timer.measure(micros(80));
        // SRTT = R, RTTVAR = R/2, RTO = SRTT + 4 RTTVAR.
        assert_eq!(timer.timeout(), micros(240));
        timer.measure(micros(160));
        // RTTVAR = 3/4 · 40 + 1/4 · 80 = 50; SRTT = 7/8 · 80 + 1/8 · 160 = 90.
        assert_eq!(timer.timeout(), micros(290));
        timer.back_off();
        timer.back_off();
        assert_eq!(timer.timeout(), micros(1160));
        for _ in 0..20 {
            timer.back_off();
        }
        assert_eq!(timer.timeout(), micros(290 * 64));
        timer.acknowledged(Instant::ZERO, true);
        assert_eq!(timer.expires_at(), Some(Instant::ZERO + micros(290)));
        timer.acknowledged(Instant::ZERO, false);
        assert_eq!(timer.expires_at(), None);
    }
}
