//! Contents of a plan: the JSON of `switchctl plan`. Times are in µs, rates in Gbit/s, buffers in charged bytes.

use serde::Serialize;

/// A plan.
#[derive(Debug, Serialize)]
pub struct Plan {
    /// The file.
    pub file: String,
    /// `scenario` or `configuration`.
    pub kind: &'static str,
    /// False if a lossless buffer is too small for frames after XOFF, or a budget for its round trip.
    pub lossless: bool,
    /// By switch, class and ingress port.
    pub ingress: Vec<IngressPlan>,
    /// By switch, class and egress port.
    pub egress: Vec<EgressPlan>,
    /// By switch and pool, if there are any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pools: Vec<PoolPlan>,
    /// Advised changes.
    pub advice: Vec<Advice>,
    /// Notes on the derivation of the plan.
    pub notes: Vec<String>,
}

/// A buffer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct IngressPlan {
    /// The switch.
    pub switch: String,
    /// Ingress port.
    pub port: String,
    /// The class.
    pub class: String,
    /// `lossy`, `pfc` or `level`.
    pub mode: &'static str,
    /// `fabric` or `edge`.
    pub role: &'static str,
    /// Maximum contents.
    pub peak_bytes: u64,
    /// First time at which it reaches xoff, or the size of a lossy buffer.
    pub xoff_at_us: Option<f64>,
    /// Pauses of the neighbour.
    pub pauses: Option<Pauses>,
    /// Buffer above xoff.
    pub headroom: Option<Headroom>,
    /// Budgets of a class of mode `level` behind a fabric port.
    pub budgets: Option<BudgetPlan>,
    /// True if its frames go to several overloaded ports: peak and pauses are those of the worst one, up to xoff and
    /// headroom.
    pub shared: bool,
}

/// Memory that buffers share.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PoolPlan {
    /// The switch.
    pub switch: String,
    /// The pool.
    pub pool: String,
    /// Ports of the switch.
    #[serde(skip)]
    pub ports: usize,
    /// True if the file sets its headroom.
    #[serde(skip)]
    pub headroom_is_set: bool,
    /// Size without reserves and headroom.
    pub size_bytes: u64,
    /// Headroom shared by its lossless buffers.
    pub headroom_bytes: u64,
    /// Sum of their headrooms.
    pub headroom_wanted_bytes: u64,
    /// Factor by which that sum may exceed the pool's headroom.
    pub oversubscription: u16,
    /// Ports times priorities.
    pub buffers: usize,
    /// Number of lossless buffers among them.
    pub lossless_buffers: usize,
    /// Part of one growing buffer while all others are empty: α·S/(1+α).
    pub alone_bytes: u64,
    /// Part of each of two: α·S/(1+2α).
    pub two_bytes: u64,
    /// Part of each while all grow: α·S/(1+α·N).
    pub all_bytes: u64,
    /// Packet memory for everything, including releases of the Deadlock Breaker.
    pub memory_bytes: u64,
    /// Memory of separate buffers per port, each as large as one that is alone in the pool.
    pub own_memory_bytes: u64,
}

/// Pauses of one neighbour.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pauses {
    /// Number of pauses that begin until `until_us`.
    pub count: usize,
    /// Time at which the first one takes effect.
    pub first_us: f64,
    /// Longest finished pause.
    pub longest_us: Option<f64>,
    /// Mean time between the beginnings of consecutive pauses.
    pub period_us: Option<f64>,
    /// Share of paused time, from the beginning of the first pause to that of the last, or to the end.
    pub duty: f64,
    /// End of the prediction.
    pub until_us: f64,
}

/// Buffer above xoff.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Headroom {
    /// Configured headroom.
    pub configured_bytes: u64,
    /// Required for the planned flows' frames.
    pub needed_bytes: u64,
    /// Required for frames of any length.
    pub needed_any_frame_bytes: u64,
}

/// b_i ≥ γmax + rT for every i.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BudgetPlan {
    /// D.
    pub depth: usize,
    /// Minimum of b_1 to b_D.
    pub least_bytes: u64,
    /// γmax: the charge of the longest frame.
    pub gamma_max_bytes: u64,
    /// rT: arrivals within the round-trip time, and the cost of lost Feedback.
    pub reserve_bytes: u64,
    /// Difference of the smallest budget and the sum of both; negative if it is too small.
    pub spare_bytes: i64,
}

/// A queue.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EgressPlan {
    /// The switch.
    pub switch: String,
    /// Egress port.
    pub port: String,
    /// The class.
    pub class: String,
    /// Ingress ports that send to it.
    pub senders: usize,
    /// Total rate on the line while all of them send.
    pub offered_gbps: f64,
    /// Minimum rate of the class on the line.
    pub rate_gbps: f64,
    /// Maximum backlog in all ingress buffers together.
    pub peak_bytes: u64,
    /// The same in frame bytes, for frames of the maximum length.
    pub peak_frame_bytes: u64,
    /// Longest waiting time of a frame, in order of arrival: h(α, β) for flows with rates below the port's, otherwise the
    /// peak at the port's rate.
    pub delay_us: f64,
    /// Order of ECN and PFC.
    pub ecn: Option<EcnPlan>,
    /// X_on required for the port to have frames to send until those released by a resumption arrive.
    pub xon_needed_bytes: Option<u64>,
}

/// Order of ECN and PFC.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EcnPlan {
    /// Time at which the queue reaches K_min.
    pub kmin_at_us: Option<f64>,
    /// Time at which it reaches K_max, from which on each frame is marked.
    pub kmax_at_us: Option<f64>,
    /// Earliest time at which the first of these marks reaches its sender.
    pub told_at_us: Option<f64>,
    /// Time at which the first ingress buffer reaches xoff.
    pub xoff_at_us: Option<f64>,
    /// `no congestion`, `before`, `too late` (marked before xoff, received after it) or `after`.
    pub verdict: &'static str,
    /// Largest K_max with which senders are notified in time.
    pub kmax_advised_bytes: Option<u64>,
}

/// A threshold to change.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advice {
    /// Subject: `loss`, `deadlock`, `throughput` or `ecn`.
    pub about: &'static str,
    /// The class.
    pub class: String,
    /// The class's profile, if that has the key; `null` for the class itself.
    pub ecn_profile: Option<String>,
    /// The class's pool, if that has the key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pool: Option<String>,
    /// The key of `[[class]]`, `[[pool]]` or `[[ecn]]`.
    pub key: &'static str,
    /// The value in the file's units.
    pub value: String,
    /// Why.
    pub why: String,
}

impl Advice {
    /// Returns the array of tables that has the key, and the name of its entry.
    pub fn place(&self) -> (&'static str, &str) {
        match (&self.ecn_profile, &self.pool) {
            (Some(profile), _) => ("ecn", profile),
            (None, Some(pool)) => ("pool", pool),
            (None, None) => ("class", &self.class),
        }
    }

    /// Formats it as an option for runs of scenarios, for a shell.
    pub fn as_override(&self) -> String {
        let (table, name) = self.place();
        let set = format!("{table}.{name}.{}={}", self.key, self.value);
        match set.contains(['[', ' ']) {
            true => format!("--set '{set}'"),
            false => format!("--set {set}"),
        }
    }

    /// Formats it as a line of its table.
    pub fn as_line(&self) -> String {
        match self.value.starts_with('[') {
            true => format!("{} = {}", self.key, self.value),
            false => format!("{} = \"{}\"", self.key, self.value),
        }
    }
}
