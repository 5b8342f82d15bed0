//! Differences between two configurations, and which of them a running daemon can apply.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

use weir_core::{Bytes, PfcThresholds};

use super::{Class, DaemonConfig, EcnProfile, Route};

/// One changed setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Its key, such as `class.lossless.xoff`; classes and ports by name, routes by destination (with a VLAN:
    /// `destination@vlan`), stations by MAC address.
    pub key: String,
    /// Its old value as in a file; `None` if it was not set.
    pub from: Option<String>,
    /// Its new value.
    pub to: Option<String>,
}

/// Result of a reload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reloaded {
    /// The configuration in force afterwards.
    pub next: DaemonConfig,
    /// Packet memory missing for the buffers of the file; if any is, the buffers are unchanged.
    pub missing: Bytes,
}

/// Action needed to apply a setting of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Takes {
    /// A reload, which applies it at once and without loss.
    Reload,
    /// A restart, with the reason if it does not follow from the setting.
    Restart(Option<String>),
}

impl Reloaded {
    /// Prefix of the keys of settings that are unchanged if memory is missing.
    pub const OF_BUFFERS: &'static str = "class.";

    /// Describes the missing memory; `None` if there is enough.
    pub fn shortage(&self) -> Option<String> {
        let missing = self.missing.get().div_ceil(1024);
        (missing > 0).then(|| {
            format!("needs {missing} KiB more packet memory than available; set dataplane.spare-buffers and restart")
        })
    }

    /// Differences between `running`, which was reloaded, and `file`, by key, with the action that each needs.
    pub fn steps(&self, running: &DaemonConfig, file: &DaemonConfig) -> Vec<(Change, Takes)> {
        let shortage = self.shortage();
        let kept = self.next.changes_to(file).into_iter();
        let kept: BTreeSet<String> = kept.map(|change| change.key).collect();
        let mut steps: Vec<(Change, Takes)> = Vec::new();
        for change in running.changes_to(file) {
            let is_kept = kept.contains(&change.key);
            let takes = match is_kept {
                false => Takes::Reload,
                true => {
                    let of_buffers = change.key.starts_with(Self::OF_BUFFERS);
                    Takes::Restart(shortage.clone().filter(|_| of_buffers))
                }
            };
            steps.push((change, takes));
        }
        steps
    }
}

impl DaemonConfig {
    /// All settings that differ in `other`, by key.
    pub fn changes_to(&self, other: &Self) -> Vec<Change> {
        let (ours, theirs) = self.without_common_routes(other);
        let (before, mut after) = (ours.settings(), theirs.settings());
        let mut changes: BTreeMap<String, Change> = BTreeMap::new();
        for (key, from) in before {
            let to = after.remove(&key);
            if to.as_ref() != Some(&from) {
                let from = Some(from);
                changes.insert(key.clone(), Change { key, from, to });
            }
        }
        for (key, to) in after {
            let (from, to) = (None, Some(to));
            changes.insert(key.clone(), Change { key, from, to });
        }
        changes.into_values().collect()
    }

    /// Returns this configuration with all settings of `file` that a daemon running it can apply while it forwards.
    /// Names, devices, memory, rings, listeners, modes and Levels of classes, and settings of a policy that count from
    /// a frame's arrival are kept.
    #[must_use]
    pub fn with_live_settings_of(&self, file: &Self) -> Self {
        let mut next = self.clone();
        next.dataplane.take_live(&file.dataplane);
        next.log.take_live(&file.log);
        next.metrics.take_live(&file.metrics);
        next.gnmi.take_live(&file.gnmi);
        next.page.take_live(&file.page);
        next.forwarding.take_live(&file.forwarding);
        next.multicast.take_live(&file.multicast);
        next.flows.take_live(&file.flows);
        next.lldp.take_live(&file.lldp);
        next.control_frames.take_live(&file.control_frames);
        next.watermark.take_live(&file.watermark);
        next.flap_damping.take_live(&file.flap_damping);
        next.sflow.take_live(&file.sflow);
        next.ipfix.take_live(&file.ipfix);
        let same_cables = self.has_cables_of(file);
        for class in &mut next.classes {
            if let Some(wanted) = file.classes.iter().find(|other| other.name == class.name) {
                retune(class, wanted, same_cables);
                class.settle_alone(&self.pools);
            }
        }
        next.take_profiles_of(file);
        for port in &mut next.ports {
            if let Some(wanted) = file.ports.iter().find(|other| other.name == port.name) {
                let overshoot = port.overshoot;
                port.take_live(wanted);
                if port.cable.is_some() {
                    // The headroom for its cable includes this one.
                    port.overshoot = overshoot;
                }
            }
        }
        next.deadlock = self.deadlock.with_live_settings_of(&file.deadlock);
        next.pfcwd.take_live(&file.pfcwd);
        next.stations.clone_from(&file.stations);
        if self.port_names().eq(file.port_names()) {
            next.routes.clone_from(&file.routes);
            next.mirrors.clone_from(&file.mirrors);
        }
        next
    }

