//! Polling time before the loop sleeps.
//!
//! The cost of a wake-up depends on the machine: microseconds on bare metal, a millisecond if a halted virtual CPU has to be
//! scheduled again. Frames that arrive in that time wait. The loop therefore polls for a multiple of the recent cost of a
//! wake-up, but polling without result is limited to a share of the time under any traffic. Only frames count as work:
//! requests of the control plane do not keep the loop awake.

use weir_core::{Duration, Instant};

/// Polling without result may take one part in this many of the time.
const VAIN_SHARE: u64 = 200;
/// Maximum saved-up polling time.
const CREDIT_MAX: Duration = Duration::from_millis(20);
/// Polling time without credit.
const WITHOUT_CREDIT: Duration = Duration::from_micros(5);
/// Polling time as a multiple of the cost of a wake-up.
const WAKE_COSTS: u64 = 4;
/// From this setting on the thread polls all the time.
const LONGEST: Duration = Duration::from_millis(2);
/// A wake-up that costs more than this means that others used the CPU.
const COST_MAX: Duration = Duration::from_millis(10);
/// Weight of a wake-up in the average: one part in this many.
const SMOOTHING: i128 = 8;

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Spin {
    set: Duration,
    /// True if the polling time is always [`set`](Self::set).
    is_fixed: bool,
    /// Moving average.
    wake_cost: Duration,
    credit: Duration,
    credited_at: Instant,
    /// Time at which frames were last received or sent.
    last_frames: Instant,
    /// Start of polling without result.
    vain_since: Instant,
    /// End of the last sleep, until the first frame after it.
    woke_at: Option<Instant>,
}

impl Spin {
    /// Creates the state; `set` is the minimum polling time while there is credit. Zero never polls without result;
    /// from 2 ms on it is the exact time.
    pub(super) fn new(now: Instant, set: Duration) -> Self {
        Self {
            set,
            is_fixed: set.is_zero() || set >= LONGEST,
            wake_cost: Duration::ZERO,
            credit: CREDIT_MAX,
            credited_at: now,
            last_frames: now,
            vain_since: now,
            woke_at: None,
        }
    }

    /// Records received or sent frames.
    pub(super) fn note_frames(&mut self, now: Instant) {
        (self.last_frames, self.vain_since) = (now, now);
        self.woke_at = None;
    }

    /// Returns true until the first frame after a sleep is known.
    pub(super) fn wants_arrival(&self) -> bool {
        self.woke_at.is_some()
    }

    /// Records that the first frame after a sleep arrived at the device at `at`. A frame that arrived after the sleep does
    /// not measure a wake-up.
    pub(super) fn note_arrival(&mut self, at: Instant) {
        let Some(woke_at) = self.woke_at.take() else {
            return;
        };
        if at < woke_at && at > Instant::ZERO {
            let cost = woke_at.saturating_since(at).min(COST_MAX).as_nanos();
            let known = self.wake_cost.as_nanos();
            let step = (i128::from(cost) - i128::from(known)) / SMOOTHING;
            self.wake_cost = Duration::from_nanos(known.saturating_add_signed(step as i64));
        }
    }

    /// Returns true once it has polled long enough.
    pub(super) fn is_over(&self, now: Instant) -> bool {
        now.saturating_since(self.last_frames) >= self.limit()
    }

    fn limit(&self) -> Duration {
        if self.is_fixed {
            return self.set;
        }
        let enough = self.wake_cost.saturating_mul(WAKE_COSTS);
        let affordable = self.credit.max(self.set.min(WITHOUT_CREDIT));
        enough.max(self.set).min(LONGEST).min(affordable)
    }

    /// Records the start of a sleep: the polling before it had no result.
    pub(super) fn note_sleep(&mut self, now: Instant) {
        let earned = now.saturating_since(self.credited_at).as_nanos() / VAIN_SHARE;
        let credit = (self.credit + Duration::from_nanos(earned)).min(CREDIT_MAX);
        self.credited_at = now;
        let vain = now.saturating_since(self.vain_since);
        let left = credit.as_nanos().saturating_sub(vain.as_nanos());
        self.credit = Duration::from_nanos(left);
    }

