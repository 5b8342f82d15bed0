//! Exceptions, with the text that `weir-sim` prints behind `error: `.

use std::error::Error as StdError;

use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use weir_config::{told, FileError};

create_exception!(
    weir,
    Error,
    PyException,
    "A scenario, sweep or run has failed."
);
create_exception!(
    weir,
    ScenarioError,
    Error,
    "A scenario or sweep is wrong: a line for each problem, with file, line, key and legal values. `problems` has the same as tuples of line (or None), key and message."
);
create_exception!(
    weir,
    RunError,
    Error,
    "A scenario cannot be simulated, or the simulator has found an error of its own."
);

/// Returns the exception for a wrong file.
pub fn wrong(py: Python<'_>, error: &FileError) -> PyErr {
    let exception = ScenarioError::new_err(told(error));
    let problems: Vec<(Option<usize>, &str, &str)> = error
        .problems
        .iter()
        .map(|problem| (problem.line, &*problem.key, &*problem.message))
        .collect();
    match exception.value(py).setattr("problems", problems) {
        Ok(()) => exception,
        Err(other) => other,
    }
}

/// Returns the exception for a run without a result.
pub fn failed(error: &(dyn StdError + 'static)) -> PyErr {
    RunError::new_err(told(error))
}
