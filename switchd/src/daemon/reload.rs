//! Reading the configuration file again: what can change while frames are forwarded does so, and the rest is told.

use std::collections::{BTreeMap, HashMap};
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Mutex;
use weir_api::describe::Described;
use weir_api::reload::{AppliedSetting, Configuration, KeptSetting, Reload};
use weir_api::words::EventName;
use weir_config::daemon::{Change, DaemonConfig, Reloaded, Route};
use weir_core::config::DetectorConfig;
use weir_core::{Command, CommandError, PortId, Priority};

use super::setup;
use crate::control::reloading::Outcome;
use crate::control::{ReloadError, Reloading, Shared};
use crate::dataplane::stations::Stations;
use crate::logging::LevelHandle;
use crate::model::clock;
use crate::os::service;

/// How often a change of thresholds is tried while a buffer drains.
const TRIES: u32 = 10;
/// Time between two tries.
const TRY_AGAIN: Duration = Duration::from_millis(100);

/// The configuration file, and what of it is in force.
#[derive(Debug)]
pub struct Reloader {
    path: PathBuf,
    /// As the daemon began: its memory was made for this.
    started: DaemonConfig,
    running: Mutex<Running>,
    /// `None` where the command line says what is logged.
    log: Option<LevelHandle>,
}

/// What is in force.
#[derive(Debug)]
struct Running {
    config: DaemonConfig,
    unconfirmed: Option<Unconfirmed>,
}

/// A reload that nobody has confirmed.
#[derive(Debug)]
struct Unconfirmed {
    /// What was in force before it.
    before: DaemonConfig,
    /// When that comes back.
    until: Instant,
}

impl Running {
    fn left(&self) -> Option<Duration> {
        let unconfirmed = self.unconfirmed.as_ref()?;
        Some(unconfirmed.until.saturating_duration_since(Instant::now()))
    }
}

impl Reloader {
    /// Of a daemon that begins with `config`, read from `path`.
    pub fn new(path: PathBuf, config: DaemonConfig, log: Option<LevelHandle>) -> Self {
        Self {
            path,
            started: config.clone(),
            running: Mutex::new(Running {
                config,
                unconfirmed: None,
            }),
            log,
        }
    }
}

impl Reloader {
    /// Whether a daemon that starts now could stand in this one's place.
    ///
    /// # Errors
    ///
    /// When the file is not legal, or means another place.
    async fn check_file(&self) -> Result<(), ReloadError> {
        let path = self.path.clone();
        let file = tokio::task::spawn_blocking(move || DaemonConfig::load(&path)).await??;
        for (key, stays) in [
            ("run-dir", file.run_dir == self.started.run_dir),
            ("api.socket", file.api_socket == self.started.api_socket),
        ] {
            if !stays {
                let file = self.path.display().to_string();
                return Err(ReloadError::Moved { file, key });
            }
        }
        Ok(())
    }

    /// Reads the file, and puts in force what can be; with `dry_run` it only tells what that would be.
    ///
    /// # Errors
    ///
    /// When the file is not legal: nothing is changed then.
    async fn read_again(
        &self,
        shared: &Shared,
        dry_run: bool,
        confirm: Option<Duration>,
    ) -> Result<Reload, ReloadError> {
        let path = self.path.clone();
        let file = tokio::task::spawn_blocking(move || DaemonConfig::load(&path)).await??;
        let mut running = self.running.lock().await;
        if let Some(left) = running.left().filter(|_| !dry_run) {
            let left_seconds = left.as_secs_f64().ceil() as u64;
            return Err(ReloadError::Unconfirmed { left_seconds });
        }
        let mut step = Step::new(&running.config, &file, self.started.buffer_chunks());
        if self.log.is_none() {
            step.keep_log_level();
        }
        if !dry_run {
            step.apply(shared, self.log.as_ref()).await;
        }
        let report = Reload {
            file: self.path.display().to_string(),
            dry_run,
            applied: running
                .config
                .changes_to(&step.next)
                .into_iter()
                .map(applied)
                .collect(),
            kept: step.kept(&file),
            confirm_seconds: confirm.map(|time| time.as_secs_f64()),
        };
        let next = step.next;
        if !dry_run {
            let before = std::mem::replace(&mut running.config, next);
            running.unconfirmed = confirm.map(|time| Unconfirmed {
                before,
                until: Instant::now() + time,
            });
            let told = Described::new(clock::now(), EventName::Reloaded)
                .detail("applied", report.applied.len())
                .detail("kept", report.kept.len());
            shared.records.record(told);
        }
        Ok(report)
    }

