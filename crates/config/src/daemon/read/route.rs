//! `[[route]]`, `[multicast]` and `[flows]`.

use weir_core::config::{default_bucket_count, BUCKETS_MAX};
use weir_core::{PortId, VlanId, VlanPort};

use crate::daemon::{Port, Station};
use crate::reader::{unknown, Names, Table};
use crate::settings::valid;
use crate::switch::{Class, MulticastConfig, Route, RouteTable};

/// Reads the routes; at most `pins_max` flows can be pinned.
pub(super) fn routes(root: &Table<'_>, ports: &[Port], pins_max: usize) -> Vec<Route> {
    let mut pins_left = pins_max;
    let destinations = Names::default();
    root.tables(RouteTable::TABLE, RouteTable::KEYS)
        .iter()
        .filter_map(|table| {
            let entry = RouteTable::read(table)?;
            let name = match entry.vlan {
                None => entry.destination.to_string(),
                Some(vlan) => format!("{} in VLAN {vlan}", entry.destination),
            };
            destinations.note(table, "destination", &name);
            let vlan = entry.vlan;
            let names = &entry.ports;
            let members = members(table, names, ports);
            check_vlan(table, vlan, &members, ports);
            let pins = pins(table, &entry, ports);
            if pins.len() > pins_left {
                table.complain(
                    "pins",
                    format!("more than {pins_max} flows are pinned: raise `pins` of [forwarding]"),
                );
            }
            pins_left = pins_left.saturating_sub(pins.len());
            if vlan.is_some() && !pins.is_empty() {
                table.complain(
                    "pins",
                    "flows of a route for one VLAN cannot be pinned: remove `pins`, or `vlan`",
                );
            }
            let ports = members;
            let buckets = valid::within(ports.len().max(1) as u64, BUCKETS_MAX as u64);
            if let Some(Err(message)) = entry.buckets.as_ref().map(buckets) {
                table.complain("buckets", message);
            }
            Some(Route {
                destination: entry.destination,
                vlan,
                buckets: entry
                    .buckets
                    .map_or(default_bucket_count(ports.len()), |count| count as u16),
                ports,
                pins,
            })
        })
        .collect()
}

/// Checks that the ports carry the route's VLAN, or, for a group for all VLANs, the same VLANs.
fn check_vlan(table: &Table<'_>, vlan: Option<VlanId>, members: &[PortId], ports: &[Port]) {
    let is_aware = ports.iter().any(Port::has_vlans);
    if vlan.is_some() && !is_aware {
        table.complain(
            "vlan",
            "no port has VLANs: give ports `tag`, `trunks` or `vlan-mode`, or remove this line",
        );
    }
    if !is_aware {
        return;
    }
    let mut first: Option<(&str, VlanPort)> = None;
    for port in members.iter().filter_map(|port| ports.get(port.index())) {
        let (name, settings) = (port.name.as_str(), port.vlans());
        match (vlan, &first) {
            (Some(vlan), _) if !settings.carries(vlan) => table.complain(
                "ports",
                format!("port `{name}` does not carry VLAN {vlan}: add it to the port's `trunks`, or leave the port out"),
            ),
            (None, Some((other, before))) if before.carried() != settings.carried() => table.complain(
                "ports",
                format!("port `{name}` carries other VLANs than `{other}`, and frames of any VLAN may leave by either: write a route for each VLAN with `vlan`, or give the ports the same VLANs"),
            ),
            _ => {}
        }
        first.get_or_insert((name, settings));
    }
}

/// Reads the destinations of flooded frames (existing ports, lossy priorities) and their limits.
pub(super) fn multicast(
    root: &Table<'_>,
    ports: &[Port],
    classes: &[Class],
    stations: &[Station],
) -> MulticastConfig {
    MulticastConfig::read(root, MulticastConfig::default(), |table, config| {
        if config.suppress && stations.is_empty() {
            table.complain(
                "suppress",
                "there is no station to send requests to: write a [[station]] with `mac` and `addresses` for each host, or remove this line",
            );
        }
        let Some(tree) = &config.tree else { return };
        let listed = Names::default();
        for name in tree {
            listed.note(table, "tree", name);
            let Some(port) = ports.iter().find(|port| port.name == *name) else {
                let known: Vec<&str> = ports.iter().map(|p| p.name.as_str()).collect();
                table.complain("tree", unknown("port", name, &known));
                continue;
            };
            let priority = port.default_priority;
            let lossless = classes
                .iter()
                .find(|class| class.mode.is_lossless() && class.priorities.contains(&priority));
            if let Some(class) = lossless {
                table.complain(
                    "tree",
                    format!(
                        "port `{name}`: frames without a tag, such as ARP, have priority {priority} there, which is lossless (class `{}`), and frames to group addresses are flooded in lossy classes only: set `default-priority` of the port to a priority of no lossless class",
                        class.name
                    ),
                );
            }
        }
    })
}

/// Reads the flows of a group that are pinned to a member.
fn pins(table: &Table<'_>, entry: &RouteTable, ports: &[Port]) -> Vec<(u32, PortId)> {
    if !entry.pins.is_empty() && entry.ports.len() < 2 {
        table.complain(
            "pins",
            "the route has one port, by which every flow leaves: remove `pins`",
        );
        return Vec::new();
    }
    let place = |(hash, name): &(u32, String)| {
        if !entry.ports.contains(name) {
            let members: Vec<&str> = entry.ports.iter().map(String::as_str).collect();
            table.complain("pins", unknown("port of the route", name, &members));
        }
        let index = ports.iter().position(|port| port.name == *name)?;
        Some((*hash, PortId::from_index(index)?))
    };
    entry.pins.iter().filter_map(place).collect()
}

fn members(table: &Table<'_>, names: &[String], ports: &[Port]) -> Vec<PortId> {
    let mut members = Vec::new();
    for name in names {
        let index = ports.iter().position(|port| port.name == *name);
        match index.and_then(PortId::from_index) {
            Some(port) if members.contains(&port) => {
                table.complain("ports", format!("port `{name}` is listed twice"));
            }
            Some(port) => members.push(port),
            None => {
                let known: Vec<&str> = ports.iter().map(|p| p.name.as_str()).collect();
                table.complain("ports", unknown("port", name, &known));
            }
        }
    }
    if names.is_empty() {
        table.complain("ports", "a route needs at least one port");
    }
    members
}
