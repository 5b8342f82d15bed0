//! The machine's monotonic clock.

use nix::time::{clock_gettime, ClockId};
use weir_core::units::NANOS_PER_SECOND;
use weir_core::Instant;

/// Returns the time on `CLOCK_MONOTONIC`.
pub fn now() -> Instant {
    // The clock exists on every Linux; if it failed, time would stop and no timer would be due.
    clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(Instant::ZERO, |time| {
        Instant::from_nanos(
            (time.tv_sec() as u64)
                .saturating_mul(NANOS_PER_SECOND)
                .saturating_add(time.tv_nsec() as u64),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_does_not_go_back() {
        let first = now();
        assert!(first > Instant::ZERO);
        assert!(now() >= first);
    }
}
