//! Suspicions of all switches on a common clock, grouped into incidents of suspicions close in time.

use super::switch::Watched;

/// A suspicion that begins this long after the end of the others starts another incident.
pub const GAP_NANOS: i64 = 500_000_000;
/// A continuing incident is split after this time.
pub const LENGTH_NANOS: i64 = 30_000_000_000;
/// Maximum number of incidents shown, the newest.
pub const INCIDENTS_MAX: usize = 24;
/// Maximum number of suspicions shown per incident, the first.
pub const LANES_MAX: usize = 32;

/// One suspicion on the local clock.
#[derive(Clone, Debug, PartialEq)]
pub struct Lane {
    /// Index of the switch.
    pub switch: usize,
    /// The stalled port.
    pub port: String,
    /// The priority.
    pub priority: u8,
    /// Time since which nothing had left.
    pub idle_from: i64,
    /// Time of the suspicion.
    pub from: i64,
    /// Time of its end, or until which it is known to last.
    pub to: i64,
    /// True while it lasts.
    pub lasts: bool,
    /// True if its end is unknown, because the daemon or the connection was lost.
    pub end_unknown: bool,
    /// Start of the first release.
    pub released: Option<i64>,
    /// Loops found at this port.
    pub loops_found: u64,
    /// Number of releases, reroutes and moved flows.
    pub helped: u64,
    /// Maximum error of all times.
    pub uncertainty: i64,
}

/// Suspicions that belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct Incident {
    /// Its first suspicion: index of the switch, and the beginning on that switch's clock.
    pub first: (usize, u64),
    /// Suspicions in the order of their beginnings; at most [`LANES_MAX`].
    pub lanes: Vec<Lane>,
    /// Number of further suspicions.
    pub left_out: usize,
    /// Beginning of the first one.
    pub from: i64,
    /// End of the last one.
    pub to: i64,
    /// True while one of them lasts.
    pub lasts: bool,
    /// Number of switches involved.
    pub switches: usize,
}

/// Returns all suspicions at local time `now`, as incidents, newest first.
pub fn incidents(switches: &[&Watched], now: i64) -> Vec<Incident> {
    let all = switches.iter().enumerate();
    let mut lanes: Vec<(u64, Lane)> = all
        .flat_map(|(index, switch)| lanes(index, switch, now))
        .collect();
    lanes.sort_by_key(|(began, lane)| (lane.from, lane.switch, *began));
    let mut found: Vec<(Incident, Vec<usize>)> = Vec::new();
    for (began, lane) in lanes {
        let goes_on = found.last().is_some_and(|(last, _)| {
            lane.from.saturating_sub(last.to) <= GAP_NANOS
                && lane.from.saturating_sub(last.from) <= LENGTH_NANOS
        });
        if !goes_on {
            let incident = Incident {
                first: (lane.switch, began),
                lanes: Vec::new(),
                left_out: 0,
                from: lane.from,
                to: lane.to,
                lasts: false,
                switches: 0,
            };
            found.push((incident, Vec::new()));
        }
        if let Some((incident, parts)) = found.last_mut() {
            incident.add(lane, parts);
        }
    }
    let newest = found.into_iter().rev().take(INCIDENTS_MAX);
    newest.map(|(incident, _)| incident).collect()
}

impl Incident {
    fn add(&mut self, lane: Lane, parts: &mut Vec<usize>) {
        self.to = self.to.max(lane.to);
        self.lasts |= lane.lasts;
        if !parts.contains(&lane.switch) {
            parts.push(lane.switch);
            self.switches += 1;
        }
        if self.lanes.len() < LANES_MAX {
            self.lanes.push(lane);
        } else {
            self.left_out += 1;
        }
    }
}

fn lanes(index: usize, switch: &Watched, now: i64) -> Vec<(u64, Lane)> {
    let Some(offset) = switch.offset(now) else {
        return Vec::new();
    };
    let lane = |suspicion: &super::switch::Suspicion| {
        let deadlock = &suspicion.deadlock;
        let from = offset.to_ours(deadlock.began_monotonic_nanos);
        let ended = deadlock
            .lasted_seconds
            .map(|span| from.saturating_add(nanos(span)));
        let reachable = switch.trouble.is_none() && suspicion.is_known;
        let until = if reachable { now } else { suspicion.seen };
        let lane = Lane {
            switch: index,
            port: deadlock.port.clone(),
            priority: deadlock.priority,
            idle_from: from.saturating_sub(nanos(deadlock.idle_seconds)),
            from,
            to: ended.unwrap_or(until).max(from),
            lasts: ended.is_none() && reachable,
            end_unknown: ended.is_none() && !reachable,
            released: deadlock
                .first_release_seconds
                .map(|span| from.saturating_add(nanos(span))),
            loops_found: deadlock.loops_found,
            helped: deadlock
                .releases
                .saturating_add(deadlock.reroutes)
                .saturating_add(deadlock.flows_moved),
            uncertainty: offset.uncertainty,
        };
        (deadlock.began_monotonic_nanos, lane)
    };
    switch.suspicions.values().map(lane).collect()
}

/// Converts a span to nanoseconds; invalid values become zero.
fn nanos(seconds: f64) -> i64 {
    // A float beyond the range becomes the limit, and NaN zero.
    (seconds.max(0.0) * 1e9) as i64
}
