//! Turns one snapshot into metric families.

use std::collections::BTreeMap;
use std::sync::Arc;

use prometheus::core::{Collector, Desc};
use prometheus::proto::{
    Bucket, Counter, Gauge, Histogram as HistogramSample, LabelPair, Metric, MetricFamily,
    MetricType,
};
use weir_core::control::IgnoreReason;
use weir_core::units::NANOS_PER_SECOND;
use weir_core::wire::lldp::dcbx::PfcMismatch;
use weir_core::{ClassMode, DropReason, PortId, Priority};
use weir_monitoring::definitions::{self as define, Definition, Kind};

use super::histogram::Histogram;
use crate::api::views::shown_priorities;
use crate::control::info::PortInfo;
use crate::control::shared::Published;
use crate::control::{clock, Shared};
use crate::dataplane::messages::PortSnapshot;

/// Nanoseconds as seconds, and frames as frames: what a histogram's values are multiplied by.
const NANOS: f64 = 1.0 / NANOS_PER_SECOND as f64;
const FRAMES: f64 = 1.0;

/// Collects from the snapshot it was made with.
pub struct SnapshotCollector {
    shared: Arc<Shared>,
    snapshot: Arc<Published>,
    scrapes: Histogram,
    descriptions: Vec<Desc>,
}

impl SnapshotCollector {
    /// A collector for one scrape; `scrapes` is how long those before it took in nanoseconds.
    ///
    /// # Errors
    ///
    /// When a definition is not a legal metric, which a test rules out.
    pub fn new(
        shared: Arc<Shared>,
        snapshot: Arc<Published>,
        scrapes: Histogram,
    ) -> prometheus::Result<Self> {
        let descriptions = define::ALL
            .iter()
            .map(|metric| {
                Desc::new(
                    metric.name.to_owned(),
                    metric.help.to_owned(),
                    metric
                        .labels
                        .iter()
                        .map(|label| label.to_string())
                        .collect(),
                    Default::default(),
                )
            })
            .collect::<prometheus::Result<_>>()?;
        Ok(Self {
            shared,
            snapshot,
            scrapes,
            descriptions,
        })
    }
}

impl Collector for SnapshotCollector {
    fn desc(&self) -> Vec<&Desc> {
        self.descriptions.iter().collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let mut families = Families::default();
        self.collect_switch(&mut families);
        self.collect_dataplane(&mut families);
        self.collect_budgets(&mut families);
        let ports = self.shared.info.numbered_ports();
        for ((id, info), state) in ports.zip(&self.snapshot.ports) {
            self.collect_port(&mut families, id, info, state);
            self.collect_lldp(&mut families, id, info);
            self.collect_priorities(&mut families, info, state);
        }
        families.finish()
    }
}

impl SnapshotCollector {
    fn collect_switch(&self, families: &mut Families) {
        let (shared, snapshot) = (&self.shared, &self.snapshot);
        let info = &shared.info;
        let figures = shared.figures();
        let version = env!("CARGO_PKG_VERSION");
        let build = [version, &info.name, info.deadlock_policy.get()];
        families.add(&define::BUILD_INFO, &build, 1.0);
        for (metric, value) in [
            (&define::UPTIME, shared.uptime().as_secs_f64()),
            (&define::LOOPS_FOUND, figures.clcm.loops_found as f64),
            (&define::MASTER_ACTIONS, figures.clcm.elections_won as f64),
            (&define::UNANSWERED, figures.clcm.unanswered as f64),
            (&define::CLCM_ORIGINATED, figures.clcm.clcm_sent as f64),
            (&define::CLCM_FORWARDED, figures.clcm.clcm_forwarded as f64),
            (
                &define::RELEASES_ORDERED,
                figures.clcm.releases_ordered as f64,
            ),
            (
                &define::REROUTES_ORDERED,
                figures.clcm.reroutes_ordered as f64,
            ),
            (
                &define::TRAFFIC_RELEASES_ORDERED,
                figures.clcm.traffic_releases_ordered as f64,
            ),
            (
                &define::CONTROL_PLANE_OVERFLOWS,
                figures.clcm.overflows as f64,
            ),
            (&define::COMMANDS_LOST, figures.commands_lost as f64),
            (
                &define::LEVEL_TABLE_ENTRIES,
                snapshot.level_table.total as f64,
            ),
            (&define::HELD_FRAMES, snapshot.held_frames as f64),
            (&define::UMEM_FRAMES, snapshot.umem_frames as f64),
            (&define::UMEM_FRAMES_FREE, snapshot.umem_frames_free as f64),
            (
                &define::SNAPSHOT_AGE,
                clock::now().saturating_since(snapshot.at).as_secs_f64(),
            ),
        ] {
            families.add(metric, &[], value);
        }
        for (reason, count) in IgnoreReason::ALL.iter().zip(figures.clcm.clcm_ignored) {
            families.add(&define::CLCM_IGNORED, &[reason.name()], count as f64);
        }
    }

