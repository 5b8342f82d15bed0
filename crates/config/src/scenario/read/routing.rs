//! `[routing]` and `[[route]]`.

use std::collections::BTreeMap;

use weir_core::level::LEVEL_MAX;

use super::flow::above_zero;
use super::{find, keys, reference, switch_list};
use crate::reader::{within, Table};
use crate::scenario::routes::compute::{local, minimal, up_down, Members};
use crate::scenario::routes::{Builder, NextHops, Stuck, Walk};
use crate::scenario::topology::Adjacency;
use crate::scenario::{
    Balancing, Flow, Host, Scenario, Spread, SwitchSpread, FLOWLET_TABLE_DEFAULT, FLOWLET_TABLE_MAX,
};

/// Next hops of the mode, overridden by explicit routes, for hosts selected by `is_target` and those with an explicit
/// route.
pub(super) fn next_hops(
    root: &Table<'_>,
    switches: &[String],
    hosts: &[Host],
    host_names: &[String],
    adjacency: &Adjacency,
    mut is_target: Vec<bool>,
) -> Option<NextHops> {
    let mut written = Written {
        groups: BTreeMap::new(),
        switches,
        hosts,
        host_names,
        adjacency,
    };
    for table in root.tables("route", keys("route")) {
        written.read(&table);
    }
    for (_, host) in written.groups.keys() {
        is_target[*host] = true;
    }
    check_size(root, switches.len(), &is_target)?;
    let mut routes = Builder::new(switches.len(), &is_target);
    match mode(root, switches) {
        Mode::Shortest => minimal(adjacency, hosts, Members::First, &mut routes),
        Mode::Ecmp => minimal(adjacency, hosts, Members::All, &mut routes),
        Mode::UpDown { root } => up_down(adjacency, hosts, root, &mut routes),
        Mode::Explicit => local(adjacency, hosts, &mut routes),
    }
    for ((switch, host), members) in &written.groups {
        routes.set(*switch, *host, members);
    }
    Some(routes.finish())
}

/// Maximum number of routes of all switches together: 4 bytes each, and the time to compute them.
const ROUTE_COUNT_MAX: usize = 400_000_000;

/// Every switch gets a route to every receiving host. Returns `None`, with a report, if there are too many.
fn check_size(root: &Table<'_>, switch_count: usize, is_target: &[bool]) -> Option<()> {
    let targets = is_target.iter().filter(|is_target| **is_target).count();
    let count = switch_count.saturating_mul(targets);
    if count <= ROUTE_COUNT_MAX {
        return Some(());
    }
    let message = format!(
        "{switch_count} switches with a route each to {targets} hosts that frames go to make {count} routes; the maximum is \
         {ROUTE_COUNT_MAX}: let frames go to at most {} hosts, as [[traffic]] of kind \"random\" does with as many `flows`",
        ROUTE_COUNT_MAX / switch_count.max(1),
    );
    root.complain("routing", message);
    None
}

/// Hosts that receive frames of some flow, answers included; all hosts if there is no flow.
pub(super) fn targets(flows: &[Flow], host_count: usize) -> Vec<bool> {
    let mut is_target = vec![flows.is_empty(); host_count];
    for flow in flows {
        is_target[flow.to] = true;
        is_target[flow.from] |= flow.transport.is_answered();
    }
    is_target
}

/// D: number of links between switches on the longest path between any switch and any host; at least 1.
pub(super) fn longest_way(adjacency: &Adjacency, next_hops: &NextHops, hosts: &[Host]) -> u8 {
    let mut longest = 1;
    // Hosts of one switch are mostly reached equally: one of them represents all.
    let mut before: Option<usize> = None;
    for host in next_hops.targets() {
        let at = hosts[host].switch;
        let is_known = before.is_some_and(|before| {
            hosts[before].switch == at && next_hops.are_alike(before, host, at)
        });
        if !is_known {
            let mut walk = Walk::new(adjacency, next_hops, host);
            let links = (0..adjacency.switch_count()).filter_map(|from| walk.longest(from).ok());
            longest = longest.max(links.max().unwrap_or(0));
        }
        before = Some(host);
    }
    longest.min(LEVEL_MAX) as u8
}

