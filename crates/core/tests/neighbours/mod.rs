//! The LLDP agent: sending, neighbours, and conclusions.

mod credits;
mod judging;
mod neighbour_changes;
mod neighbours_agree;
mod neighbours_mismatched;
mod sending;

use proptest::prelude::*;
use weir_core::control::neighbours::{
    AnnouncedPort, LevelMismatch, Lost, NeighbourReportKind, Neighbours, NeighboursConfig,
    ENTRIES_MAX,
};
use weir_core::control::{StormNeighbour, QUEUE_CAPACITY};
use weir_core::wire::lldp::basic::{ChassisId, PortIdentifier, Text, TimeToLive};
use weir_core::wire::lldp::dcbx::{PfcConfiguration, PfcMismatch, PrioritySet};
use weir_core::wire::lldp::weir::{AnnouncedMode, Depth, Weir, WeirV1};
use weir_core::wire::lldp::{Announcement, Content, Lldp, FRAME_LENGTH_MAX};
use weir_core::{
    Command, Duration, FeedbackCoding, Instant, Level, MacAddress, Neighbour, PortId, Priority,
};

const P0: PortId = PortId::new(0);
const P1: PortId = PortId::new(1);
/// Further ports: a host's, one configured regular, one configured enhanced.
const EDGE: PortId = PortId::new(2);
const REGULAR: PortId = PortId::new(3);
const ENHANCED: PortId = PortId::new(4);
const LEVEL: Priority = Priority::ALL[3];
const PFC: Priority = Priority::ALL[4];
const INTERVAL: Duration = Duration::from_secs(30);

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(1_000_000 + millis)
}

fn seconds(count: u64) -> Instant {
    at(1_000 * count)
}

fn level(depth: u8) -> AnnouncedMode {
    AnnouncedMode::Level(Level::new(depth).and_then(Depth::new).unwrap())
}

/// It hears its neighbour.
fn modes(of_level: AnnouncedMode) -> WeirV1 {
    let mut weir = WeirV1 {
        hears: true,
        ..WeirV1::default()
    };
    weir.modes[LEVEL.index()] = of_level;
    weir.modes[PFC.index()] = AnnouncedMode::Pfc;
    weir
}

fn both() -> PfcConfiguration {
    PfcConfiguration::fixed(PrioritySet::EMPTY.with(LEVEL).with(PFC))
}

/// Announcement of a switch that does not hear its neighbour.
fn deaf(of_level: AnnouncedMode) -> Announcement {
    let weir = WeirV1 {
        hears: false,
        ..modes(of_level)
    };
    Announcement {
        weir: Some(Weir::V1(weir)),
        ..announcement(of_level)
    }
}

/// Announcement of another vendor's switch without Levels.
fn plain() -> Announcement {
    Announcement {
        weir: None,
        ..announcement(level(3))
    }
}

/// A switch with one class of D = 3 and one with plain PFC.
fn announcement(of_level: AnnouncedMode) -> Announcement {
    Announcement {
        system_name: Some(Text::truncated("s2")),
        pfc: Some(both()),
        weir: Some(Weir::V1(modes(of_level))),
        ..Announcement::new(TimeToLive::STANDARD)
    }
}

fn agent() -> Neighbours {
    let port = |number: u8, of_level, configured, is_fabric| AnnouncedPort {
        identifier: PortIdentifier::interface_name(&format!("p{number}")).unwrap(),
        announcement: announcement(of_level),
        configured,
        is_fabric,
    };
    let config = NeighboursConfig {
        chassis: ChassisId::mac(MacAddress([2, 0, 0, 0, 0, 1])),
        interval: INTERVAL,
        ports: vec![
            port(0, level(3), Neighbour::Unknown, true),
            port(1, level(3), Neighbour::Unknown, true),
            port(2, AnnouncedMode::Pfc, Neighbour::Unknown, false),
            port(3, AnnouncedMode::Pfc, Neighbour::Regular, true),
            port(4, level(3), Neighbour::Enhanced, true),
        ],
    };
    Neighbours::new(config, seconds(0))
}

fn frame(system: u8, content: Content) -> Vec<u8> {
    let lldp = Lldp {
        chassis: ChassisId::mac(MacAddress([2, 0, 0, 0, 9, system])),
        port: PortIdentifier::interface_name("up").unwrap(),
        content,
    };
    let mut buffer = [0; FRAME_LENGTH_MAX];
    let source = MacAddress([2, 0, 0, 0, 9, 9]);
    let length = lldp.emit(source, &mut buffer).unwrap();
    buffer[..length].to_vec()
}

fn announce(announcement: Announcement) -> Vec<u8> {
    frame(1, Content::Announcement(announcement))
}

fn sent(agent: &mut Neighbours, now: Instant, port: PortId) -> Option<Lldp> {
    std::iter::from_fn(|| agent.poll_transmit(now))
        .filter(|(from, _)| *from == port)
        .map(|(_, lldp)| lldp)
        .last()
}

fn commands(agent: &mut Neighbours) -> Vec<(PortId, Neighbour)> {
    std::iter::from_fn(|| agent.poll_command())
        .map(|command| match command {
            Command::SetNeighbour { port, neighbour } => (port, neighbour),
            other => panic!("{other:?}"),
        })
        .collect()
}

fn reports(agent: &mut Neighbours) -> Vec<&'static str> {
    std::iter::from_fn(|| agent.poll_report())
        .map(|report| name(&report.kind))
        .collect()
}

fn name(kind: &NeighbourReportKind) -> &'static str {
    match kind {
        NeighbourReportKind::Found { .. } => "neighbour_found",
        NeighbourReportKind::Lost { .. } => "neighbour_lost",
        NeighbourReportKind::NeighbourIs(_) => "neighbour_kind",
        NeighbourReportKind::PfcMismatch(_) => "pfc_mismatch",
        NeighbourReportKind::PfcMismatchEnded => "pfc_mismatch_ended",
        NeighbourReportKind::LevelMismatch(_) => "level_mismatch",
        NeighbourReportKind::LevelMismatchEnded => "level_mismatch_ended",
        NeighbourReportKind::CreditMismatch(_) => "credit_mismatch",
        NeighbourReportKind::CreditMismatchEnded => "credit_mismatch_ended",
    }
}
