//! All switches together: links, pauses, circles, verdict.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::incidents::incidents;
use super::layout::{layout, Graph, Layout};
use super::loops::{loops, Paused};
use super::state::{Circle, Link, State, Switch};
use super::switch::{Queue, Watched};
use super::text::by_number;
use super::view::{counts, shown_circle, shown_incident, shown_pauses, shown_switch, verdict};

/// Maximum number of switches.
pub const SWITCHES_MAX: usize = 256;
/// Maximum number of circles shown.
const LOOPS_MAX: usize = 12;

/// The time of the shown state.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    /// Local monotonic clock, in nanoseconds.
    pub monotonic: i64,
    /// Local wall clock, in nanoseconds since 1970.
    pub unix: i64,
    /// Polling interval in seconds.
    pub interval: f64,
    /// Number of switches beyond the maximum.
    pub left_out: usize,
    /// Formats nanoseconds since 1970 as RFC 3339.
    pub written: fn(i64) -> String,
}

impl Now {
    /// Converts local monotonic time into nanoseconds since 1970.
    pub(super) fn wall(&self, monotonic: i64) -> i64 {
        self.unix
            .saturating_sub(self.monotonic.saturating_sub(monotonic))
    }
}

/// All watched switches.
#[derive(Default)]
pub struct Fabric {
    switches: BTreeMap<String, Watched>,
    /// The last layout: computing one takes longer than everything else, and links seldom change.
    drawn: Option<(Graph, Arc<Layout>)>,
}

/// A paused direction, merged from both ends' reports.
#[derive(Clone, Debug, Default)]
pub(super) struct Held {
    pub(super) ports: BTreeSet<String>,
    /// Ports of the other end, used if this end reports none.
    pub(super) far_ports: BTreeSet<String>,
    pub(super) now: bool,
    pub(super) share: Option<f64>,
    pub(super) suspected: bool,
    pub(super) releasing: bool,
}

/// Node at an end of a direction.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum End {
    Switch(usize),
    Other(String),
}

pub(super) type Directions = BTreeMap<(u8, End, End), Held>;

impl Fabric {
    /// Returns the switch of this name, added if there is room.
    pub fn switch(&mut self, name: &str) -> Option<&mut Watched> {
        if !self.switches.contains_key(name) && self.switches.len() >= SWITCHES_MAX {
            return None;
        }
        Some(self.switches.entry(name.to_owned()).or_default())
    }

    /// Returns the whole state at one time.
    pub fn state(&mut self, now: &Now) -> State {
        let mut names: Vec<&String> = self.switches.keys().collect();
        names.sort_by(|a, b| by_number(a, b));
        let names: Vec<String> = names.into_iter().cloned().collect();
        let all: Vec<&Watched> = names
            .iter()
            .filter_map(|name| self.switches.get(name))
            .collect();
        let index = index(&names, &all);
        let links = links(&all, &index);
        let directions = directions(&all, &index);
        let circles = loops(&held_now(&directions), LOOPS_MAX);
        let incidents = incidents(&all, now.monotonic);
        let graph = graph(&all, &links);
        let drawn = self.drawn.take().filter(|(known, _)| *known == graph);
        let (graph, drawn) = drawn.unwrap_or_else(|| {
            let made = Arc::new(layout(&graph));
            (graph, made)
        });
        let shown = names.iter().zip(&all).zip(&drawn.places);
        let switches: Vec<Switch> = shown
            .map(|((name, watched), place)| shown_switch(name, watched, *place, now))
            .collect();
        let counts = counts(&switches, &directions);
        let loops: Vec<Circle> = circles
            .iter()
            .map(|circle| shown_circle(circle, &directions, &names))
            .collect();
        let (condition, verdict) = verdict(&switches, &counts, &loops, &incidents, now);
        let (pauses, pauses_left_out) = shown_pauses(&directions, &circles, &names);
        let state = State {
            time: (now.written)(now.unix),
            unix_seconds: now.unix as f64 / 1e9,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            interval_seconds: now.interval,
            condition,
            verdict,
            counts,
            layout: drawn.kind.word().to_owned(),
            links,
            pauses,
            pauses_left_out,
            loops,
            incidents: incidents
                .iter()
                .map(|incident| shown_incident(incident, &names, now))
                .collect(),
            switches,
            switches_left_out: now.left_out,
        };
        self.drawn = Some((graph, drawn));
        state
    }
}

