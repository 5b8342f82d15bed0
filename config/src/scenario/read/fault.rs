//! `[[fault]]`.

use weir_core::Duration;

use super::flow::above_zero;
use super::{keys, reference, switch_list};
use crate::reader::Table;
use crate::scenario::{Fault, FaultTime, Link};
use crate::Fraction;

/// What faults refer to.
pub(super) struct Places<'a> {
    pub(super) switches: &'a [String],
    pub(super) hosts: &'a [String],
    pub(super) links: &'a [Link],
    pub(super) duration: Duration,
}

pub(super) fn faults(root: &Table<'_>, places: &Places<'_>) -> Vec<Fault> {
    root.tables("fault", keys("fault"))
        .iter()
        .filter_map(|table| fault(table, places))
        .collect()
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
}

impl Kind {
    const NAMED: [(&'static str, Self); 12] = [
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
    ];

    /// The keys that mean something beside `kind`.
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
    })
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

/// The link that is named, or all that work.
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
        table.complain("at", "must be below duration: the fault would never happen");
        return None;
    }
    // A restart may take no time; everything else has to last.
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
