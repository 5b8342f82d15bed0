//! For how long the loop looks for work before it sleeps.
//!
//! Waking up costs whatever the machine makes of it: microseconds on bare metal, a millisecond where a virtual CPU that halts
//! has to be scheduled again. Frames that come meanwhile wait. So the loop looks for a multiple of what a wake-up has cost of
//! late; but looking in vain is limited to a share of the time, whatever comes and goes. Only frames count as work: a
//! control plane that asks something does not keep the loop awake.

use weir_core::{Duration, Instant};

/// Of the time, what may be spent on looking in vain: one part in so many.
const VAIN_SHARE: u64 = 200;
/// What may be saved up of it.
const CREDIT_MAX: Duration = Duration::from_millis(20);
/// Without credit.
const WITHOUT_CREDIT: Duration = Duration::from_micros(5);
/// As many times what a wake-up costs.
const WAKE_COSTS: u64 = 4;
/// Whoever sets this or more wants a thread that looks all the time.
const LONGEST: Duration = Duration::from_millis(2);
/// A wake-up that has cost more than this says that others had the CPU.
const COST_MAX: Duration = Duration::from_millis(10);
/// A wake-up counts for one part in so many of the average.
const SMOOTHING: i128 = 8;

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Spin {
    set: Duration,
    /// As long as [`set`](Self::set), whatever happens.
    is_fixed: bool,
    /// A moving average.
    wake_cost: Duration,
    credit: Duration,
    credited_at: Instant,
    /// When frames last came, or went.
    last_frames: Instant,
    /// Since when it has looked in vain.
    vain_since: Instant,
    /// The end of a sleep after which nothing has come yet.
    woke_at: Option<Instant>,
}

impl Spin {
    /// `set` is the least while there is credit. Zero never looks in vain; from 2 ms on it is exactly that.
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

    /// Frames have come or gone.
    pub(super) fn note_frames(&mut self, now: Instant) {
        (self.last_frames, self.vain_since) = (now, now);
        self.woke_at = None;
    }

    /// True before the first frames after a sleep are known of.
    pub(super) fn wants_arrival(&self) -> bool {
        self.woke_at.is_some()
    }

    /// The first frame after a sleep came to the device at `at`. One that came later says nothing of the sleep's end.
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

    /// It has looked for long enough.
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

    /// It goes to sleep: what it has looked for was in vain.
    pub(super) fn note_sleep(&mut self, now: Instant) {
        let earned = now.saturating_since(self.credited_at).as_nanos() / VAIN_SHARE;
        let credit = (self.credit + Duration::from_nanos(earned)).min(CREDIT_MAX);
        self.credited_at = now;
        let vain = now.saturating_since(self.vain_since);
        let left = credit.as_nanos().saturating_sub(vain.as_nanos());
        self.credit = Duration::from_nanos(left);
    }

    /// It has slept.
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

    /// Sleeps for `idle`; then a frame comes, for which it takes `cost` to wake up. Gives how long is looked for more.
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

    /// Whatever comes, and however dear a wake-up is.
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

    /// Frames that come before the end of each search cost no credit: the next pause finds it whole.
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

    /// Wake-ups without frames neither prolong the search nor cost anything.
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

    /// A frame that came while the loop was awake, or without a time, says nothing of wake-ups.
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
