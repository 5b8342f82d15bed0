//! One random network: graph, routes, thresholds, traffic.

use weir_config::scenario::Transport;
use weir_core::config::{
    DetectorConfig, EcmpConfig, FloodConfig, FlowMonitorConfig, LevelRules, Reserve, RouteConfig,
};
use weir_core::units::LINE_OVERHEAD;
use weir_core::{
    BitRate, Budgets, Bytes, ClassConfig, ClassMode, Duration, FeedbackCoding, Instant, Neighbour,
    PfcThresholds, PortConfig, PortId, PortRole, Priority, Quanta, SwitchConfig,
};

use super::pool;
use super::routes::{routes_to, Graph, RoutesTo, Style};
use crate::network::plan::{
    host_address, port_address, End, FlowPlan, HostPlan, LinkPlan, NetworkPlan, PriorityMap,
    SwitchPlan,
};
use crate::random::Random;

/// Protocols of a network's classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Protocol P.
    Level,
    /// PFC alone, with the same memory.
    Pfc,
    /// PFC with buffers that share a pool; headroom by the closed form.
    Pool,
}

const NETWORKS: u64 = 4;
pub(super) const FRAME_MAX: Bytes = Bytes::new(1522);
pub(super) const CELL: Bytes = Bytes::new(256);
const PAUSE_TIME: Quanta = Quanta(4096);
pub(super) const CLASSES: [Priority; 2] = [Priority::ALL[3], Priority::ALL[5]];

/// A random network. The same seed gives the same case.
#[derive(Clone, Debug)]
pub struct Case {
    seed: u64,
    graph: Graph,
    /// Lines by edge.
    lines: Vec<LineOf>,
    /// By host: its switch.
    hosts: Vec<usize>,
    host_line: LineOf,
    /// Routes by host.
    routes: Vec<RoutesTo>,
    coding: FeedbackCoding,
    neighbour: Neighbour,
    /// Budget beyond the minimum, in frames.
    spare: Vec<u64>,
    /// Duration of traffic.
    arrivals: Duration,
    /// X_off of ports to hosts, in frames.
    edge_xoff: u64,
    flows: Vec<FlowPlan>,
}

#[derive(Clone, Copy, Debug)]
struct LineOf {
    rate: BitRate,
    delay: Duration,
}

impl LineOf {
    fn random(random: &mut Random) -> Self {
        const RATES: [u64; 5] = [1_000, 10_000, 25_000, 40_000, 100_000];
        Self {
            rate: BitRate::from_mbit(RATES[random.below(RATES.len() as u64) as usize]),
            delay: Duration::from_nanos(random.below(5) * random.below(1_000)),
        }
    }

    /// Returns T: a Feedback waits for the frame on our line and for earlier control frames, crosses, and finds that the
    /// neighbour's last frame has just begun.
    fn round_trip(&self) -> Duration {
        const CONTROL_BEFORE: u64 = 3;
        let frame = self.rate.time_for(FRAME_MAX + LINE_OVERHEAD);
        let control = self.rate.time_for(Bytes::new(64) + LINE_OVERHEAD);
        frame.saturating_mul(2)
            + self.delay.saturating_mul(2)
            + control.saturating_mul(1 + CONTROL_BEFORE)
    }

    fn reserve(&self) -> Bytes {
        Reserve::new(self.rate, self.round_trip(), CELL, FRAME_MAX).total()
    }
}

