//! Draws a wide network from its seed.

use weir_config::scenario::generate::{generate, TopologyConfig, TopologyKind};
use weir_core::level::LEVEL_MAX;
use weir_core::{BitRate, Duration, FeedbackCoding};

use super::case::{reserve, Breaker, Case, Class, Line, Link, Routes, Switch, GAMMA_MAX};
use super::traffic;
use crate::random::Random;
use crate::search::routes::{routes_to, Graph, RoutesTo, Style};

/// Identifies the random numbers for wide networks.
const WIDE: u64 = 6;
const HOSTS_MAX: usize = 40;
/// Maximum packet memory of all switches, so that ten thousand networks take minutes.
const MEMORY_MAX: u64 = 48_000_000;
/// Maximum number of bytes on a line in one direction.
const ON_LINE_MAX: u64 = 60_000;
const ROUTE_MAX: usize = 16;
/// Maximum excess of D.
const DEPTH_EXTRA_MAX: u64 = 5;
const ROUND_TRIP_FACTOR_MAX: u64 = 100;

pub(super) fn draw(seed: u64) -> Case {
    let mut random = Random::for_purpose(seed, WIDE);
    let (shape, graph, hosts_at) = graph(&mut random);
    let hosts = hosts(&hosts_at, &mut random);
    let style = style(shape, &mut random);
    let several = random.below(3) == 0;
    let routes_of = |target: usize, random: &mut Random| {
        routes_to(&graph, hosts[target], style, several, random)
    };
    let targets = traffic::targets(hosts.len(), &mut random);
    let routes: Vec<Option<RoutesTo>> = (0..hosts.len())
        .map(|host| {
            targets
                .contains(&host)
                .then(|| routes_of(host, &mut random))
        })
        .collect();
    let class_count = 1 + random.below(3) as usize;
    let flows = traffic::pairs(&hosts, &targets, &routes, class_count, &mut random);
    // Frames that wait during a route change follow first the old route, then the new.
    let changes = traffic::route_changes(&graph, &hosts, &targets, &mut random);
    let classes = classes(&flows, &routes, &hosts, &changes, class_count, &mut random);
    let depths: u64 = classes.iter().map(|class| class.spare.len() as u64).sum();
    let room = MEMORY_MAX / (2 * graph.edges.len().max(1) as u64 * depths.max(1));
    let room = room.saturating_sub(3 * GAMMA_MAX);
    let (host_line, links) = links(&graph, room, &mut random);
    let mut case = Case {
        seed,
        shape,
        duration: Duration::ZERO,
        refresh: Duration::ZERO,
        latency: Duration::ZERO,
        breaker: Breaker {
            detect: Duration::ZERO,
            interval: Duration::ZERO,
            release: Duration::ZERO,
        },
        host_line,
        switches: switches(graph.node_count, &mut random),
        hosts,
        links,
        classes,
        routes: written(&graph, &routes),
        flows: Vec::new(),
        faults: Vec::new(),
    };
    traffic::add(&mut case, &flows, &changes, &mut random);
    case
}