    /// Records the end of a sleep.
    pub(super) fn note_awake(&mut self, now: Instant) {
        self.vain_since = now;
        self.woke_at = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SET: Duration = Duration::from_micros(50);

    fn start() -> Instant {
        Instant::from_nanos(1_000_000_000)
    }

    /// Sleeps for `idle`; then a frame arrives, for which waking up takes `cost`. Returns the next polling time.
    fn frame_after(spin: &mut Spin, now: &mut Instant, idle: Duration, cost: Duration) -> Duration {
        let began = *now;
        *now = *now + spin.limit();
        assert!(spin.is_over(*now));
        spin.note_sleep(*now);
        *now = *now + idle;
        let arrival = *now;
        *now = *now + cost;
        spin.note_awake(*now);
        assert!(spin.wants_arrival());
        spin.note_arrival(arrival);
        spin.note_frames(*now);
        assert!(*now > began);
        spin.limit()
    }

    #[test]
    fn what_a_wake_up_costs_sets_how_long_is_looked() {
        let mut now = start();
        let mut spin = Spin::new(now, SET);
        assert_eq!(spin.limit(), SET);
        for _ in 0..50 {
            let cost = Duration::from_micros(100);
            frame_after(&mut spin, &mut now, Duration::from_secs(1), cost);
        }
        let limit = spin.limit();
        assert!(
            (350..=400).contains(&(limit.as_nanos() / 1_000)),
            "four wake-ups: {limit:?}"
        );
        for _ in 0..100 {
            let cost = Duration::from_millis(100);
            frame_after(&mut spin, &mut now, Duration::from_secs(1), cost);
        }
        assert_eq!(spin.limit(), LONGEST);
        for _ in 0..100 {
            let cost = Duration::from_micros(1);
            frame_after(&mut spin, &mut now, Duration::from_secs(1), cost);
        }
        assert_eq!(spin.limit(), SET);
    }

    /// Holds for any traffic and any cost of a wake-up.
    #[test]
    fn looking_in_vain_is_a_small_share_of_the_time() {
        for frames_per_second in [10, 100, 1_000] {
            let mut now = start();
            let mut spin = Spin::new(now, SET);
            let idle = Duration::from_nanos(1_000_000_000 / frames_per_second);
            let mut looked = 0;
            let frames = 60 * frames_per_second;
            for _ in 0..frames {
                looked += spin.limit().as_nanos();
                let cost = Duration::from_micros(300);
                frame_after(&mut spin, &mut now, idle, cost);
            }
            let passed = now.saturating_since(start()).as_nanos();
            let least = frames * WITHOUT_CREDIT.as_nanos();
            let most = passed / VAIN_SHARE + CREDIT_MAX.as_nanos() + LONGEST.as_nanos() + least;
            assert!(
                looked <= most,
                "{looked} ns of {passed} at {frames_per_second}/s"
            );
        }
    }

    /// Frames that arrive before the end of each search cost no credit, so the next pause finds all of it.
    #[test]
    fn a_search_that_finds_something_is_free() {
        let mut now = start();
        let mut spin = Spin::new(now, SET);
        for _ in 0..1_000_000 {
            now = now + Duration::from_micros(40);
            assert!(!spin.is_over(now));
            spin.note_frames(now);
        }
        assert_eq!(spin.credit, CREDIT_MAX);
    }

    /// Wake-ups without frames neither prolong the polling nor cost credit.
    #[test]
    fn the_control_plane_does_not_keep_the_loop_awake() {
        let mut now = start();
        let mut spin = Spin::new(now, SET);
        now = now + SET;
        spin.note_sleep(now);
        for _ in 0..1_000 {
            now = now + Duration::from_millis(5);
            spin.note_awake(now);
            now = now + Duration::from_micros(3);
            assert!(spin.is_over(now));
            spin.note_sleep(now);
        }
        assert!(spin.credit + Duration::from_micros(3) >= CREDIT_MAX);
    }

    /// A frame that arrived while the loop was awake, or without a time, does not measure a wake-up.
    #[test]
    fn only_frames_that_came_during_the_sleep_are_measured() {
        let mut spin = Spin::new(start(), SET);
        for arrival in [start() + SET, start(), Instant::ZERO] {
            spin.note_awake(start());
            spin.note_arrival(arrival);
            assert_eq!(spin.wake_cost, Duration::ZERO);
            assert!(!spin.wants_arrival());
        }
    }

    #[test]
    fn a_long_time_is_taken_as_it_is_set_and_so_is_none() {
        for set in [Duration::ZERO, LONGEST, Duration::from_secs(3_600)] {
            let mut spin = Spin::new(start(), set);
            spin.credit = Duration::ZERO;
            assert_eq!(spin.limit(), set);
        }
    }
}
