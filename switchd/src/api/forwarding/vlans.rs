//! `GET /v1/vlans`.

use std::sync::Arc;

use axum::extract::State;
use axum::Json;
use weir_api::daemon::{LearntAddress, PortVlans, VlanTraffic, Vlans};
use weir_core::switch::{LearntEntry, VlanTraffic as Traffic};
use weir_core::{Instant, PortId, VlanId, VlanPort, VlanSet};
use weir_dataplane::messages::Snapshot;
use weir_dataplane::tables::Tables;

use crate::api::ApiError;
use crate::control::info::SwitchInfo;
use crate::control::Shared;

pub(in crate::api) async fn show(
    State(shared): State<Arc<Shared>>,
) -> Result<Json<Vlans>, ApiError> {
    let wanted = Tables {
        vlans: true,
        ..Tables::NONE
    };
    let snapshot = shared.dataplane.inspect(wanted).await;
    let snapshot = snapshot.ok_or_else(ApiError::silence)?;
    Ok(Json(vlans(&shared.info, &snapshot)))
}

/// Returns the VLANs in a snapshot.
pub fn vlans(info: &SwitchInfo, snapshot: &Snapshot) -> Vlans {
    let tables = &snapshot.vlans;
    let settings: Vec<(String, &VlanPort)> = (0..)
        .map_while(PortId::from_index)
        .map(|port| info.port_name(port))
        .zip(&tables.ports)
        .collect();
    let mut rows: Vec<&Traffic> = tables.traffic.iter().collect();
    rows.sort_by_key(|row| (row.vlan.is_none(), row.vlan));
    Vlans {
        vlan_aware: !tables.ports.is_empty(),
        ports: settings
            .iter()
            .map(|(name, settings)| PortVlans {
                port: name.clone(),
                mode: settings.mode().name().to_owned(),
                untagged: settings.untagged_in().get(),
                carries: ranges(settings.carried()),
            })
            .collect(),
        vlans: rows.iter().map(|row| traffic(row, &settings)).collect(),
        learnt: addresses(info, snapshot),
        learnt_left_out: tables.learnt_left_out,
    }
}

fn traffic(row: &Traffic, settings: &[(String, &VlanPort)]) -> VlanTraffic {
    let carriers = |vlan: VlanId, is_tagged: bool| -> Vec<String> {
        let all = settings.iter().filter(|(_, settings)| {
            settings.carries(vlan) && settings.leaves_tagged(vlan) == is_tagged
        });
        all.map(|(name, _)| name.clone()).collect()
    };
    let ports = |is_tagged| {
        row.vlan
            .map_or(Vec::new(), |vlan| carriers(vlan, is_tagged))
    };
    VlanTraffic {
        vlan: row.vlan.map(VlanId::get),
        tagged: ports(true),
        untagged: ports(false),
        rx_frames_total: row.counters.rx_frames,
        rx_bytes_total: row.counters.rx_bytes,
        tx_frames_total: row.counters.tx_frames,
        tx_bytes_total: row.counters.tx_bytes,
        copies_dropped_total: row.counters.copies_dropped,
    }
}

pub(super) fn addresses(info: &SwitchInfo, snapshot: &Snapshot) -> Vec<LearntAddress> {
    let mut learnt: Vec<&LearntEntry> = snapshot.vlans.learnt.iter().collect();
    learnt.sort_by_key(|entry| (entry.vlan, entry.destination));
    let shown = learnt.iter().map(|entry| address(info, snapshot.at, entry));
    shown.collect()
}

fn address(info: &SwitchInfo, now: Instant, entry: &LearntEntry) -> LearntAddress {
    LearntAddress {
        vlan: entry.vlan.get(),
        address: entry.destination.to_string(),
        port: info.port_name(entry.port),
        idle_seconds: now.saturating_since(entry.seen_at).as_secs_f64(),
    }
}

/// Numbers, and ranges such as `20-29`.
pub fn ranges(vlans: &VlanSet) -> Vec<String> {
    let ranges = vlans.ranges().into_iter();
    ranges
        .map(|(first, last)| match first == last {
            true => first.to_string(),
            false => format!("{first}-{last}"),
        })
        .collect()
}
