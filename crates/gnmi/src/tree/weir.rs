//! `/weir`: state for which OpenConfig has no leaf. Its module is `packaging/yang/weir-switch.yang`.

use weir_api::daemon::{Deadlock, LevelLink, Pauses, Pfc};

use super::field::{families, fields, rows as rows_of, Nanos, Row};
use super::{Grower, State};

struct Suspicion<'a> {
    deadlock: &'a Deadlock,
    lasts: bool,
}

struct Lossless<'a> {
    state: &'a State,
    pfc: &'a Pfc,
}

impl Lossless<'_> {
    fn counter(&self, key: &str) -> Option<u64> {
        let pfc = self.pfc;
        self.state.counter(&pfc.port, Some(pfc.priority), key)
    }
}

families! {
    Switch: State;
    Queues: Lossless<'a>;
    Sides: Pauses;
    Links: LevelLink;
    Suspicions: Suspicion<'a>;
}

fields! { SWITCH of Switch {
    "name" Applied: String = |it| Some(it.status.name.clone()); "`name` of `switchctl status`."
    "software-version" Applied: String = |it| Some(it.status.version.clone()); "`version`."
    "deadlock-policy" Applied: String = |it| Some(it.status.deadlock_policy.as_str().to_owned()); "`deadlock_policy`."
    "health" Event: String = |it| it.status.health.as_ref().map(|health| health.verdict.as_str().to_owned()); "`verdict` of `health`: `ok`, `degraded` or `failing`."
    "held-frames" Counter: u64 = |it| Some(it.status.held_frames); "`held_frames`: inside the switch now."
    "uptime" Counter: Nanos = |it| Some(Nanos(it.status.uptime_seconds)); "`uptime_seconds`."
} }

fields! { QUEUE of Queues {
    "interface" Applied: String = |it| Some(it.pfc.port.clone()); "`port` of `switchctl pfc`."
    "priority" Applied: u32 = |it| Some(it.pfc.priority.into()); "`priority`."
    "pausing" Event: bool = |it| Some(it.pfc.pausing); "`pausing`: the switch holds the neighbour."
    "paused" Event: bool = |it| Some(it.pfc.paused); "`paused`: the neighbour holds the switch."
    "suspected" Event: bool = |it| Some(it.pfc.suspected); "`suspected` of a deadlock."
    "release-ingress" Event: String = |it| it.pfc.release_ingress.clone(); "`release_ingress`: the only port whose frames leave while a release is in force."
    "ingress-bytes" Counter: u64 = |it| Some(it.pfc.ingress_bytes); "`ingress_bytes`."
    "xoff-bytes" Counter: u64 = |it| Some(it.pfc.xoff_bytes); "`xoff_bytes`."
    "xon-bytes" Counter: u64 = |it| Some(it.pfc.xon_bytes); "`xon_bytes`."
    "headroom-bytes" Applied: u64 = |it| Some(it.pfc.headroom_bytes); "`headroom_bytes`."
    "headroom-used-max-bytes" Counter: u64 = |it| Some(it.pfc.headroom_used_bytes_max); "`headroom_used_bytes_max`."
    "suspicions" Counter: u64 = |it| it.counter("suspicions_total"); "`suspicions_total` of `switchctl counters`."
    "releases" Counter: u64 = |it| it.counter("releases_total"); "`releases_total` of `switchctl counters`."
} }

fields! { PAUSES of Sides {
    "paused" Event: bool = |it| Some(it.paused); "`paused`: a pause lasts."
    "xoff-frames" Counter: u64 = |it| Some(it.xoff_frames_total); "`xoff_frames_total`, refreshes included."
    "xon-frames" Counter: u64 = |it| Some(it.xon_frames_total); "`xon_frames_total`."
    "transitions" Counter: u64 = |it| Some(it.transitions_total); "`transitions_total`: pauses that have begun."
    "paused-time" Counter: Nanos = |it| Some(Nanos(it.paused_seconds_total)); "`paused_seconds_total`."
    "longest-pause" Counter: Nanos = |it| Some(Nanos(it.longest_seconds)); "`longest_seconds`."
} }

fields! { LEVEL of Links {
    "depth" Applied: u32 = |it| Some(it.depth.into()); "`depth` of `switchctl levels`: the highest Level."
    "feedback-sent" Event: u32 = |it| Some(it.feedback_sent.into()); "`feedback_sent`: the Transmit Feedback last sent to the neighbour."
    "feedback-received" Event: u32 = |it| Some(it.feedback_received.into()); "`feedback_received`."
    "eligible-frames" Counter: u64 = |it| Some(it.eligible_frames); "`eligible_frames`."
    "eligible-bytes" Counter: u64 = |it| Some(it.eligible_bytes); "`eligible_bytes`."
    "held-frames" Counter: u64 = |it| Some(it.held_frames); "`held_frames`: held back by the Feedback received."
    "held-bytes" Counter: u64 = |it| Some(it.held_bytes); "`held_bytes`."
} }

