//! The network as a picture: positions of switches and hosts, and a line for each link. The page's
//! script colours the ends.

use std::collections::BTreeMap;
use std::f64::consts::TAU;
use std::fmt::Write as _;

use weir_config::scenario::Scenario;
use weir_svg::escaped;

/// With more switches they would be indistinguishable.
const SWITCHES_MAX: usize = 400;
/// With more hosts each switch shows only their number.
const HOSTS_MAX: usize = 160;
const WIDTH: f64 = 960.0;
const MARGIN: f64 = 70.0;
/// Space above the highest centre and below the lowest.
const EDGE: f64 = 36.0;
const HOST_DISTANCE: f64 = 62.0;
/// Distance between two rows of switches.
const ROW: f64 = 150.0;

type Places = BTreeMap<String, (f64, f64)>;

/// Returns the picture; `None` for a network that is too large for one.
pub(super) fn svg(scenario: &Scenario) -> Option<String> {
    if scenario.switches.is_empty() || scenario.switches.len() > SWITCHES_MAX {
        return None;
    }
    let places = places(scenario);
    let has_hosts = scenario.hosts.len() <= HOSTS_MAX;
    let heights = places.values().map(|(_, y)| *y);
    let top = heights.clone().fold(f64::INFINITY, f64::min) - EDGE;
    let height = heights.fold(0.0, f64::max) + EDGE - top;
    let mut out = format!(
        "<svg id=\"network\" viewBox=\"0 {top:.0} {WIDTH} {height:.0}\" role=\"img\" aria-label=\"The network\">\n"
    );
    let at = |name: &str| places[name];
    for link in &scenario.links {
        let [a, b] = link.ends.map(|end| scenario.switches[end].as_str());
        let kind = if link.failed { "link failed" } else { "link" };
        line(&mut out, kind, (a, at(a)), (b, at(b)));
    }
    for host in scenario.hosts.iter().filter(|_| has_hosts) {
        let switch = scenario.switches[host.switch].as_str();
        line(
            &mut out,
            "link",
            (switch, at(switch)),
            (&host.name, at(&host.name)),
        );
    }
    for (index, switch) in scenario.switches.iter().enumerate() {
        let hosts = scenario.hosts.iter().filter(|host| host.switch == index);
        let hosts = hosts.count();
        let below = match (has_hosts, hosts) {
            (true, _) | (false, 0) => String::new(),
            (false, count) => format!("{count} hosts"),
        };
        node(&mut out, "switch", switch, at(switch), &below);
    }
    for host in scenario.hosts.iter().filter(|_| has_hosts) {
        node(&mut out, "host", &host.name, at(&host.name), "");
    }
    out.push_str("</svg>\n");
    Some(out)
}

/// Draws a link: each half has the name of the pausing end and of the paused one, for the script.
fn line(out: &mut String, kind: &str, a: (&str, (f64, f64)), b: (&str, (f64, f64))) {
    let ((a, (ax, ay)), (b, (bx, by))) = (a, b);
    let _ = writeln!(
        out,
        "<line class=\"{kind}\" x1=\"{ax:.1}\" y1=\"{ay:.1}\" x2=\"{bx:.1}\" y2=\"{by:.1}\"/>"
    );
    let (mx, my) = (f64::midpoint(ax, bx), f64::midpoint(ay, by));
    for (from, to, x, y) in [(a, b, ax, ay), (b, a, bx, by)] {
        let (from, to) = (escaped(from), escaped(to));
        let _ = writeln!(out, "<line class=\"end\" data-switch=\"{from}\" data-peer=\"{to}\" x1=\"{x:.1}\" y1=\"{y:.1}\" x2=\"{mx:.1}\" y2=\"{my:.1}\"><title></title></line>");
    }
}

fn node(out: &mut String, kind: &str, name: &str, (x, y): (f64, f64), below: &str) {
    let (name, half) = (escaped(name), if kind == "switch" { 17.0 } else { 11.0 });
    // Widen the box to fit the name.
    let wide = (name.chars().count() as f64 * 3.6 + 6.0).max(half);
    let _ = write!(
        out,
        "<g class=\"{kind}\" data-name=\"{name}\"><rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"{}\"/><text x=\"{x:.1}\" y=\"{:.1}\">{name}</text>",
        x - wide,
        y - half,
        2.0 * wide,
        2.0 * half,
        if kind == "switch" { 3.0 } else { half },
        y + 4.0,
    );
    if !below.is_empty() {
        let _ = write!(
            out,
            "<text class=\"below\" x=\"{x:.1}\" y=\"{:.1}\">{below}</text>",
            y + half + 13.0
        );
    }
    out.push_str("</g>\n");
}

