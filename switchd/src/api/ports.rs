//! `/v1/ports`: ports, and the state of their devices.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::Json;
use weir_api::daemon::{Port, PortChange};

use super::{views, ApiError};
use crate::control::Shared;

const CHANGE_WAIT: Duration = Duration::from_secs(5);
/// Polling interval for completion of a change.
const LOOK: Duration = Duration::from_millis(10);

pub(super) async fn list(State(shared): State<Arc<Shared>>) -> Json<Vec<Port>> {
    let snapshot = shared.dataplane.fresh_snapshot().await;
    Json(views::ports(&shared, &snapshot))
}

pub(super) async fn set(
    State(shared): State<Arc<Shared>>,
    Path(name): Path<String>,
    change: Result<Json<PortChange>, JsonRejection>,
) -> Result<Json<Port>, ApiError> {
    let Json(PortChange { device }) = change?;
    let port = shared.info.find_port(&name).map_err(|missing| ApiError {
        status: StatusCode::NOT_FOUND,
        error: missing.to_string(),
    })?;
    shared.set_removed(port, !device).await;
    let info = &shared.info.ports[port.index()];
    let settled = async {
        // The daemon keeps waiting for a device that is missing or unusable; the request does not.
        while info.attached.get().is_absent() == device && !(device && shared.links.was_tried(port))
        {
            tokio::time::sleep(LOOK).await;
        }
    };
    let _ = tokio::time::timeout(CHANGE_WAIT, settled).await;
    let Json(ports) = list(State(shared)).await;
    let port = ports.into_iter().nth(port.index());
    port.map(Json).ok_or_else(ApiError::silence)
}
