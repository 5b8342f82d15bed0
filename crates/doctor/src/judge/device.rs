//! The device itself: link, driver, XDP.

use weir_config::daemon::{Port, XdpMode, ZeroCopy};
use weir_config::drivers::kinds::Fit;
use weir_config::drivers::{self, TooLong, UNKNOWN};

use super::{command, Case, Wanted};
use crate::facts::{Device, Facts, Program};
use crate::finding::{Check, Finding, Remedy};

const OURS: [&str; 2] = ["weir_xdp", "weir_xdp_bound"];
/// Minimum similarity of a name to be suggested.
const LIKENESS: f64 = 0.8;

pub(super) fn missing(
    port: &Port,
    device: Option<&Device>,
    facts: &Facts,
    wanted: &Wanted,
) -> Finding {
    let name = device.map_or(&port.device, |device| &device.name);
    let found = format!("no device `{name}` in this network namespace");
    let running = wanted.running.as_ref();
    let has = |pid: u32| {
        format!("nsenter --net=/proc/{pid}/ns/net switchctl doctor {name}: the switch runs there")
    };
    let runs = running.filter(|running| running.ports.iter().any(|port| port.device == *name));
    if let Some(running) = runs {
        return Finding::note(Check::Device, found).mended_by(Remedy::Other(has(running.pid)));
    }
    let taken = |other: &str| wanted.config.ports.iter().any(|port| port.device == other);
    let nearest = facts
        .names
        .iter()
        .filter(|other| !taken(other))
        .map(|other| (strsim::jaro_winkler(name, other), other))
        .filter(|(likeness, _)| *likeness > LIKENESS)
        .max_by(|a, b| a.0.total_cmp(&b.0));
    let remedy = match nearest {
        Some((_, other)) => wanted.port_setting(port, "device", Some(&format!("\"{other}\""))),
        None => Remedy::Other(format!(
            "make the device, or move it here: ip link set {name} netns NAMESPACE (devices here: {})",
            facts.names.join(", ")
        )),
    };
    Finding::problem(Check::Device, found, remedy)
}

pub(super) fn link(case: &Case<'_>) -> Finding {
    let device = case.device();
    match (case.found.up, case.found.link) {
        (false, _) => Finding::problem(
            Check::Link,
            "the device is down",
            command(format!("ip link set dev {device} up")),
        ),
        (true, Some(false)) => Finding::note(
            Check::Link,
            "up, but without a link: the other end is down, or no cable is plugged in",
        ),
        (true, _) if case.running.is_some_and(|port| port.loop_blocked) => Finding::note(
            Check::Link,
            "up, but it floods nothing because of a loop",
        )
        .mended_by(Remedy::Other(
            "take out the cable that closes it: `switchctl events` has the loop's other port, `switchctl ports` the VLANs".into(),
        )),
        (true, _) => Finding::ok(Check::Link, "up"),
    }
}

pub(super) fn driver(case: &Case<'_>) -> Finding {
    let info = &case.found.driver;
    let part = |what: &str, value: &str| match value {
        "" | "N/A" => String::new(),
        value => format!(", {what} {value}"),
    };
    let found = format!(
        "{}{}{}{}; {}",
        if info.name.is_empty() {
            "no name"
        } else {
            &info.name
        },
        part("version", &info.version),
        part("firmware", &info.firmware),
        part("bus", &info.bus),
        case.driver.source
    );
    match case.driver.is_tested() {
        true => Finding::ok(Check::Driver, found),
        false => Finding::note(Check::Driver, found),
    }
}

/// Returns faults of the driver in zero-copy that users have reported.
pub(super) fn reports<'a>(case: &'a Case<'_>) -> impl Iterator<Item = Finding> + 'a {
    let reports = case
        .has_zero_copy()
        .then(|| drivers::reports(&case.found.driver.name));
    reports.into_iter().flatten().map(|report| {
        let found = format!(
            "reported, not reproduced: {} ({})",
            report.fault, report.source
        );
        let copy = case.wanted.setting("dataplane.zero-copy", Some("\"off\""));
        Finding::note(Check::Driver, found).mended_by(copy)
    })
}

pub(super) fn xdp(case: &Case<'_>) -> Finding {
    let is_ours = |program: &Program| match &program.name {
        Some(name) => OURS.contains(&name.as_str()),
        None => case.running.is_some(),
    };
    let programs = &case.found.programs;
    if let Some(foreign) = programs.iter().find(|program| !is_ours(program)) {
        return foreign_program(case, foreign);
    }
    match (programs.first(), case.running) {
        (Some(program), Some(_)) if program.mode == "generic" => Finding::note(
            Check::Xdp,
            format!("the switch's program {} is attached in generic mode, which is slow", program.id),
        ),
        (Some(program), Some(_)) => Finding::ok(
            Check::Xdp,
            format!("the switch's program {} is attached, {}", program.id, program.mode),
        ),
        (Some(program), None) => Finding::note(
            Check::Xdp,
            format!(
                "program {} of a switch that was killed or not queried: the next start takes it over, or `switchctl xdp detach` removes it",
                program.id
            ),
        ),
        (None, Some(_)) => Finding::problem(
            Check::Xdp,
            "the switch runs, but its program is no longer attached",
            command("switchctl restart"),
        ),
        (None, None) => possible(case),
    }
}

