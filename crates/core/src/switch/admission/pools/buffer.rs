//! An ingress buffer that is part of a pool.
//!
//! Its contents have three parts: up to `reserved` bytes of its reserve, `shared` bytes of the pool, and
//! frames that arrived while it was above its threshold, in the headroom. Frames fill the parts in this order
//! and leave them in the opposite one, as in switch chips. A buffer that reaches its threshold, or finds the
//! pool full, is `over` until its headroom is empty and it either is `xon_offset` below the present threshold
//! or uses nothing of the pool.
//!
//! A release lets a buffer that is over take up to its headroom once more: the values of [`Raise`] count within the
//! headroom here.

use super::{Place, Pool, Pools};
use crate::config::{ClassConfig, ClassMode, PoolShare, PortConfig, Threshold};
use crate::switch::admission::ingress::IngressBuffer;
use crate::switch::admission::outcome::{Admission, PauseChange, Raise, Refusal};
use crate::units::{Bytes, Instant, PortId, Priority};

#[derive(Clone, Debug)]
pub(in crate::switch) struct Pooled {
    place: Place,
    pool: u8,
    threshold: Threshold,
    reserved: Bytes,
    xon_offset: Bytes,
    /// Its share of the pool's headroom; `None` if it drops frames that do not fit.
    headroom: Option<Bytes>,
    shared: Bytes,
    /// Bytes in the headroom, and above it during a release.
    above: Bytes,
    over: bool,
    closed: bool,
}

impl Pooled {
    pub(in crate::switch) fn of(
        class: &ClassConfig,
        config: &PortConfig,
        (port, priority): (usize, Priority),
    ) -> Option<Self> {
        let share = class.share_at(config, priority)?;
        let headroom = match class.mode_at(config) {
            ClassMode::Pfc(thresholds) => Some(thresholds.headroom()),
            ClassMode::Lossy { .. } | ClassMode::Level { .. } => None,
        };
        Some(Self {
            place: Place::of(PortId::from_index(port)?, priority),
            pool: share.pool,
            threshold: share.threshold,
            reserved: share.reserved,
            xon_offset: share.xon_offset,
            headroom,
            shared: Bytes::ZERO,
            above: Bytes::ZERO,
            over: false,
            closed: false,
        })
    }

    pub(in crate::switch::admission) fn above(&self) -> Bytes {
        self.above
    }

    /// Returns the occupancy up to which frames change only the reserve.
    pub(in crate::switch::admission) fn calm_up_to(&self) -> Bytes {
        match self.is_calm() && !self.closed {
            true => self.reserved,
            false => Bytes::ZERO,
        }
    }

    /// Returns true if it holds nothing beyond its reserve.
    pub(in crate::switch::admission) fn is_calm(&self) -> bool {
        !self.over && self.shared == Bytes::ZERO && self.above == Bytes::ZERO
    }

    /// Returns the present thresholds, (xoff, xon); zero for a buffer that does not pause.
    pub(in crate::switch::admission) fn thresholds(&self, pools: &Pools) -> (Bytes, Bytes) {
        if self.headroom.is_none() {
            return (Bytes::ZERO, Bytes::ZERO);
        }
        let threshold = self.threshold.at(pools.get(self.pool).free());
        let xon = threshold.saturating_sub(self.xon_offset);
        (self.room(pools), self.reserved + xon)
    }

    /// Returns the maximum occupancy: its reserve, and its present share of the pool.
    pub(in crate::switch::admission) fn room(&self, pools: &Pools) -> Bytes {
        self.reserved + self.threshold.at(pools.get(self.pool).free())
    }

    fn set_over(&mut self, pool: &mut Pool, over: bool) {
        self.over = over;
        match over {
            true => pool.over.insert(self.place),
            false => pool.over.remove(self.place),
        }
    }

