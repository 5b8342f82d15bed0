//! `GET /v1/levels`.

use weir_api::daemon::{LevelDestination, LevelLink, Levels};
use weir_core::switch::{LevelEntry, PriorityGauges};
use weir_core::{Bytes, ClassMode, Duration, Priority};
use weir_dataplane::messages::Snapshot;

use crate::control::info::{PortInfo, SwitchInfo};

/// Returns the state of protocol P in a snapshot; empty when no class has Levels.
pub fn levels(info: &SwitchInfo, snapshot: &Snapshot) -> Levels {
    let mut links = Vec::new();
    for (port, state) in info.ports.iter().zip(&snapshot.ports) {
        let gauges = Priority::ALL.iter().zip(&state.gauges);
        links.extend(gauges.filter_map(|(priority, gauges)| link(info, port, *priority, gauges)));
    }
    let table = &snapshot.level_table;
    Levels {
        links,
        destinations: table
            .entries
            .iter()
            .map(|entry| destination(info, entry))
            .collect(),
        left_out: table.left_out(),
    }
}

fn link(
    info: &SwitchInfo,
    port: &PortInfo,
    priority: Priority,
    gauges: &PriorityGauges,
) -> Option<LevelLink> {
    let levels = gauges.levels.as_ref()?;
    let class = info.class(priority);
    let ClassMode::Level { budgets, .. } = class.mode.get() else {
        return None;
    };
    let depth = budgets.depth();
    let numbers = |list: &[Bytes]| list.iter().map(|bytes| bytes.get()).collect();
    Some(LevelLink {
        port: port.name.clone(),
        priority: priority.get(),
        class: class.name.clone(),
        depth: depth.get(),
        b_bytes: numbers(budgets.as_slice()),
        m_bytes: numbers(&levels.m[..depth.index()]),
        reserve_bytes: levels.reserve.get(),
        round_trip_nanos: levels.round_trip.as_nanos(),
        round_trip_measured_nanos: levels.round_trip_measured.map(Duration::as_nanos),
        feedback_sent: levels.feedback_sent.get(),
        feedback_received: levels.feedback_received.get(),
        paused: gauges.paused,
        eligible_frames: levels.eligible_frames,
        eligible_bytes: levels.eligible.get(),
        held_frames: levels.held_frames,
        held_bytes: levels.held.get(),
    })
}

fn destination(info: &SwitchInfo, entry: &LevelEntry) -> LevelDestination {
    LevelDestination {
        priority: entry.priority.get(),
        class: info.class(entry.priority).name.clone(),
        destination: entry.destination.to_string(),
        level: entry.level.get(),
        buffered_bytes: entry.buffered.get(),
    }
}
