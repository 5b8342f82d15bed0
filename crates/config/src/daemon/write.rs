//! [`DaemonConfig`] to TOML.

use weir_core::PortId;

use super::access::ApiTable;
use super::{
    DaemonConfig, FlapDampingConfig, GnmiConfig, IpfixConfig, MulticastConfig, SflowConfig,
};
use crate::settings::quoted;
use crate::switch::{ClassTable, RouteTable};

pub(super) fn daemon(config: &DaemonConfig) -> String {
    let run_dir = quoted(&config.run_dir.to_string_lossy());
    let mut out = format!("name = {}\nrun-dir = {run_dir}\n", quoted(&config.name));
    out.push_str(&config.log.written());
    let api = ApiTable {
        socket: Some(config.api_socket.clone()),
        group: config.api.group.clone(),
        read_group: config.api.read_group.clone(),
    };
    out.push_str(&api.written());
    out.push_str(&config.metrics.written());
    if config.gnmi != GnmiConfig::default() {
        out.push_str(&config.gnmi.written());
    }
    out.push_str(&config.page.written());
    out.push_str(&config.dataplane.written());
    for class in &config.classes {
        out.push_str(&ClassTable::from(class).written());
    }
    for pool in &config.pools {
        out.push_str(&pool.written());
    }
    for profile in &config.ecn {
        out.push_str(&profile.written());
    }
    for port in &config.ports {
        out.push_str(&port.written());
    }
    out.push_str(&config.deadlock.written());
    out.push_str(&config.pfcwd.written());
    out.push_str(&config.forwarding.written());
    if config.multicast != MulticastConfig::default() {
        out.push_str(&config.multicast.written());
    }
    for route in &config.routes {
        let name = |port: &PortId| Some(config.ports.get(port.index())?.name.clone());
        let pins = route.pins.iter();
        let table = RouteTable {
            destination: route.destination,
            vlan: route.vlan,
            ports: route.ports.iter().filter_map(name).collect(),
            buckets: Some(route.buckets.into()),
            pins: pins
                .filter_map(|(hash, port)| Some((*hash, name(port)?)))
                .collect(),
        };
        out.push_str(&table.written());
    }
    for station in &config.stations {
        out.push_str(&station.written());
    }
    for mirror in &config.mirrors {
        out.push_str(&mirror.table(&config.ports).written());
    }
    out.push_str(&config.flows.written());
    out.push_str(&config.lldp.written());
    out.push_str(&config.control_frames.written());
    out.push_str(&config.watermark.written());
    if config.flap_damping != FlapDampingConfig::default() {
        out.push_str(&config.flap_damping.written());
    }
    if config.sflow != SflowConfig::default() {
        out.push_str(&config.sflow.written());
    }
    if config.ipfix != IpfixConfig::default() {
        out.push_str(&config.ipfix.written());
    }
    out
}
