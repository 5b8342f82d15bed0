//! Whether one egress stalls, and whether its storm is over: one sample after the other.

use crate::config::{StormAction, WatchdogConfig};
use crate::switch::observe::StormGauges;
use crate::units::{Duration, Instant};

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Watch {
    pub(super) stage: Stage,
    /// Of the last sample: its span, and the counters then.
    pub(super) span: u64,
    pub(super) tx_frames: u64,
    pub(super) pauses: u64,
    pub(super) was_held: bool,
    pub(super) idle: Duration,
    /// Of the storms that are over.
    pub(super) frames: StormGauges,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Stage {
    #[default]
    Quiet,
    /// The detection time is over.
    Stalled,
    /// It was called a storm.
    Storm(Storm),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Storm {
    pub(super) action: StormAction,
    pub(super) since: Instant,
    /// Time without a pause.
    pub(super) quiet: Duration,
    /// The egress's counters when it began.
    pub(super) dropped: u64,
    pub(super) forwarded: u64,
    /// The frames admitted from the port by then.
    pub(super) received: u64,
}

/// What a sample sees of one (egress, priority).
#[derive(Clone, Copy)]
pub(super) struct Seen {
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
        match &mut self.stage {
            Stage::Quiet if !stood => self.idle = Duration::ZERO,
            Stage::Quiet => {
                self.idle += seen.elapsed;
                if self.idle >= config.detection {
                    self.stage = Stage::Stalled;
                    return Change::Stalled { idle: self.idle };
                }
            }
            Stage::Stalled if stood => {}
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
                    return Change::Restored(storm);
                }
            }
        }
        Change::None
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
    fn each_of_three_conditions_starts_the_clock_anew() {
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
        // One more pause, already over when the sample is taken.
        let again = Seen { pauses: 2, ..calm };
        assert_eq!(watch.sample(&CONFIG, &again), Change::None);
        for _ in 0..3 {
            assert_eq!(watch.sample(&CONFIG, &again), Change::None);
        }
        assert!(matches!(watch.sample(&CONFIG, &again), Change::Restored(_)));
        assert_eq!(watch.stage, Stage::Quiet);
    }

    #[test]
    fn a_pause_in_force_is_no_end_although_none_comes_in() {
        let mut watch = storm();
        for _ in 0..100 {
            assert_eq!(watch.sample(&CONFIG, &HELD), Change::None);
        }
    }
}
