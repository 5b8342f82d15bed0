//! `switchctl route`.

use anyhow::Result;
use serde::Serialize;
use weir_api::client::Method;
use weir_api::daemon::{Changed, Pin, Route, RouteDetail, Routes, SetRoute, ToPort};
use weir_core::MacAddress;

use crate::cli::{FlowHash, RouteCommand};
use crate::target::Target;
use weir_output::{table, Output, NONE};

pub fn route(target: &Target, output: &Output, command: &RouteCommand) -> Result<()> {
    match command {
        RouteCommand::List {
            destination: None, ..
        } => output.print(&target.get::<Routes>("/v1/routes")?, routes),
        RouteCommand::List {
            destination: Some(destination),
            vlan,
        } => {
            let path = path_in(*destination, *vlan);
            output.print(&target.get::<RouteDetail>(&path)?, detail)
        }
        RouteCommand::Set {
            destination,
            ports,
            buckets,
            vlan,
        } => {
            let body = SetRoute {
                ports: ports.clone(),
                buckets: *buckets,
            };
            let path = path_in(*destination, *vlan);
            change(target, output, Method::PUT, path, Some(&body))
        }
        RouteCommand::MoveBucket {
            destination,
            bucket,
            port,
        } => {
            let path = format!("{}/buckets/{bucket}", path(*destination));
            change(target, output, Method::PUT, path, Some(&to(port)))
        }
        RouteCommand::Pin {
            destination,
            flow_hash,
            port,
        } => {
            let path = pin_path(*destination, *flow_hash);
            change(target, output, Method::PUT, path, Some(&to(port)))
        }
        RouteCommand::Unpin {
            destination,
            flow_hash,
        } => {
            let path = pin_path(*destination, *flow_hash);
            change(target, output, Method::DELETE, path, None::<&()>)
        }
        RouteCommand::Remove { destination, vlan } => {
            let path = path_in(*destination, *vlan);
            change(target, output, Method::DELETE, path, None::<&()>)
        }
    }
}

fn change<B: Serialize>(
    target: &Target,
    output: &Output,
    method: Method,
    path: String,
    body: Option<&B>,
) -> Result<()> {
    let changed: Changed = target.send(method, &path, body)?;
    output.print(&changed, |changed| changed.changed.clone())
}

fn path(destination: MacAddress) -> String {
    format!("/v1/routes/{destination}")
}

/// Returns the path of a route, for one VLAN if given.
pub fn path_in(destination: MacAddress, vlan: Option<u16>) -> String {
    match vlan {
        None => path(destination),
        Some(vlan) => format!("{}@{vlan}", path(destination)),
    }
}

fn pin_path(destination: MacAddress, FlowHash(flow_hash): FlowHash) -> String {
    format!("{}/pins/{flow_hash:08x}", path(destination))
}

fn to(port: &str) -> ToPort {
    ToPort {
        port: port.to_owned(),
    }
}

fn routes(answer: &Routes) -> String {
    let mut text = match answer.routes.is_empty() {
        true => "no routes\n".to_owned(),
        false => route_table(&answer.routes),
    };
    if answer.routes_left_out > 0 {
        text += &format!("{} more routes are not shown\n", answer.routes_left_out);
    }
    if !answer.pins.is_empty() {
        text += "\n";
        text += &pin_table(&answer.pins);
    }
    if answer.pins_left_out > 0 {
        text += &format!("{} more pins are not shown\n", answer.pins_left_out);
    }
    if !answer.stations.is_empty() {
        text += "\n";
        text += &station_table(answer);
    }
    text
}

/// Formats the stations, and the handling of requests for their addresses.
fn station_table(answer: &Routes) -> String {
    let stations = answer.stations.iter();
    let rows = stations.map(|station| vec![station.mac.clone(), station.addresses.join(", ")]);
    let requests = match answer.suppress {
        true => "are sent only to them",
        false => "are flooded: multicast.suppress is off",
    };
    format!(
        "{}ARP requests and neighbor solicitations for these addresses {requests}\n",
        table(&["station", "addresses"], rows)
    )
}

fn detail(answer: &RouteDetail) -> String {
    let mut text = route_table(std::slice::from_ref(&answer.route));
    if !answer.bucket_ports.is_empty() {
        text += "\n";
        text += &bucket_table(&answer.bucket_ports);
    }
    if !answer.flow_pins.is_empty() {
        text += "\n";
        text += &pin_table(&answer.flow_pins);
    }
    text
}

fn route_table(routes: &[Route]) -> String {
    table(
        &["destination", "ports", ">buckets", ">pins"],
        routes.iter().map(|route| {
            let is_group = route.buckets > 0;
            let members: Vec<String> = route
                .members
                .iter()
                .map(|member| match is_group {
                    true => format!("{} ({})", member.port, member.buckets),
                    false => member.port.clone(),
                })
                .collect();
            vec![
                match route.vlan {
                    None => route.destination.clone(),
                    Some(vlan) => format!("{} in VLAN {vlan}", route.destination),
                },
                members.join(", "),
                if is_group {
                    route.buckets.to_string()
                } else {
                    NONE.to_owned()
                },
                route.pins.to_string(),
            ]
        }),
    )
}

/// Formats the buckets of each port, in the order in which ports first appear.
fn bucket_table(ports: &[String]) -> String {
    let mut names: Vec<&String> = Vec::new();
    for port in ports {
        if !names.contains(&port) {
            names.push(port);
        }
    }
    table(
        &["port", "buckets"],
        names.into_iter().map(|name| {
            let buckets = ports.iter().enumerate().filter(|(_, port)| *port == name);
            let numbers: Vec<String> = buckets.map(|(index, _)| index.to_string()).collect();
            vec![name.clone(), numbers.join(" ")]
        }),
    )
}

fn pin_table(pins: &[Pin]) -> String {
    table(
        &["destination", "flow hash", "pinned to", "by"],
        pins.iter().map(|pin| {
            vec![
                pin.destination.clone(),
                pin.flow_hash.clone(),
                pin.port.clone(),
                pin.by.to_string(),
            ]
        }),
    )
}
