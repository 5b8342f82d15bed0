//! The switch's configuration as used by the core: checked, in units, without names.

mod class;
mod control_frames;
mod error;
mod forwarding;
mod pool;
mod port;
mod recovery;
mod red;
mod reserve;
mod scheduler;
mod thresholds;
mod validate;
mod vlan;

use crate::credit::CreditTimes;
use crate::units::{BitRate, Bytes, Duration, Quanta, LINE_OVERHEAD, PRIORITY_COUNT};

pub use class::{ClassConfig, ClassMode, LevelRules, ModeKind};
pub use control_frames::{AuthenticationConfig, ControlLimits, FabricKey, FABRIC_KEY_LENGTH};
pub(crate) use error::of_vlans;
pub use error::ConfigError;
pub use forwarding::{
    default_bucket_count, default_member, EcmpConfig, FloodConfig, FlowMonitorConfig, LoopConfig,
    MoveConfig, OnMoves, RouteConfig, BUCKETS_DEFAULT, BUCKETS_MAX,
};
pub use pool::{Alpha, PoolConfig, PoolShare, Threshold, POOLS_MAX};
pub use port::{CableRoom, FeedbackCoding, Neighbour, PauseRule, Police, PortConfig, PortRole};
pub use recovery::{LifetimeConfig, StormAction, WatchdogConfig};
pub use red::{MarkAt, PartsPerMillion, RedConfig, RedError};
pub use reserve::Reserve;
pub use scheduler::{Algorithm, SchedulerConfig};
pub use thresholds::{PfcThresholds, XonNotBelowXoff};
pub use vlan::{VlanMode, VlanPort};

/// Settings of the deadlock detector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DetectorConfig {
    /// Zero throughput with a non-empty queue for this long.
    pub detect: Duration,
}

/// Configuration of [`Switch::new`](crate::Switch::new).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwitchConfig {
    /// The ports; a [`PortId`] is an index into this list.
    pub ports: Vec<PortConfig>,
    /// The eight priorities.
    pub classes: [ClassConfig; PRIORITY_COUNT],
    /// Memory shared by buffers, at most [`POOLS_MAX`] pools.
    pub pools: Vec<PoolConfig>,
    /// Buffers are charged in whole cells of this size.
    pub cell: Bytes,
    /// Number of frame handles in the caller's pool.
    pub frame_count: usize,
    /// The longest frame admitted, from destination address to last payload byte.
    pub frame_length_max: Bytes,
    /// Treatment of VLAN tags by port; empty for a switch that ignores tags.
    pub vlans: Vec<VlanPort>,
    /// Static forwarding entries.
    pub routes: Vec<RouteConfig>,
    /// Capacity for changes of the entries by commands.
    pub ecmp: EcmpConfig,
    /// The recent-flow monitor.
    pub flows: FlowMonitorConfig,
    /// Treatment of frames without a route.
    pub flood: FloodConfig,
    /// Maximum number of learned addresses; zero turns off learning and the flooding of unknown addresses. Only for
    /// networks without loops, or with [`flood.tree`](FloodConfig::tree).
    pub learning_capacity: usize,
    /// A learned address is forgotten after this long without a frame from it.
    pub learning_age: Duration,
    /// Loop detection where addresses are learnt; `None` turns it off.
    pub loops: Option<LoopConfig>,
    /// Deadlock detection; `None` turns it off.
    pub detector: Option<DetectorConfig>,
    /// Frames for a port whose link is down are kept for this long, then dropped as
    /// [`PortDown`](crate::DropReason::PortDown).
    pub link_down_hold: Duration,
    /// The head-of-queue lifetime limit; `None` turns it off.
    pub lifetime: Option<LifetimeConfig>,
    /// Pause time that an XOFF requests; it is refreshed after half of it.
    pub pause_time: Quanta,
    /// Interval at which a Transmit Feedback is resent.
    pub feedback_refresh: Duration,
    /// Minimum number of bytes that the shaper may send back to back after an idle span.
    pub shaper_burst: Bytes,
    /// Time that the shaper may catch up at line rate, if that is more than `shaper_burst`.
    pub shaper_burst_time: Duration,
    /// Maximum share of a line for strict priorities and guaranteed rates while others could send.
    /// Above zero and below one.
    pub strict_share: PartsPerMillion,
    /// Seed of the switch's only randomness: the choice of frames marked between the thresholds of [`RedConfig`].
    /// Different for switches that run side by side.
    pub seed: u64,
    /// A secret random number, so that no host can guess the nonces of [probes for loops](crate::wire::loop_probe).
    /// Simulations need none.
    pub secret: u64,
    /// Authentication of CLCM and echo messages at fabric ports; `None` for none.
    pub authentication: Option<AuthenticationConfig>,
    /// Limits on control frames accepted from each port.
    pub control_limits: ControlLimits,
    /// Times of the messages for classes with credits.
    pub credits: CreditTimes,
}

