//! A random network and an incident.

use weir_config::scenario::Transport;
use weir_core::config::{RouteConfig, StormAction, WatchdogConfig};
use weir_core::control::{ControlConfig, LoopBreakerConfig, Policy, StormNeighbour};
use weir_core::units::LINE_OVERHEAD;
use weir_core::{
    BitRate, Bytes, ClassConfig, ClassMode, Duration, Instant, PfcThresholds, PortConfig, PortId,
    PortRole, PortSet, Priority, Quanta, SwitchConfig,
};

use crate::network::faults::actions::{Action, DeviceChange};
use crate::network::plan::{
    host_address, port_address, ControlPlan, FlowPlan, HostPlan, NetworkPlan, Source, SwitchPlan,
};
use crate::random::Random;
use crate::search::network::{CELL, CLASSES, FRAME_MAX};
use crate::search::pool;
use crate::search::wide::{magnitude, pick};

use super::tree::{Tree, Way};

/// Identifies the random numbers for these networks.
const HARM: u64 = 50;
const LOSSY: Priority = Priority::ALL[0];
/// Latency from the dataplane to the control plane, and also back.
const LATENCY: Duration = Duration::from_micros(20);

/// Kinds of incidents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The host's link goes down.
    LinkDown,
    /// The host's link flaps.
    Flaps,
    /// A link between switches goes down.
    FabricLinkDown,
    /// The host is unplugged, and its address appears at another port.
    Moved,
    /// The port's device is removed.
    Removed,
    /// The host stops sending.
    Stopped,
    /// The host pauses the switch forever.
    Storm,
    /// The port's transmitter completes nothing.
    Stuck,
    /// The host sends overlong frames.
    TooLong,
    /// The host ignores pauses.
    Deaf,
    /// Another host uses the host's address.
    WrongAddress,
    /// Another host uses so many source addresses that the table is full.
    FullTable,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 12] = [
        Self::LinkDown,
        Self::Flaps,
        Self::FabricLinkDown,
        Self::Moved,
        Self::Removed,
        Self::Stopped,
        Self::Storm,
        Self::Stuck,
        Self::TooLong,
        Self::Deaf,
        Self::WrongAddress,
        Self::FullTable,
    ];
}

/// A network and its incident. The same seed gives the same case.
#[derive(Clone, Debug)]
pub struct Case {
    /// The incident.
    pub kind: Kind,
    /// The network with the incident.
    pub plan: NetworkPlan,
    /// The network without the incident.
    pub calm: NetworkPlan,
    /// Duration of traffic.
    pub arrivals: Duration,
    /// By flow: true if it is unrelated to the incident.
    pub is_other: Vec<bool>,
    /// Maximum additional wait of others compared with the calm network.
    pub patience: Duration,
}

struct Settings {
    learns: bool,
    places: usize,
    hold: Duration,
    watchdog: WatchdogConfig,
    /// Time after which the daemon declares a transmitter stuck.
    stuck_after: Duration,
    xoff: u64,
    pooled: bool,
}

impl Settings {
    fn draw(random: &mut Random) -> Self {
        let micros =
            |low, random: &mut Random| Duration::from_micros(magnitude(low, 10_000, random));
        Self {
            learns: random.below(2) == 0,
            places: magnitude(16, 1_024, random) as usize,
            hold: match random.below(6) {
                0 => Duration::ZERO,
                _ => micros(10, random),
            },
            watchdog: WatchdogConfig {
                detection: micros(100, random),
                restoration: micros(100, random),
                action: *pick(&[StormAction::Drop, StormAction::Forward], random),
            },
            stuck_after: micros(100, random),
            xoff: random.between(2, 64),
            pooled: random.below(3) == 0,
        }
    }
}

