//! Computed routes and credit loops compared with slow references, on random networks.

mod files;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use proptest::prelude::*;
use weir_config::scenario::{PortPeer, Scenario};

/// Switches `s0`, `s1` …, links by their ends and whether they failed, and the switch of every host.
#[derive(Clone, Debug)]
struct Network {
    switch_count: usize,
    links: Vec<(usize, usize, bool)>,
    hosts: Vec<usize>,
}

impl Network {
    fn text(&self, routing: &str) -> String {
        let mut text = String::from(
            "name = \"random\"\nduration = \"1s\"\n[[class]]\nname = \"lossless\"\npriority = 3\nmode = \"pfc\"\nxoff = \"30KiB\"\nxon = \"20KiB\"\nheadroom = \"30KiB\"\n",
        );
        for switch in 0..self.switch_count {
            let _ = write!(text, "[[switch]]\nname = \"s{switch}\"\n");
        }
        for (host, switch) in self.hosts.iter().enumerate() {
            let _ = write!(
                text,
                "[[host]]\nname = \"h{host}\"\nswitch = \"s{switch}\"\n"
            );
        }
        for (a, b, failed) in &self.links {
            let _ = write!(
                text,
                "[[link]]\nends = [\"s{a}\", \"s{b}\"]\nfailed = {failed}\n"
            );
        }
        text + "[routing]\n" + routing + "\n"
    }