    async fn keep(&self, shared: &Shared) -> Result<(String, Duration), ReloadError> {
        let mut running = self.running.lock().await;
        let left = running.left().ok_or(ReloadError::NothingToConfirm)?;
        running.unconfirmed = None;
        shared
            .records
            .record(Described::new(clock::now(), EventName::ReloadConfirmed));
        Ok((self.path.display().to_string(), left))
    }

    /// What was in force before is put there again. What cannot be, as a threshold that a release holds up, is logged; the file
    /// is not touched.
    async fn go_back(&self, shared: &Shared) {
        let mut running = self.running.lock().await;
        if !running.left().is_some_and(|left| left.is_zero()) {
            return;
        }
        let Some(Unconfirmed { before, .. }) = running.unconfirmed.take() else {
            return;
        };
        let mut step = Step::new(&running.config, &before, self.started.buffer_chunks());
        step.apply(shared, self.log.as_ref()).await;
        let kept = step.kept(&before);
        let reverted = running.config.changes_to(&step.next).len();
        let next = step.next;
        running.config = next;
        tracing::warn!(
            file = %self.path.display(),
            reverted,
            "the reload was not confirmed in time; the settings from before are in force again, and the file still has the others"
        );
        for kept in &kept {
            tracing::error!(key = kept.key, why = kept.why, "setting not put back");
        }
        let told = Described::new(clock::now(), EventName::ReloadReverted)
            .detail("reverted", reverted)
            .detail("kept", kept.len());
        shared.records.record(told);
    }

    /// What is in force.
    async fn show(&self) -> Configuration {
        let running = self.running.lock().await;
        Configuration {
            file: self.path.display().to_string(),
            text: running.config.to_toml(),
            buffer_chunks: self.started.buffer_chunks() as u64,
            log_level_fixed: self.log.is_none(),
        }
    }

    /// As [`read_again`](Self::read_again) for a signal: what came of it is logged, and the service manager hears of it.
    async fn read_again_and_log(&self, shared: &Shared) {
        service::notify_reloading();
        match self.read_again(shared, false, None).await {
            Ok(report) => {
                for AppliedSetting { key, from, to } in &report.applied {
                    tracing::info!(key, ?from, ?to, "setting changed");
                }
                for kept in &report.kept {
                    tracing::warn!(key = kept.key, why = kept.why, "setting not changed");
                }
            }
            Err(error) => tracing::error!(%error, "reload failed; nothing changed"),
        }
        service::notify("READY=1");
    }
}

impl Reloading for Reloader {
    fn reload<'a>(
        &'a self,
        shared: &'a Shared,
        dry_run: bool,
        confirm: Option<Duration>,
    ) -> Outcome<'a, Reload> {
        Box::pin(self.read_again(shared, dry_run, confirm))
    }

    fn confirm<'a>(&'a self, shared: &'a Shared) -> Outcome<'a, (String, Duration)> {
        Box::pin(self.keep(shared))
    }

    fn revert<'a>(&'a self, shared: &'a Shared) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
        Box::pin(self.go_back(shared))
    }

    fn running(&self) -> Pin<Box<dyn Future<Output = Configuration> + Send + '_>> {
        Box::pin(self.show())
    }

    fn check(&self) -> Outcome<'_, ()> {
        Box::pin(self.check_file())
    }

    fn reload_and_log<'a>(
        &'a self,
        shared: &'a Shared,
    ) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
        Box::pin(self.read_again_and_log(shared))
    }
}

/// From one configuration to the next.
struct Step<'a> {
    running: &'a DaemonConfig,
    /// What is to be in force; what is refused is taken back.
    next: DaemonConfig,
    /// Why keys that begin like this stay.
    reasons: BTreeMap<String, String>,
}

impl<'a> Step<'a> {
    /// `chunks` of packet memory are there for buffers.
    fn new(running: &'a DaemonConfig, file: &DaemonConfig, chunks: usize) -> Self {
        let reloaded = running.reloaded(file, chunks);
        let shortage = reloaded.shortage();
        let shortage = shortage.map(|why| (Reloaded::OF_BUFFERS.to_owned(), why));
        Self {
            running,
            reasons: shortage.into_iter().collect(),
            next: reloaded.next,
        }
    }

