//! LLDP findings, as the API shows them.

use weir_api::neighbors::{
    Neighbor, NeighborApplication, NeighborCreditClass, NeighborCredits, NeighborEts, NeighborPfc,
    NeighborWeir,
};
use weir_api::words::{Capability, Selector, SystemCapability};
use weir_core::control::neighbours::{Entry, Neighbours};
use weir_core::wire::lldp::application::{Application, ApplicationEntry};
use weir_core::wire::lldp::basic::{SystemCapabilities, Text};
use weir_core::wire::lldp::credits::{Credits, CreditsV1};
use weir_core::wire::lldp::dcbx::{EtsConfiguration, PfcConfiguration, TrafficClass};
use weir_core::wire::lldp::weir::{AnnouncedMode, Weir};
use weir_core::{Instant, ModeKind, PortId, Priority};

use crate::control::info::PortInfo;
use crate::control::Shared;
use crate::model::clock;

/// `GET /v1/neighbors`.
pub fn neighbors(shared: &Shared) -> Vec<Neighbor> {
    let neighbours = shared.links.neighbours();
    let now = clock::now();
    shared
        .info
        .numbered_ports()
        .flat_map(|(id, info)| {
            neighbours
                .entries(id)
                .iter()
                .map(|entry| neighbor(&neighbours, now, id, info, entry))
                .collect::<Vec<_>>()
        })
        .collect()
}

fn neighbor(
    neighbours: &Neighbours,
    now: Instant,
    id: PortId,
    info: &PortInfo,
    entry: &Entry,
) -> Neighbor {
    let said = &entry.announcement;
    let findings = neighbours.findings(id);
    let pfc = findings.pfc.map(|mismatch| mismatch.to_string());
    let level = findings.level.map(|mismatch| mismatch.to_string());
    let credits = findings.credits.map(|mismatch| mismatch.to_string());
    let text = |text: &Option<Text>| text.as_ref().map(Text::to_string);
    Neighbor {
        port: info.name.clone(),
        chassis_id: entry.chassis.to_string(),
        chassis_id_subtype: entry.chassis.subtype(),
        port_id: entry.port.to_string(),
        port_id_subtype: entry.port.subtype(),
        port_description: text(&said.port_description),
        system_name: text(&said.system_name),
        system_description: text(&said.system_description),
        capabilities: said.capabilities.map_or_else(Vec::new, capabilities),
        known_seconds: now.saturating_since(entry.heard_at).as_secs_f64(),
        ttl_seconds: said.ttl.seconds(),
        ttl_left_seconds: entry.expires_at.saturating_since(now).as_secs_f64(),
        kind: neighbours.neighbour(id).into(),
        pfc: said.pfc.as_ref().map(pfc_of),
        ets: said.ets.as_ref().map(ets_of),
        applications: said.applications.map_or_else(Vec::new, |table| {
            table.entries().iter().map(application).collect()
        }),
        weir: said.weir.as_ref().map(weir_of),
        credits: said.credits.as_ref().map(credits_of),
        mismatches: pfc.into_iter().chain(level).chain(credits).collect(),
    }
}

fn capabilities(capabilities: SystemCapabilities) -> Vec<SystemCapability> {
    Capability::ALL
        .into_iter()
        .filter(|bit| capabilities.enabled() & (1 << *bit as u16) != 0)
        .map(Into::into)
        .collect()
}

fn pfc_of(pfc: &PfcConfiguration) -> NeighborPfc {
    NeighborPfc {
        willing: pfc.willing,
        priorities: pfc.enabled.iter().map(|priority| priority.get()).collect(),
    }
}

fn ets_of(ets: &EtsConfiguration) -> NeighborEts {
    NeighborEts {
        willing: ets.willing,
        traffic_classes: ets.assignment.map(TrafficClass::get).to_vec(),
        bandwidth_percent: ets.bandwidth.percent().to_vec(),
    }
}

fn application(entry: &ApplicationEntry) -> NeighborApplication {
    let (selector, id) = match entry.application {
        Application::EtherType(id) => (Selector::EtherType, id),
        Application::StreamPort(id) => (Selector::StreamPort, id),
        Application::DatagramPort(id) => (Selector::DatagramPort, id),
        Application::Port(id) => (Selector::Port, id),
        Application::Dscp(id) => (Selector::Dscp, id),
    };
    NeighborApplication {
        selector: selector.into(),
        id,
        priority: entry.priority.get(),
    }
}

fn weir_of(weir: &Weir) -> NeighborWeir {
    match weir {
        Weir::V1(weir) => NeighborWeir {
            version: 1,
            clcm: weir.clcm,
            hears: weir.hears,
            feedback: weir.coding.map(Into::into),
            modes: weir.modes.map(|mode| kind(mode).into()).to_vec(),
            depths: weir.modes.map(depth).to_vec(),
        },
        Weir::Unknown(version) => NeighborWeir {
            version: version.get(),
            clcm: false,
            hears: false,
            feedback: None,
            modes: Vec::new(),
            depths: Vec::new(),
        },
    }
}

fn credits_of(credits: &Credits) -> NeighborCredits {
    match credits {
        Credits::V1(credits) => NeighborCredits {
            version: 1,
            gives: credits.gives,
            longest_frame_bytes: Some(credits.longest_bytes),
            classes: credit_classes(credits),
        },
        Credits::Unknown(version) => NeighborCredits {
            version: version.get(),
            gives: false,
            longest_frame_bytes: None,
            classes: Vec::new(),
        },
    }
}

fn credit_classes(credits: &CreditsV1) -> Vec<NeighborCreditClass> {
    let classes = Priority::ALL.into_iter().zip(&credits.classes);
    let classes = classes.filter_map(|(priority, class)| Some((priority, class.as_ref()?)));
    classes
        .map(|(priority, class)| NeighborCreditClass {
            priority: priority.get(),
            limit: class.terms.limit(),
            size_bytes: class.terms.size(),
            overhead_bytes: class.terms.overhead(),
            fallback: class.fallback.into(),
        })
        .collect()
}

fn kind(mode: AnnouncedMode) -> ModeKind {
    match mode {
        AnnouncedMode::Lossy => ModeKind::Lossy,
        AnnouncedMode::Pfc => ModeKind::Pfc,
        AnnouncedMode::Level(_) => ModeKind::Level,
    }
}

fn depth(mode: AnnouncedMode) -> u8 {
    match mode {
        AnnouncedMode::Level(depth) => depth.get(),
        AnnouncedMode::Lossy | AnnouncedMode::Pfc => 0,
    }
}
