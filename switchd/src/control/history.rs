//! A bounded ring of samples of the whole switch.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use weir_api::daemon::{self, PortSample, QueueSample, Sample};
use weir_api::overview::{Curves, Passed};
use weir_core::{Duration, Instant, PortId, Priority};
use weir_dataplane::messages::{PortSnapshot, Snapshot};

use super::info::SwitchInfo;

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

#[derive(Debug)]
struct Compact {
    sequence: u64,
    at: Instant,
    held_frames: u64,
    queues: Vec<CompactQueue>,
    ports: Vec<CompactPort>,
}

#[derive(Clone, Copy, Debug)]
struct CompactPort {
    rx_bytes_total: u64,
    tx_bytes_total: u64,
}

impl CompactPort {
    fn of(port: &PortSnapshot) -> Self {
        let counters = &port.counters.priority;
        Self {
            rx_bytes_total: counters.iter().map(|priority| priority.rx_bytes).sum(),
            tx_bytes_total: counters.iter().map(|priority| priority.tx_bytes).sum(),
        }
    }
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
    /// Creates an empty history that keeps `capacity` samples.
    pub fn new(interval: Duration, capacity: usize) -> Self {
        Self {
            interval,
            capacity: capacity.max(1),
            ring: Mutex::default(),
        }
    }

    /// Returns the time between two samples.
    pub fn interval(&self) -> Duration {
        self.interval
    }

    /// Adds the lossless classes of `snapshot`; a full history loses its oldest sample.
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
            ports: snapshot.ports.iter().map(CompactPort::of).collect(),
        };
        if ring.samples.len() >= self.capacity {
            ring.samples.pop_front();
        }
        ring.samples.push_back(Arc::new(sample));
    }

    /// Returns the samples after number `after`.
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

    /// Returns the traffic of the ports within `span` before the newest sample, at no more than `points` moments.
    pub fn curves(&self, info: &SwitchInfo, span: Duration, points: u64) -> Curves {
        let samples = self.spaced(span, points);
        let along = |index: usize, of: fn(&CompactPort) -> u64| {
            let totals = samples.iter().filter_map(|sample| sample.ports.get(index));
            totals.map(of).collect()
        };
        let ports = info.numbered_ports().enumerate();
        Curves {
            monotonic_nanos: samples.iter().map(|sample| sample.at.as_nanos()).collect(),
            ports: ports
                .map(|(index, (port, _))| {
                    let passed = Passed {
                        rx_bytes_total: along(index, |port| port.rx_bytes_total),
                        tx_bytes_total: along(index, |port| port.tx_bytes_total),
                    };
                    (info.port_name(port), passed)
                })
                .collect(),
        }
    }

    /// Returns the newest sample and earlier ones within `span`, spaced so that there are at most `points`. Oldest first.
    fn spaced(&self, span: Duration, points: u64) -> Vec<Arc<Compact>> {
        let apart = span.as_nanos() / points.max(1);
        let ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
        let mut chosen: Vec<Arc<Compact>> = Vec::new();
        let newest = ring.samples.back().map_or(0, |sample| sample.at.as_nanos());
        for sample in ring.samples.iter().rev() {
            let at = sample.at.as_nanos();
            if newest.saturating_sub(at) >= span.as_nanos() {
                break;
            }
            let last = chosen.last().map(|last| last.at.as_nanos());
            if last.is_none_or(|last| last.saturating_sub(at) >= apart) {
                chosen.push(Arc::clone(sample));
            }
        }
        chosen.reverse();
        chosen
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
            ports: info
                .numbered_ports()
                .zip(&self.ports)
                .map(|((port, _), passed)| PortSample {
                    port: info.port_name(port),
                    rx_bytes_total: passed.rx_bytes_total,
                    tx_bytes_total: passed.tx_bytes_total,
                })
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(nanos: impl Iterator<Item = u64>) -> History {
        let history = History::new(Duration::from_millis(10), 10_000);
        {
            let mut ring = history.ring.lock().unwrap();
            ring.samples.extend(nanos.map(|at| {
                Arc::new(Compact {
                    sequence: at,
                    at: Instant::from_nanos(at),
                    held_frames: 0,
                    queues: Vec::new(),
                    ports: Vec::new(),
                })
            }));
        }
        history
    }

    fn moments(history: &History, span: u64, points: u64) -> Vec<u64> {
        let spaced = history.spaced(Duration::from_nanos(span), points);
        spaced.iter().map(|sample| sample.at.as_nanos()).collect()
    }

    #[test]
    fn curves_are_of_late_and_bounded() {
        let many = history(0..5_000);
        assert_eq!(moments(&many, 1_000, 4), [4_249, 4_499, 4_749, 4_999]);
        assert_eq!(moments(&many, 1_000_000, 100).len(), 1);
        let few = history([10, 700, 900].into_iter());
        assert_eq!(moments(&few, 1_000, 1_000), [10, 700, 900]);
        assert_eq!(moments(&few, 800, 8), [700, 900]);
        assert_eq!(moments(&history(0..0), 800, 8), Vec::<u64>::new());
    }
}
