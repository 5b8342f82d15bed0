//! The dataplane's events and the control plane's reports as entries of the event log.

use weir_core::control::neighbours::{NeighbourReport, NeighbourReportKind};
use weir_core::control::{Report, ReportKind};
use weir_core::event::EventKind;
use weir_core::wire::clcm::{Clcm, Phase};
use weir_core::{CommandError, Event, PortId, Priority};

use super::event_log::Draft;
use super::info::{neighbour_name, SwitchInfo};

/// What happened in the dataplane.
pub fn event(info: &SwitchInfo, event: &Event) -> Draft {
    let about = |kind, port: PortId, priority: Priority| Draft {
        port: Some(info.port_name(port)),
        priority: Some(priority.get()),
        ..Draft::new(event.at, kind)
    };
    match event.kind {
        EventKind::Suspected {
            egress,
            priority,
            reason,
            queued,
            idle,
            alternatives,
            ..
        } => about("suspected", egress, priority)
            .detail("reason", reason.name())
            .detail("queued", queued)
            .detail("idle", seconds(idle))
            .detail("alternatives", alternatives),
        EventKind::FlowMoved {
            ingress,
            from,
            to,
            priority,
            destination,
            flow_hash,
        } => about("flow_moved", from, priority)
            .detail("ingress", info.port_name(ingress))
            .detail("to", info.port_name(to))
            .detail("destination", destination)
            .detail("flow_hash", format_args!("{flow_hash:08x}")),
        EventKind::Rerouted {
            selection,
            egress,
            priority,
            moved,
            stuck,
        } => about("rerouted", egress, priority)
            .detail("selection", selection.name())
            .detail("ingress", info.port_name(selection.ingress()))
            .detail("moved", moved)
            .detail("stuck", stuck),
        EventKind::SuspicionEnded {
            egress,
            priority,
            lasted,
        } => about("suspicion_ended", egress, priority).detail("lasted", seconds(lasted)),
        EventKind::ClcmReceived {
            ingress, message, ..
        } => clcm(
            about("clcm_received", ingress, message.priority()),
            &message,
        ),
        EventKind::ReleaseStarted {
            ingress,
            egress,
            priority,
        } => about("release_started", egress, priority).detail("ingress", info.port_name(ingress)),
        EventKind::ReleaseEnded {
            ingress,
            egress,
            priority,
            released,
        } => about("release_ended", egress, priority)
            .detail("ingress", info.port_name(ingress))
            .detail("released", released),
        EventKind::TrafficReleaseEnded {
            ingress,
            egress,
            priority,
            released,
        } => about("traffic_release_ended", egress, priority)
            .detail("ingress", info.port_name(ingress))
            .detail("released", released),
        EventKind::HeadroomExceeded { ingress, priority } => {
            about("headroom_exceeded", ingress, priority)
        }
        EventKind::PauseStalled {
            egress,
            priority,
            idle,
            queued,
        } => about("pause_stalled", egress, priority)
            .detail("idle", seconds(idle))
            .detail("queued", queued),
        EventKind::PauseStallEnded { egress, priority } => {
            about("pause_stall_ended", egress, priority)
        }
        EventKind::StormDetected {
            egress,
            priority,
            action,
        } => about("storm_detected", egress, priority).detail("action", action.name()),
        EventKind::StormRestored {
            egress,
            priority,
            lasted,
            dropped,
            forwarded,
        } => about("storm_restored", egress, priority)
            .detail("lasted", seconds(lasted))
            .detail("dropped", dropped)
            .detail("forwarded", forwarded),
        EventKind::LifetimeStalled { egress, priority } => {
            about("lifetime_stalled", egress, priority)
        }
        EventKind::RouteTooLong {
            ingress,
            priority,
            destination,
        } => about("route_too_long", ingress, priority).detail("destination", destination),
        EventKind::RoundTripExceeded { port, measured } => Draft {
            port: Some(info.port_name(port)),
            ..Draft::new(event.at, "round_trip_exceeded")
        }
        .detail("measured", seconds(measured)),
    }
}

