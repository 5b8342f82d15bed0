//! The name, kind, labels and meaning of every metric.
//!
//! A counter's metric is declared with the counter (`weir_core::counters`, `weir_core::control::counters`,
//! `weir_api::counters`) and only exported here. All others are declared here, [`DROPS`] among them: its counts are an
//! array by `DropReason`.

/// The metric with this name.
pub fn find(name: &str) -> Option<&'static Definition> {
    all().chain(PROCESS).find(|metric| metric.name == name)
}

pub use weir_api::counters::metrics::*;
pub use weir_core::control::counters::metrics::*;
pub use weir_core::counters::metrics::*;
pub use weir_core::metric::{Definition, Kind};

/// All metrics of the daemon: those of counters, which are declared with the counters, and [`OWN`].
pub fn all() -> impl Iterator<Item = &'static Definition> {
    let counters = [
        weir_core::counters::METRICS,
        weir_core::control::counters::METRICS,
        weir_api::counters::METRICS,
    ];
    counters.into_iter().flatten().chain(OWN)
}

macro_rules! metrics {
    ($list_doc:literal $list:ident $($constant:ident $kind:ident $name:literal [$($label:literal),*] $help:literal;)*) => {
        $(
            #[doc = $help]
            pub const $constant: Definition = Definition {
                name: $name,
                kind: Kind::$kind,
                labels: &[$($label),*],
                help: $help,
            };
        )*
        #[doc = $list_doc]
        pub const $list: &[Definition] = &[$($constant),*];
    };
}