/// Checks that every flow arrives, whichever members its hash picks, and that its `via` is possible; the same for
/// answers.
pub(super) fn check_ways(root: &Table<'_>, scenario: &Scenario, adjacency: &Adjacency) {
    let tables = root.tables("flow", keys("flow"));
    let name = |switch: usize| &scenario.switches[switch];
    for (target, ways) in scenario.ways_by_target().into_iter().enumerate() {
        if ways.is_empty() {
            // A walk has a state for each switch, and most hosts of a large network receive nothing.
            continue;
        }
        let mut walk = Walk::new(adjacency, &scenario.next_hops, target);
        let to = &scenario.hosts[target].name;
        for (index, from) in ways {
            let flow = &scenario.flows[index];
            let path = || format!("flow.{}", flow.name);
            let table = || tables.iter().find(|table| table.path() == path());
            let from = scenario.hosts[from].switch;
            let message = match walk.longest(from) {
                Ok(_) => None,
                Err(Stuck::End(at)) => Some(format!(
                    "frames to `{to}` get no further than `{}`: add a [[route]] or a [[link]]",
                    name(at)
                )),
                Err(Stuck::Circle(at)) => Some(format!(
                    "frames to `{to}` can come back to `{}`: change the [[route]]s to `{to}`",
                    name(at)
                )),
            };
            if let Some(message) = message {
                let line = table().and_then(Table::line);
                root.problems().add(line, path(), message);
                // The first of a thousand flows suffices.
                break;
            }
            let via = flow.via.as_ref().filter(|_| flow.to == target);
            if let Some((via, table)) = via.and_then(|via| Some((via, table()?))) {
                check_via(table, scenario, &walk, flow, via);
            }
        }
    }
}

fn check_via(table: &Table<'_>, scenario: &Scenario, walk: &Walk<'_>, flow: &Flow, via: &[usize]) {
    let [from, to] = [flow.from, flow.to].map(|host| &scenario.hosts[host]);
    if via.first() != Some(&from.switch) {
        let message = format!(
            "must begin at `{}`, where `{}` is",
            scenario.switches[from.switch], from.name
        );
        table.complain("via", message);
    } else if !walk.allows(via) {
        let message = format!(
            "the routes to `{}` do not take this path; add a [[route]]",
            to.name
        );
        table.complain("via", message);
    }
}

#[derive(Clone, Copy)]
enum Mode {
    Shortest,
    Ecmp,
    UpDown { root: usize },
    Explicit,
}

fn mode(root: &Table<'_>, switches: &[String]) -> Mode {
    let choices = [
        ("shortest", Mode::Shortest),
        ("ecmp", Mode::Ecmp),
        ("up-down", Mode::UpDown { root: 0 }),
        ("explicit", Mode::Explicit),
    ];
    let Some(table) = root.table("routing", keys("routing")) else {
        return Mode::Shortest;
    };
    let mode = table.choice("mode", &choices).unwrap_or(Mode::Shortest);
    if !table.has("root") {
        return mode;
    }
    match mode {
        Mode::UpDown { root } => Mode::UpDown {
            root: reference(&table, "root", "switch", switches).unwrap_or(root),
        },
        other => {
            table.complain("root", "only mode = \"up-down\" has a root");
            other
        }
    }
}

/// The balancing of `[routing]`; `flows` may have explicit paths.
pub(super) fn balancing(root: &Table<'_>, flows: &[Flow]) -> Balancing {
    const GAP: &str = "flowlet-gap";
    let Some(table) = root.table("routing", keys("routing")) else {
        return Balancing::default();
    };
    let hash = table.choice("hash", &[("alike", false), ("per-switch", true)]);
    let spread = table.choice("spread", &[("flow", 0), ("frame", 1), ("flowlet", 2)]);
    let spread = match spread.unwrap_or(0) {
        1 => Spread::Frame,
        2 => match above_zero(&table, GAP, table.require(GAP)) {
            Some(gap) => Spread::Flowlet { gap },
            None => Spread::Flow,
        },
        _ => Spread::Flow,
    };
    if table.has(GAP) && !table.is_text("spread", "flowlet") {
        table.complain(GAP, "only spread = \"flowlet\" has a gap");
    }
    let at_switches = at_switches(root, &table, spread);
    if let (true, Some(flow)) = (
        spread != Spread::Flow,
        flows.iter().find(|flow| flow.via.is_some()),
    ) {
        let message = format!(
            "flow `{}` has a `via`, which it would leave; remove one of the two",
            flow.name
        );
        table.complain("spread", message);
    }
    Balancing {
        has_seeds: hash.unwrap_or(false),
        spread: match at_switches {
            Some(_) => Spread::Flow,
            None => spread,
        },
        at_switches,
    }
}

