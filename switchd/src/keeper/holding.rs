//! Neighbours paused from one switch to the next, and the ending switch's report.

use std::io;
use std::time::{Duration, Instant};

use super::hold::Hold;
use super::link::{FromKeeper, HeldLink, ResumedLink};

/// Maximum pause: a switch that does not return must not stop the network.
const HOLD_MAX: Duration = Duration::from_secs(20);

#[derive(Default)]
pub(super) struct Holding {
    hold: Option<Hold>,
    lost_frames: u64,
    missed_frames: u64,
    is_over: bool,
}

impl Holding {
    /// Pauses the neighbours.
    ///
    /// # Errors
    ///
    /// Those of [`Hold::begin`].
    pub(super) fn begin(&mut self, links: Vec<HeldLink>) -> io::Result<()> {
        self.hold = Some(Hold::begin(links)?);
        self.is_over = false;
        Ok(())
    }

    pub(super) fn note_left(&mut self, lost_frames: u64, missed_frames: u64) {
        self.lost_frames = lost_frames;
        self.missed_frames = missed_frames;
        if let Some(hold) = &self.hold {
            hold.refresh();
        }
    }

    /// Returns the time at which they are released in any case; `None` while no neighbour is paused.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.hold.as_ref().map(|hold| hold.began() + HOLD_MAX)
    }

    /// Releases the neighbours for a switch that has begun to forward. `failed` is the reason for which the previous
    /// switch failed.
    pub(super) fn release(
        &mut self,
        resumed: &[ResumedLink],
        failed: Option<String>,
    ) -> FromKeeper {
        let lost_frames = std::mem::take(&mut self.lost_frames);
        let hold = self.hold.take();
        let missed_frames =
            std::mem::take(&mut self.missed_frames) + hold.as_ref().map_or(0, Hold::take_missed);
        let none = match self.is_over {
            true => HOLD_MAX,
            false => Duration::ZERO,
        };
        let held = hold.map_or(none, |hold| hold.end(resumed));
        tracing::info!(?held, lost_frames, missed_frames, "neighbours resumed");
        FromKeeper::Released {
            held_micros: held.as_micros() as u64,
            lost_frames,
            missed_frames,
            failed,
        }
    }

    /// Stops sending pauses because no switch started in time; the last ones expire.
    pub(super) fn give_up(&mut self) {
        let hold = self.hold.take();
        self.is_over = true;
        self.missed_frames += hold.as_ref().map_or(0, Hold::take_missed);
        tracing::error!(limit = ?HOLD_MAX, "the restarted switch is not ready in time: pauses of neighbours expire");
    }
}
