//! Errors of a configuration.

use super::{PartsPerMillion, RedError, BUCKETS_MAX, POOLS_MAX};
use crate::level::Level;
use crate::sets::vlans::VlanId;
use crate::units::{BitRate, Bytes, Duration, MacAddress, PortId, Priority, PORT_COUNT_MAX};

/// Reason why a configuration cannot work.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // the messages describe the fields
pub enum ConfigError {
    #[error("priority {0}: credits need a class with PFC")]
    CreditsWithoutPfc(Priority),
    #[error("priority {0}: a class with credits cannot use a pool")]
    CreditsInPool(Priority),
    #[error("priority {priority}: credits of {size} are not possible: valid are whole cells of {cell}, up to 65535 B, and an overhead of up to 127 B")]
    CreditTerms {
        priority: Priority,
        size: Bytes,
        cell: Bytes,
    },
    #[error("priority {priority}: the buffer holds {limit} credits, but two longest frames need {needed}")]
    CreditLimit {
        priority: Priority,
        limit: u32,
        needed: u32,
    },
    #[error("a switch needs 1 to {PORT_COUNT_MAX} ports, this one has {0}")]
    PortCount(usize),
    #[error("priority {priority}: {what} ({value}) must be at least one frame of {frame} in whole cells")]
    BufferBelowFrame {
        priority: Priority,
        what: &'static str,
        value: Bytes,
        frame: Bytes,
    },
    #[error("priority {priority}: budget b_{level} ({budget}) must be at least one frame of {gamma_max} in whole cells (γmax)")]
    BudgetBelowFrame {
        priority: Priority,
        level: usize,
        budget: Bytes,
        gamma_max: Bytes,
    },
    #[error("priority {priority}, port {port}: budget b_{level} ({budget}) must be at least γmax ({gamma_max}) plus the arrivals in the round trip time of {} ms ({reserve}): {needed}. Enlarge the buffer, or shorten the round trip time", .round_trip.as_secs_f64() * 1e3)]
    RoundTripTooLong {
        priority: Priority,
        port: usize,
        round_trip: Duration,
        level: usize,
        budget: Bytes,
        gamma_max: Bytes,
        reserve: Bytes,
        needed: Bytes,
    },
    #[error("priority {priority}: the minimum Level {level_min} must be below D = {depth}, the longest route plus the minimum Level")]
    LevelMinTooHigh {
        priority: Priority,
        level_min: Level,
        depth: Level,
    },
    #[error("priority {0}: the age limit must be above zero")]
    ZeroAge(Priority),
    #[error("priority {priority}: {error}")]
    Marking { priority: Priority, error: RedError },
    #[error("the Feedback refresh time must be above zero")]
    ZeroRefresh,
    #[error("priority {0}: weight must be at least 1")]
    ZeroWeight(Priority),
    #[error("priority {priority}: the guaranteed rate ({rate_min}) must not be above the highest rate ({rate_max})")]
    RateMinAboveMax {
        priority: Priority,
        rate_min: BitRate,
        rate_max: BitRate,
    },
    #[error("priority {priority}: at {rate_max} a frame of {frame} takes {} ms, and the detector would report that as a deadlock after {} ms (detect). Raise the highest rate or the detection time", .takes.as_secs_f64() * 1e3, .detect.as_secs_f64() * 1e3)]
    RateMaxTooLow {
        priority: Priority,
        rate_max: BitRate,
        frame: Bytes,
        takes: Duration,
        detect: Duration,
    },
    #[error("port {port}: the guaranteed rates add up to {rates}, but at most {share} of {rate} may precede the turns")]
    RatesMinTooHigh {
        port: PortId,
        rates: BitRate,
        share: PartsPerMillion,
        rate: BitRate,
    },
    #[error("the share of strict priorities must be above zero and below one, not {0}")]
    StrictShare(PartsPerMillion),
    #[error("the cell size must be between 64 B and 65536 B, not {0}")]
    Cell(Bytes),
    #[error("{frame_count} frames cannot back buffers of {buffers}: {needed} frames are needed, one per cell")]
    TooFewFrames {
        frame_count: usize,
        buffers: Bytes,
        needed: usize,
    },
    #[error("a switch can have at most {POOLS_MAX} pools, this one has {0}")]
    PoolCount(usize),
    #[error("pool {pool}: a pool, its headroom and its reserves can have at most 256 TiB each")]
    PoolTooLarge { pool: usize },
    #[error("pool {pool}: the lossless classes of the pool have headrooms of {wanted} at {ports} ports together, and the headroom of the pool is {headroom}{}. Raise it, lower the headroom of a class, or permit oversubscription, with which frames can be lost", times(*.oversubscription))]
    PoolHeadroom {
        pool: usize,
        ports: usize,
        wanted: Bytes,
        headroom: Bytes,
        oversubscription: u16,
    },
    #[error("priority {priority}: there is no pool {pool}")]
    NoPool { priority: Priority, pool: u8 },
    #[error("priority {0}: a class with Levels uses budgets and cannot use a pool")]
    PoolOfLevels(Priority),
    #[error(
        "priority {priority}: the static threshold must not be above the size of the pool, {size}"
    )]
    ThresholdAbovePool { priority: Priority, size: Bytes },
    #[error("priority {priority}: a buffer that is alone in the pool has {alone}, less than one frame of {frame} in whole cells. Raise the threshold, the reserve or the size of the pool")]
    ShareBelowFrame {
        priority: Priority,
        alone: Bytes,
        frame: Bytes,
    },
    #[error("priority {priority}: port {port} polices its host, which is impossible for a lossless class with a pool")]
    PolicedPool { priority: Priority, port: usize },
    #[error("route to {destination} has no port")]
    EmptyRoute { destination: MacAddress },
    #[error("route to {destination} names port {port}, but there are {port_count} ports")]
    RoutePort {
        destination: MacAddress,
        port: PortId,
        port_count: usize,
    },
    #[error("the flooding tree names port {port}, but there are {port_count} ports")]
    TreePort { port: PortId, port_count: usize },
    #[error("route to {destination} names a port twice")]
    RepeatedPort { destination: MacAddress },
    #[error("route to {destination} has {buckets} buckets for {members} ports; valid are {members} to {BUCKETS_MAX}")]
    BucketCount {
        destination: MacAddress,
        buckets: u16,
        members: usize,
    },
    #[error("{pins} flows are pinned, but there is room for {capacity} pins")]
    TooManyPins { pins: usize, capacity: usize },
    #[error("route to {destination} pins a flow twice, to a port that is not its own, or has a single port")]
    BadPin { destination: MacAddress },
    #[error("the age of a recent flow must be above zero")]
    ZeroFlowAge,
    #[error("two routes to {0}")]
    DuplicateRoute(MacAddress),
    #[error("the time between two probes for loops must be above zero")]
    ZeroLoopInterval,
    #[error("{settings} ports have VLAN settings, but there are {ports} ports: either all have them or none")]
    VlanPorts { settings: usize, ports: usize },
    #[error("route to {0} is for one VLAN, but no port has VLANs, or it is VLAN 0")]
    RouteVlan(MacAddress),
    #[error("route to {destination}: port {port} does not carry {}", of_vlans(*vlan))]
    RouteNotInVlan {
        destination: MacAddress,
        vlan: Option<VlanId>,
        port: PortId,
    },
    #[error("the detection time must be above zero")]
    ZeroDetect,
    #[error("the storm watchdog's detection and restoration times must be above zero")]
    ZeroStorm,
    #[error("the head-of-queue lifetime must be above zero")]
    ZeroLifetime,
    #[error("the pause time must be above zero quanta")]
    ZeroPause,
}

fn times(oversubscription: u16) -> String {
    match oversubscription {
        0 | 1 => String::new(),
        times => format!(", {times} times oversubscribed"),
    }
}

pub(crate) fn of_vlans(vlan: Option<VlanId>) -> String {
    match vlan {
        Some(vlan) => format!("VLAN {vlan}"),
        None => "the same VLANs as the first port of the route".to_owned(),
    }
}
