//! The recent-flow monitor: flows that recently passed between ports, and their bytes (needed to select flows to
//! reroute; CLCM paper, section 3.2.2).
//!
//! A set-associative table. A flow that finds its set full replaces the lightest one in it and continues from that
//! one's weight (space-saving, Metwally et al., ICDT 2005). The weights of a set then add up to its traffic, and a flow
//! with more than 1/[`WAYS`] of it is never the lightest. Weights are bytes that are halved [`HALVINGS`] times per
//! maximum age, so that flows that were heavy long ago are replaced.

use crate::config::FlowMonitorConfig;
use crate::frame::Frame;
use crate::random::mix;
use crate::switch::Switch;
use crate::units::{Bytes, Duration, Instant, MacAddress, PortId, Priority};

/// Flows of one set: a flow with more than this fraction of its set's traffic is known.
pub const WAYS: usize = 4;

/// Halvings of a weight in the time after which an idle flow is forgotten.
pub const HALVINGS: u64 = 8;

/// One flow, read by [`Switch::flows`](crate::Switch::flows).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowRecord {
    /// Ingress port.
    pub ingress: PortId,
    /// Its egress port. A moved flow has a new record.
    pub egress: PortId,
    /// Its priority.
    pub priority: Priority,
    /// Destination address.
    pub destination: MacAddress,
    /// Hash of the flow.
    pub flow_hash: u32,
    /// Admitted bytes since `first_seen`.
    pub bytes: Bytes,
    /// Admitted frames since `first_seen`.
    pub frames: u64,
    /// Time of its first frame since it was last unknown.
    pub first_seen: Instant,
    /// Time of its last frame.
    pub last_seen: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::switch) struct FlowKey {
    pub(in crate::switch) ingress: PortId,
    pub(in crate::switch) egress: PortId,
    pub(in crate::switch) priority: Priority,
    pub(in crate::switch) destination: MacAddress,
    pub(in crate::switch) flow_hash: u32,
}

/// One cache line: most frames touch no other of this table.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Entry {
    /// Destination, ingress and egress.
    path: u64,
    flow_hash: u32,
    /// Value of [`Flows::epoch`] when `weight` was last halved.
    epoch: u32,
    bytes: u64,
    /// Zero for an unused entry.
    frames: u64,
    first_seen: Instant,
    last_seen: Instant,
    weight: u64,
    priority: Priority,
}

const UNUSED: Entry = Entry {
    path: 0,
    flow_hash: 0,
    epoch: 0,
    bytes: 0,
    frames: 0,
    first_seen: Instant::ZERO,
    last_seen: Instant::ZERO,
    weight: 0,
    priority: Priority::ALL[0],
};

#[derive(Debug)]
#[cfg_attr(feature = "testing", derive(Clone))]
pub(in crate::switch) struct Flows {
    entries: Vec<Entry>,
    age: Duration,
    half_life: Duration,
    /// Number of half-lives that have passed.
    epoch: u32,
    epoch_ends: Instant,
    evictions: u64,
}

impl Flows {
    pub(in crate::switch) fn new(config: &FlowMonitorConfig) -> Self {
        let sets = match config.capacity {
            0 => 0,
            capacity => capacity.div_ceil(WAYS).next_power_of_two(),
        };
        let half_life = config.age.divided_by(HALVINGS).max(Duration::from_nanos(1));
        Self {
            entries: vec![UNUSED; sets * WAYS],
            age: config.age,
            half_life,
            epoch: 0,
            epoch_ends: Instant::ZERO + half_life,
            evictions: 0,
        }
    }

    #[inline]
    pub(in crate::switch) fn is_on(&self) -> bool {
        !self.entries.is_empty()
    }

    pub(in crate::switch) fn evictions(&self) -> u64 {
        self.evictions
    }

    /// Records an admitted frame. O(1), and one cache line for a flow in its hashed position.
    #[inline]
    pub(in crate::switch) fn note(&mut self, now: Instant, key: FlowKey, length: Bytes) {
        if now >= self.epoch_ends {
            self.begin_epoch(now);
        }
        let path = path_of(&key);
        let hash = mix(path ^ (u64::from(key.flow_hash) << 13) ^ u64::from(key.priority.get()));
        let first = self.set_of(hash) * WAYS;
        let way = (hash >> 62) as usize % WAYS;
        let (age, epoch) = (self.age, self.epoch);
        let Some(set) = self.entries.get_mut(first..first + WAYS) else {
            return;
        };
        let index = if set[way].is(path, &key) {
            way
        } else {
            match set.iter().position(|entry| entry.is(path, &key)) {
                Some(index) => index,
                None => {
                    let index = victim(set, way, now, age, epoch);
                    let entry = &mut set[index];
                    self.evictions += u64::from(entry.is_recent(now, age));
                    // The weight stays: it may be this flow's own from earlier.
                    (entry.path, entry.flow_hash, entry.priority) =
                        (path, key.flow_hash, key.priority);
                    entry.begin(now);
                    index
                }
            }
        };
        let entry = &mut set[index];
        if !entry.is_recent(now, age) {
            entry.begin(now);
        }
        entry.weight = entry.weight_at(epoch) + length.get();
        entry.epoch = epoch;
        entry.bytes += length.get();
        entry.frames += 1;
        entry.last_seen = now;
    }

