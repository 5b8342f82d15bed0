//! Sample-by-sample detection of stalls at one egress, and of the end of its storm.
//!
//! A host can block others without ever pausing for the whole detection time: it lets a frame leave now and then. So at
//! edge ports the share of paused time counts as well. At fabric ports it would not distinguish a storm from
//! congestion. A switch that shares one of its lines among thirty-two others pauses each of them for 97 % of the time.

use super::StormGauges;
use crate::config::{StormAction, WatchdogConfig};
use crate::units::{Duration, Instant};

/// Detection times in one [`Window`].
const DETECTIONS_PER_WINDOW: u64 = 5;
/// Maximum percentage of a window for which a host may pause a priority with waiting frames.
const PAUSED_PERCENT_MAX: u64 = 95;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Watch {
    pub(super) stage: Stage,
    /// The span and counters of the last sample.
    pub(super) span: u64,
    pub(super) tx_frames: u64,
    pub(super) pauses: u64,
    pub(super) was_held: bool,
    pub(super) idle: Duration,
    window: Window,
    /// In the last complete window the host's share of paused time was too high.
    pub(super) pulsing: bool,
    /// Of past storms.
    pub(super) frames: StormGauges,
}

/// Window for the share of paused time.
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    began: Instant,
    /// [`Seen::paused_for`] at its start.
    paused_before: Duration,
    /// Time in it at whose samples frames waited.
    waited: Duration,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Stage {
    #[default]
    Quiet,
    /// The detection time has passed.
    Stalled,
    /// It was declared a storm.
    Storm(Storm),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Storm {
    pub(super) action: StormAction,
    pub(super) since: Instant,
    /// Time without a pause.
    pub(super) quiet: Duration,
    /// The egress's counters at its start.
    pub(super) dropped: u64,
    pub(super) forwarded: u64,
    /// Frames admitted from the port by then.
    pub(super) received: u64,
}

/// Inputs of a sample of one (egress, priority).
#[derive(Clone, Copy)]
pub(super) struct Seen {
    pub(super) now: Instant,
    /// Total time for which the neighbour has paused the priority; `None` if the share does not count.
    pub(super) paused_for: Option<Duration>,
    pub(super) span: u64,
    pub(super) elapsed: Duration,
    pub(super) tx_frames: u64,
    pub(super) pauses: u64,
    pub(super) paused: bool,
    pub(super) waiting: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    None,
    Stalled { idle: Duration },
    StallEnded,
    Restored(Storm),
}

impl Watch {
    pub(super) fn sample(&mut self, config: &WatchdogConfig, seen: &Seen) -> Change {
        let known = self.span == seen.span;
        let moved = self.tx_frames != seen.tx_frames;
        let new_pause = self.pauses != seen.pauses;
        let held = seen.paused && seen.waiting;
        let stood = known && self.was_held && held && !moved;
        self.span = seen.span;
        self.tx_frames = seen.tx_frames;
        self.pauses = seen.pauses;
        self.was_held = held;
        let paused_in_window = seen
            .paused_for
            .and_then(|paused_for| self.note_share(config, seen, paused_for));
        match &mut self.stage {
            Stage::Quiet if self.pulsing => {
                self.stage = Stage::Stalled;
                let idle = paused_in_window.unwrap_or(config.detection);
                return Change::Stalled { idle };
            }
            Stage::Quiet if !stood => self.idle = Duration::ZERO,
            Stage::Quiet => {
                self.idle += seen.elapsed;
                if self.idle >= config.detection {
                    self.stage = Stage::Stalled;
                    return Change::Stalled { idle: self.idle };
                }
            }
            Stage::Stalled if stood || self.pulsing => {}
            Stage::Stalled => {
                self.stage = Stage::Quiet;
                self.idle = Duration::ZERO;
                return Change::StallEnded;
            }
            Stage::Storm(storm) => {
                if seen.paused || new_pause || !known {
                    storm.quiet = Duration::ZERO;
                } else {
                    storm.quiet += seen.elapsed;
                }
                if storm.quiet >= config.restoration {
                    let storm = *storm;
                    self.stage = Stage::Quiet;
                    self.idle = Duration::ZERO;
                    self.pulsing = false;
                    return Change::Restored(storm);
                }
            }
        }
        Change::None
    }

    /// Judges a completed window, and begins the next one. Returns the paused time if its share is too high.
    fn note_share(
        &mut self,
        config: &WatchdogConfig,
        seen: &Seen,
        paused_for: Duration,
    ) -> Option<Duration> {
        if seen.waiting {
            self.window.waited += seen.elapsed;
        }
        let passed = seen.now.saturating_since(self.window.began);
        if passed < config.detection.saturating_mul(DETECTIONS_PER_WINDOW) {
            return None;
        }
        let paused = paused_for.saturating_sub(self.window.paused_before);
        let is_much = paused.saturating_mul(100) >= passed.saturating_mul(PAUSED_PERCENT_MAX);
        // A host may pause without limit while no frames wait for it.
        self.pulsing = is_much && self.window.waited.saturating_mul(2) >= passed;
        self.window = Window {
            began: seen.now,
            paused_before: paused_for,
            waited: Duration::ZERO,
        };
        self.pulsing.then_some(paused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK: Duration = Duration::from_millis(25);
    const CONFIG: WatchdogConfig = WatchdogConfig {
        detection: Duration::from_millis(200),
        restoration: Duration::from_millis(100),
        action: StormAction::Drop,
    };
    const HELD: Seen = Seen {
        now: Instant::ZERO,
        paused_for: None,
        span: 1,
        elapsed: TICK,
        tx_frames: 7,
        pauses: 1,
        paused: true,
        waiting: true,
    };

    fn stalled() -> Watch {
        let mut watch = Watch::default();
        for _ in 0..8 {
            assert_eq!(watch.sample(&CONFIG, &HELD), Change::None);
        }
        let idle = CONFIG.detection;
        assert_eq!(watch.sample(&CONFIG, &HELD), Change::Stalled { idle });
        assert_eq!(watch.sample(&CONFIG, &HELD), Change::None, "told once");
        watch
    }

    fn storm() -> Watch {
        let mut watch = stalled();
        watch.stage = Stage::Storm(Storm {
            action: StormAction::Drop,
            since: Instant::ZERO,
            quiet: Duration::ZERO,
            dropped: 0,
            forwarded: 0,
            received: 0,
        });
        watch
    }

    #[test]
    fn a_stall_ends_when_anything_changes() {
        for seen in [
            Seen {
                tx_frames: 8,
                ..HELD
            },
            Seen {
                paused: false,
                ..HELD
            },
            Seen {
                waiting: false,
                ..HELD
            },
        ] {
            assert_eq!(stalled().sample(&CONFIG, &seen), Change::StallEnded);
        }
        let refreshed = Seen { pauses: 9, ..HELD };
        assert_eq!(stalled().sample(&CONFIG, &refreshed), Change::None);
    }

    #[test]
    fn each_of_three_conditions_restarts_the_clock() {
        for broken in [
            Seen {
                tx_frames: 8,
                ..HELD
            },
            Seen {
                paused: false,
                ..HELD
            },
            Seen {
                waiting: false,
                ..HELD
            },
            Seen { span: 2, ..HELD },
        ] {
            let mut watch = Watch::default();
            for _ in 0..8 {
                watch.sample(&CONFIG, &HELD);
            }
            assert_eq!(watch.sample(&CONFIG, &broken), Change::None, "one before");
            for _ in 0..7 {
                let after = Seen {
                    paused: true,
                    waiting: true,
                    ..broken
                };
                assert_eq!(watch.sample(&CONFIG, &after), Change::None);
            }
        }
    }

    #[test]
    fn a_storm_ends_after_the_restoration_time_without_a_pause() {
        let calm = Seen {
            paused: false,
            ..HELD
        };
        let mut watch = storm();
        for _ in 0..3 {
            assert_eq!(watch.sample(&CONFIG, &calm), Change::None);
        }
        // One more pause, already over at the next sample.
        let again = Seen { pauses: 2, ..calm };
        assert_eq!(watch.sample(&CONFIG, &again), Change::None);
        for _ in 0..3 {
            assert_eq!(watch.sample(&CONFIG, &again), Change::None);
        }
        assert!(matches!(watch.sample(&CONFIG, &again), Change::Restored(_)));
        assert_eq!(watch.stage, Stage::Quiet);
    }

    #[test]
    fn a_pause_in_force_prolongs_a_storm_without_new_frames() {
        let mut watch = storm();
        for _ in 0..100 {
            assert_eq!(watch.sample(&CONFIG, &HELD), Change::None);
        }
    }

    /// Takes `ticks` samples in which the host pauses for `permille` of the time, and lets a frame leave before each.
    fn pulses(watch: &mut Watch, ticks: u64, permille: u64, waiting: bool) -> Vec<Change> {
        let sample = |tick: u64| {
            let passed = TICK.saturating_mul(tick);
            let seen = Seen {
                now: Instant::ZERO + passed,
                paused_for: Some(passed.saturating_mul(permille).divided_by(1_000)),
                tx_frames: tick,
                waiting,
                ..HELD
            };
            watch.sample(&CONFIG, &seen)
        };
        let changes = (1..=ticks).map(sample);
        changes.filter(|change| *change != Change::None).collect()
    }

    #[test]
    fn nearly_permanent_pauses_are_a_stall_although_frames_leave() {
        let mut watch = Watch::default();
        // 180 ms of each 180.3 ms.
        let changes = pulses(&mut watch, 40, 998, true);
        let idle = Duration::from_millis(998);
        assert_eq!(changes, [Change::Stalled { idle }]);
        assert_eq!(
            watch.stage,
            Stage::Stalled,
            "until somebody calls it a storm"
        );
        for (permille, waiting) in [(940, true), (998, false)] {
            let mut watch = Watch::default();
            assert_eq!(pulses(&mut watch, 4_000, permille, waiting), []);
        }
    }

    #[test]
    fn a_stall_by_share_ends_with_the_first_window_below_it() {
        let mut watch = Watch::default();
        pulses(&mut watch, 40, 998, true);
        let resumed = Seen {
            now: Instant::ZERO + Duration::from_millis(2_000),
            paused_for: Some(Duration::from_millis(1_900)),
            tx_frames: 80,
            ..HELD
        };
        assert_eq!(watch.sample(&CONFIG, &resumed), Change::StallEnded);
    }
}
