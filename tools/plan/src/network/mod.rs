//! The planned network, from a scenario or a configuration: switches with ports and classes, and the traffic through them.

pub mod recorded;

use std::collections::BTreeMap;
use std::rc::Rc;

use anyhow::{bail, Result};
use weir_config::daemon::{DaemonConfig, RoundTrip};
use weir_config::scenario::{Flow, Pattern, PortPeer, Scenario, SwitchPort, Transport};
use weir_config::switch::headroom::{Charging, Feedback, Link};
use weir_config::switch::Class;
use weir_core::units::LINE_OVERHEAD;
use weir_core::{BitRate, Bytes, Duration, FeedbackCoding, PortRole};

use recorded::{Recorded, RecordedFlow};

/// Maximum number of streams of a plan; each flow is one stream per switch that it passes.
const STREAMS_MAX: usize = 100_000;

/// Command-line options for links.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinkOptions {
    /// T of every link, instead of the file's.
    pub round_trip: Option<Duration>,
    /// Propagation delay of every link, instead of the file's.
    pub delay: Option<Duration>,
    /// Reaction time of every neighbour.
    pub reaction: Duration,
}

/// One switch.
#[derive(Clone, Debug)]
pub struct Switch {
    /// Its name.
    pub name: String,
    /// Charging of frames, and their maximum length.
    pub charging: Charging,
    /// Its ports.
    pub ports: Vec<Port>,
    /// Its classes.
    pub classes: Vec<Class>,
    /// Traffic through it.
    pub streams: Vec<Stream>,
}

/// One port.
#[derive(Clone, Debug)]
pub struct Port {
    /// Its name.
    pub name: String,
    /// Kind of device that it faces.
    pub role: PortRole,
    /// Its link.
    pub link: Link,
    /// Headroom for its cable, for classes that use it.
    pub cable_headroom: Option<Bytes>,
    /// T for the budgets of a class of mode `level`.
    pub round_trip: Duration,
    /// Coding of its Feedback.
    pub coding: FeedbackCoding,
}

/// A flow at one switch.
#[derive(Clone, Debug, PartialEq)]
pub struct Stream {
    /// Ingress port.
    pub ingress: usize,
    /// Egress port.
    pub egress: usize,
    /// Index of the class.
    pub class: usize,
    /// Frame length; the longest if there are several.
    pub frame: Bytes,
    /// Frame length with the highest charge per byte on the line.
    pub wasteful: Bytes,
    /// Charge per byte on the line.
    pub charge: f64,
    /// Rate on the line, in Gbit/s; `None` for the line rate.
    pub rate: Option<f64>,
    /// Earliest arrival of its first frame at this switch, in µs.
    pub start: f64,
    /// End in µs; `None` for never.
    pub stop: Option<f64>,
    /// Total volume on the line, in kbit; `None` for unlimited.
    pub volume: Option<f64>,
    /// Alternating durations of sending and silence, in µs.
    pub on_off: Option<[f64; 2]>,
    /// Recorded arrivals over time, in µs and kbit on the line, which replace all of these; `start` shifts their times.
    pub recorded: Option<Rc<[(f64, f64)]>>,
}

/// The planned network.
#[derive(Clone, Debug)]
pub struct Network {
    /// The switches.
    pub switches: Vec<Switch>,
    /// End of the plan, in µs; `None` if traffic has no end.
    pub end: Option<f64>,
    /// Notes on the derivation of the plan.
    pub notes: Vec<String>,
}

pub fn micros(duration: Duration) -> f64 {
    duration.as_nanos() as f64 / 1e3
}

pub fn gigabits(rate: BitRate) -> f64 {
    rate.get() as f64 / 1e9
}

/// Converts bytes to kbit.
pub fn kilobits(bytes: f64) -> f64 {
    bytes * 8.0 / 1e3
}

impl LinkOptions {
    fn feedback(&self, otherwise: Feedback) -> Feedback {
        match (self.round_trip, self.delay) {
            (Some(round_trip), _) => Feedback::RoundTrip(round_trip),
            (None, Some(delay)) => Feedback::Parts {
                delay,
                reaction: self.reaction,
            },
            (None, None) => otherwise,
        }
    }
}

