//! Converts readings and events into a trace for Perfetto.

use std::collections::BTreeMap;

use weir_api::daemon::Event;
use weir_api::record::{RecordLine, RecordPauses};
use weir_core::switch::PauseGauges;
use weir_core::{Duration, Instant};
use weir_recording::spans::Spans;
use weir_recording::timeline::{Place, Timeline, Way};

/// A trace under construction.
#[derive(Debug)]
pub struct Trace {
    switch: String,
    timeline: Timeline,
    /// By port and priority.
    pauses: BTreeMap<(String, u8, Way), Spans>,
    begin: Option<u64>,
    end: u64,
}

impl Trace {
    /// Creates an empty trace of `switch`.
    pub fn new(switch: &str) -> Self {
        Self {
            switch: switch.to_owned(),
            timeline: Timeline::default(),
            pauses: BTreeMap::new(),
            begin: None,
            end: 0,
        }
    }

    pub fn add(&mut self, line: &RecordLine) {
        self.begin.get_or_insert(line.monotonic_nanos);
        self.end = line.monotonic_nanos;
        let at = Instant::from_nanos(line.monotonic_nanos);
        for queue in &line.queues {
            let place = Place {
                switch: &self.switch,
                port: &queue.port,
                priority: queue.priority,
            };
            self.timeline
                .depth(place, at, queue.egress_bytes, queue.ingress_bytes);
            for (way, pauses) in [(Way::Received, queue.received), (Way::Sent, queue.sent)] {
                let key = (queue.port.clone(), queue.priority, way);
                if let Some(pauses) = pauses {
                    self.pauses.entry(key).or_default().read(at, gauges(pauses));
                }
            }
        }
    }

    /// Returns the trace as bytes of a file, with those of `events` that happened during it.
    pub fn into_bytes(mut self, events: &[Event]) -> Vec<u8> {
        for ((port, priority, way), spans) in &self.pauses {
            let place = Place {
                switch: &self.switch,
                port,
                priority: *priority,
            };
            for span in spans.spans() {
                self.timeline
                    .pause(place, *way, span, Vec::new(), Vec::new());
            }
        }
        let during = self.begin.unwrap_or(self.end)..=self.end;
        let events = events.iter();
        for event in events.filter(|event| during.contains(&event.monotonic_nanos)) {
            self.timeline.event(&self.switch, event);
        }
        self.timeline.into_bytes(Instant::from_nanos(self.end))
    }
}

fn gauges(pauses: RecordPauses) -> PauseGauges {
    PauseGauges {
        begun: pauses.transitions_total,
        active: pauses.paused,
        last_began: pauses.last_began_monotonic_nanos.map(Instant::from_nanos),
        last_ended: pauses.last_ended_monotonic_nanos.map(Instant::from_nanos),
        total: Duration::from_nanos(pauses.paused_nanos_total),
        // Not used for spans.
        longest: Duration::ZERO,
    }
}
