//! A network of switch cores in lock step: virtual time advances by a fixed tick, nothing else moves
//! it. Small on purpose; it serves the tests of this crate.

#![allow(dead_code)] // each test uses its own part

use std::collections::VecDeque;

use weir_core::config::{DetectorConfig, LevelRules, RouteConfig};
use weir_core::control::{ControlConfig, ControlPlane, Policy};
use weir_core::event::EventKind;
use weir_core::wire::mac_control::MacControl;
use weir_core::wire::ControlFrame;
use weir_core::{
    BitRate, Budgets, Bytes, ClassConfig, ClassMode, Duration, Event, FeedbackCoding, Frame,
    FrameHandle, Instant, MacAddress, PortConfig, PortId, PortRole, PortSet, Priority, Quanta,
    Switch, SwitchConfig, Transmission,
};

pub const PRIORITY: Priority = Priority::ALL[3];
pub const FRAME: Bytes = Bytes::new(1500);
const RATE: BitRate = BitRate::from_mbit(100);
const TICK: Duration = Duration::from_micros(10);
const DELAY: Duration = Duration::from_micros(10);
/// A frame that has just begun on either side, and the tick.
const ROUND_TRIP: Duration = Duration::from_micros(380);
const CONTROL_LATENCY: Duration = Duration::from_micros(300);
const HOST_ADDRESS: u8 = 0x10;

/// What crosses a link.
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

pub struct Flow {
    pub sent: u64,
    pub received: u64,
    pub reordered: u64,
    pub last_arrival: Instant,
    expected: u64,
}

struct Host {
    /// The line towards its switch.
    line: usize,
    flow: Option<(usize, MacAddress)>,
    paused_until: Instant,
    free_at: Instant,
}

pub struct Node {
    pub switch: Switch,
    pub control: ControlPlane,
    /// By port: the outgoing line.
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
    hosts: Vec<Host>,
    lines: Vec<Line>,
    delay: Duration,
    disturbed_per_mille: u64,
    random: u64,
}

pub struct RingOptions {
    pub switches: usize,
    pub second_host: bool,
    pub policy: Policy,
    pub detect: Duration,
    pub clcm_interval: Duration,
    /// The class has Levels instead of plain PFC.
    pub levels: bool,
    /// How Feedback is told.
    pub feedback: FeedbackCoding,
    /// From one end of a link between switches to the other.
    pub delay: Duration,
    /// Switches that speak plain PFC all the same; their neighbours do not know.
    pub regular: Vec<usize>,
    /// Control frames between switches that get lost, are doubled, or come late, of 1000 each.
    pub disturbed_per_mille: u64,
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
            delay: DELAY,
            regular: Vec::new(),
            disturbed_per_mille: 0,
        }
    }
}

fn host_address(host: usize) -> MacAddress {
    MacAddress([2, 0x57, 0, 0, HOST_ADDRESS, host as u8])
}

impl Network {
    /// A ring: host `h` of switch `h` sends over two ring links, clockwise; with `second_host` the last
    /// switch has another host that sends as its first one does (Figure 4 of the CLCM paper).
    ///
    /// Ports: 0 clockwise, 1 counter-clockwise, 2 and 3 hosts.
    pub fn ring(options: &RingOptions) -> Self {
        let count = options.switches;
        let host_count = count + usize::from(options.second_host);
        let mut network = Self {
            now: Instant::ZERO + Duration::from_millis(1),
            nodes: Vec::new(),
            flows: Vec::new(),
            events: Vec::new(),
            hosts: Vec::new(),
            lines: Vec::new(),
            delay: options.delay,
            disturbed_per_mille: options.disturbed_per_mille,
            random: 1,
        };
        for index in 0..count {
            network.add_switch(index, count, host_count, options);
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
            let flow = network.flows.len();
            network.flows.push(Flow {
                sent: 0,
                received: 0,
                reordered: 0,
                last_arrival: Instant::ZERO,
                expected: 0,
            });
            let line = network.lines.len();
            network.hosts.push(Host {
                line,
                flow: Some((flow, target)),
                paused_until: Instant::ZERO,
                free_at: Instant::ZERO,
            });
            network.connect(End::Host(host), End::Switch(switch, port));
        }
        network
    }

