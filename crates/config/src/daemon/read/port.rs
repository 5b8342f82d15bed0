//! `[[port]]`: relations between the settings of a port, and with those of other ports.

use weir_core::{FeedbackCoding, ModeKind, Neighbour, PortRole};

use crate::daemon::port::QUEUES_MAX;
use crate::daemon::{DataplaneConfig, Express, PfcwdConfig, Port, RoundTrip, XdpMode};
use crate::names::{check_device, check_name};
use crate::reader::{Names, Table};
use crate::settings::valid;
use crate::switch::headroom::Charging;
use crate::switch::{Cables, Class, ClassTable, Pool, PortCable};
use crate::units::format_duration;

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
        root.complain("port", format!("{} ports: the maximum is 256", ports.len()));
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
    // An invalid device cannot serve as a name either, and has been reported.
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
    check_cable(table, &port);
    port.check_vlans(table);
    if table.has("police") && port.role == PortRole::Fabric {
        table.complain(
            "police",
            "does not apply to a fabric port; only hosts are policed, at edge ports",
        );
    }
    Some(port)
}

fn check_cable(table: &Table<'_>, port: &Port) {
    let Some(cable) = port.cable else {
        if table.has("reaction") {
            table.complain(
                "reaction",
                "has no effect without the cable's length: also set cable",
            );
        }
        return;
    };
    let there_and_back = cable.delay() + cable.delay();
    if let RoundTrip::Fixed(span) = port.round_trip {
        if span < there_and_back {
            let [span, cable_time] = [span, there_and_back].map(format_duration);
            table.complain(
                "round-trip",
                format!(
                    "{span} contradicts cable = \"{cable}\", on which {cable_time} pass until an answer: correct one of the two"
                ),
            );
        }
    }
}

/// Checks that settings which need native XDP have it.
pub(super) fn check_hardware_time(root: &Table<'_>, dataplane: &DataplaneConfig) {
    if dataplane.xdp_mode != XdpMode::Generic {
        return;
    }
    for table in root.tables(Port::TABLE, Port::KEYS) {
        if table.get::<bool>("hardware-time") == Some(true) {
            table.complain(
                "hardware-time",
                "contradicts xdp-mode = \"generic\" of [dataplane], in which no driver is asked: remove one of the two",
            );
        }
    }
}

/// Checks that with the express path, classes with Levels use Feedback by class and no grants.
pub(super) fn check_express(root: &Table<'_>, classes: &[Class], ports: &[Port]) {
    let tables = root.tables(ClassTable::TABLE, ClassTable::KEYS);
    // Fewer entries mean that an invalid class was already reported.
    if tables.len() != classes.len() {
        return;
    }
    for (table, class) in tables.iter().zip(classes) {
        let is_asked = class.express == Express::On && class.mode.kind() == ModeKind::Level;
        let Some(port) = ports
            .iter()
            .find(|port| is_asked && !port.lets_levels_pass())
        else {
            continue;
        };
        table.complain(
            "express",
            format!(
                "class `{}` has Levels and cannot use the express path: port `{}` has feedback = \"{}\"; write `\"auto\"`, or set feedback = \"pfc\"",
                class.name,
                port.name,
                port.feedback.name()
            ),
        );
    }
}

/// Checks the ports' thresholds for classes with a share of a pool.
pub(super) fn check_pool_thresholds(
    root: &Table<'_>,
    ports: &[Port],
    classes: &[Class],
    pools: &[Pool],
) {
    // Fewer entries mean that an invalid port was already reported.
    let tables = root.tables(Port::TABLE, Port::KEYS);
    if tables.len() == ports.len() {
        for (table, port) in tables.iter().zip(ports) {
            port.check_pool_thresholds(table, classes, pools);
        }
    }
}

/// The cables of all ports, with their lines in the file.
pub(super) fn cables(root: &Table<'_>, ports: &[Port], charging: Charging) -> Cables {
    let tables = root.tables(Port::TABLE, Port::KEYS);
    let of_port = |port: &Port| {
        let is_its = |table: &&Table<'_>| table.is_text("device", &port.device);
        let its = tables
            .iter()
            .filter(is_its)
            .find(|table| !table.has("name") || table.is_text("name", &port.name));
        PortCable {
            name: format!("port `{}`", port.name),
            line_number: its
                .filter(|table| table.has("cable"))
                .and_then(|table| table.line_of("cable")),
            is_edge: port.is_edge(),
            line: port.cable_line(),
        }
    };
    Cables {
        charging,
        ports: ports.iter().map(of_port).collect(),
    }
}

fn check_feedback(table: &Table<'_>, port: &Port) {
    if table.has("feedback") && port.is_edge() {
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
