//! Details of a row, as names and values.

use weir_api::daemon::{Deadlock, Event, LevelLink, Pfc, Port};
use weir_api::overview::Overview;

use super::grid::Cell;
use super::views::View;
use crate::show;
use weir_output::{bytes, rate, reasons, seconds, NONE};

pub type Facts = Vec<(&'static str, String)>;

/// Subject of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    Port(String),
    /// A port's priority with PFC thresholds.
    Queue(String, u8),
    /// A port's priority with Levels.
    Level(String, u8),
    Deadlock(u64),
    Event(u64),
    /// A switch of this machine, by its name.
    Switch(String),
}

impl Subject {
    /// Returns the subject of a view's row, from its first cells.
    pub fn of(view: View, row: &[Cell]) -> Option<Self> {
        let first = row.first()?;
        let number = |cell: &Cell| cell.value.map(|value| value as u64);
        let priority = || row.get(1)?.value.map(|value| value as u8);
        let name = first.text.clone();
        Some(match view {
            View::Buffers => Self::Queue(name, priority()?),
            View::Ports => Self::Port(name),
            View::Levels => Self::Level(name, priority()?),
            View::Deadlocks => Self::Deadlock(number(first)?),
            View::Events => Self::Event(number(first)?),
            View::Switches => Self::Switch(name),
        })
    }

    pub fn title(&self) -> String {
        match self {
            Self::Port(port) => format!("Port {port}"),
            Self::Queue(port, priority) | Self::Level(port, priority) => {
                format!("Port {port}, priority {priority}")
            }
            Self::Deadlock(id) => format!("Suspicion {id}"),
            Self::Event(number) => format!("Event {number}"),
            Self::Switch(name) => format!("Switch {name}"),
        }
    }

    /// Returns its present facts; `None` once it is gone. The fabric has those of a switch.
    pub fn facts(&self, now: &Overview) -> Option<Facts> {
        let is = |other: &str, of: &str| other == of;
        match self {
            Self::Port(name) => {
                let port = now.ports.iter().find(|port| is(&port.name, name))?;
                Some(port_facts(now, port))
            }
            Self::Queue(name, priority) => {
                let mut all = now.pfc.iter();
                let queue = all.find(|it| is(&it.port, name) && it.priority == *priority)?;
                Some(queue_facts(now, queue))
            }
            Self::Level(name, priority) => {
                let mut all = now.levels.links.iter();
                let link = all.find(|it| is(&it.port, name) && it.priority == *priority)?;
                Some(level_facts(now, link))
            }
            Self::Deadlock(id) => {
                let mut all = now.deadlocks.current.iter().chain(&now.deadlocks.past);
                all.find(|one| one.id == *id).map(deadlock_facts)
            }
            Self::Event(number) => {
                let mut all = now.events.iter();
                all.find(|one| one.sequence == *number).map(event_facts)
            }
            Self::Switch(_) => None,
        }
    }
}

fn neighbor(now: &Overview, port: &str) -> String {
    let known = now.neighbors.get(port);
    known.map_or("unknown".to_owned(), String::clone)
}

fn yes(is: bool) -> String {
    if is { "yes" } else { "no" }.to_owned()
}

/// Formats `12 (34.5 KiB)`.
fn traffic(frames: u64, all: u64) -> String {
    format!("{frames} frames, {}", bytes(all))
}

fn port_facts(now: &Overview, port: &Port) -> Facts {
    let mode = if port.zero_copy { "zero-copy" } else { "copy" };
    let lost = serde_json::to_value(port.kernel_losses).unwrap_or_default();
    let device = serde_json::to_value(port.device_losses).unwrap_or_default();
    let mut facts = vec![
        ("neighbour", neighbor(now, &port.name)),
        ("dropped", reasons(&port.drops_total)),
        ("kernel lost", counts(&lost)),
        ("link", show::link_state(port)),
        ("line rate", rate(port.rate_bits_per_second)),
        ("device", port.device.clone()),
        ("role", port.role.to_string()),
        ("address", port.address.clone()),
        ("in", traffic(port.rx_frames_total, port.rx_bytes_total)),
        ("out", traffic(port.tx_frames_total, port.tx_bytes_total)),
        ("XDP", format!("{}, {mode}", port.xdp_mode)),
        ("XDP dropped", reasons(&port.xdp_drops())),
        ("device lost", counts(&device)),
        ("express", show::express(port)),
        (
            "CLCM",
            format!(
                "{} sent, {} received",
                port.clcm_sent_total, port.clcm_received_total
            ),
        ),
    ];
    if let Some(reason) = &port.device_gone_reason {
        facts.push(("no device", reason.clone()));
    }
    if port.cable.is_some() {
        facts.push(("cable", show::cable(port)));
    }
    if port.loop_blocked.is_some() {
        facts.push(("loop", show::loop_blocked(port)));
    }
    for queue in now.pfc.iter().filter(|queue| queue.port == port.name) {
        facts.push(("pauses", pauses(queue)));
    }
    let all = now.deadlocks.current.iter().chain(&now.deadlocks.past);
    for one in all.filter(|one| one.port == port.name) {
        facts.push(("suspicion", suspicion(one)));
    }
    facts
}