fields! { DEADLOCKS of Switch {
    "suspected" Event: u32 = |it| u32::try_from(it.status.suspected_count).ok(); "`suspected_count` of `switchctl status`."
    "unrecorded" Counter: u64 = |it| Some(it.deadlocks.unrecorded_total); "`unrecorded_total` of `switchctl deadlocks`."
} }

fields! { DEADLOCK of Suspicions {
    "id" Applied: u64 = |it| Some(it.deadlock.id); "`id` of `switchctl deadlocks`."
    "interface" Event: String = |it| Some(it.deadlock.port.clone()); "`port`: the egress."
    "priority" Event: u32 = |it| Some(it.deadlock.priority.into()); "`priority`."
    "lasting" Event: bool = |it| Some(it.lasts); "Whether it is among `current`, not `past`."
    "reason" Event: String = |it| Some(it.deadlock.reason.as_str().to_owned()); "`reason`."
    "idle-time" Event: Nanos = |it| Some(Nanos(it.deadlock.idle_seconds)); "`idle_seconds`."
    "queued-bytes" Event: u64 = |it| Some(it.deadlock.queued_bytes); "`queued_bytes`."
    "spuid" Event: String = |it| it.deadlock.spuid.clone(); "`spuid`."
    "loops-found" Event: u64 = |it| Some(it.deadlock.loops_found); "`loops_found`."
    "releases" Event: u64 = |it| Some(it.deadlock.releases); "`releases`."
    "reroutes" Event: u64 = |it| Some(it.deadlock.reroutes); "`reroutes`."
    "flows-moved" Event: u64 = |it| Some(it.deadlock.flows_moved); "`flows_moved`."
    "released-bytes" Event: u64 = |it| Some(it.deadlock.released_bytes); "`released_bytes`."
    "forced-bytes" Event: u64 = |it| Some(it.deadlock.forced_bytes); "`forced_bytes`."
    "first-release-time" Event: Nanos = |it| it.deadlock.first_release_seconds.map(Nanos); "`first_release_seconds`."
    "lasted" Event: Nanos = |it| it.deadlock.lasted_seconds.map(Nanos); "`lasted_seconds`; absent while it lasts."
} }

pub(super) fn rows() -> Vec<Row> {
    [
        rows_of("/weir/state", SWITCH),
        rows_of("/weir/queues/queue[interface][priority]/state", QUEUE),
        rows_of("/weir/queues/queue[interface][priority]/sent/state", PAUSES),
        rows_of(
            "/weir/queues/queue[interface][priority]/received/state",
            PAUSES,
        ),
        rows_of("/weir/queues/queue[interface][priority]/level/state", LEVEL),
        rows_of("/weir/deadlocks/state", DEADLOCKS),
        rows_of("/weir/deadlocks/deadlock[id]/state", DEADLOCK),
    ]
    .concat()
}

pub(super) fn grow(grower: &mut Grower, state: &State) {
    grower.container("weir", |grower| {
        grower.leaves("state", SWITCH, state);
        grower.container("queues", |grower| queues(grower, state));
        grower.container("deadlocks", |grower| {
            grower.leaves("state", DEADLOCKS, state);
            let current = state.deadlocks.current.iter().zip(std::iter::repeat(true));
            let past = state.deadlocks.past.iter().zip(std::iter::repeat(false));
            for (deadlock, lasts) in current.chain(past) {
                let of = Suspicion { deadlock, lasts };
                let id = deadlock.id.to_string();
                grower.entry("deadlock", &[("id", &id)], |grower| {
                    grower.leaves("state", DEADLOCK, &of);
                });
            }
        });
    });
}

/// Adds the priorities that pause by thresholds, those whose neighbour has sent pauses, and those with Levels.
fn queues(grower: &mut Grower, state: &State) {
    for port in &state.ports {
        for priority in 0..8 {
            let is_meant = |name: &str, of: u8| name == port.name && of == priority;
            let pfc = state.pfc.iter().find(|it| is_meant(&it.port, it.priority));
            let pauses = state
                .pauses
                .iter()
                .find(|it| is_meant(&it.port, it.priority));
            let mut links = state.levels.links.iter();
            let level = links.find(|it| is_meant(&it.port, it.priority));
            if pfc.is_none() && pauses.is_none() && level.is_none() {
                continue;
            }
            let number = priority.to_string();
            let keys = [("interface", port.name.as_str()), ("priority", &number)];
            grower.entry("queue", &keys, |grower| {
                if let Some(pfc) = pfc {
                    grower.leaves("state", QUEUE, &Lossless { state, pfc });
                }
                if let Some(pauses) = pauses {
                    for (side, of) in [("sent", &pauses.sent), ("received", &pauses.received)] {
                        grower.container(side, |grower| grower.leaves("state", PAUSES, of));
                    }
                }
                if let Some(level) = level {
                    grower.container("level", |grower| grower.leaves("state", LEVEL, level));
                }
            });
        }
    }
}
