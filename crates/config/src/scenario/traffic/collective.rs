//! Collective operations of the hosts of a training job: flows that wait for each other.
//!
//! A flow waits only for flows to its own sender: a host forwards what it has received, and has no other information.

use weir_core::Bytes;

use super::{too_many, Ground, Traffic, TrafficError};
use crate::scenario::{After, Flow, Pattern};

/// Kind of collective operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collective {
    /// N hosts in a ring, N parts of the reduced data: each host sends a part to the next one, 2 (N − 1) times; after
    /// the first, it is always the part received last.
    RingAllReduce,
    /// A binary tree: a host sends everything to its parent when it has it from its children, and the root's sum
    /// returns the same way.
    TreeAllReduce,
    /// Each host sends every other one its part, in N − 1 steps: in the k-th step to the k-th next host, when the part
    /// of the previous step has arrived.
    AllToAllSteps,
}

impl Collective {
    /// Number of flows among `hosts`.
    pub(super) fn flow_count(self, hosts: usize) -> usize {
        let others = hosts.saturating_sub(1);
        match self {
            Self::RingAllReduce => others.saturating_mul(2).saturating_mul(hosts),
            Self::TreeAllReduce => others.saturating_mul(2),
            Self::AllToAllSteps => others.saturating_mul(hosts),
        }
    }

    /// The part of `size` carried by one flow.
    fn part(self, size: Bytes, hosts: usize) -> Bytes {
        match self {
            Self::TreeAllReduce => size,
            Self::RingAllReduce | Self::AllToAllSteps => {
                Bytes::new(size.get().div_ceil(hosts.max(1) as u64))
            }
        }
    }

    /// Sender and receiver by index in the group, and the steps waited for by index in this list.
    fn steps(self, hosts: usize) -> Vec<Step> {
        match self {
            Self::RingAllReduce => {
                let step = |place: usize| {
                    let from = place % hosts;
                    // The flow to it in the previous step.
                    let before = place.checked_sub(hosts);
                    let after = before.map(|_| place / hosts - 1);
                    let after = after.map(|step| step * hosts + (from + hosts - 1) % hosts);
                    Step::new(from, (from + 1) % hosts, after.into_iter().collect())
                };
                (0..self.flow_count(hosts)).map(step).collect()
            }
            Self::AllToAllSteps => {
                let step = |place: usize| {
                    let (round, from) = (place / hosts, place % hosts);
                    let distance = round + 1;
                    let after = round.checked_sub(1);
                    let sender = (from + hosts - round) % hosts;
                    let after = after.map(|before| before * hosts + sender);
                    let to = (from + distance) % hosts;
                    Step::new(from, to, after.into_iter().collect())
                };
                (0..self.flow_count(hosts)).map(step).collect()
            }
            Self::TreeAllReduce => tree(hosts),
        }
    }
}

/// Up, the hosts from the last one to the second; then down, from the second to the last.
fn tree(hosts: usize) -> Vec<Step> {
    let up = |host: usize| hosts - 1 - host;
    let down = |host: usize| hosts - 2 + host;
    let children = |host: usize| (2 * host + 1..=2 * host + 2).filter(|child| *child < hosts);
    let rises = (1..hosts).rev().map(|host| {
        let after = children(host).map(up).collect();
        Step::new(host, (host - 1) / 2, after)
    });
    let falls = (1..hosts).map(|host| {
        let parent = (host - 1) / 2;
        let after = match parent {
            0 => children(0).map(up).collect(),
            parent => vec![down(parent)],
        };
        Step::new(parent, host, after)
    });
    rises.chain(falls).collect()
}

/// One flow of a collective.
#[derive(Debug)]
struct Step {
    from: usize,
    to: usize,
    after: Vec<usize>,
}

impl Step {
    const fn new(from: usize, to: usize, after: Vec<usize>) -> Self {
        Self { from, to, after }
    }
}