/// Formats the counters above zero.
fn counts(counters: &serde_json::Value) -> String {
    let all = counters.as_object().into_iter().flatten();
    let above = all.filter_map(|(name, count)| {
        let count = count.as_u64().filter(|count| *count > 0)?;
        Some(format!("{count} {}", name.trim_end_matches("_total")))
    });
    let above: Vec<String> = above.collect();
    match above.is_empty() {
        true => NONE.to_owned(),
        false => above.join(", "),
    }
}

fn pauses(queue: &Pfc) -> String {
    let mut parts = vec![format!("priority {}", queue.priority)];
    let states = [
        (queue.suspected, "SUSPECTED of a deadlock"),
        (queue.pausing, "we pause the neighbour"),
        (queue.paused, "the neighbour pauses us"),
    ];
    parts.extend(states.iter().filter(|it| it.0).map(|it| it.1.to_owned()));
    parts.push(format!(
        "{} of {} until xoff",
        bytes(queue.ingress_bytes),
        bytes(queue.xoff_bytes)
    ));
    parts.push(format!(
        "paused for {} in all",
        seconds(queue.paused_seconds_total)
    ));
    parts.join(", ")
}

fn suspicion(one: &Deadlock) -> String {
    let lasted = one
        .lasted_seconds
        .map(|it| format!("lasted {}", seconds(it)));
    format!(
        "{}, priority {}: {}, {}",
        one.id,
        one.priority,
        one.reason,
        lasted.unwrap_or("STILL SUSPECTED".to_owned())
    )
}

fn queue_facts(now: &Overview, queue: &Pfc) -> Facts {
    let neighbor = neighbor(now, &queue.port);
    let release = queue.release_ingress.as_ref();
    vec![
        ("suspected", yes(queue.suspected)),
        (
            "paused by",
            if queue.paused {
                neighbor.clone()
            } else {
                NONE.to_owned()
            },
        ),
        (
            "pauses",
            if queue.pausing {
                neighbor.clone()
            } else {
                NONE.to_owned()
            },
        ),
        (
            "paused for",
            format!("{} in all", seconds(queue.paused_seconds_total)),
        ),
        ("neighbour", neighbor),
        ("charged", bytes(queue.ingress_bytes)),
        ("xoff", bytes(queue.xoff_bytes)),
        ("xon", bytes(queue.xon_bytes)),
        (
            "headroom",
            format!(
                "{}, at most {} used",
                bytes(queue.headroom_bytes),
                bytes(queue.headroom_used_bytes_max)
            ),
        ),
        (
            "sent",
            format!(
                "{} XOFF, {} XON",
                queue.xoff_sent_total, queue.xon_sent_total
            ),
        ),
        (
            "received",
            format!(
                "{} pauses, {} resumes",
                queue.pause_received_total, queue.resume_received_total
            ),
        ),
        (
            "release",
            release.map_or(NONE.to_owned(), |port| format!("only from {port}")),
        ),
    ]
}

