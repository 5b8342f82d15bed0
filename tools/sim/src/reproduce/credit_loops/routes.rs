//! Next hops for all destinations at once.

use super::fabric::Fabric;
use super::sets::Sets;
use super::Routing;
use crate::random::Random;

/// Distance of a destination that cannot be reached.
const UNREACHED: u8 = u8::MAX;
/// Purpose for [`Random::for_purpose`].
const PURPOSE: u64 = 0x6c6f_6f70;

#[derive(Clone, Debug)]
pub(super) struct Routes {
    /// By channel: the destinations for which it is a next hop of its first switch.
    pub(super) members: Sets,
    /// By switch and destination: number of links. `None` if a frame's path depends on its origin.
    pub(super) lengths: Option<Lengths>,
}

/// By switch and destination: number of links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lengths {
    destinations: usize,
    links: Vec<u8>,
}

impl Lengths {
    fn new(fabric: &Fabric) -> Self {
        let destinations = fabric.edges.len();
        let mut lengths = Self {
            destinations,
            links: vec![UNREACHED; fabric.switch_count() * destinations],
        };
        for (destination, edge) in fabric.edges.iter().enumerate() {
            lengths.links[edge * destinations + destination] = 0;
        }
        lengths
    }

    fn of(&self, switch: usize) -> &[u8] {
        &self.links[switch * self.destinations..][..self.destinations]
    }

    /// Returns `None` if there is no path.
    pub(super) fn get(&self, switch: usize, destination: usize) -> Option<u8> {
        let links = self.of(switch)[destination];
        (links != UNREACHED).then_some(links)
    }

    /// Uses shorter distances through `next`. Returns true if there were any.
    fn shorten(&mut self, switch: usize, next: usize) -> bool {
        // Separate slices let compilers vectorize over destinations.
        let (low, high) = (switch.min(next), switch.max(next));
        let (before, behind) = self.links.split_at_mut(high * self.destinations);
        let low = &mut before[low * self.destinations..][..self.destinations];
        let high = &mut behind[..self.destinations];
        let (here, there) = if switch < next {
            (low, high)
        } else {
            (high, low)
        };
        let mut is_shorter = 0;
        for (links, next) in here.iter_mut().zip(there) {
            let through = next.saturating_add(1);
            is_shorter |= u8::from(through < *links);
            *links = through.min(*links);
        }
        is_shorter > 0
    }

    /// Computes shortest paths over channels that `may_take`.
    fn shortest(fabric: &Fabric, may_take: impl Fn(usize) -> bool) -> Self {
        let mut lengths = Self::new(fabric);
        loop {
            let mut is_shorter = false;
            for switch in 0..fabric.switch_count() {
                for channel in fabric.leaving(switch).filter(|channel| may_take(*channel)) {
                    is_shorter |= lengths.shorten(switch, fabric.to[channel]);
                }
            }
            if !is_shorter {
                return lengths;
            }
        }
    }
}

impl Routes {
    /// Computes the routes of `routing`. `ecmp` has all shortest paths, `whole` those before the failures. `seed` is for
    /// random choices.
    pub(super) fn new(
        fabric: &Fabric,
        [ecmp, whole]: [&Self; 2],
        routing: Routing,
        seed: u64,
    ) -> Self {
        match routing {
            Routing::UpDown => {
                let rank = ranks_from_root(fabric);
                let mut routes = Self::up_down(fabric, &rank);
                routes.keep_first(fabric);
                routes
            }
            Routing::UpDownTiers => {
                let rank: Vec<(usize, usize)> = fabric.tier.iter().map(|tier| (*tier, 0)).collect();
                Self::up_down(fabric, &rank)
            }
            Routing::Shortest => {
                let mut routes = ecmp.clone();
                routes.keep_first(fabric);
                routes
            }
            Routing::ShortestDrawn => {
                let mut routes = ecmp.clone();
                routes.keep_drawn(fabric, &mut Random::for_purpose(seed, PURPOSE));
                routes
            }
            Routing::Ecmp => ecmp.clone(),
            Routing::Detours => Self::detours(fabric, whole),
        }
    }

    /// Returns all shortest paths.
    pub(super) fn ecmp(fabric: &Fabric) -> Self {
        let lengths = Lengths::shortest(fabric, |_| true);
        let mut members = Sets::new(fabric.to.len(), fabric.edges.len());
        for switch in 0..fabric.switch_count() {
            let here = lengths.of(switch);
            for channel in fabric.leaving(switch) {
                let there = lengths.of(fabric.to[channel]);
                members.fill(channel, here.len(), |destination| {
                    there[destination] < here[destination]
                });
            }
        }
        Self {
            members,
            lengths: Some(lengths),
        }
    }

