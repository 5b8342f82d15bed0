//! `/v1/impairments`: impairments of frames and links requested by an operator.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Maximum duration of an impairment, in seconds.
pub const IMPAIR_SECONDS_MAX: f64 = 3_600.0;
/// Maximum delay of a frame, in seconds.
pub const DELAY_SECONDS_MAX: f64 = 10.0;
/// Minimum part of a duty cycle, in seconds.
pub const DUTY_SECONDS_MIN: f64 = 0.001;

/// Maximum number of concurrent impairments of a switch.
pub const IMPAIRMENTS_MAX: usize = 8;

/// Kind of impairment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Impair {
    /// Received frames are dropped.
    #[default]
    Drop,
    /// Received frames reach the switch late.
    Delay,
    /// Received frames are marked Congestion Experienced, if their transport is ECN-capable.
    Mark,
    /// The neighbour is paused for part of the time.
    Pause,
    /// The link is treated as down for part of the time.
    Flap,
}

impl Impair {
    /// Returns true for impairments of frames, false for those of a neighbour or a link.
    pub fn is_of_frames(self) -> bool {
        matches!(self, Self::Drop | Self::Delay | Self::Mark)
    }

    /// Name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Drop => "drop",
            Self::Delay => "delay",
            Self::Mark => "mark",
            Self::Pause => "pause",
            Self::Flap => "flap",
        }
    }
}

/// `POST /v1/impairments`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ImpairRequest {
    /// Kind of impairment.
    pub what: Impair,
    /// Ingress port of the frames, or port of the neighbour or link.
    pub port: String,
    /// Filter expression, as in captures; empty for all frames. For `drop`, `delay` and `mark`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub filter: String,
    /// One in this number of matching frames; 1 for all. For `drop`, `delay` and `mark`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub one_in: Option<u64>,
    /// Delay, up to 10 s. For `delay`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_seconds: Option<f64>,
    /// Priority of the pauses. For `pause`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u8>,
    /// Duration of each pause or outage. For `pause` and `flap`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_seconds: Option<f64>,
    /// Time from one start to the next. For `pause` and `flap`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period_seconds: Option<f64>,
    /// Duration of the impairment, up to 3600 s.
    pub seconds: f64,
}

/// An impairment in force.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Impairment {
    /// Its number.
    pub id: u64,
    /// The request.
    pub request: ImpairRequest,
    /// Time until it ends.
    pub seconds_left: f64,
    /// Frames that matched the filter.
    pub matched_total: u64,
    /// Impaired frames; for `pause` and `flap`, number of times.
    pub impaired_total: u64,
    /// Frames dropped instead of delayed, because 1024 were delayed already.
    pub overflowed_total: u64,
}
