//! Flows that start independently of each other.

use weir_core::{BitRate, Duration};

use super::sizes::Sizes;
use super::{derangement, too_many, two, Ground, Traffic, TrafficError};
use crate::scenario::random::Random;
use crate::scenario::{Flow, Pattern};
use crate::Fraction;

/// Choice of sender and receiver of a flow. The sender is any host, with equal probability.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pairs {
    /// To any other host.
    #[default]
    Any,
    /// To a host drawn once for each sender, another one for each.
    Permutation,
    /// To any host of another switch.
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
        let host_count = ground.switch_of.len();
        let mean_gap_nanos = mean_gap_nanos(arrivals, ground.line, ground.line_count);
        let ends = Ends::new(arrivals.pairs, ground.switch_of, &mut random)?;
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
            let (from, to) = ends.draw(host_count, &mut random);
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
fn mean_gap_nanos(arrivals: &Arrivals<'_>, line: BitRate, line_count: usize) -> f64 {
    const BITS_PER_BYTE: f64 = 8.0;
    const NANOS_PER_SECOND: f64 = 1e9;
    let bits_per_second = arrivals.load.as_f64() * line.get() as f64 * line_count as f64;
    BITS_PER_BYTE * arrivals.sizes.mean() / bits_per_second * NANOS_PER_SECOND
}

/// Data for [`Pairs`].
enum Ends {
    Any,
    /// By sender.
    Fixed(Vec<usize>),
    Elsewhere {
        /// Hosts ordered by switch.
        order: Vec<usize>,
        /// By host: start and number of its switch's hosts in `order`.
        own: Vec<(usize, usize)>,
    },
}

impl Ends {
    fn new(pairs: Pairs, switch_of: &[usize], random: &mut Random) -> Result<Self, TrafficError> {
        match pairs {
            Pairs::Any => Ok(Self::Any),
            Pairs::Permutation => Ok(Self::Fixed(derangement(switch_of.len(), random))),
            Pairs::OtherSwitch => {
                let mut order: Vec<usize> = (0..switch_of.len()).collect();
                order.sort_by_key(|host| switch_of[*host]);
                let mut own = vec![(0, 0); switch_of.len()];
                let mut begin = 0;
                for hosts in order.chunk_by(|a, b| switch_of[*a] == switch_of[*b]) {
                    for host in hosts {
                        own[*host] = (begin, hosts.len());
                    }
                    begin += hosts.len();
                }
                if own.first().is_none_or(|(_, count)| *count == order.len()) {
                    return Err(TrafficError {
                        key: "pairs",
                        message: "all hosts are at one switch; write \"any\"".into(),
                    });
                }
                Ok(Self::Elsewhere { order, own })
            }
        }
    }

    fn draw(&self, host_count: usize, random: &mut Random) -> (usize, usize) {
        match self {
            Self::Any => two(host_count, random),
            Self::Fixed(receivers) => {
                let from = random.index(host_count);
                (from, receivers[from])
            }
            Self::Elsewhere { order, own } => {
                let from = random.index(host_count);
                let (begin, count) = own[from];
                let place = random.index(host_count - count);
                (from, order[place + if place < begin { 0 } else { count }])
            }
        }
    }
}
