//! `GET /v1/flows`.

use weir_api::daemon::{Flow, Flows};
use weir_core::switch::FlowRecord;
use weir_core::Instant;
use weir_dataplane::messages::Snapshot;

use crate::control::info::SwitchInfo;

/// Returns the recent flows in a snapshot.
pub fn flows(info: &SwitchInfo, snapshot: &Snapshot) -> Flows {
    let table = &snapshot.flows;
    Flows {
        flows: table
            .rows
            .iter()
            .map(|record| flow(info, snapshot.at, record))
            .collect(),
        left_out: table.total.saturating_sub(table.rows.len()) as u64,
        evictions_total: table.evictions,
    }
}

fn flow(info: &SwitchInfo, now: Instant, record: &FlowRecord) -> Flow {
    let age = now.saturating_since(record.first_seen);
    Flow {
        ingress: info.port_name(record.ingress),
        egress: info.port_name(record.egress),
        priority: record.priority.get(),
        destination: record.destination.to_string(),
        flow_hash: format!("{:08x}", record.flow_hash),
        bytes: record.bytes.get(),
        frames: record.frames,
        age_seconds: age.as_secs_f64(),
        idle_seconds: now.saturating_since(record.last_seen).as_secs_f64(),
        bits_per_second: if age.is_zero() {
            0.0
        } else {
            record.bytes.get() as f64 * 8.0 / age.as_secs_f64()
        },
    }
}
