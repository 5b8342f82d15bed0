//! The sFlow agent: reads the copies of frames, adds counters, and sends datagrams.
//!
//! UDP's only feedback is errors of the kernel and the collector's host, which are counted and never waited for.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration as StdDuration;

use tokio::task::spawn_blocking;
use tokio::time::Instant as TokioInstant;
use weir_core::PortId;
use weir_dataplane::tap::{Record, Tap, DROPS_PLACE, SAMPLES_PLACE};
use weir_export::sflow::{Datagram, DiscardedPacket, Header, PacketSample, PortCounters};

use super::collector::{Collector, RETRY};
use crate::control::sflow::{SflowAgent, SflowSettings};
use crate::control::shared::Published;
use crate::control::Shared;
use crate::model::clock;
use crate::model::sight::Verdict;

/// Polling interval of the copied frames, and thus the maximum delay of a report.
const POLL: StdDuration = StdDuration::from_millis(50);

/// Runs the agent for as long as the switch runs; returns at once while sFlow is off.
pub async fn run(shared: Arc<Shared>) {
    let Some(agent) = &shared.sflow else {
        return;
    };
    for (place, tap) in [(DROPS_PLACE, &agent.drops), (SAMPLES_PLACE, &agent.samples)] {
        if tap.is_none() {
            continue;
        }
        while !shared.dataplane.set_tap(place, tap.clone()).await {
            tokio::time::sleep(RETRY).await;
        }
    }
    let settings = agent.settings();
    tracing::info!(
        collector = %settings.collector,
        sampling = settings.sampling,
        drops_per_second = settings.drops_per_second,
        "sFlow started"
    );
    let interval = StdDuration::from_nanos(settings.interval.as_nanos());
    let mut sender = Sender::new(Arc::clone(&shared), settings);
    // Counters at once: a collector needs them to know the ports.
    let mut counters_due = TokioInstant::now();
    let mut poll = tokio::time::interval(POLL);
    poll.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        poll.tick().await;
        sender.send_waiting(agent);
        if TokioInstant::now() >= counters_due {
            counters_due = TokioInstant::now() + interval;
            let snapshot = shared.dataplane.fresh_snapshot().await;
            sender.send_counters(snapshot).await;
        }
        sender.flush(agent);
    }
}

/// Sequence numbers of a port's samples.
#[derive(Clone, Copy, Debug, Default)]
struct Sequences {
    counters: u32,
    packets: u32,
    drops: u32,
}

/// Samples in the datagram that is being written.
#[derive(Clone, Copy, Debug, Default)]
struct Samples {
    counters: u64,
    packets: u64,
    drops: u64,
}

struct Sender {
    shared: Arc<Shared>,
    collector: Collector,
    datagram: Datagram,
    sequences: Vec<Sequences>,
    written: Samples,
}

impl Sender {
    fn new(shared: Arc<Shared>, settings: &SflowSettings) -> Self {
        let sequences = vec![Sequences::default(); shared.info.ports.len()];
        let unknown = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        let mut datagram = Datagram::new(settings.agent.unwrap_or(unknown));
        datagram.begin(uptime_ms(&shared));
        Self {
            shared,
            collector: Collector::new(settings.collector),
            datagram,
            sequences,
            written: Samples::default(),
        }
    }

    /// Sends the frames in the taps, at most as many as the taps have room for.
    fn send_waiting(&mut self, agent: &SflowAgent) {
        for tap in [&agent.drops, &agent.samples].into_iter().flatten() {
            for _ in 0..tap.plan().ring_frames {
                let Some(record) = tap.take() else {
                    break;
                };
                self.add_frame(agent, tap, &record);
                tap.recycle(record);
            }
        }
    }

    fn add_frame(&mut self, agent: &SflowAgent, tap: &Tap, record: &Record) {
        let figures = tap.figures(record.port);
        let info = self.shared.info.ports.get(record.port.index());
        let interface = info.map_or(0, |info| info.ifindex());
        let header = Header {
            bytes: record.bytes(),
            length: record.length,
        };
        let mut sequences = Sequences::default();
        if let Some(kept) = self.sequences.get_mut(record.port.index()) {
            match record.verdict {
                Verdict::Dropped(_) => kept.drops = kept.drops.wrapping_add(1),
                _ => kept.packets = kept.packets.wrapping_add(1),
            }
            sequences = *kept;
        }
        let rate = agent.settings().sampling.unwrap_or_default();
        let is_drop = matches!(record.verdict, Verdict::Dropped(_));
        let is_added = self.add(agent, |datagram| match record.verdict {
            Verdict::Dropped(reason) => datagram.add_discarded(&DiscardedPacket {
                sequence: sequences.drops,
                interface,
                unreported: (figures.withheld + figures.lost) as u32,
                reason,
                header,
            }),
            _ => datagram.add_packet(&PacketSample {
                sequence: sequences.packets,
                interface,
                rate,
                pool: figures.seen as u32,
                lost: figures.lost as u32,
                header,
            }),
        });
        match (is_added, is_drop) {
            (true, true) => self.written.drops += 1,
            (true, false) => self.written.packets += 1,
            (false, true) => agent.exporting.count(|counters| counters.drops_lost += 1),
            (false, false) => agent.exporting.count(|counters| counters.packets_lost += 1),
        }
    }

