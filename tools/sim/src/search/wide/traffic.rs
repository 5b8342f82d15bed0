//! Traffic of a wide network, and events during it.

use std::collections::BTreeSet;

use weir_core::{BitRate, Duration};

use super::case::{Breaker, Case, Fault, Flow};
use super::draw::{magnitude, pick, written};
use crate::random::Random;
use crate::search::routes::{routes_to, Graph, RoutesTo, Style};

/// Intended number of line crossings, which determines the duration of a run.
const CROSSINGS: f64 = 7_000.0;

#[derive(Clone, Copy)]
pub(super) struct Pair {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) class: usize,
}

pub(super) struct RouteChange {
    pub(super) to: usize,
    pub(super) routes: RoutesTo,
}

/// Draws the destinations of all flows: all hosts, or a few.
pub(super) fn targets(hosts: usize, random: &mut Random) -> BTreeSet<usize> {
    if random.below(3) > 0 {
        return (0..hosts).collect();
    }
    let few = random.between(1, 4);
    (0..few)
        .map(|_| random.below(hosts as u64) as usize)
        .collect()
}

/// Draws one to three flows from each host.
pub(super) fn pairs(
    hosts: &[usize],
    targets: &BTreeSet<usize>,
    routes: &[Option<RoutesTo>],
    classes: usize,
    random: &mut Random,
) -> Vec<Pair> {
    let targets: Vec<usize> = targets.iter().copied().collect();
    let mut pairs = Vec::new();
    for (from, at) in hosts.iter().enumerate() {
        for _ in 0..random.between(1, 3) {
            let to = *pick(&targets, random);
            let class = random.below(classes as u64) as usize;
            let has_way = routes[to].as_ref().is_some_and(|to| to[*at].is_some());
            if to != from && has_way {
                pairs.push(Pair { from, to, class });
            }
        }
    }
    pairs
}

/// Draws other routes for some hosts in an eighth of the networks.
pub(super) fn route_changes(
    graph: &Graph,
    hosts: &[usize],
    targets: &BTreeSet<usize>,
    random: &mut Random,
) -> Vec<RouteChange> {
    if random.below(8) > 0 {
        return Vec::new();
    }
    const LONGEST: u64 = 10;
    let targets: Vec<usize> = targets.iter().copied().collect();
    let chosen: BTreeSet<usize> = (0..random.between(1, 3))
        .map(|_| *pick(&targets, random))
        .collect();
    let change = |to: usize| {
        let style = match random.below(2) {
            0 => Style::Shortest,
            _ => Style::Wandering(random.between(2, LONGEST) as usize),
        };
        let routes = routes_to(graph, hosts[to], style, false, random);
        RouteChange { to, routes }
    };
    chosen.into_iter().map(change).collect()
}

pub(super) fn add(case: &mut Case, pairs: &[Pair], changes: &[RouteChange], random: &mut Random) {
    const FRAMES: [u64; 8] = [60, 64, 128, 257, 512, 1000, 1500, 1518];
    let mixes_frames = random.below(3) == 0;
    let usual = *pick(&FRAMES[3..], random);
    for pair in pairs {
        case.flows.push(Flow {
            from: pair.from,
            to: pair.to,
            class: pair.class,
            frame: if mixes_frames {
                *pick(&FRAMES, random)
            } else {
                usual
            },
            rate: None,
            start: Duration::ZERO,
            size: None,
            on_off: None,
        });
    }
    case.duration = time_for(case, random);
    let nanos = case.duration.as_nanos();
    for flow in &mut case.flows {
        pattern(flow, nanos, case.host_line.rate, random);
    }
    let frame = case.slowest().frame_time();
    let refresh = [200_000, 1_000_000, 10_000_000];
    let refresh = (*pick(&refresh, random)).clamp(nanos / 200 + 1, nanos / 20 + 20_000);
    case.refresh = Duration::from_nanos(refresh);
    if random.below(3) == 0 {
        case.latency = Duration::from_nanos(magnitude(1_000, nanos / 10 + 2_000, random));
    }
    let latency = case.latency.saturating_mul(2);
    let longest = case.longest_round_trip();
    let detect = frame.saturating_mul(30) + longest.saturating_mul(3) + latency;
    case.breaker = Breaker {
        detect,
        interval: detect.divided_by(8) + longest + latency,
        release: detect,
    };
    faults(case, changes, random);
}

