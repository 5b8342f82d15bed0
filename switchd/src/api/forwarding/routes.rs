//! `/v1/routes`: the forwarding table, and changes to it.

use std::sync::Arc;

use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::Json;
use weir_api::daemon::{
    Changed, Pin, Route, RouteDetail, RouteMember, Routes, SetRoute, Station, ToPort,
};
use weir_api::describe::Described;
use weir_api::words::EventName;
use weir_config::daemon;
use weir_core::config::default_bucket_count;
use weir_core::switch::PinEntry;
use weir_core::{Command, CommandError, MacAddress, PortId, PortSet, VlanId};
use weir_dataplane::messages::Snapshot;
use weir_dataplane::tables::{RouteRow, Tables};

use crate::api::ApiError;
use crate::control::info::SwitchInfo;
use crate::control::Shared;
use crate::model::clock;

const ROUTES: Tables = Tables {
    routes: true,
    ..Tables::NONE
};

/// All routes and pins of a snapshot.
pub fn routes(info: &SwitchInfo, snapshot: &Snapshot) -> Routes {
    let tables = &snapshot.routes;
    let rows = tables.rows.iter();
    let stations = info.stations.get();
    Routes {
        routes: rows.map(|row| route(info, snapshot, row)).collect(),
        routes_left_out: tables.route_total.saturating_sub(tables.rows.len()) as u64,
        pins: pins(info, snapshot, |_| true),
        pins_left_out: tables.pin_total.saturating_sub(tables.pins.len()) as u64,
        stations: stations.all.iter().map(station).collect(),
        suppress: stations.suppress,
    }
}

fn station(station: &daemon::Station) -> Station {
    let addresses = station.addresses.iter();
    Station {
        mac: station.mac.to_string(),
        addresses: addresses.map(ToString::to_string).collect(),
    }
}

type Outcome<T> = Result<Json<T>, ApiError>;

pub(in crate::api) async fn list(State(shared): State<Arc<Shared>>) -> Outcome<Routes> {
    let snapshot = shared
        .dataplane
        .inspect(ROUTES)
        .await
        .ok_or_else(ApiError::silence)?;
    Ok(Json(routes(&shared.info, &snapshot)))
}

pub(in crate::api) async fn show(
    State(shared): State<Arc<Shared>>,
    Path(destination): Path<String>,
) -> Outcome<RouteDetail> {
    let (address, vlan) = parse_route(&destination)?;
    let snapshot = shared
        .dataplane
        .inspect(ROUTES)
        .await
        .ok_or_else(ApiError::silence)?;
    let tables = &snapshot.routes;
    let Ok(index) = tables
        .rows
        .binary_search_by_key(&(vlan, address), |row| (row.vlan, row.destination))
    else {
        let is_complete = tables.rows.len() >= tables.route_total;
        return Err(ApiError {
            status: StatusCode::NOT_FOUND,
            error: if is_complete {
                CommandError::NoSuchRoute(address).to_string()
            } else {
                format!("the route to {address} does not fit into a snapshot")
            },
        });
    };
    let row = &tables.rows[index];
    let buckets = tables.buckets_of(row).iter();
    Ok(Json(RouteDetail {
        route: route(&shared.info, &snapshot, row),
        bucket_ports: buckets.map(|port| shared.info.port_name(*port)).collect(),
        flow_pins: pins(&shared.info, &snapshot, |pin| {
            vlan.is_none() && pin.destination == address
        }),
    }))
}

pub(in crate::api) async fn set(
    State(shared): State<Arc<Shared>>,
    Path(destination): Path<String>,
    body: Result<Json<SetRoute>, JsonRejection>,
) -> Outcome<Changed> {
    let name = destination;
    let (destination, vlan) = parse_route(&name)?;
    let Json(SetRoute { ports, buckets }) = body?;
    let mut members = PortSet::EMPTY;
    for name in &ports {
        members.insert(find_port(&shared.info, name)?);
    }
    if members.count() < ports.len() {
        return Err(ApiError::bad_request(
            "duplicate port; name each member once".to_owned(),
        ));
    }
    let buckets = buckets.unwrap_or_else(|| default_bucket_count(members.count()));
    let command = Command::set_route(vlan, destination, members, buckets);
    let destination = in_words(destination, vlan);
    let changed = match members.count() {
        1 => format!("{destination} is forwarded by {}", ports.join(", ")),
        _ => format!(
            "{destination} is forwarded by {}, {buckets} buckets",
            ports.join(", ")
        ),
    };
    change(&shared, command, changed).await
}

pub(in crate::api) async fn remove(
    State(shared): State<Arc<Shared>>,
    Path(destination): Path<String>,
) -> Outcome<Changed> {
    let (destination, vlan) = parse_route(&destination)?;
    let changed = format!("route to {} removed", in_words(destination, vlan));
    let command = Command::remove_route(vlan, destination);
    change(&shared, command, changed).await
}

pub(in crate::api) async fn move_bucket(
    State(shared): State<Arc<Shared>>,
    Path((destination, bucket)): Path<(String, String)>,
    body: Result<Json<ToPort>, JsonRejection>,
) -> Outcome<Changed> {
    let destination = parse_destination(&destination)?;
    let bucket: u16 = bucket.parse().map_err(|_| {
        ApiError::bad_request(format!(
            "invalid bucket `{bucket}`; write a number, 0 or more"
        ))
    })?;
    let Json(ToPort { port }) = body?;
    let to = find_port(&shared.info, &port)?;
    let command = Command::MoveBucket {
        destination,
        bucket,
        to,
    };
    let changed = format!("bucket {bucket} of {destination} is assigned to {port}");
    change(&shared, command, changed).await
}

