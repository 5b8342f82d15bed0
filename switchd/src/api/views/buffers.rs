//! `/v1/buffers`.

use weir_api::daemon::{Buffers, Cable, Pool, PooledBuffer};
use weir_core::config::PoolShare;
use weir_core::switch::{CableGauges, PriorityGauges};
use weir_core::{Bytes, Duration, Priority, Threshold};
use weir_dataplane::messages::Snapshot;

use crate::control::info::{PortInfo, SwitchInfo};

/// `GET /v1/buffers`.
pub fn buffers(info: &SwitchInfo, snapshot: &Snapshot) -> Buffers {
    let pool = |(name, gauges): (&String, &weir_core::switch::PoolGauges)| Pool {
        name: name.clone(),
        size_bytes: gauges.size.get(),
        used_bytes: gauges.used.get(),
        used_bytes_max: gauges.used_max.get(),
        headroom_bytes: gauges.headroom.get(),
        headroom_used_bytes: gauges.headroom_used.get(),
        headroom_used_bytes_max: gauges.headroom_used_max.get(),
        paused_buffers: gauges.paused as u64,
    };
    let mut buffers = Vec::new();
    for (port, state) in info.ports.iter().zip(&snapshot.ports) {
        for priority in Priority::ALL {
            let own = state.pool_thresholds[priority.index()];
            let share = snapshot.shares[priority.index()];
            let share = share.map(|share| share.with_own_threshold(own));
            let gauges = &state.gauges[priority.index()];
            buffers
                .extend(share.and_then(|share| {
                    buffer(info, snapshot, &port.name, priority, &share, gauges)
                }));
        }
    }
    Buffers {
        pools: info.pools.iter().zip(&snapshot.pools).map(pool).collect(),
        buffers,
    }
}

fn buffer(
    info: &SwitchInfo,
    snapshot: &Snapshot,
    port: &str,
    priority: Priority,
    share: &PoolShare,
    gauges: &PriorityGauges,
) -> Option<PooledBuffer> {
    let index = usize::from(share.pool);
    Some(PooledBuffer {
        port: port.to_owned(),
        priority: priority.get(),
        pool: info.pools.get(index)?.clone(),
        reserved_bytes: share.reserved.get(),
        alpha: match share.threshold {
            Threshold::Dynamic(alpha) => Some(alpha.to_string()),
            Threshold::Static(_) => None,
        },
        threshold_bytes: threshold(snapshot, share).get(),
        used_bytes: gauges.ingress.get(),
        headroom_used_bytes: gauges.headroom_used.get(),
        pausing: gauges.pausing,
    })
}

/// Returns the part of its pool that a buffer with this share may use as of `snapshot`.
pub fn threshold(snapshot: &Snapshot, share: &PoolShare) -> Bytes {
    let pool = snapshot.pools.get(usize::from(share.pool));
    let free = pool.map_or(Bytes::ZERO, |pool| pool.size.saturating_sub(pool.used));
    share.threshold.at(free)
}

pub(super) fn cable(info: &PortInfo, measured: Option<CableGauges>) -> Option<Cable> {
    let cable = info.cable?;
    let measured = measured.unwrap_or_default();
    Some(Cable {
        length: cable.line.cable.to_string(),
        reaction_nanos: cable.line.reaction.as_nanos(),
        headroom_bytes: cable.room.headroom.get(),
        round_trip_max_nanos: cable.room.round_trip_max.as_nanos(),
        round_trip_nanos: measured.round_trip.map(Duration::as_nanos),
        headroom_needed_bytes: measured
            .round_trip
            .map(|round_trip| cable.needed_for(round_trip).get()),
        exceeded: measured.exceeded,
    })
}