    /// Takes all profiles of `file`, and keeps those still used by a class.
    fn take_profiles_of(&mut self, file: &Self) {
        let own = std::mem::replace(&mut self.ecn, file.ecn.clone());
        let (classes, taken) = (&self.classes, &file.ecn);
        let stays = |profile: &EcnProfile| {
            let mut users = classes
                .iter()
                .filter_map(|class| class.ecn_profile.as_ref());
            users.any(|name| *name == profile.name)
                && !taken.iter().any(|other| other.name == profile.name)
        };
        self.ecn.extend(own.into_iter().filter(stays));
        self.settle_marking();
    }

    /// Sets the marking of classes that have a profile.
    pub(super) fn settle_marking(&mut self) {
        for class in &mut self.classes {
            let mut profiles = self.ecn.iter();
            let own = profiles.find(|profile| class.ecn_profile.as_ref() == Some(&profile.name));
            if let Some(profile) = own {
                class.ecn = Some(profile.marking());
            }
        }
    }

    /// The classes with the profile of this name.
    pub fn classes_with_profile<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Class> {
        let classes = self.classes.iter();
        classes.filter(move |class| class.ecn_profile.as_deref() == Some(name))
    }

    /// The configuration of a daemon running this one after a reload of `file`, if its packet memory has `chunks`
    /// chunks for buffers: [what it can apply](Self::with_live_settings_of), except for classes whose buffers do not
    /// fit the memory.
    pub fn reloaded(&self, file: &Self, chunks: usize) -> Reloaded {
        let mut next = self.with_live_settings_of(file);
        let needed = next.sized().frames_needed();
        let missing = needed.saturating_sub(chunks) as u64;
        if missing > 0 {
            for (class, before) in next.classes.iter_mut().zip(&self.classes) {
                class.mode = before.mode;
                class.pool.clone_from(&before.pool);
            }
        }
        let missing = Bytes::new(self.dataplane.cell.get().saturating_mul(missing));
        Reloaded { next, missing }
    }

    /// Chunks for buffers in the packet memory of a daemon started with this configuration, including spare ones.
    pub fn buffer_chunks(&self) -> usize {
        self.buffer_frames(&self.sized())
    }

    /// Returns true if the ports of both have the same cables.
    fn has_cables_of(&self, file: &Self) -> bool {
        self.ports.iter().all(|port| {
            let other = file.ports.iter().find(|other| other.name == port.name);
            other.is_some_and(|other| other.cable_line() == port.cable_line())
        })
    }

    pub(super) fn port_names(&self) -> impl Iterator<Item = &str> {
        self.ports.iter().map(|port| port.name.as_str())
    }

    /// Returns both without the routes that they have in common: comparing all of them as text would take as long as
    /// reading the files.
    fn without_common_routes(&self, other: &Self) -> (Self, Self) {
        // Only if port numbers mean the same names.
        if !self.port_names().eq(other.port_names()) {
            return (self.clone(), other.clone());
        }
        let different = |from: &[Route], to: &[Route]| -> Vec<Route> {
            let known: HashMap<_, &Route> = to.iter().map(|it| (it.key(), it)).collect();
            let routes = from.iter();
            let routes = routes.filter(|route| known.get(&route.key()) != Some(route));
            routes.cloned().collect()
        };
        let [ours, theirs] = unlike(&self.routes, &other.routes);
        let (ours, theirs) = (&self.routes[ours], &other.routes[theirs]);
        (
            self.with_routes(different(ours, theirs)),
            other.with_routes(different(theirs, ours)),
        )
    }

    fn settings(&self) -> BTreeMap<String, String> {
        let mut all = BTreeMap::new();
        // This crate can read what it writes.
        if let Ok(table) = self.to_toml().parse::<toml::Table>() {
            flatten("", &table, &mut all);
        }
        let order: Vec<&str> = self.port_names().collect();
        all.insert("port".to_owned(), order.join(", "));
        all
    }
}

/// The differing parts of two lists of routes, without their common beginning and end.
pub fn unlike(ours: &[Route], theirs: &[Route]) -> [Range<usize>; 2] {
    let same = |(ours, theirs): &(&Route, &Route)| ours == theirs;
    let begin = ours.iter().zip(theirs).take_while(same).count();
    let rest = ours[begin..].iter().rev().zip(theirs[begin..].iter().rev());
    let end = rest.take_while(same).count();
    [begin..ours.len() - end, begin..theirs.len() - end]
}

