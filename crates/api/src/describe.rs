//! Converts messages of dataplane and control plane to events of the API: kind, port, priority and details. The
//! daemon's event log and the simulator's events are made only by these functions, so that they look the
//! same.

use std::collections::BTreeMap;

use weir_core::control::neighbours::{NeighbourReport, NeighbourReportKind};
use weir_core::control::{Report, ReportKind};
use weir_core::event::EventKind;
use weir_core::wire::clcm::{Clcm, Phase};
use weir_core::{Duration, Event, Instant, PortId, Priority, VlanId};

use crate::words::EventName;

/// Returns the name of a port.
pub type PortName<'a> = &'a dyn Fn(PortId) -> String;

/// An event before a log numbers it.
#[derive(Clone, Debug, PartialEq)]
pub struct Described {
    /// Time.
    pub at: Instant,
    /// Its kind.
    pub kind: EventName,
    /// The port concerned, if any.
    pub port: Option<String>,
    /// The priority concerned, if any.
    pub priority: Option<u8>,
    /// Further fields, as text with units.
    pub details: BTreeMap<String, String>,
}

impl Described {
    /// An event that concerns the whole switch.
    pub fn new(at: Instant, kind: EventName) -> Self {
        Self {
            at,
            kind,
            port: None,
            priority: None,
            details: BTreeMap::new(),
        }
    }

    /// Adds a field.
    #[must_use]
    pub fn detail(mut self, name: &str, value: impl ToString) -> Self {
        self.details.insert(name.to_owned(), value.to_string());
        self
    }

    fn in_vlan(self, vlan: Option<VlanId>) -> Self {
        match vlan {
            Some(vlan) => self.detail("vlan", vlan),
            None => self,
        }
    }
}

/// An event of the dataplane.
pub fn event(port_name: PortName<'_>, event: &Event) -> Described {
    let about = |kind, port: PortId, priority: Priority| Described {
        port: Some(port_name(port)),
        priority: Some(priority.get()),
        ..Described::new(event.at, kind)
    };
    let at_port = |kind, port: PortId| Described {
        port: Some(port_name(port)),
        ..Described::new(event.at, kind)
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
        } => about(EventName::Suspected, egress, priority)
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
        } => about(EventName::FlowMoved, from, priority)
            .detail("ingress", port_name(ingress))
            .detail("to", port_name(to))
            .detail("destination", destination)
            .detail("flow_hash", format_args!("{flow_hash:08x}")),
        EventKind::Rerouted {
            selection,
            egress,
            priority,
            moved,
            stuck,
        } => about(EventName::Rerouted, egress, priority)
            .detail("selection", selection.name())
            .detail("ingress", port_name(selection.ingress()))
            .detail("moved", moved)
            .detail("stuck", stuck),
        EventKind::SuspicionEnded {
            egress,
            priority,
            lasted,
        } => about(EventName::SuspicionEnded, egress, priority).detail("lasted", seconds(lasted)),
        EventKind::ClcmReceived {
            ingress, message, ..
        } => clcm(
            about(EventName::ClcmReceived, ingress, message.priority()),
            &message,
        ),
        EventKind::ReleaseStarted {
            ingress,
            egress,
            priority,
        } => {
            about(EventName::ReleaseStarted, egress, priority).detail("ingress", port_name(ingress))
        }
        EventKind::ReleaseEnded {
            ingress,
            egress,
            priority,
            released,
        } => about(EventName::ReleaseEnded, egress, priority)
            .detail("ingress", port_name(ingress))
            .detail("released", released),
        EventKind::TrafficReleaseEnded {
            ingress,
            egress,
            priority,
            released,
        } => about(EventName::TrafficReleaseEnded, egress, priority)
            .detail("ingress", port_name(ingress))
            .detail("released", released),
        EventKind::HeadroomExceeded { ingress, priority } => {
            about(EventName::HeadroomExceeded, ingress, priority)
        }
        EventKind::PauseStalled {
            egress,
            priority,
            idle,
            queued,
        } => about(EventName::PauseStalled, egress, priority)
            .detail("idle", seconds(idle))
            .detail("queued", queued),
        EventKind::PauseStallEnded { egress, priority } => {
            about(EventName::PauseStallEnded, egress, priority)
        }
        EventKind::StormDetected {
            egress,
            priority,
            action,
        } => about(EventName::StormDetected, egress, priority).detail("action", action.name()),
        EventKind::StormRestored {
            egress,
            priority,
            lasted,
            dropped,
            forwarded,
        } => about(EventName::StormRestored, egress, priority)
            .detail("lasted", seconds(lasted))
            .detail("dropped", dropped)
            .detail("forwarded", forwarded),
        EventKind::LifetimeStalled { egress, priority } => {
            about(EventName::LifetimeStalled, egress, priority)
        }
        EventKind::RouteTooLong {
            ingress,
            priority,
            destination,
        } => about(EventName::RouteTooLong, ingress, priority).detail("destination", destination),
        EventKind::ForwardingLoop { port, other, vlan } => at_port(EventName::ForwardingLoop, port)
            .detail("other", port_name(other))
            .in_vlan(vlan),
        EventKind::ForwardingLoopEnded { port, vlan } => {
            at_port(EventName::ForwardingLoopEnded, port).in_vlan(vlan)
        }
        EventKind::LoopBehind { port, vlan } => at_port(EventName::LoopBehind, port).in_vlan(vlan),
        EventKind::AddressMoves {
            address,
            vlan,
            port,
            other,
        } => at_port(EventName::AddressMoves, port)
            .detail("other", port_name(other))
            .detail("address", address)
            .in_vlan(vlan),
        EventKind::LearningTableFull {
            port,
            learned,
            capacity,
        } => at_port(EventName::LearningTableFull, port)
            .detail("learned", learned)
            .detail("capacity", capacity),
        EventKind::TransmitterStalled { port } => at_port(EventName::TransmitterStalled, port),
        EventKind::TransmitterResumed { port } => at_port(EventName::TransmitterResumed, port),
        EventKind::DataplaneStalled { lasted } => {
            Described::new(event.at, EventName::DataplaneStalled).detail("lasted", seconds(lasted))
        }
        EventKind::WaysChanged => Described::new(event.at, EventName::WaysChanged),
        EventKind::RoundTripExceeded { port, measured } => {
            at_port(EventName::RoundTripExceeded, port).detail("measured", seconds(measured))
        }
        EventKind::CableExceeded {
            port,
            measured,
            round_trip_max,
        } => at_port(EventName::CableExceeded, port)
            .detail("measured", seconds(measured))
            .detail("enough_for", seconds(round_trip_max)),
        EventKind::CableFits { port, measured } => {
            at_port(EventName::CableFits, port).detail("measured", seconds(measured))
        }
    }
}