/// Resolves names from LLDP: by the switches' own names, else by the page's.
fn index(names: &[String], all: &[&Watched]) -> BTreeMap<String, usize> {
    let mut index = BTreeMap::new();
    let calls_itself = |watched: &&Watched| watched.told.as_ref().map(|told| told.name.clone());
    for (at, name) in all.iter().map(calls_itself).enumerate() {
        if let Some(name) = name {
            index.entry(name).or_insert(at);
        }
    }
    for (at, name) in names.iter().enumerate() {
        index.entry(name.clone()).or_insert(at);
    }
    index
}

fn links(all: &[&Watched], index: &BTreeMap<String, usize>) -> Vec<Link> {
    let mut found: BTreeMap<(usize, usize), Link> = BTreeMap::new();
    for (here, watched) in all.iter().enumerate() {
        let answers = watched.trouble.is_none();
        for neighbour in watched.neighbours.values() {
            let Some(&there) = index.get(&neighbour.name).filter(|there| **there != here) else {
                continue;
            };
            let (a, b) = (here.min(there), here.max(there));
            let link = found
                .entry((a, b))
                .or_insert_with(|| Link { a, b, is_up: true });
            // A switch without an answer does not affect the link's state.
            link.is_up &= !answers || (neighbour.heard && neighbour.is_up);
        }
    }
    found.into_values().collect()
}

fn graph(all: &[&Watched], links: &[Link]) -> Graph {
    let has_hosts = |watched: &&Watched| watched.told.as_ref().is_some_and(|told| told.has_hosts);
    Graph {
        has_hosts: all.iter().map(has_hosts).collect(),
        links: links.iter().map(|link| (link.a, link.b)).collect(),
    }
}

/// Collects the pauses reported by both ends of all links. Switches without an answer are ignored.
fn directions(all: &[&Watched], index: &BTreeMap<String, usize>) -> Directions {
    let mut directions = Directions::new();
    for (here, watched) in all.iter().enumerate() {
        let told = watched.told.as_ref().filter(|_| watched.trouble.is_none());
        for queue in told.into_iter().flat_map(|told| &told.queues) {
            let neighbour = watched
                .neighbours
                .get(&queue.port)
                .map(|neighbour| &neighbour.name);
            let there = match neighbour.and_then(|name| index.get(name)) {
                Some(there) if *there != here => End::Switch(*there),
                // The port's name stands for a neighbour without a name.
                _ => End::Other(neighbour.unwrap_or(&queue.port).clone()),
            };
            add(&mut directions, End::Switch(here), there, queue);
        }
    }
    directions
}

fn add(directions: &mut Directions, here: End, there: End, queue: &Queue) {
    if queue.paused || queue.suspected || queue.releasing || queue.share > 0.0 {
        let key = (queue.priority, here.clone(), there.clone());
        let held = directions.entry(key).or_default();
        held.ports.insert(queue.port.clone());
        held.now |= queue.paused;
        held.share = Some(held.share.unwrap_or(0.0).max(queue.share));
        held.suspected |= queue.suspected;
        held.releasing |= queue.releasing;
    }
    if queue.pausing {
        let held = directions.entry((queue.priority, there, here)).or_default();
        held.far_ports.insert(queue.port.clone());
        held.now = true;
    }
}

fn held_now(directions: &Directions) -> BTreeSet<Paused> {
    let both = directions.iter().filter(|(_, held)| held.now);
    both.filter_map(|((priority, from, to), _)| match (from, to) {
        (End::Switch(from), End::Switch(to)) => Some(Paused {
            priority: *priority,
            from: *from,
            to: *to,
        }),
        _ => None,
    })
    .collect()
}
