//! `[[fault]]`.

use weir_core::{Duration, Priority};

use super::flow::above_zero;
use super::{keys, reference, switch_list};
use crate::frames::{filter, ONE_IN_MAX};
use crate::reader::{within, Table};
use crate::scenario::topology::Adjacency;
use crate::scenario::{Fault, FaultTime, ImpairedFrames, Impairing, Link, PortPeer};
use crate::Fraction;

const NEVER: &str = "must be below duration: the fault would never happen";

/// Objects that faults refer to.
pub(super) struct Places<'a> {
    pub(super) switches: &'a [String],
    pub(super) hosts: &'a [String],
    pub(super) links: &'a [Link],
    pub(super) adjacency: &'a Adjacency,
    pub(super) lossless: Vec<Priority>,
    pub(super) duration: Duration,
}

/// All faults, with their lines.
pub(super) fn faults(root: &Table<'_>, places: &Places<'_>) -> (Vec<Fault>, Vec<Option<usize>>) {
    let tables = root.tables("fault", keys("fault"));
    let faults = tables.iter();
    faults
        .filter_map(|table| Some((fault(table, places)?, table.line())))
        .unzip()
}

#[derive(Clone, Copy)]
enum Kind {
    ControlLoss,
    ControlCorruption,
    ControlDuplication,
    ControlDelay,
    LinkDown,
    SwitchRestart,
    SwitchFreeze,
    SlowControl,
    RoundTrip,
    RouteChange,
    HostIgnoresPfc,
    HostStorm,
    Drop,
    Delay,
    Mark,
    Pause,
    Flap,
}

impl Kind {
    const NAMED: [(&'static str, Self); 17] = [
        ("control-loss", Self::ControlLoss),
        ("control-corruption", Self::ControlCorruption),
        ("control-duplication", Self::ControlDuplication),
        ("control-delay", Self::ControlDelay),
        ("link-down", Self::LinkDown),
        ("switch-restart", Self::SwitchRestart),
        ("switch-freeze", Self::SwitchFreeze),
        ("slow-control", Self::SlowControl),
        ("round-trip", Self::RoundTrip),
        ("route-change", Self::RouteChange),
        ("host-ignores-pfc", Self::HostIgnoresPfc),
        ("host-storm", Self::HostStorm),
        ("drop", Self::Drop),
        ("delay", Self::Delay),
        ("mark", Self::Mark),
        ("pause", Self::Pause),
        ("flap", Self::Flap),
    ];

    /// The valid keys besides `kind`.
    fn keys(self) -> &'static [&'static str] {
        match self {
            Self::ControlLoss | Self::ControlCorruption | Self::ControlDuplication => {
                &["probability", "link", "at", "for", "every"]
            }
            Self::ControlDelay => &["probability", "by", "link", "at", "for", "every"],
            Self::LinkDown => &["link", "at", "for", "every"],
            Self::SwitchRestart | Self::SwitchFreeze => &["switch", "at", "for", "every"],
            Self::SlowControl => &["latency", "switch", "at", "for", "every"],
            Self::RoundTrip => &["round-trip", "link"],
            Self::RouteChange => &["switch", "to", "ports", "at"],
            Self::HostIgnoresPfc | Self::HostStorm => &["host", "at", "for", "every"],
            Self::Drop | Self::Mark => {
                &["switch", "port", "filter", "one-in", "at", "for", "every"]
            }
            Self::Delay => &[
                "switch", "port", "by", "filter", "one-in", "at", "for", "every",
            ],
            Self::Pause => &["switch", "port", "priority", "on", "every", "at", "for"],
            Self::Flap => &["switch", "port", "on", "every", "at", "for"],
        }
    }
}