    /// Charges the bytes above `found`; returns false if there is no room. `lends` is the amount that a release admits
    /// above the headroom.
    fn charge(&mut self, found: Bytes, cells: Bytes, lends: Bytes, pool: &mut Pool) -> bool {
        if self.over || self.closed {
            return self.charge_above(cells, lends, pool);
        }
        let own = found.saturating_sub(self.shared + self.above);
        let rest = cells.saturating_sub(self.reserved.saturating_sub(own));
        if rest == Bytes::ZERO {
            return true;
        }
        if self.headroom.is_none() {
            let fits = self.shared < self.threshold.at(pool.free()) && pool.take(rest);
            if fits {
                self.shared += rest;
            }
            return fits;
        }
        if !pool.take(rest) {
            self.set_over(pool, true);
            return self.charge_above(rest, lends, pool);
        }
        self.shared += rest;
        if self.shared >= self.threshold.at(pool.free()) {
            self.set_over(pool, true);
        }
        true
    }

    /// Charges frames that were already inside: to the pool first, regardless of the threshold.
    fn charge_left(&mut self, found: Bytes, cells: Bytes, pool: &mut Pool) -> bool {
        let own = found.saturating_sub(self.shared + self.above);
        let rest = cells.saturating_sub(self.reserved.saturating_sub(own));
        let of_pool = match self.headroom {
            None if rest > pool.free() => return false,
            None => rest,
            Some(_) => rest.min(pool.free()),
        };
        let beyond = rest - of_pool;
        let headroom = self.headroom.unwrap_or_default();
        let within = (self.above + beyond)
            .min(headroom)
            .saturating_sub(self.above);
        if !pool.take_left(within, beyond - within) {
            return false;
        }
        let _ = pool.take(of_pool);
        self.shared += of_pool;
        self.above += beyond;
        let has_shared = self.shared > Bytes::ZERO && self.shared >= self.threshold.at(pool.free());
        if self.headroom.is_some() && (self.above > Bytes::ZERO || has_shared) {
            self.set_over(pool, true);
        }
        true
    }

    fn charge_above(&mut self, cells: Bytes, lends: Bytes, pool: &mut Pool) -> bool {
        let headroom = self.headroom.unwrap_or_default();
        let above = self.above + cells;
        let within = above.min(headroom).saturating_sub(self.above);
        let fits = above <= headroom + lends && pool.take_headroom(within, cells - within);
        if fits {
            self.above = above;
        }
        fits
    }

    /// Returns true if bytes were returned to the pool.
    fn discharge(&mut self, cells: Bytes, pool: &mut Pool) -> bool {
        let headroom = self.headroom.unwrap_or_default();
        let from_above = cells.min(self.above);
        let left = self.above - from_above;
        let within = self.above.min(headroom) - left.min(headroom);
        pool.give_back_headroom(within, from_above - within);
        self.above = left;
        let from_shared = (cells - from_above).min(self.shared);
        pool.give_back(from_shared);
        self.shared -= from_shared;
        from_above + from_shared > Bytes::ZERO
    }

    /// Ends the `over` state if the present threshold allows it.
    fn settle_over(&mut self, pool: &mut Pool) {
        let is_below = || {
            let threshold = self.threshold.at(pool.free());
            self.shared == Bytes::ZERO || self.shared + self.xon_offset <= threshold
        };
        if self.over && self.above == Bytes::ZERO && is_below() {
            self.set_over(pool, false);
        }
    }
}

impl IngressBuffer {
    pub(in crate::switch::admission) fn admit_pooled(
        &mut self,
        occupancy: Bytes,
        pools: &mut Pools,
    ) -> Result<Admission, Refusal> {
        let (found, cells) = (self.occupancy, occupancy - self.occupancy);
        let lends = self.lends();
        let Some(pooled) = &mut self.pooled else {
            return Err(self.refuse(PauseChange::None));
        };
        let takes_left = pools.takes_left;
        let pool = pools.get_mut(pooled.pool);
        let fits = match takes_left {
            true => pooled.charge_left(found, cells, pool),
            false => pooled.charge(found, cells, lends, pool),
        };
        if fits {
            self.occupancy = occupancy;
            self.note_high();
        }
        let change = self.look(pools);
        match fits {
            true => Ok(Admission {
                change,
                mark: false,
            }),
            false => Err(self.refuse(change)),
        }
    }

    /// Returns the amount above its headroom that a release admits.
    fn lends(&self) -> Bytes {
        match self.raise {
            Raise::None => Bytes::ZERO,
            Raise::Active { xoff, .. } | Raise::Draining { xoff } => xoff,
        }
    }

