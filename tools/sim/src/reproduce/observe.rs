//! A run with an observed credit loop: its standstills, the switches' reports, and the occupancy of its buffers and links.

use weir_api::run::RunResult;
use weir_config::scenario::{CreditLoop, PortPeer, Scenario};
use weir_core::control::ReportKind;
use weir_core::event::EventKind;
use weir_core::{Duration, Instant, PortId, Priority};

use crate::network::{LogKind, Network};
use crate::scenario::{plan, result_of, Delivered, RunError};

/// Values at regular intervals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    /// Subject.
    pub name: String,
    /// One value for each interval: bytes during it, or at its end.
    pub values: Vec<u64>,
}

/// A span in which no port of the loop sent a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standstill {
    /// Time of the last frame before it.
    pub from: Instant,
    /// Time of the first frame after it; `None`: it lasted to the end.
    pub to: Option<Instant>,
}

/// Events of the first standstill, each at its first time since. `None`: it did not happen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moments {
    /// A port of the loop sent the last frame.
    pub locked: Option<Instant>,
    /// A first port of the loop was suspected.
    pub first_suspected: Option<Instant>,
    /// All ports of the loop were suspected.
    pub all_suspected: Option<Instant>,
    /// A switch was elected, and when.
    pub elected: Option<(usize, Instant)>,
    /// A switch moved flows to other ports.
    pub rerouted: Option<Instant>,
    /// A switch released the loop (Deadlock Breaker).
    pub released: Option<Instant>,
    /// A port of the loop sent the next frame.
    pub moved_again: Option<Instant>,
}

/// Observations of a run.
#[derive(Clone, Debug)]
pub struct Observation {
    /// Result of the run; frames still in the network when traffic ended are in flight.
    pub result: RunResult,
    /// Interval of the curves.
    pub interval: Duration,
    /// By port of the loop: bytes charged to its ingress buffer there.
    pub occupancy: Vec<Series>,
    /// By port of the loop: bytes sent.
    pub sent: Vec<Series>,
    /// By port of the loop: 1 while the next switch pauses it, or the received Feedback if above 0.
    pub held_back: Vec<Series>,
    /// By flow: bytes delivered.
    pub delivered: Vec<Series>,
    /// Standstills in order of time.
    pub standstills: Vec<Standstill>,
    /// Events of the first one.
    pub moments: Moments,
    /// Frames forced out despite a pause.
    pub forced_frames: u64,
}

struct LoopLink {
    switch: usize,
    egress: PortId,
    next: usize,
    ingress: PortId,
}

/// Runs `scenario` until its traffic ends. A span of at least `still` without a frame sent on `credit_loop` is a standstill.
/// Curves have a point for each `interval`.
///
/// # Errors
///
/// Those of [`run`](crate::scenario::run).
pub fn observe(
    scenario: &Scenario,
    credit_loop: &CreditLoop,
    still: Duration,
    interval: Duration,
) -> Result<Observation, RunError> {
    let mut network = Network::new(plan(scenario)?)?;
    let links = loop_links(scenario, credit_loop);
    let priority = credit_loop.priority;
    let mut curves = Curves::new(scenario, &links);
    let mut watch = Watch::default();
    let end = Instant::ZERO + scenario.duration;
    let mut next = Instant::ZERO;
    while next < end {
        next = (next + interval).min(end);
        while network.step(next) {
            watch.look(
                network.now(),
                sent_frames(&network, &links, priority),
                still,
            );
        }
        network.run_until(next);
        curves.note(&network, &links, priority);
    }
    watch.end(end, still);
    network
        .check_conservation()
        .map_err(|imbalance| RunError::imbalance(scenario, &network, imbalance))?;
    let moments = watch
        .standstills
        .first()
        .map(|standstill| moments(&network, &links, priority, *standstill))
        .unwrap_or_default();
    let delivered = Delivered::of(scenario, &network);
    Ok(Observation {
        result: result_of(scenario, &network, &delivered),
        interval,
        occupancy: curves.occupancy,
        sent: curves.sent,
        held_back: curves.held_back,
        delivered: curves.delivered,
        standstills: watch.standstills,
        moments,
        forced_frames: forced_frames(&network),
    })
}

fn loop_links(scenario: &Scenario, credit_loop: &CreditLoop) -> Vec<LoopLink> {
    let ports = scenario.all_ports();
    let port_to = |from: usize, to: usize| {
        let index = ports[from]
            .iter()
            .position(|port| port.peer == PortPeer::Switch(to))?;
        PortId::from_index(index)
    };
    let around = credit_loop.switches.iter().copied();
    let following = around.clone().cycle().skip(1);
    around
        .zip(following)
        .filter_map(|(switch, next)| {
            Some(LoopLink {
                switch,
                egress: port_to(switch, next)?,
                next,
                ingress: port_to(next, switch)?,
            })
        })
        .collect()
}