fn fault(table: &Table<'_>, places: &Places<'_>) -> Option<Fault> {
    table.require::<String>("kind")?;
    let kind = table.choice("kind", &Kind::NAMED)?;
    for key in keys("fault").iter().filter(|key| **key != "kind") {
        if table.has(key) && !kind.keys().contains(key) {
            let message = format!(
                "does not apply to this kind; keys of this kind: {}",
                kind.keys().join(", ")
            );
            table.complain(key, message);
        }
    }
    let time = || time(table, kind, places.duration);
    Some(match kind {
        Kind::ControlLoss => Fault::ControlLoss {
            links: links(table, places)?,
            probability: probability(table)?,
            time: time()?,
        },
        Kind::ControlCorruption => Fault::ControlCorruption {
            links: links(table, places)?,
            probability: probability(table)?,
            time: time()?,
        },
        Kind::ControlDuplication => Fault::ControlDuplication {
            links: links(table, places)?,
            probability: probability(table)?,
            time: time()?,
        },
        Kind::ControlDelay => Fault::ControlDelay {
            links: links(table, places)?,
            probability: if table.has("probability") {
                probability(table)?
            } else {
                Fraction::ONE
            },
            by: above_zero(table, "by", table.require("by"))?,
            time: time()?,
        },
        Kind::LinkDown => Fault::LinkDown {
            link: link(table, places)?,
            time: time()?,
        },
        Kind::SwitchRestart => Fault::SwitchRestart {
            switch: reference(table, "switch", "switch", places.switches)?,
            time: time()?,
        },
        Kind::SwitchFreeze => Fault::SwitchFreeze {
            switch: reference(table, "switch", "switch", places.switches)?,
            time: time()?,
        },
        Kind::SlowControl => Fault::SlowControl {
            switches: if table.has("switch") {
                vec![reference(table, "switch", "switch", places.switches)?]
            } else {
                (0..places.switches.len()).collect()
            },
            latency: table.require("latency")?,
            time: time()?,
        },
        Kind::RoundTrip => Fault::RoundTrip {
            links: links(table, places)?,
            round_trip: table.require("round-trip")?,
        },
        Kind::RouteChange => route_change(table, places)?,
        Kind::HostIgnoresPfc => Fault::HostIgnoresPfc {
            host: reference(table, "host", "host", places.hosts)?,
            time: time()?,
        },
        Kind::HostStorm => Fault::HostStorm {
            host: reference(table, "host", "host", places.hosts)?,
            time: time()?,
        },
        Kind::Drop => impair(table, places, |table| {
            Some((Impairing::Drop(frames(table)?), time()?))
        })?,
        Kind::Mark => impair(table, places, |table| {
            Some((Impairing::Mark(frames(table)?), time()?))
        })?,
        Kind::Delay => impair(table, places, |table| {
            let by = above_zero(table, "by", table.require("by"))?;
            let frames = frames(table)?;
            Some((Impairing::Delay { frames, by }, time()?))
        })?,
        Kind::Pause => impair(table, places, |table| {
            let priority = lossless_priority(table, places)?;
            let (on, period) = duty(table)?;
            let what = Impairing::Pause {
                priority,
                on,
                period,
            };
            Some((what, once(table, places.duration)?))
        })?,
        Kind::Flap => impair(table, places, |table| {
            let (on, period) = duty(table)?;
            Some((
                Impairing::Flap { on, period },
                once(table, places.duration)?,
            ))
        })?,
    })
}

