//! Classes of the whole switch, derived from the buffers and queues of each port.

use std::collections::BTreeMap;

use weir_config::switch::headroom::Charging;
use weir_config::units::{format_duration, format_rate};
use weir_core::{Bytes, Duration, Threshold};

use super::buffers::{assumed, Groups, Thresholds};
use super::database::Database;
use super::notes::Kind;
use super::pools::{self, Share};
use super::ports::Port;
use super::qos::PortQos;
use super::queues::{Ecn, Queue, Queues, Served};

/// Source of assumed values.
const ASSUMED: &str = "assumed: one round trip at line rate";

/// Behaviour of a class when buffers fill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buffers {
    /// Mode `pfc`.
    Pfc(Thresholds),
    /// Mode `lossy`; `None` for the default buffer.
    Lossy(Option<u64>),
    /// Part of a pool: `pfc` with headroom, else `lossy`.
    Pooled(Share),
}

/// Priorities with the same settings.
#[derive(Clone, Debug)]
pub struct Class {
    pub name: String,
    pub priorities: Vec<u8>,
    /// Buffers and their source.
    pub buffers: (Buffers, String),
    /// By port: thresholds in the pool that differ from `buffers`.
    pub own: BTreeMap<String, Threshold>,
    /// True if each port's cable determines the headroom; `buffers` has the largest.
    pub headroom_by_cable: bool,
    /// Scheduling on the line, and its source.
    pub served: Option<(Served, String)>,
    /// Marking and its source.
    pub ecn: Option<(Ecn, String)>,
}

pub struct Source<'a> {
    pub database: Database<'a>,
    /// Ports and their classification.
    pub ports: &'a [(Port, PortQos)],
    pub groups: &'a Groups,
    pub queues: &'a Queues,
    /// γmax.
    pub frame: Bytes,
    /// Charging of frames.
    pub charging: Charging,
}

