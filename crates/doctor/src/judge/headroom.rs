//! Room for frames after XOFF: the need according to the file's description of the neighbour, and according to the
//! counters of a running switch.

use weir_config::daemon::{Class, DaemonConfig, Port};
use weir_config::switch::headroom::{Feedback, Link};
use weir_config::units::{format_duration, format_size};
use weir_core::{Bytes, ClassMode, Duration, PfcThresholds, Police, PortRole, Priority};

use super::{Case, RunningQueue};
use crate::finding::{Check, Finding, Remedy};

/// Sizes are written in whole KiB.
const STEP: Bytes = Bytes::new(1024);

/// Returns a finding for each class that pauses the port's neighbour, if there is data to judge it.
pub(super) fn headroom(case: &Case<'_>) -> Vec<Finding> {
    let classes = case.config.classes.iter();
    let of_classes = classes.filter_map(|class| of_class(case, class));
    of_classes.chain(cable(case)).chain(unknown(case)).collect()
}

/// Returns the thresholds at which a class pauses a port's neighbour; `None` if it never does, or
/// uses Levels.
fn thresholds(config: &DaemonConfig, port: &Port, class: &Class) -> Option<PfcThresholds> {
    match (config.mode_at(class, port), port.role) {
        _ if port.police != Police::Off => None,
        (ClassMode::Level { .. }, PortRole::Fabric) => None,
        (mode, _) => mode.thresholds(),
    }
}

fn needed(config: &DaemonConfig, port: &Port, class: &Class, thresholds: PfcThresholds) -> Bytes {
    let charging = config.dataplane.frames().charging();
    let link = match port.cable_line() {
        Some(line) => line.link(),
        None => Link {
            rate: port.rate,
            feedback: Feedback::RoundTrip(port.round_trip.assumed()),
            overshoot: port.overshoot,
        },
    };
    // The pool may be full when a frame arrives: then none of it is below xoff.
    let xoff = match class.pool.is_some() {
        true => Bytes::ZERO,
        false => thresholds.xoff(),
    };
    link.headroom_needed(charging, xoff, &charging.worst_frames())
}

/// Returns the largest headroom that the class needs at any port whose neighbour was measured.
fn needed_at_most(config: &DaemonConfig, class: &Class) -> Bytes {
    let measured = config.ports.iter().filter(|port| is_measured(port));
    let needs = measured.filter_map(|port| {
        Some(needed(
            config,
            port,
            class,
            thresholds(config, port, class)?,
        ))
    });
    needs.max().unwrap_or_default()
}

fn is_measured(port: &Port) -> bool {
    port.overshoot > Bytes::ZERO
}

/// Counters of one class at the port from a running switch.
#[derive(Default)]
struct Seen {
    dropped: u64,
    used: Bytes,
    is_any: bool,
}

impl Seen {
    fn of<'a>(queues: impl Iterator<Item = &'a RunningQueue>) -> Self {
        queues.fold(Self::default(), |seen, queue| Self {
            dropped: seen.dropped + queue.headroom_dropped,
            used: seen.used.max(Bytes::new(queue.headroom_used_max_bytes)),
            is_any: true,
        })
    }
}

fn queues<'a>(case: &Case<'a>) -> impl Iterator<Item = &'a RunningQueue> {
    case.running.into_iter().flat_map(|running| &running.queues)
}

fn of_class(case: &Case<'_>, class: &Class) -> Option<Finding> {
    let (config, port) = (case.config, case.port);
    let thresholds = thresholds(config, port, class)?;
    let (room, needed) = (
        thresholds.headroom(),
        needed(config, port, class, thresholds),
    );
    let is_its = |queue: &&RunningQueue| {
        let priority = Priority::new(queue.priority);
        priority.is_some_and(|priority| class.priorities.contains(&priority))
    };
    let seen = Seen::of(queues(case).filter(is_its));
    let name = &class.name;
    if seen.dropped > 0 {
        return Some(lost(case, name, &seen, Some((room, needed))));
    }
    if is_measured(port) && room < needed {
        let found = format!(
            "class {name} has {} at port {}, and {} may be charged after XOFF: frames that waste most of their cells, {} as measured (overshoot) and the frames that arrive within round-trip",
            format_size(room),
            port.name,
            format_size(needed),
            format_size(port.overshoot)
        );
        let value = size(needed_at_most(config, class));
        let key = format!("class.{name}.headroom");
        let remedy = case.wanted.setting(key, Some(&value));
        return Some(Finding::problem(Check::Headroom, found, remedy));
    }
    if seen.used > needed && case.wanted.file.is_some() {
        return Some(late(case, name, &seen, (room, needed)));
    }
    if !is_measured(port) && !seen.is_any {
        return None;
    }
    let used = match seen.is_any {
        true => format!(", {} used at most", format_size(seen.used)),
        false => String::new(),
    };
    Some(Finding::ok(
        Check::Headroom,
        format!(
            "class {name}: {}, {} needed by the file{used}",
            format_size(room),
            format_size(needed)
        ),
    ))
}

