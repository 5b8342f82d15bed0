//! What is told about a conversion.

use std::cell::RefCell;
use std::collections::BTreeSet;

use serde::Serialize;

/// What became of something in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// It has no counterpart.
    NotCarried,
    /// It means something else here, or has another value.
    Changed,
    /// The file does not say it.
    Assumed,
    /// Nobody here knows it.
    Unknown,
}

impl Kind {
    /// As in the JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::NotCarried => "not-carried",
            Self::Changed => "changed",
            Self::Assumed => "assumed",
            Self::Unknown => "unknown",
        }
    }
}

/// Something to know before the result is used.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Note {
    /// `TABLE|key.field`.
    pub path: String,
    /// What became of it.
    pub kind: Kind,
    /// Why, and what to do.
    pub message: String,
}

/// Why a file is refused.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Problem {
    /// `TABLE|key.field`; may be empty.
    pub path: String,
    /// What is wrong, and what would be legal.
    pub message: String,
}

/// Notes and problems, each once and in the order of their paths.
#[derive(Debug, Default)]
pub struct Report {
    notes: RefCell<BTreeSet<Note>>,
    problems: RefCell<BTreeSet<Problem>>,
    named: RefCell<BTreeSet<String>>,
}

impl Report {
    /// Adds a note.
    pub fn note(&self, kind: Kind, path: impl Into<String>, message: impl Into<String>) {
        self.notes.borrow_mut().insert(Note {
            path: path.into(),
            kind,
            message: message.into(),
        });
    }

    /// Adds a problem: nothing is written then.
    pub fn refuse(&self, path: impl Into<String>, message: impl Into<String>) {
        self.problems.borrow_mut().insert(Problem {
            path: path.into(),
            message: message.into(),
        });
    }

    /// Something that is carried over names the row `path`.
    pub fn name(&self, path: String) {
        self.named.borrow_mut().insert(path);
    }

    /// Whether anything does.
    pub fn is_named(&self, path: &str) -> bool {
        self.named.borrow().contains(path)
    }

    /// All notes and problems.
    pub fn into_parts(self) -> (Vec<Note>, Vec<Problem>) {
        let notes = self.notes.into_inner();
        let problems = self.problems.into_inner();
        (notes.into_iter().collect(), problems.into_iter().collect())
    }
}
