//! Compares the counts with two slow models: scenario files with their own search for loops, and walks that follow every
//! frame from switch to switch.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use weir_config::scenario::generate::{generate, Plan};
use weir_config::scenario::Scenario;

use super::fabric::Fabric;
use super::routes::Routes;
use super::*;

fn scenario(tree: Tree, seed: u64, mode: &str) -> Scenario {
    let hosts = tree.k * tree.k / 2;
    let mut text = format!(
        "name = \"tree\"\ndescription = \"Every host sends to every other\"\nduration = \"1ms\"\nseed = {seed}\n\
         [link-defaults]\nrate = \"1Gbit\"\ndelay = \"1us\"\n\
         [topology]\nkind = \"fat-tree\"\nk = {}\nhosts = 1\nfailed = {}\n[routing]\nmode = \"{mode}\"\n\
         [[class]]\nname = \"lossless\"\npriority = 3\nmode = \"pfc\"\nxoff = \"60KiB\"\nxon = \"52KiB\"\nheadroom = \"16KiB\"\n",
        tree.k, tree.failed
    );
    for from in 1..=hosts {
        for to in (1..=hosts).filter(|to| *to != from) {
            let _ = write!(
                text,
                "[[flow]]\nname = \"{from}-{to}\"\nfrom = \"h{from}\"\nto = \"h{to}\"\nclass = \"lossless\"\nframe = \"1500B\"\n"
            );
        }
    }
    Scenario::parse(&text, Path::new("tree.toml"), &[]).unwrap()
}

fn count(tree: Tree, seed: u64) -> [Count; Routing::ALL.len()] {
    Counter::new(tree).unwrap().count(seed).unwrap()
}

fn routing_index(routing: Routing) -> usize {
    Routing::ALL
        .iter()
        .position(|other| *other == routing)
        .unwrap()
}

#[test]
fn the_modes_of_scenario_files_close_the_loops_that_are_found_there() {
    let mut with_loops = 0;
    for (k, failed, seeds) in [(4, 4, 0..12), (4, 9, 0..12), (6, 30, 0..3)] {
        let tree = Tree { k, failed };
        for seed in seeds {
            let counts = count(tree, seed);
            for (routing, mode) in [
                (Routing::UpDown, "up-down"),
                (Routing::Shortest, "shortest"),
                (Routing::Ecmp, "ecmp"),
            ] {
                let found = scenario(tree, seed, mode).first_credit_loop();
                let count = counts[routing_index(routing)];
                assert_eq!(count.has_loop(), found.is_some(), "{tree:?} {seed} {mode}");
                with_loops += u64::from(count.has_loop());
            }
        }
    }
    assert!(with_loops > 5, "{with_loops}");
}

/// Links as pairs of switches, with ordinary sets instead of bits.
struct Slow {
    working: BTreeSet<(usize, usize)>,
    all: BTreeSet<(usize, usize)>,
    tier: Vec<u8>,
    edges: Vec<usize>,
}

type NextHops = BTreeMap<(usize, usize), BTreeSet<usize>>;

impl Slow {
    fn new(plan: &Plan) -> Self {
        let both = |failed_too: bool| {
            let links = plan.links.iter().filter(|link| failed_too || !link.failed);
            let ends = links.map(|link| link.ends);
            ends.flat_map(|[a, b]| [(a, b), (b, a)]).collect()
        };
        Self {
            working: both(false),
            all: both(true),
            tier: plan.tiers.clone().unwrap(),
            edges: plan.hosts.iter().map(|(_, switch)| *switch).collect(),
        }
    }

