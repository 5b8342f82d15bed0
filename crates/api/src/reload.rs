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
    /// Settings of the file that are not in force, by key: each of them was impossible. Then nothing of the file is applied,
    /// unless it is `log.level` alone that the command line overrides.
    pub kept: Vec<KeptSetting>,
    /// Settings that could be in force and are not, because of `kept`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held_back: Vec<AppliedSetting>,
    /// Unless `POST /v1/reload/confirm` comes within this many seconds, what was in force before is put in force again. `null`
    /// where nothing has to be confirmed: nothing was asked for, or nothing was applied.
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

/// What `GET /v1/config/history` answers: the configuration files that were put in force last, the oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConfigurationHistory {
    /// Where they are kept.
    pub directory: String,
    /// Ten at most, none the same as the one before it.
    pub configurations: Vec<Past>,
}

/// A configuration file that was put in force.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Past {
    /// By which it is asked for. The next one has the next number.
    pub number: u64,
    /// When, in seconds since 1970, UTC.
    pub unix_seconds: u64,
    /// By what: `start` or `reload`.
    pub came: String,
}

/// What `GET /v1/config/history/NUMBER` answers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PastConfiguration {
    /// Which it is.
    #[serde(flatten)]
    pub past: Past,
    /// The file as it was, comments included.
    pub text: String,
}

/// What `GET /v1/config` answers: what is in force, with what reloads have changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Configuration {
    /// The configuration file that the daemon reads.
    pub file: String,
    /// The configuration as TOML that a daemon reads back, defaults written out.
    pub text: String,
    /// The same with what was changed at run time since then: routes, pins of flows, profiles of ECN marking and storm watchdogs. What
    /// `switchctl config save` writes into the file.
    #[serde(default)]
    pub now: String,
    /// What was changed at run time, by key.
    #[serde(default)]
    pub by_hand: Vec<AppliedSetting>,
    /// Chunks of packet memory for buffers, as many as the configuration asked for with which the daemon began.
    pub buffer_chunks: u64,
    /// True where the command line says what is logged, so that a reload leaves `log.level` as it is.
    pub log_level_fixed: bool,
}