    fn add_switch(&mut self, index: usize, count: usize, host_count: usize, options: &RingOptions) {
        let has_second = options.second_host && index == count - 1;
        let port_count = if has_second { 4 } else { 3 };
        let ports = (0..port_count)
            .map(|port| {
                PortConfig::new(
                    if port < 2 {
                        PortRole::Fabric
                    } else {
                        PortRole::Edge
                    },
                    RATE,
                    MacAddress([2, 0x57, 1, 0, index as u8, port as u8]),
                )
            })
            .collect();
        let routes = (0..host_count)
            .map(|host| {
                let at = host.min(count - 1);
                let port = match (at == index, host < count) {
                    (true, true) => 2,
                    (true, false) => 3,
                    (false, _) => 0,
                };
                RouteConfig {
                    destination: host_address(host),
                    ports: vec![PortId::new(port)],
                }
            })
            .collect();
        let mut config = switch_config(ports, routes, options.detect);
        if options.levels && !options.regular.contains(&index) {
            use_levels(&mut config, options);
        }
        let frame_count = config.frame_count;
        let fabric = (0..2).map(PortId::new).collect::<PortSet>();
        self.nodes.push(Node {
            switch: Switch::new(config).unwrap(),
            control: ControlPlane::new(
                ControlConfig {
                    policy: options.policy,
                    clcm_interval: options.clcm_interval,
                    release_period: Duration::from_millis(20),
                    release_extra: Bytes::new(3072),
                    port_count,
                    fabric_ports: fabric,
                },
                index as u64 + 1,
            ),
            lines: vec![usize::MAX; port_count],
            frames: vec![None; frame_count],
            free: (0..frame_count as u32).rev().map(FrameHandle).collect(),
            to_control: VecDeque::new(),
            to_switch: VecDeque::new(),
        });
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

    /// Runs for `span` of virtual time.
    pub fn run(&mut self, span: Duration) {
        let end = self.now + span;
        while self.now < end {
            self.now = self.now + TICK;
            self.deliver();
            for host in 0..self.hosts.len() {
                self.send_from_host(host);
            }
            for node in 0..self.nodes.len() {
                self.step(node);
            }
        }
    }

    /// Stops all hosts and runs until nothing is under way, or for `limit`.
    pub fn settle(&mut self, limit: Duration) {
        for host in &mut self.hosts {
            host.flow = None;
        }
        let end = self.now + limit;
        while self.now < end && self.held() + self.on_lines() > 0 {
            self.run(TICK);
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

    fn deliver(&mut self) {
        for index in 0..self.lines.len() {
            while self.lines[index]
                .packets
                .front()
                .is_some_and(|(at, _)| *at <= self.now)
            {
                let (_, packet) = self.lines[index].packets.pop_front().unwrap();
                match self.lines[index].to {
                    End::Switch(node, port) => self.arrive_at_switch(node, port, packet),
                    End::Host(host) => self.arrive_at_host(host, packet),
                }
            }
        }
    }

    fn arrive_at_switch(&mut self, node: usize, port: PortId, packet: Packet) {
        let now = self.now;
        let node = &mut self.nodes[node];
        match packet {
            Packet::Data(data) => {
                let handle = node.free.pop().expect("the pool backs every buffer");
                let frame = Frame {
                    handle,
                    length: FRAME,
                    priority: PRIORITY,
                    destination: data.destination,
                    source: data.source,
                    flow_hash: 0,
                };
                match node.switch.receive(now, port, frame) {
                    Ok(_) => node.frames[handle.index()] = Some(data),
                    Err(_) => node.free.push(handle),
                }
            }
            Packet::Control(bytes) if bytes[12..14] == [0x88, 0x08] => {
                node.switch.receive_mac_control(now, port, &bytes).unwrap();
            }
            Packet::Control(bytes) => {
                let _ = node.switch.receive_clcm(now, port, &bytes);
            }
        }
    }

    fn arrive_at_host(&mut self, host: usize, packet: Packet) {
        match packet {
            Packet::Data(data) => {
                let flow = &mut self.flows[data.flow];
                flow.received += 1;
                flow.reordered += u64::from(data.sequence != flow.expected);
                flow.expected = data.sequence + 1;
                flow.last_arrival = self.now;
            }
            Packet::Control(bytes) => {
                let Ok(MacControl::Pfc { times }) = MacControl::parse(&bytes) else {
                    panic!("a host got a control frame that is no PFC");
                };
                if let Some(quanta) = times[PRIORITY.index()] {
                    self.hosts[host].paused_until = self.now + quanta.at(RATE);
                }
            }
        }
    }

    fn send_from_host(&mut self, index: usize) {
        let host = &mut self.hosts[index];
        let Some((flow, destination)) = host.flow else {
            return;
        };
        if host.paused_until > self.now || host.free_at > self.now {
            return;
        }
        let time = RATE.time_for(FRAME + weir_core::switch::LINE_OVERHEAD);
        host.free_at = host.free_at.max(self.now) + time;
        let data = DataFrame {
            flow,
            sequence: self.flows[flow].sent,
            destination,
            source: host_address(index),
        };
        self.flows[flow].sent += 1;
        let at = self.now + time + DELAY;
        self.lines[host.line]
            .packets
            .push_back((at, Packet::Data(data)));
    }

    fn step(&mut self, index: usize) {
        let now = self.now;
        let node = &mut self.nodes[index];
        while node.to_switch.front().is_some_and(|(at, _)| *at <= now) {
            let (_, command) = node.to_switch.pop_front().unwrap();
            let _ = node.switch.apply(now, command);
        }
        if node.switch.next_timeout().is_some_and(|at| at <= now) {
            node.switch.handle_timeout(now);
        }
        for port in 0..node.lines.len() {
            let id = PortId::new(port as u8);
            while let Some(transmission) = node.switch.transmit(now, id) {
                let (packet, length) = match transmission {
                    Transmission::Data { handle, length } => {
                        let data = node.frames[handle.index()].expect("a frame that is held");
                        let back = node.switch.complete(now, id, handle);
                        node.free.push(back.expect("one copy"));
                        (Packet::Data(data), length)
                    }
                    Transmission::Control(frame) => {
                        let bytes = emit(&frame);
                        let length = Bytes::new(bytes.len() as u64);
                        (Packet::Control(bytes), length)
                    }
                };
                let line = &mut self.lines[node.lines[port]];
                let is_fabric = matches!(line.to, End::Switch(..));
                let delay = if is_fabric { self.delay } else { DELAY };
                let at = now + RATE.time_for(length) + delay;
                let (mut copies, mut late) = (1, Duration::ZERO);
                if is_fabric && matches!(packet, Packet::Control(_)) {
                    let mut hit = || {
                        // xorshift64
                        self.random ^= self.random << 13;
                        self.random ^= self.random >> 7;
                        self.random ^= self.random << 17;
                        self.random % 1000 < self.disturbed_per_mille
                    };
                    if hit() {
                        copies = 0;
                    } else if hit() {
                        copies = 2;
                    } else if hit() {
                        late = Duration::from_micros(300);
                    }
                }
                for _ in 0..copies {
                    line.send(at + late, packet.clone());
                }
            }
        }
        while let Some(event) = node.switch.poll_event() {
            self.events.push((index, event));
            let at = Event {
                at: now + CONTROL_LATENCY,
                ..event
            };
            node.to_control.push_back((at.at, at));
        }
        while node.to_control.front().is_some_and(|(at, _)| *at <= now) {
            let (_, event) = node.to_control.pop_front().unwrap();
            node.control.handle_event(&event);
        }
        if node.control.next_timeout().is_some_and(|at| at <= now) {
            node.control.handle_timeout(now);
        }
        while let Some(command) = node.control.poll_command() {
            node.to_switch.push_back((now + CONTROL_LATENCY, command));
        }
        while node.control.poll_report().is_some() {}
    }
}

fn emit(frame: &ControlFrame) -> Vec<u8> {
    let mut buffer = [0u8; 2048];
    let length = frame.emit(MacAddress([2, 0, 0, 0, 0, 1]), &mut buffer);
    buffer[..length.expect("the buffer is large enough")].to_vec()
}

pub fn switch_config(
    ports: Vec<PortConfig>,
    routes: Vec<RouteConfig>,
    detect: Duration,
) -> SwitchConfig {
    let lossy = ClassConfig {
        mode: ClassMode::Lossy {
            buffer: Bytes::new(64 * 1024),
        },
        weight: 1,
        age_limit: None,
    };
    let mut classes = [lossy; 8];
    classes[PRIORITY.index()] = ClassConfig {
        mode: ClassMode::Pfc {
            xoff: Bytes::new(60 * 1024),
            xon: Bytes::new(52 * 1024),
            headroom: Bytes::new(32 * 1024),
        },
        weight: 1,
        age_limit: None,
    };
    let mut config = SwitchConfig {
        ports,
        classes,
        cell: Bytes::new(256),
        frame_count: 0,
        frame_length_max: Bytes::new(1522),
        routes,
        learning_capacity: 0,
        learning_age: Duration::from_secs(300),
        detector: Some(DetectorConfig { detect }),
        pause_time: Quanta::MAX,
        feedback_refresh: Duration::from_millis(10),
        shaper_burst: Bytes::new(1500),
    };
    config.frame_count = config.frames_needed();
    config
}

/// Levels for routes of two links, with room for the round trip of these lines.
fn use_levels(config: &mut SwitchConfig, options: &RingOptions) {
    let buffer = Bytes::new(96 * 1024);
    config.classes[PRIORITY.index()].mode = ClassMode::Level {
        rules: LevelRules::default(),
        budgets: Budgets::derived(2, buffer, config.gamma_max()).unwrap(),
        xoff: Bytes::new(60 * 1024),
        xon: Bytes::new(52 * 1024),
        headroom: Bytes::new(32 * 1024),
    };
    for port in &mut config.ports {
        port.round_trip = ROUND_TRIP + options.delay.saturating_mul(2);
        port.feedback = options.feedback;
    }
    config.frame_count = config.frames_needed();
}
