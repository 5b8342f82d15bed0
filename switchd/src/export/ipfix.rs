//! The IPFIX stream: turns readings of the switch into messages, and sends them.
//!
//! A record has the increases since the last record of the same port and priority that the kernel accepted. The
//! increases of a message that was not sent are thus in later ones.

use std::sync::Arc;
use std::time::Duration as StdDuration;

use weir_core::switch::PauseGauges;
use weir_core::units::{NANOS_PER_SECOND, PRIORITY_COUNT};
use weir_core::{Duration, Instant};
use weir_dataplane::series::{PortReading, QueueReading, Reading, IPFIX_PLACE};
use weir_export::ipfix::{Credits, Message, Pauses, Record};

use super::collector::{Collector, RETRY};
use crate::control::ipfix::IpfixStream;
use crate::control::Shared;
use crate::model::clock;

/// A collector that begins to listen has waited this long for the template and all values.
const REFRESH: Duration = Duration::from_secs(1);
/// The same after a template that was not sent.
const REFRESH_AGAIN: Duration = Duration::from_millis(100);
/// Records of one port: one for each priority, and one for frames without.
const SLOTS: usize = PRIORITY_COUNT + 1;
/// More records than a message has.
const RECORDS_MAX: usize = 32;

/// Runs the stream for as long as the switch runs; returns at once while it is off.
pub async fn run(shared: Arc<Shared>) {
    let Some(stream) = &shared.ipfix else {
        return;
    };
    let series = Some(&stream.series);
    while !shared
        .dataplane
        .set_series(IPFIX_PLACE, series.cloned())
        .await
    {
        tokio::time::sleep(RETRY).await;
    }
    let settings = stream.settings();
    tracing::info!(
        collector = %settings.collector,
        interval = ?settings.interval,
        observation_domain = settings.observation_domain,
        enterprise = settings.enterprise,
        "IPFIX started"
    );
    let interval = stream.series.poll_interval().as_nanos();
    let mut poll = tokio::time::interval(StdDuration::from_nanos(interval));
    poll.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut sender = Sender::new(&shared, stream);
    loop {
        poll.tick().await;
        sender.send_waiting();
    }
}

/// State of a record's subject before the record.
struct Before {
    place: usize,
    queue: QueueReading,
}

struct Sender<'a> {
    stream: &'a IpfixStream,
    names: Vec<String>,
    collector: Collector,
    message: Message,
    has_template: bool,
    /// As in the last records, [`SLOTS`] for each port.
    told: Vec<QueueReading>,
    /// Values of `told` before the message that is being written.
    before: Vec<Before>,
    refresh_at: Instant,
    unchanged: u64,
}

impl<'a> Sender<'a> {
    fn new(shared: &Shared, stream: &'a IpfixStream) -> Self {
        let ports = shared.info.numbered_ports();
        let names: Vec<String> = ports.map(|(port, _)| shared.info.port_name(port)).collect();
        let settings = stream.settings();
        Self {
            stream,
            collector: Collector::new(settings.collector),
            message: Message::new(settings.observation_domain, settings.enterprise),
            has_template: false,
            told: vec![QueueReading::default(); names.len() * SLOTS],
            before: Vec::with_capacity(RECORDS_MAX),
            refresh_at: Instant::ZERO,
            unchanged: 0,
            names,
        }
    }

    /// Sends the readings that wait.
    fn send_waiting(&mut self) {
        let now = clock::now();
        let unix_nanos = u64::try_from(clock::unix_nanos(now)).unwrap_or_default();
        let mut exported = 0;
        while let Some(reading) = self.stream.series.take() {
            let age = now.saturating_since(reading.at).as_nanos();
            self.write(&reading, unix_nanos.saturating_sub(age));
            exported += 1 + reading.repeats;
            self.stream.series.recycle(reading);
        }
        self.flush();
        let unchanged = std::mem::take(&mut self.unchanged);
        self.stream.exporting.count(|counters| {
            counters.readings_exported += exported;
            counters.records_unchanged += unchanged;
        });
    }