    fn collect_dataplane(&self, families: &mut Families) {
        let rounds = &self.snapshot.rounds;
        let busy_nanos = rounds.round_times.sum();
        for (metric, value) in [
            (&define::ROUNDS, rounds.rounds as f64),
            (&define::BUSY_ROUNDS, rounds.busy_rounds as f64),
            (&define::BUSY_SECONDS, busy_nanos as f64 * NANOS),
            (&define::IDLE_SECONDS, rounds.idle.as_secs_f64()),
            (&define::SLEEPS, rounds.sleeps as f64),
            (&define::SLEEP_SECONDS, rounds.slept.as_secs_f64()),
            (&define::ROUND_MAX_SECONDS, rounds.round_max.as_secs_f64()),
            (&define::COMMANDS_REFUSED, rounds.commands_refused as f64),
            (&define::EVENTS_LOST, rounds.events_lost as f64),
        ] {
            families.add(metric, &[], value);
        }
        families.add(&define::DATAPLANE_FRAMES, &["rx"], rounds.rx_frames as f64);
        families.add(&define::DATAPLANE_FRAMES, &["tx"], rounds.tx_frames as f64);
        let times = self.shared.deadlocks().times();
        for (metric, histogram, scale) in [
            (&define::ROUND_SECONDS, &rounds.round_times, NANOS),
            (&define::BATCH_FRAMES, &rounds.batches, FRAMES),
            (&define::SCRAPE_SECONDS, &self.scrapes, NANOS),
            (&define::DETECTION_SECONDS, &times.detection, NANOS),
            (&define::RELEASE_SECONDS, &times.release, NANOS),
            (&define::RECOVERY_SECONDS, &times.recovery, NANOS),
        ] {
            families.add_histogram(metric, &[], histogram, scale);
        }
    }

    /// b_i of every class with Levels.
    fn collect_budgets(&self, families: &mut Families) {
        for priority in Priority::ALL {
            let ClassMode::Level { budgets, .. } = self.shared.info.class(priority).mode.get()
            else {
                continue;
            };
            for (index, bytes) in budgets.as_slice().iter().enumerate() {
                let labels = [&*priority.to_string(), &(index + 1).to_string()];
                families.add(&define::LEVEL_BUDGET_BYTES, &labels, bytes.get() as f64);
            }
        }
    }

