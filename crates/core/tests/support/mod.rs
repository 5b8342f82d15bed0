//! A network of switch cores in lock step: virtual time advances by a fixed tick. Deliberately small; for the tests of
//! this crate.

#![allow(dead_code, unused_imports)] // each test uses some of it

mod config;
mod disturbance;
mod flow;
mod run;
mod storm;
mod topology;

use std::collections::VecDeque;

use weir_core::config::RouteConfig;
use weir_core::control::{ControlConfig, ControlPlane, LoopBreakerConfig, Policy, Report};
use weir_core::event::EventKind;
use weir_core::{
    Bytes, Duration, Event, FeedbackCoding, Frame, FrameHandle, Instant, MacAddress, Neighbour,
    PortConfig, PortId, PortRole, PortSet, Switch, SwitchConfig,
};

pub use config::{switch_config, FEEDBACK_REFRESH, PRIORITY, RATE, ROUND_TRIP};
pub use disturbance::{Disturbance, Random};
pub use storm::{LineOptions, Recovery};
pub use topology::{Path, Topology};

use config::use_levels;
use disturbance::Disturber;
use flow::Flow;
use storm::HostStorm;

pub const FRAME: Bytes = Bytes::new(1500);
const TICK: Duration = Duration::from_micros(10);
const HOST_DELAY: Duration = Duration::from_micros(10);
const CONTROL_LATENCY: Duration = Duration::from_micros(300);
const HOST_ADDRESS: u8 = 0x10;

#[derive(Clone)]
enum Packet {
    Data(DataFrame),
    Control(Vec<u8>),
}

#[derive(Clone, Copy)]
struct DataFrame {
    flow: usize,
    sequence: u64,
    destination: MacAddress,
    source: MacAddress,
    flow_hash: u32,
}

#[derive(Clone, Copy)]
enum End {
    Switch(usize, PortId),
    Host(usize),
}

struct Line {
    to: End,
    packets: VecDeque<(Instant, Packet)>,
}

impl Line {
    fn send(&mut self, at: Instant, packet: Packet) {
        let later = self.packets.partition_point(|(other, _)| *other <= at);
        self.packets.insert(later, (at, packet));
    }
}

struct Host {
    line: usize,
    flow: Option<(usize, MacAddress)>,
    flow_hash: u32,
    paused_until: Instant,
    free_at: Instant,
    /// Time between one frame and the next, beside the line's time.
    idle: Duration,
}

pub struct Node {
    pub switch: Switch,
    pub control: ControlPlane,
    /// Outgoing line of each port.
    lines: Vec<usize>,
    frames: Vec<Option<DataFrame>>,
    free: Vec<FrameHandle>,
    to_control: VecDeque<(Instant, Event)>,
    to_switch: VecDeque<(Instant, weir_core::Command)>,
}

pub struct Network {
    pub now: Instant,
    pub nodes: Vec<Node>,
    pub flows: Vec<Flow>,
    pub events: Vec<(usize, Event)>,
    pub reports: Vec<(usize, Report)>,
    hosts: Vec<Host>,
    storms: Vec<HostStorm>,
    lines: Vec<Line>,
    disturber: Disturber,
    delay: Duration,
    keeps_order: bool,
    /// A switch that does nothing for now; arriving frames wait in front of it.
    pub stalled: Option<usize>,
}

pub struct RingOptions {
    pub switches: usize,
    pub second_host: bool,
    pub policy: Policy,
    pub detect: Duration,
    pub clcm_interval: Duration,
    /// The class has Levels instead of plain PFC.
    pub levels: bool,
    pub feedback: FeedbackCoding,
    /// From one end of a link between switches to the other.
    pub delay: Duration,
    /// Control frames do not overtake data on a link, as on a wire. Counts of frames in flight need that.
    pub keeps_order: bool,
    /// Switches that use plain PFC nevertheless, unknown to their neighbours.
    pub regular: Vec<usize>,
    /// Kind of neighbour assumed by switches with Levels.
    pub neighbour: Neighbour,
    /// Disturbance of control frames between switches.
    pub disturbance: Disturbance,
    pub seed: u64,
    /// T of the links between switches with Levels.
    pub round_trip: Duration,
    pub loop_breaker: LoopBreakerConfig,
    /// Storm watchdog and lifetime limit.
    pub recovery: Recovery,
}

