//! Events as lines of the daemon's log.

use super::event_log::Draft;

/// Writes one event: what an operator must know at `warn`, what happened at `info`, and single control
/// messages, of which a deadlock makes hundreds each second, at `debug`.
pub(super) fn event(draft: &Draft) {
    let port = draft.port.as_deref();
    let priority = draft.priority;
    let details = draft
        .details
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect::<Vec<_>>()
        .join(", ");
    let details = (!details.is_empty()).then_some(details);
    let kind = draft.kind;
    match kind {
        "headroom_exceeded" | "route_too_long" | "link_down" | "events_lost" | "storm_detected"
        | "lifetime_stalled" => {
            tracing::warn!(port, priority, details, "{kind}");
        }
        "clcm_sent" | "clcm_received" | "clcm_forwarded" | "clcm_ignored" | "spuid_assigned"
        | "release_ordered" => tracing::debug!(port, priority, details, "{kind}"),
        _ => tracing::info!(port, priority, details, "{kind}"),
    }
}
