//! Configurations of the test network's switches.

use weir_core::config::{DetectorConfig, LevelRules, RouteConfig};
use weir_core::{
    BitRate, Budgets, Bytes, ClassConfig, ClassMode, Duration, PortConfig, Priority, Quanta,
    SwitchConfig,
};

use super::RingOptions;

pub const PRIORITY: Priority = Priority::ALL[3];
pub const RATE: BitRate = BitRate::from_mbit(100);
pub const FEEDBACK_REFRESH: Duration = Duration::from_millis(10);
/// Beside the delay: a frame that has just begun on either side, and the tick.
const ROUND_TRIP: Duration = Duration::from_micros(380);

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
        feedback_refresh: FEEDBACK_REFRESH,
        shaper_burst: Bytes::new(1500),
    };
    config.frame_count = config.frames_needed();
    config
}

/// Levels for routes of two links, with room for the round trip of these lines.
pub fn use_levels(config: &mut SwitchConfig, options: &RingOptions) {
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
        port.neighbour = options.neighbour;
        port.feedback = options.feedback;
    }
    config.frame_count = config.frames_needed();
}
