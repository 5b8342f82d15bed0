//! The matrix as the book has it.

use std::fmt;

/// Rows of checks, columns of kernels.
#[derive(Debug, Default)]
pub struct Table {
    rows: Vec<&'static str>,
    columns: Vec<(String, Vec<String>)>,
}

impl Table {
    /// A table with these rows and no column.
    pub fn new(rows: impl Iterator<Item = &'static str>) -> Self {
        Self {
            rows: rows.collect(),
            columns: Vec::new(),
        }
    }

    /// Begins the column of a kernel.
    pub fn column(&mut self, release: &str) {
        self.columns.push((release.to_owned(), Vec::new()));
    }

    /// Fills the next cell of the last column: the figure of a check that passed.
    pub fn cell(&mut self, figure: Option<&str>) {
        if let Some((_, cells)) = self.columns.last_mut() {
            cells.push(figure.unwrap_or("**failed**").to_owned());
        }
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
            let mut cells = self
                .columns
                .iter()
                .map(|(_, cells)| cells.get(number).map_or("–", |cell| cell));
            line(f, row, &mut cells)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_cell_is_shown_and_one_that_was_not_reached_is_empty() {
        let mut table = Table::new(["loads", "pauses"].into_iter());
        table.column("6.1.0");
        table.cell(Some("3 forms"));
        table.cell(None);
        table.column("7.3.4");
        table.cell(Some("3 forms"));
        assert_eq!(
            table.to_string(),
            "| check | 6.1.0 | 7.3.4 |\n| --- | --- | --- |\n| loads | 3 forms | 3 forms |\n| pauses | **failed** | – |\n"
        );
    }
}
