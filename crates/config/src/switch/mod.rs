//! A switch independent of its environment: the daemon adds devices and packet memory, the simulator an address and
//! virtual time. A daemon's file and a scenario both yield it, and neither depends on the other.

mod cable;
mod class;
mod core_errors;
mod deadlock;
mod ecn;
mod first_thresholds;
mod forwarding;
mod frames;
pub mod headroom;
mod pfcwd;
mod pool;
mod read;
mod scheduler;

use weir_core::config::{
    ControlLimits, DetectorConfig, FloodConfig, LifetimeConfig, WatchdogConfig,
};
use weir_core::control::{ControlConfig, Policy};
use weir_core::{
    Algorithm, BitRate, Bytes, ClassConfig, ClassMode, CreditTimes, Duration, FeedbackCoding,
    Neighbour, PauseRule, Police, PortConfig, PortId, PortRole, Priority, SwitchConfig, VlanPort,
};

use crate::settings::words;

pub use cable::{reaction_of_station, Cable, CableLine, NANOS_PER_METRE};
pub(crate) use cable::{Cables, PortCable};
pub(crate) use class::ClassTable;
pub(crate) use class::OffOrTime;
pub use class::{Class, Express};
pub(crate) use core_errors::complain_of_core;
pub use deadlock::DeadlockConfig;
pub(crate) use ecn::ecn_profiles;
pub use ecn::EcnProfile;
pub use first_thresholds::FirstThresholds;
pub(crate) use forwarding::RouteTable;
pub use forwarding::{FlowsConfig, ForwardingConfig, MulticastConfig, Route, STATIONS_MAX};
pub use frames::FrameConfig;
pub use pfcwd::PfcwdConfig;
pub(crate) use pool::pools;
pub use pool::{ClassPool, Pool};
pub(crate) use read::{check_steps, classes, fit_release_buffer, LevelSizing, Surroundings};
pub(crate) use scheduler::Lines;

/// The implicit class of all priorities without a class.
pub const DEFAULT_CLASS: &str = "default";

/// Default buffer of a class of mode `lossy`, and of the implicit class.
pub(crate) const LOSSY_BUFFER: Bytes = Bytes::new(256 * 1024);
/// Default credit size: one chunk of packet memory.
pub(crate) const CREDIT_SIZE: Bytes = Bytes::new(2048);

words! {
    PortRole: PortRole::NAMED;
    Neighbour: [
        ("auto", Neighbour::Unknown),
        ("enhanced", Neighbour::Enhanced),
        ("regular", Neighbour::Regular),
    ];
    FeedbackCoding: FeedbackCoding::NAMED;
    PauseRule: PauseRule::NAMED;
    Police: [
        ("off", Police::Off),
        ("drop", Police::Drop),
        ("mark", Police::Mark),
    ];
}

/// One switch without devices, files or packet memory.
#[derive(Clone, Debug)]
pub struct Switch {
    /// Without the implicit one.
    pub classes: Vec<Class>,
    /// Memory shared by buffers of classes.
    pub pools: Vec<Pool>,
    /// Marking profiles used by classes.
    pub ecn: Vec<EcnProfile>,
    /// A [`PortId`] is an index into this list.
    pub ports: Vec<PortConfig>,
    /// Charges of frames, and times of pauses.
    pub frames: FrameConfig,
    /// Detection of deadlocks, and the reaction.
    pub deadlock: DeadlockConfig,
    /// Egress ports of frames.
    pub routes: Vec<Route>,
    /// Settings of forwarding other than routes.
    pub forwarding: ForwardingConfig,
    /// Treatment of frames without a route.
    pub flood: FloodConfig,
    /// The recent-flow monitor.
    pub flows: FlowsConfig,
    /// Limits on control frames accepted from a port.
    pub control_limits: ControlLimits,
    /// Seed of all randomness.
    pub seed: u64,
    /// By port, treatment of VLAN tags; empty if tags are ignored.
    pub vlans: Vec<VlanPort>,
}

/// The core's configuration of a priority without a class.
fn implicit_class() -> ClassConfig {
    let mut class = ClassConfig::new(ClassMode::Lossy {
        buffer: LOSSY_BUFFER,
    });
    class.scheduler.algorithm = Algorithm::Ports;
    class
}

