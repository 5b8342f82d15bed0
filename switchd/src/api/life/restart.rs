//! `/v1/restart`.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::Json;
use serde::Deserialize;
use weir_api::daemon::Restarting;

use crate::api::ApiError;
use crate::control::kept::{self, port_with_kept_frame, Neighbours};
use crate::control::{without_keeper, Shared, Signal, Stage};
use crate::keeper::link::{level, KNOWS_WAYS_BACK, PREPARE_WAIT};

const ANSWER_WAIT: Duration = PREPARE_WAIT.saturating_add(Duration::from_secs(5));

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
    let kept = port_with_kept_frame(&shared, Neighbours::Sending).await;
    if let Some(port) = kept.map_err(|kept::Silent| ApiError::silence())? {
        return Err(conflict(&format!(
            "{}; this switch goes on as it was",
            kept::told(&port)
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
