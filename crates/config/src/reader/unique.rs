//! Names that must be unique.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::Table;

/// Refuses duplicate names. One instance for each kind of object in a file.
#[derive(Debug, Default)]
pub(crate) struct Names {
    seen: RefCell<BTreeMap<String, Option<usize>>>,
}

impl Names {
    /// Records `name`; reports a duplicate.
    pub(crate) fn note(&self, table: &Table<'_>, key: &str, name: &str) {
        let mut seen = self.seen.borrow_mut();
        if let Some(line) = seen.get(name) {
            let place = line.map_or(String::new(), |line| format!(" in line {line}"));
            table.complain(
                key,
                format!("`{name}` is already used{place}; names must be unique"),
            );
            return;
        }
        seen.insert(name.to_owned(), table.line_of(key));
    }

    /// Records a name without a key: that of something generated from the file.
    pub(crate) fn take(&self, name: &str) {
        self.seen.borrow_mut().insert(name.to_owned(), None);
    }

    pub(crate) fn is_taken(&self, name: &str) -> bool {
        self.seen.borrow().contains_key(name)
    }
}
