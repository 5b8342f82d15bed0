//! What the network looked like during a run, for the page of it.

use weir_config::scenario::Scenario;
use weir_core::{Instant, PortId, Priority};
use weir_results::report::{End, History};

use crate::network::Network;

/// Writes down the buffers and pauses of every port and class, whenever it is told to.
#[derive(Debug, Default)]
pub struct Recorder {
    history: History,
    /// By end of the history.
    places: Vec<(usize, PortId, Priority)>,
}

impl Recorder {
    /// For the switches of `scenario`; priorities of classes only.
    pub fn new(scenario: &Scenario) -> Self {
        let mut new = Self::default();
        let priorities = || {
            let lossless = scenario
                .classes
                .iter()
                .filter(|class| class.mode.is_lossless());
            lossless.flat_map(|class| class.priorities.iter().copied())
        };
        for (switch, ports) in scenario.all_ports().iter().enumerate() {
            for (place, port) in ports.iter().enumerate() {
                let Some(id) = PortId::from_index(place) else {
                    continue;
                };
                for priority in priorities() {
                    new.places.push((switch, id, priority));
                    new.history.ends.push(End {
                        switch: scenario.switches[switch].clone(),
                        peer: scenario.peer_name(port.peer).to_owned(),
                        priority: priority.index() as u8,
                        ..End::default()
                    });
                }
            }
        }
        new
    }

    /// Writes down what is now.
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

    /// What was written down.
    pub fn into_history(self) -> History {
        self.history
    }
}
