//! Tables that can be sorted by any column.

use std::cmp::Ordering;

/// Minimum length of truncated texts.
const TEXT_MIN: usize = 4;

/// Emphasis of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    Plain,
    /// Noteworthy.
    Warn,
    /// The neighbour pauses this port.
    Paused,
    /// This port pauses the neighbour.
    Pausing,
    /// A problem.
    Bad,
}

/// A cell: its text, and the value used for sorting.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    pub text: String,
    /// Short form for narrow columns.
    pub short: Option<String>,
    /// Value for sorting; cells without one are sorted by text.
    pub value: Option<f64>,
    pub weight: Weight,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    pub heading: &'static str,
    /// Short form for narrow columns.
    pub short: &'static str,
    /// Numbers are right-aligned.
    pub right: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grid {
    pub columns: Vec<Column>,
    /// Rows with one cell per column.
    pub rows: Vec<Vec<Cell>>,
    /// Shown when there are no rows.
    pub nothing: &'static str,
}

pub fn text(text: impl Into<String>) -> Cell {
    Cell {
        text: text.into(),
        short: None,
        value: None,
        weight: Weight::Plain,
    }
}

/// Creates a cell for a number with its text.
pub fn number(value: f64, text: impl Into<String>) -> Cell {
    Cell {
        text: text.into(),
        short: None,
        value: Some(value),
        weight: Weight::Plain,
    }
}

impl Cell {
    pub fn or(mut self, short: impl Into<String>) -> Self {
        self.short = Some(short.into());
        self
    }

    /// Returns the cell, emphasised if `when` holds.
    pub fn marked(mut self, weight: Weight, when: bool) -> Self {
        if when {
            self.weight = weight;
        }
        self
    }
}

impl Grid {
    /// Creates a grid without rows. Headings that begin with `>` are for numbers; `|` separates a short form.
    pub fn new(headings: &[&'static str], nothing: &'static str) -> Self {
        let columns = headings.iter().map(|heading| {
            let text = heading.trim_start_matches('>');
            let (long, short) = text.split_once('|').unwrap_or((text, text));
            Column {
                heading: long,
                short,
                right: heading.starts_with('>'),
            }
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

    /// Returns headings and widths of the columns, in characters, for rows of `room` characters with `spacing` between
    /// columns. If there is too little room, short forms are used first, then texts are truncated, the longest first, down
    /// to [`TEXT_MIN`], and finally columns are dropped. The heading of `sorted_by` is marked.
    pub fn fit(
        &mut self,
        sorted_by: Option<(usize, &str)>,
        room: u16,
        spacing: u16,
    ) -> (Vec<String>, Vec<u16>) {
        let gaps = usize::from(spacing) * self.columns.len().saturating_sub(1);
        let room = usize::from(room);
        let marked = |heading: &str, index: usize| match sorted_by {
            Some((column, mark)) if column == index => format!("{heading}{mark}"),
            _ => heading.to_owned(),
        };
        let columns = self.columns.iter().enumerate();
        let mut heads: Vec<String> = columns
            .map(|(index, column)| marked(column.heading, index))
            .collect();
        let mut widths = self.natural(&heads);
        if widths.iter().sum::<usize>() + gaps > room {
            let columns = self.columns.iter().enumerate();
            heads = columns
                .map(|(index, column)| marked(column.short, index))
                .collect();
            for cell in self.rows.iter_mut().flatten() {
                if let Some(short) = cell.short.take() {
                    cell.text = short;
                }
            }
            widths = self.natural(&heads);
            self.shorten(&mut widths, room.saturating_sub(gaps));
            self.cut(&mut heads, &widths);
        }
        let mut left = room;
        let widths = widths.into_iter().map(|width| {
            let width = width.min(left);
            left = left.saturating_sub(width + usize::from(spacing));
            u16::try_from(width).unwrap_or(u16::MAX)
        });
        (heads, widths.collect())
    }

    fn natural(&self, heads: &[String]) -> Vec<usize> {
        let width = |(index, head): (usize, &String)| {
            let cells = self.rows.iter().filter_map(|row| row.get(index));
            let widest = cells.map(|cell| cell.text.chars().count()).max();
            widest.unwrap_or(0).max(head.chars().count())
        };
        heads.iter().enumerate().map(width).collect()
    }

    fn shorten(&self, widths: &mut [usize], room: usize) {
        while widths.iter().sum::<usize>() > room {
            let texts = self.columns.iter().zip(widths.iter_mut());
            let texts = texts.filter(|(column, width)| !column.right && **width > TEXT_MIN);
            let Some((_, widest)) = texts.max_by_key(|(_, width)| **width) else {
                return;
            };
            *widest -= 1;
        }
    }

    /// Truncates texts longer than their column, with `…`.
    fn cut(&mut self, heads: &mut [String], widths: &[usize]) {
        let cut = |text: &mut String, width: usize| {
            if text.chars().count() > width && width > 0 {
                *text = text.chars().take(width - 1).chain(['…']).collect();
            }
        };
        for (head, width) in heads.iter_mut().zip(widths) {
            cut(head, *width);
        }
        for row in &mut self.rows {
            for (cell, width) in row.iter_mut().zip(widths) {
                cut(&mut cell.text, *width);
            }
        }
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
        assert_eq!(grid.fit(None, 80, 2).1, [4, 5]);
        assert_eq!(grid.fit(Some((1, "↓")), 80, 2).0, ["port", "bytes↓"]);
        // Texts have a minimum width; excess columns are dropped from the right.
        assert_eq!(grid.fit(None, 8, 2).1, [4, 2]);
        assert_eq!(grid.fit(None, 3, 2).1, [3, 0]);
    }

    #[test]
    fn short_forms_and_cut_texts_keep_all_columns() {
        let mut grid = Grid::new(&["neighbour", ">frames in|received", "dropped"], "none");
        grid.rows.push(vec![
            text("leaf-number-seventeen"),
            number(1_234_567.0, "1234567").or("1.23M"),
            text("12 no_route, 3 bad_length").or("15"),
        ]);
        let mut wide = grid.clone();
        let (heads, widths) = wide.fit(None, 80, 1);
        assert_eq!(heads, ["neighbour", "frames in", "dropped"]);
        assert_eq!(widths, [21, 9, 25]);
        let (heads, widths) = grid.fit(None, 26, 1);
        assert_eq!(heads, ["neighbour", "received", "dropped"]);
        assert_eq!(widths, [9, 8, 7]);
        let shown: Vec<&str> = grid.rows[0].iter().map(|cell| &*cell.text).collect();
        assert_eq!(shown, ["leaf-num…", "1.23M", "15"]);
    }
}
