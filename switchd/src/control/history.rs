//! A bounded ring of samples of the whole switch.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use weir_api::daemon::{self, QueueSample, Sample};
use weir_core::{Duration, Instant, PortId, Priority};

use super::info::SwitchInfo;
use crate::dataplane::messages::Snapshot;

/// The ring. Its lock is held only to move pointers.
#[derive(Debug)]
pub struct History {
    interval: Duration,
    capacity: usize,
    ring: Mutex<Ring>,
}

#[derive(Debug, Default)]
struct Ring {
    last: u64,
    samples: VecDeque<Arc<Compact>>,
}

/// A sample without names.
#[derive(Debug)]
struct Compact {
    sequence: u64,
    at: Instant,
    held_frames: u64,
    queues: Vec<CompactQueue>,
}

#[derive(Debug)]
struct CompactQueue {
    port: PortId,
    priority: Priority,
    ingress_bytes: u64,
    egress_bytes: u64,
    tx_bytes_total: u64,
    paused: bool,
    suspected: bool,
}

impl History {
    /// An empty history that keeps `capacity` samples.
    pub fn new(interval: Duration, capacity: usize) -> Self {
        Self {
            interval,
            capacity: capacity.max(1),
            ring: Mutex::default(),
        }
    }

    /// Time between two samples.
    pub fn interval(&self) -> Duration {
        self.interval
    }

    /// Adds what `snapshot` has of the lossless classes; the oldest sample goes when there is no room.
    pub fn push(&self, info: &SwitchInfo, snapshot: &Snapshot) {
        let queues = info
            .numbered_ports()
            .zip(&snapshot.ports)
            .flat_map(|((port, _), state)| {
                info.lossless().map(move |priority| {
                    let gauges = &state.gauges[priority.index()];
                    CompactQueue {
                        port,
                        priority,
                        ingress_bytes: gauges.ingress.get(),
                        egress_bytes: gauges.egress.get(),
                        tx_bytes_total: state.counters.priority[priority.index()].tx_bytes,
                        paused: gauges.paused,
                        suspected: gauges.suspected,
                    }
                })
            })
            .collect();
        let mut ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
        ring.last += 1;
        let sample = Compact {
            sequence: ring.last,
            at: snapshot.at,
            held_frames: snapshot.held_frames,
            queues,
        };
        if ring.samples.len() >= self.capacity {
            ring.samples.pop_front();
        }
        ring.samples.push_back(Arc::new(sample));
    }

    /// The samples after number `after`.
    pub fn to_api(&self, info: &SwitchInfo, after: u64) -> daemon::History {
        let (next, samples): (u64, Vec<Arc<Compact>>) = {
            let ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
            let newer = ring
                .samples
                .iter()
                .filter(|sample| sample.sequence > after)
                .cloned()
                .collect();
            (ring.last, newer)
        };
        daemon::History {
            interval_seconds: self.interval.as_secs_f64(),
            samples: samples.iter().map(|sample| sample.to_api(info)).collect(),
            next,
        }
    }
}

impl Compact {
    fn to_api(&self, info: &SwitchInfo) -> Sample {
        Sample {
            sequence: self.sequence,
            monotonic_nanos: self.at.as_nanos(),
            held_frames: self.held_frames,
            queues: self
                .queues
                .iter()
                .map(|queue| QueueSample {
                    port: info.port_name(queue.port),
                    priority: queue.priority.get(),
                    ingress_bytes: queue.ingress_bytes,
                    egress_bytes: queue.egress_bytes,
                    tx_bytes_total: queue.tx_bytes_total,
                    paused: queue.paused,
                    suspected: queue.suspected,
                })
                .collect(),
        }
    }
}
