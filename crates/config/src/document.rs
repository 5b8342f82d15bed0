//! A TOML document as a tree that records the line of each value, and can be overridden from the command line.

use std::fmt;

use toml::de::{DeTable, DeValue};
use toml::Spanned;

use crate::reader::Problem;

/// Origin of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Line of the file, from 1.
    Line(usize),
    /// The command line.
    Override,
}

#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) origin: Origin,
    pub(crate) value: Value,
}

#[derive(Clone, Debug)]
pub(crate) enum Value {
    Text(String),
    Integer(i64),
    /// As written, without rounding.
    Float(String),
    Boolean(bool),
    Array(Vec<Item>),
    /// In the order of the file.
    Table(Vec<(String, Item)>),
    /// A date or time, which no file of ours uses.
    Datetime,
}

impl Value {
    /// Its type, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Integer(_) => "an integer",
            Self::Float(_) => "a float",
            Self::Boolean(_) => "a boolean",
            Self::Array(_) => "an array",
            Self::Table(_) => "a table",
            Self::Datetime => "a date or time",
        }
    }
}

/// One `PATH=VALUE` of the command line: `deadlock.policy=breaker`, `class.lossless.xoff=64KiB`. In an array of tables
/// the element is chosen by its `name`, or by its index from 0 if it has none. An empty value removes the key from the
/// file: `route=`, `flow.a.via=`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    path: Vec<String>,
    value: String,
}

impl std::str::FromStr for Override {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let malformed = || format!("`{text}` is not PATH=VALUE, such as deadlock.policy=breaker");
        let (path, value) = text.split_once('=').ok_or_else(malformed)?;
        let path: Vec<String> = path.split('.').map(|key| key.trim().to_owned()).collect();
        if path.iter().any(String::is_empty) {
            return Err(malformed());
        }
        Ok(Self {
            path,
            value: value.trim().to_owned(),
        })
    }
}

impl Override {
    /// Sets the key at `path`, a dotted path, to text, never another type: text that looks like a number is quoted.
    pub(crate) fn of_text(path: &str, text: &str) -> Result<Self, String> {
        let is_text = matches!(bare_value(text), Value::Text(same) if same == text);
        if text.is_empty() || is_text {
            format!("{path}={text}").parse()
        } else {
            format!("{path}={}", toml::Value::from(text)).parse()
        }
    }

    /// Sets the key at `path` to an integer.
    pub(crate) fn of_number(path: &str, number: u64) -> Self {
        Self {
            path: path.split('.').map(str::to_owned).collect(),
            value: number.to_string(),
        }
    }

    /// The dotted path.
    pub(crate) fn key(&self) -> String {
        self.path.join(".")
    }
}

impl fmt::Display for Override {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.path.join("."), self.value)
    }
}

/// The parser's message for a key or table that already exists; the name is in its span.
const DUPLICATE_KEY: &str = "duplicate key";

/// Parses `text`; problems are about syntax.
pub(crate) fn parse(text: &str) -> Result<Item, Vec<Problem>> {
    let lines = Lines::of(text);
    let (document, errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        return Err(errors
            .into_iter()
            .map(|error| {
                let key = error.span().filter(|_| error.message() == DUPLICATE_KEY);
                let key = key.and_then(|span| text.get(span)).unwrap_or_default();
                Problem {
                    line: error.span().map(|span| lines.of_offset(span.start)),
                    key: key.trim_matches(['"', '\'']).to_owned(),
                    message: match key.is_empty() {
                        true => error.message().to_owned(),
                        false => "appears twice; keep one of the two".to_owned(),
                    },
                }
            })
            .collect());
    }
    Ok(Item {
        origin: Origin::Line(1),
        value: table(&lines, document.get_ref()),
    })
}

/// Applies `change`, creating missing tables on the way. The reader decides later whether the key is legal.
pub(crate) fn apply(root: &mut Item, change: &Override) -> Result<(), Problem> {
    let refuse = |message: String| Problem {
        line: None,
        key: change.to_string(),
        message,
    };
    if change.value.is_empty() {
        return remove(root, change);
    }
    let mut at = root;
    for (depth, key) in change.path.iter().enumerate() {
        let is_last = depth + 1 == change.path.len();
        let kind = at.value.kind();
        match &mut at.value {
            Value::Table(entries) => {
                let index = match entries.iter().position(|(name, _)| name == key) {
                    Some(index) => index,
                    None => {
                        let value = Value::Table(Vec::new());
                        entries.push((
                            key.clone(),
                            Item {
                                origin: Origin::Override,
                                value,
                            },
                        ));
                        entries.len() - 1
                    }
                };
                at = &mut entries[index].1;
            }
            Value::Array(elements) if !is_last => {
                let names: Vec<String> = elements.iter().filter_map(name_of).collect();
                let Some(index) = place(elements, key) else {
                    return Err(refuse(format!(
                        "no `{key}`; there are: {}",
                        names.join(", ")
                    )));
                };
                at = &mut elements[index];
            }
            _ => return Err(refuse(format!("`{key}` cannot be set inside {kind}"))),
        }
    }
    *at = Item {
        origin: Origin::Override,
        value: bare_value(&change.value),
    };
    Ok(())
}