/// Reports lost frames: the neighbour sends for longer after XOFF than there is room for.
fn lost(case: &Case<'_>, class: &str, seen: &Seen, file: Option<(Bytes, Bytes)>) -> Finding {
    let port = &case.port.name;
    let by_file = file.map_or(String::new(), |(room, needed)| {
        format!(
            " of {}; by the file {} come after XOFF",
            format_size(room),
            format_size(needed)
        )
    });
    let found = format!(
        "port {port}, class {class}: {} frames were dropped (headroom_exceeded) with {} in use{by_file}: the neighbor reacts to pauses later, or not at all",
        seen.dropped,
        format_size(seen.used)
    );
    let remedy = match case.port.role {
        PortRole::Edge => format!(
            "measure how much still arrives after XOFF while the switch is stopped (`weir-host measure {}`), set port.{port}.overshoot accordingly, and raise class.{class}.headroom; for a host that does not obey pauses: port.{port}.police = \"drop\"",
            case.device()
        ),
        PortRole::Fabric => format!(
            "make sure that the neighbor obeys PFC in this class (`switchctl neighbors`), and raise class.{class}.headroom"
        ),
    };
    Finding::problem(Check::Headroom, found, Remedy::Other(remedy))
}

/// Reports late frames without losses: more arrived than expected from the file.
fn late(case: &Case<'_>, class: &str, seen: &Seen, (room, needed): (Bytes, Bytes)) -> Finding {
    let port = &case.port.name;
    let found = format!(
        "port {port}, class {class}: the neighbor reacts to pauses later than the file states: {} of {} were used, and {} expected",
        format_size(seen.used),
        format_size(room),
        format_size(needed)
    );
    let more = seen.used.saturating_sub(needed);
    let remedy = match case.port.role {
        PortRole::Edge => {
            let value = size(case.port.overshoot + more);
            case.wanted
                .port_setting(case.port, "overshoot", Some(&value))
        }
        PortRole::Fabric if case.port.cable.is_some() => {
            let line = case.port.cable_line();
            let span = line.map_or(Duration::ZERO, |line| line.reaction);
            let span = span + case.port.rate.time_for(more);
            let value = micros(span);
            case.wanted
                .port_setting(case.port, "reaction", Some(&value))
        }
        PortRole::Fabric => {
            let span = case.port.round_trip.assumed() + case.port.rate.time_for(more);
            let value = micros(span);
            case.wanted
                .port_setting(case.port, "round-trip", Some(&value))
        }
    };
    Finding::note(Check::Headroom, found).mended_by(remedy)
}

/// Checks that the headroom derived from the port's cable suffices for the measured round trip.
fn cable(case: &Case<'_>) -> Option<Finding> {
    let (port, line) = (case.port, case.port.cable_line()?);
    let charging = case.config.dataplane.frames().charging();
    let room = line.room(charging);
    let running = case.running?.cable?;
    let measured = Duration::from_nanos(running.round_trip_nanos?);
    let gives = format!(
        "the cable of {} gives {}, enough for a round trip of {}",
        line.cable,
        format_size(room.headroom),
        format_duration(room.round_trip_max)
    );
    if !running.exceeded {
        let found = format!("{gives}; measured: up to {}", format_duration(measured));
        return Some(Finding::ok(Check::Headroom, found));
    }
    let found = format!(
        "port {}: {gives}; up to {} were measured, which need {}",
        port.name,
        format_duration(measured),
        format_size(line.needed_for(measured, charging))
    );
    let way = line.cable.delay() + line.cable.delay();
    let reaction = measured.max(room.round_trip_max).as_nanos();
    let reaction = Duration::from_nanos(reaction.saturating_sub(way.as_nanos()));
    let remedy = case
        .wanted
        .port_setting(port, "reaction", Some(&micros(reaction)));
    Some(Finding::note(Check::Headroom, found).mended_by(remedy))
}