metrics! {
    "State of the daemon and its switch, in addition to the declared counters." OWN
    BUILD_INFO Gauge "weir_build_info" ["version", "switch", "deadlock_policy"]
        "Always 1; the labels are the version, the switch's name and its deadlock policy.";
    UPTIME Gauge "weir_uptime_seconds" []
        "Time since forwarding started.";
    HEALTH Gauge "weir_health" []
        "The verdict on the switch, as in `switchctl status`: 0 ok, 1 degraded, 2 failing.";
    LINK_UP Gauge "weir_link_up" ["port"]
        "1 while the port's device is up and has carrier, and the link is not suppressed.";
    LINK_SUPPRESSED Gauge "weir_link_suppressed" ["port"]
        "1 while flap damping counts the link as down because it went down too often.";
    DROPS Counter "weir_drops_total" ["port", "reason"]
        "Frames from the port that were dropped; every drop has exactly one reason.";
    STACK_DROPS Counter "weir_stack_drops_total" ["port", "reason"]
        "Frames that the kernel's network stack dropped at the port's device, by its reason (Linux 5.17 or newer).";
    XDP_FRAMES Counter "weir_xdp_frames_total" ["port", "class"]
        "Frames seen by the XDP program, by the class it assigned.";
    XDP_VERDICTS Counter "weir_xdp_verdicts_total" ["port", "verdict"]
        "Their verdicts: redirected to the switch, passed to the kernel, or dropped for lack of a socket (dropped), of a whole header (too_short), of room for metadata (no_meta), of a slot of the RX ring besides those kept for credits (no_slot), or as a part of a frame that the driver has cut (cut).";
    PAUSE_SECONDS Counter "weir_pause_seconds_total" ["port", "priority"]
        "Total time that the neighbour has paused the priority, including any pause in progress.";
    PAUSED Gauge "weir_paused" ["port", "priority"]
        "1 while the neighbour pauses the priority.";
    PAUSING Gauge "weir_pausing" ["port", "priority"]
        "1 while the switch pauses the neighbour's priority.";
    INGRESS_BYTES Gauge "weir_ingress_bytes" ["port", "priority"]
        "Current occupancy of the ingress buffer, in whole cells.";
    INGRESS_MAX_BYTES Gauge "weir_ingress_max_bytes" ["port", "priority", "reader"]
        "Peak occupancy of the ingress buffer: since it was cleared (user), in the last whole interval of [watermark] interval (telemetry), since the start (persistent).";
    EGRESS_BYTES Gauge "weir_egress_bytes" ["port", "priority"]
        "Current egress backlog of the port.";
    EGRESS_MAX_BYTES Gauge "weir_egress_max_bytes" ["port", "priority", "reader"]
        "Peak egress backlog of the port, by reader as for the ingress buffer.";
    HEADROOM_USED_MAX_BYTES Gauge "weir_headroom_used_max_bytes" ["port", "priority", "reader"]
        "Peak use of the headroom above xoff, by reader as for the ingress buffer.";
    HEADROOM_BYTES Gauge "weir_headroom_bytes" ["port", "priority"]
        "The configured headroom above xoff.";
    HEADROOM_USED_BYTES Gauge "weir_headroom_used_bytes" ["port", "priority"]
        "Current occupancy of the ingress buffer above the configured xoff.";
    XOFF_BYTES Gauge "weir_xoff_bytes" ["port", "priority"]
        "Current ingress occupancy at which the neighbour is paused.";
    CABLE_HEADROOM_BYTES Gauge "weir_cable_headroom_bytes" ["port"]
        "Headroom derived from the port's `cable`, for each lossless class that sets none.";
    CABLE_HEADROOM_NEEDED_BYTES Gauge "weir_cable_headroom_needed_bytes" ["port"]
        "Headroom that the longest recent round trip needs; no sample until the neighbour has answered an echo message.";
    CABLE_EXCEEDED Gauge "weir_cable_exceeded" ["port"]
        "1 from a round trip that needs more headroom than derived from the port's `cable` until ten in a row fit.";
    POOL_BYTES Gauge "weir_pool_bytes" ["pool"]
        "Size of a pool that buffers share.";
    POOL_USED_BYTES Gauge "weir_pool_used_bytes" ["pool"]
        "Bytes of the pool in use by buffers, without reserves and headroom.";
    POOL_USED_MAX_BYTES Gauge "weir_pool_used_max_bytes" ["pool", "reader"]
        "Peak of the bytes of the pool in use, by reader as for the ingress buffer.";
    POOL_HEADROOM_BYTES Gauge "weir_pool_headroom_bytes" ["pool"]
        "Headroom that the lossless buffers of the pool share.";
    POOL_HEADROOM_USED_BYTES Gauge "weir_pool_headroom_used_bytes" ["pool"]
        "Bytes stored in the pool's headroom.";
    POOL_HEADROOM_USED_MAX_BYTES Gauge "weir_pool_headroom_used_max_bytes" ["pool", "reader"]
        "Peak of the bytes stored in the pool's headroom, by reader as for the ingress buffer.";
    POOL_PAUSING Gauge "weir_pool_pausing_buffers" ["pool"]
        "Buffers of the pool that are above their threshold and pause their neighbour.";
    POOL_THRESHOLD_BYTES Gauge "weir_pool_threshold_bytes" ["pool", "priority"]
        "Present limit of each buffer of the priority on the pool, in addition to its reserve.";
    CREDIT_STATE Gauge "weir_credit_state" ["port", "priority", "direction", "state"]
        "1 for the state of the direction (tx: frames that the switch sends): waiting for the neighbour, credits, or fallback.";
    CREDITS_USED Gauge "weir_credits_used" ["port", "priority"]
        "Credits of the neighbour that are consumed and not freed.";
    CREDITS_USED_MAX Gauge "weir_credits_used_max" ["port", "priority"]
        "Peak number of the neighbour's credits in use.";
    CREDIT_LIMIT Gauge "weir_credit_limit" ["port", "priority", "direction"]
        "Maximum number of credits: the neighbour's (tx), and those given to it (rx).";
    CREDITS_OUTSTANDING Gauge "weir_credits_outstanding" ["port", "priority"]
        "Credits given to the neighbour whose frames have not arrived.";
    CREDITS_RETURNED Counter "weir_credits_returned_total" ["port", "priority"]
        "Credits of frames that were lost on the link, and returned.";
    CREDIT_SLOTS Gauge "weir_credit_slots" ["port"]
        "Credits that slots of the port's RX ring certainly cover.";
    CREDIT_UPDATES Counter "weir_credit_updates_total" ["port", "message", "direction"]
        "Messages about credits: of credits freed (cf_update) and consumed (cc_update), sent (tx) and received (rx).";
    CREDIT_UPDATES_IGNORED Counter "weir_credit_updates_ignored_total" ["port", "reason"]
        "Received messages about credits that were late or of another epoch (epoch), or that no working neighbour can have sent (implausible).";
    SUSPECTED Gauge "weir_suspected" ["port", "priority"]
        "1 while the egress is suspected of a deadlock.";
    STORM Gauge "weir_storm" ["port", "priority"]
        "1 during a PFC storm: while the PFC storm watchdog acts on the egress.";
    FORWARDING_BLOCKED Gauge "weir_forwarding_blocked" ["port"]
        "1 while the port neither floods nor learns, in a VLAN or in all, because of a loop.";
    LEARNED_ADDRESSES Gauge "weir_learned_addresses" ["port"]
        "Learned addresses behind the port.";
    LEARNING_CAPACITY Gauge "weir_learning_capacity_addresses" []
        "Capacity for learned addresses; 0 without learning.";
    TRANSMITTER_STUCK Gauge "weir_transmitter_stuck" ["port"]
        "1 while the port's device completes no transmissions: frames for the port are dropped.";
    LIFETIME_STALLED Gauge "weir_lifetime_stalled" ["port", "priority"]
        "1 while the egress drops everything after too many drops by the lifetime limit in a row (VLStalled).";
    FEEDBACK Gauge "weir_level_feedback" ["port", "priority", "direction"]
        "Transmit Feedback in force on the link: sent by us (tx) and by the neighbour (rx); 0 restricts nothing.";
    ROUND_TRIP Gauge "weir_level_round_trip_seconds" ["port", "priority"]
        "Longest recent round trip of the link, measured by echo messages; no sample until the neighbour has answered.";
    LEVEL_HELD_FRAMES Gauge "weir_level_held_frames" ["port", "priority"]
        "Waiting frames that the neighbour's Feedback holds back.";
    LEVEL_HELD_BYTES Gauge "weir_level_held_bytes" ["port", "priority"]
        "Waiting bytes that the neighbour's Feedback holds back.";
    LEVEL_ELIGIBLE_BYTES Gauge "weir_level_eligible_bytes" ["port", "priority"]
        "Waiting bytes that the neighbour's Feedback permits to be sent.";
    LEVEL_FREE_BYTES Gauge "weir_level_free_bytes" ["port", "priority", "level"]
        "m_i of the link's Receiving Queue: the part of b_1 to b_i that frames up to Level i leave free.";
    LEVEL_BUDGET_BYTES Gauge "weir_level_budget_bytes" ["priority", "level"]
        "b_i: the budget of the class at Level i on every fabric port.";
    LEVEL_TABLE_ENTRIES Gauge "weir_level_table_entries" []
        "Destinations in the Level Table.";
    CLCM_IGNORED Counter "weir_clcm_ignored_total" ["reason"]
        "CLCM messages that were not forwarded, by reason.";
    DETECTION_SECONDS Histogram "weir_deadlock_detection_seconds" []
        "Time that an egress had sent nothing when it became suspected of a deadlock.";
    RELEASE_SECONDS Histogram "weir_deadlock_release_seconds" []
        "Time from the suspicion of an egress to its first release; suspicions that end without a release are not counted.";
    RECOVERY_SECONDS Histogram "weir_deadlock_recovery_seconds" []
        "Time from the suspicion of an egress to its end; ongoing suspicions are not counted.";
    COMMANDS_LOST Counter "weir_commands_lost_total" []
        "Commands of the control plane that the dataplane could not accept in time.";
    IMPAIRMENTS Gauge "weir_impairments" []
        "Impairments of frames and links in force, requested by an operator (switchctl impair).";
    GNMI_STREAMS Gauge "weir_gnmi_streams" []
        "Present subscribers of gNMI.";
    HELD_FRAMES Gauge "weir_held_frames" []
        "Frames inside the switch: admitted and not yet sent.";
    HELD_MAX_FRAMES Gauge "weir_held_max_frames" ["reader"]
        "Peak number of frames inside the switch, by reader as for the ingress buffer.";
    UMEM_FRAMES Gauge "weir_umem_frames" []
        "Total frames of packet memory.";
    UMEM_FRAMES_FREE Gauge "weir_umem_frames_free" []
        "Frames of packet memory in no ring and no queue.";
    ROUND_MAX_SECONDS Gauge "weir_dataplane_round_max_seconds" []
        "Longest round since the start, without sleep.";
    DELAY_MAX_SECONDS Gauge "weir_dataplane_delay_max_seconds" []
        "Longest delay of the dataplane thread since the start: a round, or the excess of a sleep.";
    ROUND_SECONDS Histogram "weir_dataplane_round_seconds" []
        "Length of rounds with work, without sleep.";
    BUSY_SECONDS Counter "weir_dataplane_busy_seconds_total" []
        "Time in rounds with work.";
    BATCH_FRAMES Histogram "weir_dataplane_batch_frames" []
        "Frames taken from an RX ring at a time; empty rings are not counted.";
    RING_FRAMES Gauge "weir_ring_frames" ["port", "ring"]
        "Entries in use of the rings of the port's AF_XDP socket.";
    RING_SIZE_FRAMES Gauge "weir_ring_size_frames" ["port", "ring"]
        "Size of the rings of the port's AF_XDP socket.";
    SNAPSHOT_AGE Gauge "weir_snapshot_age_seconds" []
        "Age of the dataplane's figures; large if the dataplane does not answer.";
    SCRAPE_SECONDS Histogram "weir_scrape_seconds" []
        "Time that earlier scrapes took in the daemon, including the wait for the dataplane's figures.";
    LLDP_NEIGHBOURS Gauge "weir_lldp_neighbours" ["port"]
        "Current LLDP neighbours on the port; more than one if several systems share the link.";
    LLDP_MISMATCH Gauge "weir_lldp_mismatch" ["port", "what"]
        "1 while the configurations of the port and its neighbour differ.";
}

