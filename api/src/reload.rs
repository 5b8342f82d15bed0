//! Bodies of `/v1/reload` and `/v1/config`.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What `POST /v1/reload` answers: the file was legal.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Reload {
    /// The configuration file that was read.
    pub file: String,
    /// True when nothing was changed: it was only asked what would be.
    pub dry_run: bool,
    /// Settings that are in force from now on, by key.
    pub applied: Vec<AppliedSetting>,
    /// Settings of the file that are not in force, by key.
    pub kept: Vec<KeptSetting>,
    /// Unless `POST /v1/reload/confirm` comes within this many seconds, what was in force before is put in force again. `null`
    /// where nothing has to be confirmed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirm_seconds: Option<f64>,
}

/// The longest time for a confirmation, in seconds.
pub const CONFIRM_SECONDS_MAX: f64 = 86_400.0;

/// What `POST /v1/reload/confirm` answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Confirmed {
    /// The configuration file whose settings stay.
    pub file: String,
    /// How many seconds were left.
    pub seconds_left: f64,
}

/// A setting that has changed. Values are as a configuration file writes them; `null` where there is none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AppliedSetting {
    /// Such as `class.lossless.xoff`: classes and ports by name, routes by destination.
    pub key: String,
    /// Before.
    pub from: Option<String>,
    /// From now on.
    pub to: Option<String>,
}

/// A setting of the file that is not in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct KeptSetting {
    /// Such as `class.lossless.xoff`, as for settings that are in force.
    pub key: String,
    /// What is in force.
    pub running: Option<String>,
    /// What the file says.
    pub file: Option<String>,
    /// Why, and what to do.
    pub why: String,
}

/// What `GET /v1/config` answers: what is in force, with what reloads have changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Configuration {
    /// The configuration file that the daemon reads.
    pub file: String,
    /// The configuration as TOML that a daemon reads back, defaults written out.
    pub text: String,
    /// Chunks of packet memory for buffers, as many as the configuration asked for with which the daemon began.
    pub buffer_chunks: u64,
    /// True where the command line says what is logged, so that a reload leaves `log.level` as it is.
    pub log_level_fixed: bool,
}