impl Default for RingOptions {
    fn default() -> Self {
        Self {
            switches: 4,
            second_host: true,
            policy: Policy::Off,
            detect: Duration::from_millis(20),
            clcm_interval: Duration::from_millis(5),
            levels: false,
            feedback: FeedbackCoding::Pfc,
            delay: Duration::from_micros(10),
            keeps_order: false,
            regular: Vec::new(),
            neighbour: Neighbour::Unknown,
            disturbance: Disturbance::default(),
            seed: 1,
            round_trip: ROUND_TRIP,
            loop_breaker: LoopBreakerConfig::default(),
            recovery: Recovery::default(),
        }
    }
}

fn host_address(host: usize) -> MacAddress {
    MacAddress([2, 0x57, 0, 0, HOST_ADDRESS, host as u8])
}

impl Node {
    fn new(config: SwitchConfig, mut control: ControlPlane, recovery: Recovery) -> Self {
        let (port_count, frame_count) = (config.ports.len(), config.frame_count);
        for port in (0..port_count).filter_map(PortId::from_index) {
            control.set_storm_neighbour(Instant::ZERO, port, recovery.neighbour);
        }
        Self {
            switch: Switch::new(config).unwrap(),
            control,
            lines: vec![usize::MAX; port_count],
            frames: vec![None; frame_count],
            free: (0..frame_count as u32).rev().map(FrameHandle).collect(),
            to_control: VecDeque::new(),
            to_switch: VecDeque::new(),
        }
    }

    fn take_discarded(&mut self) {
        while let Some(discarded) = self.switch.poll_discarded() {
            self.free.push(discarded.handle);
        }
    }
}

/// The host of every other switch is reached clockwise.
fn ring_routes(index: usize, count: usize, host_count: usize) -> Vec<RouteConfig> {
    (0..host_count)
        .map(|host| {
            let at = host.min(count - 1);
            let port = match (at == index, host < count) {
                (true, true) => 2,
                (true, false) => 3,
                (false, _) => 0,
            };
            RouteConfig::new(host_address(host), vec![PortId::new(port)])
        })
        .collect()
}

impl Network {
    /// A ring: host `h` of switch `h` sends over two ring links, clockwise; with `second_host` the last switch has
    /// another host that sends like its first one (Figure 4 of the CLCM paper).
    ///
    /// Ports: 0 clockwise, 1 counter-clockwise, 2 and 3 hosts.
    pub fn ring(options: &RingOptions) -> Self {
        let count = options.switches;
        let host_count = count + usize::from(options.second_host);
        let mut network = Self::empty(options);
        for index in 0..count {
            let has_second = options.second_host && index == count - 1;
            let host_ports = if has_second { 2 } else { 1 };
            let routes = ring_routes(index, count, host_count);
            network.add_switch(index, 2, host_ports, routes, options);
        }
        for index in 0..count {
            let next = (index + 1) % count;
            network.connect(
                End::Switch(index, PortId::new(0)),
                End::Switch(next, PortId::new(1)),
            );
        }
        for host in 0..host_count {
            let switch = host.min(count - 1);
            let port = PortId::new(if host < count { 2 } else { 3 });
            let target = host_address((switch + 2) % count);
            network.add_host(host, switch, port, Some(target));
        }
        network
    }

    fn empty(options: &RingOptions) -> Self {
        Self {
            now: Instant::ZERO + Duration::from_millis(1),
            nodes: Vec::new(),
            flows: Vec::new(),
            events: Vec::new(),
            reports: Vec::new(),
            storms: Vec::new(),
            hosts: Vec::new(),
            lines: Vec::new(),
            disturber: Disturber::new(options.disturbance, options.seed),
            delay: options.delay,
            keeps_order: options.keeps_order,
            stalled: None,
        }
    }