impl Case {
    /// Creates the network of `seed`.
    pub fn new(seed: u64) -> Self {
        let mut random = Random::for_purpose(seed, HARM);
        let tree = Tree::draw(&mut random);
        let settings = Settings::draw(&mut random);
        let kind = draw_kind(&tree, &settings, &mut random);
        let victim = random.below(tree.hosts.len() as u64 - 1) as usize;
        let spare = tree.hosts.len() - 1;
        let longest = settings.hold.max(settings.watchdog.detection);
        let longest = longest.max(settings.stuck_after);
        let arrivals = longest.saturating_mul(random.between(4, 8)) + Duration::from_micros(500);
        let mut flows = draw_flows(&tree, arrivals, &mut random);
        flows.extend(of_spare(&tree, kind, victim, arrivals, &mut random));
        settle_rates(&tree, settings.learns, &mut flows, &mut random);
        let switches = (0..tree.switches())
            .map(|switch| switch_plan(seed, &tree, &settings, switch))
            .collect();
        let hosts = tree.host_lines.iter().map(|line| HostPlan {
            rate: line.rate,
            obeys_pfc: true,
            obeys_credits: true,
        });
        let calm = NetworkPlan {
            switches,
            hosts: hosts.collect(),
            links: tree.links(),
            flows,
            seed,
            ..NetworkPlan::default()
        };
        let mut case = Self {
            kind,
            plan: calm.clone(),
            calm,
            arrivals,
            is_other: Vec::new(),
            patience: Duration::ZERO,
        };
        case.befall(&tree, &settings, victim, spare, &mut random);
        case.calm.flows.retain(|flow| flow.from as usize != spare);
        case.patience = case.patience(&tree, &settings);
        case
    }

    fn befall(
        &mut self,
        tree: &Tree,
        settings: &Settings,
        victim: usize,
        spare: usize,
        random: &mut Random,
    ) {
        let span = self.arrivals.as_nanos();
        let at = Instant::from_nanos(random.between(span / 10, span / 2));
        let end = Instant::ZERO + self.arrivals;
        // For a while, or beyond the end of traffic.
        let until = match random.below(3) {
            0 => end + Duration::from_secs(1),
            _ => at + Duration::from_nanos(random.between(span / 100, span / 2)),
        };
        let (switch, port) = tree.port_of_host(victim);
        let mut concerned = vec![victim, spare];
        let mut cut = None;
        let host_link = (tree.parents.len() + victim) as u32;
        let mut actions = Vec::new();
        match self.kind {
            Kind::LinkDown | Kind::Moved => {
                actions.push((at, Action::LinkDown(host_link)));
                if self.kind == Kind::LinkDown {
                    actions.push((until, Action::LinkUp(host_link)));
                }
            }
            Kind::Flaps => {
                let down = match settings.hold.is_zero() {
                    true => Duration::from_micros(10),
                    false => Duration::from_nanos(random.between(1, settings.hold.as_nanos())),
                };
                let (mut at, gap) = (at, self.patience(tree, settings));
                for _ in 0..random.between(1, 3) {
                    actions.push((at, Action::LinkDown(host_link)));
                    actions.push((at + down, Action::LinkUp(host_link)));
                    at = at + down + gap;
                }
            }
            Kind::FabricLinkDown => {
                let link = random.below(tree.parents.len() as u64) as usize;
                cut = Some(link + 1);
                concerned.clear();
                actions.push((at, Action::LinkDown(link as u32)));
                actions.push((until, Action::LinkUp(link as u32)));
            }
            Kind::Removed => {
                let notice = |change| Action::Notice {
                    switch,
                    port,
                    change,
                };
                actions.push((at, notice(DeviceChange::Gone)));
                actions.push((until, notice(DeviceChange::Back)));
            }
            Kind::Stopped => {
                for flow in &mut self.plan.flows {
                    if flow.from as usize == victim {
                        flow.stop = at;
                    }
                }
            }
            Kind::Storm => {
                let host = victim as u32;
                let begin = Action::StormBegin {
                    host,
                    priorities: 0xff,
                };
                actions.push((at, begin));
                actions.push((until, Action::StormEnd(host)));
            }
            Kind::Stuck => {
                let notice = |completes| Action::Notice {
                    switch,
                    port,
                    change: DeviceChange::Completes(completes),
                };
                let until = until.min(end).max(at + settings.stuck_after);
                actions.push((at, Action::Hang { switch, port }));
                actions.push((at + settings.stuck_after, notice(false)));
                actions.push((until, Action::Unhang { switch, port }));
                actions.push((until, notice(true)));
            }
            Kind::TooLong => {
                for flow in &mut self.plan.flows {
                    if flow.from as usize == victim {
                        flow.frame = Bytes::new(random.between(FRAME_MAX.get() + 1, 9_018));
                    }
                }
            }
            Kind::Deaf => {
                let host = victim as u32;
                actions.push((at, Action::HostObeys { host, obeys: false }));
            }
            Kind::WrongAddress => {
                let source = Source::Of(victim as u32);
                self.plan.sources.push((spare as u32, source));
            }
            Kind::FullTable => {
                let count = magnitude(settings.places as u64, 20_000, random) as u32;
                self.plan.sources.push((spare as u32, Source::Many(count)));
            }
        }
        if self.kind == Kind::Moved {
            let source = Source::Of(victim as u32);
            self.plan.sources.push((spare as u32, source));
        }
        for flow in &mut self.plan.flows {
            if flow.from as usize == spare {
                flow.start = flow.start.max(at + Duration::from_nanos(1));
            }
        }
        actions.sort_by_key(|(at, _)| *at);
        self.plan.actions = actions;
        let is_other = |flow: &FlowPlan| {
            let ends = [flow.from as usize, flow.to as usize];
            let path = tree.path(ends[0], ends[1]);
            let crosses =
                |child| path.contains(&Way::Up(child)) || path.contains(&Way::Down(child));
            flow.priority != LOSSY
                && !ends.iter().any(|end| concerned.contains(end))
                && !cut.is_some_and(crosses)
        };
        self.is_other = self.plan.flows.iter().map(is_other).collect();
    }

