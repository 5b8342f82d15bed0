//! Contents of a plan: the JSON of `switchctl plan`. Times are in µs, rates in Gbit/s, buffers in
//! bytes as they are charged.

use serde::Serialize;

/// A plan.
#[derive(Debug, Serialize)]
pub struct Plan {
    /// The file.
    pub file: String,
    /// `scenario` or `configuration`.
    pub kind: &'static str,
    /// False when a lossless buffer is too small for what comes after XOFF, or a budget for its round trip.
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
    /// Notes for the reader on the derivation of the plan.
    pub notes: Vec<String>,
}

/// A buffer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct IngressPlan {
    /// The switch.
    pub switch: String,
    /// The port that frames come in by.
    pub port: String,
    /// The class.
    pub class: String,
    /// `lossy`, `pfc` or `level`.
    pub mode: &'static str,
    /// `fabric` or `edge`.
    pub role: &'static str,
    /// The most that it holds.
    pub peak_bytes: u64,
    /// When it reaches xoff, or the end of a lossy buffer, first.
    pub xoff_at_us: Option<f64>,
    /// Pauses of the neighbour.
    pub pauses: Option<Pauses>,
    /// Room above xoff.
    pub headroom: Option<Headroom>,
    /// Budgets of a class of mode `level` behind a fabric port.
    pub budgets: Option<BudgetPlan>,
    /// Its frames go to several ports that have more to send than they can: peak and pauses are of the worst one, up to xoff and headroom.
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
    /// The file sets its headroom.
    #[serde(skip)]
    pub headroom_is_set: bool,
    /// Size above reserves and beside the headroom.
    pub size_bytes: u64,
    /// The headroom that its lossless buffers share.
    pub headroom_bytes: u64,
    /// Sum of their headrooms.
    pub headroom_wanted_bytes: u64,
    /// By how many times that may exceed the pool's headroom.
    pub oversubscription: u16,
    /// Ports times priorities.
    pub buffers: usize,
    /// Those of them that are lossless.
    pub lossless_buffers: usize,
    /// Part of one buffer that wants more while all others are empty: α·S/(1+α).
    pub alone_bytes: u64,
    /// Part of each of two: α·S/(1+2α).
    pub two_bytes: u64,
    /// Part of each while all want more: α·S/(1+α·N).
    pub all_bytes: u64,
    /// Packet memory for all of it, releases of the Deadlock Breaker included.
    pub memory_bytes: u64,
    /// Memory of separate buffers for each port, each as large as one that is alone in the pool.
    pub own_memory_bytes: u64,
}

/// Pauses of one neighbour.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pauses {
    /// Number of pauses that begin until `until_us`.
    pub count: usize,
    /// The first one takes effect.
    pub first_us: f64,
    /// The longest one that ends.
    pub longest_us: Option<f64>,
    /// Mean time from the beginning of one to the beginning of the next.
    pub period_us: Option<f64>,
    /// Share of the time that is spent in pauses, from the beginning of the first to that of the last, or to the end.
    pub duty: f64,
    /// The end of the prediction.
    pub until_us: f64,
}

/// Room above xoff.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Headroom {
    /// Configured headroom.
    pub configured_bytes: u64,
    /// Need of the planned flows' frames.
    pub needed_bytes: u64,
    /// Need of frames of any length.
    pub needed_any_frame_bytes: u64,
}

/// b_i ≥ γmax + rT for every i.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BudgetPlan {
    /// D.
    pub depth: usize,
    /// The least of b_1 to b_D.
    pub least_bytes: u64,
    /// γmax: the longest frame as it is charged.
    pub gamma_max_bytes: u64,
    /// rT: what arrives in the round trip time, and what lost Feedback costs.
    pub reserve_bytes: u64,
    /// Excess of the least budget over both; negative for a lack.
    pub spare_bytes: i64,
}

/// A queue.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EgressPlan {
    /// The switch.
    pub switch: String,
    /// The port that frames leave by.
    pub port: String,
    /// The class.
    pub class: String,
    /// Ingress ports that send to it.
    pub senders: usize,
    /// Rate on the line while all of them send.
    pub offered_gbps: f64,
    /// Minimum rate of the class on the line.
    pub rate_gbps: f64,
    /// The most that waits, in all ingress buffers together.
    pub peak_bytes: u64,
    /// In frame bytes, for frames as long as the longest one.
    pub peak_frame_bytes: u64,
    /// Longest time that a frame waits here, in order of arrival: h(α, β) for flows with rates below the port's, else the peak at the port's rate.
    pub delay_us: f64,
    /// Order of ECN and PFC.
    pub ecn: Option<EcnPlan>,
    /// X_on needed for the port to have frames to send until those released by a resumption arrive.
    pub xon_needed_bytes: Option<u64>,
}

/// Order of ECN and PFC.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EcnPlan {
    /// When the queue reaches K_min.
    pub kmin_at_us: Option<f64>,
    /// When it reaches K_max: each frame is marked from then on.
    pub kmax_at_us: Option<f64>,
    /// Time at which the first of these marks can have reached its sender.
    pub told_at_us: Option<f64>,
    /// When the first ingress buffer reaches xoff.
    pub xoff_at_us: Option<f64>,
    /// `no congestion`, `before`, `too late` (marked before xoff, received after it) or `after`.
    pub verdict: &'static str,
    /// The greatest K_max with which senders are notified in time.
    pub kmax_advised_bytes: Option<u64>,
}

/// A threshold to change.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advice {
    /// `loss`, `deadlock`, `throughput` or `ecn`: what it is about.
    pub about: &'static str,
    /// The class.
    pub class: String,
    /// The profile of the class that has the key; `null` for the class itself.
    pub ecn_profile: Option<String>,
    /// The pool of the class that has the key.
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
    /// The array of tables that has the key, and the name of its entry.
    pub fn place(&self) -> (&'static str, &str) {
        match (&self.ecn_profile, &self.pool) {
            (Some(profile), _) => ("ecn", profile),
            (None, Some(pool)) => ("pool", pool),
            (None, None) => ("class", &self.class),
        }
    }

    /// As an option of runs of scenarios, for a shell.
    pub fn as_override(&self) -> String {
        let (table, name) = self.place();
        let set = format!("{table}.{name}.{}={}", self.key, self.value);
        match set.contains(['[', ' ']) {
            true => format!("--set '{set}'"),
            false => format!("--set {set}"),
        }
    }

    /// As a line of its table.
    pub fn as_line(&self) -> String {
        match self.value.starts_with('[') {
            true => format!("{} = {}", self.key, self.value),
            false => format!("{} = \"{}\"", self.key, self.value),
        }
    }
}
