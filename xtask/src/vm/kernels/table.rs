//! The matrix in the form of the book.

use std::fmt;

use crate::vm::checks::Outcome;

/// Rows of checks, columns of kernels.
#[derive(Debug, Default)]
pub struct Table {
    rows: Vec<&'static str>,
    columns: Vec<(String, Vec<String>)>,
}

impl Table {
    /// Creates a table with these rows and no column.
    pub fn new(rows: impl Iterator<Item = &'static str>) -> Self {
        Self {
            rows: rows.collect(),
            columns: Vec::new(),
        }
    }

    /// Adds the column of a kernel from the outcomes of its checks.
    pub fn column(&mut self, outcomes: &[Outcome]) {
        let Some(first) = outcomes.first() else {
            return;
        };
        let cell = |row: &&str| match outcomes.iter().find(|it| it.name == *row) {
            None => "–".to_owned(),
            Some(outcome) => outcome.figure.clone().unwrap_or("**failed**".to_owned()),
        };
        let cells = self.rows.iter().map(cell).collect();
        self.columns.push((first.nic.to_string(), cells));
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line =
            |f: &mut fmt::Formatter<'_>, first: &str, cells: &mut dyn Iterator<Item = &str>| {
                write!(f, "| {first} |")?;
                for cell in cells {
                    write!(f, " {cell} |")?;
                }
                writeln!(f)
            };
        line(
            f,
            "check",
            &mut self.columns.iter().map(|(release, _)| &**release),
        )?;
        line(f, "---", &mut self.columns.iter().map(|_| "---"))?;
        for (number, row) in self.rows.iter().enumerate() {
            let mut cells = self.columns.iter().map(|(_, cells)| &*cells[number]);
            line(f, row, &mut cells)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::vm::checks::Verdict;

    #[test]
    fn a_failed_cell_is_shown_and_one_that_was_not_reached_is_empty() {
        let outcome = |release: &'static str, name: &str, figure: Option<&str>| Outcome {
            nic: release.into(),
            name: name.to_owned(),
            figure: figure.map(str::to_owned),
            verdict: match figure {
                Some(_) => Verdict::Passed,
                None => Verdict::Failed("late".to_owned()),
            },
            took: Duration::ZERO,
        };
        let mut table = Table::new(["loads", "pauses"].into_iter());
        table.column(&[
            outcome("6.1.0", "loads", Some("3 forms")),
            outcome("6.1.0", "pauses", None),
        ]);
        table.column(&[outcome("7.3.4", "loads", Some("3 forms"))]);
        assert_eq!(
            table.to_string(),
            "| check | 6.1.0 | 7.3.4 |\n| --- | --- | --- |\n| loads | 3 forms | 3 forms |\n| pauses | **failed** | – |\n"
        );
    }
}