impl Case {
    /// Creates the network of `seed`.
    pub fn new(seed: u64) -> Self {
        let mut random = Random::for_purpose(seed, NETWORKS);
        let graph = Graph::random(&mut random);
        let usual = LineOf::random(&mut random);
        let mixed = random.below(4) == 0;
        let lines: Vec<LineOf> = (0..graph.edges.len())
            .map(|_| {
                if mixed {
                    LineOf::random(&mut random)
                } else {
                    usual
                }
            })
            .collect();
        let hosts: Vec<usize> = (0..graph.node_count)
            .flat_map(|node| vec![node; random.between(1, 3) as usize])
            .collect();
        let longest = random.between(1, 7) as usize;
        let style = match random.below(5) {
            0 => Style::Shortest,
            1 | 2 => Style::Backwards(longest),
            _ => Style::Wandering(longest),
        };
        let several = random.below(3) == 0;
        let routes: Vec<RoutesTo> = hosts
            .iter()
            .map(|switch| routes_to(&graph, *switch, style, several, &mut random))
            .collect();
        let lengths = routes
            .iter()
            .flatten()
            .flatten()
            .map(|(distance, _)| *distance);
        let depth = lengths.max().unwrap_or(0).max(1);
        let codings = [
            FeedbackCoding::Pfc,
            FeedbackCoding::Pause,
            FeedbackCoding::Grants,
        ];
        let coding = codings[random.below(3) as usize];
        let neighbour = if coding == FeedbackCoding::Grants || random.below(2) == 0 {
            Neighbour::Enhanced
        } else {
            Neighbour::Unknown
        };
        let spare = (0..depth).map(|_| random.below(4)).collect();
        let edge_xoff = random.between(2, 20);
        let mut case = Self {
            seed,
            lines,
            host_line: usual,
            graph,
            hosts,
            routes,
            arrivals: Duration::ZERO,
            coding,
            neighbour,
            spare,
            edge_xoff,
            flows: Vec::new(),
        };
        case.arrivals = case.time_to_fill(&mut random);
        case.flows = case.random_flows(&mut random);
        case
    }

    /// Returns the network with classes of `mode`, without faults.
    pub fn plan(&self, mode: Mode) -> NetworkPlan {
        let switches = (0..self.graph.node_count)
            .map(|switch| SwitchPlan {
                config: self.switch_config(switch, mode),
                control: None,
            })
            .collect();
        let host = HostPlan {
            rate: self.host_line.rate,
            obeys_pfc: true,
            obeys_credits: true,
        };
        NetworkPlan {
            switches,
            hosts: vec![host; self.hosts.len()],
            links: self.links(),
            flows: self.flows.clone(),
            seed: self.seed,
            ..NetworkPlan::default()
        }
    }

    /// Duration of traffic.
    pub const fn arrivals(&self) -> Duration {
        self.arrivals
    }

    /// Draws a time in which a host could fill the buffers of several links alone.
    fn time_to_fill(&self, random: &mut Random) -> Duration {
        let total: Bytes = self.budgets().into_iter().sum();
        let times = random.between(2, 12);
        self.host_line
            .rate
            .time_for(Bytes::new(total.get() * times))
    }

    /// Longer than any temporary wait: even the longest pause has expired and been renewed.
    pub fn standstill(&self) -> Duration {
        let lines = self.lines.iter().chain([&self.host_line]);
        let slowest = lines
            .map(|line| line.rate)
            .min()
            .unwrap_or(self.host_line.rate);
        // If a fault makes counts of grants wrong, the next echo messages correct them.
        let echo = match self.coding {
            FeedbackCoding::Grants => Duration::from_millis(2_500),
            _ => Duration::ZERO,
        };
        Quanta::MAX.at(slowest).saturating_mul(2) + Duration::from_millis(1) + echo
    }

    /// Returns the edges at `switch` in the order of its ports; hosts follow.
    fn fabric_ports(&self, switch: usize) -> Vec<usize> {
        self.graph
            .neighbours(switch)
            .map(|(edge, _)| edge)
            .collect()
    }

