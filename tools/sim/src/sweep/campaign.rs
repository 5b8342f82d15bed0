//! The runs of a sweep over its scenario.

use std::panic::{catch_unwind, AssertUnwindSafe};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use weir_config::scenario::random::Random;
use weir_config::scenario::Scenario;
use weir_config::sweep::{Parameter, Run, Sweep, ValueKind, RUN_COUNT_MAX};
use weir_config::{FileError, Override};
use weir_recording::table::{Cell, CellKind, Column};

use super::{outcome, SWEEP_FORMAT};
use crate::scenario::{run as simulate, Options};

/// Number of runs that are tried until one is valid, before a sweep is refused.
const LOOKED_AT: u64 = 32;

/// A sweep with its scenario.
pub struct Campaign {
    sweep: Sweep,
    text: String,
    scenario: String,
    scenario_sha256: String,
    /// Seed of the scenario file.
    first_seed: u64,
}

/// Result of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finished {
    /// [`Campaign::key`] of the run.
    pub key: String,
    /// Cells after [`Campaign::identity`] in its row.
    pub outcome: Vec<Cell>,
    /// A row for each flow, without the run's number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<Vec<Cell>>,
    /// A row for each buffer, without the run's number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<Vec<Cell>>,
}

/// Cells after the identity of a run in its row, and the rows of its flows and ports.
type Rows = (Vec<Cell>, Vec<Vec<Cell>>, Vec<Vec<Cell>>);

/// One of several parts of a sweep. Of each group of as many consecutive runs as there are parts, every part has one at
/// random. With a fixed stride, a part would have all runs with one value if values repeat with the same period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Index from 0.
    pub index: u64,
    /// Number of parts.
    pub count: u64,
}

impl Shard {
    /// Numbers of its runs.
    pub fn runs(self, run_count: u64) -> impl Iterator<Item = u64> {
        let Self { index, count } = self;
        let rows = 0..run_count.div_ceil(count.max(1));
        rows.filter_map(move |row| {
            let turn = Random::new(row, count).below(count);
            let place = row.checked_mul(count)? + (index + turn) % count;
            (place < run_count).then_some(place)
        })
    }
}

impl std::fmt::Display for Shard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

