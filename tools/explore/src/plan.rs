//! Plan of an exploration: switches, links, hosts, and events.

use weir_core::config::{DetectorConfig, RouteConfig};
use weir_core::control::{ControlConfig, LoopBreakerConfig, Policy};
use weir_core::testing::Faults;
use weir_core::{
    BitRate, Budgets, Bytes, ClassConfig, ClassMode, ConfigError, Duration, MacAddress, Neighbour,
    PfcThresholds, PortConfig, PortId, PortRole, PortSet, Priority, Quanta, SwitchConfig,
    XonNotBelowXoff,
};

/// Length of all frames: the longest that the switches accept, and Ethernet's minimum.
pub const FRAME: Bytes = Bytes::new(60);
/// Charge of a frame.
pub const CELL: Bytes = Bytes::new(64);
/// One step of time.
pub const TICK: Duration = Duration::from_millis(1);
/// A quarter of a tick: a restricting Feedback is sent in each tick and is valid for four without a refresh, and an
/// unrestricting one is eventually sent every 25. Longer times would only create more equivalent states.
const FEEDBACK_REFRESH: Duration = Duration::from_micros(250);
/// Priority of all frames.
pub const PRIORITY: Priority = Priority::ALL[0];

const RATE_MBIT: u64 = 1000;
/// Slightly less than four ticks at the rate, so that a pause is refreshed after two.
const PAUSE: Quanta = Quanta(7812);

/// Congestion settings of the lossless class; amounts are frames.
#[derive(Clone, Debug)]
pub enum Mode {
    /// PFC.
    Pfc {
        /// Pauses from this amount on.
        xoff: u64,
        /// Resumes at this amount.
        xon: u64,
        /// Room above `xoff`.
        headroom: u64,
    },
    /// Protocol P.
    Levels {
        /// b_1 … b_D.
        budgets: Vec<u64>,
        /// rT.
        reserve: u64,
    },
}

/// One switch.
#[derive(Clone, Debug)]
pub struct NodePlan {
    /// By port: the kind of device that it faces.
    pub ports: Vec<Facing>,
    /// By destination: the port that leads to it.
    pub routes: Vec<u8>,
}

/// Kind of device that a port faces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Facing {
    /// Another switch.
    Switch,
    /// A host that only sends.
    Source,
    /// A host that only receives, at once and without end.
    Sink,
}

/// One direction of a link between switches; the reverse direction is another link of the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkPlan {
    /// Sending switch and port.
    pub from: (usize, u8),
    /// Receiving switch and port.
    pub to: (usize, u8),
}

/// A host that sends to one destination.
#[derive(Clone, Copy, Debug)]
pub struct FlowPlan {
    /// Switch of the host.
    pub node: usize,
    /// Port of the host.
    pub port: u8,
    /// Destination address.
    pub destination: u8,
    /// Number of frames; `None` for any.
    pub limit: Option<u8>,
}

/// Possible disturbance of control frames between switches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Disturbance {
    /// Maximum number of disturbances.
    pub times: u8,
    /// PFC frames, including Feedback, may be lost.
    pub lose_pfc: bool,
    /// CLCM messages may be lost.
    pub lose_clcm: bool,
    /// Both may arrive twice.
    pub repeat: bool,
}

/// A network, and the possible events in it.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The switches.
    pub nodes: Vec<NodePlan>,
    /// Both directions of each link.
    pub links: Vec<LinkPlan>,
    /// Hosts that send.
    pub flows: Vec<FlowPlan>,
    /// The lossless class.
    pub mode: Mode,
    /// Maximum number of data frames in flight in one direction of a link. With 0 a frame arrives in the step that sends it.
    pub wire: u8,
    /// Data frames that a switch still sends after a PFC frame for it has become due on the other side. The round trip,
    /// which headroom and rT cover, is this plus `wire` − 1 frames: the frame whose arrival makes a pause due is no longer
    /// in flight.
    pub slack: u8,
    /// PFC frames, including Feedback, are sent and arrive in the step that makes them due.
    pub prompt_control: bool,
    /// Receiving hosts take each frame in the step that brings it to their port.
    pub prompt_sinks: bool,
    /// Frames that can be sent or delivered are, before time advances, since a tick is long compared with a frame.
    pub busy: bool,
    /// Switches handle due timers in the step in which time advances; control planes may be later.
    pub prompt_timers: bool,
    /// Time advances.
    pub timed: bool,
    /// Reaction to deadlocks.
    pub policy: Policy,
    /// Ticks after which time stops; `None` for never.
    pub horizon: Option<u8>,
    /// Maximum delay of the control plane in ticks.
    pub control_lag: u8,
    /// Disturbance of control frames.
    pub disturbance: Disturbance,
    /// Deliberate faults.
    pub faults: Faults,
}