/// Reports losses in priorities whose need is not in any file.
fn unknown(case: &Case<'_>) -> Option<Finding> {
    let is_known = |queue: &&RunningQueue| {
        let priority = Priority::new(queue.priority);
        priority.is_some_and(|priority| case.config.class_of(priority).is_some())
    };
    let seen = Seen::of(queues(case).filter(|queue| !is_known(queue)));
    (seen.dropped > 0).then(|| lost(case, "CLASS", &seen, None))
}

/// In TOML, in whole microseconds.
fn micros(span: Duration) -> String {
    format!("\"{}us\"", span.as_nanos().div_ceil(1_000))
}

/// In TOML, in whole steps.
fn size(bytes: Bytes) -> String {
    format!("\"{}\"", format_size(bytes.round_up_to(STEP)))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{driven_by, facts, of};
    use super::super::{judge, Running, RunningCable, RunningPort, Wanted};
    use super::*;
    use crate::facts::Unread;
    use crate::finding::Grade;

    const CLASS: &str = "[[class]]\nname = \"lossless\"\npriorities = [3, 4]\nmode = \"pfc\"\nxoff = \"64KiB\"\nxon = \"32KiB\"\n";

    fn file(port: &str, headroom: &str) -> Wanted {
        super::super::tests::wanted(
            "",
            &format!("round-trip = \"10us\"\n{port}\n{CLASS}headroom = \"{headroom}\""),
        )
    }

    /// Adds a switch that runs with this file, and these counters of priority 4.
    fn running(mut wanted: Wanted, used: u64, dropped: u64) -> Wanted {
        let queue = |priority, headroom_used_max_bytes, headroom_dropped| RunningQueue {
            priority,
            headroom_used_max_bytes,
            headroom_dropped,
        };
        wanted.running = Some(Running {
            pid: 17,
            ports: vec![RunningPort {
                device: "eth0".into(),
                mode: "generic".into(),
                queues: vec![queue(3, 0, 0), queue(4, used, dropped)],
                ..RunningPort::default()
            }],
        });
        wanted
    }

    fn findings(wanted: &Wanted) -> Vec<Finding> {
        let found = judge(&facts(driven_by("ice", Err(Unread::NotThere))), wanted);
        let about = found.into_iter();
        about.filter(|it| it.check == Check::Headroom).collect()
    }

    fn only(wanted: &Wanted) -> (Grade, String, Option<String>) {
        let findings = findings(wanted);
        assert_eq!(findings.len(), 1, "{findings:#?}");
        let finding = of(&findings, Check::Headroom);
        let remedy = finding.remedy.as_ref().map(ToString::to_string);
        (finding.grade, finding.found.clone(), remedy)
    }

    #[test]
    fn without_a_measurement_or_a_switch_there_is_nothing_to_judge() {
        assert!(findings(&file("", "2KiB")).is_empty());
        let policed = file("overshoot = \"64KiB\"\npolice = \"drop\"", "2KiB");
        assert!(findings(&policed).is_empty(), "it never pauses");
    }

    #[test]
    fn headroom_has_room_for_what_was_measured() {
        let measured = "overshoot = \"64KiB\"";
        let (grade, found, remedy) = only(&file(measured, "32KiB"));
        assert_eq!(grade, Grade::Problem, "{found}");
        assert!(
            found.contains("class lossless has 32KiB at port eth0"),
            "{found}"
        );
        assert!(found.contains("64KiB as measured"), "{found}");
        let remedy = remedy.unwrap();
        let value = remedy.strip_prefix("in s1.toml: class.lossless.headroom = \"");
        let value = value.and_then(|rest| rest.strip_suffix('"')).unwrap();
        let (grade, found, remedy) = only(&file(measured, value));
        assert_eq!((grade, remedy), (Grade::Ok, None), "{found}");
        // One step less is too little.
        let kib: u64 = value.strip_suffix("KiB").unwrap().parse().unwrap();
        let less = format!("{}KiB", kib - 1);
        assert_eq!(only(&file(measured, &less)).0, Grade::Problem);
        assert!(kib > 64, "charged in cells, and beside what comes in time");
    }

    #[test]
    fn the_advised_line_suffices_for_all_ports() {
        let second = "overshoot = \"8KiB\"\n[[port]]\ndevice = \"eth1\"\nrole = \"edge\"\nrate = \"1Gbit\"\nround-trip = \"10us\"\novershoot = \"64KiB\"";
        let (_, _, line) = only(&file("overshoot = \"64KiB\"", "2KiB"));
        let (_, _, of_first) = only(&file(second, "2KiB"));
        assert_eq!(of_first, line, "what the other port needs");
    }

    #[test]
    fn frames_that_were_lost_are_a_problem() {
        let (grade, found, remedy) = only(&running(file("", "128KiB"), 131_072, 160));
        assert_eq!(grade, Grade::Problem);
        for figure in ["port eth0", "160 frames", "128KiB in use of 128KiB"] {
            assert!(found.contains(figure), "{found}");
        }
        let remedy = remedy.unwrap();
        for what in [
            "weir-host measure eth0",
            "port.eth0.overshoot",
            "class.lossless.headroom",
            "police",
        ] {
            assert!(remedy.contains(what), "{remedy}");
        }
    }

    #[test]
    fn a_neighbor_later_than_configured_is_noted() {
        let measured = "overshoot = \"16KiB\"";
        let needed = {
            let wanted = file(measured, "1MiB");
            let port = &wanted.config.ports[0];
            let class = &wanted.config.classes[0];
            needed(
                &wanted.config,
                port,
                class,
                thresholds(&wanted.config, port, class).unwrap(),
            )
        };
        let at_most = |used: u64| only(&running(file(measured, "1MiB"), used, 0));
        let (grade, found, _) = at_most(needed.get());
        assert_eq!(grade, Grade::Ok, "{found}");
        let (grade, found, remedy) = at_most(needed.get() + 10 * 1024);
        assert_eq!(grade, Grade::Note);
        assert!(found.contains("of 1MiB were used"), "{found}");
        assert_eq!(
            remedy.unwrap(),
            "in s1.toml: port.eth0.overshoot = \"26KiB\""
        );
        // The need of default classes is unknown.
        let mut wanted = running(file(measured, "1MiB"), 1 << 19, 0);
        wanted.file = None;
        assert_eq!(only(&wanted).0, Grade::Ok);
    }

    #[test]
    fn a_round_trip_longer_than_the_cables_is_noted_with_a_remedy() {
        let told = |exceeded: bool, round_trip_nanos: Option<u64>| {
            let mut wanted = running(file("cable = \"200m\"\nreaction = \"50us\"", "1MiB"), 0, 0);
            let ports = wanted.running.iter_mut().flat_map(|it| &mut it.ports);
            ports.for_each(|port| {
                port.cable = Some(RunningCable {
                    exceeded,
                    round_trip_nanos,
                });
            });
            let found = findings(&wanted).into_iter();
            found
                .filter(|it| it.found.contains("the cable of 200m"))
                .map(|it| (it.grade, it.found, it.remedy.map(|it| it.to_string())))
                .next()
        };
        assert_eq!(told(false, None), None, "nobody has measured it");
        let (grade, found, remedy) = told(false, Some(60_000)).unwrap();
        assert_eq!((grade, remedy), (Grade::Ok, None), "{found}");
        assert!(found.contains("measured: up to 60us"), "{found}");
        let (grade, found, remedy) = told(true, Some(300_000)).unwrap();
        assert_eq!(grade, Grade::Note);
        assert!(
            found.contains("up to 300us were measured, which need"),
            "{found}"
        );
        // 200 m are 2 µs there and back.
        let expected = "in s1.toml: port.eth0.reaction = \"298us\"";
        assert_eq!(remedy.as_deref(), Some(expected));
    }

    #[test]
    fn losses_of_a_switch_with_an_unknown_file_are_reported() {
        let mut wanted = running(super::super::tests::wanted("", ""), 4_096, 7);
        wanted.file = None;
        let (grade, found, _) = only(&wanted);
        assert_eq!(grade, Grade::Problem);
        assert!(
            found.contains("7 frames") && found.contains("4KiB in use"),
            "{found}"
        );
    }
}
