//! Reads `config_db.json`: tables of rows of fields, nearly all of them text.

use serde_json::{Map, Value};

use super::notes::Report;

/// Upper bound of every size, rate, time and length of a switch, so that sums fit into 64 bits.
const NUMBER_MAX: u64 = 1 << 40;

#[derive(Clone, Copy)]
pub struct Database<'a> {
    tables: &'a Map<String, Value>,
    report: &'a Report,
}

/// One row: `TABLE|key`.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    pub table: &'a str,
    /// Key, such as `Ethernet0|3-4`.
    pub key: &'a str,
    fields: &'a Map<String, Value>,
    database: Database<'a>,
}

impl<'a> Database<'a> {
    /// Returns `None` and adds a problem unless `root` is an object.
    pub fn open(root: &'a Value, report: &'a Report) -> Option<Self> {
        match root {
            Value::Object(tables) => Some(Self { tables, report }),
            other => {
                let message = format!("expected an object of tables, found {}", kind(other));
                report.refuse("", message);
                None
            }
        }
    }

    pub fn report(self) -> &'a Report {
        self.report
    }

    /// Returns the names and contents of all tables.
    pub fn tables(self) -> impl Iterator<Item = (&'a str, &'a Value)> {
        self.tables
            .iter()
            .map(|(name, table)| (name.as_str(), table))
    }

    /// Returns the rows of a table in the order of their keys; skips values that are not rows, see
    /// [`check_shape`](Self::check_shape).
    pub fn rows(self, table: &'a str) -> Vec<Row<'a>> {
        let rows = self.tables.get(table).and_then(Value::as_object);
        rows.into_iter()
            .flatten()
            .filter_map(|(key, fields)| {
                Some(Row {
                    table,
                    key,
                    fields: fields.as_object()?,
                    database: self,
                })
            })
            .collect()
    }

    pub fn row(self, table: &'a str, key: &str) -> Option<Row<'a>> {
        let (key, fields) = self.tables.get(table)?.as_object()?.get_key_value(key)?;
        Some(Row {
            table,
            key,
            fields: fields.as_object()?,
            database: self,
        })
    }

    /// Refuses a table that is not an object of objects.
    pub fn check_shape(self, name: &str, table: &Value) {
        let Value::Object(rows) = table else {
            let message = format!("expected an object of rows, found {}", kind(table));
            return self.report.refuse(name, message);
        };
        for (key, row) in rows {
            if !row.is_object() {
                let message = format!("expected an object of fields, found {}", kind(row));
                self.report.refuse(format!("{name}|{key}"), message);
            }
        }
    }
}

impl<'a> Row<'a> {
    /// `TABLE|key`.
    pub fn path(&self) -> String {
        format!("{}|{}", self.table, self.key)
    }

    /// `TABLE|key.field`.
    pub fn path_of(&self, field: &str) -> String {
        format!("{}.{field}", self.path())
    }

    pub fn database(&self) -> Database<'a> {
        self.database
    }

    pub fn report(&self) -> &'a Report {
        self.database.report
    }

    pub fn fields(&self) -> impl Iterator<Item = &'a str> {
        self.fields.keys().map(String::as_str)
    }

    pub fn has(&self, field: &str) -> bool {
        self.fields.contains_key(field)
    }

    /// Returns text, or a number as text. `None` also for the empty text and for `NULL`, with which SONiC writes no value.
    pub fn text(&self, field: &str) -> Option<String> {
        match self.fields.get(field)? {
            Value::String(text) => {
                let text = text.trim();
                (!text.is_empty() && text != "NULL").then(|| text.to_owned())
            }
            Value::Number(number) => Some(number.to_string()),
            other => {
                let message = format!("expected text, found {}", kind(other));
                self.report().refuse(self.path_of(field), message);
                None
            }
        }
    }

    pub fn number(&self, field: &str) -> Option<u64> {
        self.within(field, 0, NUMBER_MAX)
    }

    pub fn within(&self, field: &str, least: u64, most: u64) -> Option<u64> {
        let text = self.text(field)?;
        let number = text.parse().ok().filter(|n| (least..=most).contains(n));
        if number.is_none() {
            let message = format!("`{text}` is not a whole number from {least} to {most}");
            self.report().refuse(self.path_of(field), message);
        }
        number
    }

    /// Returns the row of `table` that a field names, as `name` or `[TABLE|name]`. Adds a problem if it does not exist.
    pub fn reference(&self, field: &str, table: &'a str) -> Option<Row<'a>> {
        let text = self.text(field)?;
        let bracketed = text.strip_prefix('[').and_then(|t| t.strip_suffix(']'));
        let name = match bracketed {
            None => text.as_str(),
            Some(inside) => match inside.split_once('|') {
                Some((named, name)) if named == table => name,
                _ => {
                    let message = format!("`{text}` is not [{table}|NAME]");
                    self.report().refuse(self.path_of(field), message);
                    return None;
                }
            },
        };
        let row = self.database.row(table, name);
        match &row {
            Some(row) => self.report().name(row.path()),
            None => {
                let message = format!("there is no {table}|{name}");
                self.report().refuse(self.path_of(field), message);
            }
        }
        row
    }

    /// Returns the row as a map of numbers, such as DSCP to traffic class, up to `of` and `to`.
    pub fn map(&self, of: u64, to: u64) -> Vec<(usize, u8)> {
        let mut pairs = Vec::new();
        for field in self.fields().filter(|field| *field != "NULL") {
            match field.parse::<u64>() {
                Ok(from) if from <= of => {
                    pairs.extend(
                        self.within(field, 0, to)
                            .map(|to| (from as usize, to as u8)),
                    );
                }
                _ => {
                    let message = format!("`{field}` is not a whole number from 0 to {of}");
                    self.report().refuse(self.path_of(field), message);
                }
            }
        }
        pairs
    }

    /// Returns the key without the host's name and the ASIC's, which a chassis puts in front (`leaf1|asic0|Ethernet0|3`).
    /// `None` if they differ from `DEVICE_METADATA`.
    pub fn local_key(&self) -> Option<&'a str> {
        let parts: Vec<&str> = self.key.splitn(3, '|').collect();
        let [host, asic, rest] = parts[..] else {
            return Some(self.key);
        };
        if !rest.contains('|') {
            return Some(self.key);
        }
        let device = self.database.row("DEVICE_METADATA", "localhost");
        let is = |field: &str, name: &str| {
            let own = device.and_then(|row| row.text(field));
            own.is_none_or(|own| own.eq_ignore_ascii_case(name))
        };
        (is("hostname", host) && is("asic_name", asic)).then_some(rest)
    }

    /// Returns the ports at the beginning of a key such as `Ethernet0,Ethernet4|3-4`, and the numbers behind them. Adds a
    /// problem for unknown ports.
    pub fn ports_and_numbers(&self, most: usize) -> (Vec<&'a str>, Vec<usize>) {
        let refuse = |message: String| self.report().refuse(self.path(), message);
        let key = self.local_key().unwrap_or(self.key);
        let (names, range) = match key.split_once('|') {
            Some((names, range)) => (names, Some(range)),
            None => (key, None),
        };
        let is_port = |name: &&str| {
            let known = self.database.row("PORT", name).is_some();
            if !known {
                refuse(format!("there is no PORT|{name}"));
            }
            known
        };
        let ports = names.split(',').map(str::trim).filter(is_port).collect();
        let numbers = range.map_or(Vec::new(), |range| {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            match (first.parse::<usize>(), last.parse::<usize>()) {
                (Ok(first), Ok(last)) if first <= last && last <= most => (first..=last).collect(),
                _ => {
                    refuse(format!(
                        "`{range}` is not a number or a range from 0 to {most}"
                    ));
                    Vec::new()
                }
            }
        });
        (ports, numbers)
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
