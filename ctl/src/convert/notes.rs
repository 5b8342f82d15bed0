//! Messages about a conversion.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::known::is_beside;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// It has no counterpart.
    NotCarried,
    /// It has another meaning or value here.
    Changed,
    /// The file has no value.
    Assumed,
    /// This program does not support it.
    Unknown,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Self::NotCarried => "not-carried",
            Self::Changed => "changed",
            Self::Assumed => "assumed",
            Self::Unknown => "unknown",
        }
    }
}

/// A remark about one entry of the file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Note {
    /// `TABLE|key.field`.
    pub path: String,
    pub kind: Kind,
    /// Reason and remedy.
    pub message: String,
}

/// Importance of a note for a reader: effects on frames come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Weight {
    /// Unknown effect.
    Unknown,
    /// Unsupported by the switch.
    Missing,
    /// A different threshold or weight.
    Changed,
    /// To be verified by the user.
    Assumed,
    /// No effect on the switch.
    Beside,
}

impl Note {
    fn weight(&self) -> Weight {
        match self.kind {
            Kind::Unknown => Weight::Unknown,
            Kind::NotCarried if is_beside(&self.message) => Weight::Beside,
            Kind::NotCarried => Weight::Missing,
            Kind::Changed => Weight::Changed,
            Kind::Assumed => Weight::Assumed,
        }
    }

    fn place(&self) -> (&str, &str, &str) {
        let (table, rest) = self.path.split_once('|').unwrap_or((&self.path, ""));
        let is_field = |name: &str| name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        match rest.rsplit_once('.') {
            Some((row, field)) if is_field(field) => (table, row, field),
            _ => (table, rest, ""),
        }
    }
}

/// Formats notes as lines, `PATH: MESSAGE (kind)`, the most important first. Equal messages about several rows or fields of
/// a table share a line: `8 rows of PORT: index, lanes: MESSAGE (kind)`.
pub fn lines(notes: &[Note]) -> Vec<String> {
    type Group<'a> = (Weight, &'a str, Kind, &'a str);
    let mut groups: BTreeMap<Group<'_>, Vec<&Note>> = BTreeMap::new();
    for note in notes {
        let group = (note.weight(), note.place().0, note.kind, &*note.message);
        groups.entry(group).or_default().push(note);
    }
    let line = |((_, table, kind, message), notes): (Group<'_>, Vec<&Note>)| {
        let path = match notes.as_slice() {
            [note] => note.path.clone(),
            notes => together(table, notes),
        };
        super::plain(&format!("{path}: {message} ({})", kind.name()))
    };
    groups.into_iter().map(line).collect()
}

fn together(table: &str, notes: &[&Note]) -> String {
    let rows: BTreeSet<&str> = notes.iter().map(|note| note.place().1).collect();
    let fields: BTreeSet<&str> = notes.iter().map(|note| note.place().2).collect();
    let fields: Vec<&str> = fields
        .into_iter()
        .filter(|field| !field.is_empty())
        .collect();
    let rows: Vec<&str> = rows.into_iter().collect();
    let place = match rows.as_slice() {
        [""] => table.to_owned(),
        [row] => format!("{table}|{row}"),
        rows if table == "PORT" => format!("{} ports", rows.len()),
        rows => format!("{} rows of {table}", rows.len()),
    };
    match fields.is_empty() {
        true => place,
        false => format!("{place}: {}", fields.join(", ")),
    }
}

/// `12 changed, 1 unknown`, in the order of [`lines`].
pub fn summary(notes: &[Note]) -> String {
    let kinds = [
        Kind::Unknown,
        Kind::Changed,
        Kind::Assumed,
        Kind::NotCarried,
    ];
    let counts = kinds.into_iter().filter_map(|kind| {
        let count = notes.iter().filter(|note| note.kind == kind).count();
        (count > 0).then(|| format!("{count} {}", kind.name()))
    });
    counts.collect::<Vec<_>>().join(", ")
}

/// Reason for refusing a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Problem {
    pub path: String,
    /// The error, and the valid values.
    pub message: String,
}

/// Notes and problems, without duplicates, in the order of their paths.
#[derive(Debug, Default)]
pub struct Report {
    notes: RefCell<BTreeSet<Note>>,
    problems: RefCell<BTreeSet<Problem>>,
    named: RefCell<BTreeSet<String>>,
}

impl Report {
    pub fn note(&self, kind: Kind, path: impl Into<String>, message: impl Into<String>) {
        self.notes.borrow_mut().insert(Note {
            path: path.into(),
            kind,
            message: message.into(),
        });
    }

    /// Adds a problem, which prevents any output.
    pub fn refuse(&self, path: impl Into<String>, message: impl Into<String>) {
        self.problems.borrow_mut().insert(Problem {
            path: path.into(),
            message: message.into(),
        });
    }

    /// Records that a converted entry names the row `path`.
    pub fn name(&self, path: String) {
        self.named.borrow_mut().insert(path);
    }

    pub fn is_named(&self, path: &str) -> bool {
        self.named.borrow().contains(path)
    }

    pub fn into_parts(self) -> (Vec<Note>, Vec<Problem>) {
        let notes = self.notes.into_inner();
        let problems = self.problems.into_inner();
        (notes.into_iter().collect(), problems.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_matters_comes_first_and_what_repeats_is_one_line() {
        let report = Report::default();
        for port in ["Ethernet0", "Ethernet4"] {
            for field in ["lanes", "index"] {
                let message = "belongs to the device: set it with ip link or ethtool";
                report.note(Kind::NotCarried, format!("PORT|{port}.{field}"), message);
            }
        }
        report.note(
            Kind::Changed,
            "SCHEDULER|scheduler.6.type",
            "there is no strict priority",
        );
        report.note(
            Kind::NotCarried,
            "SCHEDULER|scheduler.6",
            "queues have weights only",
        );
        report.note(
            Kind::NotCarried,
            "SCHEDULER|scheduler.7",
            "queues have weights only",
        );
        report.note(Kind::Unknown, "FLUX", "unknown table");
        let (notes, _) = report.into_parts();
        assert_eq!(
            lines(&notes),
            [
                "FLUX: unknown table (unknown)",
                "2 rows of SCHEDULER: queues have weights only (not-carried)",
                "SCHEDULER|scheduler.6.type: there is no strict priority (changed)",
                "2 ports: index, lanes: belongs to the device: set it with ip link or ethtool (not-carried)",
            ]
        );
        assert_eq!(summary(&notes), "1 unknown, 1 changed, 6 not-carried");
    }
}
