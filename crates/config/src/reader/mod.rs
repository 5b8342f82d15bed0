//! Reads a document key by key, and collects all problems.

mod suggest;
mod unique;

use std::cell::RefCell;
use std::fmt;
use std::path::{Path, PathBuf};

use weir_core::{BitRate, Bytes, Duration, MacAddress, PartsPerMillion};

use crate::document::{Item, Origin, Value};
use crate::fraction::{parse_fraction, Fraction};
use crate::units;
pub(crate) use suggest::unknown;
pub(crate) use unique::Names;

/// One problem of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Line in the file, from 1; `None` for values of the command line and missing ones.
    pub line: Option<usize>,
    /// The key with its path, such as `class.lossless.xoff`; may be empty.
    pub key: String,
    /// The problem, and the legal values.
    pub message: String,
}

/// All problems of a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct FileError {
    /// The file.
    pub path: PathBuf,
    /// At least one, in the order of the file.
    pub problems: Vec<Problem>,
    /// Values set on the command line, as `PATH=VALUE`, if they are the cause: the file is valid without them.
    pub set: Vec<String>,
}

impl FileError {
    /// Error for a file that cannot be read.
    pub fn unreadable(path: &Path, error: &std::io::Error) -> Self {
        let message = error.to_string();
        Self::of(
            path,
            vec![Problem {
                line: None,
                key: String::new(),
                message,
            }],
        )
    }

    pub(crate) fn of(path: &Path, problems: Vec<Problem>) -> Self {
        Self {
            path: path.to_owned(),
            problems,
            set: Vec::new(),
        }
    }

    /// Location of a problem: file and line, or the value of the command line.
    fn place(&self, problem: &Problem) -> String {
        if self.set.is_empty() {
            let file = self.path.display();
            return match problem.line {
                Some(line) => format!("{file}:{line}"),
                None => file.to_string(),
            };
        }
        let names = |set: &&String| {
            let path = set.split('=').next().unwrap_or_default();
            problem.key == *path
                || problem.key == **set
                || problem.key.starts_with(&format!("{path}."))
        };
        // A contradiction with a value of the file is reported under the file's key.
        let named: Vec<&str> = self.set.iter().filter(names).map(String::as_str).collect();
        let blamed = match named.is_empty() {
            true => self.set.iter().map(String::as_str).collect(),
            false => named,
        };
        format!("--set {}", blamed.join(", --set "))
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            write!(f, "{}: ", self.place(problem))?;
            if !problem.key.is_empty() && !self.set.contains(&problem.key) {
                write!(f, "{}: ", problem.key)?;
            }
            write!(f, "{}", problem.message)?;
        }
        Ok(())
    }
}

/// Collects problems.
#[derive(Debug, Default)]
pub(crate) struct Problems(RefCell<Vec<Problem>>);

impl Problems {
    pub(crate) fn add(
        &self,
        line: Option<usize>,
        key: impl Into<String>,
        message: impl Into<String>,
    ) {
        self.0.borrow_mut().push(Problem {
            line,
            key: key.into(),
            message: message.into(),
        });
    }

    pub(crate) fn push(&self, problem: Problem) {
        self.0.borrow_mut().push(problem);
    }

    pub(crate) fn any(&self) -> bool {
        !self.0.borrow().is_empty()
    }

    /// In the order of the file; problems without a line come last.
    pub(crate) fn into_sorted(self) -> Vec<Problem> {
        let mut problems = self.0.into_inner();
        problems.sort_by_key(|problem| problem.line.unwrap_or(usize::MAX));
        // A table that is opened twice reports twice.
        let mut told: Vec<Problem> = Vec::with_capacity(problems.len());
        for problem in problems {
            if !told.contains(&problem) {
                told.push(problem);
            }
        }
        told
    }
}

/// A table that is being read. Its legal keys are given when it is opened; all others are refused then.
pub(crate) struct Table<'a> {
    entries: &'a [(String, Item)],
    path: String,
    line: Option<usize>,
    problems: &'a Problems,
}

impl<'a> Table<'a> {
    /// Opens `item`, which must be a table, and refuses keys that are not in `legal`.
    pub(crate) fn open(
        item: &'a Item,
        path: impl Into<String>,
        legal: &[&str],
        problems: &'a Problems,
    ) -> Option<Self> {
        let path = path.into();
        let line = line_of(item);
        let Value::Table(entries) = &item.value else {
            problems.add(
                line,
                path,
                format!("expected a table, found {}", item.value.kind()),
            );
            return None;
        };
        let table = Self {
            entries,
            path,
            line,
            problems,
        };
        for (key, item) in entries {
            if !legal.contains(&key.as_str()) {
                problems.add(
                    line_of(item),
                    table.key_path(key),
                    unknown("key", key, legal),
                );
            }
        }
        Some(table)
    }

