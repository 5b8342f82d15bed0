//! `[[port]]`: what a port's settings have to do with each other, and with those of other ports.

use weir_core::{FeedbackCoding, Neighbour, PortRole};

use crate::daemon::port::QUEUES_MAX;
use crate::daemon::{PfcwdConfig, Port};
use crate::names::{check_device, check_name};
use crate::reader::{Names, Table};
use crate::settings::valid;

pub(super) fn ports(root: &Table<'_>, watchdog: PfcwdConfig) -> Vec<Port> {
    let (names, devices) = (Names::default(), Names::default());
    let ports: Vec<Port> = root
        .tables(Port::TABLE, Port::KEYS)
        .iter()
        .filter_map(|table| port(table, &names, &devices, watchdog))
        .collect();
    if ports.is_empty() && !root.problems().any() {
        root.complain("port", "a switch needs at least one [[port]]");
    }
    if ports.len() > weir_core::units::PORT_COUNT_MAX {
        root.complain("port", format!("{} ports are more than 256", ports.len()));
    }
    ports
}

fn port(table: &Table<'_>, names: &Names, devices: &Names, watchdog: PfcwdConfig) -> Option<Port> {
    let pfcwd = watchdog.of_port(table);
    let mut port = Port::read(table)?;
    port.pfcwd = pfcwd;
    let is_device = check_device(table, "device", &port.device);
    let is_given = table.has("name");
    if !is_given {
        port.name.clone_from(&port.device);
    }
    names.note(table, if is_given { "name" } else { "device" }, &port.name);
    // What is no device is no name either, and has been complained about.
    if is_given || is_device {
        check_name(table, "name", &port.name);
    }
    let queues = valid::within(1, u64::from(QUEUES_MAX.saturating_sub(port.queue)));
    let count = port.queue_count.unwrap_or(1);
    match queues(&count) {
        Ok(()) => {
            for queue in port.queue..port.queue + count {
                devices.note(table, "device", &format!("{} queue {queue}", port.device));
            }
        }
        Err(message) => table.complain("queues", message),
    }
    check_feedback(table, &port);
    port.check_vlans(table);
    if table.has("police") && port.role == PortRole::Fabric {
        table.complain(
            "police",
            "does not apply to a fabric port; only hosts are policed, at edge ports",
        );
    }
    Some(port)
}

fn check_feedback(table: &Table<'_>, port: &Port) {
    if table.has("feedback") && port.role == PortRole::Edge {
        table.complain(
            "feedback",
            "does not apply to an edge port; hosts get plain PFC",
        );
    }
    if port.feedback == FeedbackCoding::Grants && port.neighbour != Neighbour::Enhanced {
        table.complain(
            "feedback",
            "`grants` must be set at both ends: set neighbour = \"enhanced\" too",
        );
    }
}
