//! `/v1/restart`.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::Json;
use serde::Deserialize;
use weir_api::daemon::Restarting;

use crate::api::audit::with_accounts;
use crate::api::ApiError;
use crate::control::{without_keeper, Shared, Signal, Stage};
use crate::dataplane::messages::Snapshot;
use crate::keeper::link::{level, KNOWS_WAYS_BACK, PREPARE_WAIT};

const ANSWER_WAIT: Duration = PREPARE_WAIT.saturating_add(Duration::from_secs(5));
/// If the transmitter has a frame for longer than this, something holds it.
const KEPT_AFTER: weir_core::Duration = weir_core::Duration::from_millis(50);
/// Time that a slow line or receiver gets to finish its frames.
const KEPT_WAIT: Duration = Duration::from_millis(300);
const LOOK_EVERY: Duration = Duration::from_millis(10);

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(in crate::api) struct RestartQuery {
    check: bool,
}

pub(in crate::api) async fn restart(
    State(shared): State<Arc<Shared>>,
    query: Result<Query<RestartQuery>, QueryRejection>,
) -> Result<Json<Restarting>, ApiError> {
    let Query(RestartQuery { check }) = query?;
    let conflict = |error: &str| ApiError {
        status: StatusCode::CONFLICT,
        error: error.to_owned(),
    };
    let signals = shared.life.restart_signals().ok_or_else(|| {
        conflict(
            "this daemon runs without a keeper and cannot be restarted in place; start it with `weir-switchd --keeper`, as the systemd units do",
        )
    })?;
    if shared.life.is_keeper_gone() {
        return Err(conflict(&format!(
            "the keeper has ended, and this switch cannot be restarted in place: {}",
            without_keeper()
        )));
    }
    if check && level() < KNOWS_WAYS_BACK {
        return Err(conflict(
            "the keeper is of an older version and cannot try this: stop the service and start it once",
        ));
    }
    if shared.life.stage() != Stage::Running {
        return Err(conflict("the daemon is already stopping"));
    }
    if let Some(reloader) = shared.life.reloader() {
        // An invalid file would end the switch.
        reloader.check().await?;
    }
    if let Some(port) = port_with_kept_frame(&shared).await? {
        return Err(conflict(&format!(
            "port {port}: a frame that was sent more than {} ms ago is still kept, by the device or by who received it. Until it is freed, the kernel gives the device to no other switch. Make the hosts behind {port} idle, and try again; this switch goes on as it was",
            KEPT_AFTER.as_nanos() / 1_000_000
        )));
    }
    let mut answers = shared.life.restart_answers();
    signals
        .try_send(match check {
            true => Signal::TryRestart,
            false => Signal::Restart,
        })
        .map_err(|_| conflict("the daemon is busy; try again"))?;
    match tokio::time::timeout(ANSWER_WAIT, answers.changed()).await {
        Ok(Ok(())) => {}
        Ok(Err(_)) | Err(_) => {
            return Err(conflict(
                "the restart takes its time: `switchctl status` shows whether it happens, and the log why not",
            ))
        }
    }
    if let Some(why) = &answers.borrow().refused {
        return Err(conflict(&format!("{why}; this switch goes on as it was")));
    }
    Ok(Json(Restarting {
        pid: std::process::id(),
        keeper_pid: Some(std::os::unix::process::parent_id()),
    }))
}

/// Returns the first port whose transmitter holds a frame.
async fn port_with_kept_frame(shared: &Shared) -> Result<Option<String>, ApiError> {
    let began = tokio::time::Instant::now();
    loop {
        let now = with_accounts(shared).await?;
        let mut ports = shared.info.ports.iter().enumerate();
        let kept = ports
            .find(|(index, port)| !port.attached.get().zero_copy && keeps_a_frame(&now, *index));
        match kept {
            Some((_, port)) if began.elapsed() >= KEPT_WAIT => return Ok(Some(port.name.clone())),
            Some(_) => tokio::time::sleep(LOOK_EVERY).await,
            None => return Ok(None),
        }
    }
}

/// Returns true if the kernel took a frame from a port in copy mode a while ago and has not freed it. The socket exists as
/// long as such a frame (`sk_wmem_alloc` of Linux) and keeps the device's queue. FCoE, for example, keeps a command's frame
/// until the command is done.
fn keeps_a_frame(now: &Snapshot, port: usize) -> bool {
    let outstanding = now.accounts.outstanding.get(port).copied().unwrap_or(0);
    // Frames in the TX ring are not yet the kernel's.
    let waiting = now.ports.get(port).map_or(0, |it| it.rings.tx.used);
    let oldest = now.accounts.oldest_sent_at.get(port).copied().flatten();
    outstanding > u64::from(waiting)
        && oldest.is_some_and(|sent_at| now.at.saturating_since(sent_at) >= KEPT_AFTER)
}

#[cfg(test)]
mod tests {
    use weir_core::Instant;

    use super::*;
    use crate::dataplane::messages::{PortSnapshot, Ring};

    /// One port with this many frames, `waiting` of them in the TX ring; the oldest was sent this long ago.
    fn snapshot(outstanding: u64, waiting: u32, oldest: Option<weir_core::Duration>) -> Snapshot {
        let mut port = PortSnapshot::default();
        port.rings.tx = Ring {
            used: waiting,
            ..Ring::default()
        };
        let sent_at = Instant::from_nanos(1_000);
        let mut snapshot = Snapshot {
            at: sent_at + oldest.unwrap_or(KEPT_AFTER),
            ports: vec![port],
            ..Snapshot::default()
        };
        snapshot.accounts.outstanding = vec![outstanding];
        snapshot.accounts.oldest_sent_at = vec![oldest.map(|_| sent_at)];
        snapshot
    }

    #[test]
    fn a_frame_is_kept_that_the_kernel_took_and_did_not_complete() {
        let long_ago = Some(KEPT_AFTER);
        let just_now = Some(weir_core::Duration::from_millis(1));
        assert!(keeps_a_frame(&snapshot(5, 0, long_ago), 0));
        assert!(keeps_a_frame(&snapshot(5, 4, long_ago), 0));
        assert!(!keeps_a_frame(&snapshot(5, 5, long_ago), 0), "unsent");
        assert!(!keeps_a_frame(&snapshot(5, 0, just_now), 0), "on its way");
        assert!(!keeps_a_frame(&snapshot(0, 0, None), 0), "idle");
        assert!(!keeps_a_frame(&snapshot(0, 0, None), 1), "no such port");
    }
}