impl Plan {
    /// Returns the address of a destination.
    pub fn address(destination: u8) -> MacAddress {
        MacAddress([2, 0, 0, 0, 1, destination])
    }

    /// Returns the link in the reverse direction.
    pub fn reverse(&self, link: usize) -> Option<usize> {
        let LinkPlan { from, to } = self.links[link];
        let reverse = LinkPlan { from: to, to: from };
        self.links.iter().position(|other| *other == reverse)
    }

    /// Returns the configuration of a switch.
    ///
    /// # Errors
    ///
    /// [`PlanError::Budgets`] for none or too many, [`PlanError::Thresholds`] if xon is not below xoff; the switch itself
    /// reports further errors.
    pub fn switch_config(&self, node: usize) -> Result<SwitchConfig, PlanError> {
        let frames = |count: u64| Bytes::new(count * CELL.get());
        let lossy = ClassConfig::new(ClassMode::Lossy { buffer: CELL });
        let mut classes = [lossy; 8];
        classes[PRIORITY.index()].mode = match &self.mode {
            Mode::Pfc {
                xoff,
                xon,
                headroom,
            } => ClassMode::Pfc(PfcThresholds::new(
                frames(*xoff),
                frames(*xon),
                frames(*headroom),
            )?),
            Mode::Levels { budgets, .. } => {
                let budgets: Vec<_> = budgets.iter().map(|count| frames(*count)).collect();
                ClassMode::Level {
                    budgets: Budgets::new(&budgets).ok_or(PlanError::Budgets(budgets.len()))?,
                    rules: weir_core::LevelRules::default(),
                    edge: PfcThresholds::new(frames(1), Bytes::ZERO, frames(1))?,
                }
            }
        };
        let plan = &self.nodes[node];
        let ports = plan.ports.iter().enumerate().map(|(index, facing)| {
            let role = match facing {
                Facing::Switch => PortRole::Fabric,
                Facing::Source | Facing::Sink => PortRole::Edge,
            };
            let address = MacAddress([2, 0, 0, 0, 0x80 + node as u8, index as u8]);
            PortConfig {
                neighbour: Neighbour::Enhanced,
                ..PortConfig::new(role, BitRate::from_mbit(RATE_MBIT), address)
            }
        });
        let routes = plan.routes.iter().enumerate().map(|(destination, port)| {
            RouteConfig::new(Self::address(destination as u8), vec![PortId::new(*port)])
        });
        let mut config = SwitchConfig::new(ports.collect(), classes, routes.collect());
        config.cell = CELL;
        config.frame_length_max = FRAME;
        config.pause_time = PAUSE;
        config.feedback_refresh = FEEDBACK_REFRESH;
        config.detector = (self.policy != Policy::Off).then(|| DetectorConfig {
            detect: TICK.saturating_mul(4),
        });
        config.frame_count = config.frames_needed();
        Ok(config)
    }

    /// Returns the settings of a switch's control plane.
    pub fn control_config(&self, node: usize) -> ControlConfig {
        let ports = &self.nodes[node].ports;
        let fabric = (0..ports.len()).filter(|port| ports[*port] == Facing::Switch);
        ControlConfig {
            policy: self.policy,
            clcm_interval: TICK.saturating_mul(4),
            release_period: TICK.saturating_mul(4),
            release_extra: CELL,
            loop_breaker: LoopBreakerConfig::default(),
            port_count: ports.len(),
            fabric_ports: fabric.filter_map(PortId::from_index).collect::<PortSet>(),
        }
    }
}

/// Reason for which a plan cannot be explored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// Protocol P needs one budget at least.
    #[error("{0} budgets; valid are 1 to 31")]
    Budgets(usize),
    /// xon is not below xoff.
    #[error(transparent)]
    Thresholds(#[from] XonNotBelowXoff),
    /// The switch refuses its configuration.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The budgets leave no room for the round trip.
    #[error("a budget has no room for a frame and rT = {0} frames")]
    Reserve(u64),
    /// The switch is in a state that its digest does not cover.
    #[error("switch {node} is in a state that has no digest")]
    NoDigest {
        /// The switch.
        node: usize,
    },
    /// Cannot happen: a state has an origin or is kept.
    #[error("cannot restore the state {0} of a switch")]
    Lost(u32),
    /// Data was sent to a host that only sends.
    #[error("a frame left by a port of a host that only sends")]
    DataToSource,
}