metrics! {
    "State of the daemon's process in the operating system, with the names that all exporters use." PROCESS
    PROCESS_CPU_SECONDS Counter "process_cpu_seconds_total" []
        "Total user and system CPU time spent in seconds.";
    PROCESS_MAX_FDS Gauge "process_max_fds" []
        "Maximum number of open file descriptors.";
    PROCESS_OPEN_FDS Gauge "process_open_fds" []
        "Number of open file descriptors.";
    PROCESS_RESIDENT_MEMORY Gauge "process_resident_memory_bytes" []
        "Resident memory size in bytes.";
    PROCESS_START_TIME Gauge "process_start_time_seconds" []
        "Start time of the process since unix epoch in seconds.";
    PROCESS_THREADS Gauge "process_threads" []
        "Number of OS threads in the process.";
    PROCESS_VIRTUAL_MEMORY Gauge "process_virtual_memory_bytes" []
        "Virtual memory size in bytes.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_conventions() {
        let all: Vec<_> = all().collect();
        for (index, metric) in all.iter().enumerate() {
            let Definition { name, kind, .. } = **metric;
            assert!(name.starts_with("weir_"), "{name}");
            assert!(
                name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'),
                "{name}"
            );
            assert_eq!(name.ends_with("_total"), kind == Kind::Counter, "{name}");
            let unit = ["_seconds", "_bytes", "_frames"];
            assert!(
                kind != Kind::Histogram || unit.iter().any(|unit| name.ends_with(unit)),
                "{name}"
            );
            assert!(metric.help.ends_with('.'), "{name}");
            assert!(
                all[..index].iter().all(|other| other.name != name),
                "{name}"
            );
        }
    }
}
