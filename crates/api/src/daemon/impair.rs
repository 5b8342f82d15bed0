//! `/v1/impairments`: what an operator has asked to be done to frames and links.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The longest impairment, in seconds.
pub const IMPAIR_SECONDS_MAX: f64 = 3_600.0;
/// The longest delay of a frame, in seconds.
pub const DELAY_SECONDS_MAX: f64 = 10.0;
/// The shortest part of a duty cycle, in seconds.
pub const DUTY_SECONDS_MIN: f64 = 0.001;

/// Impairments of a switch at a time.
pub const IMPAIRMENTS_MAX: usize = 8;

/// What is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Impair {
    /// Frames that come in are dropped.
    #[default]
    Drop,
    /// The switch gets frames that come in later.
    Delay,
    /// Frames that come in are marked Congestion Experienced, if their transport knows ECN.
    Mark,
    /// The neighbour is paused for a part of the time.
    Pause,
    /// The link is taken for down for a part of the time.
    Flap,
}

impl Impair {
    /// True for what is done to frames, false for what is done to a neighbour or a link for a part of the time.
    pub fn is_of_frames(self) -> bool {
        matches!(self, Self::Drop | Self::Delay | Self::Mark)
    }

    /// As in JSON.
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
    /// What is done.
    pub what: Impair,
    /// The port that frames come in by, or whose neighbour or link it is.
    pub port: String,
    /// Which frames, as in captures; empty for all. For `drop`, `delay` and `mark`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub filter: String,
    /// Of those each one of this number; 1 for all. For `drop`, `delay` and `mark`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub one_in: Option<u64>,
    /// How much later, up to 10 s. For `delay`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_seconds: Option<f64>,
    /// Of the pauses. For `pause`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u8>,
    /// For how long the neighbour is paused, or the link is down, each time. For `pause` and `flap`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_seconds: Option<f64>,
    /// From one beginning to the next. For `pause` and `flap`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period_seconds: Option<f64>,
    /// After how long it ends by itself, up to 3600 s.
    pub seconds: f64,
}

/// One that is in force.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Impairment {
    /// Its number.
    pub id: u64,
    /// What was asked for.
    pub request: ImpairRequest,
    /// When it ends by itself.
    pub seconds_left: f64,
    /// Frames that the filter let through.
    pub matched_total: u64,
    /// Frames among them to which it was done; for `pause` and `flap`, how often.
    pub impaired_total: u64,
    /// Frames that were to be delayed and were dropped, because 1024 were delayed already.
    pub overflowed_total: u64,
}