fn graph(random: &mut Random) -> (&'static str, Graph, Vec<usize>) {
    let mut number = |low: u64, high: u64| random.between(low, high) as usize;
    let (shape, kind) = match number(0, 9) {
        0 | 1 => {
            let [rows, columns] = [number(3, 5), number(3, 6)];
            ("torus", TopologyKind::Torus { rows, columns })
        }
        2 => {
            let layers = number(3, 4);
            let (rows, columns) = (3, 3);
            let kind = TopologyKind::Torus3d {
                layers,
                rows,
                columns,
            };
            ("torus-3d", kind)
        }
        3 => {
            let [rows, columns] = [number(2, 6), number(2, 6)];
            ("mesh", TopologyKind::Mesh { rows, columns })
        }
        4 => match number(0, 2) {
            0 => ("fat-tree", TopologyKind::FatTree { k: 4 }),
            1 => ("f10", TopologyKind::F10 { k: 4 }),
            _ => {
                let [leaves, spines] = [number(2, 8), number(2, 4)];
                ("leaf-spine", TopologyKind::LeafSpine { leaves, spines })
            }
        },
        5 => {
            let [groups, switches] = [number(2, 6), number(2, 4)];
            ("dragonfly", TopologyKind::Dragonfly { groups, switches })
        }
        6 => {
            let degree = number(3, 5);
            let switches = 2 * number(3, 12);
            ("regular", TopologyKind::RandomRegular { switches, degree })
        }
        7 | 8 => {
            let switches = number(3, ROUTE_MAX as u64 + 1);
            ("ring", TopologyKind::Ring { switches })
        }
        _ => {
            let graph = Graph::random(random);
            let all = (0..graph.node_count).collect();
            return ("random", graph, all);
        }
    };
    let mut config = TopologyConfig {
        kind,
        hosts: 1,
        miswired: 0,
        failed: 0,
    };
    let wiring = random.next_u64();
    if shape != "ring" && random.below(4) == 0 {
        config.miswired = random.below(3) as usize;
        config.failed = random.below(3) as usize;
    }
    let right = TopologyConfig {
        miswired: 0,
        failed: 0,
        ..config
    };
    // If the network is too small for so many mistakes, it gets none.
    let plan = generate(&config, wiring).or_else(|_| generate(&right, wiring));
    let plan = plan.unwrap_or_default();
    let working = plan.links.iter().filter(|link| !link.failed);
    let graph = Graph {
        edges: working.map(|link| link.ends).collect(),
        node_count: plan.switches.len(),
    };
    let places = plan.hosts.iter().map(|(_, switch)| *switch).collect();
    (shape, graph, places)
}

fn hosts(places: &[usize], random: &mut Random) -> Vec<usize> {
    let most = (HOSTS_MAX / places.len().max(1)).clamp(1, 3) as u64;
    let at = places.iter();
    at.flat_map(|switch| vec![*switch; random.between(1, most) as usize])
        .collect()
}

fn style(shape: &str, random: &mut Random) -> Style {
    let longest = random.between(2, ROUTE_MAX as u64) as usize;
    match random.below(3) {
        0 => Style::Shortest,
        1 if shape == "ring" => Style::Backwards(longest),
        _ => Style::Wandering(longest),
    }
}

/// Converts the existing routes of hosts to switches.
pub(super) fn written(graph: &Graph, routes: &[Option<RoutesTo>]) -> Routes {
    let mut written = Routes::new();
    for (host, routes) in routes.iter().enumerate() {
        let nodes = routes.iter().flatten().enumerate();
        for (switch, (_, edges)) in nodes.filter_map(|(node, route)| Some((node, route.as_ref()?)))
        {
            let other = |edge: &usize| {
                let [a, b] = graph.edges[*edge];
                if a == switch {
                    b
                } else {
                    a
                }
            };
            if !edges.is_empty() {
                written.insert((host, switch), edges.iter().map(other).collect());
            }
        }
    }
    written
}

fn classes(
    flows: &[traffic::Pair],
    routes: &[Option<RoutesTo>],
    hosts: &[usize],
    changes: &[traffic::RouteChange],
    count: usize,
    random: &mut Random,
) -> Vec<Class> {
    const PRIORITIES: [u8; 3] = [3, 5, 1];
    let length = |pair: &traffic::Pair| {
        let before = routes[pair.to].as_ref();
        let of = |routes: &RoutesTo| routes[hosts[pair.from]].as_ref().map(|(length, _)| *length);
        let before = before.and_then(of).unwrap_or(0);
        let change = changes.iter().filter(|change| change.to == pair.to);
        let longest = |routes: &RoutesTo| {
            let lengths = routes.iter().flatten().map(|(length, _)| *length);
            lengths.max().unwrap_or(0)
        };
        let after = change.map(|change| longest(&change.routes)).max();
        before + after.unwrap_or(0)
    };
    (0..count)
        .map(|class| {
            let of_class = flows.iter().filter(|pair| pair.class == class);
            let needed = of_class.map(length).max().unwrap_or(0).max(1);
            let extra = match random.below(2) {
                0 => 0,
                _ => random.between(1, DEPTH_EXTRA_MAX) as usize,
            };
            let spare_max = random.between(0, 6);
            Class {
                priority: PRIORITIES[class],
                spare: (0..(needed + extra).min(LEVEL_MAX))
                    .map(|_| random.between(0, spare_max))
                    .collect(),
                edge_xoff: random.between(2, 20),
            }
        })
        .collect()
}