    /// The line of the table's header.
    pub(crate) fn line(&self) -> Option<usize> {
        self.line
    }

    /// Its path in the document, such as `flow.a`.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    pub(crate) fn problems(&self) -> &'a Problems {
        self.problems
    }

    /// The path of a key of this table.
    pub(crate) fn key_path(&self, key: &str) -> String {
        if self.path.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.path)
        }
    }

    /// The line of a key, or of the table if the key is missing.
    pub(crate) fn line_of(&self, key: &str) -> Option<usize> {
        self.item(key).map_or(self.line, line_of)
    }

    /// Returns true if the key's value is exactly this text.
    pub(crate) fn is_text(&self, key: &str, text: &str) -> bool {
        self.item(key)
            .is_some_and(|item| matches!(&item.value, Value::Text(value) if value == text))
    }

    pub(crate) fn complain(&self, key: &str, message: impl Into<String>) {
        self.problems
            .add(self.line_of(key), self.key_path(key), message);
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.item(key).is_some()
    }

    /// The value of `key`; `None` if it is missing, or invalid (which is reported).
    pub(crate) fn get<T: FromItem>(&self, key: &str) -> Option<T> {
        let item = self.item(key)?;
        match T::from_item(item) {
            Ok(value) => Some(value),
            Err(message) => {
                self.complain(key, message);
                None
            }
        }
    }

    /// As [`get`](Self::get), but reports a missing key.
    pub(crate) fn require<T: FromItem>(&self, key: &str) -> Option<T> {
        self.miss(key, T::EXAMPLE);
        self.get(key)
    }

    /// Reports that the key is missing.
    pub(crate) fn miss(&self, key: &str, example: &str) {
        if !self.has(key) {
            let message = format!("missing; write {example}");
            self.problems.add(self.line, self.key_path(key), message);
        }
    }

    /// As [`get`](Self::get), with `default` for a missing key.
    pub(crate) fn get_or<T: FromItem>(&self, key: &str, default: T) -> T {
        self.get(key).unwrap_or(default)
    }

    /// One of the words in `choices`.
    pub(crate) fn choice<T: Copy>(&self, key: &str, choices: &[(&str, T)]) -> Option<T> {
        let word: String = self.get(key)?;
        let found = choices.iter().find(|(name, _)| *name == word);
        if found.is_none() {
            let legal: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
            self.complain(key, unknown("value", &word, &legal));
        }
        found.map(|(_, value)| *value)
    }

    /// A table under `key`.
    pub(crate) fn table(&self, key: &str, legal: &[&str]) -> Option<Table<'a>> {
        Table::open(self.item(key)?, self.key_path(key), legal, self.problems)
    }

    /// The tables of the array `key`, identified by name, or by index if they have none.
    pub(crate) fn tables(&self, key: &str, legal: &[&str]) -> Vec<Table<'a>> {
        let Some(item) = self.item(key) else {
            return Vec::new();
        };
        let Value::Array(elements) = &item.value else {
            self.complain(key, format!("write [[{key}]] for each one"));
            return Vec::new();
        };
        elements
            .iter()
            .enumerate()
            .filter_map(|(index, element)| {
                let name = element_name(element).unwrap_or_else(|| index.to_string());
                let path = format!("{}.{name}", self.key_path(key));
                Table::open(element, path, legal, self.problems)
            })
            .collect()
    }

    /// Keys and lines of a table with arbitrary keys.
    pub(crate) fn free_table(&self, key: &str) -> Vec<(&'a str, &'a Item)> {
        match self.item(key).map(|item| &item.value) {
            Some(Value::Table(entries)) => entries
                .iter()
                .map(|(key, item)| (key.as_str(), item))
                .collect(),
            Some(other) => {
                self.complain(key, format!("expected a table, found {}", other.kind()));
                Vec::new()
            }
            None => Vec::new(),
        }
    }

    pub(crate) fn is_array(&self, key: &str) -> bool {
        self.item(key)
            .is_some_and(|item| matches!(item.value, Value::Array(_)))
    }

    /// The elements of the array `key`; empty if it is missing or not an array (which is reported).
    pub(crate) fn elements(&self, key: &str) -> &'a [Item] {
        match self.item(key).map(|item| &item.value) {
            Some(Value::Array(elements)) => elements,
            Some(other) => {
                let message = format!("expected an array [ … ], found {}", other.kind());
                self.complain(key, message);
                &[]
            }
            None => &[],
        }
    }

    /// The value of `key` as written.
    pub(crate) fn item(&self, key: &str) -> Option<&'a Item> {
        self.entries
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, item)| item)
    }
}

