//! `switchctl events`.

use std::time::Duration;

use anyhow::Result;
use weir_api::daemon::{Event, EventPage};

use crate::target::Target;
use weir_output::Output;

/// Time for which the daemon may hold a request open, plus time for its answer.
const WAIT_SECONDS: u64 = 30;
const ANSWER_LIMIT: Duration = Duration::from_secs(WAIT_SECONDS + 10);

/// Prints events after `after`; with `follow`, continues as they happen.
///
/// With JSON, prints one object per line when following, else the whole page.
pub fn events(target: &Target, output: &Output, after: u64, follow: bool) -> Result<()> {
    let mut page: EventPage = target.get(&format!("/v1/events?after={after}"))?;
    if !follow && output.is_json() {
        return output.print(&page, |_| String::new());
    }
    loop {
        if page.missed > 0 {
            eprintln!(
                "switchctl: {} older events are no longer available",
                page.missed
            );
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
    let mut out = format!("{:>6}  {}  {:<18}", event.sequence, event.time, event.kind);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_what_the_event_has() {
        let mut event = Event {
            sequence: 7,
            monotonic_nanos: 1,
            time: "2026-01-02T03:04:05.678Z".into(),
            kind: "started".into(),
            port: None,
            priority: None,
            details: Default::default(),
        };
        assert_eq!(line(&event), "     7  2026-01-02T03:04:05.678Z  started");
        event.kind = "suspected".into();
        event.port = Some("s2".into());
        event.priority = Some(3);
        event.details.insert("queued".into(), "61440 B".into());
        assert_eq!(
            line(&event),
            "     7  2026-01-02T03:04:05.678Z  suspected          port s2 priority 3  queued=61440 B"
        );
    }
}
