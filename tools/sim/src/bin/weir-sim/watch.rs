//! `weir-sim run --watch`: current pauses and arrivals below the bar.

use std::collections::VecDeque;
use std::fmt::Write as _;

use weir_config::scenario::Scenario;
use weir_core::{Duration, Instant};
use weir_sim::network::Network;
use weir_sim::scenario::{lossless_buffers, Buffer};
use weir_svg::quantity::{amount, rate};

/// Maximum number of shown link ends: those that paused longest since the last update.
const ENDS: usize = 8;
/// Updates shown in the curve of arrivals.
const LOOKS: usize = 60;
const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Width of a full bar in characters.
const BAR: usize = 20;

/// State of the display.
pub struct Watch {
    ends: Vec<End>,
    last: Instant,
    received_bytes: u64,
    /// Bits per second, newest last.
    rates: VecDeque<f64>,
}

/// A buffer towards one neighbour.
struct End {
    name: String,
    place: Buffer,
    /// Total at the last update.
    paused: Duration,
}

impl Watch {
    /// Watches the lossless classes of a network.
    pub fn new(scenario: &Scenario) -> Self {
        let buffers = lossless_buffers(scenario).into_iter();
        let ends = buffers.map(|(place, peer)| End {
            name: format!("{} pauses {peer}", scenario.switches[place.0]),
            place,
            paused: Duration::ZERO,
        });
        Self {
            ends: ends.collect(),
            last: Instant::ZERO,
            received_bytes: 0,
            rates: VecDeque::with_capacity(LOOKS),
        }
    }

    /// Samples the network; returns the display, each line preceded by a newline.
    pub fn look(&mut self, network: &Network) -> String {
        let now = network.now();
        let since = now.saturating_since(self.last);
        self.last = now;
        let received = network
            .flows()
            .iter()
            .map(|flow| flow.received_bytes)
            .sum::<u64>();
        let arrived =
            (received - self.received_bytes) as f64 * 8.0 / since.as_secs_f64().max(1e-12);
        self.received_bytes = received;
        if self.rates.len() == LOOKS {
            self.rates.pop_front();
        }
        self.rates.push_back(arrived);

        let curve = self.curve();
        let (mut suspected, mut pausing) = (0, Vec::new());
        for end in &mut self.ends {
            let (switch, port, priority) = end.place;
            let gauges = network.switch(switch).gauges(now, port, priority);
            suspected += usize::from(gauges.suspected);
            let held = gauges.pauses_sent.total;
            let part =
                (held.as_secs_f64() - end.paused.as_secs_f64()) / since.as_secs_f64().max(1e-12);
            end.paused = held;
            if part > 0.0 {
                pausing.push((part.min(1.0), end.name.as_str(), gauges.ingress));
            }
        }
        pausing.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
        let mut lines = format!(
            "\n{curve} {} arrive\n{suspected} ports suspected, {} ends of links pause",
            rate(arrived),
            pausing.len()
        );
        for (part, name, ingress) in pausing.iter().take(ENDS) {
            let full = (part * BAR as f64).round() as usize;
            let _ = write!(
                lines,
                "\n  {name:<24} {:█<full$}{:░<rest$} {:>4.0} % of the time, {} in its buffer",
                "",
                "",
                part * 100.0,
                amount(ingress.get() as f64),
                rest = BAR - full,
            );
        }
        lines
    }

    fn curve(&self) -> String {
        let most = self.rates.iter().copied().fold(1.0, f64::max);
        let block = |rate: &f64| BLOCKS[((rate / most * 7.0).round() as usize).min(7)];
        self.rates.iter().map(block).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use weir_sim::scenario::{run, Options};

    use super::*;

    #[test]
    fn a_ring_that_locks_is_seen_to_lock() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/ring4.toml");
        let scenario = Scenario::load(&file, &["duration=1s".parse().unwrap()]).unwrap();
        let mut watch = Watch::new(&scenario);
        let mut looks = Vec::new();
        let mut look = |network: &Network| looks.push(watch.look(network));
        let options = Options {
            observe: Some(&mut look),
            ..Options::default()
        };
        run(&scenario, options).unwrap();
        assert_eq!(looks.len(), 200);
        assert!(looks[0].contains("\n0 ports suspected"), "{}", looks[0]);
        let last = &looks[199];
        for said in [
            " 0.0 Mbit/s arrive\n4 ports suspected, 9 ends of links pause\n",
            "s1 pauses s4             ████████████████████  100 % of the time, ",
        ] {
            assert!(last.contains(said), "{last}");
        }
        assert_eq!(last.lines().count(), 3 + ENDS);
    }
}
