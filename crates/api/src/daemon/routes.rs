//! `/v1/routes`: groups of ports, their buckets, and flow pins.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::words::Pinner;

/// `GET /v1/routes`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Routes {
    /// Ordered by VLAN, with routes for all VLANs first, and destination; bounded.
    pub routes: Vec<Route>,
    /// Number of further routes.
    pub routes_left_out: u64,
    /// Flow pins of all destinations, bounded, by destination and flow hash.
    pub pins: Vec<Pin>,
    /// Number of further pins.
    pub pins_left_out: u64,
    /// The stations of the configuration, in the order of the file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stations: Vec<Station>,
    /// True if requests for the stations' addresses are sent only to them (`multicast.suppress`).
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

/// Route for the frames to one destination.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Route {
    /// A MAC address.
    pub destination: String,
    /// The VLAN; absent for a route for all VLANs without a specific one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vlan: Option<u16>,
    /// The ports of its group.
    pub members: Vec<RouteMember>,
    /// Total number of buckets; 0 for a single member.
    pub buckets: u64,
    /// Number of pinned flows.
    pub pins: u64,
}

/// One port of a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RouteMember {
    /// The port.
    pub port: String,
    /// Number of its buckets.
    pub buckets: u64,
}

/// A flow that does not follow its bucket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Pin {
    /// The destination.
    pub destination: String,
    /// Flow hash, in eight hexadecimal digits.
    pub flow_hash: String,
    /// The port by which it leaves.
    pub port: String,
    /// Origin of the pin.
    pub by: Pinner,
}

/// `GET /v1/routes/DESTINATION`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RouteDetail {
    /// As in the list.
    #[serde(flatten)]
    pub route: Route,
    /// Port of each bucket. Empty for a single member.
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
    /// Number of buckets; by default that of the configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buckets: Option<u16>,
}

/// `PUT /v1/routes/DESTINATION/buckets/BUCKET` and `…/pins/FLOW_HASH`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ToPort {
    /// The new member.
    pub port: String,
}

/// Result of a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Changed {
    /// A sentence for people.
    pub changed: String,
}
