//! `weir-sim compare`.

use std::path::Path;

use anyhow::{ensure, Context, Result};
use weir_api::run::{RunResult, RUN_FORMAT};
use weir_results::compare::{compare as lay_side_by_side, Tolerance};

use crate::cli::CompareArguments;

/// Returns true if the two agree.
pub fn compare(arguments: &CompareArguments) -> Result<bool> {
    let (a, b) = (read(&arguments.a)?, read(&arguments.b)?);
    ensure!(
        a.scenario == b.scenario,
        "{} is of scenario `{}`, {} of `{}`: only runs of one scenario can be compared",
        arguments.a.display(),
        a.scenario,
        arguments.b.display(),
        b.scenario
    );
    let tolerance = Tolerance {
        rate: arguments.tolerance / 100.0,
        ..Tolerance::default()
    };
    let comparison = lay_side_by_side(&a, &b, tolerance);
    weir_output::say!("{}", comparison.table())?;
    Ok(comparison.agrees())
}

fn read(path: &Path) -> Result<RunResult> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let result: RunResult = serde_json::from_str(&text)
        .with_context(|| format!("{} is not the result of a run", path.display()))?;
    ensure!(
        result.format == RUN_FORMAT,
        "{} has format {}, this program reads format {RUN_FORMAT}",
        path.display(),
        result.format
    );
    Ok(result)
}