fn level_facts(now: &Overview, link: &LevelLink) -> Facts {
    let list = |all: &[u64]| {
        all.iter()
            .map(|it| bytes(*it))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let time = |nanos: u64| seconds(nanos as f64 / 1e9);
    vec![
        ("class", link.class.clone()),
        ("neighbour", neighbor(now, &link.port)),
        ("highest Level", link.depth.to_string()),
        ("Feedback sent", link.feedback_sent.to_string()),
        ("Feedback received", link.feedback_received.to_string()),
        ("paused by it", yes(link.paused)),
        (
            "eligible",
            traffic(link.eligible_frames, link.eligible_bytes),
        ),
        ("held", traffic(link.held_frames, link.held_bytes)),
        (
            "round trip",
            format!(
                "{} configured, {} measured",
                time(link.round_trip_nanos),
                link.round_trip_measured_nanos.map_or(NONE.to_owned(), time)
            ),
        ),
        ("reserve", bytes(link.reserve_bytes)),
        ("m", list(&link.m_bytes)),
        ("budgets", list(&link.b_bytes)),
    ]
}

fn deadlock_facts(one: &Deadlock) -> Facts {
    let lasted = one.lasted_seconds.map(seconds);
    vec![
        ("port", format!("{}, priority {}", one.port, one.priority)),
        (
            "lasted",
            lasted.unwrap_or("ongoing: STILL SUSPECTED".to_owned()),
        ),
        ("reason", one.reason.to_string()),
        ("queued", bytes(one.queued_bytes)),
        ("stood still", seconds(one.idle_seconds)),
        ("loops found", one.loops_found.to_string()),
        ("releases", one.releases.to_string()),
        (
            "first release",
            one.first_release_seconds
                .map_or(NONE.to_owned(), |it| format!("after {}", seconds(it))),
        ),
        ("released", bytes(one.released_bytes)),
        ("forced out", bytes(one.forced_bytes)),
        ("reroutes", one.reroutes.to_string()),
        ("flows moved", one.flows_moved.to_string()),
        ("SPUID", one.spuid.clone().unwrap_or(NONE.to_owned())),
    ]
}

fn event_facts(event: &Event) -> Facts {
    let mut facts = vec![
        ("event", event.kind.as_str().replace('_', " ")),
        ("time", event.time.clone()),
        ("port", event.port.clone().unwrap_or(NONE.to_owned())),
        (
            "priority",
            event.priority.map_or(NONE.to_owned(), |it| it.to_string()),
        ),
    ];
    let details = event.details.iter();
    let details: Vec<String> = details
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    facts.push(("details", details.join(", ")));
    facts
}

/// Arranges facts in lines of this width; short facts are not split across lines.
pub fn flowing(facts: &[(&'static str, String)], columns: usize) -> Vec<String> {
    let parts = facts.iter().map(|(name, value)| format!("{name}: {value}"));
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        let length = part.chars().count();
        match lines.last_mut() {
            Some(line) if line.chars().count() + 3 + length <= columns => {
                line.push_str(" · ");
                line.push_str(&part);
            }
            _ => lines.extend(wrapped(&part, columns)),
        }
    }
    lines
}

/// Wraps a line; later lines are indented to the second column of the first.
pub fn wrapped(line: &str, columns: usize) -> Vec<String> {
    const NAME_MAX: usize = 24;
    let second = line.trim_start().find("  ").map(|end| {
        let start = line.len() - line.trim_start().len() + end;
        let gap = line[start..].len() - line[start..].trim_start().len();
        line[..start + gap].chars().count()
    });
    let indent = match second {
        Some(column) if column <= NAME_MAX && column * 2 < columns => column,
        _ => 2,
    };
    if line.chars().count() <= columns {
        return vec![line.to_owned()];
    }
    let indent = " ".repeat(indent);
    let options = textwrap::Options::new(columns.max(4)).subsequent_indent(&indent);
    textwrap::wrap(line, options)
        .into_iter()
        .map(|line| line.into_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_wrap_below_their_second_column() {
        let line = "why          paused: the neighbour pauses us; 60 KiB had waited";
        assert_eq!(
            wrapped(line, 40),
            [
                "why          paused: the neighbour",
                "             pauses us; 60 KiB had",
                "             waited"
            ]
        );
        assert_eq!(wrapped("short  line", 40), ["short  line"]);
        // A word longer than a line is split.
        let long = wrapped(&"x".repeat(25), 10);
        assert!(
            long.iter().all(|line| line.chars().count() <= 10),
            "{long:?}"
        );
        assert_eq!(long.concat().matches('x').count(), 25);
    }

    #[test]
    fn facts_flow_whole() {
        let facts = [
            ("a", "1".to_owned()),
            ("b", "22".into()),
            ("c", "333".into()),
        ];
        assert_eq!(flowing(&facts, 12), ["a: 1 · b: 22", "c: 333"]);
    }
}
