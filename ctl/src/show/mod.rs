//! Tables of the daemon's answers.

mod audit;
mod buffers;
mod credits;
mod drops;
mod events;
mod exports;
mod flight;
mod flows;
mod levels;
mod mirrors;
mod neighbors;
mod pauses;
mod pfcwd;
mod trace;
mod views;
mod vlans;
mod watermarks;

use anyhow::Result;
use weir_api::counters::Counters;
use weir_api::daemon::{Deadlocks, Exports, Levels, MirrorState, Pfc, Port, Queue, Status};

use crate::target::{Target, TargetError};
use weir_output::Output;

pub use audit::{audit, Unbalanced};
pub use buffers::buffers;
pub use credits::credits;
pub use drops::drops;
pub use events::events;
pub use flight::{flight, flight_text};
pub use flows::flows;
pub use neighbors::neighbors;
pub use pauses::pfc_counters;
pub use pfcwd::{pfcwd, pfcwd_change};
pub use trace::{trace, FrameArgument};
pub use views::{cable, express, link_state, loop_blocked, verdict};
pub use vlans::{learnt, vlans};
pub use watermarks::watermark;

/// `switchctl status`; returns the status.
pub fn status(target: &Target, output: &Output) -> Result<Status> {
    let status: Status = target.get("/v1/status")?;
    output.print(&status, views::status)?;
    Ok(status)
}

/// `switchctl ports`.
pub fn ports(target: &Target, output: &Output, names: &[String]) -> Result<()> {
    let mut ports: Vec<Port> = target.get("/v1/ports")?;
    keep(&mut ports, names, "that name", |port| &port.name)?;
    output.print(&ports, |ports| views::ports(ports))
}

/// `switchctl queues`.
pub fn queues(target: &Target, output: &Output, all: bool) -> Result<()> {
    let mut queues: Vec<Queue> = target.get("/v1/queues")?;
    if !all {
        // Peaks can restart, so they are not evidence of use.
        queues.retain(|queue| {
            let had = [queue.rx_frames_total, queue.tx_frames_total];
            had.iter().any(|frames| *frames > 0)
                || queue.ingress_bytes_max > 0
                || queue.egress_bytes_max > 0
        });
    }
    output.print(&queues, |queues| views::queues(queues))
}

/// `switchctl pfc`.
pub fn pfc(target: &Target, output: &Output) -> Result<()> {
    output.print(&target.get::<Vec<Pfc>>("/v1/pfc")?, |pfc| views::pfc(pfc))
}

/// `switchctl counters`.
pub fn counters(target: &Target, output: &Output, all: bool) -> Result<()> {
    let mut counters: Vec<Counters> = target.get("/v1/counters")?;
    if !all {
        for place in &mut counters {
            place.counters.retain(|_, count| *count > 0);
        }
        counters.retain(|place| !place.counters.is_empty());
    }
    output.print(&counters, |counters| views::counters(counters))
}

/// `switchctl levels`.
pub fn levels(target: &Target, output: &Output) -> Result<()> {
    output.print(&target.get::<Levels>("/v1/levels")?, levels::levels)
}

/// `switchctl mirrors`.
pub fn mirrors(target: &Target, output: &Output) -> Result<()> {
    let all: Vec<MirrorState> = target.get("/v1/mirrors")?;
    output.print(&all, |all| mirrors::mirrors(all))
}

/// `switchctl exports`.
pub fn exports(target: &Target, output: &Output) -> Result<()> {
    output.print(&target.get::<Exports>("/v1/exports")?, exports::exports)
}

/// `switchctl deadlock`.
pub fn deadlock(target: &Target, output: &Output) -> Result<()> {
    output.print(&target.get::<Deadlocks>("/v1/deadlocks")?, views::deadlocks)
}

/// Description of the selected ports in messages.
const LOSSLESS: &str = "a lossless class";

/// Keeps the entries of the named ports, or all without names. Reports a port that has no `such`.
fn keep<T>(
    all: &mut Vec<T>,
    names: &[String],
    such: &str,
    port_of: impl Fn(&T) -> &String,
) -> Result<(), TargetError> {
    if names.is_empty() {
        return Ok(());
    }
    if let Some(name) = names
        .iter()
        .find(|name| !all.iter().any(|entry| port_of(entry) == *name))
    {
        let what = format!("no port `{name}` has {such}");
        return Err(TargetError::BadAnswer { what });
    }
    all.retain(|entry| names.contains(port_of(entry)));
    Ok(())
}