    fn scenario(&self, routing: &str) -> Scenario {
        let text = self.text(routing);
        Scenario::parse(&text, Path::new("random.toml"), &[])
            .unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    /// With a flow between any two hosts that reach each other.
    fn scenario_with_flows(&self, routing: &str) -> Scenario {
        let mut text = self.text(routing);
        let distance = self.distances();
        for (from, at) in self.hosts.iter().enumerate() {
            for (to, target) in self.hosts.iter().enumerate() {
                if from != to && distance[*at][*target].is_some() {
                    let _ = write!(
                        text,
                        "[[flow]]\nname = \"f{from}-{to}\"\nfrom = \"h{from}\"\nto = \"h{to}\"\nclass = \"lossless\"\n"
                    );
                }
            }
        }
        Scenario::parse(&text, Path::new("random.toml"), &[])
            .unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    fn is_linked(&self, a: usize, b: usize) -> bool {
        self.links
            .iter()
            .any(|(x, y, failed)| !failed && ((*x, *y) == (a, b) || (*x, *y) == (b, a)))
    }

    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        let count = self.switch_count;
        (0..count).flat_map(move |a| (0..count).map(move |b| (a, b)))
    }

    /// Floyd and Warshall.
    fn distances(&self) -> Vec<Vec<Option<usize>>> {
        let mut distance = vec![vec![None; self.switch_count]; self.switch_count];
        for (a, b) in self.pairs() {
            distance[a][b] = match a == b {
                true => Some(0),
                false => self.is_linked(a, b).then_some(1),
            };
        }
        for over in 0..self.switch_count {
            for (a, b) in self.pairs() {
                if let (Some(x), Some(y)) = (distance[a][over], distance[over][b]) {
                    if distance[a][b].is_none_or(|known| x + y < known) {
                        distance[a][b] = Some(x + y);
                    }
                }
            }
        }
        distance
    }

    /// By switch: its rank from the top by the documented rule. A step to a smaller one goes up.
    fn ranks(&self, root: usize) -> Vec<(usize, usize)> {
        let distance = self.distances();
        let rank = |switch: usize| {
            let links = distance[root][switch]
                .or_else(|| distance.iter().find_map(|from_first| from_first[switch]));
            (links.unwrap(), switch)
        };
        (0..self.switch_count).map(rank).collect()
    }
}

fn networks() -> impl Strategy<Value = Network> {
    (2usize..9).prop_flat_map(|switch_count| {
        let pairs: Vec<(usize, usize)> = (0..switch_count)
            .flat_map(|a| (0..a).map(move |b| (a, b)))
            .collect();
        let most = pairs.len();
        (
            proptest::sample::subsequence(pairs, 0..=most).prop_shuffle(),
            prop::collection::vec(prop::bool::weighted(0.1), most),
            prop::collection::vec(0..switch_count, 1..6),
        )
            .prop_map(move |(pairs, failed, hosts)| Network {
                switch_count,
                links: pairs
                    .into_iter()
                    .zip(failed)
                    .map(|((a, b), failed)| (a, b, failed))
                    .collect(),
                hosts,
            })
    })
}

/// Rings with a few chords and a host on every switch: about half of them have cyclic dependencies.
fn rings() -> impl Strategy<Value = Network> {
    (3usize..8).prop_flat_map(|switch_count| {
        let order = Just((0..switch_count).collect::<Vec<_>>()).prop_shuffle();
        let pairs: Vec<(usize, usize)> = (0..switch_count)
            .flat_map(|a| (0..a).map(move |b| (a, b)))
            .collect();
        let chords = proptest::sample::subsequence(pairs, 0..=3);
        let broken = prop::bool::weighted(0.2);
        (order, chords, broken).prop_map(move |(order, chords, broken)| {
            let ring = (0..switch_count).map(|at| {
                let (a, b) = (order[at], order[(at + 1) % switch_count]);
                (a.max(b), a.min(b))
            });
            let distinct: BTreeSet<(usize, usize)> = ring.chain(chords).collect();
            let mut links: Vec<_> = distinct.into_iter().map(|(a, b)| (a, b, false)).collect();
            links[0].2 = broken;
            Network {
                switch_count,
                links,
                hosts: (0..switch_count).collect(),
            }
        })
    })
}

/// The switches that the members lead to; the host itself as `None`.
fn next(scenario: &Scenario, switch: usize, host: usize) -> Vec<Option<usize>> {
    let ports = scenario.ports(switch);
    let members = scenario.next_hops[switch][host].iter();
    members
        .map(|port| match ports[*port].peer {
            PortPeer::Switch(next) => Some(next),
            PortPeer::Host(found) => {
                assert_eq!(found, host);
                None
            }
        })
        .collect()
}

/// Follows single next hops; `None` when there is none.
fn follow(scenario: &Scenario, from: usize, host: usize) -> Option<Vec<usize>> {
    let mut way = vec![from];
    loop {
        match next(scenario, *way.last().unwrap(), host).as_slice() {
            [] => return None,
            [None] => return Some(way),
            [Some(next)] => way.push(*next),
            several => panic!("{several:?}"),
        }
        assert!(way.len() <= scenario.switches.len(), "a circle: {way:?}");
    }
}

type Channel = (usize, usize);

/// Removes channels that wait for nothing, until nothing changes: the rest is on a cycle or leads to one.
fn has_cycle(dependencies: &BTreeSet<(Channel, Channel)>) -> bool {
    let mut left = dependencies.clone();
    loop {
        let waiting: BTreeSet<Channel> = left.iter().map(|(held, _)| *held).collect();
        let before = left.len();
        left.retain(|(_, wanted)| waiting.contains(wanted));
        if left.len() == before {
            return before > 0;
        }
    }
}

/// All pairs of links that some flow takes consecutively, found by walking every path.
fn dependencies(scenario: &Scenario) -> BTreeSet<(Channel, Channel)> {
    fn walk(
        scenario: &Scenario,
        way: &mut Vec<usize>,
        host: usize,
        out: &mut BTreeSet<(Channel, Channel)>,
    ) {
        let at = *way.last().unwrap();
        for onwards in next(scenario, at, host).into_iter().flatten() {
            if let [.., before, _] = way[..] {
                out.insert(((before, at), (at, onwards)));
            }
            way.push(onwards);
            walk(scenario, way, host, out);
            way.pop();
        }
    }
    let mut out = BTreeSet::new();
    for flow in &scenario.flows {
        let mut way = vec![scenario.hosts[flow.from].switch];
        walk(scenario, &mut way, flow.to, &mut out);
    }
    out
}

proptest! {
    #[test]
    fn shortest_takes_the_first_of_the_minimal_next_hops(network in networks()) {
        let scenario = network.scenario("mode = \"shortest\"");
        let distance = network.distances();
        for (host, target) in network.hosts.iter().enumerate() {
            for switch in 0..network.switch_count {
                let way = follow(&scenario, switch, host);
                prop_assert_eq!(way.as_ref().map(|way| way.len() - 1), distance[switch][*target]);
                // Ports are in the order of links in the file.
                let first = scenario.ports(switch).iter().position(|port| match port.peer {
                    PortPeer::Switch(next) => switch != *target
                        && distance[switch][*target].is_some()
                        && distance[next][*target].map(|left| left + 1) == distance[switch][*target],
                    PortPeer::Host(found) => found == host,
                });
                prop_assert_eq!(scenario.next_hops[switch][host].first().copied(), first);
            }
        }
    }

    #[test]
    fn ecmp_has_exactly_the_minimal_next_hops(network in networks()) {
        let scenario = network.scenario("mode = \"ecmp\"");
        let distance = network.distances();
        for (host, target) in network.hosts.iter().enumerate() {
            for switch in 0..network.switch_count {
                let found = next(&scenario, switch, host);
                if switch == *target {
                    prop_assert_eq!(found, [None]);
                    continue;
                }
                let minimal: BTreeSet<Option<usize>> = (0..network.switch_count)
                    .filter(|next| network.is_linked(switch, *next))
                    .filter(|next| {
                        let left = distance[*next][*target];
                        left.is_some() && left.map(|left| left + 1) == distance[switch][*target]
                    })
                    .map(Some)
                    .collect();
                prop_assert_eq!(found.len(), minimal.len());
                prop_assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), minimal);
            }
        }
    }

    #[test]
    fn up_down_is_legal_reaches_all_and_closes_no_loop(network in networks(), root in 0usize..8) {
        let root = root % network.switch_count;
        let scenario = network.scenario(&format!("mode = \"up-down\"\nroot = \"s{root}\""));
        let distance = network.distances();
        let rank = network.ranks(root);
        let mut links = BTreeSet::new();
        for (host, target) in network.hosts.iter().enumerate() {
            let mut length = vec![None; network.switch_count];
            for switch in 0..network.switch_count {
                let way = follow(&scenario, switch, host);
                prop_assert_eq!(way.is_some(), distance[switch][*target].is_some());
                let Some(way) = way else { continue };
                let ups: Vec<bool> = way
                    .windows(2)
                    .map(|pair| rank[pair[1]] < rank[pair[0]])
                    .collect();
                prop_assert!(ups.windows(2).all(|turn| turn != [false, true]), "{:?}", way);
                for three in way.windows(3) {
                    links.insert(((three[0], three[1]), (three[1], three[2])));
                }
                length[switch] = Some(way.len() - 1);
            }
            prop_assert_eq!(length, up_down_lengths(&network, &rank, *target));
        }
        prop_assert!(!has_cycle(&links));
    }

    #[test]
    fn credit_loops_are_found_exactly_where_dependencies_are_cyclic(network in rings()) {
        for mode in ["shortest", "ecmp", "up-down"] {
            let scenario = network.scenario_with_flows(&format!("mode = \"{mode}\""));
            let dependencies = dependencies(&scenario);
            let loops = scenario.credit_loops();
            prop_assert_eq!(!loops.is_empty(), has_cycle(&dependencies), "{}", mode);
            prop_assert!(mode != "up-down" || loops.is_empty());
            for found in loops {
                let count = found.switches.len();
                let around: Vec<usize> = found.switches.iter().copied().cycle().take(count + 2).collect();
                for three in around.windows(3) {
                    prop_assert!(dependencies.contains(&((three[0], three[1]), (three[1], three[2]))));
                }
            }
        }
    }
}

/// Lengths by the documented rule, relaxed until nothing changes: a switch that can go down all the way does so on the
/// shortest such path, every other one goes up to where the path is shortest.
fn up_down_lengths(
    network: &Network,
    rank: &[(usize, usize)],
    target: usize,
) -> Vec<Option<usize>> {
    let goes_up = |a: usize, b: usize| rank[b] < rank[a];
    let relax = |length: &mut Vec<Option<usize>>, may: &dyn Fn(usize, usize) -> bool| loop {
        let before = length.clone();
        for (a, b) in network.pairs().filter(|(a, b)| may(*a, *b)) {
            if let (true, Some(left)) = (network.is_linked(a, b), before[b]) {
                if length[a].is_none_or(|known| left + 1 < known) {
                    length[a] = Some(left + 1);
                }
            }
        }
        if *length == before {
            return;
        }
    };
    let mut down = vec![None; network.switch_count];
    down[target] = Some(0);
    relax(&mut down, &|a, b| !goes_up(a, b));
    let mut length = down.clone();
    relax(&mut length, &|a, b| down[a].is_none() && goes_up(a, b));
    length
}
