//! TOML to [`Sweep`].

use std::collections::BTreeSet;
use std::path::Path;

use super::amount::Amount;
use super::ranges::{ranged, Given, Hypercube};
use super::{Level, Parameter, Seeds, Sweep, Tables, ValueKind, RUN_COUNT_MAX};
use crate::document::{self, Item, Value};
use crate::names::check_name;
use crate::reader::{line_of, within, FromItem, Names, Problem, Problems, Table};
use crate::Override;

/// All keys by table, for the reader and for the documentation's test.
pub const KEYS: &[(&str, &[&str])] = &[
    (
        "",
        &[
            "name",
            "description",
            "scenario",
            "set",
            "seeds",
            "tables",
            "latin-hypercube",
            "parameter",
        ],
    ),
    ("latin-hypercube", &["samples", "seed"]),
    (
        "parameter",
        &[
            "key", "name", "values", "choices", "from", "to", "step", "steps", "scale",
        ],
    ),
    ("choices", &["name", "set"]),
];

/// The scenario's key that cannot be a parameter.
const SEED: &str = "seed";

pub(super) fn keys(table: &str) -> &'static [&'static str] {
    let found = KEYS.iter().find(|(name, _)| *name == table);
    found.map_or(&[], |(_, keys)| keys)
}

pub(super) fn names_a_scenario(text: &str) -> bool {
    match document::parse(text).map(|root| root.value) {
        Ok(Value::Table(entries)) => entries.iter().any(|(key, _)| key == "scenario"),
        _ => false,
    }
}

pub(super) fn sweep(text: &str, path: &Path) -> Result<Sweep, Vec<Problem>> {
    let root = document::parse(text)?;
    let problems = Problems::default();
    let sweep = Table::open(&root, "", keys(""), &problems).and_then(|table| read(&table, path));
    match sweep {
        Some(sweep) if !problems.any() => Ok(sweep),
        _ => Err(problems.into_sorted()),
    }
}

fn read(root: &Table<'_>, path: &Path) -> Option<Sweep> {
    let name: Option<String> = root.require("name");
    if let Some(name) = &name {
        check_name(root, "name", name);
    }
    let scenario: Option<String> = root.require("scenario");
    let set = set(root, "set");
    if let Some((_, line)) = set.iter().find(|(change, _)| change.key() == SEED) {
        let message = "sets the seed; write seeds = [ … ]";
        root.problems().add(*line, "set", message);
    }
    let hypercube = Hypercube::read(root);
    let names = Names::default();
    let parameters: Vec<Option<Parameter>> = root
        .tables("parameter", keys("parameter"))
        .iter()
        .enumerate()
        .map(|(place, table)| parameter(table, place as u64, hypercube.as_ref(), &names))
        .collect();
    let parameters: Vec<Parameter> = parameters.into_iter().collect::<Option<_>>()?;
    if hypercube.is_some() && !parameters.iter().any(|one| one.is_sampled) {
        root.complain(
            "latin-hypercube",
            "has nothing to draw: give a parameter `from` and `to` without `step` and `steps`",
        );
    }
    let sweep = Sweep {
        path: path.to_owned(),
        name: name?,
        description: root.get_or("description", String::new()),
        scenario: path.parent().unwrap_or(Path::new("")).join(scenario?),
        set,
        parameters,
        samples: hypercube.map_or(1, |one| one.samples as usize),
        seeds: seeds(root)?,
        tables: tables(root),
    };
    check_count(root, &sweep);
    Some(sweep)
}

/// Such a number is surely unintended, and a list of the runs would not fit memory.
fn check_count(root: &Table<'_>, sweep: &Sweep) {
    let levels = sweep.grid().map(|one| one.levels.len() as u64);
    let count = levels.fold(sweep.seeds.count(), u64::saturating_mul);
    let count = count.saturating_mul(sweep.samples as u64);
    if count > RUN_COUNT_MAX {
        let message = format!(
            "{count} runs; the maximum is {RUN_COUNT_MAX}: use fewer values, samples or seeds"
        );
        root.problems().add(None, "", message);
    }
}

fn seeds(root: &Table<'_>) -> Option<Seeds> {
    if !root.has("seeds") {
        return Some(Seeds::Count(1));
    }
    if root.is_array("seeds") {
        let seeds: Vec<u64> = root.get("seeds")?;
        if seeds.is_empty() {
            root.complain(
                "seeds",
                "is empty; write seeds such as [1, 2, 3], or their number",
            );
        }
        let mut sorted = seeds.clone();
        sorted.sort_unstable();
        if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            root.complain("seeds", format!("{} is listed twice; keep one", twice[0]));
        }
        return Some(Seeds::These(seeds));
    }
    within(root, "seeds", 1, RUN_COUNT_MAX).map(Seeds::Count)
}

fn tables(root: &Table<'_>) -> Tables {
    let mut tables = Tables::default();
    for word in root.get_or::<Vec<String>>("tables", Vec::new()) {
        match word.as_str() {
            "flows" => tables.flows = true,
            "ports" => tables.ports = true,
            _ => {
                let message = crate::reader::unknown("table", &word, &["flows", "ports"]);
                root.complain("tables", message);
            }
        }
    }
    tables
}

/// An array of `PATH=VALUE`, each with its line.
fn set(table: &Table<'_>, key: &str) -> Vec<(Override, Option<usize>)> {
    let mut all = Vec::new();
    for item in table.elements(key) {
        let change = String::from_item(item).and_then(|text| text.parse());
        match change {
            Ok(change) => all.push((change, line_of(item))),
            Err(message) => table
                .problems()
                .add(line_of(item), table.key_path(key), message),
        }
    }
    all
}

