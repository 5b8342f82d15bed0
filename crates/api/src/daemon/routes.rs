//! `/v1/routes`: groups of ports, their buckets, and flow pins.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::words::Pinner;

/// `GET /v1/routes`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Routes {
    /// In the order of their VLANs, those for all of them first, and destinations; bounded.
    pub routes: Vec<Route>,
    /// Routes beyond those.
    pub routes_left_out: u64,
    /// Flow pins of all destinations, bounded, by destination and flow hash.
    pub pins: Vec<Pin>,
    /// Pins beyond those.
    pub pins_left_out: u64,
    /// The stations of the configuration, in the order of the file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stations: Vec<Station>,
    /// Whether requests for the stations' addresses go to them alone (`multicast.suppress`).
    #[serde(default)]
    pub suppress: bool,
}

/// A host whose network addresses are configured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Station {
    /// Its MAC address.
    pub mac: String,
    /// Its IPv4 and IPv6 addresses.
    pub addresses: Vec<String>,
}

/// Where the frames to one destination go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Route {
    /// A MAC address.
    pub destination: String,
    /// Of frames of this VLAN alone; absent for a route of all VLANs that have none of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vlan: Option<u16>,
    /// The ports of its group.
    pub members: Vec<RouteMember>,
    /// Buckets in all; 0 for a single member.
    pub buckets: u64,
    /// Flows that are pinned.
    pub pins: u64,
}

/// One port of a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RouteMember {
    /// The port.
    pub port: String,
    /// Buckets that belong to it.
    pub buckets: u64,
}

/// A flow that does not go by its bucket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Pin {
    /// The destination.
    pub destination: String,
    /// Which flow, in eight hexadecimal digits.
    pub flow_hash: String,
    /// The port that it leaves by.
    pub port: String,
    /// Who pinned it.
    pub by: Pinner,
}

/// `GET /v1/routes/DESTINATION`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RouteDetail {
    /// As in the list.
    #[serde(flatten)]
    pub route: Route,
    /// By bucket: the port that it belongs to. Empty for a single member.
    pub bucket_ports: Vec<String>,
    /// The pins of this destination.
    pub flow_pins: Vec<Pin>,
}

/// `PUT /v1/routes/DESTINATION`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetRoute {
    /// The ports of its group.
    pub ports: Vec<String>,
    /// Buckets; as many as the configuration would give when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buckets: Option<u16>,
}

/// `PUT /v1/routes/DESTINATION/buckets/BUCKET` and `…/pins/FLOW_HASH`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ToPort {
    /// The member that it goes to.
    pub port: String,
}

/// What a request has changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Changed {
    /// One sentence for people.
    pub changed: String,
}
