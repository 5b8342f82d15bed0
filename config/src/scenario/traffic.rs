//! Many flows from one rule.

use thiserror::Error;
use weir_core::{BitRate, Bytes, Duration};

use super::random::Random;
use super::{Flow, Pattern, Transport};
use crate::Fraction;

/// Flows of a scenario at most.
pub const FLOW_COUNT_MAX: usize = 1_000_000;

/// Who sends to whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrafficKind {
    /// Every host to one other, and every host from one other.
    Permutation,
    /// So many flows, each between two hosts of its own.
    Random {
        /// How many.
        flows: usize,
    },
    /// Many hosts to one.
    Incast {
        /// Senders, drawn from all others; fewer than there are hosts.
        fan_in: usize,
        /// The receiving host.
        to: usize,
    },
    /// Every host to every other.
    AllToAll,
    /// Bursts between two random hosts each, that begin independently of each other (a Poisson process).
    Poisson {
        /// Of all hosts' lines together, on the mean of a long run.
        load: Fraction,
        /// Sizes of bursts and how likely each is. The probabilities make one.
        sizes: Vec<(Bytes, Fraction)>,
    },
}

/// `[[traffic]]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traffic {
    /// Who sends to whom.
    pub kind: TrafficKind,
    /// Of every flow.
    pub class: usize,
    /// Of every flow; `None`: as fast as the line.
    pub rate: Option<BitRate>,
    /// Of every flow.
    pub frame: Bytes,
    /// Of every flow; in Poisson traffic each has a size of its own.
    pub pattern: Pattern,
    /// Of every flow.
    pub transport: Transport,
    /// Of every flow.
    pub answer_class: usize,
    /// First frame of every flow; Poisson flows begin from here on.
    pub start: Duration,
    /// No frame from here on.
    pub stop: Duration,
}

/// Why traffic cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{key}: {message}")]
pub struct TrafficError {
    /// The key of `[[traffic]]` that is at fault.
    pub key: &'static str,
    /// What would be legal.
    pub message: String,
}

impl Traffic {
    /// The flows, named `t1-1`, `t1-2` and so on for the traffic with index 0. `line` is the rate of a host's link; `room`
    /// is how many flows there may be. The same flows for the same seed, on every machine.
    ///
    /// # Errors
    ///
    /// When there are fewer than two hosts, or it makes more flows than there is room for.
    pub fn expand(
        &self,
        index: usize,
        host_count: usize,
        line: BitRate,
        seed: u64,
        room: usize,
    ) -> Result<Vec<Flow>, TrafficError> {
        /// Networks are drawn from the streams before this one.
        const STREAM: u64 = 1 << 32;
        if host_count < 2 {
            return Err(TrafficError {
                key: "kind",
                message: "traffic needs at least two hosts".into(),
            });
        }
        let mut random = Random::new(seed, STREAM + index as u64);
        let count = match &self.kind {
            TrafficKind::Permutation => host_count,
            TrafficKind::Random { flows } => *flows,
            TrafficKind::Incast { fan_in, .. } => *fan_in,
            TrafficKind::AllToAll => host_count.saturating_mul(host_count - 1),
            TrafficKind::Poisson { .. } => 0,
        };
        if count > room {
            return Err(too_many());
        }
        let mut flows = Vec::with_capacity(count);
        let mut send = |from: usize, to: usize| {
            flows.push(self.flow(index, flows.len(), from, to));
        };
        match &self.kind {
            TrafficKind::Permutation => {
                for (from, to) in derangement(host_count, &mut random).into_iter().enumerate() {
                    send(from, to);
                }
            }
            TrafficKind::Random { flows } => {
                for _ in 0..*flows {
                    let (from, to) = two(host_count, &mut random);
                    send(from, to);
                }
            }
            TrafficKind::Incast { fan_in, to } => {
                let mut others: Vec<usize> = (0..host_count).filter(|host| host != to).collect();
                if *fan_in < others.len() {
                    random.shuffle(&mut others);
                    others.truncate(*fan_in);
                    others.sort_unstable();
                }
                for from in others {
                    send(from, *to);
                }
            }
            TrafficKind::AllToAll => {
                for from in 0..host_count {
                    for to in (0..host_count).filter(|to| *to != from) {
                        send(from, to);
                    }
                }
            }
            TrafficKind::Poisson { load, sizes } => {
                let arrivals = Arrivals {
                    host_count,
                    mean_gap_nanos: mean_gap_nanos(*load, line, host_count, sizes),
                    sizes,
                    room,
                };
                return self.arrivals(index, &arrivals, random);
            }
        }
        Ok(flows)
    }