/// Why the dataplane refused a command, with the names of ports.
pub fn refusal(info: &SwitchInfo, error: &CommandError) -> String {
    match error {
        CommandError::NotAMember { destination, port } => format!(
            "port {} is no member of the group of {destination}",
            info.port_name(*port)
        ),
        _ => error.to_string(),
    }
}

/// What the control plane did. Where a loop is named, the event's port is the loop's egress.
pub fn report(info: &SwitchInfo, report: &Report) -> Draft {
    let about = |port: PortId| Draft {
        port: Some(info.port_name(port)),
        priority: Some(report.priority.get()),
        ..Draft::new(report.at, report.kind.name())
    };
    let ingress = || info.port_name(report.port);
    match report.kind {
        ReportKind::SpuidAssigned { spuid } | ReportKind::ClcmSent { spuid } => {
            about(report.port).detail("spuid", spuid)
        }
        ReportKind::ClcmForwarded { egress, hops } => about(egress)
            .detail("ingress", ingress())
            .detail("hops", hops),
        ReportKind::ClcmIgnored { reason } => about(report.port).detail("reason", reason.name()),
        ReportKind::NoStorm { reason } => about(report.port).detail("reason", reason.name()),
        ReportKind::LoopFound { egress, length } => about(egress)
            .detail("ingress", ingress())
            .detail("switches", length),
        ReportKind::MasterElected { egress, length } => about(egress)
            .detail("ingress", ingress())
            .detail("switches", length),
        ReportKind::ReleaseOrdered { egress, preference } => about(egress)
            .detail("ingress", ingress())
            .detail("preference", seconds(preference)),
        ReportKind::TrafficReleaseOrdered { egress, amount } => about(egress)
            .detail("ingress", ingress())
            .detail("amount", amount),
        ReportKind::NoAlternative { ingress } => {
            about(report.port).detail("ingress", info.port_name(ingress))
        }
        ReportKind::Unanswered { lasted } => about(report.port).detail("lasted", seconds(lasted)),
    }
}

/// What LLDP found out.
pub fn neighbour(info: &SwitchInfo, report: &NeighbourReport) -> Draft {
    let draft = Draft {
        port: Some(info.port_name(report.port)),
        ..Draft::new(report.at, report.kind.name())
    };
    match &report.kind {
        NeighbourReportKind::Found {
            chassis,
            identifier,
            system_name,
        } => {
            let draft = draft
                .detail("chassis", chassis)
                .detail("neighbour_port", identifier);
            match system_name {
                Some(name) => draft.detail("system", name),
                None => draft,
            }
        }
        NeighbourReportKind::Lost {
            chassis,
            identifier,
            reason,
        } => draft
            .detail("chassis", chassis)
            .detail("neighbour_port", identifier)
            .detail("reason", reason.name()),
        NeighbourReportKind::NeighbourIs(neighbour) => {
            draft.detail("neighbour", neighbour_name(*neighbour))
        }
        NeighbourReportKind::PfcMismatch(mismatch) => draft.detail("mismatch", mismatch),
        NeighbourReportKind::LevelMismatch(mismatch) => draft.detail("mismatch", mismatch),
        NeighbourReportKind::PfcMismatchEnded | NeighbourReportKind::LevelMismatchEnded => draft,
    }
}

fn clcm(draft: Draft, message: &Clcm) -> Draft {
    let phase = match message.phase() {
        Phase::Election => "election".to_owned(),
        Phase::Detection => "detection".to_owned(),
        Phase::Release { current } => format!("release of hop {current}"),
    };
    draft
        .detail("phase", phase)
        .detail("origin", message.origin())
        .detail("hops", message.hops().len())
}

fn seconds(span: weir_core::Duration) -> String {
    format!("{:.6} s", span.as_secs_f64())
}
