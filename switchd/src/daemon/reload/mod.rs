//! Reloading of the configuration file: applies the settings that can change at run time and reports the rest.

pub mod by_hand;
pub mod history;
pub mod in_force;
mod step;

use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Mutex;
use weir_api::describe::Described;
use weir_api::reload::{
    AppliedSetting, Configuration, ConfigurationHistory, PastConfiguration, Reload,
};
use weir_api::words::EventName;
use weir_config::daemon::DaemonConfig;

use crate::control::reloading::Outcome;
use crate::control::{ReloadError, Reloading, Shared};
use crate::logging::LevelHandle;
use crate::model::clock;
use crate::os::{memory, reader, service};
use history::{Came, History};
use step::{applied, Direction, Step};

/// The configuration file, and the settings in force.
#[derive(Debug)]
pub struct Reloader {
    path: PathBuf,
    /// Configuration at the start: the daemon's memory was allocated for it.
    started: DaemonConfig,
    running: Mutex<Running>,
    /// `None` if the command line sets the log level.
    log: Option<LevelHandle>,
    history: Arc<History>,
}

#[derive(Debug)]
struct Running {
    config: DaemonConfig,
    unconfirmed: Option<Unconfirmed>,
    source: Arc<str>,
    /// Cause of its activation, until it is kept for a rollback.
    came: Option<Came>,
    /// Configurations last stored for the next switch; see [`by_hand::leave`].
    left: Option<(DaemonConfig, DaemonConfig)>,
}

#[derive(Debug)]
struct Unconfirmed {
    /// Configuration before it.
    before: DaemonConfig,
    source: Arc<str>,
    /// Time at which the previous configuration is restored.
    until: Instant,
}

impl Running {
    fn left(&self) -> Option<Duration> {
        let unconfirmed = self.unconfirmed.as_ref()?;
        Some(unconfirmed.until.saturating_duration_since(Instant::now()))
    }
}

impl Reloader {
    /// Creates the reloader of a daemon started with `config`, read from `path` with the contents `text`.
    pub fn new(
        path: PathBuf,
        (config, text): (DaemonConfig, String),
        log: Option<LevelHandle>,
    ) -> Self {
        Self {
            path,
            history: Arc::new(History::new(&config.run_dir, &config.name)),
            started: config.clone(),
            running: Mutex::new(Running {
                config,
                unconfirmed: None,
                source: text.into(),
                came: Some(Came::Start),
                left: None,
            }),
            log,
        }
    }
}

impl Reloader {
    /// Checks that a daemon started now could replace this one.
    ///
    /// # Errors
    ///
    /// When the file is invalid, or names another run directory or socket.
    async fn check_file(&self) -> Result<(), ReloadError> {
        let (file, _) = self.load().await?;
        for (key, stays) in [
            ("run-dir", file.run_dir == self.started.run_dir),
            ("api.socket", file.api_socket == self.started.api_socket),
        ] {
            if !stays {
                let file = self.path.display().to_string();
                return Err(ReloadError::Moved { file, key });
            }
        }
        if let Err(error) = memory::check(&file) {
            let why = error.to_string();
            let file = self.path.display().to_string();
            return Err(ReloadError::Memory { file, why });
        }
        self.check_listeners(&file)
    }

    /// Tries to bind the addresses that the running switch does not use itself.
    fn check_listeners(&self, file: &DaemonConfig) -> Result<(), ReloadError> {
        let listeners = |config: &DaemonConfig| {
            [
                ("metrics.listen", config.metrics.listen),
                ("gnmi.listen", config.gnmi.listen),
                ("page.listen", config.page.listen),
            ]
        };
        let ours = listeners(&self.started).map(|(_, address)| address);
        for (key, address) in listeners(file) {
            let new = address.filter(|_| !ours.contains(&address));
            let Some(address) = new else { continue };
            if let Err(error) = std::net::TcpListener::bind(address) {
                let file = self.path.display().to_string();
                return Err(ReloadError::Taken {
                    file,
                    key,
                    address,
                    error,
                });
            }
        }
        Ok(())
    }