impl Source<'_> {
    /// Returns all classes, except priorities like the implicit class.
    pub fn classes(&self) -> Vec<Class> {
        let mut classes: Vec<Class> = Vec::new();
        for priority in 0..8u8 {
            let (buffers, headroom_by_cable) = if self
                .ports
                .iter()
                .any(|(_, qos)| qos.lossless.contains(&priority))
            {
                self.by_cables(self.lossless(priority))
            } else {
                (self.lossy(priority), false)
            };
            let Queue { served, ecn } = self.queue(priority);
            if buffers.0 == Buffers::Lossy(None) && served.is_none() && ecn.is_none() {
                continue;
            }
            let own = self.own_thresholds(priority, &buffers.0);
            let same = classes.iter_mut().find(|class| {
                class.buffers.0 == buffers.0
                    && class.own == own
                    && value(&class.served) == value(&served)
                    && value(&class.ecn) == value(&ecn)
            });
            match same {
                Some(class) => class.priorities.push(priority),
                None => classes.push(Class {
                    name: String::new(),
                    priorities: vec![priority],
                    own,
                    buffers,
                    headroom_by_cable,
                    served,
                    ecn,
                }),
            }
        }
        name(&mut classes);
        classes
    }

    /// Returns a priority's share of a pool, if all ports that configure it agree.
    fn pooled(&self, priority: u8, is_lossless: bool) -> Option<(Buffers, String)> {
        let report = self.database.report();
        let mut all: Option<(Share, String)> = None;
        for (port, qos) in self.ports {
            let number = qos.group_of[usize::from(priority)];
            let group = self.groups.get(&(port.name.clone(), number));
            let Some(group) = group.filter(|_| qos.lossless.contains(&priority) == is_lossless)
            else {
                continue;
            };
            let mut share = group.share?;
            let shares = |other: &u8| qos.group_of[usize::from(*other)] == number;
            let count = (0..8u8).filter(shares).count().max(1) as u64;
            share.reserved /= count;
            match is_lossless {
                true => {
                    let headroom = share.headroom?.max(self.frame.get());
                    share.headroom = Some(headroom);
                    self.check_headroom(port, &group.source, headroom);
                }
                false => (share.headroom, share.xon_offset) = (None, 0),
            }
            if !share.fits(pools::size(self.database, share.pool), self.frame.get()) {
                return None;
            }
            let from = format!("{}: {}", group.source, group.how);
            all = Some(match all {
                None => (share, from),
                Some((known, _)) if known.differs_by_threshold(share) => continue,
                Some((known, source)) => {
                    let message = format!("ports differ in priority {priority}, and a class applies to all ports: the largest reserve, headroom and xon_offset are used, from {source}; {from}");
                    report.note(Kind::Changed, "BUFFER_PG", message);
                    let source = match source.contains(&from) {
                        true => source,
                        false => format!("{source}; {from}"),
                    };
                    (known.merged(share), source)
                }
            });
        }
        all.map(|(share, from)| (Buffers::Pooled(share), from))
    }

    /// Leaves the headroom to the cables if they need more than the file has; returns true in that case.
    fn by_cables(&self, (buffers, source): (Buffers, String)) -> ((Buffers, String), bool) {
        let ports = || self.ports.iter().map(|(port, _)| port);
        let asked = ports().filter_map(|port| port.cable_headroom(self.charging));
        let headroom = match buffers {
            Buffers::Pfc(thresholds) => Some(thresholds.headroom),
            Buffers::Pooled(share) => share.headroom,
            Buffers::Lossy(_) => None,
        };
        let (Some(asked), Some(headroom)) = (asked.max(), headroom) else {
            return ((buffers, source), false);
        };
        if headroom >= asked {
            return ((buffers, source), false);
        }
        let with = |headroom: u64| match buffers {
            Buffers::Pfc(thresholds) => Buffers::Pfc(Thresholds {
                headroom,
                ..thresholds
            }),
            Buffers::Pooled(share) => Buffers::Pooled(Share {
                headroom: Some(headroom),
                ..share
            }),
            Buffers::Lossy(buffer) => Buffers::Lossy(buffer),
        };
        let report = self.database.report();
        let all = ports().all(|port| port.cable.is_some());
        if source != ASSUMED {
            let told = match all {
                true => "the ports' cables give it here",
                false => "that is written, since not all ports have a CABLE_LENGTH",
            };
            let message = format!("{headroom} B of headroom are enough between ASICs; with 1ms for this switch, which is software, cables ask for up to {asked} B: {told}; see `reaction`");
            report.note(Kind::Changed, "BUFFER_PG", message);
        }
        const STEP: u64 = 1024;
        match all {
            true => ((with(asked), source), true),
            false => ((with(asked.next_multiple_of(STEP)), source), false),
        }
    }

    fn own_thresholds(&self, priority: u8, buffers: &Buffers) -> BTreeMap<String, Threshold> {
        let Buffers::Pooled(of_class) = buffers else {
            return BTreeMap::new();
        };
        let own = |(port, qos): &(Port, PortQos)| {
            let number = qos.group_of[usize::from(priority)];
            let is_lossless = qos.lossless.contains(&priority);
            let group = self.groups.get(&(port.name.clone(), number))?;
            let threshold = group.share?.threshold;
            let differs = threshold != of_class.threshold;
            (differs && is_lossless == of_class.headroom.is_some())
                .then(|| (port.name.clone(), threshold))
        };
        self.ports.iter().filter_map(own).collect()
    }

    fn note_lossy_ports(&self, priority: u8) {
        for (port, _) in self
            .ports
            .iter()
            .filter(|(_, qos)| !qos.lossless.contains(&priority))
        {
            let path = format!("PORT_QOS_MAP|{}.pfc_enable", port.name);
            let message = format!("priority {priority} is lossless on other ports; a class applies to all ports, so it is lossless on this one too");
            self.database.report().note(Kind::Changed, path, message);
        }
    }

    fn lossless(&self, priority: u8) -> (Buffers, String) {
        let report = self.database.report();
        self.note_lossy_ports(priority);
        if let Some(pooled) = self.pooled(priority, true) {
            return pooled;
        }
        let mut all: Vec<(Thresholds, String)> = Vec::new();
        for (port, qos) in self.ports {
            if !qos.lossless.contains(&priority) {
                continue;
            }
            let number = qos.group_of[usize::from(priority)];
            let Some(group) = self.groups.get(&(port.name.clone(), number)) else {
                continue;
            };
            let Some(thresholds) = group.thresholds(self.database, self.frame) else {
                let message = format!("PFC priority {priority} of {} uses it, but it has no headroom; assumed values are used", port.name);
                report.note(Kind::Assumed, format!("{}.xoff", group.source), message);
                continue;
            };
            self.check_headroom(port, &group.source, thresholds.headroom);
            let from = format!("{}: {}", group.source, group.how);
            if !all.iter().any(|(known, _)| *known == thresholds) {
                all.push((thresholds, from));
            }
        }
        let largest = |of: fn(&Thresholds) -> u64| all.iter().map(|(each, _)| of(each)).max();
        let (Some(xoff), Some(xon), Some(headroom)) = (
            largest(|t| t.xoff),
            largest(|t| t.xon),
            largest(|t| t.headroom),
        ) else {
            return self.assumed(priority);
        };
        let froms: Vec<&str> = all.iter().map(|(_, from)| from.as_str()).collect();
        if all.len() > 1 {
            let message = format!(
                "ports differ in priority {priority}, and a class applies to all ports: the largest of each threshold is used, from {}",
                froms.join("; ")
            );
            report.note(Kind::Changed, "BUFFER_PG", message);
        }
        let thresholds = Thresholds {
            xoff,
            xon,
            headroom,
        };
        (Buffers::Pfc(thresholds), froms.join("; "))
    }

    fn assumed(&self, priority: u8) -> (Buffers, String) {
        let users = self
            .ports
            .iter()
            .filter(|(_, qos)| qos.lossless.contains(&priority));
        let worst = users
            .map(|(port, _)| assumed(port.rate, port.round_trip(), self.frame))
            .max();
        let Some(thresholds) = worst else {
            return (Buffers::Lossy(None), String::new());
        };
        let message = format!(
            "no BUFFER_PG has thresholds for lossless priority {priority}; xoff = {} B is assumed, for a round trip at the port's rate, and as much headroom where cables do not give it: see switchctl plan",
            thresholds.xoff
        );
        self.database
            .report()
            .note(Kind::Assumed, "BUFFER_PG", message);
        (Buffers::Pfc(thresholds), ASSUMED.to_owned())
    }

    /// Notes headroom that is too small: a chip reacts sooner than software. Ports with known cables share one note.
    fn check_headroom(&self, port: &Port, source: &str, headroom: u64) {
        if port.cable.is_some() {
            return;
        }
        let room = Bytes::new(headroom.saturating_sub(2 * self.frame.get()));
        let lasts = port.rate.time_for(room);
        let needed = assumed(port.rate, port.round_trip(), self.frame).headroom;
        if headroom < needed {
            let message = format!(
                "{headroom} B cover {} at {}, enough between ASICs; between software switches {} is assumed, which needs {needed} B: raise headroom, or see switchctl plan --round-trip",
                format_duration(Duration::from_micros(lasts.as_nanos() / 1000)),
                format_rate(port.rate),
                format_duration(port.round_trip()),
            );
            self.database
                .report()
                .note(Kind::Changed, format!("{source}.xoff"), message);
        }
    }

    /// Priorities that share a group in SONiC divide its limit evenly here.
    fn lossy(&self, priority: u8) -> (Buffers, String) {
        if let Some(pooled) = self.pooled(priority, false) {
            return pooled;
        }
        let mut most: Option<(u64, String)> = None;
        for (port, qos) in self.ports {
            let number = qos.group_of[usize::from(priority)];
            let Some(group) = self.groups.get(&(port.name.clone(), number)) else {
                continue;
            };
            let shares = |other: &u8| qos.group_of[usize::from(*other)] == number;
            let count = (0..8u8).filter(shares).count().max(1) as u64;
            let buffer = (group.limit / count).max(self.frame.get());
            if most.as_ref().is_none_or(|(known, _)| buffer > *known) {
                let from = format!("{}: {}, by {count} priorities", group.source, group.how);
                most = Some((buffer, from));
            }
        }
        most.map_or_else(
            || {
                (
                    Buffers::Lossy(None),
                    "no BUFFER_PG: the default buffer".to_owned(),
                )
            },
            |(buffer, from)| (Buffers::Lossy(Some(buffer)), from),
        )
    }

    /// Returns the queue of the first port that has one, and compares the others with it.
    fn queue(&self, priority: u8) -> Queue {
        let report = self.database.report();
        let mut first: Option<(&str, &Queue)> = None;
        for (port, qos) in self.ports {
            let number = qos.queue_of[usize::from(priority)];
            let Some(queue) = self.queues.get(&(port.name.clone(), number)) else {
                continue;
            };
            match first {
                None => first = Some((&port.name, queue)),
                Some((_, known)) if known == queue => {}
                Some((other, _)) => {
                    let message = format!("differs from {other}, whose scheduler and WRED profile are used for priority {priority} of all ports");
                    report.note(
                        Kind::Changed,
                        format!("QUEUE|{}|{number}", port.name),
                        message,
                    );
                }
            }
        }
        first.map(|(_, queue)| queue.clone()).unwrap_or_default()
    }
}

fn value<T>(sourced: &Option<(T, String)>) -> Option<&T> {
    sourced.as_ref().map(|(value, _)| value)
}

/// Names the classes `lossless` and `lossy`, with the priorities if there are several.
fn name(classes: &mut [Class]) {
    let word = |class: &Class| match class.buffers.0 {
        Buffers::Pfc(_) => "lossless",
        Buffers::Pooled(share) if share.headroom.is_some() => "lossless",
        Buffers::Lossy(_) | Buffers::Pooled(_) => "lossy",
    };
    let words: Vec<&str> = classes.iter().map(word).collect();
    for (class, word) in classes.iter_mut().zip(&words) {
        class.name = (*word).to_owned();
        if words.iter().filter(|other| *other == word).count() > 1 {
            for priority in &class.priorities {
                class.name += &format!("-{priority}");
            }
        }
    }
}