    /// Connects the next host; with a `target` it sends for ever.
    fn add_host(&mut self, host: usize, switch: usize, port: PortId, target: Option<MacAddress>) {
        let flow = target.map(|target| {
            self.flows.push(Flow::new());
            (self.flows.len() - 1, target)
        });
        self.hosts.push(Host {
            line: self.lines.len(),
            flow,
            flow_hash: 0,
            paused_until: Instant::ZERO,
            free_at: Instant::ZERO,
            idle: Duration::ZERO,
        });
        self.connect(End::Host(host), End::Switch(switch, port));
    }

    /// Ports towards switches precede those towards hosts.
    fn add_switch(
        &mut self,
        index: usize,
        fabric_count: usize,
        host_ports: usize,
        routes: Vec<RouteConfig>,
        options: &RingOptions,
    ) {
        let port_count = fabric_count + host_ports;
        let ports = (0..port_count)
            .map(|port| PortConfig {
                watchdog: options.recovery.watchdog,
                ..PortConfig::new(
                    if port < fabric_count {
                        PortRole::Fabric
                    } else {
                        PortRole::Edge
                    },
                    RATE,
                    MacAddress([2, 0x57, 1, 0, index as u8, port as u8]),
                )
            })
            .collect();
        let mut config = switch_config(ports, routes, options.detect);
        if options.levels && !options.regular.contains(&index) {
            use_levels(&mut config, options);
        }
        config.lifetime = options.recovery.lifetime;
        let fabric = (0..fabric_count as u8)
            .map(PortId::new)
            .collect::<PortSet>();
        self.nodes.push(Node::new(
            config,
            ControlPlane::new(
                ControlConfig {
                    policy: options.policy,
                    clcm_interval: options.clcm_interval,
                    release_period: Duration::from_millis(20),
                    release_extra: Bytes::new(3072),
                    loop_breaker: options.loop_breaker,
                    port_count,
                    fabric_ports: fabric,
                },
                options.seed * 1000 + index as u64 + 1,
            ),
            options.recovery,
        ));
    }

    fn connect(&mut self, a: End, b: End) {
        for (from, to) in [(a, b), (b, a)] {
            if let End::Switch(node, port) = from {
                self.nodes[node].lines[port.index()] = self.lines.len();
            }
            self.lines.push(Line {
                to,
                packets: VecDeque::new(),
            });
        }
    }

    pub fn held(&self) -> usize {
        self.nodes
            .iter()
            .map(|node| node.switch.held_frames())
            .sum()
    }

    pub fn suspected(&self) -> usize {
        self.nodes
            .iter()
            .map(|node| node.switch.suspected_count())
            .sum()
    }

    pub fn dropped(&self) -> u64 {
        self.nodes
            .iter()
            .flat_map(|node| {
                (0..node.lines.len())
                    .map(|port| node.switch.counters(PortId::new(port as u8)).drops_total())
            })
            .sum()
    }

    pub fn received(&self) -> u64 {
        self.flows.iter().map(|flow| flow.received).sum()
    }

    pub fn sent(&self) -> u64 {
        self.flows.iter().map(|flow| flow.sent).sum()
    }

    pub fn longest_standstill(&self) -> Duration {
        let of_flows = self.flows.iter();
        let longest = of_flows.map(|flow| flow.longest_standstill(self.now)).max();
        longest.unwrap_or(Duration::ZERO)
    }

    pub fn reordered(&self) -> u64 {
        self.flows.iter().map(|flow| flow.reordered).sum()
    }

    pub fn count_events(&self, matches: impl Fn(&EventKind) -> bool) -> usize {
        self.events
            .iter()
            .filter(|(_, event)| matches(&event.kind))
            .count()
    }

    fn on_lines(&self) -> usize {
        self.lines
            .iter()
            .flat_map(|line| &line.packets)
            .filter(|(_, packet)| matches!(packet, Packet::Data(_)))
            .count()
    }
}
