//! `/v1/reload` and `/v1/config`.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::Json;
use serde::Deserialize;
use weir_api::reload::{
    Configuration, ConfigurationHistory, Confirmed, PastConfiguration, Reload, CONFIRM_SECONDS_MAX,
};

use crate::api::ApiError;
use crate::control::{ReloadError, Reloading, Shared};

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(in crate::api) struct ReloadQuery {
    dry_run: bool,
    confirm_seconds: f64,
}

pub(in crate::api) async fn reload(
    State(shared): State<Arc<Shared>>,
    query: Result<Query<ReloadQuery>, QueryRejection>,
) -> Result<Json<Reload>, ApiError> {
    let Query(ReloadQuery {
        dry_run,
        confirm_seconds,
    }) = query?;
    if !(0.0..=CONFIRM_SECONDS_MAX).contains(&confirm_seconds) {
        return Err(ApiError::bad_request(format!(
            "confirm_seconds must be a number from 0 to {CONFIRM_SECONDS_MAX}, not {confirm_seconds}"
        )));
    }
    let confirm =
        (confirm_seconds > 0.0 && !dry_run).then(|| Duration::from_secs_f64(confirm_seconds));
    let report = reloader(&shared)?.reload(&shared, dry_run, confirm).await?;
    if let Some(confirm) = confirm {
        let shared = Arc::clone(&shared);
        // Ends with the daemon. If the reload was confirmed in the meantime, there is nothing to do.
        tokio::spawn(async move {
            tokio::time::sleep(confirm + AFTERWARDS).await;
            if let Some(reloader) = shared.life.reloader() {
                reloader.revert(&shared).await;
            }
        });
    }
    Ok(Json(report))
}

/// Margin after which the time for a confirmation is certainly over.
const AFTERWARDS: Duration = Duration::from_millis(1);

pub(in crate::api) async fn confirm(
    State(shared): State<Arc<Shared>>,
) -> Result<Json<Confirmed>, ApiError> {
    let (file, left) = reloader(&shared)?.confirm(&shared).await?;
    let seconds_left = left.as_secs_f64();
    Ok(Json(Confirmed { file, seconds_left }))
}

pub(in crate::api) async fn running(
    State(shared): State<Arc<Shared>>,
) -> Result<Json<Configuration>, ApiError> {
    Ok(Json(reloader(&shared)?.running(&shared).await))
}

pub(in crate::api) async fn history(
    State(shared): State<Arc<Shared>>,
) -> Result<Json<ConfigurationHistory>, ApiError> {
    Ok(Json(reloader(&shared)?.history().await?))
}

pub(in crate::api) async fn past(
    State(shared): State<Arc<Shared>>,
    Path(number): Path<String>,
) -> Result<Json<PastConfiguration>, ApiError> {
    let parsed = number.parse().map_err(|_| {
        ApiError::bad_request(format!(
            "invalid number `{number}`; write one of GET /v1/config/history"
        ))
    });
    Ok(Json(reloader(&shared)?.past(parsed?).await?))
}

fn reloader(shared: &Shared) -> Result<&dyn Reloading, ApiError> {
    shared.life.reloader().ok_or_else(|| ApiError {
        status: StatusCode::CONFLICT,
        error: "this daemon was started without a configuration file".to_owned(),
    })
}

impl From<ReloadError> for ApiError {
    fn from(error: ReloadError) -> Self {
        let status = match error {
            ReloadError::Unconfirmed { .. } | ReloadError::NothingToConfirm => StatusCode::CONFLICT,
            ReloadError::File(_)
            | ReloadError::Task(_)
            | ReloadError::Moved { .. }
            | ReloadError::Memory { .. }
            | ReloadError::Taken { .. } => StatusCode::BAD_REQUEST,
            ReloadError::NoSuchPast(_) => StatusCode::NOT_FOUND,
            ReloadError::History(_) => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self {
            status,
            error: error.to_string(),
        }
    }
}
