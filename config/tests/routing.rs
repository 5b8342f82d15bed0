//! Computed routes and credit loops against slow references, on random networks.

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

    /// Every ordered pair of switches.
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

    /// By switch: its place from the top by the documented rule. A step to a smaller one goes up.
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

/// Takes channels away that wait for nothing, until nothing changes: what stays is on a cycle or leads to one.
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

/// All pairs of links that some flow takes one after the other, by walking every way.
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
    fn up_down_is_legal_reaches_everybody_and_closes_no_loop(network in networks(), root in 0usize..8) {
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
/// shortest such way, every other one goes up to where the way is shortest.
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

fn diamond() -> Network {
    Network {
        switch_count: 4,
        links: vec![(0, 1, false), (0, 2, false), (1, 3, false), (2, 3, false)],
        hosts: vec![0, 3],
    }
}

fn parse(text: &str) -> Result<Scenario, String> {
    Scenario::parse(text, Path::new("diamond.toml"), &[]).map_err(|error| error.to_string())
}

const FLOW: &str = "[[flow]]\nname = \"a\"\nfrom = \"h0\"\nto = \"h1\"\nclass = \"lossless\"\n";

#[test]
fn written_routes_come_over_computed_ones() {
    let computed = diamond().text("mode = \"ecmp\"");
    let scenario = parse(&computed).unwrap();
    assert_eq!(next(&scenario, 0, 1), [Some(1), Some(2)]);
    let one = format!("{computed}[[route]]\nto = \"h1\"\nvia = [\"s0\", \"s2\", \"s3\"]\n");
    let scenario = parse(&one).unwrap();
    assert_eq!(next(&scenario, 0, 1), [Some(2)]);
    assert_eq!(
        next(&scenario, 3, 0),
        [Some(1), Some(2)],
        "the other way as computed"
    );
    let shortest = diamond().text("mode = \"shortest\"");
    let group = "[[route]]\nto = \"h1\"\nat = \"s0\"\nports = [\"s2\", \"s1\"]\n";
    let scenario = parse(&format!("{shortest}{group}")).unwrap();
    assert_eq!(
        next(&scenario, 0, 1),
        [Some(1), Some(2)],
        "in the order of ports"
    );
}

#[test]
fn a_flow_can_ask_for_one_of_the_ways() {
    let text = diamond().text("mode = \"ecmp\"") + FLOW;
    assert_eq!(parse(&text).unwrap().way(0), None, "the hash decides");
    let asked = |via: &str| parse(&format!("{text}via = {via}\n"));
    assert_eq!(
        asked("[\"s0\", \"s2\", \"s3\"]").unwrap().way(0),
        Some(vec![0, 2, 3])
    );
    for (via, said) in [
        (
            "[\"s0\", \"s3\"]",
            "the routes to `h1` do not lead this way",
        ),
        (
            "[\"s0\", \"s2\"]",
            "the routes to `h1` do not lead this way",
        ),
        ("[\"s1\", \"s3\"]", "must begin at `s0`, where `h0` is"),
        ("[\"s9\"]", "unknown switch `s9`"),
    ] {
        let complaint = asked(via).unwrap_err();
        assert!(complaint.contains(said), "{complaint}");
    }
}

#[test]
fn refusals_of_routes_name_the_remedy() {
    let text = diamond().text("mode = \"ecmp\"") + FLOW;
    for (routes, said) in [
        (
            "to = \"h1\"\nat = \"s0\"\nports = [\"s3\"]",
            "there is no link from `s0` to `s3` that works",
        ),
        (
            "to = \"h1\"\nat = \"s0\"\nports = [\"s1\", \"s1\"]",
            "`s1` is there twice",
        ),
        ("to = \"h1\"\nat = \"s0\"\nports = []", "at least one switch"),
        ("to = \"h1\"\nat = \"s0\"", "ports: missing"),
        ("to = \"h1\"", "via: missing"),
        (
            "to = \"h1\"\nat = \"s3\"\nports = [\"s1\"]",
            "`h1` is at `s3` itself",
        ),
        (
            "to = \"h1\"\nat = \"s0\"\nvia = [\"s0\", \"s1\", \"s3\"]",
            "either `via`, or `at` and `ports`",
        ),
        (
            "to = \"h1\"\nat = \"s1\"\nports = [\"s0\"]",
            "frames to `h1` can come back to `s0`",
        ),
        (
            "to = \"h1\"\nat = \"s0\"\nports = [\"s1\"]\n[[route]]\nto = \"h1\"\nvia = [\"s0\", \"s2\", \"s3\"]",
            "another route to `h1` leaves `s0` by another link",
        ),
    ] {
        let complaint = parse(&format!("{text}[[route]]\n{routes}\n")).expect_err(routes);
        assert!(complaint.contains(said), "{routes}:\n{complaint}");
    }
    let rooted = diamond().text("mode = \"ecmp\"\nroot = \"s1\"");
    assert!(parse(&rooted)
        .unwrap_err()
        .contains("mode = \"up-down\" have a root"));
    let failed = diamond()
        .text("mode = \"shortest\"")
        .replace("failed = false", "failed = true");
    let complaint = parse(&(failed + FLOW)).unwrap_err();
    assert!(
        complaint.contains("get no further than `s0`"),
        "{complaint}"
    );
}

#[test]
fn a_wrong_statement_about_credit_loops_is_refused() {
    let text = diamond().text("mode = \"ecmp\"") + FLOW;
    let complaint = parse(&format!("{text}[expect]\ncredit-loop = true\n")).unwrap_err();
    assert!(
        complaint.contains("expect.credit-loop: the routes of the flows close no"),
        "{complaint}"
    );
    assert!(parse(&format!("{text}[expect]\ncredit-loop = false\n")).is_ok());
    let ring = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios/ring4.toml");
    let overrides = ["expect.off.credit-loop=false".parse().unwrap()];
    let complaint = Scenario::load(&ring, &overrides).unwrap_err().to_string();
    assert!(
        complaint.contains(
            "expect.off.credit-loop: the routes of the flows close the credit loop s1 → s2 → s3 → s4 → s1 in priority 3"
        ),
        "{complaint}"
    );
}

#[test]
fn the_scenarios_close_the_loops_that_they_are_about() {
    for (file, wanted) in [
        ("ring4.toml", &["s1 → s2 → s3 → s4 → s1"][..]),
        ("ring4-ecmp.toml", &["s1 → s2 → s3 → s4 → s1"]),
        ("ring4-hub.toml", &["s1 → s2 → s3 → s4 → s1"]),
        ("ring4-hub-returns.toml", &["s1 → s2 → s3 → s4 → s1"]),
        ("figure1.toml", &["c11 → l23 → c12 → l22 → c11"]),
        ("figure2.toml", &["sw1 → q1a → sw2 → q2a → sw1"]),
        (
            "two-loops.toml",
            &["s1 → s2 → s3 → s1", "t1 → t2 → t3 → t1"],
        ),
        ("shared-link.toml", &["u → v → a → u", "u → v → b → u"]),
        ("one-switch.toml", &[]),
    ] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../scenarios")
            .join(file);
        let scenario = Scenario::load(&path, &[]).unwrap();
        let found: Vec<String> = scenario
            .credit_loops()
            .iter()
            .map(|found| scenario.credit_loop_text(found))
            .collect();
        assert_eq!(found, wanted, "{file}");
    }
}

/// Figures 1 and 2 and both rings have the members that a Loop Breaker needs.
#[test]
fn every_switch_of_those_loops_has_another_member_for_a_flow_on_it() {
    for file in [
        "ring4-ecmp.toml",
        "ring4-hub.toml",
        "figure1.toml",
        "figure2.toml",
    ] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../scenarios")
            .join(file);
        let scenario = Scenario::load(&path, &[]).unwrap();
        let ways: Vec<Vec<usize>> = (0..scenario.flows.len())
            .map(|flow| scenario.way(flow).unwrap())
            .collect();
        let on_loop = &scenario.credit_loops()[0].switches;
        let movable = on_loop.iter().filter(|switch| {
            ways.iter().zip(&scenario.flows).any(|(way, flow)| {
                way.contains(*switch) && scenario.next_hops[**switch][flow.to].len() > 1
            })
        });
        assert_eq!(movable.count(), on_loop.len(), "{file}");
    }
}