/// A report of the control plane. If it concerns a loop, the event's port is the loop's egress.
pub fn report(port_name: PortName<'_>, report: &Report) -> Described {
    let about = |kind, port: PortId| Described {
        port: Some(port_name(port)),
        priority: Some(report.priority.get()),
        ..Described::new(report.at, kind)
    };
    let ingress = || port_name(report.port);
    match report.kind {
        ReportKind::SpuidAssigned { spuid } => {
            about(EventName::SpuidAssigned, report.port).detail("spuid", spuid)
        }
        ReportKind::ClcmSent { spuid } => {
            about(EventName::ClcmSent, report.port).detail("spuid", spuid)
        }
        ReportKind::ClcmForwarded { egress, hops } => about(EventName::ClcmForwarded, egress)
            .detail("ingress", ingress())
            .detail("hops", hops),
        ReportKind::ClcmIgnored { reason } => {
            about(EventName::ClcmIgnored, report.port).detail("reason", reason.name())
        }
        ReportKind::NoStorm { reason } => {
            about(EventName::NoStorm, report.port).detail("reason", reason.name())
        }
        ReportKind::LoopFound { egress, length } => about(EventName::LoopFound, egress)
            .detail("ingress", ingress())
            .detail("switches", length),
        ReportKind::MasterElected { egress, length } => about(EventName::MasterElected, egress)
            .detail("ingress", ingress())
            .detail("switches", length),
        ReportKind::ReleaseOrdered { egress, preference } => {
            about(EventName::ReleaseOrdered, egress)
                .detail("ingress", ingress())
                .detail("preference", seconds(preference))
        }
        ReportKind::TrafficReleaseOrdered { egress, amount } => {
            about(EventName::TrafficReleaseOrdered, egress)
                .detail("ingress", ingress())
                .detail("amount", amount)
        }
        ReportKind::NoAlternative { ingress } => {
            about(EventName::NoAlternative, report.port).detail("ingress", port_name(ingress))
        }
        ReportKind::Unanswered { lasted } => {
            about(EventName::Unanswered, report.port).detail("lasted", seconds(lasted))
        }
    }
}