/// An integer from `least` to `most`.
pub(crate) fn within(table: &Table<'_>, key: &str, least: u64, most: u64) -> Option<u64> {
    let value: u64 = table.get(key)?;
    if (least..=most).contains(&value) {
        return Some(value);
    }
    table.complain(key, format!("{value} is not between {least} and {most}"));
    None
}

pub(crate) fn line_of(item: &Item) -> Option<usize> {
    match item.origin {
        Origin::Line(line) => Some(line),
        Origin::Override => None,
    }
}

fn element_name(item: &Item) -> Option<String> {
    let Value::Table(entries) = &item.value else {
        return None;
    };
    entries.iter().find_map(|(key, item)| match &item.value {
        Value::Text(text) if key == "name" => Some(text.clone()),
        _ => None,
    })
}

/// A type of values. Errors describe the problem and the legal values.
pub(crate) trait FromItem: Sized {
    /// For "missing; write …".
    const EXAMPLE: &'static str;
    fn from_item(item: &Item) -> Result<Self, String>;
}

impl FromItem for String {
    const EXAMPLE: &'static str = "text in quotes";
    fn from_item(item: &Item) -> Result<Self, String> {
        match &item.value {
            Value::Text(text) => Ok(text.clone()),
            other => Err(format!("expected text in quotes, found {}", other.kind())),
        }
    }
}

impl FromItem for bool {
    const EXAMPLE: &'static str = "true or false";
    fn from_item(item: &Item) -> Result<Self, String> {
        match &item.value {
            Value::Boolean(flag) => Ok(*flag),
            other => Err(format!("expected true or false, found {}", other.kind())),
        }
    }
}

impl FromItem for u64 {
    const EXAMPLE: &'static str = "a whole number";
    fn from_item(item: &Item) -> Result<Self, String> {
        match &item.value {
            Value::Integer(number) => {
                u64::try_from(*number).map_err(|_| format!("{number} is negative"))
            }
            other => Err(format!("expected a whole number, found {}", other.kind())),
        }
    }
}

impl FromItem for Fraction {
    const EXAMPLE: &'static str = "a number such as 0.25";
    fn from_item(item: &Item) -> Result<Self, String> {
        let text = match &item.value {
            Value::Integer(number) => number.to_string(),
            Value::Float(text) | Value::Text(text) => text.clone(),
            other => {
                return Err(format!(
                    "expected a number such as 0.25, found {}",
                    other.kind()
                ))
            }
        };
        parse_fraction(&text).map_err(|error| error.to_string())
    }
}

impl<T: FromItem> FromItem for Vec<T> {
    const EXAMPLE: &'static str = "an array such as [ … ]";
    fn from_item(item: &Item) -> Result<Self, String> {
        match &item.value {
            Value::Array(elements) => elements.iter().map(T::from_item).collect(),
            other => Err(format!("expected an array [ … ], found {}", other.kind())),
        }
    }
}

/// The last unit is the likely unit of a bare number.
macro_rules! with_unit {
    ($type:ty, $parse:path, $example:literal, $unit:literal) => {
        impl FromItem for $type {
            const EXAMPLE: &'static str = concat!("text with a unit such as \"", $example, "\"");
            fn from_item(item: &Item) -> Result<Self, String> {
                match &item.value {
                    Value::Text(text) => $parse(text).map_err(|error| error.to_string()),
                    Value::Integer(number) => {
                        let written = format!("{number}{}", $unit);
                        let example = match $parse(&written) {
                            Ok(_) if !$unit.is_empty() => written,
                            _ => $example.to_owned(),
                        };
                        Err(format!(
                            "{number} has no unit; write text such as \"{example}\""
                        ))
                    }
                    other => Err(format!(
                        "expected text such as \"{}\", found {}",
                        $example,
                        other.kind()
                    )),
                }
            }
        }
    };
}

with_unit!(BitRate, units::parse_rate, "100Mbit", "");
with_unit!(Bytes, units::parse_size, "64KiB", "B");
with_unit!(Duration, units::parse_duration, "20ms", "ms");
with_unit!(PartsPerMillion, units::parse_probability, "1%", "%");
with_unit!(
    MacAddress,
    str::parse::<MacAddress>,
    "02:00:00:00:00:01",
    ""
);