impl SwitchConfig {
    /// Default of [`strict_share`](Self::strict_share).
    pub const STRICT_SHARE: PartsPerMillion = PartsPerMillion::from_percent(95);

    /// Default of [`link_down_hold`](Self::link_down_hold): half of the storm watchdog's default detection time, so
    /// that a neighbour paused meanwhile does not declare a storm.
    pub const LINK_DOWN_HOLD: Duration = Duration::from_millis(100);

    /// Returns the lateness of a caller, at a line of `rate`, that it may catch up.
    pub(crate) fn shaper_lateness(&self, rate: BitRate) -> Duration {
        rate.time_for(self.shaper_burst).max(self.shaper_burst_time)
    }

    /// Creates the configuration of a switch with these ports, classes and routes and otherwise defaults: cells of 256
    /// B, frames of up to 1522 B, no learning, no detector, no lifetime limit, the longest pauses, Feedback resent
    /// after 10 ms, and a shaper that lets a late caller catch up by 1 MiB. The frame pool has the size that the
    /// buffers need: after a change of ports, classes or the cell, call [`frames_needed`](Self::frames_needed) again.
    pub fn new(
        ports: Vec<PortConfig>,
        classes: [ClassConfig; PRIORITY_COUNT],
        routes: Vec<RouteConfig>,
    ) -> Self {
        let mut config = Self {
            ports,
            classes,
            pools: Vec::new(),
            cell: Bytes::new(256),
            frame_count: 0,
            frame_length_max: Bytes::new(1522),
            vlans: Vec::new(),
            routes,
            ecmp: EcmpConfig::default(),
            flows: FlowMonitorConfig::default(),
            flood: FloodConfig::default(),
            learning_capacity: 0,
            learning_age: Duration::from_secs(300),
            loops: None,
            detector: None,
            link_down_hold: Self::LINK_DOWN_HOLD,
            lifetime: None,
            pause_time: Quanta::MAX,
            feedback_refresh: Duration::from_millis(10),
            shaper_burst: Bytes::new(1 << 20),
            shaper_burst_time: Duration::ZERO,
            strict_share: Self::STRICT_SHARE,
            seed: 1,
            secret: 0,
            authentication: None,
            control_limits: ControlLimits::default(),
            credits: CreditTimes::default(),
        };
        config.frame_count = config.frames_needed();
        config
    }

    /// Maximum charge of all ingress buffers together, releases included.
    pub fn buffer_bound(&self) -> Bytes {
        let of_port = |port: &PortConfig| -> Bytes {
            let classes = self.classes.iter().filter(|class| class.pool.is_none());
            classes
                .map(|class| class.mode_at(port).memory_bound(port.role))
                .map(|bound| bound.round_up_to(self.cell))
                .sum()
        };
        self.ports.iter().map(of_port).sum::<Bytes>() + self.pools_bound()
    }

    /// γmax: the charge of the longest frame.
    pub fn gamma_max(&self) -> Bytes {
        self.frame_length_max.round_up_to(self.cell)
    }

    /// The charge of rT of a port's link (Karol, section V): see [`Reserve`].
    pub fn reserve(&self, port: &PortConfig) -> Bytes {
        self.reserve_of(port).total()
    }

    /// Time for which a replaced Feedback may still let one frame out: that of the longest frame on the port's line,
    /// which may have occupied the line while the Feedback was in force. Zero without a round trip time: then there is
    /// no reserve for that frame.
    pub fn lingering(&self, port: &PortConfig) -> Duration {
        if port.round_trip == Duration::ZERO {
            return Duration::ZERO;
        }
        port.rate.time_for(self.frame_length_max + LINE_OVERHEAD)
    }

    /// Returns the number of arrived bytes after which a restricting Feedback is resent.
    pub fn repeat_after(&self, port: &PortConfig) -> Bytes {
        self.reserve_of(port).repeat_after
    }

    fn reserve_of(&self, port: &PortConfig) -> Reserve {
        self.reserve_for(port, port.round_trip)
    }

    /// The reserve of a port's link if its round trip time were `round_trip`; zero if Feedback grants frames.
    pub fn reserve_for(&self, port: &PortConfig, round_trip: Duration) -> Reserve {
        let round_trip = match port.feedback {
            FeedbackCoding::Grants => Duration::ZERO,
            _ => round_trip,
        };
        Reserve::new(port.rate, round_trip, self.cell, self.frame_length_max)
    }

    /// Number of frames that the pool needs so that no admitted frame lacks memory: each frame is charged at least one
    /// cell, so there is never more than one frame for each cell.
    pub fn frames_needed(&self) -> usize {
        (self.buffer_bound().get() / self.cell.get().max(1)) as usize
    }
}
