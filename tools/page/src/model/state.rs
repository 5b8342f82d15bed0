//! State for the page: the whole fabric at one time, bounded. Switches are referred to by their index in `switches`. Units
//! are the last part of every name.

use serde::{Deserialize, Serialize};

/// Condition of a switch or the fabric, from good to bad; the page has a colour and a shape for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// Not asked yet.
    Waiting,
    /// Nothing is wrong.
    Well,
    /// The switch reports it, or a part of a fabric is not well.
    Degraded,
    /// A deadlock is being resolved, or was recently.
    Recovering,
    /// There is no answer.
    Unreachable,
    /// The switch reports it.
    Failing,
    /// Ports are suspected of a deadlock, and nothing resolves it yet.
    Locked,
}

/// `GET /state`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// Time by the wall clock of `weir-page`'s machine, RFC 3339 in UTC.
    pub time: String,
    /// The same in seconds since 1970.
    pub unix_seconds: f64,
    /// Version of `weir-page`.
    pub version: String,
    /// Polling interval of each switch.
    pub interval_seconds: f64,
    /// Worst condition.
    pub condition: Condition,
    /// The same in one sentence.
    pub verdict: String,
    /// Numbers of switches by condition.
    pub counts: Counts,
    /// Kind of layout, in words.
    pub layout: String,
    /// Switches in the order of their names.
    pub switches: Vec<Switch>,
    /// Links between switches.
    pub links: Vec<Link>,
    /// Pauses, the most important first.
    pub pauses: Vec<Pause>,
    /// Number of further pauses.
    pub pauses_left_out: usize,
    /// Circles of switches that wait for each other.
    pub loops: Vec<Circle>,
    /// Suspicions of all switches, newest first.
    pub incidents: Vec<Incident>,
    /// Number of switches found beyond the maximum.
    pub switches_left_out: usize,
}

/// Numbers of switches by condition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// All switches.
    pub switches: usize,
    /// Switches that answer.
    pub reachable: usize,
    /// Switches that are well.
    pub well: usize,
    /// Switches that are degraded or failing.
    pub troubled: usize,
    /// Switches that are locked or recovering.
    pub suspected: usize,
    /// Suspected (port, priority) pairs.
    pub suspicions: usize,
    /// Paused directions of links.
    pub held: usize,
}

/// One switch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Switch {
    /// Name given to `weir-page`.
    pub name: String,
    /// Its own name, if different.
    pub called: Option<String>,
    /// From left to right, 0 to 1.
    pub x: f64,
    /// From top to bottom, 0 to 1.
    pub y: f64,
    /// Condition.
    pub condition: Condition,
    /// The same in one sentence.
    pub text: String,
    /// Reasons and remedies, in sentences.
    pub reasons: Vec<String>,
    /// Its own page.
    pub page: Option<String>,
    /// The daemon's version.
    pub version: Option<String>,
    /// Time since it began to forward.
    pub uptime_seconds: Option<f64>,
    /// Number of ports.
    pub ports: usize,
    /// Number of ports with a link.
    pub ports_up: usize,
    /// Suspected (port, priority) pairs.
    pub suspicions: usize,
    /// Frames dropped since its start.
    pub dropped: u64,
    /// Age of the shown data.
    pub age_seconds: Option<f64>,
    /// Duration of the last request.
    pub round_trip_seconds: Option<f64>,
    /// Clock of the switch.
    pub clock: Option<Clock>,
}

/// Clock of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Clock {
    /// True if it is this machine's clock.
    pub is_ours: bool,
    /// Local monotonic clock minus the switch's.
    pub offset_seconds: f64,
    /// Maximum error of the offset.
    pub uncertainty_seconds: f64,
}

/// A link, or several between the same two switches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// One end.
    pub a: usize,
    /// The other end.
    pub b: usize,
    /// True if at least one end receives the other's messages, and no such port is down.
    pub is_up: bool,
}

/// A direction of a link that is paused, or was since the previous answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pause {
    /// The paused switch; `None` if it is not part of the fabric.
    pub held: Option<usize>,
    /// Its name.
    pub held_name: String,
    /// The switch that pauses it.
    pub by: Option<usize>,
    /// Its name.
    pub by_name: String,
    /// The ports at the paused end, or at the other one if only that is known.
    pub ports: Vec<String>,
    /// The priority.
    pub priority: u8,
    /// True if it is paused now.
    pub now: bool,
    /// Share of the time since the previous answers for which it was paused, if the paused end reports it.
    pub share: Option<f64>,
    /// True if the paused end is suspected of a deadlock there.
    pub suspected: bool,
    /// True during a release.
    pub releasing: bool,
    /// True if it is part of one of `loops`.
    pub in_loop: bool,
}

/// A circle of pauses: each switch may not send to the next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Circle {
    /// The switches in order.
    pub switches: Vec<usize>,
    /// The priority.
    pub priority: u8,
    /// True if one of its ports is suspected of a deadlock.
    pub suspected: bool,
    /// True during a release at one of its ports.
    pub releasing: bool,
    /// Description in one sentence.
    pub text: String,
}

/// Suspicions that belong together, on the clock of `weir-page`'s machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Incident {
    /// ID, constant as long as the incident is shown.
    pub id: String,
    /// Beginning of the first suspicion, RFC 3339 in UTC. Times of lanes count from it.
    pub began_time: String,
    /// The same in seconds since 1970.
    pub began_unix_seconds: f64,
    /// Time from the first beginning to the last end, or until now.
    pub lasted_seconds: f64,
    /// True while a suspicion lasts.
    pub lasts: bool,
    /// Number of switches with a suspicion.
    pub switches: usize,
    /// Suspicions in the order of their beginnings.
    pub lanes: Vec<Lane>,
    /// Number of further suspicions.
    pub lanes_left_out: usize,
    /// Description in one sentence.
    pub text: String,
}

/// One suspicion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lane {
    /// The switch.
    pub switch: usize,
    /// The stalled port.
    pub port: String,
    /// The priority.
    pub priority: u8,
    /// Time since which nothing had left.
    pub idle_from_seconds: f64,
    /// Time of the suspicion.
    pub from_seconds: f64,
    /// Time of its end, or until which it is known to last.
    pub to_seconds: f64,
    /// True while it lasts.
    pub lasts: bool,
    /// True if its end is unknown.
    pub end_unknown: bool,
    /// Start of the first release.
    pub released_seconds: Option<f64>,
    /// Loops found at this port.
    pub loops_found: u64,
    /// Maximum error of all these times.
    pub uncertainty_seconds: f64,
}
