//! Converts readings and events of running switches into a trace for Perfetto.

use std::collections::BTreeMap;

use weir_api::daemon::Event;
use weir_api::neighbors::Neighbor;
use weir_api::record::{RecordLine, RecordPauses};
use weir_core::switch::PauseGauges;
use weir_core::{Duration, Instant};

use crate::perfetto::Arrow;
use crate::spans::{Span, Spans};
use crate::timeline::{Place, Timeline, Way};

/// Port, priority and direction of pauses of a switch.
type Key = (String, u8, Way);

/// A trace under construction.
#[derive(Debug, Default)]
pub struct FabricTrace {
    timeline: Timeline,
    switches: Vec<Switch>,
}

#[derive(Debug)]
struct Switch {
    name: String,
    pauses: BTreeMap<Key, Spans>,
    begin: Option<u64>,
    end: u64,
    /// By port, the name of the neighbour and of its port.
    neighbours: BTreeMap<String, (String, String)>,
    events: Vec<Event>,
}

/// A pause: the number of its switch, its key there, and its number among the pauses of that key.
type Pause = (usize, Key, usize);

impl FabricTrace {
    /// Adds a switch and returns its number. Clocks of all switches must be the same.
    pub fn switch(&mut self, name: &str) -> usize {
        self.switches.push(Switch {
            name: name.to_owned(),
            pauses: BTreeMap::new(),
            begin: None,
            end: 0,
            neighbours: BTreeMap::new(),
            events: Vec::new(),
        });
        self.switches.len() - 1
    }

    /// Adds a reading of a switch.
    pub fn add(&mut self, switch: usize, line: &RecordLine) {
        let Some(switch) = self.switches.get_mut(switch) else {
            return;
        };
        switch.begin.get_or_insert(line.monotonic_nanos);
        switch.end = line.monotonic_nanos;
        let at = Instant::from_nanos(line.monotonic_nanos);
        for queue in &line.queues {
            let place = Place {
                switch: &switch.name,
                port: &queue.port,
                priority: queue.priority,
            };
            self.timeline
                .depth(place, at, queue.egress_bytes, queue.ingress_bytes);
            for (way, pauses) in [(Way::Received, queue.received), (Way::Sent, queue.sent)] {
                let key = (queue.port.clone(), queue.priority, way);
                if let Some(pauses) = pauses {
                    let spans = switch.pauses.entry(key).or_default();
                    spans.read(at, gauges(pauses));
                }
            }
        }
    }

    /// Adds those of `events` that happened during the recording of a switch.
    pub fn events(&mut self, switch: usize, events: &[Event]) {
        if let Some(switch) = self.switches.get_mut(switch) {
            let during = switch.begin.unwrap_or(switch.end)..=switch.end;
            let events = events.iter();
            let events = events.filter(|event| during.contains(&event.monotonic_nanos));
            switch.events.extend(events.cloned());
        }
    }

    /// Adds the neighbours of a switch, between which arrows are drawn.
    pub fn neighbours(&mut self, switch: usize, neighbours: &[Neighbor]) {
        if let Some(switch) = self.switches.get_mut(switch) {
            let named = neighbours.iter().filter_map(|neighbour| {
                let far = (neighbour.system_name.clone()?, neighbour.port_id.clone());
                Some((neighbour.port.clone(), far))
            });
            switch.neighbours.extend(named);
        }
    }

    /// Returns the trace as bytes of a file.
    pub fn into_bytes(mut self) -> Vec<u8> {
        let mut arrows: BTreeMap<Pause, [Vec<Arrow>; 2]> = BTreeMap::new();
        for ends in self.causes() {
            let arrow = self.timeline.arrow();
            for (side, pause) in ends.into_iter().enumerate() {
                arrows.entry(pause).or_default()[side].push(arrow);
            }
        }
        let end = self.switches.iter().map(|switch| switch.end).max();
        for (number, switch) in self.switches.iter().enumerate() {
            for (key, spans) in &switch.pauses {
                let place = Place {
                    switch: &switch.name,
                    port: &key.0,
                    priority: key.1,
                };
                for (index, span) in spans.spans().iter().enumerate() {
                    let of = arrows.remove(&(number, key.clone(), index));
                    let [out, into] = of.unwrap_or_default();
                    self.timeline.pause(place, key.2, span, out, into);
                }
            }
            for event in &switch.events {
                self.timeline.event(&switch.name, event);
            }
        }
        self.timeline
            .into_bytes(Instant::from_nanos(end.unwrap_or(0)))
    }

    /// Returns cause and effect of pauses. A pause that a switch receives has the one that its neighbour sent last before. A
    /// pause that a switch sends has a cause here if exactly one pause of that priority held the switch at its beginning:
    /// readings do not show for which port the frames wait.
    fn causes(&self) -> Vec<[Pause; 2]> {
        let mut found = Vec::new();
        for (number, switch) in self.switches.iter().enumerate() {
            for (key, spans) in &switch.pauses {
                for (index, span) in spans.spans().iter().enumerate() {
                    let cause = match key.2 {
                        Way::Received => self.sent_to(switch, key, span.from),
                        Way::Sent => received_by(number, switch, key, span.from),
                    };
                    let effect = (number, key.clone(), index);
                    found.extend(cause.map(|cause| [cause, effect]));
                }
            }
        }
        found
    }

    fn sent_to(&self, switch: &Switch, key: &Key, at: Instant) -> Option<Pause> {
        let (name, port) = switch.neighbours.get(&key.0)?;
        let number = self.switches.iter().position(|far| far.name == *name)?;
        let far = (port.clone(), key.1, Way::Sent);
        let spans = self.switches.get(number)?.pauses.get(&far)?.spans();
        let index = spans
            .partition_point(|span| span.from <= at)
            .checked_sub(1)?;
        Some((number, far, index))
    }
}

fn received_by(number: usize, switch: &Switch, key: &Key, at: Instant) -> Option<Pause> {
    let received = switch.pauses.iter();
    let received = received.filter(|(of, _)| of.1 == key.1 && of.2 == Way::Received);
    let mut held = received.filter_map(|(of, spans)| {
        let index = spans.spans().iter().position(|span| lasts(span, at))?;
        Some((number, of.clone(), index))
    });
    let first = held.next()?;
    held.next().is_none().then_some(first)
}

fn lasts(span: &Span, at: Instant) -> bool {
    span.from <= at && span.to.is_none_or(|to| to > at)
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
