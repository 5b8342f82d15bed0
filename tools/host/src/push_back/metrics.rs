//! Counters of running `push-back` processes, in Prometheus' text format.

use std::fmt::Write as _;

use super::Summary;

/// Name without its prefix, kind, help, value.
type Family = (
    &'static str,
    &'static str,
    &'static str,
    fn(&Summary) -> f64,
);

const FAMILIES: [Family; 12] = [
    (
        "pauses_total",
        "counter",
        "Pauses of the neighbor that began",
        |one| one.counts.pauses as f64,
    ),
    (
        "refreshes_total",
        "counter",
        "XOFFs sent during a pause",
        |one| one.counts.refreshes as f64,
    ),
    (
        "late_refreshes_total",
        "counter",
        "Refreshes sent when the pause had run out",
        |one| one.counts.late_refreshes as f64,
    ),
    (
        "resumes_total",
        "counter",
        "Pauses ended by an XON",
        |one| one.counts.resumes as f64,
    ),
    (
        "paused_seconds_total",
        "counter",
        "Seconds of all pauses that have ended",
        |one| one.counts.paused_ns as f64 * 1e-9,
    ),
    (
        "given_up_total",
        "counter",
        "Times that a socket was passed over, because it was not read for --longest",
        |one| one.counts.given_up as f64,
    ),
    (
        "dropped_total",
        "counter",
        "Frames that the kernel dropped at watched sockets",
        |one| one.counts.dropped as f64,
    ),
    (
        "unsent_total",
        "counter",
        "Pause frames that the device did not accept at once",
        |one| one.unsent as f64,
    ),
    ("sockets", "gauge", "Sockets that are watched", |one| {
        one.sockets as f64
    }),
    (
        "unwatched_sockets",
        "gauge",
        "Sockets beyond the watched ones",
        |one| one.unwatched as f64,
    ),
    (
        "full_sockets",
        "gauge",
        "Sockets for which the neighbor waits",
        |one| one.full as f64,
    ),
    (
        "passed_over_sockets",
        "gauge",
        "Sockets that are passed over, because they are not read",
        |one| one.passed_over as f64,
    ),
];

/// Formats all metrics; empty without processes.
pub fn metrics_text(all: &[Summary]) -> String {
    let mut text = String::new();
    if all.is_empty() {
        return text;
    }
    for (name, kind, help, of) in FAMILIES {
        let name = format!("weir_host_push_back_{name}");
        let _ = writeln!(text, "# HELP {name} {help}.\n# TYPE {name} {kind}");
        for one in all {
            let (device, priority) = (crate::status::escape(&one.device), one.priority);
            let _ = writeln!(
                text,
                "{name}{{device=\"{device}\",priority=\"{priority}\"}} {}",
                of(one)
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_family_has_a_line_for_each_run() {
        assert_eq!(metrics_text(&[]), "");
        let runs = [3, 4].map(|priority| Summary {
            device: "eth1".to_owned(),
            priority,
            ..Summary::default()
        });
        let text = metrics_text(&runs);
        assert_eq!(text.lines().count(), FAMILIES.len() * 4);
        assert!(
            text.contains("weir_host_push_back_pauses_total{device=\"eth1\",priority=\"4\"} 0\n")
        );
    }
}