    /// Accounts for a departure from a buffer of a pool; the pauses of this and other buffers must be checked.
    pub(in crate::switch::admission) fn discharge_pooled(
        &mut self,
        cells: Bytes,
        pools: &mut Pools,
    ) -> PauseChange {
        let Some(pooled) = &mut self.pooled else {
            return PauseChange::None;
        };
        let pool = pools.get_mut(pooled.pool);
        let gave_back = pooled.discharge(cells, pool);
        if pooled.above == Bytes::ZERO && self.draining {
            self.raise = Raise::None;
            self.settle();
        }
        match gave_back && !pool.over.is_empty() {
            true => PauseChange::Pool,
            false => self.look(pools),
        }
    }

    pub(in crate::switch) fn pool(&self) -> Option<u8> {
        self.pooled.as_ref().map(|pooled| pooled.pool)
    }

    /// Pauses or resumes by the free part of the pool; does nothing for a buffer without a pool.
    pub(in crate::switch) fn look(&mut self, pools: &mut Pools) -> PauseChange {
        let Some(pooled) = &mut self.pooled else {
            return PauseChange::None;
        };
        let pool = pools.get_mut(pooled.pool);
        pooled.settle_over(pool);
        let pauses = match self.raise {
            _ if pooled.headroom.is_none() => false,
            _ if pooled.closed || self.held => true,
            Raise::Active { xon, .. } if self.pausing => pooled.over && pooled.above > xon,
            Raise::Active { xoff, .. } => pooled.over && pooled.above >= xoff,
            Raise::None | Raise::Draining { .. } => pooled.over,
        };
        let change = match (self.pausing, pauses) {
            (false, true) => {
                self.refresh_at = Instant::FAR_FUTURE;
                PauseChange::Xoff
            }
            (true, false) => PauseChange::Xon,
            _ => PauseChange::None,
        };
        self.pausing = pauses;
        if self.overrun && !pauses {
            self.overrun = false;
        }
        self.settle_calm();
        change
    }

    /// [`raise`](Self::raise) for a buffer of a pool: makes room for `extra` more than the headroom holds.
    pub(in crate::switch::admission) fn raise_pooled(
        &mut self,
        extra: Bytes,
        until: Instant,
        pools: &mut Pools,
    ) -> PauseChange {
        let Some((above, Some(headroom))) = self
            .pooled
            .as_ref()
            .filter(|pooled| !pooled.closed)
            .map(|pooled| (pooled.above, pooled.headroom))
        else {
            return PauseChange::None;
        };
        let xoff = (above + extra).min(headroom);
        let resumes_now = above.min(xoff.saturating_sub(Bytes::new(1)));
        self.raise_to(xoff, xoff.saturating_sub(extra).max(resumes_now), until);
        self.look(pools)
    }

    /// [`expire_raise`](Self::expire_raise) for a buffer of a pool.
    pub(in crate::switch::admission) fn end_raise_pooled(
        &mut self,
        xoff: Bytes,
        pools: &mut Pools,
    ) -> PauseChange {
        let is_empty = self.headroom_used() == Bytes::ZERO;
        self.raise = match is_empty {
            true => Raise::None,
            false => Raise::Draining { xoff },
        };
        self.settle();
        self.look(pools)
    }

    /// [`retune`](Self::retune) for a buffer of a pool: only its threshold can change.
    pub(in crate::switch::admission) fn retune_pooled(
        &mut self,
        share: &PoolShare,
        pools: &mut Pools,
    ) -> PauseChange {
        if let Some(pooled) = &mut self.pooled {
            pooled.threshold = share.threshold;
            pooled.xon_offset = share.xon_offset;
        }
        self.settle();
        self.look(pools)
    }

    /// [`close`](Self::close) for a buffer of a pool: later frames use the headroom.
    pub(in crate::switch::admission) fn close_pooled(&mut self, pools: &mut Pools) -> PauseChange {
        if let Some(pooled) = &mut self.pooled {
            pooled.closed = true;
        }
        self.look(pools)
    }
}