    /// Reads the file, and applies all of it, or nothing if one setting cannot be applied; with
    /// `dry_run` it only reports the changes.
    ///
    /// # Errors
    ///
    /// When the file is invalid; nothing is changed.
    async fn read_again(
        &self,
        shared: &Shared,
        dry_run: bool,
        confirm: Option<Duration>,
    ) -> Result<Reload, ReloadError> {
        let (file, text) = self.load().await?;
        let mut running = self.running.lock().await;
        if let Some(left) = running.left().filter(|_| !dry_run) {
            let left_seconds = left.as_secs_f64().ceil() as u64;
            return Err(ReloadError::Unconfirmed { left_seconds });
        }
        let chunks = self.started.buffer_chunks();
        let mut step = Step::new(&running.config, &file, chunks, Direction::Forward);
        if self.log.is_none() {
            step.keep_log_level();
        }
        let is_begun = step.is_possible(&file) && !dry_run;
        if is_begun {
            step.apply(shared, self.log.as_ref()).await;
        }
        let is_possible = step.is_possible(&file);
        let kept = step.kept(&file);
        let changes = |next: &DaemonConfig| -> Vec<AppliedSetting> {
            let changes = running.config.changes_to(next).into_iter();
            changes.map(applied).collect()
        };
        let (possible, next) = (changes(&step.next), step.next);
        let (applied, held_back, next) = match is_possible {
            true => (possible, Vec::new(), next),
            false if !is_begun => (Vec::new(), possible, running.config.clone()),
            false => {
                // A command was refused after others had taken effect.
                let mut back = Step::new(&next, &running.config, chunks, Direction::Back);
                back.apply(shared, self.log.as_ref()).await;
                (changes(&back.next), possible, back.next)
            }
        };
        let confirm = confirm.filter(|_| !applied.is_empty());
        let report = Reload {
            file: self.path.display().to_string(),
            dry_run,
            applied,
            kept,
            held_back,
            confirm_seconds: confirm.map(|time| time.as_secs_f64()),
        };
        if !dry_run {
            let before = std::mem::replace(&mut running.config, next);
            let source = Arc::clone(&running.source);
            running.unconfirmed = confirm.map(|time| Unconfirmed {
                before,
                source,
                until: Instant::now() + time,
            });
            if is_possible {
                running.source = text.into();
                running.came = Some(Came::Reload);
                self.remember(&mut running).await;
            }
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
        self.remember(&mut running).await;
        shared
            .records
            .record(Described::new(clock::now(), EventName::ReloadConfirmed));
        Ok((self.path.display().to_string(), left))
    }

    /// Restores the previous settings. Settings that cannot be restored, such as a threshold during a release, are logged;
    /// the file stays as it is.
    async fn go_back(&self, shared: &Shared) {
        let mut running = self.running.lock().await;
        if !running.left().is_some_and(|left| left.is_zero()) {
            return;
        }
        let Some(Unconfirmed { before, source, .. }) = running.unconfirmed.take() else {
            return;
        };
        let chunks = self.started.buffer_chunks();
        let mut step = Step::new(&running.config, &before, chunks, Direction::Back);
        step.apply(shared, self.log.as_ref()).await;
        let kept = step.kept(&before);
        let reverted = running.config.changes_to(&step.next).len();
        let next = step.next;
        running.config = next;
        running.source = source;
        running.came = None;
        tracing::warn!(
            file = %self.path.display(),
            reverted,
            "the reload was not confirmed in time; the previous settings are in force again, and the file still has the new ones"
        );
        for kept in &kept {
            tracing::error!(key = kept.key, why = kept.why, "cannot restore setting");
        }
        let told = Described::new(clock::now(), EventName::ReloadReverted)
            .detail("reverted", reverted)
            .detail("kept", kept.len());
        shared.records.record(told);
    }

    async fn load(&self) -> Result<(DaemonConfig, String), ReloadError> {
        let path = self.path.clone();
        let load = move || reader::configuration(&path);
        Ok(tokio::task::spawn_blocking(load).await??)
    }

    /// Keeps the file in force for a rollback, once it is confirmed.
    async fn remember(&self, running: &mut Running) {
        if running.unconfirmed.is_some() {
            return;
        }
        if let Some(came) = running.came.take() {
            let text = Arc::clone(&running.source);
            let history = Arc::clone(&self.history);
            // It logs its errors and does not panic.
            let _ = tokio::task::spawn_blocking(move || history.note(&text, came)).await;
        }
    }

    /// Returns the configuration in force, without and with the changes at run time.
    async fn with_by_hand(&self, shared: &Shared) -> (DaemonConfig, DaemonConfig) {
        let running = self.running.lock().await;
        let config = running.config.clone();
        let snapshot = shared.dataplane.inspect(by_hand::TABLES).await;
        let now = snapshot.map(|snapshot| by_hand::now(&config, &snapshot));
        let now = now.unwrap_or_else(|| config.clone());
        (config, now)
    }

    /// Skips files that are already up to date, since neighbours may be waiting.
    async fn leave_in(&self, shared: &Shared, run_dir: &Path) -> Option<PathBuf> {
        let left = self.with_by_hand(shared).await;
        let mut running = self.running.lock().await;
        let in_force = in_force::path(run_dir);
        if running.left.as_ref() == Some(&left) && in_force.exists() {
            return Some(in_force);
        }
        if let Err(error) = by_hand::leave(run_dir, &left.0, &left.1) {
            tracing::error!(%error, "cannot save run-time changes for the restarted switch: they are lost");
        }
        let written = in_force::leave(run_dir, &running.source);
        running.left = Some(left);
        written
            .inspect_err(|error| {
                tracing::error!(%error, "cannot save the configuration: if a restart fails, no switch will run");
            })
            .ok()
    }

    async fn show(&self, shared: &Shared) -> Configuration {
        let (config, now) = self.with_by_hand(shared).await;
        Configuration {
            file: self.path.display().to_string(),
            text: config.to_toml(),
            by_hand: config.changes_to(&now).into_iter().map(applied).collect(),
            now: now.to_toml(),
            buffer_chunks: self.started.buffer_chunks() as u64,
            log_level_fixed: self.log.is_none(),
        }
    }

    /// Like [`read_again`](Self::read_again), but for a signal: logs the result and notifies the service manager.
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
                if !report.held_back.is_empty() {
                    let held_back = report.held_back.len();
                    tracing::error!(
                        held_back,
                        "the file was not applied: a setting cannot take effect"
                    );
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

    fn running<'a>(
        &'a self,
        shared: &'a Shared,
    ) -> Pin<Box<dyn Future<Output = Configuration> + Send + 'a>> {
        Box::pin(self.show(shared))
    }

    fn begun(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async {
            let mut running = self.running.lock().await;
            self.remember(&mut running).await;
        })
    }

    fn leave<'a>(
        &'a self,
        shared: &'a Shared,
        run_dir: &'a Path,
    ) -> Pin<Box<dyn Future<Output = Option<PathBuf>> + Send + 'a>> {
        Box::pin(self.leave_in(shared, run_dir))
    }

    fn history(&self) -> Outcome<'_, ConfigurationHistory> {
        let history = Arc::clone(&self.history);
        Box::pin(async move {
            let list = tokio::task::spawn_blocking(move || history.list()).await?;
            list.map_err(ReloadError::History)
        })
    }

    fn past(&self, number: u64) -> Outcome<'_, PastConfiguration> {
        let history = Arc::clone(&self.history);
        Box::pin(async move {
            let past = tokio::task::spawn_blocking(move || history.get(number)).await?;
            past.map_err(ReloadError::History)?
                .ok_or(ReloadError::NoSuchPast(number))
        })
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
