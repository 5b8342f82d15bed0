//! Bodies of `/v1/restart`.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What `POST /v1/restart` answers: the daemon ends, and its keeper starts it anew.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Restarting {
    /// Process id of the daemon that ends. Whatever answers by another one is the new one.
    pub pid: u32,
}
