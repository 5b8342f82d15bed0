//! Requests that end a running switch, and reasons for its end.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;

use super::handover::{gone, hold_neighbours, lose_keeper, make_ready, Readiness};
use super::plan::Keeping;
use crate::control::{Control, Shared, Signal, SupervisorError};

pub(super) enum Reason {
    /// A stop was requested, or the keeper is gone.
    Stop,
    /// A restart was requested; the neighbours are paused.
    Restart,
    /// The dataplane or the control plane has ended.
    Failed(SupervisorError),
}

pub(super) async fn until_end(
    signals: &mut mpsc::Receiver<Signal>,
    control: &mut Control,
    keeping: &mut Option<Keeping>,
    drain: Duration,
    run_dir: &Path,
) -> Reason {
    let shared = Arc::clone(&control.shared);
    loop {
        tokio::select! {
            signal = until_signal(signals, &shared) => match signal {
                Asked::Stop(reason) => {
                    tracing::info!(reason, drain_timeout = ?drain, "stopping");
                    return Reason::Stop;
                }
                // The API sends this only if there is a keeper.
                Asked::Restart { is_trial } => if let Some(keeping) = keeping {
                    let why = match make_ready(keeping, &shared, run_dir, signals).await {
                        Readiness::Stopped(reason) => {
                            tracing::info!(reason, drain_timeout = ?drain, "stopping");
                            return Reason::Stop;
                        }
                        Readiness::Refused(why) => format!("the next switch would not start: {why}"),
                        Readiness::Ready if is_trial => match keeping.link.discard().await {
                            Ok(()) => {
                                shared.life.answer_restart(None);
                                continue;
                            }
                            Err(error) => format!("the keeper cannot end the next switch: {error}"),
                        },
                        Readiness::Ready => match hold_neighbours(keeping, &shared).await {
                            Ok(()) => {
                                tracing::info!("restarting: neighbours are paused");
                                shared.life.answer_restart(None);
                                return Reason::Restart;
                            }
                            Err(why) => why,
                        },
                    };
                    match is_trial {
                        true => tracing::warn!(why, "a restart would be refused"),
                        false => tracing::error!(why, "restart refused; this switch continues"),
                    }
                    shared.life.answer_restart(Some(why));
                }
            },
            // The switch keeps forwarding.
            () = gone(keeping, &shared) => lose_keeper(&shared),
            error = control.failed() => {
                tracing::error!(%error, "stopping");
                return Reason::Failed(error);
            }
        }
    }
}

/// Request by a signal that may end the switch.
enum Asked {
    Stop(&'static str),
    Restart {
        /// True to only test whether the next switch could start.
        is_trial: bool,
    },
}

/// Waits for a signal that ends the switch, and reloads the configuration file whenever requested.
async fn until_signal(signals: &mut mpsc::Receiver<Signal>, shared: &Shared) -> Asked {
    loop {
        match signals.recv().await {
            Some(Signal::Stop(reason)) => return Asked::Stop(reason),
            Some(Signal::Restart) => return Asked::Restart { is_trial: false },
            Some(Signal::TryRestart) => return Asked::Restart { is_trial: true },
            Some(Signal::Reload) => match shared.life.reloader() {
                Some(reloader) => reloader.reload_and_log(shared).await,
                None => tracing::warn!(
                    "nothing to reload: the daemon was started without a configuration file"
                ),
            },
            // All senders are gone.
            None => return Asked::Stop("no more signals"),
        }
    }
}

pub(super) async fn stop_signal(signals: &mut mpsc::Receiver<Signal>) -> &'static str {
    loop {
        match signals.recv().await {
            Some(Signal::Stop(reason)) => return reason,
            Some(Signal::Reload | Signal::Restart | Signal::TryRestart) => {}
            None => return std::future::pending().await,
        }
    }
}