    fn write(&mut self, reading: &Reading, unix_nanos: u64) {
        let interval = self.stream.series.interval();
        let last_at = reading.at + interval.saturating_mul(reading.repeats);
        let is_due = last_at >= self.refresh_at;
        if is_due {
            self.refresh_at = last_at + REFRESH;
            self.flush();
            self.message.add_template();
            self.has_template = true;
        }
        let mut written = 0;
        for (index, port) in reading.ports.iter().enumerate().take(self.names.len()) {
            let first = index * SLOTS;
            for (place, queue) in (first..).zip(&port.priorities) {
                if is_due || *queue != self.told[place] {
                    self.add(place, *queue, unix_nanos);
                    written += 1;
                }
            }
            // Frames without a priority have no state that a new collector lacks.
            let place = first + PRIORITY_COUNT;
            let dropped = dropped_without_priority(port);
            if dropped != self.told[place].dropped {
                let queue = QueueReading {
                    dropped,
                    ..QueueReading::default()
                };
                self.add(place, queue, unix_nanos);
                written += 1;
            }
        }
        let all = self.names.len() as u64 * SLOTS as u64 * (reading.repeats + 1);
        self.unchanged += all - written;
    }

    fn add(&mut self, place: usize, now: QueueReading, unix_nanos: u64) {
        for _ in 0..2 {
            let last = self.told[place];
            let slot = place % SLOTS;
            let credits = now.credits.unwrap_or_default();
            let record = Record {
                unix_nanos,
                port: &self.names[place / SLOTS],
                priority: (slot < PRIORITY_COUNT).then_some(slot as u8),
                ingress_bytes: now.ingress.get(),
                egress_bytes: now.egress.get(),
                received: since(&last.received, &now.received),
                sent: since(&last.sent, &now.sent),
                credits: Credits {
                    used: credits.used,
                    limit: credits.limit,
                    outstanding: credits.outstanding,
                },
                drops: now.dropped.saturating_sub(last.dropped),
            };
            if self.message.add(&record) {
                self.before.push(Before { place, queue: last });
                self.told[place] = now;
                return;
            }
            // An empty message has room for any record. If this one is not sent, `told` is as before.
            self.flush();
        }
    }

    /// Sends the message if there is anything in it.
    fn flush(&mut self) {
        if self.message.is_empty() {
            return;
        }
        let unix_nanos = u64::try_from(clock::unix_nanos(clock::now())).unwrap_or_default();
        let records = u64::from(self.message.records());
        let seconds = (unix_nanos / NANOS_PER_SECOND) as u32;
        let outcome = self.collector.send(self.message.finish(seconds));
        self.message.begin_next(outcome.is_sent);
        let had_template = std::mem::take(&mut self.has_template);
        if outcome.is_sent {
            self.before.clear();
        } else {
            for before in self.before.drain(..).rev() {
                self.told[before.place] = before.queue;
            }
            if had_template {
                self.refresh_at = clock::now() + REFRESH_AGAIN;
            }
        }
        self.stream.exporting.count(|counters| {
            counters.messages_refused += u64::from(outcome.is_refused);
            if outcome.is_sent {
                counters.messages_sent += 1;
                counters.records_sent += records;
            } else {
                counters.messages_lost += 1;
                counters.records_lost += records;
            }
        });
        if let Some(error) = outcome.error {
            self.stream.exporting.note_error(error);
        }
    }
}

fn dropped_without_priority(port: &PortReading) -> u64 {
    let all: u64 = port.drops.iter().sum();
    let data: u64 = port.priorities.iter().map(|queue| queue.dropped).sum();
    all.saturating_sub(data)
}

fn since(last: &PauseGauges, now: &PauseGauges) -> Pauses {
    Pauses {
        nanos: now.total.as_nanos().saturating_sub(last.total.as_nanos()),
        begun: now.begun.saturating_sub(last.begun) as u32,
        active: now.active,
    }
}
