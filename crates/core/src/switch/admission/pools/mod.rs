//! Pools: memory shared by ingress buffers, and the resulting pauses.
//!
//! A buffer's threshold depends on the free memory of its pool and so changes with every frame of others. It is checked
//! only when it matters: at the buffer's own arrivals and departures, and at each refresh of its pause. In addition,
//! each departure from a pool checks [`LOOKS`] of its paused buffers in turn. So the cost of a frame does not depend on
//! the number of buffers, and no buffer stays paused beyond its next refresh while the pool has room for it.

mod buffer;

use super::outcome::PauseChange;
use crate::config::{PoolConfig, SwitchConfig, POOLS_MAX};
use crate::counters::DropReason;
use crate::frame::{Admitted, Frame};
use crate::switch::Switch;
use crate::units::{Bytes, Instant, PortId, Priority, PORT_COUNT_MAX, PRIORITY_COUNT};

pub(in crate::switch) use buffer::Pooled;

/// Paused buffers checked by a departure.
const LOOKS: usize = 2;

#[derive(Clone, Debug)]
pub(in crate::switch) struct Pools {
    pools: [Pool; POOLS_MAX],
    /// Set while frames arrive that were inside already: see [`Switch::receive_left`].
    pub(super) takes_left: bool,
}

#[derive(Clone, Debug)]
pub(in crate::switch) struct Pool {
    size: Bytes,
    used: Bytes,
    used_max: Bytes,
    /// Sum of the headrooms.
    headroom: Bytes,
    headroom_used: Bytes,
    headroom_used_max: Bytes,
    /// Bytes admitted by releases above the headroom of a buffer; at most `headroom`.
    lent: Bytes,
    /// Buffers above their threshold.
    over: Turns,
}

impl Pools {
    pub(in crate::switch) fn new(config: &SwitchConfig) -> Self {
        let none = PoolConfig::new(Bytes::ZERO, Bytes::ZERO);
        let of = |index| Pool::new(config.pools.get(index).unwrap_or(&none));
        Self {
            pools: core::array::from_fn(of),
            takes_left: false,
        }
    }

    pub(in crate::switch) fn get(&self, pool: u8) -> &Pool {
        // The count is a power of two: no bounds check.
        &self.pools[usize::from(pool) % POOLS_MAX]
    }

    pub(super) fn get_mut(&mut self, pool: u8) -> &mut Pool {
        &mut self.pools[usize::from(pool) % POOLS_MAX]
    }

    /// Returns the next buffer of a pool that is above its threshold, in turn. O(1): scans at most 33 words.
    pub(in crate::switch) fn next_over(&mut self, pool: u8) -> Option<(PortId, Priority)> {
        self.get_mut(pool).over.next()
    }

    pub(in crate::switch) fn restart_peaks(&mut self) {
        for pool in &mut self.pools {
            (pool.used_max, pool.headroom_used_max) = (pool.used, pool.headroom_used);
        }
    }
}

impl Pool {
    fn new(config: &PoolConfig) -> Self {
        Self {
            size: config.size,
            used: Bytes::ZERO,
            used_max: Bytes::ZERO,
            headroom: config.headroom,
            headroom_used: Bytes::ZERO,
            headroom_used_max: Bytes::ZERO,
            lent: Bytes::ZERO,
            over: Turns::default(),
        }
    }

    pub(in crate::switch) fn used(&self) -> Bytes {
        self.used
    }

    pub(in crate::switch) fn used_max(&self) -> Bytes {
        self.used_max
    }

    /// Returns the used part of the pool's headroom, without bytes that releases admitted above it.
    pub(in crate::switch) fn headroom_used(&self) -> Bytes {
        self.headroom_used
    }

    pub(in crate::switch) fn headroom_used_max(&self) -> Bytes {
        self.headroom_used_max
    }

    /// Returns the number of lossless buffers above their threshold.
    pub(in crate::switch) fn paused(&self) -> usize {
        usize::from(self.over.count)
    }

    fn free(&self) -> Bytes {
        self.size.saturating_sub(self.used)
    }

    /// Returns false, without any change, if there is not enough.
    fn take(&mut self, bytes: Bytes) -> bool {
        if bytes > self.free() {
            return false;
        }
        self.used += bytes;
        self.used_max = self.used_max.max(self.used);
        true
    }

    fn give_back(&mut self, bytes: Bytes) {
        self.used -= bytes;
    }

    /// Returns false, without any change, if there is not enough headroom, or not enough above it for releases.
    fn take_headroom(&mut self, bytes: Bytes, lent: Bytes) -> bool {
        let fits = self.headroom_used + bytes <= self.headroom && self.lent + lent <= self.headroom;
        if fits {
            self.headroom_used += bytes;
            self.headroom_used_max = self.headroom_used_max.max(self.headroom_used);
            self.lent += lent;
        }
        fits
    }

    /// Takes frames that were inside already. Their division into parts may have differed; together they fit.
    fn take_left(&mut self, bytes: Bytes, beyond: Bytes) -> bool {
        let all = self.headroom_used + self.lent + bytes + beyond;
        let fits = all <= self.headroom + self.headroom;
        if fits {
            self.headroom_used += bytes;
            self.headroom_used_max = self.headroom_used_max.max(self.headroom_used);
            self.lent += beyond;
        }
        fits
    }

