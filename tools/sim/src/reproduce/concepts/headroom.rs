//! One ingress buffer that exceeds X_off: the pause, the arrivals after it, and the resumption.

use weir_core::{Duration, Instant, PortId, Priority};
use weir_results::chart::{self, Axis, Chart, Column, Moment, Panel};
use weir_results::quantity::{amount, Unit};

use crate::network::Network;
use crate::reproduce::observe::Series;
use crate::reproduce::picture::{amounts, spans};
use crate::reproduce::setting::set;
use crate::reproduce::{ReproduceError, ScenarioFile};
use crate::scenario::{plan, RunError};

const INTERVAL: Duration = Duration::from_nanos(500);
/// Intervals in which a busy line at 10 Gbit/s ends a frame of 1500 B.
const FRAME_INTERVALS: usize = 3;
const XOFF: u64 = 128 * 1024;
const XON: u64 = 96 * 1024;
const DURATION: Duration = Duration::from_micros(500);

/// 4 km of cable, so that the headroom is visible.
const OVERRIDES: [(&str, &str); 14] = [
    ("duration", "500us"),
    ("link-defaults.rate", "10Gbit"),
    ("link-defaults.delay", "20us"),
    ("class.lossless.xoff", "128KiB"),
    ("class.lossless.xon", "96KiB"),
    ("class.lossless.headroom", "96KiB"),
    ("deadlock.detect", "1ms"),
    ("flow.a.start", "0s"),
    ("flow.b.start", "0s"),
    ("flow.c.start", "0s"),
    ("flow.a.stop", "500us"),
    ("flow.b.stop", "500us"),
    ("flow.c.stop", "500us"),
    ("expect", ""),
];

/// Draws the buffer of the first of three hosts that send to a fourth.
pub(super) fn picture() -> Result<String, ReproduceError> {
    let scenario = ScenarioFile::BURST.with(&set(OVERRIDES))?;
    let prepared = plan(&scenario).map_err(RunError::from)?;
    let mut network = Network::new(prepared).map_err(RunError::from)?;
    let priority = scenario.priority(0);
    let seen = Seen::of(&mut network, priority);
    network
        .check_conservation()
        .map_err(|imbalance| RunError::imbalance(&scenario, &network, imbalance))?;
    Ok(chart::svg(&seen.chart()))
}

struct Seen {
    held: Series,
    pausing: Series,
    arrived: Series,
}

impl Seen {
    fn of(network: &mut Network, priority: Priority) -> Self {
        let port = PortId::from_index(0).unwrap_or_default();
        let series = |name: &str| Series {
            name: name.to_owned(),
            values: Vec::new(),
        };
        let mut seen = Self {
            held: series("held"),
            pausing: series("s1 pauses h1"),
            arrived: series("arrived"),
        };
        let mut arrived_before = 0;
        let mut now = Instant::ZERO;
        while now < Instant::ZERO + DURATION {
            now = now + INTERVAL;
            network.run_until(now);
            let switch = network.switch(0);
            let gauges = switch.gauges(now, port, priority);
            seen.held.values.push(gauges.ingress.get());
            seen.pausing.values.push(u64::from(gauges.pausing));
            let arrived = switch.counters(port).priority[priority.index()].rx_bytes;
            seen.arrived.values.push(arrived - arrived_before);
            arrived_before = arrived;
        }
        seen
    }

    /// Returns the first time after `from` at which `holds`.
    fn first(&self, from: f64, holds: impl Fn(usize) -> bool) -> Option<f64> {
        let at = |index: usize| (index + 1) as f64 * INTERVAL.as_secs_f64();
        (0..self.held.values.len())
            .find(|index| at(*index) > from && holds(*index))
            .map(at)
    }

    fn chart(self) -> Chart {
        let end = DURATION.as_secs_f64();
        let most = self.held.values.iter().copied().max().unwrap_or_default();
        let is_pausing = |index: usize| self.pausing.values[index] > 0;
        let paused = self.first(0.0, is_pausing);
        let peak = self.first(0.0, |index| self.held.values[index] == most);
        let resumed = paused.and_then(|from| self.first(from, |index| !is_pausing(index)));
        let back =
            resumed.and_then(|from| self.first(from, |index| self.arrived.values[index] > 0));
        let moments = [
            (paused, "X_off: the switch tells its neighbour to pause"),
            (peak, "the last frame that was under way has come"),
            (resumed, "X_on: the neighbour may go on"),
            (back, "its next frame arrives"),
        ];
        let across = Axis::until("time", Unit::of_time(end), end);
        let [xoff, xon, top] = [XOFF, XON, most].map(|bytes| bytes as f64);
        let used = amount(top - xoff);
        let arriving = Series {
            name: "frames arrive".to_owned(),
            values: (0..self.arrived.values.len())
                .map(|index| {
                    let since = (index + 1).saturating_sub(FRAME_INTERVALS);
                    self.arrived.values[since..=index].iter().sum()
                })
                .collect(),
        };
        Chart {
            title: "One ingress buffer: pause, headroom, resumption (10 Gbit/s, 4 km)".to_owned(),
            columns: vec![Column {
                title: String::new(),
                panels: vec![
                    Panel {
                        title: String::new(),
                        across: across.clone(),
                        up: Axis::linear("ingress buffer", Unit::of_amount(top), top),
                        curves: amounts(&[self.held], INTERVAL),
                        levels: vec![
                            (top, format!("headroom {used}")),
                            (xoff, format!("X_off {}", amount(xoff))),
                            (xon, format!("X_on {}", amount(xon))),
                        ],
                    },
                    Panel {
                        title: String::new(),
                        across,
                        up: Axis::until("", Unit::of_amount(1.0), 2.0),
                        curves: spans(&[self.pausing, arriving], INTERVAL),
                        levels: Vec::new(),
                    },
                ],
                moments: moments
                    .into_iter()
                    .filter_map(|(at, text)| {
                        Some(Moment {
                            at: at?,
                            text: text.to_owned(),
                        })
                    })
                    .collect(),
                ..Column::default()
            }],
        }
    }
}