    fn neighbours(links: &BTreeSet<(usize, usize)>, at: usize) -> impl Iterator<Item = usize> + '_ {
        links.range((at, 0)..(at + 1, 0)).map(|(_, next)| *next)
    }

    fn distances(links: &BTreeSet<(usize, usize)>, to: usize) -> BTreeMap<usize, usize> {
        let mut distances = BTreeMap::from([(to, 0)]);
        for length in 0.. {
            let ring: Vec<usize> = distances
                .iter()
                .filter(|(_, distance)| **distance == length)
                .map(|(switch, _)| *switch)
                .collect();
            if ring.is_empty() {
                break;
            }
            for switch in ring {
                for (from, _) in links.iter().filter(|(_, to)| *to == switch) {
                    distances.entry(*from).or_insert(length + 1);
                }
            }
        }
        distances
    }

    fn ecmp(&self, links: &BTreeSet<(usize, usize)>) -> NextHops {
        let mut next_hops = NextHops::new();
        for to in &self.edges {
            let distances = Self::distances(links, *to);
            for (at, next) in links {
                if distances.get(next).map(|length| length + 1) == distances.get(at).copied() {
                    next_hops.entry((*at, *to)).or_default().insert(*next);
                }
            }
        }
        next_hops
    }

    /// Finds the shortest paths of at most four links that go up, then down, by trying all.
    fn by_tiers(&self) -> NextHops {
        let mut next_hops = NextHops::new();
        let is_down = |a: usize, b: usize| self.tier[a] < self.tier[b];
        for to in &self.edges {
            for at in 0..self.tier.len() {
                let mut ways: Vec<Vec<usize>> = Vec::new();
                let mut open = vec![vec![at]];
                while let Some(way) = open.pop() {
                    let last = way[way.len() - 1];
                    if last == *to {
                        ways.push(way);
                        continue;
                    }
                    for next in Self::neighbours(&self.working, last).filter(|_| way.len() < 5) {
                        let has_gone_down = way.windows(2).any(|pair| is_down(pair[0], pair[1]));
                        if !has_gone_down || is_down(last, next) {
                            open.push([&way[..], &[next]].concat());
                        }
                    }
                }
                let down_alone = |way: &Vec<usize>| way.windows(2).all(|p| is_down(p[0], p[1]));
                if ways.iter().any(down_alone) {
                    ways.retain(down_alone);
                }
                let shortest = ways.iter().map(Vec::len).min();
                for way in ways
                    .iter()
                    .filter(|way| Some(way.len()) == shortest && way.len() > 1)
                {
                    next_hops.entry((at, *to)).or_default().insert(way[1]);
                }
            }
        }
        next_hops
    }

    fn detours(&self) -> NextHops {
        let mut next_hops = self.ecmp(&self.all);
        for ((at, _), next) in &mut next_hops {
            next.retain(|next| self.working.contains(&(*at, *next)));
            if next.is_empty() {
                let below = |other: &usize| self.tier[*other] > self.tier[*at];
                next.extend(Self::neighbours(&self.working, *at).filter(below));
            }
        }
        next_hops
    }

    /// Finds links on cycles: follows each frame between all switches, removes dead ends, and keeps links that lead back to
    /// themselves.
    fn on_loops(&self, next_hops: &NextHops) -> BTreeSet<(usize, usize)> {
        let none = BTreeSet::new();
        let mut waits: BTreeMap<(usize, usize), BTreeSet<(usize, usize)>> = BTreeMap::new();
        for to in &self.edges {
            let onwards = |at: usize| next_hops.get(&(at, *to)).unwrap_or(&none);
            let mut open: Vec<(usize, usize)> = Vec::new();
            for from in self.edges.iter().filter(|from| *from != to) {
                open.extend(onwards(*from).iter().map(|next| (*from, *next)));
            }
            let mut seen = BTreeSet::new();
            while let Some(link) = open.pop() {
                if !seen.insert(link) {
                    continue;
                }
                for next in onwards(link.1).iter().filter(|next| **next != link.0) {
                    waits.entry(link).or_default().insert((link.1, *next));
                    open.push((link.1, *next));
                }
            }
        }
        let reaches_itself = |start: &(usize, usize)| {
            let mut seen = BTreeSet::new();
            let mut open = vec![*start];
            while let Some(link) = open.pop() {
                for next in waits.get(&link).into_iter().flatten() {
                    if next == start {
                        return true;
                    }
                    if seen.insert(*next) {
                        open.push(*next);
                    }
                }
            }
            false
        };
        waits.keys().copied().filter(reaches_itself).collect()
    }
}

fn as_next_hops(fabric: &Fabric, routes: &Routes) -> NextHops {
    let mut next_hops = NextHops::new();
    for channel in 0..fabric.to.len() {
        for (destination, edge) in fabric.edges.iter().enumerate() {
            if routes.members.has(channel, destination) {
                let at = (fabric.from[channel], *edge);
                next_hops.entry(at).or_default().insert(fabric.to[channel]);
            }
        }
    }
    next_hops
}

