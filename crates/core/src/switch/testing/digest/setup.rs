//! Configurations that have digests.

use crate::config::{Algorithm, ClassConfig, FeedbackCoding, FloodConfig, Police, SwitchConfig};

/// Returns true for a lossless class whose turns between ports are state, unless it is the only one.
fn shares_by_port(class: &ClassConfig) -> bool {
    class.mode.is_lossless() && class.scheduler.algorithm == Algorithm::Ports
}

/// Returns true if the digest covers the state of all configured features.
pub(super) fn is_plain(config: &SwitchConfig) -> bool {
    let limits = config.control_limits;
    let ports = config.ports.iter().all(|port| {
        port.feedback == FeedbackCoding::Pfc
            && !port.round_trip_measured
            && port.police == Police::Off
    });
    ports
        && config.learning_capacity == 0
        && config.flood == FloodConfig::default()
        && config.routes.iter().all(|route| route.ports.len() == 1)
        && config
            .classes
            .iter()
            .all(|class| class.scheduler.is_plain() && class.credits.is_none())
        && config
            .classes
            .iter()
            .filter(|class| shares_by_port(class))
            .count()
            < 2
        && config.pools.is_empty()
        && config.lifetime.is_none()
        && config.authentication.is_none()
        && limits.pause_rate.is_none()
        && limits.message_rate.is_none()
}
