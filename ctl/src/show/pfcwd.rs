//! `switchctl pfcwd`: SONiC's `pfcwd` for a Weir switch.

use anyhow::Result;
use weir_api::client::Method;
use weir_api::pfcwd::{Pfcwd, PfcwdChange, PfcwdPort, PfcwdQueue, PfcwdSettings};
use weir_core::StormAction;

use super::{keep, LOSSLESS};
use crate::cli::{PfcwdCommand, PfcwdShow, StatsArguments};
use crate::target::Target;
use weir_output::{table, Output, NONE};

const PATH: &str = "/v1/pfcwd";
/// Value of SONiC's `start_default`, in milliseconds.
const DEFAULT_MILLISECONDS: u64 = 200;
/// Stands for every port, as in SONiC.
const ALL: &str = "all";

pub fn pfcwd(target: &Target, output: &Output, command: &PfcwdCommand) -> Result<()> {
    match command {
        PfcwdCommand::Show(PfcwdShow::Config { ports }) => {
            let mut pfcwd: Pfcwd = target.get(PATH)?;
            keep(&mut pfcwd.ports, ports, LOSSLESS, |port| &port.port)?;
            output.print(&pfcwd.ports, |ports| config(ports))
        }
        PfcwdCommand::Show(PfcwdShow::Stats(StatsArguments { ports, empty }))
        | PfcwdCommand::Stats(StatsArguments { ports, empty }) => {
            let mut pfcwd: Pfcwd = target.get(PATH)?;
            keep(&mut pfcwd.queues, ports, LOSSLESS, |queue| &queue.port)?;
            if !empty {
                pfcwd.queues.retain(|queue| queue.storms_detected_total > 0);
            }
            output.print(&pfcwd.queues, |queues| stats(queues))
        }
        PfcwdCommand::Start { .. } | PfcwdCommand::StartDefault | PfcwdCommand::Stop { .. } => {
            let pfcwd: Pfcwd = target.send(Method::PUT, PATH, pfcwd_change(command).as_ref())?;
            output.print(&pfcwd.ports, |ports| config(ports))
        }
    }
}

/// Returns the change that the command requests, if any.
pub fn pfcwd_change(command: &PfcwdCommand) -> Option<PfcwdChange> {
    let (ports, watchdog) = match command {
        PfcwdCommand::Show(_) | PfcwdCommand::Stats(_) => return None,
        PfcwdCommand::Start {
            action,
            restoration_time,
            ports,
            detection_time,
        } => {
            let settings = PfcwdSettings {
                action: StormAction::from(*action).into(),
                detection_milliseconds: *detection_time,
                // SONiC's own default is twice the detection time.
                restoration_milliseconds: restoration_time.unwrap_or(2 * detection_time),
            };
            (ports.as_slice(), Some(settings))
        }
        PfcwdCommand::StartDefault => {
            let settings = PfcwdSettings {
                action: StormAction::Drop.into(),
                detection_milliseconds: DEFAULT_MILLISECONDS,
                restoration_milliseconds: DEFAULT_MILLISECONDS,
            };
            (&[][..], Some(settings))
        }
        PfcwdCommand::Stop { ports } => (ports.as_slice(), None),
    };
    let all = ports.iter().any(|port| port == ALL);
    Some(PfcwdChange {
        ports: if all { Vec::new() } else { ports.to_vec() },
        watchdog,
    })
}

fn config(ports: &[PfcwdPort]) -> String {
    table(
        &["port", "action", ">detection time", ">restoration time"],
        ports.iter().map(|port| match &port.watchdog {
            Some(watchdog) => vec![
                port.port.clone(),
                watchdog.action.to_string(),
                format!("{} ms", watchdog.detection_milliseconds),
                format!("{} ms", watchdog.restoration_milliseconds),
            ],
            None => vec![
                port.port.clone(),
                "off".to_owned(),
                NONE.to_owned(),
                NONE.to_owned(),
            ],
        }),
    )
}

fn stats(queues: &[PfcwdQueue]) -> String {
    if queues.is_empty() {
        return "no queue has had a storm (--empty shows all)\n".to_owned();
    }
    table(
        &[
            "queue",
            "status",
            ">storm detected/restored",
            ">tx ok/drop",
            ">rx ok",
            ">tx last ok/drop",
            ">rx last ok",
        ],
        queues.iter().map(|queue| {
            vec![
                format!("{}:{}", queue.port, queue.priority),
                match &queue.action {
                    Some(action) => format!("{} ({action})", queue.status),
                    None => queue.status.to_string(),
                },
                format!(
                    "{}/{}",
                    queue.storms_detected_total, queue.storms_restored_total
                ),
                format!(
                    "{}/{}",
                    queue.forwarded_frames_total, queue.dropped_frames_total
                ),
                queue.received_frames_total.to_string(),
                format!(
                    "{}/{}",
                    queue.last_forwarded_frames, queue.last_dropped_frames
                ),
                queue.last_received_frames.to_string(),
            ]
        }),
    )
}
