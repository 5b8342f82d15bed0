//! Configurations of the test network's switches.

use weir_core::config::{DetectorConfig, EcmpConfig, FlowMonitorConfig, LevelRules, RouteConfig};
use weir_core::{
    BitRate, Budgets, Bytes, ClassConfig, ClassMode, Duration, PfcThresholds, PortConfig, Priority,
    Quanta, SwitchConfig,
};

use super::RingOptions;

pub const PRIORITY: Priority = Priority::ALL[3];
pub const RATE: BitRate = BitRate::from_mbit(100);
pub const FEEDBACK_REFRESH: Duration = Duration::from_millis(10);
/// There and back, a frame that has just begun on either side, and the tick.
pub const ROUND_TRIP: Duration = Duration::from_micros(400);

pub fn switch_config(
    ports: Vec<PortConfig>,
    routes: Vec<RouteConfig>,
    detect: Duration,
) -> SwitchConfig {
    let lossy = ClassConfig {
        headroom_by_cable: false,
        mode: ClassMode::Lossy {
            buffer: Bytes::new(64 * 1024),
        },
        weight: 1,
        scheduler: Default::default(),
        age_limit: None,
        ecn: None,
        pool: None,
        credits: None,
    };
    let mut classes = [lossy; 8];
    classes[PRIORITY.index()] = ClassConfig {
        headroom_by_cable: false,
        mode: ClassMode::Pfc(
            PfcThresholds::new(
                Bytes::new(60 * 1024),
                Bytes::new(52 * 1024),
                Bytes::new(32 * 1024),
            )
            .unwrap(),
        ),
        weight: 1,
        scheduler: Default::default(),
        age_limit: None,
        ecn: None,
        pool: None,
        credits: None,
    };
    SwitchConfig {
        flows: FlowMonitorConfig {
            capacity: 256,
            age: Duration::from_secs(10),
        },
        detector: Some(DetectorConfig { detect }),
        feedback_refresh: FEEDBACK_REFRESH,
        shaper_burst: Bytes::new(1500),
        ..SwitchConfig::new(ports, classes, routes)
    }
}

/// Levels for routes of two links, with room for 60 KiB and the round trip.
pub fn use_levels(config: &mut SwitchConfig, options: &RingOptions) {
    for port in &mut config.ports {
        port.round_trip = options.round_trip;
        port.neighbour = options.neighbour;
        port.feedback = options.feedback;
    }
    let reserve = config.reserve(&config.ports[0]).round_up_to(config.cell);
    let each = config.gamma_max() + reserve;
    let xoff = Bytes::new(60 * 1024);
    config.classes[PRIORITY.index()].mode = ClassMode::Level {
        rules: LevelRules::default(),
        budgets: Budgets::derived(2, each + each + xoff, each).unwrap(),
        edge: PfcThresholds::new(xoff, Bytes::new(52 * 1024), Bytes::new(256 * 1024)).unwrap(),
    };
    config.frame_count = config.frames_needed();
}
