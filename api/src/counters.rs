//! `GET /v1/counters`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Every counter of one port, or of one priority of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// The port.
    pub port: String,
    /// The priority, 0 to 7; absent for what the port counts as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u8>,
    /// Values by name, with `_total` at its end. Only those that mean something in the priority's class.
    pub counters: BTreeMap<String, u64>,
}