/// Returns the charging of frames by a scenario's switches.
pub fn scenario_charging(scenario: &Scenario) -> Charging {
    scenario.frames().charging()
}

impl Network {
    /// Plans one switch alone: each egress in turn receives frames from all other ports at line rate, in each class.
    pub fn from_configuration(config: &DaemonConfig, options: &LinkOptions) -> Self {
        let charging = config.dataplane.frames().charging();
        let ports: Vec<Port> = config
            .ports
            .iter()
            .map(|port| Port {
                name: port.name.clone(),
                role: port.role,
                link: Link {
                    rate: port.rate,
                    feedback: options.feedback(match port.cable_line() {
                        Some(line) => line.link().feedback,
                        None => Feedback::RoundTrip(port.round_trip.assumed()),
                    }),
                    overshoot: port.overshoot,
                },
                cable_headroom: port.cable_line().map(|line| line.room(charging).headroom),
                round_trip: options.round_trip.unwrap_or(port.round_trip.assumed()),
                coding: port.feedback,
            })
            .collect();
        let mut notes = vec![
            "no flows in a configuration: every other port sends to the port at line rate, one class at a time"
                .to_owned(),
        ];
        if options.round_trip.is_none() && options.delay.is_none() {
            let measured = config
                .ports
                .iter()
                .filter(|port| port.round_trip == RoundTrip::Measured && port.cable.is_none());
            let names: Vec<&str> = measured.map(|port| port.name.as_str()).collect();
            if !names.is_empty() {
                notes.push(format!(
                    "T of {} is measured at run time; this plan assumes the minimum. `switchctl levels` shows the measured T, --round-trip takes it",
                    names.join(", ")
                ));
            }
        }
        Self {
            switches: vec![Switch {
                name: config.name.clone(),
                charging: config.dataplane.frames().charging(),
                streams: everyone_to_each(&ports, config),
                ports,
                classes: config.classes.clone(),
            }],
            end: None,
            notes,
        }
    }

    /// Plans each switch of a scenario with the flows that pass it. Pauses at earlier switches do not reduce arrivals: every
    /// flow arrives as fast as it may be sent.
    ///
    /// # Errors
    ///
    /// Without flows, or with too many.
    pub fn from_scenario(scenario: &Scenario, options: &LinkOptions) -> Result<Self> {
        if scenario.flows.is_empty() {
            bail!("the scenario has no flows to plan for: add a [[flow]]");
        }
        let all_ports = scenario.all_ports();
        let mut gathered = Gathered::new(scenario);
        for flow in &scenario.flows {
            gathered.add(streams_of(scenario, &all_ports, flow))?;
        }
        let mut network = gathered.network(&all_ports, options, micros(scenario.duration));
        let mut flows = scenario.flows.iter();
        if flows.any(|flow| flow.transport.is_answered()) {
            let note = "flows are planned as if no transport slowed them: the load on PFC when ECN does not help";
            network.notes.insert(0, note.to_owned());
        }
        Ok(network)
    }

    /// Returns each switch of a scenario with the recorded arrivals instead of its flows.
    ///
    /// # Errors
    ///
    /// With too many arrivals.
    pub fn from_recorded(
        scenario: &Scenario,
        recorded: &Recorded,
        options: &LinkOptions,
    ) -> Result<Self> {
        let all_ports = scenario.all_ports();
        let mut gathered = Gathered::new(scenario);
        let mut total = 0.0;
        for arrivals in &recorded.flows {
            total += arrivals.total();
            let flow = as_flow(scenario, arrivals);
            let mut streams = streams_of(scenario, &all_ports, &flow);
            // The recording is of arrivals at the first switch.
            let starts = streams.iter().map(|(_, stream)| stream.start);
            let first = starts.fold(f64::INFINITY, f64::min);
            for (_, stream) in &mut streams {
                stream.start -= first;
                stream.wasteful = arrivals.wasteful;
                stream.charge = arrivals.charge;
                stream.recorded = Some(Rc::clone(&arrivals.points));
            }
            gathered.add(streams)?;
        }
        // Long enough for all traffic to pass the slowest port.
        let ports = all_ports.iter().flatten();
        let slowest = ports.map(|port| gigabits(port.properties.rate));
        let end = recorded.span + total / slowest.fold(f64::INFINITY, f64::min);
        let mut network = gathered.network(&all_ports, options, end);
        network.notes.extend(recorded.notes.iter().cloned());
        Ok(network)
    }
}

