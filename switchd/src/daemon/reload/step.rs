//! Transition from one configuration to the next while frames are forwarded.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use weir_api::reload::{AppliedSetting, KeptSetting};
use weir_config::daemon::{route_key, unlike, Change, Class, DaemonConfig, Reloaded, Route};
use weir_core::config::DetectorConfig;
use weir_core::{ClassConfig, Command, CommandError, PortId, PortSet, Priority};
use weir_dataplane::mirrors::Mirrors;
use weir_dataplane::stations::Stations;

use super::by_hand;
use crate::control::Shared;
use crate::daemon::setup;
use crate::logging::LevelHandle;

/// Time between attempts to change thresholds while a buffer drains.
const TRY_AGAIN: Duration = Duration::from_millis(100);

/// Direction of a step, which decides how long it waits for buffers to drain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// To other settings. The requester waits, and receives the refused changes.
    Forward,
    /// To the settings from before. A paused neighbour may keep a buffer full for seconds, and nothing else
    /// retries.
    Back,
}

impl Direction {
    /// Maximum number of attempts.
    const fn tries(self) -> u32 {
        match self {
            Self::Forward => 10,
            Self::Back => 100,
        }
    }
}

const LOG_LEVEL: &str = "log.level";

pub(super) struct Step<'a> {
    running: &'a DaemonConfig,
    /// Configuration to apply; refused settings keep their old values.
    pub(super) next: DaemonConfig,
    /// Reasons for keeping old values, by key prefix.
    reasons: BTreeMap<String, String>,
    /// True if the command line sets the level.
    is_log_level_kept: bool,
    direction: Direction,
}

impl<'a> Step<'a> {
    /// Prepares a step; `chunks` chunks of packet memory are available for buffers.
    pub(super) fn new(
        running: &'a DaemonConfig,
        file: &DaemonConfig,
        chunks: usize,
        direction: Direction,
    ) -> Self {
        let reloaded = running.reloaded(file, chunks);
        let shortage = reloaded.shortage();
        let shortage = shortage.map(|why| (Reloaded::OF_BUFFERS.to_owned(), why));
        Self {
            running,
            reasons: shortage.into_iter().collect(),
            is_log_level_kept: false,
            next: reloaded.next,
            direction,
        }
    }

    pub(super) fn keep_log_level(&mut self) {
        self.next.log.level.clone_from(&self.running.log.level);
        let why = "overridden by --log-level on the command line".to_owned();
        self.reasons.insert(LOG_LEVEL.to_owned(), why);
        self.is_log_level_kept = true;
    }

    pub(super) async fn apply(&mut self, shared: &Shared, log: Option<&LevelHandle>) {
        self.apply_marking(shared).await;
        self.apply_classes(shared).await;
        self.apply_deadlock(shared).await;
        self.apply_ports(shared).await;
        self.apply_routes(shared).await;
        self.apply_stations(shared).await;
        self.apply_mirrors(shared).await;
        let interval = self.next.watermark.interval;
        shared.records.watermarks().set_interval(interval);
        if let Some(log) = log {
            if let Err(error) = log.set(&self.next.log.level) {
                self.next.log.level.clone_from(&self.running.log.level);
                self.reasons.insert(LOG_LEVEL.to_owned(), error.to_string());
            }
        }
        shared.links.announce(setup::announced_ports(&self.next));
    }

    /// If a profile is unchanged in the file, thresholds set at run time stay, even for a class that newly uses it. Changes
    /// all profiles or none: only a stopping switch refuses.
    async fn apply_marking(&mut self, shared: &Shared) {
        let snapshot = shared.dataplane.fresh_snapshot().await;
        let now = by_hand::with_marking(self.running, &snapshot);
        let wanted = self.next.with_changes_by_hand(self.running, &now);
        for priority in Priority::ALL {
            let marking = |config: &DaemonConfig| config.class_of(priority)?.ecn;
            let (before, marking) = (marking(&now), marking(&wanted));
            if before == marking {
                continue;
            }
            if let Err(why) = ask(shared, Command::SetMarking { priority, marking }).await {
                return self.take_marking_back(&why);
            }
        }
        shared.info.marking.set(setup::marking(&self.next));
    }

    fn take_marking_back(&mut self, why: &str) {
        self.next.ecn.clone_from(&self.running.ecn);
        self.reasons.insert("ecn.".to_owned(), why.to_owned());
        let classes = self.next.classes.iter_mut().zip(&self.running.classes);
        for (class, before) in classes {
            class.ecn = before.ecn;
            class.ecn_profile.clone_from(&before.ecn_profile);
            let key = format!("class.{}.ecn", class.name);
            self.reasons.insert(key, why.to_owned());
        }
    }

