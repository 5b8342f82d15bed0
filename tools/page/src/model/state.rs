//! What the page is given: the whole fabric at one moment, bounded. Switches are named by their index in `switches`.
//! Units stand last in every name.

use serde::{Deserialize, Serialize};

/// How a switch or the fabric is, from good to bad; the page has a colour and a shape for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// Not asked yet.
    Waiting,
    /// Nothing is wrong.
    Well,
    /// It says so itself, or a part of a fabric is not well.
    Degraded,
    /// A deadlock is being broken, or was a moment ago.
    Recovering,
    /// There is no answer.
    Unreachable,
    /// It says so itself.
    Failing,
    /// Ports are suspected of a deadlock, and nothing is done about it yet.
    Locked,
}

/// `GET /state`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// When, by the wall clock of the machine that `weir-page` runs on, RFC 3339 in UTC.
    pub time: String,
    /// The same in seconds since 1970.
    pub unix_seconds: f64,
    /// Version of `weir-page`.
    pub version: String,
    /// How often each switch is asked.
    pub interval_seconds: f64,
    /// The worst that holds.
    pub condition: Condition,
    /// The same in one sentence.
    pub verdict: String,
    /// How many switches are how.
    pub counts: Counts,
    /// How the picture is laid out, in words.
    pub layout: String,
    /// In the order of their names.
    pub switches: Vec<Switch>,
    /// Between two of them.
    pub links: Vec<Link>,
    /// Who holds whom; what matters most first.
    pub pauses: Vec<Pause>,
    /// Pauses beyond those.
    pub pauses_left_out: usize,
    /// Where switches wait for each other in a circle.
    pub loops: Vec<Circle>,
    /// Suspicions of all switches, newest first.
    pub incidents: Vec<Incident>,
    /// Switches that were found and not taken, as there are too many.
    pub switches_left_out: usize,
}

/// How many switches are how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// All.
    pub switches: usize,
    /// Those that answer.
    pub reachable: usize,
    /// Well.
    pub well: usize,
    /// Degraded or failing.
    pub troubled: usize,
    /// Locked or recovering.
    pub suspected: usize,
    /// (port, priority) pairs that are suspected.
    pub suspicions: usize,
    /// Directions of links that are held now.
    pub held: usize,
}

/// One switch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Switch {
    /// As it was named to `weir-page`.
    pub name: String,
    /// What it calls itself, where that differs.
    pub called: Option<String>,
    /// From left to right, 0 to 1.
    pub x: f64,
    /// From top to bottom, 0 to 1.
    pub y: f64,
    /// How it is.
    pub condition: Condition,
    /// The same in one sentence.
    pub text: String,
    /// Why, and what to do, in sentences.
    pub reasons: Vec<String>,
    /// Its own page.
    pub page: Option<String>,
    /// The daemon's version.
    pub version: Option<String>,
    /// For how long it forwards.
    pub uptime_seconds: Option<f64>,
    /// Ports.
    pub ports: usize,
    /// Those of them with a link.
    pub ports_up: usize,
    /// (port, priority) pairs that are suspected.
    pub suspicions: usize,
    /// Frames dropped since its start.
    pub dropped: u64,
    /// How old what is shown is.
    pub age_seconds: Option<f64>,
    /// How long the last answer took.
    pub round_trip_seconds: Option<f64>,
    /// How its clock is read.
    pub clock: Option<Clock>,
}

/// How a switch's clock is read.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Clock {
    /// It is the clock of this machine.
    pub is_ours: bool,
    /// Our monotonic clock minus the switch's.
    pub offset_seconds: f64,
    /// The offset is wrong by no more than this.
    pub uncertainty_seconds: f64,
}

/// A link, or several between the same two switches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// One end.
    pub a: usize,
    /// The other end.
    pub b: usize,
    /// One end at least hears the other, and no port that hears it is down.
    pub is_up: bool,
}

/// A direction of a link that is held, or was since the answers before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pause {
    /// Who may not send; `None` for who is no switch of the fabric.
    pub held: Option<usize>,
    /// Its name.
    pub held_name: String,
    /// Who does not let it.
    pub by: Option<usize>,
    /// Its name.
    pub by_name: String,
    /// The ports at the end that may not send, or at the other one where only that is known.
    pub ports: Vec<String>,
    /// The priority.
    pub priority: u8,
    /// It is held now.
    pub now: bool,
    /// The part of the time since the answers before for which it was held, where the end that may not send tells.
    pub share: Option<f64>,
    /// The end that may not send is suspected of a deadlock there.
    pub suspected: bool,
    /// It is under the rule of a release.
    pub releasing: bool,
    /// It is part of one of `loops`.
    pub in_loop: bool,
}

/// A circle of pauses: each switch may not send to the next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Circle {
    /// The switches in order.
    pub switches: Vec<usize>,
    /// The priority.
    pub priority: u8,
    /// A port of it is suspected of a deadlock.
    pub suspected: bool,
    /// A port of it is under the rule of a release.
    pub releasing: bool,
    /// In one sentence.
    pub text: String,
}

/// Suspicions that belong together, on the clock of the machine that `weir-page` runs on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Incident {
    /// The same as long as the incident is told of.
    pub id: String,
    /// When the first suspicion began: RFC 3339 in UTC, and seconds since 1970. All times of lanes count from here.
    pub began_time: String,
    /// The same in seconds since 1970.
    pub began_unix_seconds: f64,
    /// From the first beginning to the last end, or until now.
    pub lasted_seconds: f64,
    /// A suspicion lasts.
    pub lasts: bool,
    /// Switches with a suspicion.
    pub switches: usize,
    /// In the order in which they began.
    pub lanes: Vec<Lane>,
    /// Suspicions beyond those.
    pub lanes_left_out: usize,
    /// In one sentence.
    pub text: String,
}

/// One suspicion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lane {
    /// The switch.
    pub switch: usize,
    /// The port that stood still.
    pub port: String,
    /// The priority.
    pub priority: u8,
    /// Since when nothing had left.
    pub idle_from_seconds: f64,
    /// When it was suspected.
    pub from_seconds: f64,
    /// When that ended, or until when it is known to last.
    pub to_seconds: f64,
    /// It lasts.
    pub lasts: bool,
    /// It ended, and nobody told when.
    pub end_unknown: bool,
    /// When the first release began.
    pub released_seconds: Option<f64>,
    /// Loops found at this port.
    pub loops_found: u64,
    /// All of these times may be wrong by as much.
    pub uncertainty_seconds: f64,
}