/// A report of the LLDP agent.
pub fn neighbour(port_name: PortName<'_>, report: &NeighbourReport) -> Described {
    let about = |kind| Described {
        port: Some(port_name(report.port)),
        ..Described::new(report.at, kind)
    };
    match &report.kind {
        NeighbourReportKind::Found {
            chassis,
            identifier,
            system_name,
        } => {
            let draft = about(EventName::NeighbourFound)
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
        } => about(EventName::NeighbourLost)
            .detail("chassis", chassis)
            .detail("neighbour_port", identifier)
            .detail("reason", reason.name()),
        NeighbourReportKind::NeighbourIs(neighbour) => {
            about(EventName::NeighbourKind).detail("neighbour", neighbour.name())
        }
        NeighbourReportKind::PfcMismatch(mismatch) => {
            about(EventName::PfcMismatch).detail("mismatch", mismatch)
        }
        NeighbourReportKind::PfcMismatchEnded => about(EventName::PfcMismatchEnded),
        NeighbourReportKind::LevelMismatch(mismatch) => {
            about(EventName::LevelMismatch).detail("mismatch", mismatch)
        }
        NeighbourReportKind::LevelMismatchEnded => about(EventName::LevelMismatchEnded),
        NeighbourReportKind::CreditMismatch(mismatch) => {
            about(EventName::CreditMismatch).detail("mismatch", mismatch)
        }
        NeighbourReportKind::CreditMismatchEnded => about(EventName::CreditMismatchEnded),
    }
}

fn clcm(draft: Described, message: &Clcm) -> Described {
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

fn seconds(span: Duration) -> String {
    format!("{:.6} s", span.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_core::event::SuspicionReason;
    use weir_core::{Bytes, PortSet};

    fn name(port: PortId) -> String {
        ["left", "right"][port.index()].to_owned()
    }

    fn details(described: &Described) -> Vec<(&str, &str)> {
        described
            .details
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect()
    }

    #[test]
    fn an_event_is_about_its_egress() {
        let happened = Event {
            at: Instant::from_nanos(7),
            kind: EventKind::Suspected {
                egress: PortId::new(1),
                priority: Priority::new(3).unwrap(),
                reason: SuspicionReason::Paused,
                queued: Bytes::new(3_000),
                idle: Duration::from_millis(100),
                alternatives: false,
                alternatives_from: PortSet::default(),
            },
        };
        let described = event(&name, &happened);
        assert_eq!(
            (described.at, described.kind, described.priority),
            (Instant::from_nanos(7), EventName::Suspected, Some(3))
        );
        assert_eq!(described.port.as_deref(), Some("right"));
        assert_eq!(
            details(&described),
            [
                ("alternatives", "false"),
                ("idle", "0.100000 s"),
                ("queued", &Bytes::new(3_000).to_string()),
                ("reason", "paused"),
            ]
        );
    }

    #[test]
    fn a_report_on_a_loop_is_about_its_egress_and_names_its_ingress() {
        let done = Report {
            at: Instant::from_nanos(9),
            port: PortId::new(0),
            priority: Priority::new(5).unwrap(),
            kind: ReportKind::MasterElected {
                egress: PortId::new(1),
                length: 4,
            },
        };
        let described = report(&name, &done);
        assert_eq!(described.kind, EventName::MasterElected);
        assert_eq!(described.port.as_deref(), Some("right"));
        assert_eq!(described.priority, Some(5));
        assert_eq!(
            details(&described),
            [("ingress", "left"), ("switches", "4")]
        );
    }

    #[test]
    fn a_round_trip_concerns_a_port_and_no_priority() {
        let happened = Event {
            at: Instant::ZERO,
            kind: EventKind::RoundTripExceeded {
                port: PortId::new(0),
                measured: Duration::from_micros(40),
            },
        };
        let described = event(&name, &happened);
        assert_eq!(
            (described.port.as_deref(), described.priority),
            (Some("left"), None)
        );
        assert_eq!(details(&described), [("measured", "0.000040 s")]);
    }
}