fn pattern(flow: &mut Flow, nanos: u64, line: BitRate, random: &mut Random) {
    let span =
        |random: &mut Random| Duration::from_nanos(random.between(nanos / 100 + 1, nanos / 8 + 1));
    flow.start = Duration::from_nanos(random.below(nanos / 8 + 1));
    match random.below(10) {
        0 if flow.rate.is_none() => {
            flow.rate = BitRate::new(random.between(line.get() / 50, line.get()))
        }
        1 => flow.size = Some(random.between(1_000, 200_000)),
        2 => flow.on_off = Some([span(random), span(random)]),
        _ => {}
    }
}

/// Returns each flow's line crossings per second if it has an equal share of each line on its path.
fn crossings_per_second(case: &Case) -> Vec<f64> {
    let shares = case.shares();
    let flows = case.flows.iter().zip(&shares);
    let rates = flows.map(|(flow, share)| {
        let rate = share.hops.iter().map(|hop| hop.rate / hop.users).min();
        let frames = rate.unwrap_or(0) as f64 / ((flow.frame + 24) * 8) as f64;
        frames * share.hops.len() as f64
    });
    rates.collect()
}

/// Returns a duration with about [`CROSSINGS`] that is long enough for frames to arrive however slow and long some lines
/// are. Flows with too many crossings get a rate limit.
fn time_for(case: &mut Case, random: &mut Random) -> Duration {
    /// Maximum crossings of all flows, as a multiple of [`CROSSINGS`].
    const MORE_MAX: f64 = 2.0;
    let per_flow = crossings_per_second(case);
    let nanos = CROSSINGS / per_flow.iter().sum::<f64>().max(1.0) * 1e9;
    let least = case.slowest().frame_time().as_nanos() * 60;
    let delays = case.links.iter().map(|link| link.line.delay.as_nanos());
    let least = least.max(delays.max().unwrap_or(0) * 20);
    let nanos = (nanos as u64).clamp(least, 2_000_000_000.max(least));
    let most = CROSSINGS * MORE_MAX / case.flows.len().max(1) as f64;
    let shares = case.shares();
    for ((flow, share), crossings) in case.flows.iter_mut().zip(&shares).zip(per_flow) {
        if crossings * nanos as f64 / 1e9 > most {
            let frames = most / share.hops.len() as f64 * random.between(1, 3) as f64;
            let bits = frames * (flow.frame * 8) as f64;
            flow.rate = BitRate::new((bits / (nanos as f64 / 1e9)) as u64 + 1);
        }
    }
    Duration::from_nanos(nanos)
}

fn faults(case: &mut Case, changes: &[RouteChange], random: &mut Random) {
    let nanos = case.duration.as_nanos();
    let begin = |random: &mut Random| Duration::from_nanos(random.below(nanos * 2 / 3));
    let length =
        |random: &mut Random| Duration::from_nanos(random.between(nanos / 50 + 1, nanos / 6 + 2));
    if random.below(4) == 0 && !case.links.is_empty() {
        for _ in 0..random.between(1, 3) {
            let fault = Fault::LinkDown {
                link: random.below(case.links.len() as u64) as usize,
                at: begin(random),
                length: length(random),
            };
            case.faults.push(fault);
        }
    }
    if random.below(6) == 0 {
        let fault = Fault::SlowControl {
            switch: random.below(case.switches.len() as u64) as usize,
            latency: Duration::from_nanos(magnitude(10_000, nanos / 4 + 20_000, random)),
            at: begin(random),
            length: length(random),
        };
        case.faults.push(fault);
    }
    let graph = Graph {
        edges: case.links.iter().map(|link| link.ends).collect(),
        node_count: case.switches.len(),
    };
    for change in changes {
        let at = begin(random);
        let is_staggered = random.below(2) == 0;
        let mut routes: Vec<Option<RoutesTo>> = vec![None; case.hosts.len()];
        routes[change.to] = Some(change.routes.clone());
        for ((to, switch), next) in written(&graph, &routes) {
            let before = case.routes.get(&(to, switch));
            if before == Some(&next) {
                continue;
            }
            let later = Duration::from_nanos(random.below(nanos / 20 + 1));
            case.faults.push(Fault::Route {
                switch,
                to,
                next,
                at: if is_staggered { at + later } else { at },
            });
        }
    }
}
