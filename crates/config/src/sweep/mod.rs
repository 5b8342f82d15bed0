//! Sweep files: one scenario, run with many values of some of its keys and with many seeds.

mod amount;
mod ranges;
mod read;

use std::path::{Path, PathBuf};

use crate::reader::{FileError, Problem};
use crate::Override;

pub use read::KEYS;

/// Maximum number of runs of a file.
pub const RUN_COUNT_MAX: u64 = 1_000_000;

/// A checked sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    /// The file.
    pub path: PathBuf,
    /// Its name in results and in the names of their files.
    pub name: String,
    /// A sentence about it.
    pub description: String,
    /// The scenario file; relative paths start at the sweep's file.
    pub scenario: PathBuf,
    /// Overrides of the scenario in every run, with their lines.
    set: Vec<(Override, Option<usize>)>,
    /// `[[parameter]]`.
    pub parameters: Vec<Parameter>,
    /// Number of samples of the Latin hypercube; 1 without one.
    pub samples: usize,
    /// Seeds of the runs.
    pub seeds: Seeds,
    /// Tables in addition to that of runs.
    pub tables: Tables,
}

/// Tables in addition to that of runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tables {
    /// A row for each flow of each run.
    pub flows: bool,
    /// A row for each switch, port and priority of each run that ever held a frame.
    pub ports: bool,
}

/// Seeds of the runs with the same values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seeds {
    /// This many, starting at the scenario's.
    Count(u64),
    /// These.
    These(Vec<u64>),
}

impl Seeds {
    fn count(&self) -> u64 {
        match self {
            Self::Count(count) => *count,
            Self::These(seeds) => seeds.len() as u64,
        }
    }
}

/// One varied parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its column in results: the key, unless the file sets another name.
    pub name: String,
    /// The table's line.
    line: Option<usize>,
    /// Its values, indexed by the sample of the Latin hypercube if `is_sampled`.
    pub levels: Vec<Level>,
    /// True if the Latin hypercube draws its values.
    pub is_sampled: bool,
    /// Common type of all values.
    pub kind: ValueKind,
    /// The unit of a further column of numbers, if values have units: `bytes`, `bits_per_second`, `seconds`,
    /// `fraction`.
    pub unit: Option<&'static str>,
}

/// Common type of all values of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// Text, or mixed types.
    Text,
    /// Integers.
    Integer,
    /// Numbers.
    Number,
    /// Booleans.
    Boolean,
}

/// One value of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// As in the file.
    pub text: String,
    /// The number, if it is one or has a unit: in bytes, bits per second, seconds, or fractions of one.
    pub number: Option<f64>,
    /// The overrides for this value.
    pub set: Vec<Override>,
}

/// One run of a sweep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Its number, from 0.
    pub index: u64,
    /// By parameter: index of its level.
    pub levels: Vec<usize>,
    /// Index into [`Sweep::seeds`].
    seed: u64,
}

impl Sweep {
    /// Reads and checks a file.
    ///
    /// # Errors
    ///
    /// All problems of the file.
    pub fn load(path: &Path) -> Result<Self, FileError> {
        let text =
            std::fs::read_to_string(path).map_err(|error| FileError::unreadable(path, &error))?;
        Self::parse(&text, path)
    }

    /// Parses and checks `text`, the contents of the file `path`.
    ///
    /// # Errors
    ///
    /// All problems of the file.
    pub fn parse(text: &str, path: &Path) -> Result<Self, FileError> {
        read::sweep(text, path).map_err(|problems| FileError::of(path, problems))
    }

    /// Returns true if the text is meant as a sweep and not as a scenario: it names a scenario.
    pub fn is_meant(text: &str) -> bool {
        read::names_a_scenario(text)
    }

    /// Number of runs.
    pub fn run_count(&self) -> u64 {
        let levels = self.grid().map(|parameter| parameter.levels.len() as u64);
        levels.product::<u64>() * self.samples as u64 * self.seeds.count()
    }

