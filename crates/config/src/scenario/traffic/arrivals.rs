//! Flows that start independently of each other.

use weir_core::Duration;

use super::sizes::Sizes;
use super::{derangement, too_many, Ground, Traffic, TrafficError};
use crate::scenario::random::Random;
use crate::scenario::{Flow, Pattern};
use crate::Fraction;

/// Choice of sender and receiver of a flow. The sender is any host, in proportion to the rates of hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pairs {
    /// To any other host, in proportion to their rates.
    #[default]
    Any,
    /// To a host drawn once for each sender, another one for each.
    Permutation,
    /// To any host of another switch, in proportion to their rates.
    OtherSwitch,
}

impl Pairs {
    /// All choices, with their names in files.
    pub const NAMED: [(&'static str, Self); 3] = [
        ("any", Self::Any),
        ("permutation", Self::Permutation),
        ("other-switch", Self::OtherSwitch),
    ];
}

/// A Poisson process over the whole network.
pub(super) struct Arrivals<'a> {
    pub(super) load: Fraction,
    pub(super) sizes: &'a Sizes,
    pub(super) pairs: Pairs,
}

impl Traffic {
    /// Bursts that start between `start` and `stop`.
    pub(super) fn arrivals(
        &self,
        index: usize,
        arrivals: &Arrivals<'_>,
        ground: &Ground<'_>,
        mut random: Random,
    ) -> Result<Vec<Flow>, TrafficError> {
        let rates = Rates::new(ground.bits_per_second);
        let mean_gap_nanos = mean_gap_nanos(arrivals, &rates);
        let ends = Ends::new(arrivals.pairs, rates, ground.switch_of, &mut random)?;
        let mut flows = Vec::new();
        let mut now = self.start.as_nanos() as f64;
        loop {
            now += random.exponential() * mean_gap_nanos;
            let start = Duration::from_nanos(now as u64);
            if start >= self.stop {
                return Ok(flows);
            }
            if flows.len() == ground.room() {
                return Err(too_many());
            }
            let (from, to) = ends.draw(&mut random);
            let size = arrivals.sizes.draw(&mut random);
            flows.push(Flow {
                start,
                stop: ground.end,
                pattern: Pattern::Burst { size },
                ..self.flow(index, flows.len(), from, to)
            });
        }
    }
}

/// From one burst of any host to the next.
fn mean_gap_nanos(arrivals: &Arrivals<'_>, rates: &Rates) -> f64 {
    const BITS_PER_BYTE: f64 = 8.0;
    const NANOS_PER_SECOND: f64 = 1e9;
    let bits_per_second = arrivals.load.as_f64() * rates.unit as f64 * rates.total() as f64;
    BITS_PER_BYTE * arrivals.sizes.mean() / bits_per_second * NANOS_PER_SECOND
}

/// Rates of hosts, each as a number of their greatest common divisor: 1 for each host if all are equal.
struct Rates {
    /// In bits per second.
    unit: u64,
    of_host: Vec<u64>,
}

impl Rates {
    fn new(bits_per_second: &[u64]) -> Self {
        let all = bits_per_second.iter().copied();
        let unit = all.clone().fold(0, greatest_common_divisor).max(1);
        Self {
            unit,
            of_host: all.map(|rate| rate / unit).collect(),
        }
    }

    fn total(&self) -> u64 {
        self.of_host.iter().sum()
    }
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    match b {
        0 => a,
        _ => greatest_common_divisor(b, a % b),
    }
}

/// Hosts in an order, each with its rate on a line from zero to the rate of all.
struct Line {
    order: Vec<usize>,
    /// By place in `order`: end of the host's part, which begins where the one before ends.
    ends: Vec<u64>,
}

impl Line {
    fn new(order: Vec<usize>, rates: &Rates) -> Self {
        let mut end = 0;
        let ends = order.iter().map(|host| {
            end += rates.of_host[*host];
            end
        });
        Self {
            ends: ends.collect(),
            order,
        }
    }

    fn length(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    fn host_at(&self, point: u64) -> usize {
        self.order[self.ends.partition_point(|end| *end <= point)]
    }
}

/// Draws senders and receivers.
struct Ends {
    senders: Line,
    receivers: Receivers,
}

enum Receivers {
    /// By sender.
    Fixed(Vec<usize>),
    /// All but those of a part of the line.
    Others {
        line: Line,
        /// By sender: begin and length of the part.
        own: Vec<(u64, u64)>,
    },
}

impl Ends {
    fn new(
        pairs: Pairs,
        rates: Rates,
        switch_of: &[usize],
        random: &mut Random,
    ) -> Result<Self, TrafficError> {
        let all = || (0..switch_of.len()).collect::<Vec<usize>>();
        let receivers = match pairs {
            Pairs::Permutation => Receivers::Fixed(derangement(switch_of.len(), random)),
            Pairs::Any => Receivers::others(all(), &rates, |a, b| a == b),
            Pairs::OtherSwitch => {
                let mut order = all();
                order.sort_by_key(|host| switch_of[*host]);
                Receivers::others(order, &rates, |a, b| switch_of[a] == switch_of[b])
            }
        };
        if let Receivers::Others { line, own } = &receivers {
            if own.iter().any(|(_, length)| *length == line.length()) {
                return Err(TrafficError {
                    key: "pairs",
                    message: "all hosts are at one switch; write \"any\"".into(),
                });
            }
        }
        Ok(Self {
            senders: Line::new(all(), &rates),
            receivers,
        })
    }

    fn draw(&self, random: &mut Random) -> (usize, usize) {
        let from = self.senders.host_at(random.below(self.senders.length()));
        let to = match &self.receivers {
            Receivers::Fixed(receivers) => receivers[from],
            Receivers::Others { line, own } => {
                let (begin, length) = own[from];
                let point = random.below(line.length() - length);
                line.host_at(if point < begin { point } else { point + length })
            }
        };
        (from, to)
    }
}

impl Receivers {
    /// Neighbours in `order` for which `are_together` holds do not send to each other.
    fn others(
        order: Vec<usize>,
        rates: &Rates,
        are_together: impl Fn(usize, usize) -> bool,
    ) -> Self {
        let mut own = vec![(0, 0); order.len()];
        let mut begin = 0;
        for hosts in order.chunk_by(|a, b| are_together(*a, *b)) {
            let length = hosts.iter().map(|host| rates.of_host[*host]).sum();
            for host in hosts {
                own[*host] = (begin, length);
            }
            begin += length;
        }
        let line = Line::new(order, rates);
        Self::Others { line, own }
    }
}
