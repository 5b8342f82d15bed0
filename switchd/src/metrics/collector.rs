//! Converts a snapshot into metric families.

use std::sync::Arc;

use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use weir_api::counters::{
    DATAPLANE_COUNTERS, DEVICE_LOSSES, GNMI_COUNTERS, IPFIX_COUNTERS, KERNEL_LOSSES,
    MIRROR_COUNTERS, SFLOW_COUNTERS,
};
use weir_core::control::counters::{CONTROL_COUNTERS, LLDP_COUNTERS};
use weir_core::control::neighbours::CreditMismatch;
use weir_core::control::IgnoreReason;
use weir_core::counters::{PORT_COUNTERS, VLAN_COUNTERS};
use weir_core::units::NANOS_PER_SECOND;
use weir_core::wire::lldp::dcbx::PfcMismatch;
use weir_core::{ClassMode, DropReason, PortId, Priority};
use weir_dataplane::histogram::Histogram;
use weir_dataplane::messages::PortSnapshot;
use weir_monitoring::definitions as define;

use super::credits;
use super::families::Families;
use super::priorities::QueueState;
use crate::api::views::shown_priorities;
use crate::control::info::PortInfo;
use crate::control::ipfix::IpfixStream;
use crate::control::sflow::SflowAgent;
use crate::control::shared::watermarks::Watermarks;
use crate::control::shared::Published;
use crate::control::Shared;
use crate::model::clock;

/// Scale of a histogram's values: nanoseconds to seconds.
const NANOS: f64 = 1.0 / NANOS_PER_SECOND as f64;
const FRAMES: f64 = 1.0;

/// Collects metrics from one snapshot.
pub struct SnapshotCollector {
    shared: Arc<Shared>,
    snapshot: Arc<Published>,
    scrapes: Histogram,
    descriptions: Vec<Desc>,
}

impl SnapshotCollector {
    /// Creates a collector for one scrape; `scrapes` has the durations of earlier ones in nanoseconds.
    ///
    /// # Errors
    ///
    /// When a definition is not a valid metric, which a test rules out.
    pub fn new(
        shared: Arc<Shared>,
        snapshot: Arc<Published>,
        scrapes: Histogram,
    ) -> prometheus::Result<Self> {
        let descriptions = define::all()
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
        let watermarks = self.shared.records.watermarks().clone();
        for shown in watermarks.shown() {
            let held = shown.window.held_frames as f64;
            families.add(&define::HELD_MAX_FRAMES, &[shown.reader.name()], held);
        }
        self.collect_pools(&mut families, &watermarks);
        self.collect_cables(&mut families);
        self.collect_forwarding(&mut families);
        for row in &self.snapshot.vlans.traffic {
            let name = row.vlan.map_or("other".to_owned(), |vlan| vlan.to_string());
            families.add_counters(VLAN_COUNTERS, &[&name], &row.counters);
        }
        for (port, reason, frames) in self.shared.losses.stack.counts() {
            if let Some(info) = self.shared.info.ports.get(port.index()) {
                families.add(&define::STACK_DROPS, &[&info.name, &reason], frames as f64);
            }
        }
        let ports = self.shared.info.numbered_ports();
        for ((id, info), state) in ports.zip(&self.snapshot.ports) {
            self.collect_port(&mut families, id, info, state);
            self.collect_lldp(&mut families, id, info);
            self.collect_priorities(&mut families, (id, info), state, &watermarks);
        }
        families.finish()
    }
}

impl SnapshotCollector {
    pub(super) fn shared(&self) -> &Shared {
        &self.shared
    }

    pub(super) fn snapshot(&self) -> &Published {
        &self.snapshot
    }

