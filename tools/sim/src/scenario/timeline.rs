//! A run as a trace for Perfetto.

use std::collections::BTreeMap;

use weir_api::daemon::Event;
use weir_config::scenario::{Scenario, SwitchPort};
use weir_core::switch::PauseGauges;
use weir_core::{Instant, PortId, Priority};
use weir_recording::perfetto::Arrow;
use weir_recording::spans::Spans;
use weir_recording::timeline::{Place, Timeline, Way};

use super::outcome::described;
use crate::network::{Network, Pause};

/// Switch, port, priority and direction of pauses.
type Key = (u32, PortId, Priority, Way);

#[derive(Default)]
struct Pauses {
    spans: Spans,
    /// Beginning of each span.
    begun: Vec<Pause>,
    /// Arrows from and to each span.
    arrows: Vec<[Vec<Arrow>; 2]>,
}

/// Returns a trace of `network` at the end of a run that has recorded pauses.
///
/// An arrow leads from each pause sent by a switch to the one received by its neighbour, and from there to each pause that
/// the neighbour sent because of it; see [`Pause::cause`].
pub fn timeline(scenario: &Scenario, network: &Network) -> Vec<u8> {
    let ports = scenario.all_ports();
    let mut timeline = Timeline::default();
    let port_name = |switch: u32, port: PortId| {
        let port: &SwitchPort = &ports[switch as usize][port.index()];
        scenario.peer_name(port.peer)
    };
    let place = |switch: u32, port: PortId, priority: Priority| Place {
        switch: &scenario.switches[switch as usize],
        port: port_name(switch, port),
        priority: priority.get(),
    };
    let mut pauses = pauses(network);
    draw_arrows(network, &mut timeline, &mut pauses);
    for ((switch, port, priority, way), pauses) in &mut pauses {
        let mut arrows = std::mem::take(&mut pauses.arrows).into_iter();
        for span in pauses.spans.spans() {
            let [out, into] = arrows.next().unwrap_or_default();
            timeline.pause(place(*switch, *port, *priority), *way, span, out, into);
        }
    }
    for curve in network.samples().map_or(&[][..], |it| it.curves()) {
        let interval = network.samples().map_or(0, |it| it.interval().as_nanos());
        let moments = (0..).map(|point: u64| Instant::from_nanos(point * interval));
        let values = curve.egress.iter().zip(curve.ingress.iter());
        for (at, (egress, ingress)) in moments.zip(values) {
            let place = place(curve.switch, curve.port, curve.priority);
            timeline.depth(place, at, egress, ingress);
        }
    }
    for entry in network.log() {
        let described = described(scenario, &ports, entry);
        let event = Event {
            sequence: 0,
            monotonic_nanos: described.at.as_nanos(),
            time: String::new(),
            kind: described.kind.into(),
            port: described.port,
            priority: described.priority,
            details: described.details,
        };
        timeline.event(&scenario.switches[entry.switch as usize], &event);
    }
    timeline.into_bytes(network.now())
}

fn pauses(network: &Network) -> BTreeMap<Key, Pauses> {
    let mut all: BTreeMap<Key, Pauses> = BTreeMap::new();
    for entry in network.pauses() {
        let pause = entry.kind;
        let key = (entry.switch, pause.port, pause.priority, pause.way);
        let pauses = all.entry(key).or_insert_with(|| {
            let mut pauses = Pauses::default();
            pauses.spans.read(Instant::ZERO, PauseGauges::default());
            pauses
        });
        pauses.spans.read(entry.at, pause.gauges);
        let count = pauses.spans.spans().len();
        if pauses.begun.len() < count {
            pauses.begun.push(pause);
            pauses.arrows.push(Default::default());
        }
    }
    let now = network.now();
    for ((switch, port, priority, way), pauses) in &mut all {
        let switch = network.switch(*switch as usize);
        let gauges = switch.gauges(now, *port, *priority);
        let gauges = match way {
            Way::Sent => gauges.pauses_sent,
            Way::Received => gauges.pauses_received,
        };
        pauses.spans.read(now, gauges);
    }
    all
}

fn draw_arrows(network: &Network, timeline: &mut Timeline, pauses: &mut BTreeMap<Key, Pauses>) {
    let mut found: Vec<[(Key, usize); 2]> = Vec::new();
    let ends = network.plan().links.iter().map(|link| link.ends);
    let ends = ends.filter_map(|[a, b]| Some((a.node_and_port()?, b.node_and_port()?)));
    let peers: BTreeMap<_, _> = ends.flat_map(|(a, b)| [(a, b), (b, a)]).collect();
    for (key, received) in pauses.iter() {
        let (switch, port, priority, way) = *key;
        for (index, begun) in received.begun.iter().enumerate() {
            let Some(from) = begun.gauges.last_began else {
                continue;
            };
            let source = match way {
                // The last of those that had arrived.
                Way::Received => peers
                    .get(&(switch as usize, port))
                    .and_then(|(peer, port)| {
                        let key = (*peer as u32, *port, priority, Way::Sent);
                        let sent = &pauses.get(&key)?.begun;
                        let arrived = sent.partition_point(|it| it.arrives <= Some(from));
                        Some((key, arrived.checked_sub(1)?))
                    }),
                Way::Sent => begun.cause.and_then(|egress| {
                    let key = (switch, egress, priority, Way::Received);
                    let spans = pauses.get(&key)?.spans.spans();
                    let before = spans.partition_point(|it| it.from <= from);
                    Some((key, before.checked_sub(1)?))
                }),
            };
            found.extend(source.map(|source| [source, (*key, index)]));
        }
    }
    for ends in found {
        let arrow = timeline.arrow();
        for (side, (key, index)) in ends.into_iter().enumerate() {
            let arrows = pauses.get_mut(&key).and_then(|it| it.arrows.get_mut(index));
            if let Some(arrows) = arrows {
                arrows[side].push(arrow);
            }
        }
    }
}