/// A fault at a port, which is named after its peer.
fn impair(
    table: &Table<'_>,
    places: &Places<'_>,
    what: impl FnOnce(&Table<'_>) -> Option<(Impairing, FaultTime)>,
) -> Option<Fault> {
    let switch = reference(table, "switch", "switch", places.switches)?;
    let name: String = table.require("port")?;
    let name_of = |peer| match peer {
        PortPeer::Switch(index) => &places.switches[index],
        PortPeer::Host(index) => &places.hosts[index],
    };
    let mut peers = places.adjacency.ports(switch).iter().map(|port| port.peer);
    let Some(port) = peers.find(|peer| *name_of(*peer) == name) else {
        let ports = places.adjacency.ports(switch).iter();
        let names: Vec<&str> = ports.map(|port| name_of(port.peer).as_str()).collect();
        let message = format!(
            "switch `{}` has no port to `{name}`; it has: {}",
            places.switches[switch],
            names.join(", ")
        );
        table.complain("port", message);
        return None;
    };
    let (what, time) = what(table)?;
    Some(Fault::Impair {
        switch,
        port,
        what,
        time,
    })
}

/// `filter` and `one-in`.
fn frames(table: &Table<'_>) -> Option<ImpairedFrames> {
    let filter: String = table.get_or("filter", String::new());
    // Levels do not affect the syntax.
    match filter::parse(&filter, [0; 8]) {
        Err(error) => {
            table.complain("filter", error.to_string().trim_start_matches("filter: "));
            return None;
        }
        Ok(parsed) if parsed.asks_what_became() => {
            table.complain("filter", filter::TOO_EARLY);
            return None;
        }
        Ok(_) => {}
    }
    let one_in = match table.has("one-in") {
        true => within(table, "one-in", 1, ONE_IN_MAX)?,
        false => 1,
    };
    Some(ImpairedFrames { filter, one_in })
}

fn lossless_priority(table: &Table<'_>, places: &Places<'_>) -> Option<Priority> {
    table.require::<u64>("priority")?;
    let priority = Priority::new(within(table, "priority", 0, 7)? as u8)?;
    if !places.lossless.contains(&priority) {
        let legal: Vec<String> = places.lossless.iter().map(Priority::to_string).collect();
        let legal = match legal.is_empty() {
            true => "no class is lossless".to_owned(),
            false => format!("priorities of lossless classes: {}", legal.join(", ")),
        };
        let message = format!("a switch sends no pauses in priority {priority}; {legal}");
        table.complain("priority", message);
        return None;
    }
    Some(priority)
}

/// `on` and `every`.
fn duty(table: &Table<'_>) -> Option<(Duration, Duration)> {
    let on = above_zero(table, "on", table.require("on"));
    let period = above_zero(table, "every", table.require("every"));
    let (on, period) = (on?, period?);
    if period <= on {
        table.complain("every", "must be longer than `on`");
        return None;
    }
    Some((on, period))
}

/// `at` and `for` of a fault whose `every` has another meaning.
fn once(table: &Table<'_>, duration: Duration) -> Option<FaultTime> {
    let at = table.get_or("at", Duration::ZERO);
    if at >= duration {
        table.complain("at", NEVER);
        return None;
    }
    if !table.has("for") {
        return Some(FaultTime::From(at));
    }
    let length = above_zero(table, "for", table.get("for"))?;
    Some(FaultTime::Once { at, length })
}

fn route_change(table: &Table<'_>, places: &Places<'_>) -> Option<Fault> {
    let switch = reference(table, "switch", "switch", places.switches)?;
    let host = reference(table, "to", "host", places.hosts)?;
    let members = switch_list(table, "ports", places.switches)?;
    let is_next = |member: usize| {
        let mut working = places.links.iter().filter(|link| !link.failed);
        working.any(|link| link.ends == [switch, member] || link.ends == [member, switch])
    };
    if members.is_empty() {
        table.complain("ports", "give at least one adjacent switch");
    }
    if let Some(far) = members.iter().find(|member| !is_next(**member)) {
        let names = [switch, *far].map(|switch| &places.switches[switch]);
        let message = format!("no working link from `{}` to `{}`", names[0], names[1]);
        table.complain("ports", message);
    }
    let at = table.get_or("at", Duration::ZERO);
    if at >= places.duration {
        table.complain("at", "must be below duration: the route would never change");
    }
    Some(Fault::RouteChange {
        switch,
        host,
        members,
        at,
    })
}

fn probability(table: &Table<'_>) -> Option<Fraction> {
    let probability: Fraction = table.require("probability")?;
    if probability.is_zero() {
        table.complain("probability", "must be above zero");
    }
    Some(probability)
}

/// The named link, or all working links.
fn links(table: &Table<'_>, places: &Places<'_>) -> Option<Vec<usize>> {
    if table.has("link") {
        return Some(vec![link(table, places)?]);
    }
    let links = places.links.iter().enumerate();
    let working = links.filter(|(_, link)| !link.failed);
    Some(working.map(|(index, _)| index).collect())
}

fn link(table: &Table<'_>, places: &Places<'_>) -> Option<usize> {
    let ends = switch_list(table, "link", places.switches)?;
    let [a, b] = ends[..] else {
        table.complain("link", "a link has two ends: link = [\"s1\", \"s2\"]");
        return None;
    };
    let found = places
        .links
        .iter()
        .position(|link| !link.failed && (link.ends == [a, b] || link.ends == [b, a]));
    if found.is_none() {
        let message = format!(
            "no working link between `{}` and `{}`",
            places.switches[a], places.switches[b]
        );
        table.complain("link", message);
    }
    found
}

/// `at`, `for` and `every`.
fn time(table: &Table<'_>, kind: Kind, duration: Duration) -> Option<FaultTime> {
    let at = table.get_or("at", Duration::ZERO);
    if at >= duration {
        table.complain("at", NEVER);
        return None;
    }
    // A restart may take no time; everything else must last.
    let length: Option<Duration> = match kind {
        Kind::SwitchRestart => Some(table.get_or("for", Duration::ZERO)),
        _ => above_zero(table, "for", table.get("for")),
    };
    let every: Option<Duration> = above_zero(table, "every", table.get("every"));
    match (length, every) {
        (None, None) if table.has("for") || table.has("every") => None,
        (None, None) => Some(FaultTime::From(at)),
        (Some(length), None) => Some(FaultTime::Once { at, length }),
        (Some(length), Some(period)) if period > length => {
            Some(FaultTime::Every { at, length, period })
        }
        (Some(_), Some(_)) => {
            table.complain("every", "must be longer than `for`");
            None
        }
        (None, Some(_)) => {
            table.complain(
                "every",
                "is the period; set `for` too: the length of each fault",
            );
            None
        }
    }
}
