//! `GET /v1/audit`.

use std::sync::Arc;

use super::ApiError;
use crate::control::shared::Published;
use crate::control::Shared;

/// Returns a snapshot that includes the loop's accounts.
pub(super) async fn with_accounts(shared: &Shared) -> Result<Arc<Published>, ApiError> {
    let snapshot = shared.dataplane.inspect_accounts().await;
    snapshot.ok_or_else(ApiError::silence)
}