/// Streams by switch.
struct Gathered<'a> {
    scenario: &'a Scenario,
    streams: Vec<Vec<Stream>>,
    count: usize,
    /// True if some flow may take several paths.
    is_spread: bool,
}

impl<'a> Gathered<'a> {
    fn new(scenario: &'a Scenario) -> Self {
        Self {
            scenario,
            streams: vec![Vec::new(); scenario.switches.len()],
            count: 0,
            is_spread: false,
        }
    }

    /// Adds one flow, at all switches that it can pass.
    fn add(&mut self, found: Vec<(usize, Stream)>) -> Result<()> {
        self.is_spread |= found
            .windows(2)
            .any(|pair| (pair[0].0, pair[0].1.ingress) == (pair[1].0, pair[1].1.ingress));
        for (switch, stream) in found {
            self.count += 1;
            if self.count > STREAMS_MAX {
                bail!(
                    "more than {STREAMS_MAX} pairs of a flow and a switch are too many to plan for"
                );
            }
            self.streams[switch].push(stream);
        }
        Ok(())
    }

    fn network(self, ports: &[Vec<SwitchPort>], options: &LinkOptions, end: f64) -> Network {
        let scenario = self.scenario;
        let switches = ports.iter().zip(self.streams).enumerate();
        let switches = switches
            .map(|(index, (ports, streams))| Switch {
                name: scenario.switches[index].clone(),
                charging: scenario_charging(scenario),
                ports: ports
                    .iter()
                    .map(|port| scenario_port(scenario, port, options))
                    .collect(),
                classes: scenario.classes_of(index),
                streams,
            })
            .filter(|switch| !switch.streams.is_empty())
            .collect();
        let mut notes = Vec::new();
        if self.is_spread {
            notes.push("a flow whose hash picks the path counts on each path, with its part of the line: more flows may meet on one".to_owned());
        }
        if scenario.switches.len() > 1 {
            notes.push("each switch is planned separately: frames held back by others, and pauses from the next one, are not counted".to_owned());
        }
        if let Some(found) = scenario.first_credit_loop() {
            notes.push(format!(
                "the routes close a credit loop, {}: if it locks, nothing drains and the times of this plan do not hold",
                scenario.credit_loop_text(&found)
            ));
        }
        Network {
            switches,
            end: Some(end),
            notes,
        }
    }
}

fn as_flow(scenario: &Scenario, arrivals: &RecordedFlow) -> Flow {
    Flow {
        name: String::new(),
        from: arrivals.from,
        to: arrivals.to,
        via: arrivals.via.clone(),
        class: arrivals.class,
        rate: None,
        frame: arrivals.longest,
        start: Duration::ZERO,
        stop: scenario.duration,
        pattern: Pattern::Steady,
        transport: Transport::Open,
        answer_class: arrivals.class,
        after: Vec::new(),
    }
}

fn everyone_to_each(ports: &[Port], config: &DaemonConfig) -> Vec<Stream> {
    let frame = config.frame_length_max();
    let mut streams = Vec::new();
    for class in 0..config.classes.len() {
        for egress in 0..ports.len() {
            let others = (0..ports.len()).filter(|ingress| *ingress != egress);
            streams.extend(others.map(|ingress| Stream {
                ingress,
                egress,
                class,
                frame,
                wasteful: frame,
                charge: config.dataplane.frames().charging().factor(frame),
                rate: None,
                start: 0.0,
                stop: None,
                volume: None,
                on_off: None,
                recorded: None,
            }));
        }
    }
    streams
}

