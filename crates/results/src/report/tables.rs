//! Tables of the page, and the time line of deadlocks.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use weir_api::run::{RunEvent, RunResult};
use weir_api::words::EventName;
use weir_svg::escaped;

use weir_svg::quantity::{amount, rate, setting, time};

/// Maximum number of rows of a table. A note has the number of omitted ones, which are in the JSON.
const ROWS_MAX: usize = 1_000;
/// Maximum number of lanes of the time line.
const LANES_MAX: usize = 60;
const WIDTH: f64 = 960.0;
const NAMES: f64 = 150.0;
const LANE: f64 = 20.0;

/// Formats a table with sortable columns: the first flush left, numbers flush right. Cells are a text and, if that is
/// not a number, a sort key.
fn table(title: &str, headings: &[&str], rows: Vec<Vec<(String, Option<f64>)>>) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let mut out = format!(
        "<section id=\"{}\"><h2>{title}</h2>\n<div class=\"wide\" tabindex=\"0\" role=\"group\" aria-label=\"{title}\"><table><caption class=\"unseen\">{title}</caption><thead><tr>",
        anchor(title)
    );
    for (column, heading) in headings.iter().enumerate() {
        // Aligned like its cells.
        let kind = match rows[0][column].1 {
            Some(_) => "number",
            None => "text",
        };
        let _ = write!(
            out,
            "<th scope=\"col\" class=\"{kind}\"><button type=\"button\">{heading}</button></th>"
        );
    }
    out.push_str("</tr></thead><tbody>\n");
    let left_out = rows.len().saturating_sub(ROWS_MAX);
    for row in rows.into_iter().take(ROWS_MAX) {
        out.push_str("<tr>");
        for (text, by) in row {
            let text = escaped(&text);
            match by {
                Some(by) => _ = write!(out, "<td data-by=\"{by}\">{text}</td>"),
                None => _ = write!(out, "<td>{text}</td>"),
            }
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
    if left_out > 0 {
        let _ = writeln!(
            out,
            "<p class=\"dim\">{left_out} more: --json has them.</p>"
        );
    }
    out.push_str("</section>\n");
    out
}

/// Link target of a section.
pub(super) fn anchor(title: &str) -> String {
    title.to_lowercase().replace(' ', "-")
}

fn words(text: impl Into<String>) -> (String, Option<f64>) {
    (text.into(), None)
}

fn count(count: u64) -> (String, Option<f64>) {
    (count.to_string(), Some(count as f64))
}

fn seconds(value: Option<f64>) -> (String, Option<f64>) {
    (time(value), Some(value.unwrap_or(-1.0)))
}

pub(super) fn expectations(result: &RunResult) -> String {
    let rows = result.expectations.iter().map(|one| {
        let held = if one.held { "held" } else { "FAILED" };
        vec![words(held), words(&*one.what), words(&*one.seen)]
    });
    table(
        "Expected of this run",
        &["verdict", "what", "seen"],
        rows.collect(),
    )
}

/// Largest losses and waits first.
pub(super) fn flows(result: &RunResult) -> String {
    let mut flows: Vec<_> = result.flows.iter().collect();
    flows.sort_by(|a, b| {
        let worst = (b.lost, b.reordered).cmp(&(a.lost, a.reordered));
        worst.then(b.longest_stall_seconds.total_cmp(&a.longest_stall_seconds))
    });
    let has_sizes = flows.iter().any(|flow| flow.size_bytes.is_some());
    let mut headings = vec![
        "flow",
        "sent",
        "received",
        "lost",
        "reordered",
        "in flight",
        "rate",
        "last third",
        "longest stall",
    ];
    if has_sizes {
        headings.extend(["size", "completed after", "slowdown"]);
    }
    let rows = flows.into_iter().take(ROWS_MAX + 1).map(|flow| {
        let mut row = vec![
            words(&*flow.name),
            count(flow.sent),
            count(flow.received),
            count(flow.lost),
            count(flow.reordered),
            count(flow.in_flight),
            (rate(flow.bits_per_second), Some(flow.bits_per_second)),
            (
                rate(flow.bits_per_second_last_third),
                Some(flow.bits_per_second_last_third),
            ),
            seconds(Some(flow.longest_stall_seconds)),
        ];
        if has_sizes {
            let size = flow.size_bytes;
            row.push((
                size.map_or("–".into(), |size| amount(size as f64)),
                size.map(|size| size as f64),
            ));
            row.push(seconds(flow.completion_seconds));
            row.push((
                flow.slowdown.map_or("–".into(), |it| format!("{it:.2}")),
                Some(flow.slowdown.unwrap_or(-1.0)),
            ));
        }
        row
    });
    table("Flows", &headings, rows.collect())
}

/// Fullest buffers first.
pub(super) fn buffers(result: &RunResult) -> String {
    let mut buffers: Vec<_> = result.buffers.iter().collect();
    buffers.sort_by_key(|buffer| {
        std::cmp::Reverse((buffer.ingress_bytes_max, buffer.egress_bytes_max))
    });
    let rows = buffers.into_iter().map(|buffer| {
        let bytes = |bytes: u64| (amount(bytes as f64), Some(bytes as f64));
        vec![
            words(&*buffer.switch),
            words(&*buffer.port),
            count(buffer.priority.into()),
            bytes(buffer.ingress_bytes_max),
            bytes(buffer.egress_bytes_max),
            count(buffer.pauses),
            seconds(Some(buffer.pause_nanos as f64 / 1e9)),
        ]
    });
    let headings = [
        "switch",
        "port",
        "priority",
        "most in the ingress buffer",
        "most waiting to leave",
        "pauses",
        "paused the neighbor for",
    ];
    table("Buffers", &headings, rows.collect())
}

pub(super) fn drops(result: &RunResult) -> String {
    let rows = result
        .drops
        .iter()
        .map(|(reason, frames)| vec![words(&**reason), count(*frames)]);
    table("Dropped frames", &["reason", "frames"], rows.collect())
}

/// A lane of the time line: its name, and its spans with their states.
struct Lane {
    name: String,
    spans: Vec<(f64, f64, &'static str)>,
}

pub(super) fn deadlocks(result: &RunResult) -> String {
    let lanes = lanes(result);
    if lanes.is_empty() {
        return String::new();
    }
    let height = lanes.len().min(LANES_MAX) as f64 * LANE + 34.0;
    let mut out = format!(
        "<section id=\"deadlocks\"><h2>Deadlocks</h2>\n<div class=\"wide\"><svg id=\"lanes\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"Suspicions and releases over time\">\n"
    );
    let at = |seconds: f64| {
        NAMES + (WIDTH - NAMES - 10.0) * (seconds / result.duration_seconds).clamp(0.0, 1.0)
    };
    for (index, lane) in lanes.iter().take(LANES_MAX).enumerate() {
        let y = index as f64 * LANE;
        let _ = writeln!(out, "<text x=\"0\" y=\"{:.1}\">{}</text><line class=\"rule\" x1=\"{NAMES}\" x2=\"{WIDTH}\" y1=\"{y2:.1}\" y2=\"{y2:.1}\"/>", y + 14.0, escaped(&lane.name), y2 = y + LANE);
        for (from, to, kind) in &lane.spans {
            let (x, wide) = (at(*from), (at(*to) - at(*from)).max(1.5));
            let (y, high) = if *kind == "release" {
                (y + 11.0, 6.0)
            } else {
                (y + 3.0, 7.0)
            };
            let _ = writeln!(out, "<rect class=\"{kind}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{wide:.1}\" height=\"{high}\"><title>{kind} from {} to {}</title></rect>", time(Some(*from)), time(Some(*to)));
        }
    }
    for part in 0..=4 {
        let seconds = result.duration_seconds * f64::from(part) / 4.0;
        let anchor = ["start", "middle", "middle", "middle", "end"][part as usize];
        let _ = writeln!(
            out,
            "<text class=\"tick\" text-anchor=\"{anchor}\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            at(seconds),
            height - 6.0,
            setting(seconds)
        );
    }
    out.push_str("</svg></div>\n<p class=\"dim\">Red: the port is suspected, frames wait and nothing leaves. Green: a release at it.</p>\n");
    if lanes.len() > LANES_MAX {
        let _ = writeln!(
            out,
            "<p class=\"dim\">{} more ports: --json has them.</p>",
            lanes.len() - LANES_MAX
        );
    }
    out.push_str("</section>\n");
    out.push_str(&table(
        "Events",
        &["time", "switch", "port", "event", "details"],
        events(&result.events),
    ));
    out
}

fn lanes(result: &RunResult) -> Vec<Lane> {
    let mut open: BTreeMap<(String, &'static str), f64> = BTreeMap::new();
    let mut spans: BTreeMap<String, Vec<(f64, f64, &'static str)>> = BTreeMap::new();
    for event in &result.events {
        let (kind, begins) = match event.kind.known() {
            Some(EventName::Suspected) => ("suspected", true),
            Some(EventName::SuspicionEnded) => ("suspected", false),
            Some(EventName::ReleaseStarted) => ("release", true),
            Some(EventName::ReleaseEnded) => ("release", false),
            _ => continue,
        };
        let priority = event
            .priority
            .map_or(String::new(), |priority| format!(" priority {priority}"));
        let lane = format!(
            "{} to {}{priority}",
            event.switch,
            event.port.as_deref().unwrap_or("?")
        );
        let key = (lane, kind);
        if begins {
            open.entry(key).or_insert(event.seconds);
        } else if let Some(from) = open.remove(&key) {
            spans
                .entry(key.0)
                .or_default()
                .push((from, event.seconds, kind));
        }
    }
    // Spans that lasted until the end of the run.
    for ((lane, kind), from) in open {
        spans
            .entry(lane)
            .or_default()
            .push((from, result.duration_seconds, kind));
    }
    spans
        .into_iter()
        .map(|(name, spans)| Lane { name, spans })
        .collect()
}

fn events(events: &[RunEvent]) -> Vec<Vec<(String, Option<f64>)>> {
    let rows = events.iter().take(ROWS_MAX + 1).map(|event| {
        let details: Vec<String> = event
            .details
            .iter()
            .map(|(name, value)| format!("{name} {value}"))
            .collect();
        vec![
            seconds(Some(event.seconds)),
            words(&*event.switch),
            words(event.port.as_deref().unwrap_or("")),
            words(event.kind.as_str().replace('_', " ")),
            words(details.join(", ")),
        ]
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{empty_result, event};

    #[test]
    fn spans_end_by_their_event_or_with_the_run() {
        let mut result = empty_result();
        result.events = vec![
            event(0.2, "s1", "suspected"),
            event(0.3, "s1", "release_started"),
            event(0.4, "s1", "release_ended"),
            event(0.5, "s1", "suspicion_ended"),
            event(0.9, "s1", "suspected"),
        ];
        let lanes = lanes(&result);
        assert_eq!(lanes.len(), 1);
        assert_eq!(lanes[0].name, "s1 to p priority 3");
        assert_eq!(
            lanes[0].spans,
            [
                (0.3, 0.4, "release"),
                (0.2, 0.5, "suspected"),
                (0.9, 1.0, "suspected")
            ]
        );
    }

    #[test]
    fn a_long_table_says_how_much_it_omits() {
        let rows = (0..ROWS_MAX + 7)
            .map(|row| vec![count(row as u64)])
            .collect();
        let text = table("Rows", &["n"], rows);
        assert_eq!(text.matches("<td").count(), ROWS_MAX);
        assert!(text.contains("7 more"));
    }
}
