//! Many flows from one rule.

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
        /// Of bursts.
        sizes: Sizes,
        /// Who sends to whom.
        pairs: Pairs,
    },
    /// Flows that wait for each other.
    Collective {
        /// Who does what in which step.
        collective: Collective,
        /// The hosts that take part, in their order.
        group: Vec<usize>,
        /// What each host has: all of it is reduced, or goes to the others in equal parts.
        size: Bytes,
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
    /// Of every flow; in Poisson traffic and collectives each has a size of its own.
    pub pattern: Pattern,
    /// Of every flow.
    pub transport: Transport,
    /// Of every flow.
    pub answer_class: usize,
    /// First frame of every flow; Poisson flows begin from here on.
    pub start: Duration,
    /// No frame from here on; no Poisson flow begins from here on, and each sends all that it has.
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

/// What traffic is made in.
#[derive(Clone, Copy, Debug)]
pub struct Ground<'a> {
    /// By host: its switch.
    pub switch_of: &'a [usize],
    /// The rate of a host's line.
    pub line: BitRate,
    /// The scenario's.
    pub seed: u64,
    /// When the scenario ends.
    pub end: Duration,
    /// Flows that there are already.
    pub taken: usize,
}

impl Ground<'_> {
    /// How many more flows there may be.
    const fn room(&self) -> usize {
        FLOW_COUNT_MAX.saturating_sub(self.taken)
    }
}

impl Traffic {
    /// The flows, named `t1-1`, `t1-2` and so on for the traffic with index 0. The same flows for the same seed, on every
    /// machine.
    ///
    /// # Errors
    ///
    /// When there are fewer than two hosts, or it makes more flows than there is room for.
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