    fn give_back_headroom(&mut self, bytes: Bytes, lent: Bytes) {
        self.headroom_used -= bytes;
        self.lent -= lent;
    }
}

impl Switch {
    /// [`receive`](Self::receive) for a frame that was handed over by another switch with these buffers. With pools,
    /// the amounts of the buffers depended on the order of arrival; all frames fit in any order now. Without pools
    /// there is no difference.
    ///
    /// # Errors
    ///
    /// As [`receive`](Self::receive).
    pub fn receive_left(
        &mut self,
        now: Instant,
        port: PortId,
        frame: Frame,
    ) -> Result<Admitted, DropReason> {
        self.take_left(true);
        let outcome = self.receive(now, port, frame);
        self.take_left(false);
        outcome
    }

    /// Sets whether later frames were handed over, as by [`receive_left`](Self::receive_left), or are new.
    pub fn take_left(&mut self, left: bool) {
        self.pools.takes_left = left;
    }

    /// Updates pauses after a departure that may change them. O(1).
    #[inline(never)]
    pub(in crate::switch) fn note_discharge(
        &mut self,
        port: PortId,
        priority: Priority,
        change: PauseChange,
    ) {
        if change == PauseChange::Freed {
            self.promise_credits(port, priority);
            return;
        }
        if change != PauseChange::Pool {
            self.note_pause_change(port, priority, change);
            return;
        }
        self.look_at(port, priority);
        let Some(pool) = self.ports[port.index()].ingress[priority.index()].pool() else {
            return;
        };
        for _ in 0..LOOKS {
            let Some((port, priority)) = self.pools.next_over(pool) else {
                return;
            };
            self.look_at(port, priority);
        }
    }

    fn look_at(&mut self, port: PortId, priority: Priority) {
        if let Some(state) = self.ports.get_mut(port.index()) {
            let change = state.ingress[priority.index()].look(&mut self.pools);
            self.note_pause_change(port, priority, change);
        }
    }
}

/// A (port, priority) as a bit of [`Turns`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Place(u16);

impl Place {
    pub(super) fn of(port: PortId, priority: Priority) -> Self {
        Self((priority.index() * PORT_COUNT_MAX + port.index()) as u16)
    }
}

const PLACES: usize = PORT_COUNT_MAX * PRIORITY_COUNT;

#[derive(Clone, Debug)]
struct Turns {
    words: [u64; PLACES / 64],
    count: u16,
    last: u16,
}

impl Default for Turns {
    fn default() -> Self {
        Self {
            words: [0; PLACES / 64],
            count: 0,
            last: 0,
        }
    }
}

impl Turns {
    fn insert(&mut self, Place(place): Place) {
        let (word, bit) = (usize::from(place) / 64, 1 << (place % 64));
        self.count += u16::from(self.words[word] & bit == 0);
        self.words[word] |= bit;
    }

    fn remove(&mut self, Place(place): Place) {
        let (word, bit) = (usize::from(place) / 64, 1 << (place % 64));
        self.count -= u16::from(self.words[word] & bit != 0);
        self.words[word] &= !bit;
    }

    fn is_empty(&self) -> bool {
        self.count == 0
    }

    fn next(&mut self) -> Option<(PortId, Priority)> {
        if self.is_empty() {
            return None;
        }
        let first = (usize::from(self.last) + 1) % PLACES;
        let from = |word: usize, mask: u64| {
            let bits = self.words[word] & mask;
            (bits != 0).then(|| word * 64 + bits.trailing_zeros() as usize)
        };
        let begin = first / 64;
        let rest = (1..=self.words.len()).map(|step| (begin + step) % self.words.len());
        let place = from(begin, u64::MAX << (first % 64))
            .or_else(|| rest.into_iter().find_map(|word| from(word, u64::MAX)))?;
        self.last = place as u16;
        let port = PortId::from_index(place % PORT_COUNT_MAX)?;
        Some((
            port,
            Priority::from_low_bits((place / PORT_COUNT_MAX) as u8),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_buffers_take_turns() {
        let mut turns = Turns::default();
        assert_eq!(turns.next(), None);
        let places = [(0, 0), (255, 7), (63, 3), (64, 3), (0, 7), (1, 0)];
        let of = |(port, priority): (u8, usize)| (PortId::new(port), Priority::ALL[priority]);
        for (port, priority) in places.map(of) {
            turns.insert(Place::of(port, priority));
            turns.insert(Place::of(port, priority));
        }
        for _ in 0..3 {
            let mut seen: Vec<_> = (0..places.len()).map_while(|_| turns.next()).collect();
            seen.sort_unstable_by_key(|(port, priority)| (port.get(), priority.get()));
            seen.dedup();
            assert_eq!(seen.len(), places.len());
        }
        for (port, priority) in places.map(of) {
            turns.remove(Place::of(port, priority));
            turns.remove(Place::of(port, priority));
        }
        assert_eq!((turns.next(), turns.count), (None, 0));
    }
}