    /// The run `index`, below [`run_count`](Self::run_count): seeds change from one run to the next, then values of the
    /// last parameter; samples of the Latin hypercube change last.
    pub fn run(&self, index: u64) -> Run {
        let (seeds, mut rest) = (self.seeds.count().max(1), index);
        let mut take = |count: u64| {
            let place = rest % count;
            rest /= count;
            place
        };
        let seed = take(seeds);
        let mut levels: Vec<usize> = self
            .parameters
            .iter()
            .rev()
            .map(|parameter| match parameter.is_sampled {
                true => 0,
                false => take(parameter.levels.len() as u64) as usize,
            })
            .collect();
        levels.reverse();
        let sample = take(self.samples as u64) as usize;
        for (level, parameter) in levels.iter_mut().zip(&self.parameters) {
            if parameter.is_sampled {
                *level = sample;
            }
        }
        Run {
            index,
            levels,
            seed,
        }
    }

    /// The run's seed, if the scenario common to all runs has `first`.
    pub fn seed(&self, run: &Run, first: u64) -> u64 {
        match &self.seeds {
            Seeds::Count(_) => first.saturating_add(run.seed),
            Seeds::These(seeds) => seeds[run.seed as usize],
        }
    }

    /// Overrides of the scenario in every run.
    pub fn common(&self) -> Vec<Override> {
        self.set.iter().map(|(change, _)| change.clone()).collect()
    }

    /// Overrides of the scenario in `run`, whose seed is `seed`.
    pub fn overrides(&self, run: &Run, seed: u64) -> Vec<Override> {
        let mut all = self.common();
        for (parameter, level) in self.parameters.iter().zip(&run.levels) {
            all.extend_from_slice(&parameter.levels[*level].set);
        }
        all.push(Override::of_number("seed", seed));
        all
    }

    /// Converts an error of a scenario set up by the sweep: refers to the sweep's file if that is the cause.
    pub fn blame(&self, error: FileError, run: &Run) -> FileError {
        if error.set.is_empty() {
            return error;
        }
        let scenario = self.scenario.display();
        let problems = error.problems.into_iter().map(|problem| {
            let is_set = |change: &Override| {
                let key = change.key();
                let below = problem.key.strip_prefix(key.as_str());
                problem.key == change.to_string()
                    || below.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            };
            let common = self.set.iter().find(|(change, _)| is_set(change));
            let of_parameter = self
                .parameters
                .iter()
                .zip(&run.levels)
                .find_map(|(one, level)| {
                    let change = one.levels[*level]
                        .set
                        .iter()
                        .find(|change| is_set(change))?;
                    Some((format!("parameter.{}", one.name), one.line, change))
                });
            let (key, line, change) = match (of_parameter, common) {
                (Some((key, line, change)), _) => (key, line, Some(change)),
                (None, Some((change, line))) => ("set".to_owned(), *line, Some(change)),
                (None, None) => (String::new(), None, None),
            };
            // A contradiction with another key of the scenario is reported under that key.
            let all = || {
                let levels = self.parameters.iter().zip(&run.levels);
                let all = levels.flat_map(|(one, level)| &one.levels[*level].set);
                all.map(ToString::to_string).collect::<Vec<_>>().join(", ")
            };
            let with = format!(" with {}", change.map_or_else(all, ToString::to_string));
            let of = match problem.key.is_empty()
                || change.is_some_and(|one| one.to_string() == problem.key)
            {
                true => String::new(),
                false => format!("{}: ", problem.key),
            };
            Problem {
                line,
                key,
                message: format!("{scenario}{with}: {of}{}", problem.message),
            }
        });
        FileError::of(&self.path, problems.collect())
    }

    /// An error about a parameter's table.
    pub fn refuse(&self, parameter: &Parameter, message: String) -> FileError {
        let problem = Problem {
            line: parameter.line,
            key: format!("parameter.{}", parameter.name),
            message,
        };
        FileError::of(&self.path, vec![problem])
    }

    fn grid(&self) -> impl Iterator<Item = &Parameter> {
        self.parameters.iter().filter(|one| !one.is_sampled)
    }
}
