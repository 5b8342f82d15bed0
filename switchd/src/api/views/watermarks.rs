//! `/v1/watermarks`.

use weir_api::daemon::{
    PoolWatermarks, QueueWatermarks, ReaderWatermarks, WatermarkClear, Watermarks,
};
use weir_api::words::Reader;
use weir_core::PortId;
use weir_dataplane::messages::Snapshot;

use super::shown_priorities;
use crate::control::info::{NoSuchPort, SwitchInfo};
use crate::control::shared::watermarks::Shown;
use crate::control::Shared;
use crate::model::clock;

/// Reason for which peaks were not cleared.
#[derive(Debug, thiserror::Error)]
pub enum ClearError {
    /// There is no reader of this name.
    #[error("no reader `{0}`; write user or persistent")]
    NoSuchReader(String),
    /// The peaks of this reader clear themselves.
    #[error("the peaks for telemetry begin again at every interval, and cannot be cleared; write user or persistent, or change [watermark] interval")]
    ByItself,
    /// There is no such port.
    #[error(transparent)]
    NoSuchPort(#[from] NoSuchPort),
    /// The dataplane does not answer.
    #[error("the dataplane does not answer; nothing is cleared")]
    Silence,
}

/// `GET /v1/watermarks`: each port's priorities that are configured or were ever used.
pub fn watermarks(shared: &Shared, snapshot: &Snapshot) -> Watermarks {
    let kept = shared.records.watermarks().clone();
    Watermarks {
        telemetry_interval_seconds: kept.interval().as_secs_f64(),
        umem_frames: snapshot.umem_frames,
        readers: kept
            .shown()
            .map(|shown| reader(&shared.info, snapshot, &shown))
            .collect(),
    }
}

/// `POST /v1/watermarks/clear`: forgets earlier values of the dataplane.
///
/// # Errors
///
/// The reason for which nothing was cleared.
pub async fn clear(shared: &Shared, clear: &WatermarkClear) -> Result<Watermarks, ClearError> {
    let reader = match clear.reader.known() {
        None => return Err(ClearError::NoSuchReader(clear.reader.to_string())),
        Some(Reader::Telemetry) => return Err(ClearError::ByItself),
        Some(reader) => reader,
    };
    let find = |name: &String| shared.info.find_port(name);
    let ports: Vec<PortId> = clear.ports.iter().map(find).collect::<Result<_, _>>()?;
    let taken = shared.dataplane.inspect(Default::default()).await;
    let snapshot = taken.ok_or(ClearError::Silence)?;
    shared.records.watermarks().clear(reader, &ports);
    Ok(watermarks(shared, &snapshot))
}

fn reader(info: &SwitchInfo, snapshot: &Snapshot, shown: &Shown<'_>) -> ReaderWatermarks {
    let mut queues = Vec::new();
    let ports = info.numbered_ports().zip(&snapshot.ports);
    for ((id, port), state) in ports {
        let Some(peaks) = shown.window.port(id) else {
            continue;
        };
        let since = clock::wall_time(peaks.since);
        for priority in shown_priorities(info, state) {
            let of = &peaks.priorities[priority.index()];
            let thresholds = info.pfc_thresholds(port, priority);
            queues.push(QueueWatermarks {
                port: port.name.clone(),
                priority: priority.get(),
                since: since.clone(),
                ingress_bytes_max: of.ingress.get(),
                headroom_used_bytes_max: thresholds.map(|_| of.headroom_used.get()),
                egress_bytes_max: of.egress.get(),
            });
        }
    }
    ReaderWatermarks {
        reader: shown.reader.into(),
        since: clock::wall_time(shown.window.since),
        until: shown.until.map(clock::wall_time),
        held_frames_max: shown.window.held_frames,
        pools: info
            .pools
            .iter()
            .zip(&shown.window.pools)
            .map(|(name, peaks)| PoolWatermarks {
                pool: name.clone(),
                used_bytes_max: peaks.used.get(),
                headroom_used_bytes_max: peaks.headroom_used.get(),
            })
            .collect(),
        queues,
    }
}
