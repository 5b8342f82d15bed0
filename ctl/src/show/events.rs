//! `switchctl events`.

use std::time::Duration;

use anyhow::Result;
use weir_api::daemon::{Event, EventPage};

use crate::output::Output;
use crate::target::Target;

/// How long the daemon may hold a request open, and how much longer its answer may take.
const WAIT_SECONDS: u64 = 30;
const ANSWER_LIMIT: Duration = Duration::from_secs(WAIT_SECONDS + 10);

/// Prints events after `after`; with `follow`, goes on as they happen.
///
/// With JSON, one object a line when following, else one array.
pub fn events(target: &Target, output: &Output, after: u64, follow: bool) -> Result<()> {
    let mut page: EventPage = target.get(&format!("/v1/events?after={after}"))?;
    if !follow && output.is_json() {
        return output.print(&page.events, |_| String::new());
    }
    loop {
        if page.missed > 0 && !output.is_json() {
            output.line(&format!("({} older events are gone)", page.missed))?;
        }
        for event in &page.events {
            if output.is_json() {
                output.line(&serde_json::to_string(event)?)?;
            } else {
                output.line(&line(event))?;
            }
        }
        if !follow {
            return Ok(());
        }
        page = target.get_within(
            &format!("/v1/events?after={}&wait_seconds={WAIT_SECONDS}", page.next),
            ANSWER_LIMIT,
        )?;
    }
}

fn line(event: &Event) -> String {
    let mut out = format!("{}  {:<18}", event.time, event.kind);
    if let Some(port) = &event.port {
        out += &format!(" port {port}");
    }
    if let Some(priority) = event.priority {
        out += &format!(" priority {priority}");
    }
    let details: Vec<String> = event
        .details
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    if !details.is_empty() {
        out += &format!("  {}", details.join(", "));
    }
    out.trim_end().to_owned()
}
