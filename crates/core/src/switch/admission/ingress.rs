//! The ingress buffer of one (port, priority): charges, and pauses of the neighbour.
//!
//! A frame is charged in whole cells from admission to completion. A lossless buffer pauses its neighbour at `xoff` and
//! lets it resume at `xon`; frames that arrive in between use the headroom. A release (CLCM paper, section 3.3) raises
//! the three thresholds for a while.

use super::early_drops::EarlyDrops;
use super::mode::BufferMode;
use super::outcome::{Admission, PauseChange, Raise, Refusal};
use super::pools::{Pooled, Pools};
use crate::config::{PfcThresholds, PoolShare};
use crate::counters::DropReason;
use crate::units::{Bytes, Duration, Instant};

/// Fields used by every frame come first, in one cache line; [`settle`](Self::settle) stores the values derived from
/// the mode and the raise there.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(in crate::switch) struct IngressBuffer {
    pub(super) occupancy: Bytes,
    /// Up to this occupancy a frame has no further effect: no limit, threshold or watermark is lower. Zero while the
    /// neighbour is paused.
    calm_up_to: Bytes,
    limit: Bytes,
    /// Occupancy from which the neighbour is paused; out of reach if none is paused.
    pause_from: Bytes,
    /// Occupancy below which the neighbour resumes; zero if it never may.
    resume_below: Bytes,
    mark_from: Bytes,
    /// Occupancy up to which no high watermark changes.
    high: Bytes,
    pub(super) pausing: bool,
    /// Paused at any occupancy.
    pub(super) held: bool,
    pub(super) overrun: bool,
    /// The raise is [`Raise::Draining`].
    pub(super) draining: bool,
    /// Set while a discharge may change the pause state or the promised credits.
    watched: bool,
    /// The neighbour sends by credits: the occupancy does not pause it.
    by_credits: bool,
    /// Of a class with credits: frames on the room lent by a release may arrive after the release.
    keeps_loans: bool,
    occupancy_max: Bytes,
    headroom_used_max: Bytes,
    mode: BufferMode,
    pub(super) raise: Raise,
    pub(super) refresh_at: Instant,
    early: Option<EarlyDrops>,
    /// Share of a pool, if any. The thresholds and the limit above are then unused.
    pub(super) pooled: Option<Pooled>,
}

/// More than any buffer holds.
const NEVER: Bytes = Bytes::new(u64::MAX);

impl IngressBuffer {
    pub(in crate::switch) fn new(mode: BufferMode, pooled: Option<Pooled>) -> Self {
        let mut buffer = Self {
            mode,
            occupancy: Bytes::ZERO,
            calm_up_to: Bytes::ZERO,
            watched: false,
            by_credits: false,
            keeps_loans: false,
            limit: Bytes::ZERO,
            pause_from: NEVER,
            resume_below: Bytes::ZERO,
            mark_from: NEVER,
            high: Bytes::ZERO,
            draining: false,
            occupancy_max: Bytes::ZERO,
            headroom_used_max: Bytes::ZERO,
            pausing: false,
            held: false,
            refresh_at: Instant::FAR_FUTURE,
            raise: Raise::None,
            overrun: false,
            early: None,
            pooled,
        };
        buffer.settle();
        buffer
    }

    pub(in crate::switch) fn occupancy(&self) -> Bytes {
        self.occupancy
    }

    pub(in crate::switch) fn occupancy_max(&self) -> Bytes {
        self.occupancy_max
    }

    pub(in crate::switch) fn headroom_used_max(&self) -> Bytes {
        self.headroom_used_max
    }

    /// Returns the part of the occupancy above the configured xoff, or in the pool's headroom.
    pub(in crate::switch) fn headroom_used(&self) -> Bytes {
        if let Some(pooled) = &self.pooled {
            return pooled.above();
        }
        match self.mode {
            BufferMode::Pausing(_) if self.by_credits => Bytes::ZERO,
            BufferMode::Pausing(thresholds) => self.occupancy.saturating_sub(thresholds.xoff()),
            BufferMode::Bounded { .. } | BufferMode::Policed { .. } => Bytes::ZERO,
        }
    }

    pub(in crate::switch) fn restart_peaks(&mut self) {
        (self.occupancy_max, self.headroom_used_max) = (Bytes::ZERO, Bytes::ZERO);
        self.note_high();
        self.settle_calm();
    }

    /// Returns true if the occupancy of this buffer can pause the neighbour.
    pub(in crate::switch) fn may_pause(&self) -> bool {
        self.mode.pauses()
    }

    pub(in crate::switch) fn is_pausing(&self) -> bool {
        self.pausing
    }

    /// Time at which our pause must be repeated.
    pub(in crate::switch) fn refresh_at(&self) -> Option<Instant> {
        (self.pausing && self.refresh_at != Instant::FAR_FUTURE).then_some(self.refresh_at)
    }

