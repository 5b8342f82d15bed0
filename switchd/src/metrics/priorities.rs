//! Metrics of one priority of one port.

use weir_api::words::Reader;
use weir_core::counters::{PriorityCounters, Shown, PRIORITY_COUNTERS};
use weir_core::switch::{LevelGauges, PriorityGauges};
use weir_core::{Bytes, PfcThresholds};
use weir_monitoring::definitions::{self as define, Definition};

use super::families::Families;
use crate::control::shared::watermarks::Peaks;

pub(super) struct QueueState<'a> {
    /// Labels: port and priority.
    pub(super) place: [&'a str; 2],
    pub(super) counters: &'a PriorityCounters,
    pub(super) gauges: &'a PriorityGauges,
    pub(super) peaks: &'a [(Reader, Peaks)],
}

impl QueueState<'_> {
    pub(super) fn collect_traffic(&self, families: &mut Families) {
        let Self { place, gauges, .. } = self;
        self.collect_counters(families, Shown::Always);
        for (metric, value) in [
            (&define::INGRESS_BYTES, gauges.ingress),
            (&define::EGRESS_BYTES, gauges.egress),
        ] {
            families.add(metric, place, value.get() as f64);
        }
        self.collect_peaks(families, &define::INGRESS_MAX_BYTES, |peaks| peaks.ingress);
        self.collect_peaks(families, &define::EGRESS_MAX_BYTES, |peaks| peaks.egress);
        // 802.3x also pauses a lossy class.
        let paused = gauges.pauses_received.total.as_secs_f64();
        families.add(&define::PAUSE_SECONDS, place, paused);
        families.add(&define::PAUSED, place, f64::from(u8::from(gauges.paused)));
    }

    fn collect_peaks(
        &self,
        families: &mut Families,
        metric: &'static Definition,
        of: fn(&Peaks) -> Bytes,
    ) {
        let [port, number] = self.place;
        for (reader, peaks) in self.peaks {
            let labels = [port, number, reader.name()];
            families.add(metric, &labels, of(peaks).get() as f64);
        }
    }

    fn collect_counters(&self, families: &mut Families, shown: Shown) {
        let counters = PRIORITY_COUNTERS.iter();
        for counter in counters.filter(|counter| counter.shown == shown) {
            families.add_counter(counter, &self.place, self.counters);
        }
    }

    pub(super) fn collect_lossless(&self, families: &mut Families) {
        let Self { place, gauges, .. } = self;
        self.collect_counters(families, Shown::Lossless);
        for (metric, value) in [
            (&define::SUSPECTED, gauges.suspected),
            (&define::STORM, gauges.storm.is_some()),
            (&define::LIFETIME_STALLED, gauges.vl_stalled),
        ] {
            families.add(metric, place, f64::from(u8::from(value)));
        }
    }

    pub(super) fn collect_levels(&self, families: &mut Families, levels: &LevelGauges) {
        let place = &self.place;
        let [port, number] = *place;
        self.collect_counters(families, Shown::Levels);
        if let Some(round_trip) = levels.round_trip_measured {
            families.add(&define::ROUND_TRIP, place, round_trip.as_secs_f64());
        }
        for (direction, feedback) in [
            ("tx", levels.feedback_sent),
            ("rx", levels.feedback_received),
        ] {
            let labels = [port, number, direction];
            families.add(&define::FEEDBACK, &labels, f64::from(feedback.get()));
        }
        for (metric, value) in [
            (&define::LEVEL_HELD_FRAMES, levels.held_frames),
            (&define::LEVEL_HELD_BYTES, levels.held.get()),
            (&define::LEVEL_ELIGIBLE_BYTES, levels.eligible.get()),
        ] {
            families.add(metric, place, value as f64);
        }
        let counted = levels.m.iter().take(levels.depth.index());
        for (index, bytes) in counted.enumerate() {
            let labels = [port, number, &(index + 1).to_string()];
            families.add(&define::LEVEL_FREE_BYTES, &labels, bytes.get() as f64);
        }
    }

    pub(super) fn collect_thresholds(&self, families: &mut Families, thresholds: PfcThresholds) {
        let Self { place, gauges, .. } = self;
        let used = gauges.ingress.saturating_sub(thresholds.xoff());
        for (metric, value) in [
            (&define::PAUSING, u64::from(gauges.pausing)),
            (&define::XOFF_BYTES, gauges.xoff.get()),
            (&define::HEADROOM_BYTES, thresholds.headroom().get()),
            (&define::HEADROOM_USED_BYTES, used.get()),
        ] {
            families.add(metric, place, value as f64);
        }
        self.collect_peaks(families, &define::HEADROOM_USED_MAX_BYTES, |peaks| {
            peaks.headroom_used
        });
    }
}
