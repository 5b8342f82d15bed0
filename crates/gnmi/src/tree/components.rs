//! `/components`: openconfig-platform. A chassis, its software, and the ports.

use weir_api::daemon::Port;

use super::field::{families, fields, rows as rows_of, Row};
use super::{Grower, State};

/// Name of the component that contains the others.
const CHASSIS: &str = "chassis";
const SOFTWARE: &str = "weir-switchd";

struct Component<'a> {
    name: &'a str,
    kind: &'static str,
    parent: Option<&'static str>,
    version: Option<&'a str>,
    /// `None` for a component that is always active.
    port: Option<&'a Port>,
}

impl Component<'_> {
    fn status(&self) -> &'static str {
        match self.port {
            Some(port) if port.device_gone => "openconfig-platform-types:DISABLED",
            Some(port) if !port.link_up => "openconfig-platform-types:INACTIVE",
            _ => "openconfig-platform-types:ACTIVE",
        }
    }
}

families! {
    Components: Component<'a>;
}

fields! { CONFIG of Components {
    "name" Config: String = |it| Some(it.name.to_owned()); "`chassis`, `weir-switchd`, or `name` of a port."
} }

fields! { STATE of Components {
    "name" Applied: String = |it| Some(it.name.to_owned()); "`chassis`, `weir-switchd`, or `name` of a port."
    "type" Applied: &'static str = |it| Some(it.kind); "`CHASSIS`, `OPERATING_SYSTEM` or `PORT` of `openconfig-platform-types`."
    "parent" Applied: &'static str = |it| it.parent; "`chassis`; absent of the chassis."
    "software-version" Applied: String = |it| it.version.map(str::to_owned); "`version` of `switchctl status`, of `weir-switchd`."
    "oper-status" Event: &'static str = |it| Some(it.status()); "Of a port `ACTIVE` with `link_up`, else `INACTIVE`, and `DISABLED` while `device_gone`; of others `ACTIVE`."
} }

pub(super) fn rows() -> Vec<Row> {
    [
        rows_of("/components/component[name]/config", CONFIG),
        rows_of("/components/component[name]/state", STATE),
    ]
    .concat()
}

pub(super) fn grow(grower: &mut Grower, state: &State) {
    let chassis = Component {
        name: CHASSIS,
        kind: "openconfig-platform-types:CHASSIS",
        parent: None,
        version: None,
        port: None,
    };
    let software = Component {
        name: SOFTWARE,
        kind: "openconfig-platform-types:OPERATING_SYSTEM",
        parent: Some(CHASSIS),
        version: Some(&state.status.version),
        port: None,
    };
    let ports = state.ports.iter().map(|port| Component {
        name: &port.name,
        kind: "openconfig-platform-types:PORT",
        parent: Some(CHASSIS),
        version: None,
        port: Some(port),
    });
    // A port may have any name; the first component with a name keeps it.
    let is_free = |it: &Component<'_>| it.name != CHASSIS && it.name != SOFTWARE;
    grower.container("components", |grower| {
        for component in [chassis, software].into_iter().chain(ports.filter(is_free)) {
            grower.entry("component", &[("name", component.name)], |grower| {
                grower.leaves("config", CONFIG, &component);
                grower.leaves("state", STATE, &component);
            });
        }
    });
}
