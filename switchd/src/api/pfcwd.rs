//! The PFC storm watchdog, as the API shows and changes it.

use weir_api::pfcwd::{Pfcwd, PfcwdChange, PfcwdPort, PfcwdQueue, PfcwdSettings};
use weir_api::words::Watched;
use weir_config::daemon::PfcwdConfig;
use weir_core::{Command, Duration, PortId, WatchdogConfig};
use weir_dataplane::messages::Snapshot;

use crate::control::info::SwitchInfo;
use crate::control::Shared;

/// Snapshots to poll before giving up on a change.
const LOOKS: usize = 50;

/// Reason for which a change was refused.
#[derive(Debug, thiserror::Error)]
pub enum PfcwdError {
    /// The request is not legal.
    #[error("{0}")]
    Illegal(String),
    /// The dataplane did not answer.
    #[error("the dataplane did not apply the change in time; check GET /v1/pfcwd")]
    NotTaken,
}

/// `GET /v1/pfcwd`.
pub fn pfcwd(info: &SwitchInfo, snapshot: &Snapshot) -> Pfcwd {
    let states = info.numbered_ports().zip(&snapshot.ports);
    let mut all = Pfcwd::default();
    for ((_, port), state) in states {
        all.ports.push(PfcwdPort {
            port: port.name.clone(),
            watchdog: state.watchdog.as_ref().map(to_api),
        });
        for priority in info.lossless() {
            let gauges = &state.gauges[priority.index()];
            let counters = &state.counters.priority[priority.index()];
            let status = match gauges.storm {
                Some(_) => Watched::Stormed,
                None => Watched::Operational,
            };
            all.queues.push(PfcwdQueue {
                port: port.name.clone(),
                priority: priority.get(),
                status: status.into(),
                action: gauges.storm.map(Into::into),
                storms_detected_total: counters.storms_detected,
                storms_restored_total: counters.storms_restored,
                forwarded_frames_total: counters.storm_forwarded,
                dropped_frames_total: counters.storm_dropped,
                received_frames_total: gauges.storm_frames.received,
                last_forwarded_frames: gauges.storm_frames.last_forwarded,
                last_dropped_frames: gauges.storm_frames.last_dropped,
                last_received_frames: gauges.storm_frames.last_received,
            });
        }
    }
    all
}

/// `PUT /v1/pfcwd`; answers once the dataplane has applied the change.
///
/// # Errors
///
/// When a value is illegal, or the dataplane does not answer.
pub async fn change(shared: &Shared, change: &PfcwdChange) -> Result<Pfcwd, PfcwdError> {
    let watchdog = change.watchdog.as_ref().map(from_api).transpose()?;
    let ports = ports(&shared.info, &change.ports)?;
    for port in &ports {
        let port = *port;
        shared
            .dataplane
            .command(Command::SetWatchdog { port, watchdog })
            .await;
    }
    for _ in 0..LOOKS {
        let snapshot = shared.dataplane.fresh_snapshot().await;
        let has = |port: &PortId| {
            let state = snapshot.ports.get(port.index());
            state.is_some_and(|state| state.watchdog == watchdog)
        };
        if ports.iter().all(has) {
            return Ok(pfcwd(&shared.info, &snapshot));
        }
    }
    Err(PfcwdError::NotTaken)
}

fn ports(info: &SwitchInfo, names: &[String]) -> Result<Vec<PortId>, PfcwdError> {
    if names.is_empty() {
        return Ok(info.numbered_ports().map(|(id, _)| id).collect());
    }
    let find = |name: &String| info.find_port(name);
    let found: Result<_, _> = names.iter().map(find).collect();
    found.map_err(|missing| PfcwdError::Illegal(missing.to_string()))
}

fn to_api(watchdog: &WatchdogConfig) -> PfcwdSettings {
    PfcwdSettings {
        action: watchdog.action.into(),
        detection_milliseconds: millis(watchdog.detection),
        restoration_milliseconds: millis(watchdog.restoration),
    }
}

fn from_api(settings: &PfcwdSettings) -> Result<WatchdogConfig, PfcwdError> {
    let action = settings.action.known().ok_or_else(|| {
        let word = &settings.action;
        PfcwdError::Illegal(format!(
            "unknown action `{word}`; write drop, forward or alert"
        ))
    })?;
    let time = |what: &str, value: u64, (least, most): (Duration, Duration)| {
        let (least, most) = (millis(least), millis(most));
        if (least..=most).contains(&value) {
            return Ok(Duration::from_millis(value));
        }
        Err(PfcwdError::Illegal(format!(
            "{what} must be {least} to {most}, not {value}"
        )))
    };
    Ok(WatchdogConfig {
        action,
        detection: time(
            "detection_milliseconds",
            settings.detection_milliseconds,
            PfcwdConfig::DETECTION,
        )?,
        restoration: time(
            "restoration_milliseconds",
            settings.restoration_milliseconds,
            PfcwdConfig::RESTORATION,
        )?,
    })
}

fn millis(span: Duration) -> u64 {
    span.as_nanos() / 1_000_000
}
