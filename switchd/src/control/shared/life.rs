//! Life cycle of the daemon: its stage, and requests to stop, restart or reload it.

use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock};
use std::time::Duration as StdDuration;

use tokio::sync::{mpsc, watch};
use weir_api::words::Trouble;
use weir_core::{Duration, Instant};

use super::lock;
use crate::control::Reloading;
use crate::model::clock;

/// Stage of the daemon's life cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It forwards.
    Running,
    /// It admits no more frames and sends buffered ones.
    Draining,
    /// It ends: all waits are cancelled.
    Ending,
}

/// Request of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// End, for this reason.
    Stop(&'static str),
    /// Read the configuration file again.
    Reload,
    /// Restart under the keeper.
    Restart,
    /// Have the keeper test whether the next switch could start, and continue.
    TryRestart,
}

/// A completed restart, as reported to the new switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restarted {
    /// Time for which neighbours were paused.
    pub held: StdDuration,
    /// Frames that were in the switch before and could not be sent in time.
    pub lost_frames: u64,
    /// Frames of any class that arrived while no switch ran.
    pub missed_frames: u64,
    /// Failure of the next switch, if this one runs the previous configuration again.
    pub failed: Option<String>,
}

/// The daemon's life cycle.
pub struct Life {
    /// When forwarding began.
    pub began: Instant,
    stage: watch::Sender<Stage>,
    reloader: OnceLock<Box<dyn Reloading>>,
    restart_signals: OnceLock<mpsc::Sender<Signal>>,
    restarted: OnceLock<Restarted>,
    restart_answer: watch::Sender<RestartAnswer>,
    keeper_gone: OnceLock<()>,
    troubles: Mutex<BTreeMap<&'static str, (Trouble, String)>>,
}

/// Result of the last requested restart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RestartAnswer {
    number: u64,
    /// Reason for not restarting the switch; `None` when it was restarted.
    pub refused: Option<String>,
}

impl Life {
    pub(super) fn new(began: Instant) -> Self {
        Self {
            began,
            stage: watch::Sender::new(Stage::Running),
            reloader: OnceLock::new(),
            restart_signals: OnceLock::new(),
            restarted: OnceLock::new(),
            restart_answer: watch::Sender::default(),
            keeper_gone: OnceLock::new(),
            troubles: Mutex::default(),
        }
    }

    pub(super) fn set_stage(&self, stage: Stage) {
        self.stage.send_replace(stage);
    }

    /// Returns the daemon's stage.
    pub fn stage(&self) -> Stage {
        *self.stage.borrow()
    }

    /// Waits until the daemon ends.
    pub async fn ending(&self) {
        let mut stage = self.stage.subscribe();
        let _ = stage.wait_for(|stage| *stage == Stage::Ending).await;
    }

    /// Time since forwarding began.
    pub fn uptime(&self) -> Duration {
        clock::now().saturating_since(self.began)
    }

    /// Returns the reloader of the configuration file; `None` if there is no file.
    pub fn reloader(&self) -> Option<&dyn Reloading> {
        self.reloader.get().map(|reloader| &**reloader)
    }

    /// Sets the reloader. Only the first call has an effect.
    pub fn set_reloader(&self, reloader: impl Reloading + 'static) {
        // Only the first counts.
        let _ = self.reloader.set(Box::new(reloader));
    }

    /// Sets the sender of restart requests, if a keeper can restart the daemon.
    pub fn set_restartable(&self, signals: mpsc::Sender<Signal>) {
        // Only the first counts.
        let _ = self.restart_signals.set(signals);
    }

    /// Returns the sender for restart requests; `None` without a keeper.
    pub fn restart_signals(&self) -> Option<&mpsc::Sender<Signal>> {
        self.restart_signals.get()
    }

    /// Answers restart requests: the reason for a refusal, or `None` when the restart begins.
    pub fn answer_restart(&self, refused: Option<String>) {
        self.restart_answer.send_modify(|answer| {
            answer.number += 1;
            answer.refused = refused;
        });
    }

    /// Subscribes to answers to restart requests.
    pub fn restart_answers(&self) -> watch::Receiver<RestartAnswer> {
        self.restart_answer.subscribe()
    }

    /// Records that the keeper has ended.
    pub fn set_keeper_gone(&self) {
        let _ = self.keeper_gone.set(());
    }

    /// Returns true once the keeper has ended.
    pub fn is_keeper_gone(&self) -> bool {
        self.keeper_gone.get().is_some()
    }

    /// Sets or clears a reason for bad health that concerns no single port, by `name`. Returns true if that changed
    /// anything.
    pub fn set_trouble(&self, name: &'static str, trouble: Option<(Trouble, String)>) -> bool {
        let mut troubles = lock(&self.troubles);
        match trouble {
            Some(trouble) => troubles.insert(name, trouble).is_none(),
            None => troubles.remove(name).is_some(),
        }
    }

    /// Returns all such reasons.
    pub fn troubles(&self) -> Vec<(Trouble, String)> {
        lock(&self.troubles).values().cloned().collect()
    }

    /// Records the restart that started this daemon.
    pub fn set_restarted(&self, restarted: Restarted) {
        // Only the first counts.
        let _ = self.restarted.set(restarted);
    }

    /// Returns the restart that started this daemon.
    pub fn restarted(&self) -> Option<Restarted> {
        self.restarted.get().cloned()
    }
}

/// Returns the remedy for a keeper that has ended.
pub fn without_keeper() -> String {
    format!(
        "stop it and start it with a keeper again (`systemctl restart weir-switchd`, or `kill {}` and `weir-switchd --keeper`)",
        std::process::id()
    )
}
