//! Events as lines of the daemon's log.

use weir_api::describe::Described;

/// Writes one event: what an operator must know at `warn`, what happened at `info`, and single control
/// messages, of which a deadlock makes hundreds each second, at `debug`.
pub(super) fn event(described: &Described) {
    let port = described.port.as_deref();
    let priority = described.priority;
    let details = described
        .details
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect::<Vec<_>>()
        .join(", ");
    let details = (!details.is_empty()).then_some(details);
    let kind = described.kind;
    match kind {
        "headroom_exceeded" | "route_too_long" | "link_down" | "device_gone" | "device_back"
        | "events_lost" | "storm_detected" | "lifetime_stalled" => {
            tracing::warn!(port, priority, details, "{kind}");
        }
        "clcm_sent" | "clcm_received" | "clcm_forwarded" | "clcm_ignored" | "spuid_assigned"
        | "release_ordered" => tracing::debug!(port, priority, details, "{kind}"),
        _ => tracing::info!(port, priority, details, "{kind}"),
    }
}