    fn collect_port(
        &self,
        families: &mut Families,
        id: PortId,
        info: &PortInfo,
        state: &PortSnapshot,
    ) {
        let port = info.name.as_str();
        let counters = &state.counters;
        let up = f64::from(u8::from(self.shared.link_up(id)));
        families.add(&define::LINK_UP, &[port], up);
        for reason in DropReason::ALL {
            let count = counters.drops[reason.index()];
            families.add(&define::DROPS, &[port, reason.name()], count as f64);
        }
        for (kind, count) in [
            ("rx_dropped", state.kernel.rx_dropped),
            ("rx_ring_full", state.kernel.rx_ring_full),
            ("rx_fill_ring_empty", state.kernel.rx_fill_ring_empty),
            ("rx_invalid_descs", state.kernel.rx_invalid_descs),
            ("tx_invalid_descs", state.kernel.tx_invalid_descs),
            ("tx_device_drops", state.kernel.tx_device_drops),
        ] {
            families.add(&define::KERNEL_LOSSES, &[port, kind], count as f64);
        }
        for (name, ring) in [
            ("fill", state.rings.fill),
            ("rx", state.rings.rx),
            ("tx", state.rings.tx),
            ("completion", state.rings.completion),
        ] {
            let labels = [port, name];
            families.add(&define::RING_FRAMES, &labels, f64::from(ring.used));
            families.add(&define::RING_SIZE_FRAMES, &labels, f64::from(ring.size));
        }
        for (class, count) in self.shared.xdp_frames(id) {
            families.add(&define::XDP_FRAMES, &[port, class], count as f64);
        }
        for (labels, count) in [
            ([port, "pfc", "tx"], counters.pfc_sent),
            ([port, "pfc", "rx"], counters.pfc_received),
            ([port, "pause", "rx"], counters.pause_received),
        ] {
            families.add(&define::PAUSE_FRAMES, &labels, count as f64);
        }
        let overflows = counters.control_overflow as f64;
        families.add(&define::CONTROL_OVERFLOWS, &[port], overflows);
        families.add(
            &define::CLCM_FRAMES,
            &[port, "tx"],
            counters.clcm_sent as f64,
        );
        let measured = counters.echo_replies as f64;
        families.add(&define::ROUND_TRIPS, &[port], measured);
        let exceeded = counters.round_trips_exceeded as f64;
        families.add(&define::ROUND_TRIPS_EXCEEDED, &[port], exceeded);
        let received = counters.clcm_received as f64;
        families.add(&define::CLCM_FRAMES, &[port, "rx"], received);
    }

    fn collect_lldp(&self, families: &mut Families, id: PortId, info: &PortInfo) {
        let port = info.name.as_str();
        let neighbours = self.shared.neighbours();
        let (counters, findings) = (neighbours.counters(id), neighbours.findings(id));
        for (direction, count) in [("tx", counters.tx_frames), ("rx", counters.rx_frames)] {
            families.add(&define::LLDP_FRAMES, &[port, direction], count as f64);
        }
        for (reason, count) in [
            ("unsent", counters.unsent),
            ("malformed", counters.malformed),
            ("too_fast", counters.limited),
            ("too_many_neighbours", counters.table_full),
        ] {
            families.add(&define::LLDP_DISCARDED, &[port, reason], count as f64);
        }
        for (metric, value) in [
            (&define::LLDP_MALFORMED_TLVS, counters.malformed_tlvs),
            (&define::LLDP_EXPIRED, counters.expired),
            (
                &define::LLDP_NEIGHBOURS,
                neighbours.entries(id).len() as u64,
            ),
        ] {
            families.add(metric, &[port], value as f64);
        }
        let silent = matches!(findings.pfc, Some(PfcMismatch::NotAnnounced { .. }));
        for (what, differs) in [
            ("pfc", findings.pfc.is_some() && !silent),
            ("pfc_not_announced", silent),
            ("level", findings.level.is_some()),
        ] {
            let value = f64::from(u8::from(differs));
            families.add(&define::LLDP_MISMATCH, &[port, what], value);
        }
    }