    /// Classes that need less memory go first, which frees memory for the others.
    async fn apply_classes(&mut self, shared: &Shared) {
        let ports = &self.running.core(&[]).ports;
        let memory = |class: &ClassConfig| -> u64 {
            let of_port =
                |port: &weir_core::PortConfig| class.mode_at(port).memory_bound(port.role).get();
            ports.iter().map(of_port).sum()
        };
        let (before, after) = (self.running.core(&[]).classes, self.next.core(&[]).classes);
        let mut changed: Vec<Priority> = Priority::ALL
            .into_iter()
            .filter(|priority| {
                let index = priority.index();
                let ecn = before[index].ecn;
                before[index]
                    != ClassConfig {
                        ecn,
                        ..after[index]
                    }
            })
            .collect();
        changed.sort_by_key(|priority| {
            let index = priority.index();
            memory(&after[index]) > memory(&before[index])
        });
        for priority in changed {
            let class = after[priority.index()];
            let command = Command::SetClass { priority, class };
            match ask_until_drained(shared, command, self.direction.tries()).await {
                Ok(()) => shared.info.class(priority).mode.set(class.mode),
                Err(why) => self.take_class_back(priority, why),
            }
        }
    }

    fn take_class_back(&mut self, priority: Priority, why: String) {
        let classes = self.next.classes.iter_mut().zip(&self.running.classes);
        for (class, before) in classes {
            if class.priorities.contains(&priority) {
                // Its marking is already in force.
                let ecn_profile = class.ecn_profile.take();
                *class = Class {
                    ecn: class.ecn,
                    ecn_profile,
                    ..before.clone()
                };
                self.reasons
                    .insert(format!("class.{}.", class.name), why.clone());
            }
        }
    }

    /// The policy first: it also applies to new suspicions.
    async fn apply_deadlock(&mut self, shared: &Shared) {
        if self.next.deadlock == self.running.deadlock {
            return;
        }
        shared.dataplane.reconfigure(self.next.control()).await;
        let detector = Some(DetectorConfig {
            detect: self.next.deadlock.detect,
        });
        match ask(shared, Command::SetDetector { detector }).await {
            Ok(()) => {
                shared.info.deadlock_policy.set(self.next.deadlock.policy);
            }
            Err(why) => {
                self.next.deadlock = self.running.deadlock;
                shared.dataplane.reconfigure(self.running.control()).await;
                self.reasons.insert("deadlock.".to_owned(), why);
            }
        }
    }

    async fn apply_ports(&mut self, shared: &Shared) {
        for (index, before) in self.running.ports.iter().enumerate() {
            let Some(port) = PortId::from_index(index) else {
                return;
            };
            let wanted = &self.next.ports[index];
            let watchdog = self.next.watchdog(wanted);
            let mut outcome = Ok(());
            if wanted != before {
                let classified = shared.dataplane.classify(port, wanted);
                if classified.is_ok() {
                    shared.info.ports[index].trusted.set(wanted.into());
                }
                outcome = classified.map_err(|error| format!("{error:#}"));
            }
            if outcome.is_ok() && watchdog != self.running.watchdog(before) {
                outcome = ask(shared, Command::SetWatchdog { port, watchdog }).await;
            }
            if let Err(why) = outcome {
                self.reasons.insert(format!("port.{}.", before.name), why);
                self.next.ports[index].clone_from(before);
            }
        }
    }

    async fn apply_routes(&mut self, shared: &Shared) {
        let [before, after] = unlike(&self.running.routes, &self.next.routes);
        let running = &self.running.routes[before];
        let known: HashMap<_, &Route> = running.iter().map(|it| (it.key(), it)).collect();
        let wanted: HashSet<_> = self.next.routes[after.clone()]
            .iter()
            .map(Route::key)
            .collect();
        // Removals first, to make room.
        for route in running {
            if !wanted.contains(&route.key()) {
                let command = Command::remove_route(route.vlan, route.destination);
                let _ = ask(shared, command).await;
            }
        }
        let mut routes = std::mem::take(&mut self.next.routes);
        for route in &mut routes[after] {
            let known = known.get(&route.key()).copied();
            if known == Some(&*route) {
                continue;
            }
            let members = route.ports.iter().copied().collect();
            let command = Command::set_route(route.vlan, route.destination, members, route.buckets);
            let same_ways =
                |known: &&Route| known.ports == route.ports && known.buckets == route.buckets;
            // Buckets that were moved keep their new port.
            let mut outcome = match known.filter(same_ways) {
                Some(_) => Ok(()),
                None => ask(shared, command).await,
            };
            if outcome.is_ok() {
                let pins = known.map_or(&[][..], |known| &known.pins);
                outcome = apply_pins(shared, route, pins).await;
            }
            if let Err(why) = outcome {
                self.reasons.insert(route_key(route), why);
                match known {
                    Some(known) => route.clone_from(known),
                    None => route.ports.clear(),
                }
            }
        }
        // Drop a new route that was refused.
        routes.retain(|route| !route.ports.is_empty());
        self.next.routes = routes;
    }