#[test]
fn every_frame_followed_by_hand_gives_the_same_channels_on_loops() {
    let mut seen = [0_u64; Routing::ALL.len()];
    for (k, failed, seeds) in [(4, 2, 0..8), (4, 8, 0..20), (6, 16, 0..2)] {
        for seed in seeds {
            let tree = Tree { k, failed };
            let plan = generate(&tree.topology(), seed).unwrap();
            let (fabric, slow) = (Fabric::new(&plan), Slow::new(&plan));
            let counts = count(tree, seed);
            let ecmp = Routes::ecmp(&fabric);
            let whole = Counter::new(tree).unwrap().whole;
            for (index, routing) in Routing::ALL.into_iter().enumerate() {
                let routes = Routes::new(&fabric, [&ecmp, &whole], routing, seed);
                let fast = as_next_hops(&fabric, &routes);
                match routing {
                    Routing::Ecmp => assert_eq!(fast, slow.ecmp(&slow.working)),
                    Routing::UpDownTiers => assert_eq!(fast, slow.by_tiers()),
                    Routing::Detours => {
                        let mut expected = slow.detours();
                        expected.retain(|_, next| !next.is_empty());
                        assert_eq!(fast, expected);
                    }
                    Routing::Shortest | Routing::ShortestDrawn => {
                        let all = slow.ecmp(&slow.working);
                        assert_eq!(fast.len(), all.len());
                        for (at, next) in &fast {
                            assert!(next.len() == 1 && next.is_subset(&all[at]), "{at:?}");
                        }
                    }
                    // Those of the scenario, above.
                    Routing::UpDown => {}
                }
                let on_loops = slow.on_loops(&fast);
                assert_eq!(
                    counts[index].on_loops,
                    on_loops.len() as u64,
                    "{tree:?} {seed} {routing:?}"
                );
                seen[index] += counts[index].on_loops;
            }
        }
    }
    let [up_down, tiers, .., ecmp, detours] = seen;
    assert_eq!([up_down, tiers], [0, 0]);
    assert!(ecmp > 0 && detours > 0, "{seen:?}");
}

#[test]
fn a_whole_tree_has_no_loops() {
    let counts = count(Tree { k: 4, failed: 0 }, 1);
    assert!(counts
        .iter()
        .all(|count| !count.has_loop() && count.cut.unwrap_or(0) == 0));
    assert!(counts
        .iter()
        .all(|count| count.channels == 64 && count.pairs == 56));
}

#[test]
fn numbers_of_other_seeds_are_read_and_added() {
    let tree = Tree { k: 4, failed: 6 };
    let counter = Counter::new(tree).unwrap();
    let of_seeds = |seeds: std::ops::Range<u64>| {
        let mut lines = Routing::ALL.map(|routing| Line::new(tree, 20, routing));
        for seed in seeds {
            let counts = counter.count(seed).unwrap();
            for (line, count) in lines.iter_mut().zip(&counts) {
                line.add(count);
            }
        }
        lines.to_vec()
    };
    let all = of_seeds(0..12);
    let numbers = |lines: &[Line]| {
        let made = reproduction(lines).files.into_iter();
        let mut numbers = made.filter(|file| file.name.ends_with(".json"));
        numbers.next().unwrap().text
    };
    let parts = [of_seeds(5..12), of_seeds(0..5)].map(|lines| read(&numbers(&lines)).unwrap());
    let merged = merged(parts.into_iter().flatten());
    assert_eq!(merged, all);
    assert_eq!(numbers(&merged), numbers(&all));
    let wrong = numbers(&all).replace("credit-loops", "clcm-fig7");
    assert!(read(&wrong).unwrap_err().contains("clcm-fig7"));
}

#[test]
fn the_confidence_is_wilsons() {
    let mut line = Line::new(Tree { k: 4, failed: 1 }, 3, Routing::Ecmp);
    for index in 0..50 {
        line.add(&Count {
            on_loops: u64::from(index < 10),
            channels: 4,
            ..Count::default()
        });
    }
    // R: binom::binom.wilson(10, 50).
    let [low, high] = line.confidence();
    assert!(
        (low - 0.112_438).abs() < 1e-6 && (high - 0.330_371).abs() < 1e-6,
        "{low} {high}"
    );
    assert!((line.on_loops() - 0.05).abs() < 1e-12);
    assert_eq!(line.with_cuts, None);
}
