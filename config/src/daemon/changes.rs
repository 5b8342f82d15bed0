//! What is different between two configurations, and what of it a running daemon can take.

use std::collections::BTreeMap;

use super::{Class, DaemonConfig};

/// One setting that is different.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Its key, such as `class.lossless.xoff`; classes and ports by name, routes by destination, stations
    /// by MAC address.
    pub key: String,
    /// Its value as a file writes it; `None` where there is none.
    pub from: Option<String>,
    /// Its other value.
    pub to: Option<String>,
}

impl DaemonConfig {
    /// All that is different in `other`, by key.
    pub fn changes_to(&self, other: &Self) -> Vec<Change> {
        let (before, mut after) = (self.settings(), other.settings());
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

    /// This configuration with all of `file`'s that a daemon which runs with this one can take while it forwards.
    /// Kept are names, devices, memory, rings, listeners, modes and Levels of classes, and what belongs to a policy
    /// that counts from a frame's arrival.
    #[must_use]
    pub fn with_live_settings_of(&self, file: &Self) -> Self {
        let mut next = self.clone();
        next.dataplane.take_live(&file.dataplane);
        next.log.take_live(&file.log);
        next.metrics.take_live(&file.metrics);
        next.page.take_live(&file.page);
        next.forwarding.take_live(&file.forwarding);
        next.multicast.take_live(&file.multicast);
        next.flows.take_live(&file.flows);
        next.lldp.take_live(&file.lldp);
        next.control_frames.take_live(&file.control_frames);
        next.watermark.take_live(&file.watermark);
        for class in &mut next.classes {
            if let Some(wanted) = file.classes.iter().find(|other| other.name == class.name) {
                retune(class, wanted);
            }
        }
        for port in &mut next.ports {
            if let Some(wanted) = file.ports.iter().find(|other| other.name == port.name) {
                port.take_live(wanted);
            }
        }
        next.deadlock = self.deadlock.with_live_settings_of(&file.deadlock);
        next.pfcwd.take_live(&file.pfcwd);
        next.stations.clone_from(&file.stations);
        if self.port_names().eq(file.port_names()) {
            next.routes.clone_from(&file.routes);
        }
        next
    }

    /// Whether the packet memory that a daemon got which began with this configuration is enough for the buffers of
    /// `other`; the chunks that are missing if not.
    ///
    /// # Errors
    ///
    /// How many.
    pub fn has_memory_for(&self, other: &Self) -> Result<(), usize> {
        let there = self.buffer_frames(&self.core(&[]));
        let needed = other.core(&[]).frames_needed();
        match needed.checked_sub(there) {
            None | Some(0) => Ok(()),
            Some(missing) => Err(missing),
        }
    }

    fn port_names(&self) -> impl Iterator<Item = &str> {
        self.ports.iter().map(|port| port.name.as_str())
    }

    fn settings(&self) -> BTreeMap<String, String> {
        let mut all = BTreeMap::new();
        // What this crate writes it reads.
        if let Ok(table) = self.to_toml().parse::<toml::Table>() {
            flatten("", &table, &mut all);
        }
        let order: Vec<&str> = self.port_names().collect();
        all.insert("port".to_owned(), order.join(", "));
        all
    }
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
                    flatten(&format!("{path}.{}", name.unwrap_or("?")), item, all);
                }
            }
            value => {
                all.insert(path, value.to_string());
            }
        }
    }
}

/// Thresholds, weight, rates and marking of a class whose priorities, mode and Levels stay.
fn retune(class: &mut Class, wanted: &Class) {
    if class.priorities != wanted.priorities {
        return;
    }
    if class.mode.differs_by_thresholds(&wanted.mode) {
        class.mode = wanted.mode;
    }
    class.weight = wanted.weight;
    class.scheduler = wanted.scheduler;
    class.ecn = wanted.ecn;
}