    /// Iterates over flows with a frame within the maximum age, in the order of the table. O(1) for each place.
    pub(in crate::switch) fn iter(&self, now: Instant) -> impl Iterator<Item = FlowRecord> + '_ {
        self.entries
            .iter()
            .filter(move |entry| entry.is_recent(now, self.age))
            .map(Entry::record)
    }

    pub(in crate::switch) fn capacity(&self) -> usize {
        self.entries.len()
    }

    pub(in crate::switch) fn age(&self) -> Duration {
        self.age
    }

    /// Returns the flow at an index of the table, if it is recent.
    pub(in crate::switch) fn get(&self, now: Instant, index: usize) -> Option<FlowRecord> {
        let entry = self.entries.get(index)?;
        entry.is_recent(now, self.age).then(|| entry.record())
    }

    fn set_of(&self, hash: u64) -> usize {
        hash as usize & ((self.entries.len() / WAYS).max(1) - 1)
    }

    #[cold]
    fn begin_epoch(&mut self, now: Instant) {
        let over = now.saturating_since(self.epoch_ends).as_nanos() / self.half_life.as_nanos() + 1;
        self.epoch = self
            .epoch
            .wrapping_add(over.min(u64::from(u32::MAX)) as u32);
        self.epoch_ends = self.epoch_ends + self.half_life.saturating_mul(over);
    }
}

/// Returns the place of an idle flow, or else of the lightest one; among equals the preferred one.
fn victim(set: &[Entry], preferred: usize, now: Instant, age: Duration, epoch: u32) -> usize {
    let rank = |index: usize| {
        let entry = &set[index];
        (entry.is_recent(now, age), entry.weight_at(epoch))
    };
    (0..set.len())
        .map(|step| (preferred + step) % set.len())
        .min_by_key(|index| rank(*index))
        .unwrap_or(preferred)
}

fn path_of(key: &FlowKey) -> u64 {
    key.destination.to_u64()
        | u64::from(key.ingress.get()) << 48
        | u64::from(key.egress.get()) << 56
}

impl Entry {
    #[inline]
    fn is(&self, path: u64, key: &FlowKey) -> bool {
        self.path == path
            && self.flow_hash == key.flow_hash
            && self.priority == key.priority
            && self.frames > 0
    }

    #[inline]
    fn is_recent(&self, now: Instant, age: Duration) -> bool {
        self.frames > 0 && now.saturating_since(self.last_seen) < age
    }

    fn weight_at(&self, epoch: u32) -> u64 {
        let halvings = epoch.wrapping_sub(self.epoch);
        self.weight.checked_shr(halvings).unwrap_or(0)
    }

    fn begin(&mut self, now: Instant) {
        (self.bytes, self.frames) = (0, 0);
        (self.first_seen, self.last_seen) = (now, now);
    }

    fn record(&self) -> FlowRecord {
        FlowRecord {
            ingress: PortId::new((self.path >> 48) as u8),
            egress: PortId::new((self.path >> 56) as u8),
            priority: self.priority,
            destination: MacAddress::from_u64(self.path),
            flow_hash: self.flow_hash,
            bytes: Bytes::new(self.bytes),
            frames: self.frames,
            first_seen: self.first_seen,
            last_seen: self.last_seen,
        }
    }
}

impl Switch {
    /// Flows with a frame within [`FlowMonitorConfig::age`](crate::config::FlowMonitorConfig::age), in no particular
    /// order. Counts every admitted unicast frame. O(capacity) in total.
    pub fn flows(&self, now: Instant) -> impl Iterator<Item = FlowRecord> + '_ {
        self.flows.iter(now)
    }

    /// Number of recent flows that the monitor forgot because heavier ones needed their place.
    pub fn flow_evictions(&self) -> u64 {
        self.flows.evictions()
    }

    /// Records the flow of an admitted frame; `only` is its one egress port.
    pub(in crate::switch) fn note_flow(
        &mut self,
        now: Instant,
        ingress: PortId,
        frame: &Frame,
        only: Option<PortId>,
    ) {
        if !self.flows.is_on() || frame.destination.is_group() {
            return;
        }
        if let Some(egress) = only {
            let key = FlowKey {
                ingress,
                egress,
                priority: frame.priority,
                destination: frame.destination,
                flow_hash: frame.flow_hash,
            };
            self.flows.note(now, key, frame.length);
        }
    }
}

#[cfg(test)]
#[path = "flows_tests.rs"]
mod tests;
