//! Events as lines of the daemon's log.

use weir_api::describe::Described;
use weir_api::words::EventName;

/// Logs one event: conditions that an operator must know about at `warn`, incidents at `info`, and single control messages,
/// of which a deadlock causes hundreds per second, at `debug`.
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
    let kind = described.kind.name();
    match described.kind {
        EventName::RouteTooLong
        | EventName::ForwardingLoop
        | EventName::LoopBehind
        | EventName::AddressMoves
        | EventName::LearningTableFull
        | EventName::TransmitterStalled
        | EventName::DataplaneStalled
        | EventName::CableExceeded
        | EventName::LinkDown
        | EventName::DeviceGone
        | EventName::DeviceRefused
        | EventName::DeviceRenamed
        | EventName::MtuTooSmall
        | EventName::DeviceUnfit
        | EventName::FramesMissing
        | EventName::EventsLost
        | EventName::RestartFailed
        | EventName::KeeperGone
        | EventName::ListenerTaken
        | EventName::TokensRefused
        | EventName::StormDetected
        | EventName::LifetimeStalled => tracing::warn!(port, priority, details, "{kind}"),
        // Frequent when a host ignores pauses; `health` logs one line for all of them.
        EventName::HeadroomExceeded | EventName::SpuidAssigned | EventName::ReleaseOrdered => {
            tracing::debug!(port, priority, details, "{kind}");
        }
        name if name.is_of_a_message() => tracing::debug!(port, priority, details, "{kind}"),
        _ => tracing::info!(port, priority, details, "{kind}"),
    }
}
