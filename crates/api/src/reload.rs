//! Bodies of `/v1/reload` and `/v1/config`.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Answer to `POST /v1/reload`: the file was valid.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Reload {
    /// The configuration file that was read.
    pub file: String,
    /// True if nothing was changed, because only a check was requested.
    pub dry_run: bool,
    /// Settings now in force, by key.
    pub applied: Vec<AppliedSetting>,
    /// Settings of the file that could not be applied, by key. If there are any, none of the file is applied, unless
    /// it is only `log.level`, which the command line overrides.
    pub kept: Vec<KeptSetting>,
    /// Settings that could be applied but were not, because of `kept`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held_back: Vec<AppliedSetting>,
    /// Without `POST /v1/reload/confirm` within this many seconds, the previous configuration is restored. `null` if no
    /// confirmation is needed: none was requested, or nothing was applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirm_seconds: Option<f64>,
}

/// Maximum time for a confirmation, in seconds.
pub const CONFIRM_SECONDS_MAX: f64 = 86_400.0;

/// Answer to `POST /v1/reload/confirm`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Confirmed {
    /// The configuration file whose settings are kept.
    pub file: String,
    /// Remaining time in seconds.
    pub seconds_left: f64,
}

/// A changed setting. Values are as in a configuration file; `null` if there is none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AppliedSetting {
    /// Its key, such as `class.lossless.xoff`: classes and ports by name, routes by destination.
    pub key: String,
    /// Previous value.
    pub from: Option<String>,
    /// New value.
    pub to: Option<String>,
}

/// A setting of the file that is not in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct KeptSetting {
    /// Its key, as for settings in force.
    pub key: String,
    /// The value in force.
    pub running: Option<String>,
    /// The value in the file.
    pub file: Option<String>,
    /// The reason, and the remedy.
    pub why: String,
}

/// Answer to `GET /v1/config/history`: the last configuration files in force, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConfigurationHistory {
    /// Directory of the stored files.
    pub directory: String,
    /// At most ten, each different from the previous one.
    pub configurations: Vec<Past>,
}

/// A configuration file that was in force.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Past {
    /// Its number, for requests. Numbers are consecutive.
    pub number: u64,
    /// Time at which it came into force, in seconds since 1970, UTC.
    pub unix_seconds: u64,
    /// Cause of its activation: `start` or `reload`.
    pub came: String,
}

/// Answer to `GET /v1/config/history/NUMBER`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PastConfiguration {
    /// Number, time and origin.
    #[serde(flatten)]
    pub past: Past,
    /// The text of the file, comments included.
    pub text: String,
}

/// Answer to `GET /v1/config`: the configuration in force, including reloads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Configuration {
    /// The configuration file that the daemon reads.
    pub file: String,
    /// The configuration as TOML that a daemon can read, with explicit defaults.
    pub text: String,
    /// The same with changes made at run time since then: routes, pins of flows, profiles of ECN marking and storm
    /// watchdogs. `switchctl config save` writes these into the file.
    #[serde(default)]
    pub now: String,
    /// Changes made at run time, by key.
    #[serde(default)]
    pub by_hand: Vec<AppliedSetting>,
    /// Chunks of packet memory for buffers, as configured when the daemon started.
    pub buffer_chunks: u64,
    /// True if the command line sets the log level, so that a reload does not change `log.level`.
    pub log_level_fixed: bool,
}