impl std::str::FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}`: write I/N, the part I of N counted from 0, such as 0/4");
        let (index, count) = text.split_once('/').ok_or_else(wrong)?;
        let (Ok(index), Ok(count)) = (index.parse::<u64>(), count.parse::<u64>()) else {
            return Err(wrong());
        };
        if count > RUN_COUNT_MAX {
            return Err(format!(
                "`{text}`: at most {RUN_COUNT_MAX} parts, as many as a sweep can have runs"
            ));
        }
        if index >= count {
            return Err(format!(
                "`{text}`: parts are counted from 0, the last of {count} is {}",
                count.saturating_sub(1)
            ));
        }
        Ok(Self { index, count })
    }
}

impl Campaign {
    /// Reads a sweep; `text` is its scenario file.
    ///
    /// # Errors
    ///
    /// The scenario itself is wrong, or every tried run is: reported in terms of the sweep file if that is the cause.
    pub fn new(sweep: Sweep, text: String) -> Result<Self, FileError> {
        let count = sweep.run_count();
        let looked_at = count.min(LOOKED_AT);
        let mut refusal = None;
        for place in 0..looked_at {
            let run = sweep.run(place * count / looked_at);
            // Without a seed, which comes from the file read here.
            let mut set = sweep.overrides(&run, 0);
            set.pop();
            match Scenario::parse(&text, &sweep.scenario, &set) {
                Ok(scenario) => {
                    let campaign = Self {
                        scenario_sha256: hex(Sha256::digest(text.as_bytes()).as_slice()),
                        scenario: scenario.name,
                        first_seed: scenario.seed,
                        sweep,
                        text,
                    };
                    campaign.check_columns()?;
                    return Ok(campaign);
                }
                Err(error) if error.set.is_empty() => return Err(error),
                Err(error) => _ = refusal.get_or_insert_with(|| sweep.blame(error, &run)),
            }
        }
        // A sweep has at least one run.
        Err(refusal.unwrap_or_else(|| FileError {
            path: sweep.path.clone(),
            problems: Vec::new(),
            set: Vec::new(),
        }))
    }

    /// Checks that columns of parameters have unique names, also for readers that ignore case.
    fn check_columns(&self) -> Result<(), FileError> {
        let (fixed, results) = (identity_columns(), outcome::run_columns());
        let mut names: Vec<String> = fixed
            .into_iter()
            .chain(results)
            .map(|one| one.name)
            .collect();
        for parameter in &self.sweep.parameters {
            for name in parameter_columns(parameter).map(|column| column.name) {
                if names.iter().any(|known| known.eq_ignore_ascii_case(&name)) {
                    let message = format!(
                        "the results have a column `{name}` already; give it another `name`"
                    );
                    return Err(self.sweep.refuse(parameter, message));
                }
                names.push(name);
            }
        }
        Ok(())
    }

    /// The sweep.
    pub fn sweep(&self) -> &Sweep {
        &self.sweep
    }

    /// Returns the overrides of the scenario in the run `index`.
    pub fn overrides(&self, index: u64) -> Vec<Override> {
        let run = self.sweep.run(index);
        self.sweep.overrides(&run, self.seed(&run))
    }

    /// Returns the run's scenario.
    ///
    /// # Errors
    ///
    /// The scenario is wrong.
    pub fn scenario(&self, index: u64) -> Result<Scenario, FileError> {
        Scenario::parse(&self.text, &self.sweep.scenario, &self.overrides(index))
    }

    /// Hash of everything that affects the run's results: scenario, files that it names, overrides, and this program's
    /// version.
    pub fn key(&self, index: u64) -> String {
        let mut hash = Sha256::new();
        hash.update(format!("{SWEEP_FORMAT}\n{}\n", env!("CARGO_PKG_VERSION")));
        hash.update(&self.scenario_sha256);
        let overrides = self.overrides(index);
        for change in &overrides {
            hash.update(format!("\n{change}"));
        }
        for (file, text) in Scenario::files(&self.text, &self.sweep.scenario, &overrides) {
            hash.update(format!("\n{file}\n"));
            hash.update(Sha256::digest(text));
        }
        hex(&hash.finalize())
    }

    /// Runs the run `index`; returns its result, or the reason for having none.
    pub fn run(&self, index: u64) -> Finished {
        self.run_interruptibly(index, &mut || false)
    }

    /// As [`run`](Self::run), but asks `interrupt` after some thousand events whether to end the run, which then has an
    /// error.
    pub fn run_interruptibly(&self, index: u64, interrupt: &mut dyn FnMut() -> bool) -> Finished {
        // A run that reveals an error of this program is one row; the others are still useful.
        let done = catch_unwind(AssertUnwindSafe(|| self.result(index, interrupt)));
        let done = done.unwrap_or_else(|payload| {
            let message = panic_message(&*payload);
            Err(format!("panicked: {message}"))
        });
        let (outcome, flows, ports) =
            done.unwrap_or_else(|error| (outcome::failed(&error), Vec::new(), Vec::new()));
        Finished {
            key: self.key(index),
            outcome,
            flows,
            ports,
        }
    }

    fn result(&self, index: u64, interrupt: &mut dyn FnMut() -> bool) -> Result<Rows, String> {
        let scenario = self.scenario(index).map_err(|error| {
            let run = self.sweep.run(index);
            self.sweep.blame(error, &run).to_string()
        })?;
        let options = Options {
            interrupt: Some(interrupt),
            ..Options::default()
        };
        let result = simulate(&scenario, options).map_err(|error| error.to_string())?;
        let tables = self.sweep.tables;
        Ok((
            outcome::run(&result),
            match tables.flows {
                true => outcome::flows(&scenario, &result),
                false => Vec::new(),
            },
            match tables.ports {
                true => outcome::ports(&result),
                false => Vec::new(),
            },
        ))
    }

    /// Returns the columns of the table of runs.
    pub fn run_columns(&self) -> Vec<Column> {
        let mut columns = identity_columns();
        columns.extend(self.sweep.parameters.iter().flat_map(parameter_columns));
        columns.extend(outcome::run_columns());
        columns
    }

    /// Seed of the run.
    pub fn seed_of(&self, index: u64) -> u64 {
        self.seed(&self.sweep.run(index))
    }

    /// Returns the first cells of a run's row, which are known before its results.
    pub fn identity(&self, index: u64) -> Vec<Cell> {
        let run = self.sweep.run(index);
        let mut row = vec![
            Cell::count(index),
            Cell::Text(self.key(index)),
            Cell::text(&self.sweep.name),
            Cell::text(&self.scenario),
            Cell::text(&self.scenario_sha256),
            Cell::text(env!("CARGO_PKG_VERSION")),
            Cell::count(self.seed(&run)),
        ];
        for (parameter, level) in self.sweep.parameters.iter().zip(&run.levels) {
            let level = &parameter.levels[*level];
            row.push(match (parameter.kind, level.number) {
                (ValueKind::Integer, Some(number)) => Cell::Count(number as i64),
                (ValueKind::Number, Some(number)) => Cell::Number(number),
                (ValueKind::Boolean, _) => Cell::Flag(level.text == "true"),
                _ => Cell::text(&level.text),
            });
            if parameter.unit.is_some() {
                row.push(Cell::number(level.number));
            }
        }
        row
    }

    /// Returns the columns of the table of flows.
    pub fn flow_columns() -> Vec<Column> {
        numbered(outcome::flow_columns())
    }

    /// Returns the columns of the table of ports.
    pub fn port_columns() -> Vec<Column> {
        numbered(outcome::port_columns())
    }

    /// Hash of everything that affects a shard's tables.
    pub fn shard_key(&self, shard: Shard) -> String {
        let mut hash = Sha256::new();
        hash.update(format!("{SWEEP_FORMAT} {shard} {:?}", self.sweep.tables));
        for column in self.run_columns() {
            hash.update(format!("\n{column:?}"));
        }
        for index in shard.runs(self.sweep.run_count()) {
            hash.update(format!("\n{:?}", self.identity(index)));
        }
        hex(&hash.finalize())
    }

    /// Returns true if the stored result of a run, perhaps of another version of the sweep file, has all required rows.
    pub fn is_complete(&self, finished: &Finished) -> bool {
        let tables = self.sweep.tables;
        let is_of = |rows: &[Vec<Cell>], wanted: bool, columns: usize| match wanted {
            true => rows.iter().all(|row| row.len() + 1 == columns),
            false => rows.is_empty(),
        };
        let has_failed = !matches!(finished.outcome.first(), Some(Cell::Null));
        // A run always has a flow, and a flow a buffer.
        let has_rows = |wanted: bool, rows: &[Vec<Cell>]| has_failed || !wanted || !rows.is_empty();
        finished.outcome.len() == outcome::run_columns().len()
            && is_of(&finished.flows, tables.flows, Self::flow_columns().len())
            && is_of(&finished.ports, tables.ports, Self::port_columns().len())
            && has_rows(tables.flows, &finished.flows)
            && has_rows(tables.ports, &finished.ports)
    }

    fn seed(&self, run: &Run) -> u64 {
        self.sweep.seed(run, self.first_seed)
    }
}

fn identity_columns() -> Vec<Column> {
    vec![
        Column::of("run", CellKind::Count, false),
        Column::of("run_sha256", CellKind::Text, false),
        Column::of("sweep", CellKind::Text, false),
        Column::of("scenario", CellKind::Text, false),
        Column::of("scenario_sha256", CellKind::Text, false),
        Column::of("weir_version", CellKind::Text, false),
        Column::of("seed", CellKind::Count, false),
    ]
}

/// Returns columns of its values, and of numbers for values with a unit.
fn parameter_columns(parameter: &Parameter) -> impl Iterator<Item = Column> + use<> {
    let values = Column::of(&parameter.name, kind(parameter), false);
    let numbers = parameter.unit.map(|unit| {
        let name = format!("{}_{unit}", parameter.name);
        Column::of(name, CellKind::Number, false)
    });
    std::iter::once(values).chain(numbers)
}

/// Returns the run's number, then `columns`.
fn numbered(mut columns: Vec<Column>) -> Vec<Column> {
    columns.insert(0, Column::of("run", CellKind::Count, false));
    columns
}

fn kind(parameter: &Parameter) -> CellKind {
    match parameter.kind {
        ValueKind::Text => CellKind::Text,
        ValueKind::Integer => CellKind::Count,
        ValueKind::Number => CellKind::Number,
        ValueKind::Boolean => CellKind::Flag,
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn panic_message(payload: &(dyn std::any::Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("without a message")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_every_run_once_and_each_about_as_many() {
        for (runs, count) in [(1000, 10), (1000, 7), (3, 5), (1, 1), (36, 36)] {
            let mut all: Vec<u64> = Vec::new();
            for index in 0..count {
                let part: Vec<u64> = Shard { index, count }.runs(runs).collect();
                let fair = runs as usize / count as usize;
                assert!(
                    (fair..=fair + 1).contains(&part.len()),
                    "{} of {runs}",
                    part.len()
                );
                assert!(part.is_sorted());
                all.extend(part);
            }
            all.sort_unstable();
            assert!(all.into_iter().eq(0..runs));
        }
    }

    #[test]
    fn values_that_come_back_as_often_as_parts_are_in_all_parts() {
        // Runs after which a value repeats, and number of parts.
        for (period, count) in [(20, 20), (20, 10), (11, 10), (9, 10), (2, 10)] {
            for index in 0..count {
                let part = Shard { index, count }.runs(2000);
                let places: std::collections::BTreeSet<u64> =
                    part.map(|run| run % period).collect();
                assert!(
                    places.len() as u64 * 2 > period,
                    "{period} {index}/{count}: {places:?}"
                );
            }
        }
    }
}
