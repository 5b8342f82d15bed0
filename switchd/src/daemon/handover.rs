//! Handover from one switch to the next through their keeper.

use std::os::unix::process::parent_id;
use std::path::Path;

use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use weir_api::describe::Described;
use weir_api::words::{EventName, Trouble};
use weir_dataplane::link::Stopped;
use weir_dataplane::tables::Tables;
use weir_dataplane::Closing;

use super::ending::stop_signal;
use super::plan::Keeping;
use crate::control::kept::{self, port_with_kept_frame, Neighbours};
use crate::control::{without_keeper, Restarted, Shared, Signal};
use crate::keeper::frames;
use crate::keeper::link::{held_links, resumed_links, ResumedLink};
use crate::model::clock;

/// Resources that a stopped switch still has.
#[derive(Debug)]
pub(super) struct Parting {
    pub(super) keeping: Option<Keeping>,
    pub(super) closing: Closing,
}

/// Lets the next switch start before this process ends and everything is closed.
pub(super) async fn give_place(Parting { keeping, closing }: Parting) {
    if let Some(mut keeping) = keeping {
        if let Err(error) = keeping.link.give_place().await {
            tracing::warn!(%error, "cannot notify the keeper that the place is free");
        }
    }
    // This thread has nothing else to do, but the runtime must not wait for a thread's end.
    let _ = spawn_blocking(move || closing.wait()).await;
}

/// Releases neighbours that were paused for this switch, and accepts restart requests.
pub(super) async fn meet(keeping: &mut Keeping, shared: &Shared) {
    // Neighbours that the switch itself holds by now stay held.
    let resumed = resumed(shared).await;
    match keeping.link.ready(keeping.kept, resumed).await {
        Ok(None) => {}
        Ok(Some(restarted)) => note_restart(shared, restarted),
        Err(error) => {
            tracing::error!(%error, "the keeper does not answer: neighbours may still be paused")
        }
    }
}

/// Records a restart whose next switch failed: this one runs the previous configuration.
fn note_restart(shared: &Shared, restarted: Restarted) {
    if let Some(why) = &restarted.failed {
        let told =
            Described::new(clock::now(), EventName::RestartFailed).detail("why", why.clone());
        shared.records.record(told);
        let text = format!(
            "the last restart failed, and the program and configuration from before run again: {why}; remedy that, then `switchctl restart`"
        );
        shared
            .life
            .set_trouble("restart", Some((Trouble::RestartFailed, text)));
    }
    shared.life.set_restarted(restarted);
}

/// Reports that the keeper has ended. The switch keeps running.
pub(super) fn lose_keeper(shared: &Shared) {
    shared.life.set_keeper_gone();
    let told = Described::new(clock::now(), EventName::KeeperGone);
    shared.records.record(told);
    let text = format!(
        "the keeper has ended: the switch continues, but cannot be restarted in place; {}",
        without_keeper()
    );
    shared
        .life
        .set_trouble("keeper", Some((Trouble::KeeperGone, text)));
}

/// Pauses the neighbours for the next switch. If another program then still holds a sent frame, the neighbours resume
/// and the next switch is ended: it could not use the device.
///
/// # Errors
///
/// Message for operators: the reason why this switch continues.
pub(super) async fn hold_neighbours(keeping: &mut Keeping, shared: &Shared) -> Result<(), String> {
    let links = held_links(&shared.info, keeping.pause_time);
    let held = keeping.link.hold(links).await;
    held.map_err(|error| format!("the keeper cannot pause neighbours: {error}"))?;
    if !keeping.link.can_resume() {
        return Ok(());
    }
    // A dataplane that is silent is no reason against a restart.
    let Ok(Some(port)) = port_with_kept_frame(shared, Neighbours::Paused).await else {
        return Ok(());
    };
    let resumed = keeping.link.resume(resumed(shared).await).await;
    let ended = keeping.link.discard().await;
    match resumed.and(ended) {
        Ok(()) => Err(kept::told(&port)),
        Err(error) => Err(format!(
            "{}. The keeper does not answer, and neighbours stay paused for a while: {error}",
            kept::told(&port)
        )),
    }
}

/// Neighbours that the switch itself does not hold.
async fn resumed(shared: &Shared) -> Vec<ResumedLink> {
    let snapshot = shared.dataplane.inspect(Tables::NONE).await;
    let resumed = snapshot.map(|snapshot| resumed_links(&shared.info, &snapshot.ports));
    resumed.unwrap_or_default()
}

/// Stores frames that could not leave for the next switch, and reports the lost ones to the keeper.
pub(super) async fn leave(
    stopped: Stopped,
    keeping: &mut Keeping,
    run_dir: &Path,
    shared: &Shared,
) {
    let count = stopped.left.len() as u64;
    let names: Vec<&str> = shared.info.ports.iter().map(|port| &*port.name).collect();
    let mut lost = stopped.lost_in_flight;
    match frames::write(run_dir, &stopped.left, &names) {
        Ok(()) => tracing::info!(frames = count, "frames saved for the restarted switch"),
        Err(error) => {
            tracing::error!(%error, frames = count, "cannot save frames for the restarted switch: they are lost");
            lost += count;
        }
    }
    if let Err(error) = frames::leave_to(run_dir, parent_id()) {
        tracing::warn!(%error, "cannot record the keeper whose next switch takes the saved frames");
    }
    if let Err(error) = keeping.link.left(lost, stopped.missed).await {
        tracing::warn!(%error, "cannot report lost frames to the keeper");
    }
}

/// Waits until the keeper ends; forever without one, or when it has ended already.
pub(super) async fn gone(keeping: &mut Option<Keeping>, shared: &Shared) {
    match keeping {
        Some(keeping) if !shared.life.is_keeper_gone() => keeping.link.gone().await,
        _ => std::future::pending().await,
    }
}

pub(super) enum Readiness {
    /// The next switch is ready, or the keeper is too old to prepare one.
    Ready,
    /// The next switch did not start.
    Refused(String),
    /// The switch was stopped in the meantime, for this reason.
    Stopped(&'static str),
}

/// Prepares the next switch before neighbours are paused, with the run-time changes so far.
pub(super) async fn make_ready(
    keeping: &mut Keeping,
    shared: &Shared,
    run_dir: &Path,
    signals: &mut mpsc::Receiver<Signal>,
) -> Readiness {
    if let Some(reloader) = shared.life.reloader() {
        let in_force = reloader.leave(shared, run_dir).await;
        if let Some(in_force) = in_force {
            if let Err(error) = keeping.link.name_way(in_force).await {
                return Readiness::Refused(format!("the keeper does not answer: {error}"));
            }
        }
    }
    if !keeping.link.prepares() {
        tracing::warn!(
            "keeper is too old to pre-start the next switch; neighbours stay paused longer"
        );
        return Readiness::Ready;
    }
    let prepared = tokio::select! {
        prepared = keeping.link.prepare() => prepared,
        reason = stop_signal(signals) => return Readiness::Stopped(reason),
    };
    match prepared {
        Ok(None) => Readiness::Ready,
        Ok(Some(why)) => Readiness::Refused(why),
        Err(error) => Readiness::Refused(format!("the keeper does not answer: {error}")),
    }
}