    /// Returns true once for each refresh that is due.
    pub(in crate::switch) fn take_refresh(&mut self, now: Instant) -> bool {
        let due = self.refresh_at().is_some_and(|at| at <= now);
        if due {
            self.refresh_at = Instant::FAR_FUTURE;
        }
        due
    }

    /// Notes that the pause (or its refresh) is sent now and lasts for twice `refresh`.
    pub(in crate::switch) fn note_pause_sent(&mut self, now: Instant, refresh: Duration) {
        self.refresh_at = now + refresh;
    }

    /// Returns the thresholds in force, (xoff, xon); zero for a lossy class.
    pub(in crate::switch) fn thresholds_in(&self, pools: &Pools) -> (Bytes, Bytes) {
        match &self.pooled {
            Some(pooled) => pooled.thresholds(pools),
            None => self.thresholds(),
        }
    }

    fn thresholds(&self) -> (Bytes, Bytes) {
        match (self.mode, self.raise) {
            (BufferMode::Bounded { .. } | BufferMode::Policed { .. }, _) => {
                (Bytes::ZERO, Bytes::ZERO)
            }
            (BufferMode::Pausing(_), Raise::Active { xoff, xon, .. }) => (xoff, xon),
            (BufferMode::Pausing(normal), _) => (normal.xoff(), normal.xon()),
        }
    }

    pub(in crate::switch) fn limit(&self) -> Bytes {
        self.limit
    }

    pub(in crate::switch) fn is_half_full(&self, pools: &Pools) -> bool {
        self.occupancy + self.occupancy >= self.present_limit(pools)
    }

    /// Returns the free room, without that for headroom in a pool.
    pub(in crate::switch) fn room(&self, pools: &Pools) -> Bytes {
        self.present_limit(pools).saturating_sub(self.occupancy)
    }

    fn present_limit(&self, pools: &Pools) -> Bytes {
        match &self.pooled {
            Some(pooled) => pooled.room(pools),
            None => self.limit,
        }
    }

    fn limit_of_mode(&self) -> Bytes {
        match (self.mode, self.raise) {
            (BufferMode::Bounded { buffer: limit } | BufferMode::Policed { limit, .. }, _) => limit,
            (BufferMode::Pausing(normal), _) if self.keeps_loans && normal.xoff() > Bytes::ZERO => {
                normal.limit() + normal.headroom()
            }
            (BufferMode::Pausing(normal), Raise::None) => normal.limit(),
            (
                BufferMode::Pausing(normal),
                Raise::Active { xoff, .. } | Raise::Draining { xoff },
            ) => xoff + normal.headroom(),
        }
    }

    /// Charges `cells` bytes (whole cells), or returns the reason for refusing them.
    #[inline(always)]
    pub(in crate::switch) fn admit(
        &mut self,
        cells: Bytes,
        pools: &mut Pools,
    ) -> Result<Admission, Refusal> {
        let occupancy = self.occupancy + cells;
        if occupancy <= self.calm_up_to {
            self.occupancy = occupancy;
            return Ok(Admission {
                change: PauseChange::None,
                mark: false,
            });
        }
        self.admit_and_see(occupancy, pools)
    }

    /// The general case of [`admit`](Self::admit), with all possible effects.
    #[inline(never)]
    fn admit_and_see(&mut self, occupancy: Bytes, pools: &mut Pools) -> Result<Admission, Refusal> {
        if self.pooled.is_some() {
            return self.admit_pooled(occupancy, pools);
        }
        let found = self.occupancy;
        let limit = self.limit;
        let early = self.early.as_mut();
        let drops_early = early.is_some_and(|early| early.drops(found, occupancy - found, limit));
        if occupancy > limit || drops_early {
            return Err(self.refuse(PauseChange::None));
        }
        self.occupancy = occupancy;
        if self.occupancy > self.high {
            self.note_high();
        }
        Ok(Admission {
            change: self.reconsider(),
            mark: found >= self.mark_from,
        })
    }

    #[inline(always)]
    pub(in crate::switch) fn discharge(&mut self, cells: Bytes, pools: &mut Pools) -> PauseChange {
        self.occupancy -= cells;
        if self.watched {
            self.see_after_discharge(cells, pools)
        } else {
            PauseChange::None
        }
    }

    #[inline(never)]
    fn see_after_discharge(&mut self, cells: Bytes, pools: &mut Pools) -> PauseChange {
        if self.pooled.is_some() {
            return self.discharge_pooled(cells, pools);
        }
        if self.draining {
            self.end_draining();
        }
        let change = self.reconsider();
        if self.overrun && (change == PauseChange::Xon || !self.mode.pauses()) {
            self.overrun = false;
        }
        self.settle_calm();
        match change {
            PauseChange::None if self.by_credits => PauseChange::Freed,
            change => change,
        }
    }

