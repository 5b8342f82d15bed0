//! `/lldp`: openconfig-lldp, announcements of neighbours.

use weir_api::daemon::Port;
use weir_api::neighbors::Neighbor;
use weir_api::words::Capability;

use super::field::{families, fields, rows as rows_of, Row};
use super::{Grower, State};

struct Announced {
    name: &'static str,
}

families! {
    Agent: State;
    Ports: Port;
    Neighbours: Neighbor;
    Capabilities: Announced;
}

/// A neighbour's key: its identifiers in 802.1AB.
fn id(neighbour: &Neighbor) -> String {
    format!("{} {}", neighbour.chassis_id, neighbour.port_id)
}

/// Values of `chassis-id-type` and `port-id-type` by the subtype of IEEE 802.1AB.
const CHASSIS: [&str; 7] = [
    "CHASSIS_COMPONENT",
    "INTERFACE_ALIAS",
    "PORT_COMPONENT",
    "MAC_ADDRESS",
    "NETWORK_ADDRESS",
    "INTERFACE_NAME",
    "LOCAL",
];
const PORT: [&str; 7] = [
    "INTERFACE_ALIAS",
    "PORT_COMPONENT",
    "MAC_ADDRESS",
    "NETWORK_ADDRESS",
    "INTERFACE_NAME",
    "AGENT_CIRCUIT_ID",
    "LOCAL",
];

fn word(words: &[&'static str; 7], subtype: u8) -> Option<&'static str> {
    words.get(usize::from(subtype).checked_sub(1)?).copied()
}

fn identity(capability: Capability) -> &'static str {
    match capability {
        Capability::Other => "openconfig-lldp-types:OTHER",
        Capability::Repeater => "openconfig-lldp-types:REPEATER",
        Capability::Bridge => "openconfig-lldp-types:MAC_BRIDGE",
        Capability::WlanAccessPoint => "openconfig-lldp-types:WLAN_ACCESS_POINT",
        Capability::Router => "openconfig-lldp-types:ROUTER",
        Capability::Telephone => "openconfig-lldp-types:TELEPHONE",
        Capability::Docsis => "openconfig-lldp-types:DOCSIS_CABLE_DEVICE",
        Capability::StationOnly => "openconfig-lldp-types:STATION_ONLY",
        Capability::CVlan => "openconfig-lldp-types:C_VLAN",
        Capability::SVlan => "openconfig-lldp-types:S_VLAN",
        Capability::TwoPortMacRelay => "openconfig-lldp-types:TWO_PORT_MAC_RELAY",
    }
}

fields! { STATE of Agent {
    "system-name" Applied: String = |it| Some(it.status.name.clone()); "`name` of `switchctl status`."
} }

fields! { INTERFACE_CONFIG of Ports {
    "name" Config: String = |it| Some(it.name.clone()); "`name` of the port."
} }

fields! { INTERFACE_STATE of Ports {
    "name" Applied: String = |it| Some(it.name.clone()); "`name` of the port."
} }

fields! { NEIGHBOR of Neighbours {
    "id" Event: String = |it| Some(id(it)); "`chassis_id` and `port_id` of `switchctl neighbors`."
    "system-name" Event: String = |it| it.system_name.clone(); "`system_name`."
    "system-description" Event: String = |it| it.system_description.clone(); "`system_description`."
    "chassis-id" Event: String = |it| Some(it.chassis_id.clone()); "`chassis_id`."
    "chassis-id-type" Event: &'static str = |it| word(&CHASSIS, it.chassis_id_subtype); "`chassis_id_subtype`."
    "port-id" Event: String = |it| Some(it.port_id.clone()); "`port_id`."
    "port-id-type" Event: &'static str = |it| word(&PORT, it.port_id_subtype); "`port_id_subtype`."
    "port-description" Event: String = |it| it.port_description.clone(); "`port_description`."
    "ttl" Event: u32 = |it| Some(it.ttl_seconds.into()); "`ttl_seconds`."
    "age" Counter: u64 = |it| Some(it.known_seconds as u64); "`known_seconds`, whole ones."
} }

fields! { CAPABILITY of Capabilities {
    "name" Event: &'static str = |it| Some(it.name); "`capabilities`: an enabled capability of the neighbour."
    "enabled" Event: bool = |_| Some(true); "Always true: the switch keeps enabled ones only."
} }

pub(super) fn rows() -> Vec<Row> {
    const NEIGHBORS: &str = "/lldp/interfaces/interface[name]/neighbors/neighbor[id]/state";
    const CAPABILITIES: &str =
        "/lldp/interfaces/interface[name]/neighbors/neighbor[id]/capabilities/capability[name]/state";
    [
        rows_of("/lldp/state", STATE),
        rows_of("/lldp/interfaces/interface[name]/config", INTERFACE_CONFIG),
        rows_of("/lldp/interfaces/interface[name]/state", INTERFACE_STATE),
        rows_of(NEIGHBORS, NEIGHBOR),
        rows_of(CAPABILITIES, CAPABILITY),
    ]
    .concat()
}

pub(super) fn grow(grower: &mut Grower, state: &State) {
    grower.container("lldp", |grower| {
        grower.leaves("state", STATE, state);
        grower.container("interfaces", |grower| {
            for port in &state.ports {
                grower.entry("interface", &[("name", &port.name)], |grower| {
                    grower.leaves("config", INTERFACE_CONFIG, port);
                    grower.leaves("state", INTERFACE_STATE, port);
                    grower.container("neighbors", |grower| neighbours(grower, state, port));
                });
            }
        });
    });
}

fn neighbours(grower: &mut Grower, state: &State, port: &Port) {
    let here = state.neighbours.iter().filter(|it| it.port == port.name);
    for neighbour in here {
        grower.entry("neighbor", &[("id", &id(neighbour))], |grower| {
            grower.leaves("state", NEIGHBOR, neighbour);
            grower.container("capabilities", |grower| {
                let known = neighbour.capabilities.iter().filter_map(|it| it.known());
                for name in known.map(identity) {
                    grower.entry("capability", &[("name", name)], |grower| {
                        grower.leaves("state", CAPABILITY, &Announced { name });
                    });
                }
            });
        });
    }
}
