//! Where a scenario or sweep comes from.

use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use weir_config::scenario::{Additions, Scenario};
use weir_config::{FileError, Override};

use crate::error::{wrong, Error};

/// A file, or its contents and a name for messages. Other files named in it are relative to it, or to the working directory.
#[derive(Debug, FromPyObject)]
pub struct Source(Option<String>, PathBuf);

impl Source {
    /// The file, or the name.
    pub fn path(&self) -> &Path {
        &self.1
    }

    /// The contents.
    pub fn text(&self, py: Python<'_>) -> PyResult<String> {
        if let Some(text) = &self.0 {
            return Ok(text.clone());
        }
        std::fs::read_to_string(&self.1)
            .map_err(|error| wrong(py, &FileError::unreadable(&self.1, &error)))
    }

    /// Reads and checks a scenario.
    pub fn scenario(
        &self,
        py: Python<'_>,
        overrides: &[Override],
        additions: &Additions,
    ) -> PyResult<Scenario> {
        let text = self.text(py)?;
        let parsed = py.detach(|| Scenario::parse_with(&text, &self.1, overrides, additions));
        parsed.map_err(|error| wrong(py, &error))
    }
}

/// Parses settings `PATH=VALUE`.
pub fn overrides(settings: &[String]) -> PyResult<Vec<Override>> {
    let parse = |text: &String| text.parse::<Override>().map_err(Error::new_err);
    settings.iter().map(parse).collect()
}
