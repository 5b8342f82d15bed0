//! Comparisons as a table for the book, and as JSON.

use std::fmt::Write;

use weir_core::Duration;

use super::Comparison;

/// A topology with one T and one coding, over all seeds: worst values and means.
struct Row<'a>(Vec<&'a Comparison>);

fn rows(comparisons: &[Comparison]) -> Vec<Row<'_>> {
    let mut rows: Vec<Row<'_>> = Vec::new();
    for comparison in comparisons {
        let same = |row: &&mut Row<'_>| {
            let first = row.0[0];
            (first.topology, first.round_trip, first.coding)
                == (
                    comparison.topology,
                    comparison.round_trip,
                    comparison.coding,
                )
        };
        match rows.iter_mut().find(same) {
            Some(row) => row.0.push(comparison),
            None => rows.push(Row(vec![comparison])),
        }
    }
    rows
}

impl Row<'_> {
    fn most(&self, of: impl Fn(&Comparison) -> f64) -> f64 {
        self.0.iter().map(|one| of(one)).fold(0.0, f64::max)
    }

    fn least(&self, of: impl Fn(&Comparison) -> f64) -> f64 {
        self.0
            .iter()
            .map(|one| of(one))
            .fold(f64::INFINITY, f64::min)
    }

    fn mean(&self, of: impl Fn(&Comparison) -> f64) -> f64 {
        self.0.iter().map(|one| of(one)).sum::<f64>() / self.0.len() as f64
    }

    fn count(&self, of: impl Fn(&Comparison) -> usize) -> usize {
        self.0.iter().map(|one| of(one)).sum()
    }

    fn markdown(&self, table: &mut String) {
        let first = self.0[0];
        let told: Vec<f64> = self
            .0
            .iter()
            .filter_map(|one| one.wait_of_bound())
            .collect();
        let part = match told.len() {
            0 => "–".to_owned(),
            _ => format!("{:.2}", told.iter().copied().fold(0.0, f64::max)),
        };
        let _ = writeln!(
            table,
            "| {} | {} | {} | {} | {} | {} | {} | {:.3} | {:.3} | {:.2} / {:.2} | {} / {} | {} |",
            first.topology,
            time(first.round_trip.as_secs_f64()),
            first.coding.name(),
            self.0.len(),
            time(self.most(|one| one.level.longest_wait().as_secs_f64())),
            time(self.most(|one| one.pfc.longest_wait().as_secs_f64())),
            part,
            self.least(Comparison::throughput),
            self.mean(Comparison::throughput),
            self.mean(|one| one.level.jain()),
            self.mean(|one| one.pfc.jain()),
            self.count(|one| one.level.starved()),
            self.count(|one| one.pfc.starved()),
            self.count(|one| usize::from(!one.broken().is_empty())),
        );
    }
}

/// Returns the table, a row for each topology, T and coding.
pub fn markdown(comparisons: &[Comparison]) -> String {
    let mut table = String::from(
        "| network | T | coding | seeds | longest wait, Levels | PFC | of the bound | throughput, least | mean \
         | Jain, Levels / PFC | starved flows, Levels / PFC | over a bound |\n\
         |---|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for row in rows(comparisons) {
        row.markdown(&mut table);
    }
    table
}

/// Returns every comparison with its limits.
pub fn json(comparisons: &[Comparison]) -> serde_json::Value {
    let seconds = Duration::as_secs_f64;
    let one = |one: &Comparison| {
        serde_json::json!({
            "topology": one.topology.to_string(),
            "seed": one.seed,
            "round_trip_seconds": seconds(one.round_trip),
            "coding": one.coding.name(),
            "duration_seconds": seconds(one.duration),
            "wait_bound_seconds": seconds(one.bound),
            "wait_of_bound": one.wait_of_bound(),
            "throughput_of_pfc": one.throughput(),
            "broken": one.broken(),
            "level": trial(&one.level),
            "pfc": trial(&one.pfc),
        })
    };
    serde_json::json!({
        "format": 1,
        "comparisons": comparisons.iter().map(one).collect::<Vec<_>>(),
    })
}

fn trial(trial: &crate::trial::Trial) -> serde_json::Value {
    serde_json::json!({
        "longest_wait_seconds": trial.longest_wait().as_secs_f64(),
        "bytes": trial.bytes(),
        "jain": trial.jain(),
        "flows": trial.flows.len(),
        "starved_flows": trial.starved(),
        "frames_sent": trial.sent,
        "frames_lost": trial.lost,
        "frames_reordered": trial.reordered,
    })
}

fn time(seconds: f64) -> String {
    match seconds {
        seconds if seconds >= 1e-3 => format!("{:.3} ms", seconds * 1e3).replace(".000", ""),
        seconds => format!("{:.0} µs", seconds * 1e6),
    }
}
