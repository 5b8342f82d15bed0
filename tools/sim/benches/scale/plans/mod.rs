//! Networks of the benchmark and the traffic of their hosts.

pub mod fat_tree;
pub mod regular;

use weir_core::config::{DetectorConfig, EcmpConfig, FloodConfig, FlowMonitorConfig, RouteConfig};
use weir_core::{
    BitRate, Bytes, ClassConfig, ClassMode, Duration, PfcThresholds, PortConfig, PortRole,
    Priority, Quanta, SwitchConfig,
};
use weir_sim::network::plan::{port_address, End, LinkPlan, PriorityMap};

/// Priority of all frames.
pub const PRIORITY: Priority = Priority::ALL[3];
/// Length of all frames without FCS.
pub const FRAME_LENGTH: Bytes = Bytes::new(1500);
/// Rate of all lines.
pub const LINE_RATE: BitRate = BitRate::from_mbit(100_000);
/// Delay of all links.
pub const DELAY: Duration = Duration::from_micros(1);

/// Returns the configuration of switch `index`: one port for each role, and one PFC class.
fn switch_config(index: u32, roles: &[PortRole], routes: Vec<RouteConfig>) -> SwitchConfig {
    let kib = |n: u64| Bytes::new(n * 1024);
    let mut classes = [ClassConfig::new(ClassMode::Lossy { buffer: kib(2) }); 8];
    classes[PRIORITY.index()].mode =
        ClassMode::Pfc(PfcThresholds::new(kib(60), kib(52), kib(64)).unwrap());
    let mut config = SwitchConfig {
        vlans: Vec::new(),
        ports: roles
            .iter()
            .enumerate()
            .map(|(port, role)| PortConfig::new(*role, LINE_RATE, port_address(index, port as u8)))
            .collect(),
        classes,
        pools: Vec::new(),
        cell: Bytes::new(256),
        frame_count: 0,
        frame_length_max: Bytes::new(1522),
        routes,
        ecmp: EcmpConfig {
            spare_routes: 0,
            spare_buckets: 0,
            pin_capacity: 0,
        },
        flows: FlowMonitorConfig::default(),
        flood: FloodConfig::default(),
        learning_capacity: 0,
        learning_age: Duration::from_secs(300),
        link_down_hold: SwitchConfig::LINK_DOWN_HOLD,
        loops: None,
        detector: Some(DetectorConfig {
            detect: Duration::from_micros(100),
        }),
        lifetime: None,
        pause_time: Quanta::MAX,
        feedback_refresh: Duration::from_millis(10),
        shaper_burst: Bytes::ZERO,
        shaper_burst_time: Duration::ZERO,
        strict_share: SwitchConfig::STRICT_SHARE,
        seed: 1,
        secret: 0,
        authentication: None,
        control_limits: Default::default(),
        credits: Default::default(),
    };
    config.frame_count = config.frames_needed();
    config
}

fn link(ends: [End; 2]) -> LinkPlan {
    LinkPlan {
        ends,
        delay: DELAY,
        priority_map: [PriorityMap::IDENTITY; 2],
    }
}