    /// Converts the buffer to one of a class with credits.
    #[must_use]
    pub(in crate::switch) fn with_loans(mut self) -> Self {
        self.keeps_loans = true;
        self.settle();
        self
    }

    pub(in crate::switch) fn set_by_credits(&mut self, by_credits: bool) -> PauseChange {
        if self.by_credits == by_credits {
            return PauseChange::None;
        }
        self.by_credits = by_credits;
        self.settle();
        self.reconsider()
    }

    /// Returns the room for which credits can be given; zero while the neighbour is paused.
    pub(in crate::switch) fn room_for_credits(&self) -> Bytes {
        let limit = match (self.pausing, self.mode, self.raise) {
            (false, BufferMode::Pausing(normal), Raise::Active { xoff, .. }) => {
                xoff + normal.headroom()
            }
            (false, BufferMode::Pausing(normal), _) => normal.limit(),
            _ => Bytes::ZERO,
        };
        limit.saturating_sub(self.occupancy)
    }

    /// Makes room for at least `extra` above the present occupancy, until `until`, so that the neighbour can send into
    /// a full buffer. The raised xoff never exceeds xoff + headroom, so the memory of this buffer is bounded by
    /// [`memory_bound`](crate::ClassMode::memory_bound).
    ///
    /// `extra` counts from the present occupancy, not from xoff: frames in flight when the pause was sent have already
    /// used part of the headroom. If the headroom has no room for all of `extra`, the neighbour still resumes: at once,
    /// or, if all of the headroom is used, when the first frame leaves.
    pub(in crate::switch) fn raise(
        &mut self,
        extra: Bytes,
        until: Instant,
        pools: &mut Pools,
    ) -> PauseChange {
        if self.pooled.is_some() {
            return self.raise_pooled(extra, until, pools);
        }
        let BufferMode::Pausing(normal) = self.mode else {
            return PauseChange::None;
        };
        let raised_xoff = (self.occupancy + extra)
            .min(normal.limit())
            .max(normal.xoff());
        let resumes_now = self
            .occupancy
            .min(raised_xoff.saturating_sub(Bytes::new(1)));
        let raised_xon = raised_xoff
            .saturating_sub(extra)
            .max(normal.xon())
            .max(resumes_now);
        self.raise_to(raised_xoff, raised_xon, until);
        self.reconsider()
    }

    pub(super) fn raise_to(&mut self, xoff: Bytes, xon: Bytes, until: Instant) {
        let until = match self.raise {
            Raise::Active { until: earlier, .. } => earlier.max(until),
            _ => until,
        };
        self.raise = Raise::Active { xoff, xon, until };
        self.settle();
    }

    pub(in crate::switch) fn raised_until(&self) -> Option<Instant> {
        match self.raise {
            Raise::Active { until, .. } => Some(until),
            _ => None,
        }
    }

    pub(in crate::switch) fn expire_raise(
        &mut self,
        now: Instant,
        pools: &mut Pools,
    ) -> PauseChange {
        match (self.mode, self.raise) {
            (_, Raise::Active { xoff, until, .. }) if self.pooled.is_some() && until <= now => {
                self.end_raise_pooled(xoff, pools)
            }
            (BufferMode::Pausing(normal), Raise::Active { xoff, until, .. }) if until <= now => {
                self.raise = if self.occupancy > normal.xoff() {
                    Raise::Draining { xoff }
                } else {
                    Raise::None
                };
                self.settle();
                self.reconsider()
            }
            _ => PauseChange::None,
        }
    }

    /// Returns true while the charge may exceed the thresholds: during a release, or because of frames admitted by it
    /// or under older thresholds.
    pub(in crate::switch) fn is_raised(&self) -> bool {
        !matches!(self.raise, Raise::None)
    }

    /// Replaces the thresholds with others of the same kind, while [`is_raised`](Self::is_raised) is false. Frames
    /// admitted or in flight under the old ones stay admitted.
    pub(in crate::switch) fn retune(
        &mut self,
        mode: BufferMode,
        share: Option<&PoolShare>,
        pools: &mut Pools,
    ) -> PauseChange {
        let old_limit = self.limit();
        self.mode = mode;
        if let Some(share) = share {
            return self.retune_pooled(share, pools);
        }
        if let BufferMode::Pausing(thresholds) = mode {
            let as_before = old_limit.saturating_sub(thresholds.headroom());
            if self.occupancy.min(as_before) > thresholds.xoff() {
                self.raise = Raise::Draining { xoff: as_before };
            }
        }
        self.settle();
        self.reconsider()
    }

