//! `[forwarding]`, `[[route]]` and `[flows]`.

use weir_core::config::{default_bucket_count, EcmpConfig, FlowMonitorConfig, BUCKETS_MAX};
use weir_core::control::Policy;
use weir_core::{MacAddress, PortId};

use super::{keys, within};
use crate::daemon::{ForwardingConfig, Port, Route, DEFAULT_FLOWS};
use crate::reader::{unknown, Names, Table};

/// Entries of any table of this page at most.
const ENTRIES_MAX: u64 = 1 << 20;

pub(super) fn forwarding(root: &Table<'_>) -> ForwardingConfig {
    let default = ForwardingConfig::default();
    let Some(table) = root.table("forwarding", keys("forwarding")) else {
        return default;
    };
    let room = |key, default: usize| {
        within(&table, key, 0, ENTRIES_MAX).map_or(default, |count| count as usize)
    };
    ForwardingConfig {
        learning: table.get_or("learning", default.learning),
        capacity: within(&table, "capacity", 1, ENTRIES_MAX)
            .map_or(default.capacity, |capacity| capacity as usize),
        age: table.get_or("age", default.age),
        ecmp: EcmpConfig {
            spare_routes: room("spare-routes", default.ecmp.spare_routes),
            spare_buckets: room("spare-buckets", default.ecmp.spare_buckets),
            pin_capacity: room("pins", default.ecmp.pin_capacity),
        },
    }
}

pub(super) fn routes(root: &Table<'_>, ports: &[Port]) -> Vec<Route> {
    let destinations = Names::default();
    root.tables("route", keys("route"))
        .iter()
        .filter_map(|table| {
            let destination: Option<MacAddress> = table.require("destination");
            let names: Vec<String> = table.require("ports")?;
            let destination = destination?;
            destinations.note(table, "destination", &destination.to_string());
            let ports = members(table, &names, ports);
            let least = ports.len().max(1) as u64;
            Some(Route {
                destination,
                buckets: within(table, "buckets", least, BUCKETS_MAX as u64)
                    .map_or(default_bucket_count(ports.len()), |count| count as u16),
                ports,
            })
        })
        .collect()
}

/// The recent-flow monitor, which `policy` may need.
pub(super) fn flows(root: &Table<'_>, policy: Policy) -> FlowMonitorConfig {
    let default = DEFAULT_FLOWS;
    let Some(table) = root.table("flows", keys("flows")) else {
        return default;
    };
    let age = table.get_or("age", default.age);
    if age.is_zero() {
        table.complain("age", "must be above zero");
    }
    let capacity = within(&table, "capacity", 0, ENTRIES_MAX)
        .map_or(default.capacity, |capacity| capacity as usize);
    if capacity == 0 && policy.reroutes() {
        table.complain(
            "capacity",
            format!(
                "deadlock policy {} moves flows that the monitor has recorded: set 1 or more",
                policy.name()
            ),
        );
    }
    FlowMonitorConfig { capacity, age }
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
