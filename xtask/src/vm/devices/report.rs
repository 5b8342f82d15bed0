//! The table of all cells.

use std::fmt::Write as _;

use anyhow::{ensure, Result};
use serde_json::Value;

use super::cells::Kind;
use super::Sum;

#[derive(Clone, Debug)]
pub struct Row {
    kind: &'static str,
    mode: &'static str,
    cells: Cells,
}

#[derive(Clone, Debug)]
enum Cells {
    Failed,
    Refused(&'static str),
    Tried(Box<Tried>),
}

#[derive(Clone, Debug)]
struct Tried {
    /// The mode in which the program was attached.
    attached: String,
    sent: u64,
    arrived: u64,
    returned: u64,
    pauses_there: [u64; 2],
    pauses_back: [u64; 2],
    sums: [Sum; 2],
}

impl Row {
    pub fn refused(kind: &'static str, mode: &'static str, why: &'static str) -> Self {
        Self {
            kind,
            mode,
            cells: Cells::Refused(why),
        }
    }

    /// Creates the row of a failed cell.
    pub fn failed(kind: &'static str, mode: &'static str) -> Self {
        Self {
            kind,
            mode,
            cells: Cells::Failed,
        }
    }

    /// Creates a row with the figures of the trial, and the hosts' datagrams.
    pub fn of(kind: &'static str, mode: &'static str, trial: &Value, sums: [Sum; 2]) -> Self {
        let count = |value: &Value| value.as_u64().unwrap_or(0);
        let all = |key: &str| {
            let counts = trial["pauses"][key].as_array();
            counts.into_iter().flatten().map(count).sum()
        };
        let frames = &trial["frames"];
        Self {
            kind,
            mode,
            cells: Cells::Tried(Box::new(Tried {
                attached: trial["link"]["mode"].as_str().unwrap_or("?").to_owned(),
                sent: count(&frames["sent"]["frames"]),
                arrived: count(&frames["arrived"]),
                returned: count(&frames["returned"]),
                pauses_there: [all("sent_here"), all("came_there")],
                pauses_back: [all("sent_there"), all("came_here")],
                sums,
            })),
        }
    }

    /// Checks that every frame arrived or was counted, and that pauses behaved as specified for the kind.
    pub fn check(&self, kind: &Kind) -> Result<()> {
        let Cells::Tried(tried) = &self.cells else {
            return Ok(());
        };
        if kind.whole {
            let whole =
                tried.sent > 0 && tried.arrived == tried.sent && tried.returned == tried.sent;
            ensure!(whole, "frames were lost in the trial: {tried:?}");
        } else {
            ensure!(tried.returned > 0, "no frame came back: {tried:?}");
        }
        for (passes, [sent, came]) in [
            (kind.pauses_there, tried.pauses_there),
            (kind.pauses_here, tried.pauses_back),
        ] {
            ensure!(sent > 0, "no pause was sent: {tried:?}");
            ensure!(!passes || came == sent, "pauses were lost: {tried:?}");
            ensure!(
                passes || came == 0,
                "pauses pass, other than the table says: {tried:?}"
            );
        }
        let lost: u64 = tried.sums.iter().map(|sum| sum.sent - sum.arrived).sum();
        let arrived: u64 = tried.sums.iter().map(|sum| sum.arrived).sum();
        ensure!(
            arrived > 0 && lost <= tried.sums[0].counted + tried.sums[0].by_hosts,
            "{lost} datagrams are lost and not counted: {tried:?}"
        );
        ensure!(
            tried.sums[0].counted > 0 || tried.sums[0].healthy,
            "nothing is lost, and health says otherwise"
        );
        Ok(())
    }
}

/// Returns the frames lost at all ports, by all counters in `switchctl ports`.
pub fn lost(ports: &Value) -> u64 {
    let sum = |value: &Value| -> u64 {
        let fields = value.as_object().into_iter().flatten();
        let counts = fields.filter(|(name, _)| !name.contains("rx_fill_ring_empty"));
        counts.filter_map(|(_, count)| count.as_u64()).sum()
    };
    let of_port = |port: &Value| -> u64 {
        ["drops_total", "kernel_losses", "device_losses"]
            .iter()
            .map(|key| sum(&port[key]))
            .sum()
    };
    ports.as_array().into_iter().flatten().map(of_port).sum()
}

/// Formats the table in Markdown, as in the book.
pub fn table(rows: &[Row]) -> String {
    let mut text = String::from(
        "| kind | `xdp-mode` | attached | frames there | and back | PFC there | PFC here | datagrams to it | from it | counted lost | not read by hosts |\n|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for Row { kind, mode, cells } in rows {
        let _ = match cells {
            Cells::Failed => writeln!(text, "| {kind} | {mode} | **failed** | | | | | | | | |"),
            Cells::Refused(why) => {
                writeln!(text, "| {kind} | {mode} | refused: {why} | | | | | | | | |")
            }
            Cells::Tried(tried) => {
                let [to, from] = tried.sums;
                let [[a, b], [c, d]] = [tried.pauses_there, tried.pauses_back];
                writeln!(
                    text,
                    "| {kind} | {mode} | {} | {} of {} | {} | {b} of {a} | {d} of {c} | {} of {} | {} of {} | {} | {} |",
                    tried.attached,
                    tried.arrived,
                    tried.sent,
                    tried.returned,
                    to.arrived,
                    to.sent,
                    from.arrived,
                    from.sent,
                    to.counted,
                    to.by_hosts
                )
            }
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_those_of_all_ports_by_all_counters() {
        let ports: Value = serde_json::from_str(
            r#"[{"name": "a", "drops_total": {"no_route": 2}, "kernel_losses": {"tx_missing_total": 4, "rx_fill_ring_empty_total": 9}},
                {"name": "b", "drops_total": {}, "device_losses": {"rx_crc_total": 1}}]"#,
        )
        .unwrap();
        assert_eq!(lost(&ports), 7);
    }

    #[test]
    fn a_trial_that_loses_fails_and_one_that_loses_nothing_passes() {
        let kind = &super::super::cells::KINDS[0];
        let sum = Sum {
            sent: 10,
            arrived: 10,
            counted: 0,
            by_hosts: 0,
            healthy: true,
        };
        let trial = |returned: u64| -> Value {
            serde_json::json!({
                "link": {"mode": "native"},
                "frames": {"sent": {"frames": 5}, "arrived": 5, "returned": returned},
                "pauses": {"sent_here": [4], "came_there": [4], "sent_there": [4], "came_here": [4]},
            })
        };
        let row = |returned, sums| Row::of("veth", "native", &trial(returned), sums);
        assert!(row(5, [sum; 2]).check(kind).is_ok());
        assert!(row(4, [sum; 2]).check(kind).is_err());
        let lossy = Sum { arrived: 9, ..sum };
        assert!(row(5, [lossy, sum]).check(kind).is_err());
        let counted = Sum {
            counted: 1,
            ..lossy
        };
        assert!(row(5, [counted, sum]).check(kind).is_ok());
        let unread = Sum {
            by_hosts: 1,
            ..lossy
        };
        assert!(row(5, [unread, sum]).check(kind).is_ok());
    }
}
