//! `switchctl plan --apply`: writes the file with the advice applied, otherwise unchanged.

use std::fs;
use std::path::Path;

use anyhow::{bail, Context, Result};
use toml_edit::{DocumentMut, Item, TableLike, Value};

use crate::result::{Advice, Plan};

/// Maximum number of rounds, since changes can require further ones.
const ROUNDS_MAX: usize = 8;

/// Applies advice until there is none, and writes the resulting file with comments and order kept. `plan` plans for a file's
/// text. Existing files are not overwritten.
///
/// # Errors
///
/// When advice does not end, the resulting file is invalid, or the file's classes are not tables.
pub fn apply(text: &str, plan: impl Fn(&str) -> Result<Plan>, out: &Path) -> Result<()> {
    let name = out.display().to_string();
    if out.exists() {
        bail!("{name} exists; name a new file");
    }
    let mut document: DocumentMut = text.parse()?;
    for _ in 0..ROUNDS_MAX {
        let text = document.to_string();
        let plan = plan(&text).context("the pieces of advice contradict each other")?;
        if plan.advice.is_empty() {
            return fs::write(out, text).context(name);
        }
        for advice in &plan.advice {
            set(&mut document, advice)?;
        }
    }
    bail!("there is still something to change after taking advice {ROUNDS_MAX} times; nothing is written")
}

fn set(document: &mut DocumentMut, advice: &Advice) -> Result<()> {
    let (kind, name) = advice.place();
    let mut entries = entries(document, kind).into_iter();
    let is_named =
        |entry: &&mut dyn TableLike| entry.get("name").and_then(Item::as_str) == Some(name);
    let entry = entries
        .find(is_named)
        .with_context(|| format!("no [[{kind}]] with the name `{name}`"))?;
    let mut value: Value = match advice.value.starts_with('[') {
        true => advice.value.parse()?,
        false => advice.value.as_str().into(),
    };
    match entry.get_mut(advice.key).and_then(Item::as_value_mut) {
        Some(old) => {
            // Keeps the comment behind it.
            *value.decor_mut() = old.decor().clone();
            *old = value;
        }
        None => {
            entry.insert(advice.key, Item::Value(value));
        }
    }
    Ok(())
}

/// Returns the entries of `[[KIND]]`, or of an array of inline tables.
fn entries<'a>(document: &'a mut DocumentMut, kind: &str) -> Vec<&'a mut dyn TableLike> {
    match document.get_mut(kind) {
        Some(Item::ArrayOfTables(tables)) => {
            let each = tables.iter_mut();
            each.map(|table| table as &mut dyn TableLike).collect()
        }
        Some(Item::Value(Value::Array(array))) => {
            let tables = array.iter_mut().filter_map(Value::as_inline_table_mut);
            tables.map(|table| table as &mut dyn TableLike).collect()
        }
        _ => Vec::new(),
    }
}
