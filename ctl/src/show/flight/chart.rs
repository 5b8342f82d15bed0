//! Curves in one line of text.

/// Columns of a chart if there is room.
pub const WIDTH: usize = 64;

const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A time axis divided into columns.
#[derive(Clone, Copy, Debug)]
pub struct TimeLine {
    start: f64,
    end: f64,
    columns: usize,
}

impl TimeLine {
    /// Divides the time from `start` to `end`, in seconds, into `columns` columns, at least one.
    pub fn new((start, end): (f64, f64), columns: usize) -> Self {
        let end = if end > start { end } else { start + 1e-9 };
        let columns = columns.max(1);
        Self {
            start,
            end,
            columns,
        }
    }

    /// Returns the width of a column in seconds.
    pub fn column_seconds(&self) -> f64 {
        (self.end - self.start) / self.columns as f64
    }

    /// Returns the column of a moment.
    pub fn column(&self, at: f64) -> usize {
        let column = (at - self.start) / self.column_seconds();
        (column.max(0.0) as usize).min(self.columns - 1)
    }

    /// Draws the maximum of each column as a block; a column without a sample repeats the previous one. A block is full
    /// at `top`.
    pub fn curve(&self, points: impl IntoIterator<Item = (f64, u64)>, top: u64) -> String {
        let mut most = vec![None; self.columns];
        for (at, value) in points {
            let slot: &mut Option<u64> = &mut most[self.column(at)];
            *slot = (*slot).max(Some(value));
        }
        let mut last = 0;
        most.iter()
            .map(|value| {
                last = value.unwrap_or(last);
                block(last, top)
            })
            .collect()
    }

    /// Draws `mark` in the columns that the spans touch.
    pub fn bars(&self, spans: &[(f64, f64)], mark: char) -> String {
        let mut line = vec![' '; self.columns];
        for (start, end) in spans {
            line[self.column(*start)..=self.column(*end)].fill(mark);
        }
        line.into_iter().collect()
    }

    /// Draws a mark in the column of each moment.
    pub fn marks(&self, moments: impl IntoIterator<Item = (f64, char)>) -> String {
        let mut line = vec![' '; self.columns];
        for (at, mark) in moments {
            line[self.column(at)] = mark;
        }
        line.into_iter().collect()
    }
}

/// Shows any value above zero.
fn block(value: u64, top: u64) -> char {
    if value == 0 || top == 0 {
        return BLOCKS[0];
    }
    let eighths = (value as f64 / top as f64 * 8.0).ceil();
    BLOCKS[(eighths as usize).clamp(1, 8)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_shows_the_most_of_each_column() {
        let line = TimeLine::new((-1.0, 1.0), WIDTH);
        let points = [(-1.0, 0), (-0.99, 8), (0.0, 16), (0.5, 1), (1.0, 0)];
        let curve: Vec<char> = line.curve(points, 16).chars().collect();
        assert_eq!(curve.len(), WIDTH);
        assert_eq!(
            (curve[0], curve[31]),
            ('▄', '▄'),
            "it holds until the next sample"
        );
        assert_eq!((curve[32], curve[48], curve[63]), ('█', '▁', ' '));
    }

    #[test]
    fn bars_and_marks_stay_inside() {
        let line = TimeLine::new((0.0, 64.0), WIDTH);
        let bars = line.bars(&[(2.0, 3.5), (60.0, 900.0)], '=');
        assert_eq!(bars, format!("  =={}====", " ".repeat(56)));
        let marks = line.marks([(-5.0, 'a'), (10.5, 'b'), (64.0, 'c')]);
        assert_eq!(marks, format!("a{}b{}c", " ".repeat(9), " ".repeat(52)));
    }

    #[test]
    fn no_time_at_all_is_one_column() {
        let line = TimeLine::new((0.0, 0.0), WIDTH);
        assert_eq!(line.curve([(0.0, 5)], 5), "█".repeat(WIDTH));
        assert_eq!(line.curve([], 0), " ".repeat(WIDTH));
    }
}
