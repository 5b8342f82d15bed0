//! Flows generated from rules.

mod arrivals;
mod collective;
mod sizes;

use thiserror::Error;
use weir_core::{BitRate, Bytes, Duration};

use super::random::Random;
use super::{Flow, Pattern, Transport};
use crate::Fraction;

use arrivals::Arrivals;

pub use arrivals::Pairs;
pub use collective::Collective;
pub use sizes::{Distribution, DistributionError, Sizes};

/// Maximum number of flows of a scenario.
pub const FLOW_COUNT_MAX: usize = 1_000_000;

/// Choice of senders and receivers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrafficKind {
    /// Every host sends to one other, and receives from one other.
    Permutation,
    /// Flows between two separate hosts each.
    Random {
        /// Number of flows.
        flows: usize,
    },
    /// Many hosts send to one.
    Incast {
        /// Senders, drawn from all others; fewer than there are hosts.
        fan_in: usize,
        /// The receiving host.
        to: usize,
    },
    /// Every host sends to every other.
    AllToAll,
    /// Bursts between two random hosts each, which start independently of each other (a Poisson process).
    Poisson {
        /// Of all hosts' lines together, on average in the long run.
        load: Fraction,
        /// Sizes of bursts.
        sizes: Sizes,
        /// Choice of sender and receiver.
        pairs: Pairs,
    },
    /// Flows that wait for each other.
    Collective {
        /// Kind of collective operation.
        collective: Collective,
        /// The participating hosts, in order.
        group: Vec<usize>,
        /// Data of each host: all of it is reduced, or it is sent to the others in equal parts.
        size: Bytes,
    },
}

/// `[[traffic]]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traffic {
    /// Choice of senders and receivers.
    pub kind: TrafficKind,
    /// Class of every flow.
    pub class: usize,
    /// Rate of every flow; `None` for line rate.
    pub rate: Option<BitRate>,
    /// Frame length of every flow.
    pub frame: Bytes,
    /// Pattern of every flow; in Poisson traffic and collectives each has its own size.
    pub pattern: Pattern,
    /// Transport of every flow.
    pub transport: Transport,
    /// Class of every flow's answers.
    pub answer_class: usize,
    /// Time of every flow's first frame; Poisson flows start from here on.
    pub start: Duration,
    /// No frames from this time on; no Poisson flow starts from here on, but each sends all of its data.
    pub stop: Duration,
}

/// Error: the traffic cannot be generated.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{key}: {message}")]
pub struct TrafficError {
    /// The key of `[[traffic]]` that is invalid.
    pub key: &'static str,
    /// The problem, and the legal values.
    pub message: String,
}

/// Inputs of the generation.
#[derive(Clone, Copy, Debug)]
pub struct Ground<'a> {
    /// Switch of each host.
    pub switch_of: &'a [usize],
    /// Rate of each host in bits per second, of all its lines together.
    pub bits_per_second: &'a [u64],
    /// Seed of the scenario.
    pub seed: u64,
    /// End of the scenario.
    pub end: Duration,
    /// Number of existing flows.
    pub taken: usize,
}

impl Ground<'_> {
    /// Number of further flows that fit.
    const fn room(&self) -> usize {
        FLOW_COUNT_MAX.saturating_sub(self.taken)
    }
}

impl Traffic {
    /// The flows, named `t1-1`, `t1-2` and so on for the traffic with index 0. The same flows for the same seed, on
    /// every machine.
    ///
    /// # Errors
    ///
    /// There are fewer than two hosts, or more flows than fit.
    pub fn expand(&self, index: usize, ground: &Ground<'_>) -> Result<Vec<Flow>, TrafficError> {
        /// Networks are drawn from the streams before this one.
        const STREAM: u64 = 1 << 32;
        let host_count = ground.switch_of.len();
        if host_count < 2 {
            return Err(TrafficError {
                key: "kind",
                message: "traffic needs at least two hosts".into(),
            });
        }
        let mut random = Random::new(ground.seed, STREAM + index as u64);
        let count = match &self.kind {
            TrafficKind::Permutation => host_count,
            TrafficKind::Random { flows } => *flows,
            TrafficKind::Incast { fan_in, .. } => *fan_in,
            TrafficKind::AllToAll => host_count.saturating_mul(host_count - 1),
            TrafficKind::Poisson { .. } | TrafficKind::Collective { .. } => 0,
        };
        if count > ground.room() {
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
            TrafficKind::Poisson { load, sizes, pairs } => {
                let arrivals = Arrivals {
                    load: *load,
                    sizes,
                    pairs: *pairs,
                };
                return self.arrivals(index, &arrivals, ground, random);
            }
            TrafficKind::Collective {
                collective,
                group,
                size,
            } => return self.collective(index, *collective, group, *size, ground),
        }
        Ok(flows)
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
            after: Vec::new(),
        }
    }
}

fn too_many() -> TrafficError {
    TrafficError {
        key: "kind",
        message: format!("generates too many flows; the maximum is {FLOW_COUNT_MAX}"),
    }
}

/// A uniformly random permutation without fixed points, of at least two elements.
fn derangement(count: usize, random: &mut Random) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    // One permutation in e has no fixed point: a hundred attempts fail with a probability of at most 10⁻¹⁷.
    const ATTEMPTS_MAX: usize = 100;
    for _ in 0..ATTEMPTS_MAX {
        random.shuffle(&mut order);
        if order.iter().enumerate().all(|(index, to)| index != *to) {
            return order;
        }
    }
    (0..count).map(|index| (index + 1) % count).collect()
}

/// Two different indices below `count`, in random order.
fn two(count: usize, random: &mut Random) -> (usize, usize) {
    let from = random.index(count);
    let to = random.index(count - 1);
    (from, to + usize::from(to >= from))
}