    /// Returns the time for which the incident may hold others, until all frames behind it have left: two samples of the
    /// watchdog, its control plane, and the buffers along the longest path at the slowest rate.
    fn patience(&self, tree: &Tree, settings: &Settings) -> Duration {
        let detection = settings.watchdog.detection;
        let sample = detection.min(settings.watchdog.restoration).divided_by(8);
        let held = match self.kind {
            Kind::LinkDown | Kind::Flaps | Kind::FabricLinkDown | Kind::Moved => settings.hold,
            Kind::Storm => detection + sample.saturating_mul(3) + LATENCY.saturating_mul(2),
            Kind::Stuck => settings.stuck_after,
            _ => Duration::ZERO,
        };
        let all = tree.lines.iter().chain(&tree.host_lines);
        let slowest = all.map(|line| line.rate).min();
        let slowest = slowest.unwrap_or(BitRate::from_mbit(1_000));
        let buffer = |plan: &SwitchPlan| {
            let classes = CLASSES.iter().map(|it| &plan.config.classes[it.index()]);
            let bounds = classes.map(|class| class.mode.memory_bound(PortRole::Edge));
            bounds.max().unwrap_or_default()
        };
        let buffers: Bytes = self.calm.switches.iter().map(buffer).sum();
        let frames = Bytes::new(64 * (FRAME_MAX + LINE_OVERHEAD).get());
        held + slowest.time_for(buffers + buffers + frames)
    }
}

fn draw_kind(tree: &Tree, settings: &Settings, random: &mut Random) -> Kind {
    let can = |kind: &Kind| match kind {
        Kind::FabricLinkDown => !tree.parents.is_empty(),
        Kind::Moved | Kind::WrongAddress | Kind::FullTable => settings.learns,
        _ => true,
    };
    let kinds: Vec<Kind> = Kind::ALL.into_iter().filter(can).collect();
    *pick(&kinds, random)
}

fn draw_flows(tree: &Tree, arrivals: Duration, random: &mut Random) -> Vec<FlowPlan> {
    let hosts = tree.hosts.len() - 1;
    let mut flows = Vec::new();
    for from in 0..hosts {
        for _ in 0..random.between(1, 3) {
            let to = (from + random.between(1, hosts as u64 - 1) as usize) % hosts;
            flows.push(draw_flow(from, to, arrivals, random));
        }
    }
    flows
}

/// The rate is initially a weight.
fn draw_flow(from: usize, to: usize, arrivals: Duration, random: &mut Random) -> FlowPlan {
    let priority = *pick(&[CLASSES[0], CLASSES[0], CLASSES[1], LOSSY], random);
    FlowPlan {
        from: from as u32,
        to: to as u32,
        priority,
        frame: Bytes::new(match random.below(2) {
            0 => random.between(60, 1_518),
            _ => *pick(&[60, 512, 1_500, 1_518], random),
        }),
        rate: BitRate::new(random.between(1, 8)),
        start: Instant::from_nanos(random.below(arrivals.as_nanos() / 20)),
        stop: Instant::ZERO + arrivals,
        size: None,
        on_off: None,
        flow_hash: random.next_u64() as u32,
        transport: Transport::Open,
        answer_priority: priority,
    }
}

/// Flows of the silent host, once it sends.
fn of_spare(
    tree: &Tree,
    kind: Kind,
    victim: usize,
    arrivals: Duration,
    random: &mut Random,
) -> Option<FlowPlan> {
    let spare = tree.hosts.len() - 1;
    let speaks = matches!(kind, Kind::Moved | Kind::WrongAddress | Kind::FullTable);
    let mut to = random.below(spare as u64) as usize;
    if to == victim {
        to = (to + 1) % spare;
    }
    speaks.then(|| draw_flow(spare, to, arrivals, random))
}

