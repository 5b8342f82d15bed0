//! `[[port]]`.

use weir_core::{Duration, FeedbackCoding, MacAddress, Neighbour, Police, PortRole, Priority};

use super::{keys, within};
use crate::daemon::{default_dscp_map, Fallback, PfcwdConfig, Port, Trust, DEFAULT_ROUND_TRIP};
use crate::names::{check_device, check_name};
use crate::reader::{line_of, FromItem, Names, Table};

pub(super) fn ports(root: &Table<'_>, watchdog: PfcwdConfig) -> Vec<Port> {
    let (names, devices) = (Names::default(), Names::default());
    let ports: Vec<Port> = root
        .tables("port", keys("port"))
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
    let device: Option<String> = table.require("device");
    let is_device = device
        .as_ref()
        .is_some_and(|device| check_device(table, "device", device));
    let name: Option<String> = table.get("name").or_else(|| device.clone());
    if let Some(name) = &name {
        let is_given = table.has("name");
        names.note(table, if is_given { "name" } else { "device" }, name);
        // What is no device is no name either, and has been complained about.
        if is_given || is_device {
            check_name(table, "name", name);
        }
    }
    let queue = within(table, "queue", 0, 63).unwrap_or(0) as u32;
    let queue_count = within(table, "queues", 1, u64::from(64 - queue)).unwrap_or(1) as u32;
    if let Some(device) = &device {
        for queue in queue..queue + queue_count {
            devices.note(table, "device", &format!("{device} queue {queue}"));
        }
    }
    let role = {
        table.require::<String>("role");
        table.choice(
            "role",
            &[("fabric", PortRole::Fabric), ("edge", PortRole::Edge)],
        )
    };
    let rate = table.require("rate");
    let trust = table
        .choice(
            "trust",
            &[
                ("pcp", Trust::Pcp),
                ("dscp", Trust::Dscp),
                ("pcp-dscp", Trust::PcpDscp),
                ("port", Trust::Port),
            ],
        )
        .unwrap_or(Trust::PcpDscp);
    let fallback = table
        .choice(
            "fallback",
            &[("pass", Fallback::Pass), ("drop", Fallback::Drop)],
        )
        .unwrap_or(Fallback::Drop);
    let neighbour = table
        .choice(
            "neighbour",
            &[
                ("auto", Neighbour::Unknown),
                ("enhanced", Neighbour::Enhanced),
                ("regular", Neighbour::Regular),
            ],
        )
        .unwrap_or_default();
    let feedback = port_feedback(table, role, neighbour);
    let police = police(table);
    if police.is_some() && role == Some(PortRole::Fabric) {
        table.complain(
            "police",
            "does not apply to a fabric port; only hosts are policed, at edge ports",
        );
    }
    let (round_trip, round_trip_measured) = round_trip(table);
    Some(Port {
        round_trip,
        round_trip_measured,
        neighbour,
        feedback: feedback.unwrap_or_default(),
        police: police.unwrap_or_default(),
        pfcwd: watchdog.of_port(table),
        address: table.get::<MacAddress>("address"),
        default_priority: table.get_or("default-priority", Priority::ALL[0]),
        pcp_map: pcp_map(table),
        dscp_map: dscp_map(table),
        name: name?,
        device: device?,
        queue,
        queue_count,
        role: role?,
        rate: rate?,
        trust,
        fallback,
    })
}

/// T and whether it is measured.
fn round_trip(table: &Table<'_>) -> (Duration, bool) {
    let measured = (DEFAULT_ROUND_TRIP, true);
    if !table.has("round-trip") || table.is_text("round-trip", "auto") {
        return measured;
    }
    table
        .get("round-trip")
        .map_or(measured, |fixed| (fixed, false))
}

fn port_feedback(
    table: &Table<'_>,
    role: Option<PortRole>,
    neighbour: Neighbour,
) -> Option<FeedbackCoding> {
    let feedback = feedback_coding(table)?;
    if role == Some(PortRole::Edge) {
        table.complain(
            "feedback",
            "does not apply to an edge port; hosts get plain PFC",
        );
    }
    if feedback == FeedbackCoding::Grants && neighbour != Neighbour::Enhanced {
        table.complain(
            "feedback",
            "`grants` must be set at both ends: set neighbour = \"enhanced\" too",
        );
    }
    Some(feedback)
}

/// How Feedback is told; also used by scenarios.
pub(crate) fn feedback_coding(table: &Table<'_>) -> Option<FeedbackCoding> {
    table.choice(
        "feedback",
        &[
            ("pfc", FeedbackCoding::Pfc),
            ("pause", FeedbackCoding::Pause),
            ("grants", FeedbackCoding::Grants),
        ],
    )
}

/// What an edge port does with a host that does not obey a pause; also used by scenarios.
pub(crate) fn police(table: &Table<'_>) -> Option<Police> {
    table.choice(
        "police",
        &[
            ("off", Police::Off),
            ("drop", Police::Drop),
            ("mark", Police::Mark),
        ],
    )
}

fn pcp_map(table: &Table<'_>) -> [Priority; 8] {
    let Some(map) = table.get::<Vec<Priority>>("pcp-map") else {
        return Priority::ALL;
    };
    map.try_into().unwrap_or_else(|map: Vec<Priority>| {
        let message = format!(
            "expected eight priorities, one for each PCP, found {}",
            map.len()
        );
        table.complain("pcp-map", message);
        Priority::ALL
    })
}

fn dscp_map(table: &Table<'_>) -> [Priority; 64] {
    let mut map = default_dscp_map();
    for (key, item) in table.free_table("dscp-map") {
        let complain = |message: String| {
            table.problems().add(
                line_of(item),
                table.key_path(&format!("dscp-map.{key}")),
                message,
            );
        };
        let place = key.parse::<usize>().ok().and_then(|dscp| map.get_mut(dscp));
        match (place, Priority::from_item(item)) {
            (Some(place), Ok(priority)) => *place = priority,
            (None, _) => complain(format!("`{key}` is not a DSCP; valid are 0 to 63")),
            (_, Err(message)) => complain(message),
        }
    }
    map
}
