//! `switchctl restart`.

use std::time::{Duration, Instant};

use anyhow::{bail, Result};
use serde::Serialize;
use weir_api::client::Method;
use weir_api::daemon::{Restart, Restarting, Status};

use crate::target::Target;
use weir_output::Output;

/// The old daemon answers by then.
const READY_LIMIT: Duration = Duration::from_secs(70);
/// Between two looks whether the new daemon forwards.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);
/// After this long without one it is told that this takes time.
const PATIENCE: Duration = Duration::from_secs(2);

/// What a restart came to.
#[derive(Debug, Serialize)]
struct Report {
    pid_before: u32,
    pid: u32,
    version: String,
    #[serde(flatten)]
    restart: Restart,
}

/// False when frames were lost that the switch had taken. Those that came while there was none are told: a restart holds
/// lossless classes back, and of lossy ones it promises nothing.
pub fn restart(target: &Target, output: &Output, timeout: Duration) -> Result<bool> {
    // The next switch is made ready before the answer comes.
    let Restarting { pid: before } =
        target.send_within(Method::POST, "/v1/restart", None::<&()>, READY_LIMIT)?;
    let began = Instant::now();
    let mut is_told = false;
    let status = loop {
        // Nobody answers for a moment, or the one that ends.
        let status: Option<Status> = target.get("/v1/status").ok();
        let is_new = |status: &Status| status.pid != before && status.restart.is_some();
        if let Some(status) = status.filter(is_new) {
            break status;
        }
        if began.elapsed() >= timeout {
            bail!(
                "the new daemon does not forward after {} s; see its log (`journalctl -u 'weir-switchd*'`)",
                timeout.as_secs_f64()
            );
        }
        if began.elapsed() >= PATIENCE && !is_told {
            eprintln!("waiting for the new daemon; the old one is sending its buffered frames");
            is_told = true;
        }
        std::thread::sleep(LOOK_INTERVAL);
    };
    let restart = status.restart.unwrap_or(Restart {
        held_seconds: 0.0,
        lost_frames: 0,
        missed_frames: 0,
    });
    let report = Report {
        pid_before: before,
        pid: status.pid,
        version: status.version,
        restart,
    };
    output.print(&report, text)?;
    Ok(report.restart.lost_frames == 0)
}

fn text(report: &Report) -> String {
    let Restart {
        held_seconds,
        lost_frames,
        missed_frames,
    } = report.restart;
    let count = |frames: u64| match frames {
        1 => "1 frame".to_owned(),
        frames => format!("{frames} frames"),
    };
    let held = match lost_frames {
        0 => None,
        frames => Some(format!("{} that a device had not yet sent", count(frames))),
    };
    let missed = match missed_frames {
        0 => None,
        frames => Some(format!(
            "{} that arrived while no switch was running",
            count(frames)
        )),
    };
    let lost = match (held, missed) {
        (None, None) => "no frames lost".to_owned(),
        (Some(lost), None) | (None, Some(lost)) => format!("lost: {lost}"),
        (Some(held), Some(missed)) => format!("lost: {held}, and {missed}"),
    };
    format!(
        "restarted: pid {} -> {}, version {}\nneighbours were paused for {:.0} ms; {lost}\n",
        report.pid_before,
        report.pid,
        report.version,
        held_seconds * 1e3,
    )
}
