//! `GET /v1/mirrors`.

use std::sync::Arc;

use axum::extract::State;
use axum::Json;
use weir_api::counters::MirrorCounters;
use weir_api::daemon::MirrorState;
use weir_config::daemon::Mirror;
use weir_core::PortSet;

use super::vlans::ranges;
use crate::control::info::SwitchInfo;
use crate::control::Shared;

pub(in crate::api) async fn list(State(shared): State<Arc<Shared>>) -> Json<Vec<MirrorState>> {
    let snapshot = shared.dataplane.fresh_snapshot().await;
    let mirrors = shared.info.mirrors.get();
    let counted = mirrors.iter().zip(&snapshot.mirrors);
    Json(
        counted
            .map(|(mirror, counters)| state(&shared.info, mirror, counters))
            .collect(),
    )
}

fn state(info: &SwitchInfo, mirror: &Mirror, counters: &MirrorCounters) -> MirrorState {
    let names = |ports: PortSet| ports.iter().map(|port| info.port_name(port)).collect();
    MirrorState {
        name: mirror.name.clone(),
        output_port: info.port_name(mirror.output),
        priority: mirror.priority.get(),
        select_all: mirror.all,
        select_src_port: names(mirror.sources),
        select_dst_port: names(mirror.destinations),
        select_vlan: mirror.vlans.as_ref().map_or_else(Vec::new, ranges),
        snaplen: mirror.snaplen,
        sent_frames_total: counters.sent,
        lost_frames_total: counters.lost,
    }
}