pub(in crate::api) async fn pin(
    State(shared): State<Arc<Shared>>,
    Path((destination, flow_hash)): Path<(String, String)>,
    body: Result<Json<ToPort>, JsonRejection>,
) -> Outcome<Changed> {
    let destination = parse_destination(&destination)?;
    let flow_hash = parse_flow_hash(&flow_hash)?;
    let Json(ToPort { port: name }) = body?;
    let port = find_port(&shared.info, &name)?;
    let command = Command::PinFlow {
        destination,
        flow_hash,
        port,
    };
    let changed = format!("flow {flow_hash:08x} to {destination} pinned to {name}");
    change(&shared, command, changed).await
}

pub(in crate::api) async fn unpin(
    State(shared): State<Arc<Shared>>,
    Path((destination, flow_hash)): Path<(String, String)>,
) -> Outcome<Changed> {
    let destination = parse_destination(&destination)?;
    let flow_hash = parse_flow_hash(&flow_hash)?;
    let command = Command::UnpinFlow {
        destination,
        flow_hash,
    };
    let changed = format!("flow {flow_hash:08x} to {destination} unpinned; it follows its bucket");
    change(&shared, command, changed).await
}

/// Sends the command to the dataplane and returns its result.
async fn change(shared: &Shared, command: Command, changed: String) -> Outcome<Changed> {
    match shared.dataplane.ask(command).await {
        Some(Ok(())) => {
            let described =
                Described::new(clock::now(), EventName::RouteChanged).detail("changed", &changed);
            shared.records.record(described);
            Ok(Json(Changed { changed }))
        }
        Some(Err(error)) => Err(ApiError {
            status: match error {
                CommandError::NoSuchRoute(_) | CommandError::NotPinned { .. } => {
                    StatusCode::NOT_FOUND
                }
                CommandError::BucketCount { .. } | CommandError::NoMembers(_) => {
                    StatusCode::BAD_REQUEST
                }
                _ => StatusCode::CONFLICT,
            },
            error: refusal(&shared.info, &error),
        }),
        None => Err(ApiError::silence()),
    }
}

/// Describes a refusal by the dataplane, with the names of ports.
fn refusal(info: &SwitchInfo, error: &CommandError) -> String {
    match error {
        CommandError::NotAMember { destination, port } => format!(
            "port {} is not in the group of {destination}",
            info.port_name(*port)
        ),
        CommandError::NotInVlan {
            destination,
            vlan,
            port,
        } => match vlan {
            Some(vlan) => format!(
                "port {} does not carry VLAN {vlan}: the route to {destination} cannot lead there",
                info.port_name(*port)
            ),
            None => format!(
                "port {} carries other VLANs than the first port of the group of {destination}: set a route for each VLAN",
                info.port_name(*port)
            ),
        },
        _ => error.to_string(),
    }
}

fn route(info: &SwitchInfo, snapshot: &Snapshot, row: &RouteRow) -> Route {
    let buckets = snapshot.routes.buckets_of(row);
    Route {
        destination: row.destination.to_string(),
        vlan: row.vlan.map(VlanId::get),
        members: row
            .members
            .iter()
            .map(|member| RouteMember {
                port: info.port_name(member),
                buckets: buckets.iter().filter(|port| **port == member).count() as u64,
            })
            .collect(),
        buckets: buckets.len() as u64,
        pins: row.pins as u64,
    }
}

fn pins(info: &SwitchInfo, snapshot: &Snapshot, wanted: impl Fn(&PinEntry) -> bool) -> Vec<Pin> {
    let mut entries: Vec<&PinEntry> = snapshot.routes.pins.iter().collect();
    entries.retain(|pin| wanted(pin));
    entries.sort_by_key(|pin| (pin.destination, pin.flow_hash));
    entries
        .into_iter()
        .map(|pin| Pin {
            destination: pin.destination.to_string(),
            flow_hash: format!("{:08x}", pin.flow_hash),
            port: info.port_name(pin.port),
            by: pin.by.into(),
        })
        .collect()
}

/// `MAC` or `MAC@VLAN`.
fn parse_route(text: &str) -> Result<(MacAddress, Option<VlanId>), ApiError> {
    let Some((address, vlan)) = text.split_once('@') else {
        return Ok((parse_destination(text)?, None));
    };
    let number = vlan.parse().ok().and_then(VlanId::new);
    let number = number
        .filter(|vlan| *vlan != VlanId::UNTAGGED)
        .ok_or_else(|| {
            ApiError::bad_request(format!("invalid VLAN `{vlan}`; valid are 1 to 4094"))
        })?;
    Ok((parse_destination(address)?, Some(number)))
}

fn in_words(destination: MacAddress, vlan: Option<VlanId>) -> String {
    match vlan {
        None => destination.to_string(),
        Some(vlan) => format!("{destination} in VLAN {vlan}"),
    }
}

fn parse_destination(text: &str) -> Result<MacAddress, ApiError> {
    let parsed = text.parse::<MacAddress>();
    parsed.map_err(|error| ApiError::bad_request(error.to_string()))
}

fn parse_flow_hash(text: &str) -> Result<u32, ApiError> {
    let is_hexadecimal = text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let parsed = u32::from_str_radix(text, 16).ok();
    parsed.filter(|_| is_hexadecimal).ok_or_else(|| {
        ApiError::bad_request(format!(
            "invalid flow hash `{text}`; write up to eight hexadecimal digits, as in GET /v1/flows"
        ))
    })
}

pub(in crate::api) fn find_port(info: &SwitchInfo, name: &str) -> Result<PortId, ApiError> {
    let found = info.find_port(name);
    found.map_err(|missing| ApiError::bad_request(missing.to_string()))
}
