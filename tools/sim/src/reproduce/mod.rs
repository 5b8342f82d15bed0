//! Figures of the papers, reproduced, and comparisons of the prior art with our own.
//!
//! Each reproduction returns its table, pictures and numbers as text; the caller writes them. The same program gives the
//! same bytes.

pub mod baselines;
pub mod calculus;
pub mod clcm_fig5;
pub mod clcm_fig7;
pub mod concepts;
pub mod credit_loops;
pub mod observe;
pub mod others;
mod picture;
pub mod setting;

use std::path::Path;

use weir_config::scenario::Scenario;
use weir_config::{FileError, Override};
use weir_results::chart::Chart;

use crate::scenario::RunError;

/// A finished reproduction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reproduction {
    /// Text for readers.
    pub report: String,
    /// Further files.
    pub files: Vec<File>,
}

/// A file to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its name, without a directory.
    pub name: String,
    /// Contents.
    pub text: String,
}

impl File {
    /// Creates a file with this name.
    pub fn new(name: impl Into<String>, text: String) -> Self {
        let name = name.into();
        Self { name, text }
    }
}

impl Reproduction {
    /// Builds the usual parts of a figure: picture, table and numbers, in files called `name`. `numbers` has their file
    /// extension and text.
    pub fn figure(name: &str, chart: &Chart, report: String, numbers: (&str, String)) -> Self {
        let (kind, numbers) = numbers;
        let files = vec![
            File::new(format!("{name}.svg"), weir_results::chart::svg(chart)),
            File::new(format!("{name}.txt"), report.clone()),
            File::new(format!("{name}.{kind}"), numbers),
        ];
        Self { report, files }
    }
}

/// Reason for which a figure cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum ReproduceError {
    /// A scenario with its overrides is wrong.
    #[error(transparent)]
    Scenario(#[from] FileError),
    /// A run failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The network does not behave as in the figure.
    #[error("{scenario}: {what}")]
    NotAsInThePaper {
        /// The scenario and its overrides.
        scenario: String,
        /// Missing object.
        what: &'static str,
    },
}

#[derive(Clone, Copy, Debug)]
struct ScenarioFile {
    path: &'static str,
    text: &'static str,
}

impl ScenarioFile {
    const RING4_ECMP: Self = Self {
        path: "scenarios/ring4-ecmp.toml",
        text: include_str!("../../../../scenarios/ring4-ecmp.toml"),
    };
    const BURST: Self = Self {
        path: "scenarios/burst.toml",
        text: include_str!("../../../../scenarios/burst.toml"),
    };
    const FIGURE7: Self = Self {
        path: "scenarios/figure7.toml",
        text: include_str!("../../../../scenarios/figure7.toml"),
    };
    const NDP_FIG14: Self = Self {
        path: "scenarios/transports/ndp-fig14.toml",
        text: include_str!("../../../../scenarios/transports/ndp-fig14.toml"),
    };

    fn with(self, overrides: &[Override]) -> Result<Scenario, FileError> {
        Scenario::parse(self.text, Path::new(self.path), overrides)
    }

    fn command(self, overrides: &[Override]) -> String {
        let mut words = vec![format!("weir-sim run {}", self.path)];
        words.extend(overrides.iter().map(|change| format!("--set '{change}'")));
        words.join(" ")
    }
}

fn json(value: &serde_json::Value) -> String {
    // Plain values can be written.
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}