    async fn send_counters(&mut self, snapshot: Arc<Published>) {
        let shared = Arc::clone(&self.shared);
        let read = spawn_blocking(move || read_counters(&shared, &snapshot));
        let all = read.await.unwrap_or_default();
        let shared = Arc::clone(&self.shared);
        let Some(agent) = shared.sflow.as_ref() else {
            return;
        };
        for (port, mut counters) in all {
            if let Some(kept) = self.sequences.get_mut(port.index()) {
                kept.counters = kept.counters.wrapping_add(1);
                counters.sequence = kept.counters;
            }
            match self.add(agent, |datagram| datagram.add_counters(&counters)) {
                true => self.written.counters += 1,
                false => agent
                    .exporting
                    .count(|counters| counters.counters_lost += 1),
            }
        }
    }

    /// Adds a sample, in the next datagram if this one is full.
    fn add(&mut self, agent: &SflowAgent, add: impl Fn(&mut Datagram) -> bool) -> bool {
        if add(&mut self.datagram) {
            return true;
        }
        self.flush(agent);
        // An empty datagram has room for any sample.
        add(&mut self.datagram)
    }

    /// Sends the datagram if it has samples.
    fn flush(&mut self, agent: &SflowAgent) {
        if self.datagram.samples() == 0 {
            return;
        }
        let outcome = self.collector.send(self.datagram.bytes());
        let written = std::mem::take(&mut self.written);
        agent.exporting.count(|counters| {
            counters.datagrams_refused += u64::from(outcome.is_refused);
            let places = if outcome.is_sent {
                counters.datagrams_sent += 1;
                [
                    &mut counters.counters_sent,
                    &mut counters.packets_sent,
                    &mut counters.drops_sent,
                ]
            } else {
                counters.datagrams_lost += 1;
                [
                    &mut counters.counters_lost,
                    &mut counters.packets_lost,
                    &mut counters.drops_lost,
                ]
            };
            let [counter_samples, packets, drops] = places;
            *counter_samples += written.counters;
            *packets += written.packets;
            *drops += written.drops;
        });
        if let Some(error) = outcome.error {
            agent.exporting.note_error(error);
        }
        self.datagram.begin(uptime_ms(&self.shared));
    }
}

fn uptime_ms(shared: &Shared) -> u32 {
    let uptime = clock::now().saturating_since(shared.life.began);
    // Wraps around after 49 days, as sFlow specifies.
    (uptime.as_nanos() / 1_000_000) as u32
}

/// Returns the counters of the ports that have a device, in order.
fn read_counters(shared: &Shared, snapshot: &Published) -> Vec<(PortId, PortCounters)> {
    let ports = shared.info.numbered_ports().zip(&snapshot.ports);
    let present = ports.filter(|((_, info), _)| info.ifindex() != 0);
    present
        .map(|((port, info), state)| {
            let device = shared.losses.of_device(port, info.ifindex());
            let kernel = shared.losses.of_kernel(port, state);
            let priorities = state.counters.priority.iter();
            let sum = |field: fn(&weir_core::counters::PriorityCounters) -> u64| -> u64 {
                priorities.clone().map(field).sum()
            };
            let counters = PortCounters {
                sequence: 0,
                interface: info.ifindex(),
                speed: info.rate.get(),
                up: shared.links.link_up(port),
                in_octets: sum(|it| it.rx_bytes),
                in_frames: sum(|it| it.rx_frames),
                in_discards: state.counters.drops_total()
                    + kernel.rx_dropped_total
                    + kernel.rx_ring_full_total
                    + device.rx_missed_total
                    + device.rx_fifo_total
                    + device.rx_over_total,
                in_errors: Some(
                    device.rx_crc_total
                        + device.rx_frame_total
                        + device.rx_length_total
                        + device.rx_other_total,
                ),
                out_octets: sum(|it| it.tx_bytes),
                out_frames: sum(|it| it.tx_frames),
                out_discards: kernel.tx_invalid_descs_total
                    + kernel.tx_device_drops_total
                    + kernel.tx_redirect_total,
                checksum_errors: Some(device.rx_crc_total),
                alignment_errors: Some(device.rx_frame_total),
                length_errors: Some(device.rx_length_total),
            };
            (port, counters)
        })
        .collect()
}
