//! Records the network during a run, for its page.

use weir_config::scenario::Scenario;
use weir_core::{Instant, PortId, Priority};
use weir_results::report::{End, History};

use crate::network::Network;

/// A buffer: the switch, the port, the priority.
pub type Buffer = (usize, PortId, Priority);

/// Returns all buffers of lossless classes, each with the name of its neighbour.
pub fn lossless_buffers(scenario: &Scenario) -> Vec<(Buffer, String)> {
    let classes = scenario.classes.iter();
    let lossless = classes.filter(|class| class.mode.is_lossless());
    let priorities: Vec<Priority> = lossless
        .flat_map(|class| class.priorities.iter().copied())
        .collect();
    let mut all = Vec::new();
    for (switch, ports) in scenario.all_ports().iter().enumerate() {
        for (index, port) in ports.iter().enumerate() {
            let Some(id) = PortId::from_index(index) else {
                continue;
            };
            let peer = scenario.peer_name(port.peer);
            let buffers = priorities.iter().map(|priority| (switch, id, *priority));
            all.extend(buffers.map(|buffer| (buffer, peer.to_owned())));
        }
    }
    all
}

/// Records the buffers and pauses of every port and class at each call.
#[derive(Debug, Default)]
pub struct Recorder {
    history: History,
    /// By end of the history.
    places: Vec<Buffer>,
}

impl Recorder {
    /// Creates one for the switches of `scenario`; lossless classes only.
    pub fn new(scenario: &Scenario) -> Self {
        let mut new = Self::default();
        for (place, peer) in lossless_buffers(scenario) {
            let (switch, _, priority) = place;
            new.places.push(place);
            new.history.ends.push(End {
                switch: scenario.switches[switch].clone(),
                peer,
                priority: priority.index() as u8,
                ..End::default()
            });
        }
        new
    }

    /// Records the current state.
    pub fn note(&mut self, network: &Network) {
        let now = network.now();
        let seconds = now.saturating_since(Instant::ZERO).as_secs_f64();
        self.history.seconds.push(seconds);
        for (end, (switch, port, priority)) in self.history.ends.iter_mut().zip(&self.places) {
            let switch = network.switch(*switch);
            let held = switch.gauges(now, *port, *priority).pauses_sent.total;
            end.bytes.push(switch.occupancy(*port, *priority).0.get());
            end.paused_nanos.push(held.as_nanos());
        }
    }

    /// Returns the record.
    pub fn into_history(self) -> History {
        self.history
    }
}