    fn collect_priorities(&self, families: &mut Families, info: &PortInfo, state: &PortSnapshot) {
        let port = info.name.as_str();
        let switch = &self.shared.info;
        for priority in shown_priorities(switch, state) {
            let counters = &state.counters.priority[priority.index()];
            let gauges = &state.gauges[priority.index()];
            let number = priority.to_string();
            let place = [port, number.as_str()];
            for (direction, frames, bytes) in [
                ("rx", counters.rx_frames, counters.rx_bytes),
                ("tx", counters.tx_frames, counters.tx_bytes),
            ] {
                let labels = [port, &number, direction];
                families.add(&define::PORT_FRAMES, &labels, frames as f64);
                families.add(&define::PORT_BYTES, &labels, bytes as f64);
            }
            for (metric, value) in [
                (&define::INGRESS_BYTES, gauges.ingress),
                (&define::INGRESS_MAX_BYTES, gauges.ingress_max),
                (&define::EGRESS_BYTES, gauges.egress),
                (&define::EGRESS_MAX_BYTES, gauges.egress_max),
            ] {
                families.add(metric, &place, value.get() as f64);
            }
            // A neighbour may pause a lossy class too.
            let paused = gauges.paused_total.as_secs_f64();
            families.add(&define::PAUSE_SECONDS, &place, paused);
            families.add(&define::PAUSED, &place, f64::from(u8::from(gauges.paused)));
            for (direction, kind, count) in [
                ("tx", "xoff", counters.xoff_sent),
                ("tx", "xon", counters.xon_sent),
                ("rx", "xoff", counters.pause_received),
                ("rx", "xon", counters.resume_received),
            ] {
                let labels = [port, &number, direction, kind];
                families.add(&define::PFC_FRAMES, &labels, count as f64);
            }
            if !switch.class(priority).mode.get().is_lossless() {
                continue;
            }
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
                families.add(metric, &place, value as f64);
            }
            families.add(&define::MARKED_FRAMES, &place, counters.marks as f64);
            if let Some(levels) = &gauges.levels {
                if let Some(round_trip) = levels.round_trip_measured {
                    families.add(&define::ROUND_TRIP, &place, round_trip.as_secs_f64());
                }
                for (direction, feedback, frames) in [
                    ("tx", levels.feedback_sent, counters.feedback_sent),
                    ("rx", levels.feedback_received, counters.feedback_received),
                ] {
                    let labels = [port, &number, direction];
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
                    families.add(metric, &place, value as f64);
                }
                let counted = levels.m.iter().take(levels.depth.index());
                for (index, bytes) in counted.enumerate() {
                    let labels = [port, &number, &(index + 1).to_string()];
                    families.add(&define::LEVEL_FREE_BYTES, &labels, bytes.get() as f64);
                }
            }
            let Some((xoff, headroom)) = switch.pfc_thresholds(info, priority) else {
                continue;
            };
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
                families.add(metric, &place, value as f64);
            }
        }
    }
}

/// Metric families by name.
#[derive(Default)]
struct Families {
    by_name: BTreeMap<&'static str, (Definition, Vec<Metric>)>,
}

impl Families {
    fn add(&mut self, definition: &Definition, labels: &[&str], value: f64) {
        let mut metric = Metric::default();
        if definition.kind == Kind::Counter {
            let mut counter = Counter::default();
            counter.set_value(value);
            metric.set_counter(counter);
        } else {
            let mut gauge = Gauge::default();
            gauge.set_value(value);
            metric.set_gauge(gauge);
        }
        self.push(definition, labels, metric);
    }

    /// Bounds and sum are `histogram`'s times `scale`.
    fn add_histogram(
        &mut self,
        definition: &Definition,
        labels: &[&str],
        histogram: &Histogram,
        scale: f64,
    ) {
        let mut sample = HistogramSample::default();
        sample.set_sample_count(histogram.count());
        sample.set_sample_sum(histogram.sum() as f64 * scale);
        let bucket = |(bound, below): (u64, u64)| {
            let mut bucket = Bucket::default();
            bucket.set_upper_bound(bound as f64 * scale);
            bucket.set_cumulative_count(below);
            bucket
        };
        sample.set_bucket(histogram.cumulative().map(bucket).collect());
        let mut metric = Metric::default();
        metric.set_histogram(sample);
        self.push(definition, labels, metric);
    }

    fn push(&mut self, definition: &Definition, labels: &[&str], mut metric: Metric) {
        debug_assert_eq!(definition.labels.len(), labels.len(), "{}", definition.name);
        let pairs = definition
            .labels
            .iter()
            .zip(labels)
            .map(|(name, value)| {
                let mut pair = LabelPair::default();
                pair.set_name((*name).to_owned());
                pair.set_value((*value).to_owned());
                pair
            })
            .collect();
        metric.set_label(pairs);
        self.by_name
            .entry(definition.name)
            .or_insert_with(|| (*definition, Vec::new()))
            .1
            .push(metric);
    }

    fn finish(self) -> Vec<MetricFamily> {
        self.by_name
            .into_values()
            .map(|(definition, metrics)| {
                let mut family = MetricFamily::default();
                family.set_name(definition.name.to_owned());
                family.set_help(definition.help.to_owned());
                family.set_field_type(match definition.kind {
                    Kind::Counter => MetricType::COUNTER,
                    Kind::Gauge => MetricType::GAUGE,
                    Kind::Histogram => MetricType::HISTOGRAM,
                });
                family.set_metric(metrics);
                family
            })
            .collect()
    }
}
