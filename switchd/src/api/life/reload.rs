//! `/v1/reload`.

use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::Json;
use serde::Deserialize;
use weir_api::reload::Reload;

use crate::api::ApiError;
use crate::control::ReloadError;
use crate::control::Shared;

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(in crate::api) struct ReloadQuery {
    dry_run: bool,
}

pub(in crate::api) async fn reload(
    State(shared): State<Arc<Shared>>,
    query: Result<Query<ReloadQuery>, QueryRejection>,
) -> Result<Json<Reload>, ApiError> {
    let Query(ReloadQuery { dry_run }) = query?;
    let Some(reloader) = shared.life.reloader() else {
        return Err(ApiError {
            status: StatusCode::CONFLICT,
            error: "this daemon was started without a configuration file".to_owned(),
        });
    };
    Ok(Json(reloader.reload(&shared, dry_run).await?))
}

impl From<ReloadError> for ApiError {
    fn from(error: ReloadError) -> Self {
        Self::bad_request(error.to_string())
    }
}
