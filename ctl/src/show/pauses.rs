//! `switchctl pfc counters`.

use anyhow::Result;
use weir_api::daemon::{PauseCounters, Pauses};
use weir_core::units::PRIORITY_COUNT;
use weir_output::{seconds, table, Output, NONE};

use super::views::yes;
use super::{keep, LOSSLESS};
use crate::target::Target;

pub fn pfc_counters(
    target: &Target,
    output: &Output,
    ports: &[String],
    history: bool,
) -> Result<()> {
    let mut all: Vec<PauseCounters> = target.get("/v1/pfc/counters")?;
    keep(&mut all, ports, LOSSLESS, |counters| &counters.port)?;
    output.print(&all, |all| match history {
        true => spans(all),
        false => frames(all),
    })
}

/// Formats SONiC's two tables: a row for each port, a column for each priority.
fn frames(all: &[PauseCounters]) -> String {
    let direction = |heading: &str, of: fn(&PauseCounters) -> &Pauses| {
        let priorities = (0..PRIORITY_COUNT).map(|priority| format!(">PFC{priority}"));
        let headings: Vec<String> = std::iter::once(heading.to_owned())
            .chain(priorities)
            .collect();
        let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
        let mut rows: Vec<Vec<String>> = Vec::new();
        for counters in all {
            if rows.last().is_none_or(|row| row[0] != counters.port) {
                let mut row = vec![counters.port.clone()];
                row.resize(1 + PRIORITY_COUNT, "0".to_owned());
                rows.push(row);
            }
            let cell = rows
                .last_mut()
                .and_then(|row| row.get_mut(1 + usize::from(counters.priority)));
            if let Some(cell) = cell {
                let pauses = of(counters);
                *cell = (pauses.xoff_frames_total + pauses.xon_frames_total).to_string();
            }
        }
        table(&headings, rows)
    };
    if all.is_empty() {
        return NO_CLASS.to_owned();
    }
    let received = direction("port rx", |counters| &counters.received);
    let sent = direction("port tx", |counters| &counters.sent);
    format!("{received}\n{sent}")
}

const NO_CLASS: &str = "no class is lossless\n";

fn spans(all: &[PauseCounters]) -> String {
    if all.is_empty() {
        return NO_CLASS.to_owned();
    }
    let directions = |counters: &PauseCounters| {
        let row = |direction: &str, pauses: &Pauses| {
            let time = |at: &Option<String>| at.clone().unwrap_or_else(|| NONE.to_owned());
            (pauses.xoff_frames_total > 0 || pauses.transitions_total > 0).then(|| {
                vec![
                    counters.port.clone(),
                    counters.priority.to_string(),
                    direction.to_owned(),
                    pauses.xoff_frames_total.to_string(),
                    pauses.xon_frames_total.to_string(),
                    pauses.transitions_total.to_string(),
                    yes(pauses.paused),
                    seconds(pauses.paused_seconds_total),
                    seconds(pauses.longest_seconds),
                    time(&pauses.last_began),
                    time(&pauses.last_ended),
                ]
            })
        };
        [row("rx", &counters.received), row("tx", &counters.sent)]
    };
    let rows: Vec<Vec<String>> = all.iter().flat_map(directions).flatten().collect();
    if rows.is_empty() {
        return "no pause has been sent or received\n".to_owned();
    }
    table(
        &[
            "port",
            ">priority",
            "direction",
            ">XOFF",
            ">XON",
            ">pauses",
            "paused",
            ">for",
            ">longest",
            "last began",
            "last ended",
        ],
        rows,
    )
}