    fn collect_switch(&self, families: &mut Families) {
        let (shared, snapshot) = (&self.shared, &self.snapshot);
        let info = &shared.info;
        let figures = shared.records.figures();
        let verdict = shared.records.health().verdict.known();
        let health = verdict.map_or(f64::NAN, |verdict| f64::from(verdict as u8));
        let version = env!("CARGO_PKG_VERSION");
        let build = [version, &info.name, info.deadlock_policy.get().name()];
        families.add(&define::BUILD_INFO, &build, 1.0);
        for (metric, value) in [
            (&define::UPTIME, shared.life.uptime().as_secs_f64()),
            (&define::HEALTH, health),
            (&define::COMMANDS_LOST, figures.commands_lost as f64),
            (
                &define::LEVEL_TABLE_ENTRIES,
                snapshot.level_table.total as f64,
            ),
            (&define::IMPAIRMENTS, shared.impairments.list().len() as f64),
            (&define::GNMI_STREAMS, shared.gnmi.streams() as f64),
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
        families.add_counters(CONTROL_COUNTERS, &[], &figures.clcm);
        families.add_counters(GNMI_COUNTERS, &[], &shared.gnmi.counters());
        let sflow = shared.sflow.as_ref().map(SflowAgent::counters);
        families.add_counters(SFLOW_COUNTERS, &[], &sflow.unwrap_or_default());
        let ipfix = shared.ipfix.as_ref().map(IpfixStream::counters);
        families.add_counters(IPFIX_COUNTERS, &[], &ipfix.unwrap_or_default());
        for (reason, count) in IgnoreReason::ALL.iter().zip(figures.clcm.clcm_ignored) {
            families.add(&define::CLCM_IGNORED, &[reason.name()], count as f64);
        }
    }

    fn collect_dataplane(&self, families: &mut Families) {
        let rounds = &self.snapshot.rounds;
        let mirrors = self.shared.info.mirrors.get();
        for (mirror, counters) in mirrors.iter().zip(&self.snapshot.mirrors) {
            families.add_counters(MIRROR_COUNTERS, &[&mirror.name], counters);
        }
        let busy_nanos = rounds.round_times.sum();
        families.add_counters(DATAPLANE_COUNTERS, &[], &rounds.counters);
        families.add(&define::BUSY_SECONDS, &[], busy_nanos as f64 * NANOS);
        let round_max = rounds.round_max.as_secs_f64();
        families.add(&define::ROUND_MAX_SECONDS, &[], round_max);
        let delay_max = rounds.delay_max.as_secs_f64();
        families.add(&define::DELAY_MAX_SECONDS, &[], delay_max);
        let times = self.shared.records.deadlocks().times();
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

    /// Adds b_i of every class with Levels.
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
        let up = f64::from(u8::from(self.shared.links.link_up(id)));
        families.add(&define::LINK_UP, &[port], up);
        let suppressed = f64::from(u8::from(self.shared.links.is_suppressed(id)));
        families.add(&define::LINK_SUPPRESSED, &[port], suppressed);
        for reason in DropReason::ALL {
            let count = counters.drops[reason.index()];
            families.add(&define::DROPS, &[port, reason.name()], count as f64);
        }
        let losses = &self.shared.losses;
        families.add_counters(KERNEL_LOSSES, &[port], &losses.of_kernel(id, state));
        families.add_counters(
            DEVICE_LOSSES,
            &[port],
            &losses.of_device(id, info.ifindex()),
        );
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
        for (class, count) in self.shared.dataplane.xdp_frames(id) {
            families.add(&define::XDP_FRAMES, &[port, class], count as f64);
        }
        for (verdict, count) in self.shared.dataplane.xdp_verdicts(id) {
            families.add(&define::XDP_VERDICTS, &[port, verdict], count as f64);
        }
        families.add_counters(PORT_COUNTERS, &[port], counters);
        credits::collect(families, port, state);
    }

    fn collect_lldp(&self, families: &mut Families, id: PortId, info: &PortInfo) {
        let port = info.name.as_str();
        let neighbours = self.shared.links.neighbours();
        families.add_counters(LLDP_COUNTERS, &[port], &neighbours.counters(id));
        let count = neighbours.entries(id).len();
        families.add(&define::LLDP_NEIGHBOURS, &[port], count as f64);
        let findings = neighbours.findings(id);
        let silent = matches!(findings.pfc, Some(PfcMismatch::NotAnnounced { .. }));
        let has_none = matches!(findings.credits, Some(CreditMismatch::NotAnnounced { .. }));
        for (what, differs) in [
            ("pfc", findings.pfc.is_some() && !silent),
            ("pfc_not_announced", silent),
            ("level", findings.level.is_some()),
            ("credits", findings.credits.is_some() && !has_none),
            ("credits_not_announced", has_none),
        ] {
            let value = f64::from(u8::from(differs));
            families.add(&define::LLDP_MISMATCH, &[port, what], value);
        }
    }

    fn collect_priorities(
        &self,
        families: &mut Families,
        (id, info): (PortId, &PortInfo),
        state: &PortSnapshot,
        watermarks: &Watermarks,
    ) {
        let switch = &self.shared.info;
        for priority in shown_priorities(switch, state) {
            let number = priority.to_string();
            let peaks: Vec<_> = watermarks
                .shown()
                .filter_map(|shown| {
                    let peaks = shown.window.port(id)?.priorities[priority.index()];
                    Some((shown.reader, peaks))
                })
                .collect();
            let queue = QueueState {
                place: [info.name.as_str(), number.as_str()],
                counters: &state.counters.priority[priority.index()],
                gauges: &state.gauges[priority.index()],
                peaks: &peaks,
            };
            queue.collect_traffic(families);
            if !switch.class(priority).mode.get().is_lossless() {
                continue;
            }
            queue.collect_lossless(families);
            if let Some(levels) = &queue.gauges.levels {
                queue.collect_levels(families, levels);
            }
            if let Some(thresholds) = switch.pfc_thresholds(info, priority) {
                queue.collect_thresholds(families, thresholds);
            }
        }
    }
}