/// Scales flow rates so that the busiest line has the drawn load.
fn settle_rates(tree: &Tree, learns: bool, flows: &mut [FlowPlan], random: &mut Random) {
    let weight = |flow: &FlowPlan| flow.rate.map_or(1, BitRate::get) as f64;
    let on_wire = |flow: &FlowPlan| {
        let frame = flow.frame.get() as f64;
        (frame + LINE_OVERHEAD.get() as f64) / frame
    };
    let mut loads: Vec<(Way, f64)> = Vec::new();
    for flow in flows.iter() {
        let (from, to) = (flow.from as usize, flow.to as usize);
        let ways = match learns {
            true => tree.flooded(from),
            false => tree.path(from, to),
        };
        for way in ways {
            let load = weight(flow) * on_wire(flow) / tree.rate(way).get() as f64;
            match loads.iter_mut().find(|(known, _)| *known == way) {
                Some((_, sum)) => *sum += load,
                None => loads.push((way, load)),
            }
        }
    }
    let busiest = loads.iter().map(|(_, load)| *load).fold(0.0, f64::max);
    let wanted = random.between(10, 80) as f64 / 100.0;
    for flow in flows {
        let rate = weight(flow) * wanted / busiest;
        flow.rate = BitRate::new((rate as u64).max(1_000));
    }
}

fn switch_plan(seed: u64, tree: &Tree, settings: &Settings, switch: usize) -> SwitchPlan {
    let ways = tree.ways_of(switch);
    let role = |way: &Way| match way {
        Way::ToHost(_) | Way::FromHost(_) => PortRole::Edge,
        Way::Up(_) | Way::Down(_) => PortRole::Fabric,
    };
    let ports = ways.iter().enumerate().map(|(index, way)| PortConfig {
        watchdog: Some(settings.watchdog),
        ..PortConfig::new(
            role(way),
            tree.rate(*way),
            port_address(switch as u32, index as u8),
        )
    });
    let lossy = ClassConfig::new(ClassMode::Lossy {
        buffer: Bytes::new(256 * 1024),
    });
    let mut classes = [lossy; 8];
    let lines = tree.lines.iter().chain(&tree.host_lines);
    let needed = lines.map(|line| pool::headroom(line.rate, line.delay, CELL, FRAME_MAX));
    let headroom = needed.max().unwrap_or_default();
    let frame = FRAME_MAX.round_up_to(CELL);
    let xon = Bytes::new(frame.get() * (settings.xoff - 1));
    for priority in CLASSES {
        classes[priority.index()].mode =
            ClassMode::Pfc(PfcThresholds::above_xon(xon, frame, headroom));
    }
    let routes = (0..tree.hosts.len()).map(|host| {
        let port = tree.port_of(switch, tree.next(switch, host));
        RouteConfig::new(host_address(host as u32), vec![port])
    });
    let mut config = SwitchConfig {
        cell: CELL,
        frame_length_max: FRAME_MAX,
        link_down_hold: settings.hold,
        pause_time: Quanta(4096),
        shaper_burst: Bytes::ZERO,
        learning_capacity: if settings.learns { settings.places } else { 0 },
        pools: match settings.pooled {
            true => vec![pool::share(seed, &mut classes, headroom)],
            false => Vec::new(),
        },
        ..SwitchConfig::new(
            ports.collect(),
            classes,
            match settings.learns {
                true => Vec::new(),
                false => routes.collect(),
            },
        )
    };
    config.classes = classes;
    pool::fit_headroom(&mut config);
    config.frame_count = config.frames_needed();
    let fabric = ways
        .iter()
        .enumerate()
        .filter(|(_, way)| role(way) == PortRole::Fabric);
    let fabric_ports: PortSet = fabric
        .filter_map(|(at, _)| PortId::from_index(at))
        .collect();
    SwitchPlan {
        control: Some(ControlPlan {
            config: ControlConfig {
                policy: Policy::Off,
                clcm_interval: Duration::from_millis(1),
                release_period: Duration::from_millis(1),
                release_extra: Bytes::new(3_072),
                loop_breaker: LoopBreakerConfig::default(),
                port_count: ways.len(),
                fabric_ports,
            },
            seed: seed.wrapping_add(switch as u64),
            latency: LATENCY,
            storm_neighbours: vec![StormNeighbour::Judges; ways.len()],
        }),
        config,
    }
}
