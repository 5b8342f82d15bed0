//! Writes the rules and dashboards for operators, the book's rows of metrics, the OpenAPI document and its table.

use std::path::Path;

use anyhow::{Context, Error, Result};
use weir_api::routes::{book, openapi};

use crate::build;

/// Writes every generated file below `directory`; `book` is the base URL of the alerts' runbooks.
pub fn write(directory: &Path, book: &str) -> Result<()> {
    for (name, text) in weir_monitoring::files(book) {
        let path = directory.join(&name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).with_context(|| parent.display().to_string())?;
        }
        std::fs::write(&path, text).with_context(|| path.display().to_string())?;
        println!("{name}");
    }
    let document = build::root().join(openapi::COMMITTED);
    std::fs::write(&document, openapi::json()).with_context(|| document.display().to_string())?;
    println!("{}", document.display());
    update(
        "docs/src/operations/metrics.md",
        weir_monitoring::book::updated,
    )?;
    update(book::PAGE, book::updated)
}

fn update(path: &str, updated: impl Fn(&str) -> Result<String, String>) -> Result<()> {
    let path = build::root().join(path);
    let page = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let page = updated(&page).map_err(Error::msg)?;
    std::fs::write(&path, page).with_context(|| path.display().to_string())?;
    println!("{}", path.display());
    Ok(())
}
