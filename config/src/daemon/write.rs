//! [`DaemonConfig`] to TOML.

use std::fmt::Write as _;

use weir_core::{ClassMode, FeedbackCoding, Neighbour, Police, PortRole, Priority};

use super::{default_dscp_map, Class, DaemonConfig, Fallback, Port, Trust};
use crate::settings::quoted;
use crate::units::{format_duration, format_probability, format_rate, format_size};

pub(super) fn daemon(config: &DaemonConfig) -> String {
    let mut out = String::new();
    let _ = write_all(&mut out, config); // writing to a String does not fail
    out
}

fn write_all(out: &mut String, config: &DaemonConfig) -> std::fmt::Result {
    writeln!(out, "name = {}", quoted(&config.name))?;
    writeln!(
        out,
        "run-dir = {}",
        quoted(&config.run_dir.to_string_lossy())
    )?;
    out.push_str(&config.log.written());
    writeln!(
        out,
        "\n[api]\nsocket = {}",
        quoted(&config.api_socket.to_string_lossy())
    )?;
    for (key, group) in [
        ("group", &config.api.group),
        ("read-group", &config.api.read_group),
    ] {
        if let Some(group) = group {
            writeln!(out, "{key} = {}", quoted(group))?;
        }
    }
    out.push_str(&config.metrics.written());
    out.push_str(&config.page.written());
    out.push_str(&config.dataplane.written());
    for entry in &config.classes {
        class(out, entry)?;
    }
    for entry in &config.ports {
        port(out, entry)?;
    }
    out.push_str(&config.deadlock.written());
    out.push_str(&config.pfcwd.written());
    out.push_str(&config.forwarding.written());
    for route in &config.routes {
        let ports: Vec<String> = route
            .ports
            .iter()
            .filter_map(|port| config.ports.get(port.index()))
            .map(|port| quoted(&port.name))
            .collect();
        writeln!(
            out,
            "\n[[route]]\ndestination = \"{}\"\nports = [{}]\nbuckets = {}",
            route.destination,
            ports.join(", "),
            route.buckets
        )?;
    }
    out.push_str(&config.flows.written());
    out.push_str(&config.lldp.written());
    out.push_str(&config.control_frames.written());
    Ok(())
}

fn class(out: &mut String, class: &Class) -> std::fmt::Result {
    writeln!(out, "\n[[class]]\nname = {}", quoted(&class.name))?;
    writeln!(out, "priorities = {}", numbers(&class.priorities))?;
    match class.mode {
        ClassMode::Lossy { buffer } => {
            writeln!(
                out,
                "mode = \"lossy\"\nbuffer = \"{}\"",
                format_size(buffer)
            )?;
        }
        ClassMode::Pfc {
            xoff,
            xon,
            headroom,
        } => writeln!(
            out,
            "mode = \"pfc\"\nxoff = \"{}\"\nxon = \"{}\"\nheadroom = \"{}\"",
            format_size(xoff),
            format_size(xon),
            format_size(headroom)
        )?,
        ClassMode::Level {
            budgets,
            rules,
            xoff,
            xon,
            headroom,
        } => {
            let list: Vec<String> = budgets
                .as_slice()
                .iter()
                .map(|budget| quoted(&format_size(*budget)))
                .collect();
            writeln!(
                out,
                "mode = \"level\"\nbudgets = [{}]\nmin-level = {}\nignore-feedback = {}\nxoff = \"{}\"\nxon = \"{}\"\nheadroom = \"{}\"",
                list.join(", "),
                rules.level_min,
                !rules.obeys_feedback,
                format_size(xoff),
                format_size(xon),
                format_size(headroom)
            )?;
        }
    }
    if let Some(limit) = class.age_limit {
        writeln!(out, "age-limit = \"{}\"", format_duration(limit))?;
    }
    if let Some(red) = class.ecn {
        writeln!(
            out,
            "ecn-kmin = \"{}\"\necn-kmax = \"{}\"\necn-pmax = \"{}\"\necn-mark-at = \"{}\"",
            format_size(red.kmin),
            format_size(red.kmax),
            format_probability(red.pmax),
            red.at.name()
        )?;
    }
    writeln!(out, "weight = {}", class.weight)
}

fn port(out: &mut String, port: &Port) -> std::fmt::Result {
    let role = match port.role {
        PortRole::Fabric => "fabric",
        PortRole::Edge => "edge",
    };
    let trust = match port.trust {
        Trust::Port => "port",
        Trust::Pcp => "pcp",
        Trust::Dscp => "dscp",
        Trust::PcpDscp => "pcp-dscp",
    };
    let fallback = match port.fallback {
        Fallback::Pass => "pass",
        Fallback::Drop => "drop",
    };
    writeln!(out, "\n[[port]]\nname = {}", quoted(&port.name))?;
    writeln!(
        out,
        "device = {}\nqueue = {}\nqueues = {}",
        quoted(&port.device),
        port.queue,
        port.queue_count
    )?;
    writeln!(
        out,
        "role = \"{role}\"\nrate = \"{}\"",
        format_rate(port.rate)
    )?;
    let neighbour = match port.neighbour {
        Neighbour::Unknown => "auto",
        Neighbour::Enhanced => "enhanced",
        Neighbour::Regular => "regular",
    };
    let round_trip = match port.round_trip_measured {
        true => "auto".to_owned(),
        false => format_duration(port.round_trip),
    };
    writeln!(
        out,
        "round-trip = \"{round_trip}\"\nneighbour = \"{neighbour}\""
    )?;
    match port.role {
        PortRole::Fabric => {
            let feedback = match port.feedback {
                FeedbackCoding::Pfc => "pfc",
                FeedbackCoding::Pause => "pause",
                FeedbackCoding::Grants => "grants",
            };
            writeln!(out, "feedback = \"{feedback}\"")?;
        }
        PortRole::Edge => {
            let police = match port.police {
                Police::Off => "off",
                Police::Drop => "drop",
                Police::Mark => "mark",
            };
            writeln!(out, "police = \"{police}\"")?;
        }
    }
    if let Some(address) = port.address {
        writeln!(out, "address = \"{address}\"")?;
    }
    writeln!(out, "default-priority = {}", port.default_priority)?;
    writeln!(
        out,
        "trust = \"{trust}\"\npcp-map = {}",
        numbers(&port.pcp_map)
    )?;
    let default = default_dscp_map();
    let changed: Vec<String> = (0..64)
        .filter(|dscp| port.dscp_map[*dscp] != default[*dscp])
        .map(|dscp| format!("{dscp} = {}", port.dscp_map[dscp]))
        .collect();
    if !changed.is_empty() {
        writeln!(out, "dscp-map = {{ {} }}", changed.join(", "))?;
    }
    if let Some(own) = &port.pfcwd {
        let keys = own.pairs().into_iter();
        let keys: Vec<String> = keys
            .map(|(key, value)| format!("{key} = {value}"))
            .collect();
        writeln!(out, "pfcwd = {{ {} }}", keys.join(", "))?;
    }
    writeln!(out, "fallback = \"{fallback}\"")
}

fn numbers(priorities: &[Priority]) -> String {
    let numbers: Vec<String> = priorities.iter().map(Priority::to_string).collect();
    format!("[{}]", numbers.join(", "))
}