    /// Pauses the neighbour at any occupancy: the switch is shutting down.
    pub(in crate::switch) fn close(&mut self, pools: &mut Pools) -> PauseChange {
        if self.pooled.is_some() {
            return self.close_pooled(pools);
        }
        if let BufferMode::Policed { limit, .. } = &mut self.mode {
            *limit = Bytes::ZERO;
        }
        if let BufferMode::Pausing(_) = self.mode {
            self.raise = Raise::None;
            let room = self.limit_of_mode();
            self.mode = BufferMode::Pausing(PfcThresholds::always_paused(room));
        }
        self.settle();
        self.reconsider()
    }

    /// Pauses the neighbour at any occupancy, or returns to pauses by occupancy. Frames in flight are still admitted.
    pub(in crate::switch) fn hold(&mut self, held: bool, pools: &mut Pools) -> PauseChange {
        self.held = held;
        match self.pooled {
            Some(_) => self.look(pools),
            None => self.reconsider(),
        }
    }

    fn reconsider(&mut self) -> PauseChange {
        let change = if !self.pausing && (self.held || self.occupancy >= self.pause_from) {
            self.pausing = true;
            self.refresh_at = Instant::FAR_FUTURE;
            PauseChange::Xoff
        } else if self.pausing && !self.held && self.occupancy < self.resume_below {
            self.pausing = false;
            PauseChange::Xon
        } else {
            PauseChange::None
        };
        self.settle_calm();
        change
    }

    /// Computes the bound of the fast path; to be called after every other change.
    pub(super) fn settle_calm(&mut self) {
        self.watched = self.pausing || self.overrun || self.draining || self.by_credits;
        if let Some(pooled) = &self.pooled {
            self.watched |= !pooled.is_calm();
            self.calm_up_to = pooled.calm_up_to().min(self.high);
            return;
        }
        let below_pause = self.pause_from.saturating_sub(Bytes::new(1));
        self.calm_up_to = if self.pausing {
            Bytes::ZERO
        } else {
            // A frame below `mark_from` is not marked, and adds to the occupancy.
            self.limit
                .min(self.high)
                .min(below_pause)
                .min(self.mark_from)
                .min(self.early.as_ref().map_or(NEVER, EarlyDrops::from))
        };
    }

    /// Computes the limits after a change of the mode or the raise.
    pub(super) fn settle(&mut self) {
        let (xoff, xon) = self.thresholds();
        self.limit = self.limit_of_mode();
        let by_credits = self.by_credits && xoff > Bytes::ZERO;
        self.pause_from = if self.mode.pauses() && !by_credits {
            xoff
        } else {
            NEVER
        };
        self.resume_below = if by_credits {
            NEVER
        } else if self.mode.pauses() && xoff > xon {
            xon + Bytes::new(1)
        } else {
            Bytes::ZERO
        };
        (self.mark_from, self.early) = match self.mode {
            BufferMode::Policed {
                mark_from,
                drop_from,
                limit,
            } => (
                mark_from.unwrap_or(NEVER),
                drop_from.map(|from| EarlyDrops::new(from, limit)),
            ),
            _ => (NEVER, None),
        };
        self.draining = matches!(self.raise, Raise::Draining { .. });
        // Checked with the next frame: the headroom may now begin elsewhere.
        self.high = Bytes::ZERO;
        self.settle_calm();
    }

    #[cold]
    pub(super) fn note_high(&mut self) {
        self.occupancy_max = self.occupancy_max.max(self.occupancy);
        self.high = self.occupancy_max;
        if let BufferMode::Pausing(thresholds) = self.mode {
            self.headroom_used_max = self.headroom_used_max.max(self.headroom_used());
            if self.pooled.is_some() {
                return;
            }
            self.high = self.high.min(thresholds.xoff() + self.headroom_used_max);
        }
    }

    #[cold]
    fn end_draining(&mut self) {
        if let BufferMode::Pausing(thresholds) = self.mode {
            if self.occupancy <= thresholds.xoff() {
                self.raise = Raise::None;
                self.settle();
            }
        }
    }

    #[cold]
    pub(super) fn refuse(&mut self, change: PauseChange) -> Refusal {
        let first = !self.overrun;
        self.overrun = true;
        self.watched = true;
        let reason = match self.mode {
            BufferMode::Bounded { .. } => DropReason::BufferFull,
            BufferMode::Pausing(_) => DropReason::HeadroomExceeded,
            BufferMode::Policed { .. } => DropReason::Policed,
        };
        Refusal {
            reason,
            first,
            change,
        }
    }
}

#[cfg(feature = "testing")]
#[path = "digest/ingress.rs"]
mod digest;

#[cfg(test)]
#[path = "ingress_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "ingress_calm_tests.rs"]
mod calm_tests;