    fn hosts_at(&self, switch: usize) -> impl Iterator<Item = usize> + '_ {
        let hosts = self.hosts.iter().enumerate();
        hosts.filter_map(move |(host, at)| (*at == switch).then_some(host))
    }

    fn port_of_edge(&self, switch: usize, edge: usize) -> PortId {
        let place = self
            .fabric_ports(switch)
            .iter()
            .position(|known| *known == edge);
        port(place.unwrap_or(0))
    }

    fn port_of_host(&self, host: usize) -> PortId {
        let switch = self.hosts[host];
        let place = self.hosts_at(switch).position(|known| known == host);
        port(self.fabric_ports(switch).len() + place.unwrap_or(0))
    }

    fn links(&self) -> Vec<LinkPlan> {
        let end = |switch: usize, port: PortId| End::Port {
            switch: switch as u32,
            port,
        };
        let fabric = self
            .graph
            .edges
            .iter()
            .enumerate()
            .map(|(edge, [a, b])| LinkPlan {
                ends: [
                    end(*a, self.port_of_edge(*a, edge)),
                    end(*b, self.port_of_edge(*b, edge)),
                ],
                delay: self.lines[edge].delay,
                priority_map: [PriorityMap::IDENTITY; 2],
            });
        let hosts = self
            .hosts
            .iter()
            .enumerate()
            .map(|(host, switch)| LinkPlan {
                ends: [
                    End::Host(host as u32),
                    end(*switch, self.port_of_host(host)),
                ],
                delay: self.host_line.delay,
                priority_map: [PriorityMap::IDENTITY; 2],
            });
        fabric.chain(hosts).collect()
    }

    fn switch_config(&self, switch: usize, mode: Mode) -> SwitchConfig {
        let fabric = self.fabric_ports(switch);
        let host_count = self.hosts_at(switch).count();
        let lines = fabric
            .iter()
            .map(|edge| (PortRole::Fabric, self.lines[*edge]));
        let lines = lines.chain((0..host_count).map(|_| (PortRole::Edge, self.host_line)));
        let ports: Vec<PortConfig> = lines
            .enumerate()
            .map(|(index, (role, line))| PortConfig {
                round_trip: line.round_trip(),
                neighbour: self.neighbour,
                feedback: self.coding,
                ..PortConfig::new(role, line.rate, port_address(switch as u32, index as u8))
            })
            .collect();
        let lossy = ClassMode::Lossy {
            buffer: Bytes::new(2048),
        };
        let mut classes = [ClassConfig::new(lossy); 8];
        for priority in CLASSES {
            classes[priority.index()].mode = self.class_mode(mode);
        }
        let pools = match mode {
            Mode::Pool => vec![pool::share(self.seed, &mut classes, self.headroom())],
            Mode::Level | Mode::Pfc => Vec::new(),
        };
        let mut config = SwitchConfig {
            ports,
            classes,
            pools,
            cell: CELL,
            frame_count: 0,
            vlans: Vec::new(),
            frame_length_max: FRAME_MAX,
            routes: self.routes_of(switch),
            ecmp: EcmpConfig {
                spare_routes: 0,
                spare_buckets: 0,
                pin_capacity: 0,
            },
            flows: FlowMonitorConfig::default(),
            flood: FloodConfig::default(),
            learning_capacity: 0,
            learning_age: Duration::from_secs(300),
            loops: None,
            detector: Some(DetectorConfig {
                detect: Duration::from_micros(200),
            }),
            link_down_hold: SwitchConfig::LINK_DOWN_HOLD,
            lifetime: None,
            pause_time: PAUSE_TIME,
            feedback_refresh: Duration::from_micros(200),
            shaper_burst: Bytes::ZERO,
            shaper_burst_time: Duration::ZERO,
            strict_share: SwitchConfig::STRICT_SHARE,
            seed: self.seed,
            secret: 0,
            authentication: None,
            control_limits: Default::default(),
            credits: Default::default(),
        };
        pool::fit_headroom(&mut config);
        config.frame_count = config.frames_needed();
        config
    }

    /// Returns the maximum that arrives after a pause, by the closed form, including a pause of the other class sent before.
    fn headroom(&self) -> Bytes {
        let lines = self.lines.iter().chain([&self.host_line]);
        let needed = lines.map(|line| pool::headroom(line.rate, line.delay, CELL, FRAME_MAX));
        needed.max().unwrap_or_default()
    }

    fn reserve(&self) -> Bytes {
        let lines = self.lines.iter().chain([&self.host_line]);
        lines.map(LineOf::reserve).max().unwrap_or(Bytes::ZERO)
    }

    /// b_1 … b_D.
    fn budgets(&self) -> Vec<Bytes> {
        let gamma_max = FRAME_MAX.round_up_to(CELL);
        let needed = gamma_max + self.reserve();
        let spare = self.spare.iter();
        spare
            .map(|spare| needed + Bytes::new(gamma_max.get() * spare))
            .collect()
    }

    /// Both modes have the same thresholds towards hosts and the same memory towards switches.
    fn class_mode(&self, mode: Mode) -> ClassMode {
        let gamma_max = FRAME_MAX.round_up_to(CELL);
        let frames = |count: u64| Bytes::new(gamma_max.get() * count);
        let budgets = self.budgets();
        let headroom = self.reserve() + frames(2);
        let total: Bytes = budgets.iter().copied().sum();
        match (mode, Budgets::new(&budgets)) {
            (Mode::Level, Some(budgets)) => ClassMode::Level {
                budgets,
                rules: LevelRules::default(),
                edge: PfcThresholds::above_xon(frames(self.edge_xoff - 1), gamma_max, headroom),
            },
            _ => {
                let xoff = total.saturating_sub(headroom).max(frames(2));
                let xon = xoff - gamma_max;
                ClassMode::Pfc(PfcThresholds::above_xon(xon, gamma_max, headroom))
            }
        }
    }

    fn routes_of(&self, switch: usize) -> Vec<RouteConfig> {
        (0..self.hosts.len())
            .filter_map(|host| {
                let ports = if self.hosts[host] == switch {
                    vec![self.port_of_host(host)]
                } else {
                    let (_, edges) = self.routes[host][switch].as_ref()?;
                    edges
                        .iter()
                        .map(|edge| self.port_of_edge(switch, *edge))
                        .collect()
                };
                Some(RouteConfig::new(host_address(host as u32), ports))
            })
            .collect()
    }

    fn random_flows(&self, random: &mut Random) -> Vec<FlowPlan> {
        let mut flows = Vec::new();
        for from in 0..self.hosts.len() {
            for _ in 0..random.between(1, 2) {
                let to = random.below(self.hosts.len() as u64) as usize;
                if to == from || self.routes[to][self.hosts[from]].is_none() {
                    continue;
                }
                flows.push(self.random_flow(from, to, random));
            }
        }
        flows
    }

    fn random_flow(&self, from: usize, to: usize, random: &mut Random) -> FlowPlan {
        const LENGTHS: [u64; 8] = [60, 64, 128, 257, 512, 1000, 1500, 1518];
        let frame = match random.below(3) {
            0 => random.between(60, 1518),
            _ => LENGTHS[random.below(LENGTHS.len() as u64) as usize],
        };
        let arrivals = self.arrivals.as_nanos();
        let start = Instant::from_nanos(random.below(arrivals / 4));
        let rate = match random.below(4) {
            0 => BitRate::new(
                random.between(self.host_line.rate.get() / 50, self.host_line.rate.get()),
            ),
            _ => None,
        };
        let span = |random: &mut Random| {
            Duration::from_nanos(random.between(arrivals / 100, arrivals / 8))
        };
        let priority = CLASSES[random.below(8) as usize / 6];
        FlowPlan {
            from: from as u32,
            to: to as u32,
            priority,
            frame: Bytes::new(frame),
            rate,
            start,
            stop: Instant::ZERO + self.arrivals,
            size: (random.below(4) == 0).then(|| Bytes::new(random.between(1_000, 200_000))),
            on_off: (random.below(4) == 0).then(|| [span(random), span(random)]),
            flow_hash: random.next_u64() as u32,
            transport: Transport::Open,
            answer_priority: priority,
        }
    }
}

fn port(index: usize) -> PortId {
    PortId::new(index as u8)
}