    /// Bursts from `start` to `stop`.
    fn arrivals(
        &self,
        index: usize,
        arrivals: &Arrivals<'_>,
        mut random: Random,
    ) -> Result<Vec<Flow>, TrafficError> {
        let Arrivals {
            host_count,
            mean_gap_nanos,
            sizes,
            room,
        } = *arrivals;
        let shares = shares_in_parts(sizes);
        let mut flows = Vec::new();
        let mut now = self.start.as_nanos() as f64;
        loop {
            now += random.exponential() * mean_gap_nanos;
            let start = Duration::from_nanos(now as u64);
            if start >= self.stop {
                return Ok(flows);
            }
            if flows.len() == room {
                return Err(too_many());
            }
            let (from, to) = two(host_count, &mut random);
            let size = drawn(sizes, random.below(shares));
            flows.push(Flow {
                start,
                pattern: Pattern::Burst { size },
                ..self.flow(index, flows.len(), from, to)
            });
        }
    }

    fn flow(&self, index: usize, number: usize, from: usize, to: usize) -> Flow {
        Flow {
            name: format!("t{}-{}", index + 1, number + 1),
            from,
            to,
            via: None,
            class: self.class,
            rate: self.rate,
            frame: self.frame,
            start: self.start,
            stop: self.stop,
            pattern: self.pattern,
            transport: self.transport,
            answer_class: self.answer_class,
        }
    }
}

/// A Poisson process over the whole network.
struct Arrivals<'a> {
    host_count: usize,
    mean_gap_nanos: f64,
    sizes: &'a [(Bytes, Fraction)],
    /// Flows at most.
    room: usize,
}

/// About one; rounded thirds miss a little.
fn shares_in_parts(sizes: &[(Bytes, Fraction)]) -> u64 {
    sizes
        .iter()
        .map(|(_, share)| u64::from(share.parts()))
        .sum()
}

/// From one burst of any host to the next.
fn mean_gap_nanos(
    load: Fraction,
    line: BitRate,
    host_count: usize,
    sizes: &[(Bytes, Fraction)],
) -> f64 {
    const BITS_PER_BYTE: f64 = 8.0;
    const NANOS_PER_SECOND: f64 = 1e9;
    let shares = shares_in_parts(sizes) as f64;
    let weighted = sizes
        .iter()
        .map(|(size, share)| size.get() as f64 * (f64::from(share.parts()) / shares));
    let bits_per_second = load.as_f64() * line.get() as f64 * host_count as f64;
    BITS_PER_BYTE * weighted.sum::<f64>() / bits_per_second * NANOS_PER_SECOND
}

fn too_many() -> TrafficError {
    TrafficError {
        key: "kind",
        message: format!("generates too many flows; the maximum is {FLOW_COUNT_MAX}"),
    }
}

/// The size that `ticket`, below the sum of all shares, falls on.
fn drawn(sizes: &[(Bytes, Fraction)], ticket: u64) -> Bytes {
    let mut above = 0;
    let mut shares = sizes.iter();
    shares
        .find(|(_, share)| {
            above += u64::from(share.parts());
            ticket < above
        })
        .or(sizes.last())
        .map_or(Bytes::ZERO, |(size, _)| *size)
}

/// A random permutation that leaves nothing in its place; each equally likely. For two elements at least.
fn derangement(count: usize, random: &mut Random) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    // One permutation in e has no fixed point: after a hundred there is one but for a chance of 10⁻¹⁷ at most.
    const ATTEMPTS_MAX: usize = 100;
    for _ in 0..ATTEMPTS_MAX {
        random.shuffle(&mut order);
        if order.iter().enumerate().all(|(index, to)| index != *to) {
            return order;
        }
    }
    (0..count).map(|index| (index + 1) % count).collect()
}

/// Two different ones of `count`, in order.
fn two(count: usize, random: &mut Random) -> (usize, usize) {
    let from = random.index(count);
    let to = random.index(count - 1);
    (from, to + usize::from(to >= from))
}
