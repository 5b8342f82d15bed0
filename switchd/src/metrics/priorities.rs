//! What the metrics tell of one priority of one port.

use weir_core::counters::PriorityCounters;
use weir_core::switch::{LevelGauges, PriorityGauges};
use weir_core::Bytes;
use weir_monitoring::definitions as define;

use super::families::Families;

/// One priority of one port.
pub(super) struct QueueState<'a> {
    /// Port and priority, as labels.
    pub(super) place: [&'a str; 2],
    pub(super) counters: &'a PriorityCounters,
    pub(super) gauges: &'a PriorityGauges,
}

impl QueueState<'_> {
    pub(super) fn collect_traffic(&self, families: &mut Families) {
        let Self {
            place,
            counters,
            gauges,
        } = self;
        let [port, number] = *place;
        for (direction, frames, bytes) in [
            ("rx", counters.rx_frames, counters.rx_bytes),
            ("tx", counters.tx_frames, counters.tx_bytes),
        ] {
            let labels = [port, number, direction];
            families.add(&define::PORT_FRAMES, &labels, frames as f64);
            families.add(&define::PORT_BYTES, &labels, bytes as f64);
        }
        for (metric, value) in [
            (&define::INGRESS_BYTES, gauges.ingress),
            (&define::INGRESS_MAX_BYTES, gauges.ingress_max),
            (&define::EGRESS_BYTES, gauges.egress),
            (&define::EGRESS_MAX_BYTES, gauges.egress_max),
        ] {
            families.add(metric, place, value.get() as f64);
        }
        // A neighbour may pause a lossy class too.
        let paused = gauges.paused_total.as_secs_f64();
        families.add(&define::PAUSE_SECONDS, place, paused);
        families.add(&define::PAUSED, place, f64::from(u8::from(gauges.paused)));
        for (direction, kind, count) in [
            ("tx", "xoff", counters.xoff_sent),
            ("tx", "xon", counters.xon_sent),
            ("rx", "xoff", counters.pause_received),
            ("rx", "xon", counters.resume_received),
        ] {
            let labels = [port, number, direction, kind];
            families.add(&define::PFC_FRAMES, &labels, count as f64);
        }
    }

    pub(super) fn collect_lossless(&self, families: &mut Families) {
        let Self {
            place,
            counters,
            gauges,
        } = self;
        for (metric, value) in [
            (&define::SUSPECTED, u64::from(gauges.suspected)),
            (&define::SUSPICIONS, counters.suspicions),
            (&define::FLOWS_MOVED, counters.flows_moved),
            (&define::RELEASES, counters.releases),
            (&define::FORCED_FRAMES, counters.forced_frames),
            (&define::STORM, u64::from(gauges.storm.is_some())),
            (&define::STORMS_DETECTED, counters.storms_detected),
            (&define::STORMS_RESTORED, counters.storms_restored),
            (&define::STORM_DROPPED_FRAMES, counters.storm_dropped),
            (&define::STORM_FORWARDED_FRAMES, counters.storm_forwarded),
            (&define::LIFETIME_STALLED, u64::from(gauges.vl_stalled)),
            (&define::LIFETIME_STALLS, counters.lifetime_stalls),
            (&define::LIFETIME_DROPPED_FRAMES, counters.lifetime_dropped),
        ] {
            families.add(metric, place, value as f64);
        }
        families.add(&define::MARKED_FRAMES, place, counters.marks as f64);
    }

    pub(super) fn collect_levels(&self, families: &mut Families, levels: &LevelGauges) {
        let Self {
            place, counters, ..
        } = self;
        let [port, number] = *place;
        if let Some(round_trip) = levels.round_trip_measured {
            families.add(&define::ROUND_TRIP, place, round_trip.as_secs_f64());
        }
        for (direction, feedback, frames) in [
            ("tx", levels.feedback_sent, counters.feedback_sent),
            ("rx", levels.feedback_received, counters.feedback_received),
        ] {
            let labels = [port, number, direction];
            families.add(&define::FEEDBACK, &labels, f64::from(feedback.get()));
            families.add(&define::FEEDBACK_FRAMES, &labels, frames as f64);
        }
        for (metric, value) in [
            (&define::LEVEL_HELD_FRAMES, levels.held_frames),
            (&define::LEVEL_HELD_BYTES, levels.held.get()),
            (&define::LEVEL_ELIGIBLE_BYTES, levels.eligible.get()),
            (&define::LIFTS, counters.lifts),
            (&define::FEEDBACK_EXPIRED, counters.feedback_expired),
            (&define::ROUTES_TOO_LONG, counters.routes_too_long),
        ] {
            families.add(metric, place, value as f64);
        }
        let counted = levels.m.iter().take(levels.depth.index());
        for (index, bytes) in counted.enumerate() {
            let labels = [port, number, &(index + 1).to_string()];
            families.add(&define::LEVEL_FREE_BYTES, &labels, bytes.get() as f64);
        }
    }

    pub(super) fn collect_thresholds(&self, families: &mut Families, xoff: Bytes, headroom: Bytes) {
        let Self { place, gauges, .. } = self;
        let used = gauges.ingress.saturating_sub(xoff);
        for (metric, value) in [
            (&define::PAUSING, u64::from(gauges.pausing)),
            (&define::XOFF_BYTES, gauges.xoff.get()),
            (&define::HEADROOM_BYTES, headroom.get()),
            (&define::HEADROOM_USED_BYTES, used.get()),
            (
                &define::HEADROOM_USED_MAX_BYTES,
                gauges.headroom_used_max.get(),
            ),
        ] {
            families.add(metric, place, value as f64);
        }
    }
}
