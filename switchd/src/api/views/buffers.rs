//! `/v1/buffers`.

use weir_api::daemon::{Buffers, Pool, PooledBuffer};
use weir_core::config::PoolShare;
use weir_core::switch::PriorityGauges;
use weir_core::{Bytes, Priority, Threshold};

use crate::control::info::SwitchInfo;
use crate::dataplane::messages::Snapshot;

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
            let share = snapshot.shares[priority.index()];
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

/// What a buffer with this share may take of its pool as it is in `snapshot`.
pub fn threshold(snapshot: &Snapshot, share: &PoolShare) -> Bytes {
    let pool = snapshot.pools.get(usize::from(share.pool));
    let free = pool.map_or(Bytes::ZERO, |pool| pool.size.saturating_sub(pool.used));
    share.threshold.at(free)
}