fn switches(count: usize, random: &mut Random) -> Vec<Switch> {
    let is_mixed = random.below(6) == 0;
    let mut switches: Vec<Switch> = (0..count)
        .map(|_| Switch {
            levels: !is_mixed || random.below(4) > 0,
        })
        .collect();
    // At least one has Levels.
    if let Some(first) = switches.first_mut() {
        first.levels = true;
    }
    switches
}

/// Equal rates, similar ones, or any.
#[derive(Clone, Copy)]
enum Rates {
    Same(usize),
    Near(usize),
    Any,
}

impl Rates {
    const MBIT: [u64; 6] = [100, 1_000, 10_000, 25_000, 40_000, 100_000];

    fn draw(self, random: &mut Random) -> BitRate {
        let last = Self::MBIT.len() as u64 - 1;
        let place = match self {
            Self::Same(place) => place,
            Self::Near(place) => (place + random.below(2) as usize).min(last as usize),
            Self::Any => random.between(0, last) as usize,
        };
        BitRate::from_mbit(Self::MBIT[place])
    }
}

/// `room` is the maximum reserve of a link.
fn links(graph: &Graph, room: u64, random: &mut Random) -> (Line, Vec<Link>) {
    let place = random.below(Rates::MBIT.len() as u64) as usize;
    let rates = match random.below(4) {
        0 | 1 => Rates::Same(place),
        2 => Rates::Near(place),
        _ => Rates::Any,
    };
    // A reserve is twice what is on the line plus the frames of a round trip, and up to 1.85 times that in cells.
    let fits = (room / 2).saturating_sub(4_000) / 2;
    let most = match random.below(3) {
        0 => 2_000,
        1 => 10_000,
        _ => ON_LINE_MAX,
    };
    let most = most.min(fits);
    let line = |random: &mut Random| {
        let rate = rates.draw(random);
        let on_line = random.between(0, most);
        Line {
            rate,
            delay: Duration::from_nanos(on_line * 8_000_000_000 / rate.get()),
        }
    };
    let host_line = line(random);
    let coding = *pick(&CODINGS, random);
    let mixes_codings = random.below(2) == 0;
    let unknown = random.below(3) == 0;
    let wrong = random.below(4);
    let links = graph
        .edges
        .iter()
        .map(|ends| {
            let line = line(random);
            let coding = if mixes_codings {
                *pick(&CODINGS, random)
            } else {
                coding
            };
            let known = coding == FeedbackCoding::Grants || !unknown || random.below(2) == 0;
            let round_trip = match wrong {
                0 if random.below(2) == 0 => too_long(line, room, random),
                1 if random.below(2) == 0 => {
                    let factor = magnitude(1, ROUND_TRIP_FACTOR_MAX, random);
                    line.round_trip().divided_by(factor)
                }
                _ => line.round_trip(),
            };
            Link {
                ends: *ends,
                line,
                round_trip,
                coding,
                known,
            }
        })
        .collect();
    (host_line, links)
}

/// Codings of Feedback; the usual one has double weight.
const CODINGS: [FeedbackCoding; 4] = [
    FeedbackCoding::Pfc,
    FeedbackCoding::Pfc,
    FeedbackCoding::Pause,
    FeedbackCoding::Grants,
];

/// Draws T longer than the line needs, as far as memory permits.
fn too_long(line: Line, room: u64, random: &mut Random) -> Duration {
    let right = line.round_trip();
    let least = reserve(line.rate, right).max(1);
    let most = (room / least).clamp(1, ROUND_TRIP_FACTOR_MAX);
    right.saturating_mul(magnitude(1, most, random))
}

/// Draws a number from `low` to `high`, first its order of magnitude.
pub(in crate::search) fn magnitude(low: u64, high: u64, random: &mut Random) -> u64 {
    let octaves = u64::from((high / low.max(1)).max(1).ilog2());
    let octave = random.between(0, octaves);
    let begin = low << octave;
    random.between(begin, (begin * 2).min(high).max(begin))
}

pub(in crate::search) fn pick<'a, T>(from: &'a [T], random: &mut Random) -> &'a T {
    &from[random.below(from.len() as u64) as usize]
}