/// Key of a route for one VLAN.
fn in_vlan(destination: &str, vlan: impl std::fmt::Display) -> String {
    format!("{destination}@{vlan}")
}

/// Prefix of the keys of a route's settings.
pub fn route_key(route: &Route) -> String {
    let destination = route.destination.to_string();
    let name = route.vlan.map(|vlan| in_vlan(&destination, vlan));
    format!("route.{}.", name.unwrap_or(destination))
}

fn flatten(path: &str, table: &toml::Table, all: &mut BTreeMap<String, String>) {
    for (key, value) in table {
        let path = match path {
            "" => key.clone(),
            path => format!("{path}.{key}"),
        };
        match value {
            toml::Value::Table(table) => flatten(&path, table, all),
            toml::Value::Array(items) if items.iter().any(toml::Value::is_table) => {
                for item in items.iter().filter_map(toml::Value::as_table) {
                    let names = ["name", "destination", "mac"].into_iter();
                    let name = names.filter_map(|key| item.get(key)?.as_str()).next();
                    let mut name = name.unwrap_or("?").to_owned();
                    if let Some(vlan) = item.get("vlan") {
                        name = in_vlan(&name, vlan);
                    }
                    flatten(&format!("{path}.{name}"), item, all);
                }
            }
            value => {
                all.insert(path, value.to_string());
            }
        }
    }
}

/// Copies thresholds, weight, rates and marking of a class whose priorities, mode and Levels stay.
fn retune(class: &mut Class, wanted: &Class, same_cables: bool) {
    if class.priorities != wanted.priorities {
        return;
    }
    match (&mut class.pool, &wanted.pool) {
        (None, None)
            if class.mode.differs_by_thresholds(&wanted.mode)
                && class.headroom_by_cable == wanted.headroom_by_cable =>
        {
            // The file's headroom is for the file's cables.
            let headroom = class.mode.thresholds().filter(|_| !same_cables);
            class.mode = match headroom.map(PfcThresholds::headroom) {
                Some(headroom) => wanted.mode.with_headroom(headroom),
                None => wanted.mode,
            };
        }
        (Some(pool), Some(wanted)) if pool.name == wanted.name => {
            // Within a pool, reserve and headroom are memory and stay.
            pool.share.threshold = wanted.share.threshold;
            pool.share.xon_offset = wanted.share.xon_offset;
        }
        _ => {}
    }
    class.weight = wanted.weight;
    class.scheduler = wanted.scheduler;
    class.ecn = wanted.ecn;
    class.ecn_profile.clone_from(&wanted.ecn_profile);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write as _;
    use std::path::Path;

    /// A switch with `routes` routes, of which number `other` leaves by another port.
    fn config(routes: u32, other: u32) -> DaemonConfig {
        let mut text = "name = \"s1\"\nforwarding = { capacity = 4096 }\n".to_owned();
        for port in ["a", "b"] {
            let _ = writeln!(
                text,
                "[[port]]\ndevice = \"{port}\"\nrole = \"edge\"\nrate = \"1Gbit\""
            );
        }
        for number in 0..routes {
            let [_, _, high, low] = number.to_be_bytes();
            let port = if number == other { "b" } else { "a" };
            let _ = writeln!(
                text,
                "[[route]]\ndestination = \"02:00:00:00:{high:02x}:{low:02x}\"\nports = [\"{port}\"]"
            );
        }
        DaemonConfig::parse(&text, Path::new("s1.toml")).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Of many routes, only those that differ are written out and compared as text.
    #[test]
    fn unchanged_routes_are_not_set_again() {
        let (before, after) = (config(2_000, 7), config(2_000, 2_001));
        let [ours, theirs] = unlike(&before.routes, &after.routes);
        assert_eq!((ours, theirs), (7..8, 7..8));
        let [ours, theirs] = unlike(&before.routes, &after.routes[..2]);
        assert_eq!((ours, theirs), (2..2_000, 2..2));
        let (ours, theirs) = before.without_common_routes(&after);
        assert_eq!((ours.routes.len(), theirs.routes.len()), (1, 1));
        let changes = before.changes_to(&after);
        let keys: Vec<&str> = changes.iter().map(|change| &*change.key).collect();
        assert_eq!(keys, ["route.02:00:00:00:00:07.ports"]);
        // Another order of ports changes the meaning of port numbers.
        let mut swapped = after.clone();
        swapped.ports.reverse();
        assert!(swapped.changes_to(&after).len() > 1_999);
    }
}