/// Removes the value at `change.path`; a problem if there is none.
fn remove(root: &mut Item, change: &Override) -> Result<(), Problem> {
    let missing = |key: &str| Problem {
        line: None,
        key: change.to_string(),
        message: format!("no `{key}` to remove"),
    };
    let Some((last, way)) = change.path.split_last() else {
        return Ok(());
    };
    let mut at = root;
    for key in way {
        at = match &mut at.value {
            Value::Table(entries) => entries
                .iter_mut()
                .find_map(|(name, item)| (name == key).then_some(item)),
            Value::Array(elements) => place(elements, key).map(|index| &mut elements[index]),
            _ => None,
        }
        .ok_or_else(|| missing(key))?;
    }
    let found = match &mut at.value {
        Value::Table(entries) => entries
            .iter()
            .position(|(name, _)| name == last)
            .map(|index| drop(entries.remove(index))),
        Value::Array(elements) => place(elements, last).map(|index| drop(elements.remove(index))),
        _ => None,
    };
    found.ok_or_else(|| missing(last))
}

/// Index in an array of tables of the element selected by `key`.
fn place(elements: &[Item], key: &str) -> Option<usize> {
    elements
        .iter()
        .position(|element| name_of(element).as_deref() == Some(key))
        .or_else(|| unnamed(elements, key))
}

/// An element without a name is selected by its index from 0, as in messages.
fn unnamed(elements: &[Item], key: &str) -> Option<usize> {
    let index: usize = key.parse().ok()?;
    let element = elements.get(index)?;
    (name_of(element).is_none() && matches!(element.value, Value::Table(_))).then_some(index)
}

fn name_of(item: &Item) -> Option<String> {
    let Value::Table(entries) = &item.value else {
        return None;
    };
    entries.iter().find_map(|(key, item)| match &item.value {
        Value::Text(text) if key == "name" => Some(text.clone()),
        _ => None,
    })
}

/// Text needs no quotes on the command line; everything else is written as in TOML.
fn bare_value(text: &str) -> Value {
    let parsed = DeValue::parse(text)
        .ok()
        .map(|value| convert(&Lines::of(text), &value).value);
    match parsed {
        Some(Value::Datetime) | None => Value::Text(text.to_owned()),
        Some(value) => value,
    }
}

fn table(lines: &Lines, entries: &DeTable<'_>) -> Value {
    let mut out: Vec<(usize, String, Item)> = entries
        .iter()
        .map(|(key, value)| {
            let mut item = convert(lines, value);
            item.origin = Origin::Line(lines.of_offset(key.span().start));
            (key.span().start, key.get_ref().to_string(), item)
        })
        .collect();
    out.sort_by_key(|(start, ..)| *start);
    Value::Table(out.into_iter().map(|(_, key, item)| (key, item)).collect())
}

fn convert(lines: &Lines, value: &Spanned<DeValue<'_>>) -> Item {
    let converted = match value.get_ref() {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map_or_else(|_| Value::Float(number.as_str().to_owned()), Value::Integer),
        DeValue::Float(number) => Value::Float(number.as_str().to_owned()),
        DeValue::Boolean(flag) => Value::Boolean(*flag),
        DeValue::Datetime(_) => Value::Datetime,
        DeValue::Array(elements) => Value::Array(
            elements
                .iter()
                .map(|element| convert(lines, element))
                .collect(),
        ),
        DeValue::Table(entries) => table(lines, entries),
    };
    Item {
        origin: Origin::Line(lines.of_offset(value.span().start)),
        value: converted,
    }
}

/// Ends of the lines of a file, so that looking up a line takes the same time everywhere.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Self {
        let newlines = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Self(newlines.map(|(at, _)| at).collect())
    }

    /// The line of the byte at `offset`, from 1. O(log lines).
    fn of_offset(&self, offset: usize) -> usize {
        1 + self.0.partition_point(|newline| *newline < offset)
    }
}