    /// Computes routes like the scenarios' `mode = "up-down"`. A switch goes down if it can reach the destination by
    /// going only down, and otherwise goes up, both by the fewest links that this permits. The end of a link with the
    /// smaller rank is its upper one.
    fn up_down<Rank: Ord>(fabric: &Fabric, rank: &[Rank]) -> Self {
        let goes_down = |channel: usize| rank[fabric.from[channel]] < rank[fabric.to[channel]];
        let down = Lengths::shortest(fabric, goes_down);
        let mut lengths = down.clone();
        let mut upper_first: Vec<usize> = (0..fabric.switch_count()).collect();
        upper_first.sort_by_key(|switch| &rank[*switch]);
        for switch in upper_first {
            for channel in fabric
                .leaving(switch)
                .filter(|channel| !goes_down(*channel))
            {
                lengths.shorten(switch, fabric.to[channel]);
            }
            // A path down is taken even if one that begins upwards is shorter.
            for destination in 0..fabric.edges.len() {
                if let Some(links) = down.get(switch, destination) {
                    lengths.links[switch * lengths.destinations + destination] = links;
                }
            }
        }
        let mut members = Sets::new(fabric.to.len(), fabric.edges.len());
        for channel in (0..fabric.to.len()).filter(|channel| !fabric.failed[*channel]) {
            let here = lengths.of(fabric.from[channel]);
            let there = match goes_down(channel) {
                true => down.of(fabric.to[channel]),
                false => lengths.of(fabric.to[channel]),
            };
            let down_here = down.of(fabric.from[channel]);
            members.fill(channel, here.len(), |destination| {
                let is_legal = goes_down(channel) == (down_here[destination] != UNREACHED);
                let is_on = there[destination] != UNREACHED && here[destination] > 0;
                is_legal && is_on && there[destination] + 1 == here[destination]
            });
        }
        Self {
            members,
            lengths: Some(lengths),
        }
    }

    /// Computes ECMP as before the failures; if all next hops of a switch to a destination have failed, it sends the frames
    /// to all switches below it, which send them up again.
    fn detours(fabric: &Fabric, whole: &Self) -> Self {
        let mut members = whole.members.clone();
        let width = members.width();
        for switch in 0..fabric.switch_count() {
            let (mut working, mut failed) = (vec![0; width], vec![0; width]);
            for channel in fabric.all_leaving(switch) {
                let into = match fabric.failed[channel] {
                    true => &mut failed,
                    false => &mut working,
                };
                unite(into, members.of(channel));
                if fabric.failed[channel] {
                    members.of_mut(channel).fill(0);
                }
            }
            let cut = failed.iter().zip(&working);
            let cut: Vec<u64> = cut.map(|(failed, working)| failed & !working).collect();
            for channel in fabric.leaving(switch) {
                if fabric.tier[fabric.to[channel]] > fabric.tier[switch] {
                    unite(members.of_mut(channel), &cut);
                }
            }
        }
        Self {
            members,
            lengths: None,
        }
    }

    /// Keeps, of several next hops, the one whose link comes first in the file.
    fn keep_first(&mut self, fabric: &Fabric) {
        for switch in 0..fabric.switch_count() {
            let mut taken = vec![0; self.members.width()];
            for channel in fabric.leaving(switch) {
                for (word, taken) in self.members.of_mut(channel).iter_mut().zip(&mut taken) {
                    *word &= !*taken;
                    *taken |= *word;
                }
            }
        }
    }

    /// Keeps, of several next hops, a random one, for each switch and destination.
    fn keep_drawn(&mut self, fabric: &Fabric, random: &mut Random) {
        let mut drawn = Sets::new(fabric.to.len(), fabric.edges.len());
        let mut choices = Vec::new();
        for switch in 0..fabric.switch_count() {
            for destination in 0..fabric.edges.len() {
                choices.clear();
                let leaving = fabric.leaving(switch);
                choices.extend(leaving.filter(|channel| self.members.has(*channel, destination)));
                if !choices.is_empty() {
                    let index = random.below(choices.len() as u64) as usize;
                    drawn.insert(choices[index], destination);
                }
            }
        }
        self.members = drawn;
    }
}

fn unite(into: &mut [u64], others: &[u64]) {
    for (into, other) in into.iter_mut().zip(others) {
        *into |= other;
    }
}

/// Ranks switches like the scenarios' `mode = "up-down"`: distance from the first switch, then the order in the file.
fn ranks_from_root(fabric: &Fabric) -> Vec<(usize, usize)> {
    let mut level = vec![usize::MAX; fabric.switch_count()];
    let mut queue = std::collections::VecDeque::from([0]);
    level[0] = 0;
    while let Some(at) = queue.pop_front() {
        for channel in fabric.leaving(at) {
            let next = fabric.to[channel];
            if level[next] == usize::MAX {
                level[next] = level[at] + 1;
                queue.push_back(next);
            }
        }
    }
    level.into_iter().zip(0..).collect()
}