    fn keep_log_level(&mut self) {
        self.next.log.level.clone_from(&self.running.log.level);
        let why = "overridden by --log-level on the command line".to_owned();
        self.reasons.insert("log.level".to_owned(), why);
    }

    async fn apply(&mut self, shared: &Shared, log: Option<&LevelHandle>) {
        self.apply_classes(shared).await;
        self.apply_deadlock(shared).await;
        self.apply_ports(shared).await;
        self.apply_routes(shared).await;
        self.apply_stations(shared).await;
        let interval = self.next.watermark.interval;
        shared.records.watermarks().set_interval(interval);
        if let Some(log) = log {
            if let Err(error) = log.set(&self.next.log.level) {
                self.next.log.level.clone_from(&self.running.log.level);
                self.reasons
                    .insert("log.level".to_owned(), error.to_string());
            }
        }
        shared.links.announce(setup::announced_ports(&self.next));
    }

    /// Classes that need less memory go first, so that the others find it.
    async fn apply_classes(&mut self, shared: &Shared) {
        let ports = &self.running.core(&[]).ports;
        let memory = |class: &weir_core::ClassConfig| -> u64 {
            let of_port = |port: &weir_core::PortConfig| class.mode.memory_bound(port.role).get();
            ports.iter().map(of_port).sum()
        };
        let (before, after) = (self.running.core(&[]).classes, self.next.core(&[]).classes);
        let mut changed: Vec<Priority> = Priority::ALL
            .into_iter()
            .filter(|priority| before[priority.index()] != after[priority.index()])
            .collect();
        changed.sort_by_key(|priority| {
            let index = priority.index();
            memory(&after[index]) > memory(&before[index])
        });
        for priority in changed {
            let class = after[priority.index()];
            let command = Command::SetClass { priority, class };
            match ask_until_drained(shared, command).await {
                Ok(()) => shared.info.class(priority).mode.set(class.mode),
                Err(why) => self.take_class_back(priority, why),
            }
        }
    }

    fn take_class_back(&mut self, priority: Priority, why: String) {
        let classes = self.next.classes.iter_mut().zip(&self.running.classes);
        for (class, before) in classes {
            if class.priorities.contains(&priority) {
                class.clone_from(before);
                self.reasons
                    .insert(format!("class.{}.", class.name), why.clone());
            }
        }
    }

    /// The policy first: what is suspected anew is taken up by it.
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
        let by_destination = |routes: &[Route]| -> HashMap<_, _> {
            routes
                .iter()
                .map(|route| (route.destination, route.clone()))
                .collect()
        };
        let before = by_destination(&self.running.routes);
        let after = by_destination(&self.next.routes);
        // Those that go first: they make room.
        for route in &self.running.routes {
            let destination = route.destination;
            if !after.contains_key(&destination) {
                // Gone already where somebody has removed it by hand.
                let _ = ask(shared, Command::RemoveRoute { destination }).await;
            }
        }
        let mut routes = std::mem::take(&mut self.next.routes);
        for route in &mut routes {
            let known = before.get(&route.destination);
            if known == Some(route) {
                continue;
            }
            let command = Command::SetRoute {
                destination: route.destination,
                members: route.ports.iter().copied().collect(),
                buckets: route.buckets,
            };
            if let Err(why) = ask(shared, command).await {
                self.reasons
                    .insert(format!("route.{}.", route.destination), why);
                match known {
                    Some(known) => route.clone_from(known),
                    None => route.ports.clear(),
                }
            }
        }
        // A new route that was refused is none.
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

    fn kept(&self, file: &DaemonConfig) -> Vec<KeptSetting> {
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

fn applied(change: Change) -> AppliedSetting {
    let Change { key, from, to } = change;
    AppliedSetting { key, from, to }
}

async fn ask(shared: &Shared, command: Command) -> Result<(), String> {
    match shared.dataplane.ask(command).await {
        Some(outcome) => outcome.map_err(|error| error.to_string()),
        None => Err("the dataplane does not answer".to_owned()),
    }
}

/// A buffer that drains has its memory back in a moment, unless it is held.
async fn ask_until_drained(shared: &Shared, command: Command) -> Result<(), String> {
    for _ in 1..TRIES {
        match shared.dataplane.ask(command).await {
            Some(Err(CommandError::BufferDrains { .. })) => tokio::time::sleep(TRY_AGAIN).await,
            Some(outcome) => return outcome.map_err(|error| error.to_string()),
            None => break,
        }
    }
    ask(shared, command).await
}