fn foreign_program(case: &Case<'_>, program: &Program) -> Finding {
    let name = program
        .name
        .as_deref()
        .unwrap_or("without a name that may be read");
    let found = format!(
        "another XDP program is attached to the device: {} {name}, {}",
        program.id, program.mode
    );
    let word = match program.mode {
        "native" => "xdpdrv",
        "generic" => "xdpgeneric",
        _ => "xdpoffload",
    };
    let remedy = match program.link {
        Some(link) => format!("bpftool link detach id {link}"),
        None => format!("ip link set dev {} {word} off", case.device()),
    };
    Finding::problem(Check::Xdp, found, command(remedy))
}

/// Reports the modes in which a program could be attached.
fn possible(case: &Case<'_>) -> Finding {
    let native = match (case.fit(), &case.found.xdp) {
        // A refused device has a separate problem.
        (Ok(Fit::GenericOnly { .. }), _) => false,
        (_, Ok(features)) => features.native,
        (_, Err(_)) => case.driver.native,
    };
    let auto = || case.wanted.setting("dataplane.xdp-mode", Some("\"auto\""));
    match (case.config.dataplane.xdp_mode, native) {
        (XdpMode::Native, false) => Finding::problem(
            Check::Xdp,
            "xdp-mode = \"native\", but the driver runs no XDP programs itself",
            auto(),
        ),
        (XdpMode::Generic, true) => Finding::note(
            Check::Xdp,
            "native is possible, but xdp-mode = \"generic\" is set, which is slow",
        ),
        (_, true) => Finding::ok(Check::Xdp, "native is possible; no program is attached"),
        (_, false) => Finding::note(
            Check::Xdp,
            "generic only, which is slow: native XDP is impossible or useless there",
        ),
    }
}

pub(super) fn zero_copy(case: &Case<'_>) -> Finding {
    let wanted = case.config.dataplane.zero_copy;
    if wanted == ZeroCopy::Off {
        return Finding::ok(Check::ZeroCopy, "off, as configured");
    }
    if let Some(running) = case.running {
        return match running.zero_copy {
            true => Finding::ok(Check::ZeroCopy, "the sockets share memory with the driver"),
            false => Finding::note(Check::ZeroCopy, "the kernel copies each frame"),
        };
    }
    let needs = case.driver.zero_copy.filter(|needs| *needs != "yes");
    let needs = needs.map_or(String::new(), |needs| format!(" ({needs})"));
    let auto = || case.wanted.setting("dataplane.zero-copy", Some("\"auto\""));
    let chains = case.driver.too_long == TooLong::Chained;
    match (case.has_zero_copy(), wanted) {
        (true, ZeroCopy::Require) if case.config.dataplane.has_long_frames() && !chains => {
            Finding::problem(
                Check::ZeroCopy,
                "zero-copy = \"require\", but the driver has none for frames of several chunks",
                auto(),
            )
        }
        (true, _) => Finding::ok(Check::ZeroCopy, format!("possible{needs}")),
        (false, ZeroCopy::Require) => Finding::problem(
            Check::ZeroCopy,
            "zero-copy = \"require\", but the driver has none",
            auto(),
        ),
        (false, _) => Finding::note(Check::ZeroCopy, "none: the kernel copies each frame"),
    }
}

pub(super) fn metadata(case: &Case<'_>) -> Finding {
    let generic = || {
        case.wanted
            .setting("dataplane.xdp-mode", Some("\"generic\""))
    };
    if let Some(running) = case.running {
        if running.without_metadata > 0 {
            let found = format!(
                "{} frames were dropped: the driver has no room for metadata",
                running.without_metadata
            );
            return Finding::problem(Check::Metadata, found, generic());
        }
    }
    if case.driver.metadata {
        let is_known = case.driver != &UNKNOWN;
        return match is_known {
            true => Finding::ok(
                Check::Metadata,
                "the program can write it in front of a frame",
            ),
            false => Finding::note(
                Check::Metadata,
                "not known of this driver: `no_meta` in `switchctl ports` would show it",
            ),
        };
    }
    match case.config.dataplane.xdp_mode {
        XdpMode::Native => Finding::problem(
            Check::Metadata,
            "xdp-mode = \"native\", but the driver has no room for metadata: the switch does not start",
            case.wanted.setting("dataplane.xdp-mode", Some("\"auto\"")),
        ),
        _ => Finding::note(
            Check::Metadata,
            "the driver has no room for it: the program is attached in generic mode",
        ),
    }
}

#[cfg(test)]
mod tests {
    use crate::facts::Found;
    use crate::finding::Finding;
    use crate::judge::judge;
    use crate::judge::tests::{facts, nic, veth, wanted};

    #[test]
    fn reported_faults_of_a_driver_are_notes_where_zero_copy_is_used() {
        let reported = |found: Found, dataplane: &str| {
            let findings = judge(&facts(found), &wanted(dataplane, ""));
            let is_report = |finding: &&Finding| finding.found.contains("reported, not reproduced");
            findings.iter().filter(is_report).count()
        };
        assert_eq!(reported(nic(), ""), 1);
        assert_eq!(reported(nic(), "zero-copy = \"off\""), 0);
        assert_eq!(reported(veth(), ""), 0);
    }
}