fn sent_frames(network: &Network, links: &[LoopLink], priority: Priority) -> u64 {
    let sent = |link: &LoopLink| {
        let counters = network.switch(link.switch).counters(link.egress);
        counters.priority[priority.index()].tx_frames
    };
    links.iter().map(sent).sum()
}

fn forced_frames(network: &Network) -> u64 {
    let switches = (0..network.plan().switches.len()).map(|index| network.switch(index));
    switches
        .flat_map(|switch| {
            let ports = (0..switch.config().ports.len()).filter_map(PortId::from_index);
            ports.map(|port| switch.counters(port))
        })
        .flat_map(|counters| counters.priority.iter())
        .map(|priority| priority.forced_frames)
        .sum()
}

#[derive(Default)]
struct Watch {
    sent_frames: u64,
    last_sent: Instant,
    standstills: Vec<Standstill>,
}

impl Watch {
    fn look(&mut self, now: Instant, sent_frames: u64, still: Duration) {
        if sent_frames == self.sent_frames {
            return;
        }
        if self.sent_frames > 0 && now.saturating_since(self.last_sent) >= still {
            let from = self.last_sent;
            self.standstills.push(Standstill {
                from,
                to: Some(now),
            });
        }
        self.sent_frames = sent_frames;
        self.last_sent = now;
    }

    fn end(&mut self, end: Instant, still: Duration) {
        if self.sent_frames > 0 && end.saturating_since(self.last_sent) >= still {
            let from = self.last_sent;
            self.standstills.push(Standstill { from, to: None });
        }
    }
}

fn moments(
    network: &Network,
    links: &[LoopLink],
    priority: Priority,
    standstill: Standstill,
) -> Moments {
    let mut moments = Moments {
        locked: Some(standstill.from),
        moved_again: standstill.to,
        ..Moments::default()
    };
    let mut suspected = vec![false; links.len()];
    for entry in network.log() {
        let switch = entry.switch as usize;
        let place = |port: PortId| {
            links
                .iter()
                .position(|link| (link.switch, link.egress) == (switch, port))
        };
        match entry.kind {
            LogKind::Event(event) => match event.kind {
                EventKind::Suspected {
                    egress,
                    priority: which,
                    ..
                } if which == priority => {
                    let Some(place) = place(egress) else { continue };
                    suspected[place] = true;
                    moments.first_suspected.get_or_insert(event.at);
                    if suspected.iter().all(|suspected| *suspected) {
                        moments.all_suspected.get_or_insert(event.at);
                    }
                }
                EventKind::Rerouted { moved, .. } if moved > 0 => {
                    moments.rerouted.get_or_insert(event.at);
                }
                EventKind::ReleaseStarted { .. } => {
                    moments.released.get_or_insert(event.at);
                }
                _ => {}
            },
            LogKind::Report(report) => {
                if let ReportKind::MasterElected { .. } = report.kind {
                    moments.elected.get_or_insert((switch, report.at));
                }
            }
        }
    }
    moments
}

struct Curves {
    occupancy: Vec<Series>,
    sent: Vec<Series>,
    held_back: Vec<Series>,
    delivered: Vec<Series>,
    sent_before: Vec<u64>,
    delivered_before: Vec<u64>,
}

impl Curves {
    fn new(scenario: &Scenario, links: &[LoopLink]) -> Self {
        let series = |name: String| Series {
            name,
            values: Vec::new(),
        };
        let names = &scenario.switches;
        let of_links = |text: fn(&str, &str) -> String| {
            links
                .iter()
                .map(|link| series(text(&names[link.switch], &names[link.next])))
                .collect()
        };
        Self {
            occupancy: of_links(|from, to| format!("{to} from {from}")),
            sent: of_links(|from, to| format!("{from} to {to}")),
            held_back: of_links(|from, to| format!("{from}, by {to}")),
            delivered: scenario
                .flows
                .iter()
                .map(|flow| series(flow.name.clone()))
                .collect(),
            sent_before: vec![0; links.len()],
            delivered_before: vec![0; scenario.flows.len()],
        }
    }

    fn note(&mut self, network: &Network, links: &[LoopLink], priority: Priority) {
        for (index, link) in links.iter().enumerate() {
            let (held, _) = network.switch(link.next).occupancy(link.ingress, priority);
            self.occupancy[index].values.push(held.get());
            let counters = network.switch(link.switch).counters(link.egress);
            let sent = counters.priority[priority.index()].tx_bytes;
            self.sent[index].values.push(sent - self.sent_before[index]);
            self.sent_before[index] = sent;
            let switch = network.switch(link.switch);
            let gauges = switch.gauges(network.now(), link.egress, priority);
            let feedback = gauges
                .levels
                .map_or(0, |levels| levels.feedback_received.get());
            let held_back = u64::from(feedback).max(u64::from(gauges.paused));
            self.held_back[index].values.push(held_back);
        }
        for (index, flow) in network.flows().iter().enumerate() {
            let before = std::mem::replace(&mut self.delivered_before[index], flow.received_bytes);
            let values = &mut self.delivered[index].values;
            values.push(flow.received_bytes - before);
        }
    }
}