/// Computes the positions: rows by the distance from the hosts if there are such rows, otherwise one circle in the
/// order of the file.
fn places(scenario: &Scenario) -> Places {
    let rows = rows(scenario);
    if rows.len() > 1 {
        return in_rows(scenario, &rows);
    }
    let count = scenario.switches.len() as f64;
    let radius = (WIDTH / 2.0 - MARGIN - HOST_DISTANCE).min(90.0 + count * 22.0);
    let middle = (WIDTH / 2.0, radius + MARGIN + HOST_DISTANCE);
    let radius = if scenario.switches.len() == 1 {
        0.0
    } else {
        radius
    };
    let mut places = Places::new();
    for (index, switch) in scenario.switches.iter().enumerate() {
        // The first one is at the upper left, in reading order.
        let angle = TAU * (index as f64 / count - 0.375);
        let at = (
            middle.0 + radius * angle.cos(),
            middle.1 + radius * angle.sin(),
        );
        places.insert(switch.clone(), at);
        let spread = if scenario.switches.len() == 1 {
            TAU
        } else {
            1.1
        };
        fan(scenario, index, at, angle, spread, &mut places);
    }
    places
}

/// Places the hosts of a switch around a direction.
fn fan(
    scenario: &Scenario,
    switch: usize,
    at: (f64, f64),
    angle: f64,
    spread: f64,
    places: &mut Places,
) {
    let hosts: Vec<_> = scenario
        .hosts
        .iter()
        .filter(|host| host.switch == switch)
        .collect();
    let distance = HOST_DISTANCE + if spread >= TAU { 60.0 } else { 14.0 };
    for (index, host) in hosts.iter().enumerate() {
        let part = (index as f64 + 0.5) / hosts.len() as f64 - 0.5;
        let angle = angle + part * spread;
        places.insert(
            host.name.clone(),
            (at.0 + distance * angle.cos(), at.1 + distance * angle.sin()),
        );
    }
}

/// Returns switches by their distance from one with hosts, the farthest first. One row if all have hosts, or none.
fn rows(scenario: &Scenario) -> Vec<Vec<usize>> {
    let count = scenario.switches.len();
    let mut distance = vec![usize::MAX; count];
    for host in &scenario.hosts {
        distance[host.switch] = 0;
    }
    // As many rounds as the longest path has links.
    for _ in 0..count {
        let before = distance.clone();
        for link in scenario.links.iter().filter(|link| !link.failed) {
            for [from, to] in [[link.ends[0], link.ends[1]], [link.ends[1], link.ends[0]]] {
                distance[to] = distance[to].min(before[from].saturating_add(1));
            }
        }
        if before == distance {
            break;
        }
    }
    let last = distance
        .iter()
        .filter(|it| **it != usize::MAX)
        .max()
        .copied()
        .unwrap_or(0);
    let mut rows = vec![Vec::new(); last + 1];
    for (switch, distance) in distance.into_iter().enumerate() {
        rows[last - distance.min(last)].push(switch);
    }
    rows
}

fn in_rows(scenario: &Scenario, rows: &[Vec<usize>]) -> Places {
    let mut places = Places::new();
    for (row, switches) in rows.iter().enumerate() {
        for (index, switch) in switches.iter().enumerate() {
            let part = (index as f64 + 0.5) / switches.len() as f64;
            let at = (
                MARGIN + part * (WIDTH - 2.0 * MARGIN),
                MARGIN + (row as f64 + 0.5) * ROW,
            );
            places.insert(scenario.switches[*switch].clone(), at);
            // Hosts are below, from left to right: counter-clockwise.
            let share = (WIDTH - 2.0 * MARGIN) / switches.len() as f64 / HOST_DISTANCE;
            fan(
                scenario,
                *switch,
                at,
                TAU / 4.0,
                -share.clamp(0.3, 2.4),
                &mut places,
            );
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::ring4;

    #[test]
    fn a_ring_stands_in_a_circle_and_every_end_has_a_line() {
        let scenario = ring4();
        let picture = svg(&scenario).unwrap();
        let ends = picture.matches("class=\"end\"").count();
        assert_eq!(ends, 2 * (scenario.links.len() + scenario.hosts.len()));
        let places = places(&scenario);
        for (x, y) in places.values() {
            assert!((0.0..=WIDTH).contains(x) && y.is_finite(), "{x} {y}");
        }
    }

    #[test]
    fn a_fat_tree_stands_in_rows_with_its_hosts_below() {
        let path =
            std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/fat-tree.toml");
        let scenario = Scenario::load(&path, &[]).unwrap();
        let rows = rows(&scenario);
        assert_eq!(rows.len(), 3, "core, aggregation, edge");
        assert!(rows[2]
            .iter()
            .all(|switch| scenario.hosts.iter().any(|host| host.switch == *switch)));
    }
}
