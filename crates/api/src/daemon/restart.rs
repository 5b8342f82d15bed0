//! Bodies of `/v1/restart`.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Answer to `POST /v1/restart`: the daemon ends, and its keeper starts it again. With `check`: the next daemon could
/// start, and nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Restarting {
    /// Process id of the daemon that ends, or with `check` continues. An answer from another process is the new
    /// daemon's.
    pub pid: u32,
    /// Process id of its keeper, in the daemon's PID namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keeper_pid: Option<u32>,
}