fn scenario_port(scenario: &Scenario, port: &SwitchPort, options: &LinkOptions) -> Port {
    let properties = port.properties;
    Port {
        name: scenario.peer_name(port.peer).to_owned(),
        role: match port.peer {
            PortPeer::Switch(_) => PortRole::Fabric,
            PortPeer::Host(_) => PortRole::Edge,
        },
        link: Link {
            rate: properties.rate,
            feedback: options.feedback(match properties.cable_line() {
                Some(line) => line.link().feedback,
                None => Feedback::Parts {
                    delay: properties.delay,
                    reaction: options.reaction,
                },
            }),
            overshoot: Bytes::ZERO,
        },
        cable_headroom: properties
            .cable_line()
            .map(|line| line.room(scenario_charging(scenario)).headroom),
        round_trip: options.round_trip.unwrap_or(properties.round_trip),
        coding: match port.peer {
            PortPeer::Switch(_) => properties.feedback,
            PortPeer::Host(_) => FeedbackCoding::Pfc,
        },
    }
}

/// Returns a flow at every switch that it can pass: along its `via`, or along every member that its hash may select.
fn streams_of(scenario: &Scenario, ports: &[Vec<SwitchPort>], flow: &Flow) -> Vec<(usize, Stream)> {
    let port_to = |switch: usize, peer: PortPeer| {
        let mut of_switch = ports[switch].iter();
        of_switch.position(|port| port.peer == peer)
    };
    let on_line = |bytes: f64| {
        bytes * (flow.frame + LINE_OVERHEAD).get() as f64 / flow.frame.get().max(1) as f64
    };
    let volume = match flow.pattern {
        Pattern::Burst { size } => {
            let frames = size.get().div_ceil(flow.frame.get().max(1));
            Some(kilobits(
                (frames * (flow.frame + LINE_OVERHEAD).get()) as f64,
            ))
        }
        Pattern::Steady | Pattern::OnOff { .. } => None,
    };
    let charging = scenario_charging(scenario);
    let on_off = match flow.pattern {
        Pattern::OnOff { on, off } => Some([on, off].map(micros)),
        Pattern::Steady | Pattern::Burst { .. } => None,
    };
    let mut found: BTreeMap<(usize, usize, usize), Stream> = BTreeMap::new();
    let first = scenario.hosts[flow.from].switch;
    let mut ahead = Vec::new();
    if let Some(ingress) = port_to(first, PortPeer::Host(flow.from)) {
        ahead.push((first, ingress, 0, micros(flow.start)));
    }
    while let Some((switch, ingress, hop, sent)) = ahead.pop() {
        let members: Vec<usize> = match &flow.via {
            Some(way) => {
                let next = way
                    .get(hop + 1)
                    .map_or(PortPeer::Host(flow.to), |next| PortPeer::Switch(*next));
                port_to(switch, next).into_iter().collect()
            }
            None => scenario.next_hops[switch][flow.to].to_vec(),
        };
        let link = ports[switch][ingress].properties;
        let start =
            sent + micros(link.delay) + micros(link.rate.time_for(flow.frame + LINE_OVERHEAD));
        for egress in members {
            let key = (switch, ingress, egress);
            if found.contains_key(&key) {
                continue;
            }
            let stream = Stream {
                ingress,
                egress,
                class: flow.class,
                frame: flow.frame,
                wasteful: flow.frame,
                charge: charging.factor(flow.frame),
                rate: flow.rate.map(|rate| on_line(gigabits(rate))),
                start,
                stop: (flow.stop < scenario.duration)
                    .then(|| micros(flow.stop) + start - micros(flow.start)),
                volume,
                on_off,
                recorded: None,
            };
            found.insert(key, stream);
            if let PortPeer::Switch(next) = ports[switch][egress].peer {
                if let Some(ingress) = port_to(next, PortPeer::Switch(switch)) {
                    ahead.push((next, ingress, hop + 1, start));
                }
            }
        }
    }
    let each = found.into_iter();
    each.map(|((switch, ..), stream)| (switch, stream))
        .collect()
}
