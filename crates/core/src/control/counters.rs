//! Counters of the control plane.

use super::report::IgnoreReason;

crate::counters! {
    /// Counts of the control plane since its start.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    ControlCounters, CONTROL_COUNTERS "control_" {
        /// Ignored messages, by [`IgnoreReason::index`].
        clcm_ignored: [u64; IgnoreReason::COUNT],
    } {
        CLCM_ORIGINATED "weir_clcm_originated_total" [] Always
            "CLCM messages originated for this switch's own suspicions."
            { clcm_sent []; }
        CLCM_FORWARDED "weir_clcm_forwarded_total" [] Always
            "CLCM messages of other switches that were forwarded."
            { clcm_forwarded []; }
        LOOPS_FOUND "weir_loops_found_total" [] Always
            "Loops that this switch found: its own identifier returned."
            { loops_found []; }
        MASTER_ACTIONS "weir_loop_master_actions_total" [] Always
            "Times that this switch acted as the elected master of a loop: one for each step."
            { elections_won []; }
        RELEASES_ORDERED "weir_releases_ordered_total" [] Always
            "Deadlock releases ordered by the control plane."
            { releases_ordered []; }
        REROUTES_ORDERED "weir_reroutes_ordered_total" [] Always
            "Reroutes ordered by the Loop Breaker."
            { reroutes_ordered []; }
        TRAFFIC_RELEASES_ORDERED "weir_traffic_releases_ordered_total" [] Always
            "Traffic release steps ordered by the Loop Breaker."
            { traffic_releases_ordered []; }
        UNANSWERED "weir_clcm_unanswered_total" [] Always
            "Suspicions whose CLCM got no answer for a long time: there is no loop, or a switch on it does not support CLCM."
            { unanswered []; }
        CONTROL_PLANE_OVERFLOWS "weir_control_plane_overflows_total" [] Always
            "Commands and reports of the CLCM state machine lost because their queue was full."
            { overflows []; }
    }

    /// LLDP counters of a port (clause 9.2.6).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    LldpCounters, LLDP_COUNTERS "lldp_" {} {
        LLDP_FRAMES "weir_lldp_frames_total" ["port", "direction"] Always
            "LLDP frames sent (tx), and received and understood (rx)."
            {
                tx_frames ["tx"] "LLDP frames sent.";
                rx_frames ["rx"] "LLDP frames received and understood.";
            }
        LLDP_DISCARDED "weir_lldp_discarded_total" ["port", "reason"] Always
            "LLDP frames not sent or not used, by reason."
            {
                unsent ["unsent"] "LLDP frames that the device did not accept.";
                malformed ["malformed"] "LLDP frames that cannot be read (statsFramesInErrorsTotal).";
                limited ["too_fast"] "LLDP frames that arrived faster than they are processed.";
                table_full ["too_many_neighbours"]
                    "Announcements of further neighbours than there is room for (tooManyNeighbors).";
            }
        LLDP_MALFORMED_TLVS "weir_lldp_malformed_tlvs_total" ["port"] Always
            "Invalid TLVs in LLDP frames that are otherwise valid."
            { malformed_tlvs [] "TLVs in frames otherwise understood that hold what they must not (statsTLVsDiscardedTotal)."; }
        LLDP_EXPIRED "weir_lldp_expired_total" ["port"] Always
            "Neighbours whose TTL expired."
            { expired [] "Neighbours that were silent for longer than their time to live (statsAgeoutsTotal)."; }
    }
}
