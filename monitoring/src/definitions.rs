//! The name, kind, labels and meaning of every metric, in one place.

/// The metric of this name.
pub fn find(name: &str) -> Option<&'static Definition> {
    all().chain(PROCESS).find(|metric| metric.name == name)
}

pub use weir_core::counters::metrics::*;
pub use weir_core::metric::{Definition, Kind};

/// All metrics of the daemon: those of the core's counters, and [`OWN`].
pub fn all() -> impl Iterator<Item = &'static Definition> {
    weir_core::counters::METRICS.iter().chain(OWN)
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
    "What the daemon knows of itself and its switch, beside the counters of the core." OWN
    BUILD_INFO Gauge "weir_build_info" ["version", "switch", "deadlock_policy"]
        "Always 1; the labels tell the version, the switch's name and its deadlock policy.";
    UPTIME Gauge "weir_uptime_seconds" []
        "Time since the daemon began to forward.";
    LINK_UP Gauge "weir_link_up" ["port"]
        "1 while the port's device is up and has carrier.";
    DROPS Counter "weir_drops_total" ["port", "reason"]
        "Frames from the port that were dropped; every drop has exactly one reason.";
    KERNEL_LOSSES Counter "weir_kernel_losses_total" ["port", "kind"]
        "Frames that the kernel or the device lost before or after the switch (XDP_STATISTICS of the port's socket, and refused transmissions).";
    XDP_FRAMES Counter "weir_xdp_frames_total" ["port", "class"]
        "Frames that the XDP program saw, by the class it gave them.";
    PAUSE_SECONDS Counter "weir_pause_seconds_total" ["port", "priority"]
        "For how long the neighbour has held the priority in all, a pause that lasts included.";
    PAUSED Gauge "weir_paused" ["port", "priority"]
        "1 while the neighbour holds the priority.";
    PAUSING Gauge "weir_pausing" ["port", "priority"]
        "1 while the switch holds the neighbour's priority.";
    INGRESS_BYTES Gauge "weir_ingress_bytes" ["port", "priority"]
        "Charged to the ingress buffer now, in whole cells.";
    INGRESS_MAX_BYTES Gauge "weir_ingress_max_bytes" ["port", "priority"]
        "The most that was ever charged to the ingress buffer.";
    EGRESS_BYTES Gauge "weir_egress_bytes" ["port", "priority"]
        "Waiting to leave by the port now.";
    EGRESS_MAX_BYTES Gauge "weir_egress_max_bytes" ["port", "priority"]
        "The most that ever waited to leave by the port.";
    HEADROOM_USED_MAX_BYTES Gauge "weir_headroom_used_max_bytes" ["port", "priority"]
        "The most of the headroom above xoff that was ever used.";
    HEADROOM_BYTES Gauge "weir_headroom_bytes" ["port", "priority"]
        "The configured headroom above xoff.";
    HEADROOM_USED_BYTES Gauge "weir_headroom_used_bytes" ["port", "priority"]
        "Charged to the ingress buffer above the configured xoff now.";
    XOFF_BYTES Gauge "weir_xoff_bytes" ["port", "priority"]
        "Ingress occupancy from which the neighbour is paused, as in force now.";
    SUSPECTED Gauge "weir_suspected" ["port", "priority"]
        "1 while the egress is suspected of a deadlock.";
    STORM Gauge "weir_storm" ["port", "priority"]
        "1 while the storm watchdog takes its action at the egress: a PFC storm lasts.";
    LIFETIME_STALLED Gauge "weir_lifetime_stalled" ["port", "priority"]
        "1 while the egress drops everything after too many drops by the lifetime limit in a row (VLStalled).";
    FEEDBACK Gauge "weir_level_feedback" ["port", "priority", "direction"]
        "Transmit Feedback in force on the link: told by us (tx) and told by the neighbour (rx); 0 restricts nothing.";
    ROUND_TRIP Gauge "weir_level_round_trip_seconds" ["port", "priority"]
        "Longest round trip of the link of late, measured by echo messages; no sample before the neighbour has answered.";
    LEVEL_HELD_FRAMES Gauge "weir_level_held_frames" ["port", "priority"]
        "Frames waiting to leave by the port that the neighbour's Feedback holds back.";
    LEVEL_HELD_BYTES Gauge "weir_level_held_bytes" ["port", "priority"]
        "Bytes waiting to leave by the port that the neighbour's Feedback holds back.";
    LEVEL_ELIGIBLE_BYTES Gauge "weir_level_eligible_bytes" ["port", "priority"]
        "Bytes waiting to leave by the port at Levels that the neighbour's Feedback lets out.";
    LEVEL_FREE_BYTES Gauge "weir_level_free_bytes" ["port", "priority", "level"]
        "m_i of the link's Receiving Queue: what the frames up to Level i leave free of b_1 to b_i.";
    LEVEL_BUDGET_BYTES Gauge "weir_level_budget_bytes" ["priority", "level"]
        "b_i: the budget of the class at Level i on every fabric port.";
    LEVEL_TABLE_ENTRIES Gauge "weir_level_table_entries" []
        "Destinations in the Level Table.";
    CLCM_ORIGINATED Counter "weir_clcm_originated_total" []
        "CLCM messages of this switch's own suspicions.";
    CLCM_FORWARDED Counter "weir_clcm_forwarded_total" []
        "CLCM messages of other switches that were passed on.";
    CLCM_IGNORED Counter "weir_clcm_ignored_total" ["reason"]
        "CLCM messages that went no further, by reason.";
    LOOPS_FOUND Counter "weir_loops_found_total" []
        "Loops that this switch found: its own identifier came back.";
    MASTER_ACTIONS Counter "weir_loop_master_actions_total" []
        "Times that this switch acted as the elected master of a loop: one for each step.";
    RELEASES_ORDERED Counter "weir_releases_ordered_total" []
        "Deadlock releases that the control plane ordered of the dataplane.";
    REROUTES_ORDERED Counter "weir_reroutes_ordered_total" []
        "Reroutes that the Loop Breaker ordered of the dataplane.";
    TRAFFIC_RELEASES_ORDERED Counter "weir_traffic_releases_ordered_total" []
        "Steps of a traffic release that the Loop Breaker ordered of the dataplane.";
    DETECTION_SECONDS Histogram "weir_deadlock_detection_seconds" []
        "For how long an egress had sent nothing when it became suspected of a deadlock.";
    RELEASE_SECONDS Histogram "weir_deadlock_release_seconds" []
        "From the suspicion of an egress to the first release there; suspicions that end without one do not count.";
    RECOVERY_SECONDS Histogram "weir_deadlock_recovery_seconds" []
        "From the suspicion of an egress to its end; a suspicion that lasts does not count yet.";
    UNANSWERED Counter "weir_clcm_unanswered_total" []
        "Suspicions whose CLCM nothing answered for long: no loop runs there, or a switch of it does not speak CLCM.";
    COMMANDS_LOST Counter "weir_commands_lost_total" []
        "Commands of the control plane that the dataplane could not take in time.";
    COMMANDS_REFUSED Counter "weir_commands_refused_total" []
        "Commands that the dataplane refused: the egress is released for another loop, a control queue is full, or a change of routes cannot be.";
    EVENTS_LOST Counter "weir_events_lost_total" []
        "Events of the dataplane that found the queue to the control plane full.";
    CONTROL_PLANE_OVERFLOWS Counter "weir_control_plane_overflows_total" []
        "Commands and reports of the CLCM state machine that found their queue full.";
    HELD_FRAMES Gauge "weir_held_frames" []
        "Frames inside the switch: admitted and not yet sent.";
    UMEM_FRAMES Gauge "weir_umem_frames" []
        "Frames of packet memory in all.";
    UMEM_FRAMES_FREE Gauge "weir_umem_frames_free" []
        "Frames of packet memory in no ring and no queue.";
    ROUNDS Counter "weir_dataplane_rounds_total" []
        "Rounds of the dataplane's polling loop.";
    BUSY_ROUNDS Counter "weir_dataplane_busy_rounds_total" []
        "Rounds that found something to do.";
    SLEEPS Counter "weir_dataplane_sleeps_total" []
        "Times that the dataplane thread slept in poll(2).";
    SLEEP_SECONDS Counter "weir_dataplane_sleep_seconds_total" []
        "Time that the dataplane thread slept in poll(2).";
    ROUND_MAX_SECONDS Gauge "weir_dataplane_round_max_seconds" []
        "The longest round since the start, sleep left out.";
    ROUND_SECONDS Histogram "weir_dataplane_round_seconds" []
        "Length of the rounds that found something to do, sleep left out.";
    BUSY_SECONDS Counter "weir_dataplane_busy_seconds_total" []
        "Time in rounds that found something to do.";
    IDLE_SECONDS Counter "weir_dataplane_idle_seconds_total" []
        "Time in rounds that found nothing to do: what the thread spins before it sleeps.";
    BATCH_FRAMES Histogram "weir_dataplane_batch_frames" []
        "Frames taken from an RX ring at a time; rings that were empty do not count.";
    RING_FRAMES Gauge "weir_ring_frames" ["port", "ring"]
        "Entries in use of the rings of the port's AF_XDP socket.";
    RING_SIZE_FRAMES Gauge "weir_ring_size_frames" ["port", "ring"]
        "Entries of the rings of the port's AF_XDP socket in all.";
    DATAPLANE_FRAMES Counter "weir_dataplane_frames_total" ["direction"]
        "Frames received from and handed to all sockets, control frames included.";
    SNAPSHOT_AGE Gauge "weir_snapshot_age_seconds" []
        "Age of the dataplane's figures; large when the dataplane does not answer.";
    SCRAPE_SECONDS Histogram "weir_scrape_seconds" []
        "Time that scrapes before this one took the daemon, the wait for the dataplane's figures included.";
    LLDP_FRAMES Counter "weir_lldp_frames_total" ["port", "direction"]
        "LLDP frames sent (tx), and received and understood (rx).";
    LLDP_DISCARDED Counter "weir_lldp_discarded_total" ["port", "reason"]
        "LLDP frames that were not sent or not used, by reason.";
    LLDP_MALFORMED_TLVS Counter "weir_lldp_malformed_tlvs_total" ["port"]
        "TLVs in frames otherwise understood that hold what they must not.";
    LLDP_EXPIRED Counter "weir_lldp_expired_total" ["port"]
        "Neighbours that were not heard for as long as they wanted to be believed.";
    LLDP_NEIGHBOURS Gauge "weir_lldp_neighbours" ["port"]
        "Neighbours that are heard on the port: more than one where several systems talk on one link.";
    LLDP_MISMATCH Gauge "weir_lldp_mismatch" ["port", "what"]
        "1 while the port's configuration and its neighbour's differ.";
}

metrics! {
    "What the operating system knows of the daemon's process, by the names that all exporters use." PROCESS
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