impl Traffic {
    /// The flows of a collective of `group`, with `size` in total for each host.
    pub(super) fn collective(
        &self,
        index: usize,
        collective: Collective,
        group: &[usize],
        size: Bytes,
        ground: &Ground<'_>,
    ) -> Result<Vec<Flow>, TrafficError> {
        if group.len() < 2 {
            return Err(TrafficError {
                key: "group",
                message: "a collective needs at least two hosts".into(),
            });
        }
        if collective.flow_count(group.len()) > ground.room() {
            return Err(too_many());
        }
        let size = collective.part(size, group.len());
        let steps = collective.steps(group.len()).into_iter().enumerate();
        let flows = steps.map(|(number, step)| Flow {
            pattern: Pattern::Burst { size },
            after: step
                .after
                .into_iter()
                .map(|place| After::arrival_of(ground.taken + place))
                .collect(),
            ..self.flow(index, number, group[step.from], group[step.to])
        });
        Ok(flows.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const ALL: [Collective; 3] = [
        Collective::RingAllReduce,
        Collective::TreeAllReduce,
        Collective::AllToAllSteps,
    ];

    /// The data of each host, as a set of (owner, part): a host sends on everything that it has.
    fn spread(steps: &[Step], hosts: usize, whole: bool) -> Vec<BTreeSet<usize>> {
        let mut has: Vec<BTreeSet<usize>> = (0..hosts).map(|host| BTreeSet::from([host])).collect();
        let mut carried: Vec<BTreeSet<usize>> = Vec::new();
        for step in steps {
            let mut load = BTreeSet::new();
            if whole {
                load.clone_from(&has[step.from]);
            } else {
                load.insert(step.from);
            }
            for before in &step.after {
                load.extend(carried[*before].iter().copied());
            }
            has[step.to].extend(load.iter().copied());
            carried.push(load);
        }
        has
    }

    #[test]
    fn a_flow_waits_for_earlier_flows_to_its_own_sender() {
        for collective in ALL {
            for hosts in 2..20 {
                let steps = collective.steps(hosts);
                assert_eq!(steps.len(), collective.flow_count(hosts));
                for (place, step) in steps.iter().enumerate() {
                    assert_ne!(step.from, step.to);
                    for before in &step.after {
                        assert!(*before < place, "{collective:?} of {hosts}: {place}");
                        assert_eq!(steps[*before].to, step.from, "{collective:?} of {hosts}");
                    }
                }
            }
        }
    }

    #[test]
    fn every_rank_ends_with_the_sum_of_all() {
        for hosts in 2..20 {
            let everybody: BTreeSet<usize> = (0..hosts).collect();
            let steps = Collective::TreeAllReduce.steps(hosts);
            let has = spread(&steps, hosts, true);
            assert!(has.iter().all(|sum| *sum == everybody), "tree of {hosts}");
            // In a ring each part is one chain of flows, which passes all hosts twice except for one hop each time.
            let steps = Collective::RingAllReduce.steps(hosts);
            for part in 0..hosts {
                let (mut place, mut way) = (part, vec![steps[part].from]);
                loop {
                    way.push(steps[place].to);
                    let next = steps.iter().position(|step| step.after == [place]);
                    let Some(next) = next else { break };
                    place = next;
                }
                let reduced: BTreeSet<usize> = way[..hosts].iter().copied().collect();
                let told: BTreeSet<usize> = way[hosts - 1..].iter().copied().collect();
                assert_eq!(way.len(), 2 * hosts - 1);
                assert_eq!((&reduced, &told), (&everybody, &everybody));
            }
        }
    }

    #[test]
    fn all_to_all_is_every_pair_once_and_one_receiver_each_at_a_time() {
        for hosts in 2..20 {
            let steps = Collective::AllToAllSteps.steps(hosts);
            let pairs: BTreeSet<_> = steps.iter().map(|step| (step.from, step.to)).collect();
            assert_eq!(pairs.len(), hosts * (hosts - 1));
            for round in steps.chunks(hosts) {
                let receivers: BTreeSet<usize> = round.iter().map(|step| step.to).collect();
                assert_eq!(receivers.len(), hosts);
            }
        }
    }

    #[test]
    fn parts_are_rounded_up() {
        let part = |collective: Collective| collective.part(Bytes::new(1001), 4).get();
        assert_eq!(ALL.map(part), [251, 1001, 251]);
    }
}
