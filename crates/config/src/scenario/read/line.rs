//! Settings of a line and its cable in `[link-defaults]`, `[[link]]` and `[[host]]`.

use crate::reader::Table;
use crate::scenario::{Host, Link, LinkProperties};
use crate::switch::{Cables, FrameConfig, PortCable};
use crate::units::format_duration;

/// Rate, delay, cable and times of a link; missing ones are taken from `defaults`.
pub(super) fn line(table: &Table<'_>, defaults: LinkProperties) -> LinkProperties {
    let cable = table.get("cable").or(defaults.cable);
    let delay = match cable {
        Some(cable) => {
            let own = table.get("delay").filter(|own| *own != cable.delay());
            if let Some(own) = own {
                let [own, of_cable] = [own, cable.delay()].map(format_duration);
                let message =
                    format!("{own} contradicts cable = \"{cable}\", on which it is {of_cable}: leave one of the two out");
                table.complain("delay", message);
            }
            cable.delay()
        }
        None => table.get_or("delay", defaults.delay),
    };
    let reaction = table.get("reaction").or(defaults.reaction);
    if table.has("reaction") && cable.is_none() {
        table.complain(
            "reaction",
            "has no effect without the cable's length: also set cable",
        );
    }
    LinkProperties {
        rate: table.get_or("rate", defaults.rate),
        delay,
        cable,
        reaction,
        round_trip: table.get_or("round-trip", defaults.round_trip),
        ..defaults
    }
}

/// The cables of all links, and of hosts.
pub(super) fn cables(
    root: &Table<'_>,
    frames: &FrameConfig,
    (switches, hosts): (&[String], &[Host]),
    links: &[Link],
) -> Cables {
    // A switch without Levels pauses by thresholds everywhere.
    let is_edge = true;
    let of_link = |link: &Link| {
        let [a, b] = link.ends.map(|end| &switches[end]);
        PortCable {
            name: format!("link `{a}`-`{b}`"),
            line_number: None,
            is_edge,
            line: link.properties.cable_line(),
        }
    };
    let defaults = root.table("link-defaults", super::keys("link-defaults"));
    let line_of_defaults = defaults
        .filter(|table| table.has("cable"))
        .and_then(|table| table.line_of("cable"));
    let mut of_hosts: Vec<PortCable> = Vec::new();
    for host in hosts {
        let line = host.line.cable_line();
        // A thousand hosts with the same cable are one case.
        if !of_hosts.iter().any(|seen| seen.line == line) {
            of_hosts.push(PortCable {
                name: format!("the link of host `{}`", host.name),
                line_number: line_of_defaults,
                is_edge,
                line,
            });
        }
    }
    let links = links.iter().filter(|link| !link.failed).map(of_link);
    Cables {
        charging: frames.charging(),
        ports: links.chain(of_hosts).collect(),
    }
}
