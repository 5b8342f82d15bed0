//! `switchctl restart`.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{bail, Result};
use serde::Serialize;
use weir_api::client::Method;
use weir_api::daemon::{Restart, Restarting, Status};

use crate::target::Target;
use weir_output::Output;

/// Time limit of the request; the old daemon answers within it.
const READY_LIMIT: Duration = Duration::from_secs(70);
const LOOK_INTERVAL: Duration = Duration::from_millis(50);
/// Time for a new daemon to notice that the keeper has ended, and to take over.
const ORPHAN_WAIT: Duration = Duration::from_secs(6);
/// Time for the new daemon to learn the restart's duration after it forwards.
const REPORT_WAIT: Duration = Duration::from_secs(3);
/// Time without an answer after which a message asks for patience.
const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Debug, Serialize)]
struct Report {
    pid_before: u32,
    pid: u32,
    version: String,
    #[serde(flatten)]
    restart: Restart,
}

#[derive(Debug, Serialize)]
struct Checked {
    pid: u32,
    can_restart: bool,
}

/// Has the keeper test whether the next daemon could start.
pub fn check(target: &Target, output: &Output) -> Result<()> {
    let path = "/v1/restart?check=true";
    let Restarting { pid, .. } =
        target.send_within(Method::POST, path, None::<&()>, READY_LIMIT)?;
    let checked = Checked {
        pid,
        can_restart: true,
    };
    let text = |_: &Checked| "the next daemon can start; nothing was changed\n".to_owned();
    output.print(&checked, text)
}

/// A process of this PID namespace, watched for its end.
struct Keeper(Option<PathBuf>);

impl Keeper {
    /// Ignores a process that is not visible at first, as from outside a container.
    fn new(pid: Option<u32>) -> Self {
        let keeper = Self(pid.map(|pid| PathBuf::from(format!("/proc/{pid}/stat"))));
        match keeper.has_ended() {
            true => Self(None),
            false => keeper,
        }
    }

    fn has_ended(&self) -> bool {
        let Some(place) = &self.0 else {
            return false;
        };
        // `PID (NAME) STATE`: the parent may be late to reap it.
        let text = std::fs::read_to_string(place).unwrap_or_default();
        let state = text.rsplit_once(") ").map(|(_, behind)| behind);
        state.is_none_or(|state| state.starts_with(['Z', 'X']))
    }
}

/// Returns false if the switch lost frames that it had taken. Frames that arrived while no switch ran are only reported: a
/// restart pauses lossless classes and guarantees nothing for lossy ones.
pub fn restart(target: &Target, output: &Output, timeout: Duration) -> Result<bool> {
    let Status { pid: before, .. } = target.get("/v1/status")?;
    // The next switch is prepared before the answer arrives.
    let path = "/v1/restart";
    let asked = target.send_within(Method::POST, path, None::<&()>, READY_LIMIT);
    let keeper_pid = match asked {
        Ok(Restarting { keeper_pid, .. }) => keeper_pid,
        // If the old daemon still answers, it has refused. Otherwise a new one may follow soon.
        Err(refused) => match target.get::<Status>("/v1/status") {
            Ok(status) if status.pid == before => return Err(refused.into()),
            _ => None,
        },
    };
    let keeper = Keeper::new(keeper_pid);
    let began = Instant::now();
    let mut is_told = false;
    let [mut keeper_ended, mut another_since] = [None; 2];
    let status = loop {
        // Briefly, no daemon answers, or the ending one does.
        if keeper.has_ended() {
            keeper_ended.get_or_insert_with(Instant::now);
        }
        let status: Option<Status> = target.get("/v1/status").ok();
        let another = status.filter(|status| status.pid != before);
        match another {
            Some(status) if status.restart.is_some() => break status,
            // Only the keeper knows how long neighbours were paused.
            Some(status) => {
                let since = another_since.get_or_insert_with(Instant::now);
                if since.elapsed() >= REPORT_WAIT {
                    bail!(
                        "the keeper has ended during the restart: the new daemon, process {}, forwards and cannot be restarted again in place; stop it and start it with a keeper",
                        status.pid
                    );
                }
            }
            None if keeper_ended.is_some_and(|since| since.elapsed() >= ORPHAN_WAIT) => bail!(
                "the keeper has ended during the restart, and no daemon answers; see its log (`journalctl -u 'weir-switchd*'`), and start the service"
            ),
            _ => {}
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
        failed: None,
    });
    let report = Report {
        pid_before: before,
        pid: status.pid,
        version: status.version,
        restart,
    };
    output.print(&report, text)?;
    Ok(report.restart.lost_frames == 0 && report.restart.failed.is_none())
}

fn text(report: &Report) -> String {
    let Restart {
        held_seconds,
        lost_frames,
        missed_frames,
        ref failed,
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
    let (before, pid, version) = (report.pid_before, report.pid, &report.version);
    let outcome = match failed {
        None => format!("restarted: pid {before} -> {pid}, version {version}"),
        Some(why) => format!(
            "the restart failed: {why}\nthe previous program runs again, with the previous configuration: pid {before} -> {pid}, version {version}"
        ),
    };
    format!(
        "{outcome}\nneighbours were paused for {:.0} ms; {lost}\n",
        held_seconds * 1e3,
    )
}