    async fn apply_stations(&mut self, shared: &Shared) {
        let is_suppressed = |config: &DaemonConfig| config.multicast.suppress;
        if self.next.stations == self.running.stations
            && is_suppressed(&self.next) == is_suppressed(self.running)
        {
            return;
        }
        let stations = Arc::new(Stations::new(&self.next));
        if shared.dataplane.set_stations(stations).await {
            shared.info.stations.set(setup::stations(&self.next));
            return;
        }
        self.next.stations.clone_from(&self.running.stations);
        self.next.multicast.suppress = is_suppressed(self.running);
        for key in ["station.", "multicast.suppress"] {
            let why = "the dataplane does not answer".to_owned();
            self.reasons.insert(key.to_owned(), why);
        }
    }

    /// Reserves output ports before copies are sent there, and frees them once none is.
    async fn apply_mirrors(&mut self, shared: &Shared) {
        if self.next.mirrors == self.running.mirrors {
            return;
        }
        let outputs = |config: &DaemonConfig| -> PortSet {
            let mirrors = config.mirrors.iter();
            mirrors.map(|mirror| mirror.output).collect()
        };
        let (before, after) = (outputs(self.running), outputs(&self.next));
        let reserve = |port, reserved| ask(shared, Command::Reserve { port, reserved });
        let mut outcome = Ok(());
        let mut taken = PortSet::EMPTY;
        for port in after.iter().filter(|port| !before.contains(*port)) {
            outcome = reserve(port, true).await;
            if outcome.is_err() {
                break;
            }
            taken.insert(port);
        }
        if outcome.is_ok() {
            let mirrors = Arc::new(Mirrors::new(&self.next));
            if !shared.dataplane.set_mirrors(mirrors).await {
                outcome = Err("the dataplane does not answer".to_owned());
            }
        }
        let freed = match &outcome {
            Ok(()) => before,
            Err(_) => taken,
        };
        let in_use = match &outcome {
            Ok(()) => after,
            Err(_) => before,
        };
        for port in freed.iter().filter(|port| !in_use.contains(*port)) {
            // Not refused, since it was reserved.
            let _ = reserve(port, false).await;
        }
        match outcome {
            Ok(()) => shared.info.mirrors.set(self.next.mirrors.clone()),
            Err(why) => {
                self.next.mirrors.clone_from(&self.running.mirrors);
                self.reasons.insert("mirror.".to_owned(), why);
            }
        }
    }

    /// Returns true if the whole file can be applied, as far as is known. A level that the command line overrides does not
    /// count.
    pub(super) fn is_possible(&self, file: &DaemonConfig) -> bool {
        let overridden = self.is_log_level_kept;
        let mut changes = self.next.changes_to(file).into_iter();
        changes.all(|change| overridden && change.key == LOG_LEVEL)
    }

    pub(super) fn kept(&self, file: &DaemonConfig) -> Vec<KeptSetting> {
        let changes = self.next.changes_to(file).into_iter();
        changes
            .map(|Change { key, from, to }| KeptSetting {
                why: self.reason(&key),
                key,
                running: from,
                file: to,
            })
            .collect()
    }

    fn reason(&self, key: &str) -> String {
        let reasons = self.reasons.iter().rev();
        let given = reasons
            .filter(|(prefix, _)| key.starts_with(prefix.as_str()))
            .map(|(_, why)| why.clone())
            .next();
        given.unwrap_or_else(|| "needs a restart".to_owned())
    }
}

pub(super) fn applied(change: Change) -> AppliedSetting {
    let Change { key, from, to } = change;
    AppliedSetting { key, from, to }
}

/// Adds the pins of `route`, and removes those of `before` that it lacks.
async fn apply_pins(
    shared: &Shared,
    route: &Route,
    before: &[(u32, PortId)],
) -> Result<(), String> {
    let destination = route.destination;
    let stays = |flow_hash| route.pins.iter().any(|(other, _)| *other == flow_hash);
    for (flow_hash, _) in before.iter().filter(|(flow_hash, _)| !stays(*flow_hash)) {
        let flow_hash = *flow_hash;
        let _ = ask(
            shared,
            Command::UnpinFlow {
                destination,
                flow_hash,
            },
        )
        .await;
    }
    for (flow_hash, port) in &route.pins {
        let (flow_hash, port) = (*flow_hash, *port);
        let command = Command::PinFlow {
            destination,
            flow_hash,
            port,
        };
        ask(shared, command).await?;
    }
    Ok(())
}

async fn ask(shared: &Shared, command: Command) -> Result<(), String> {
    match shared.dataplane.ask(command).await {
        Some(outcome) => outcome.map_err(|error| error.to_string()),
        None => Err("the dataplane does not answer".to_owned()),
    }
}

/// Retries: a draining buffer soon frees its memory, unless it is held.
async fn ask_until_drained(shared: &Shared, command: Command, tries: u32) -> Result<(), String> {
    for _ in 1..tries {
        match shared.dataplane.ask(command).await {
            Some(Err(CommandError::BufferDrains { .. })) => tokio::time::sleep(TRY_AGAIN).await,
            Some(outcome) => return outcome.map_err(|error| error.to_string()),
            None => break,
        }
    }
    ask(shared, command).await
}
