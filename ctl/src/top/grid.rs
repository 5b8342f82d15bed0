//! Rows of cells that can be sorted by any column, whatever they show.

use std::cmp::Ordering;

/// How a cell stands out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// Not at all.
    Plain,
    /// Worth a look.
    Warn,
    /// Wrong.
    Bad,
}

/// One cell: what is shown, and what counts when rows are sorted.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// The text.
    pub text: String,
    /// For a number; texts are sorted as such.
    pub value: Option<f64>,
    /// How it stands out, beside what it says.
    pub weight: Weight,
}

/// A column's heading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// In its head.
    pub heading: &'static str,
    /// Numbers stand to the right.
    pub right: bool,
}

/// One view's table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grid {
    /// What heads the columns.
    pub columns: Vec<Column>,
    /// The cells, as many as columns in each.
    pub rows: Vec<Vec<Cell>>,
    /// Shown when there are no rows.
    pub nothing: &'static str,
}

/// A text.
pub fn text(text: impl Into<String>) -> Cell {
    Cell {
        text: text.into(),
        value: None,
        weight: Weight::Plain,
    }
}

/// A number as `text` shows it.
pub fn number(value: f64, text: impl Into<String>) -> Cell {
    Cell {
        text: text.into(),
        value: Some(value),
        weight: Weight::Plain,
    }
}

impl Cell {
    /// The same, standing out when `when` holds.
    pub fn marked(mut self, weight: Weight, when: bool) -> Self {
        if when {
            self.weight = weight;
        }
        self
    }
}

impl Grid {
    /// A grid without rows. Headings that begin with `>` are those of numbers.
    pub fn new(headings: &[&'static str], nothing: &'static str) -> Self {
        let columns = headings.iter().map(|heading| Column {
            heading: heading.trim_start_matches('>'),
            right: heading.starts_with('>'),
        });
        Self {
            columns: columns.collect(),
            rows: Vec::new(),
            nothing,
        }
    }

    /// Sorts by a column; equal rows keep their order.
    pub fn sort(&mut self, column: usize, descending: bool) {
        self.rows.sort_by(|a, b| {
            let order = match (a.get(column), b.get(column)) {
                (Some(a), Some(b)) => compare(a, b),
                _ => Ordering::Equal,
            };
            if descending {
                order.reverse()
            } else {
                order
            }
        });
    }

    /// How wide each column is, in characters, where rows have `room` and columns are `spacing` apart: what
    /// does not fit is cut from the right.
    pub fn widths(&self, heads: &[String], room: u16, spacing: u16) -> Vec<u16> {
        let mut left = usize::from(room);
        let columns = heads.iter().enumerate().map(|(index, head)| {
            let cells = self.rows.iter().filter_map(|row| row.get(index));
            let widest = cells.map(|cell| cell.text.chars().count()).max();
            let width = widest.unwrap_or(0).max(head.chars().count()).min(left);
            left = left.saturating_sub(width + usize::from(spacing));
            u16::try_from(width).unwrap_or(u16::MAX)
        });
        columns.collect()
    }
}

fn compare(a: &Cell, b: &Cell) -> Ordering {
    match (a.value, b.value) {
        (Some(a), Some(b)) => a.total_cmp(&b),
        _ => a.text.cmp(&b.text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_sorted_as_numbers() {
        let mut grid = Grid::new(&["port", ">bytes"], "none");
        for (port, bytes) in [("a", 9.0), ("b", 10.0), ("c", 9.0)] {
            grid.rows
                .push(vec![text(port), number(bytes, format!("{bytes} B"))]);
        }
        let order =
            |grid: &Grid| -> String { grid.rows.iter().map(|row| row[0].text.as_str()).collect() };
        grid.sort(1, false);
        assert_eq!(order(&grid), "acb");
        grid.sort(1, true);
        assert_eq!(order(&grid), "bac");
        grid.sort(0, true);
        assert_eq!(order(&grid), "cba");
        let heads = ["port", "bytes"].map(str::to_owned);
        assert_eq!(grid.widths(&heads, 80, 2), [4, 5]);
        assert_eq!(grid.widths(&heads, 8, 2), [4, 2]);
        assert_eq!(grid.widths(&heads, 3, 2), [3, 0]);
    }
}