impl Switch {
    /// The core's configuration. The pool has a frame for each cell of the buffers, and the shapers allow no catching
    /// up: a caller with rings, or one that may be late, increases both.
    pub fn core(self) -> SwitchConfig {
        let classes = std::array::from_fn(|index| {
            class_of(&self.classes, Priority::ALL[index]).map_or_else(implicit_class, Class::core)
        });
        let mut config = SwitchConfig {
            ports: self.ports,
            classes,
            pools: Vec::new(),
            cell: self.frames.cell,
            frame_count: 0,
            frame_length_max: self.frames.frame_length_max(),
            vlans: self.vlans,
            routes: self.routes.into_iter().map(Route::core).collect(),
            ecmp: self.forwarding.ecmp(),
            flows: self.flows.monitor(),
            flood: self.flood,
            learning_capacity: if self.forwarding.learning {
                self.forwarding.capacity
            } else {
                0
            },
            learning_age: self.forwarding.age,
            link_down_hold: self.forwarding.link_down_hold,
            loops: self.forwarding.loops(),
            detector: Some(DetectorConfig {
                detect: self.deadlock.detect,
            }),
            lifetime: (self.deadlock.policy == Policy::Lifetime).then_some(LifetimeConfig {
                limit: self.deadlock.lifetime,
                stall_count: self.deadlock.stall_count,
            }),
            pause_time: self.frames.pause_time,
            feedback_refresh: self.frames.feedback_refresh,
            shaper_burst: Bytes::ZERO,
            shaper_burst_time: Duration::ZERO,
            strict_share: SwitchConfig::STRICT_SHARE,
            seed: self.seed,
            // Set by the daemon, from random numbers.
            secret: 0,
            authentication: None,
            control_limits: self.control_limits,
            credits: CreditTimes::default(),
        };
        Pool::settle(&self.pools, &mut config);
        config.frame_count = config.frames_needed();
        config
    }

    /// Configuration of the control plane.
    pub fn control(&self) -> ControlConfig {
        let ports = self.ports.iter().enumerate();
        let fabric = ports.filter(|(_, port)| port.role == PortRole::Fabric);
        ControlConfig {
            policy: self.deadlock.policy,
            clcm_interval: self.deadlock.clcm_interval,
            release_period: self.deadlock.release,
            release_extra: self.deadlock.release_buffer,
            loop_breaker: self.deadlock.loop_breaker(),
            port_count: self.ports.len(),
            fabric_ports: fabric
                .filter_map(|(index, _)| PortId::from_index(index))
                .collect(),
        }
    }
}

/// The class of a priority; `None` for the implicit one.
pub(crate) fn class_of(classes: &[Class], priority: Priority) -> Option<&Class> {
    classes
        .iter()
        .find(|class| class.priorities.contains(&priority))
}

/// The PFC storm watchdog of a port with these settings. The policy `watchdog` watches every port.
pub(crate) fn watchdog(
    pfcwd: PfcwdConfig,
    deadlock: &DeadlockConfig,
    by_default: bool,
) -> Option<WatchdogConfig> {
    let enabled = pfcwd.enabled.unwrap_or(by_default) || deadlock.policy == Policy::Watchdog;
    enabled.then(|| pfcwd.watchdog())
}

/// Default limits on control frames accepted from a port, for this `clcm-interval` and the rate of the fastest port.
///
/// Every suspected port sends a CLCM in each interval, and a link of a loop carries those of all its switches. If they
/// reached the limit, the election would not end. A neighbour whose xoff and xon are one frame apart may send a pause
/// for each frame: a dropped pause loses frames.
pub(crate) fn control_limits(clcm_interval: Duration, fastest: Option<BitRate>) -> ControlLimits {
    const MESSAGES_PER_INTERVAL: u64 = 200;
    /// A tenth of a line full of frames of 64 B, including preamble and gap.
    const BITS_PER_PAUSE: u64 = 10 * 84 * 8;
    let pauses = fastest.map_or(0, |rate| rate.get() / BITS_PER_PAUSE);
    let intervals = Duration::from_secs(1).as_nanos() / clcm_interval.as_nanos().max(1);
    let messages = intervals.saturating_mul(MESSAGES_PER_INTERVAL);
    let within = |rate: u64, least: u32| rate.clamp(least.into(), CONTROL_RATE_MAX) as u32;
    ControlLimits {
        pause_rate: Some(within(pauses, PAUSE_RATE_LEAST)),
        message_rate: Some(within(messages, MESSAGE_RATE_LEAST)),
    }
}

/// Maximum of such limits.
pub(crate) const CONTROL_RATE_MAX: u64 = 1_000_000_000;
/// Minimum result of [`control_limits`].
pub(crate) const PAUSE_RATE_LEAST: u32 = 1_000_000;
/// Minimum result of [`control_limits`].
pub(crate) const MESSAGE_RATE_LEAST: u32 = 10_000;
