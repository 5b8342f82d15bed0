//! What the daemon is doing, and who can have it do something else.

use std::sync::OnceLock;
use std::time::Duration as StdDuration;

use tokio::sync::{mpsc, watch};
use weir_core::{Duration, Instant};

use crate::control::Reloading;
use crate::model::clock;

/// What the daemon is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It forwards.
    Running,
    /// It admits no more frames and sends what is buffered.
    Draining,
    /// It ends: whoever waits for something stops waiting.
    Ending,
}

/// What a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// To end, and why.
    Stop(&'static str),
    /// To read the configuration file again.
    Reload,
    /// To be started anew by the keeper.
    Restart,
}

/// A restart, as the switch that came of it knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restarted {
    /// For how long neighbours were held.
    pub held: StdDuration,
    /// Frames that were in the switch before and could not leave in time.
    pub lost_frames: u64,
    /// Frames of any class that came while no switch was there.
    pub missed_frames: u64,
}

/// The daemon's life.
pub struct Life {
    /// When forwarding began.
    pub began: Instant,
    stage: watch::Sender<Stage>,
    reloader: OnceLock<Box<dyn Reloading>>,
    restart_signals: OnceLock<mpsc::Sender<Signal>>,
    restarted: OnceLock<Restarted>,
    restart_answer: watch::Sender<RestartAnswer>,
}

/// What came of the last restart that was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RestartAnswer {
    /// How many there were.
    number: u64,
    /// Why the switch goes on; `None` when it is restarted.
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
        }
    }

    pub(super) fn set_stage(&self, stage: Stage) {
        self.stage.send_replace(stage);
    }

    /// What the daemon is doing.
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

    /// What reads the configuration file again; `None` where there is no file.
    pub fn reloader(&self) -> Option<&dyn Reloading> {
        self.reloader.get().map(|reloader| &**reloader)
    }

    /// Sets it, once.
    pub fn set_reloader(&self, reloader: impl Reloading + 'static) {
        // Only the first counts.
        let _ = self.reloader.set(Box::new(reloader));
    }

    /// A keeper can start the daemon anew: where it is asked.
    pub fn set_restartable(&self, signals: mpsc::Sender<Signal>) {
        // Only the first counts.
        let _ = self.restart_signals.set(signals);
    }

    /// Where a restart is asked for; `None` without a keeper.
    pub fn restart_signals(&self) -> Option<&mpsc::Sender<Signal>> {
        self.restart_signals.get()
    }

    /// Answers those who asked for a restart: why it is refused, or `None` when it begins.
    pub fn answer_restart(&self, refused: Option<String>) {
        self.restart_answer.send_modify(|answer| {
            answer.number += 1;
            answer.refused = refused;
        });
    }

    /// Answers to restarts from now on.
    pub fn restart_answers(&self) -> watch::Receiver<RestartAnswer> {
        self.restart_answer.subscribe()
    }

    /// What the restart took that this daemon came of.
    pub fn set_restarted(&self, restarted: Restarted) {
        // Only the first counts.
        let _ = self.restarted.set(restarted);
    }

    /// The restart that this daemon came of.
    pub fn restarted(&self) -> Option<Restarted> {
        self.restarted.get().copied()
    }
}