fn parameter(
    table: &Table<'_>,
    place: u64,
    hypercube: Option<&Hypercube>,
    names: &Names,
) -> Option<Parameter> {
    let key: Option<String> = table.get("key");
    let name = table.get("name").or(key.clone());
    let Some(name) = name else {
        table.miss(
            "key",
            "a key of the scenario such as \"class.lossless.xoff\"",
        );
        return None;
    };
    names.note(table, if table.has("name") { "name" } else { "key" }, &name);
    if key.as_deref() == Some(SEED) {
        table.complain(
            "key",
            "sets the seed; write seeds = [ … ] instead of a parameter",
        );
    }
    let forms = ["values", "choices", "from"].map(|form| table.has(form));
    match forms.iter().filter(|has| **has).count() {
        1 => {}
        0 => {
            let message = "has no values; write `values`, `choices`, or `from` and `to`";
            table.problems().add(table.line(), table.path(), message);
            return None;
        }
        _ => {
            let message = "has more than one of `values`, `choices` and `from`; keep one";
            table.problems().add(table.line(), table.path(), message);
            return None;
        }
    }
    if !forms[2] {
        for key in ["to", "step", "steps", "scale"] {
            if table.has(key) {
                table.complain(
                    key,
                    "belongs to a range; write `from` as well, or remove it",
                );
            }
        }
    }
    if forms[1] {
        if key.is_some() {
            table.complain("key", "is set by each of `choices`; write `name` instead");
        }
        let levels = choices(table)?;
        return Some(Parameter {
            name,
            line: table.line(),
            levels,
            is_sampled: false,
            kind: ValueKind::Text,
            unit: None,
        });
    }
    let Some(key) = key else {
        table.miss(
            "key",
            "a key of the scenario such as \"class.lossless.xoff\"",
        );
        return None;
    };
    if let Err(message) = format!("{key}=1").parse::<Override>() {
        table.complain("key", message);
        return None;
    }
    let given = if forms[0] {
        listed(table, &key)
    } else {
        ranged(table, &key, place, hypercube)
    }?;
    Some(Parameter {
        name,
        line: table.line(),
        levels: given.levels,
        is_sampled: given.is_sampled,
        kind: given.kind,
        unit: given.unit,
    })
}

fn choices(table: &Table<'_>) -> Option<Vec<Level>> {
    let names = Names::default();
    let tables = table.tables("choices", keys("choices"));
    if tables.is_empty() {
        table.complain(
            "choices",
            "is empty; write { name = …, set = [ … ] } for each one",
        );
    }
    let level = |choice: &Table<'_>| {
        let text: String = choice.require("name")?;
        names.note(choice, "name", &text);
        choice.miss(
            "set",
            "an array of PATH=VALUE, empty for the scenario as it is",
        );
        let set: Vec<Override> = set(choice, "set").into_iter().map(|(one, _)| one).collect();
        if set.iter().any(|change| change.key() == SEED) {
            choice.complain("set", "sets the seed; write seeds = [ … ] at the top");
        }
        Some(Level {
            text,
            number: None,
            set,
        })
    };
    tables.iter().map(level).collect()
}

/// `values`.
fn listed(table: &Table<'_>, key: &str) -> Option<Given> {
    let items = table.elements("values");
    if items.is_empty() {
        table.complain("values", "is empty; write at least one");
        return None;
    }
    let mut levels: Vec<Level> = Vec::with_capacity(items.len());
    let mut known = BTreeSet::new();
    for item in items {
        let refuse = |message: String| {
            let path = table.key_path("values");
            table.problems().add(line_of(item), path, message);
        };
        match level(key, item) {
            Ok(level) if !known.insert(level.text.clone()) => {
                refuse(format!("`{}` is listed twice; keep one", level.text));
                return None;
            }
            Ok(level) => levels.push(level),
            Err(message) => {
                refuse(message);
                return None;
            }
        }
    }
    let kinds = items.iter().map(|item| match &item.value {
        Value::Integer(_) => ValueKind::Integer,
        Value::Float(_) => ValueKind::Number,
        Value::Boolean(_) => ValueKind::Boolean,
        _ => ValueKind::Text,
    });
    let kind = common(kinds).unwrap_or(ValueKind::Text);
    let units = items.iter().map(|item| match &item.value {
        Value::Text(text) => Amount::with_unit(text).and_then(|amount| amount.kind.unit()),
        _ => None,
    });
    let unit = common(units).flatten();
    if kind == ValueKind::Text && unit.is_none() {
        levels.iter_mut().for_each(|level| level.number = None);
    }
    Some(Given {
        levels,
        is_sampled: false,
        kind,
        unit,
    })
}

/// The common value of all, if they are equal.
fn common<T: PartialEq>(mut all: impl Iterator<Item = T>) -> Option<T> {
    let first = all.next()?;
    all.all(|one| one == first).then_some(first)
}

fn level(key: &str, item: &Item) -> Result<Level, String> {
    let (text, change) = match &item.value {
        Value::Text(text) => (text.clone(), Override::of_text(key, text)?),
        Value::Integer(number) => (number.to_string(), format!("{key}={number}").parse()?),
        Value::Float(text) => (text.clone(), format!("{key}={text}").parse()?),
        Value::Boolean(flag) => (flag.to_string(), format!("{key}={flag}").parse()?),
        other => {
            return Err(format!(
                "expected text, a number, true or false, found {}; for several keys at a time write `choices`",
                other.kind()
            ))
        }
    };
    let number = match &item.value {
        Value::Text(text) => Amount::with_unit(text).map(Amount::as_f64),
        Value::Integer(number) => Some(*number as f64),
        Value::Float(text) => text.replace('_', "").parse().ok(),
        _ => None,
    };
    Ok(Level {
        text,
        number,
        set: vec![change],
    })
}