/// The part of `spread` done by switches: `table` is `[routing]`.
fn at_switches(root: &Table<'_>, table: &Table<'_>, spread: Spread) -> Option<SwitchSpread> {
    const AT: &str = "spread-at";
    const ENTRIES: &str = "flowlet-table";
    let at = table.choice(AT, &[("sender", false), ("switch", true)]);
    let is_spread = ["frame", "flowlet"].map(|word| table.is_text("spread", word));
    if table.has(AT) && !is_spread.contains(&true) {
        let message = "nothing is spread: set spread = \"frame\" or \"flowlet\", or remove it";
        table.complain(AT, message);
    }
    let is_at_switches = at.unwrap_or(false);
    let has_table = is_at_switches && is_spread[1];
    if table.has(ENTRIES) && !has_table {
        let message = "only switches have a table, of flowlets: set spread = \"flowlet\" and spread-at = \"switch\", or remove it";
        table.complain(ENTRIES, message);
    }
    let entries = within(table, ENTRIES, 1, u64::from(FLOWLET_TABLE_MAX));
    if !is_at_switches {
        return None;
    }
    if !may_have_groups(root, table) {
        let message = "no switch has several next hops to choose from: set mode = \"ecmp\", or give a [[route]] `ports`";
        table.complain(AT, message);
    }
    match spread {
        Spread::Flow => None,
        Spread::Frame => Some(SwitchSpread::Frame),
        Spread::Flowlet { gap } => Some(SwitchSpread::Flowlet {
            gap,
            entries: entries.map_or(FLOWLET_TABLE_DEFAULT, |entries| entries as u32),
        }),
    }
}

/// Returns true if some switch can have several next hops for a host, at the start or later. `table` is `[routing]`.
fn may_have_groups(root: &Table<'_>, table: &Table<'_>) -> bool {
    let lists_ports = |name: &str| {
        let tables = root.tables(name, keys(name));
        tables.iter().any(|table| table.elements("ports").len() > 1)
    };
    table.is_text("mode", "ecmp") || lists_ports("route") || lists_ports("fault")
}

/// Explicit routes. A switch forwards by destination only, so two paths to one host must agree wherever they meet.
struct Written<'a> {
    /// By switch and host.
    groups: BTreeMap<(usize, usize), Vec<usize>>,
    switches: &'a [String],
    hosts: &'a [Host],
    host_names: &'a [String],
    adjacency: &'a Adjacency,
}

impl Written<'_> {
    fn read(&mut self, table: &Table<'_>) {
        let to = reference(table, "to", "host", self.host_names);
        let group_keys = ["at", "ports"].into_iter().find(|key| table.has(key));
        match group_keys {
            Some(key) if table.has("via") => {
                table.complain(key, "a route has either `via`, or `at` and `ports`")
            }
            Some(_) => self.read_group(table, to),
            None => self.read_way(table, to),
        }
    }

    /// `via`: the whole path, one next hop at each switch.
    fn read_way(&mut self, table: &Table<'_>, to: Option<usize>) {
        let via = switch_list(table, "via", self.switches);
        let (Some(to), Some(via)) = (to, via) else {
            return;
        };
        let last = self.hosts[to].switch;
        if via.last() != Some(&last) {
            let message = format!(
                "must end at `{}`, where `{}` is",
                self.switches[last], self.host_names[to]
            );
            table.complain("via", message);
            return;
        }
        for pair in via.windows(2) {
            if let Some(port) = self.port(table, "via", pair[0], pair[1]) {
                self.set(table, "via", pair[0], to, vec![port]);
            }
        }
    }

    /// `at` and `ports`: several next hops at one switch.
    fn read_group(&mut self, table: &Table<'_>, to: Option<usize>) {
        let at = reference(table, "at", "switch", self.switches);
        let names: Option<Vec<String>> = table.require("ports");
        let (Some(to), Some(at), Some(names)) = (to, at, names) else {
            return;
        };
        if self.hosts[to].switch == at {
            let message = format!(
                "`{}` is at `{}` itself: its frames need no route there",
                self.host_names[to], self.switches[at]
            );
            table.complain("at", message);
            return;
        }
        let mut members = Vec::with_capacity(names.len());
        for name in &names {
            let next = find(table, "ports", "switch", name, self.switches);
            let Some(port) = next.and_then(|next| self.port(table, "ports", at, next)) else {
                return;
            };
            if members.contains(&port) {
                table.complain("ports", format!("`{name}` is listed twice"));
                return;
            }
            members.push(port);
        }
        if members.is_empty() {
            table.complain("ports", "give at least one adjacent switch");
            return;
        }
        // Switches deal buckets in the order of port numbers.
        members.sort_unstable();
        self.set(table, "ports", at, to, members);
    }

    fn port(&self, table: &Table<'_>, key: &str, from: usize, to: usize) -> Option<usize> {
        let port = self.adjacency.port_to_switch(from, to);
        if port.is_none() {
            let message = format!(
                "no working link from `{}` to `{}`",
                self.switches[from], self.switches[to]
            );
            table.complain(key, message);
        }
        port
    }

    fn set(&mut self, table: &Table<'_>, key: &str, at: usize, to: usize, members: Vec<usize>) {
        let known = self.groups.get(&(at, to));
        if known.is_some_and(|known| *known != members) {
            let message = format!(
                "another route to `{}` leaves `{}` by another link; a switch forwards by destination only",
                self.host_names[to], self.switches[at]
            );
            table.complain(key, message);
        }
        self.groups.insert((at, to), members);
    }
}
