//! What lies over the views: the help, and what a row has to tell.

use ratatui::layout::{Margin, Rect};
use ratatui::text::Text;
use ratatui::widgets::{Block, Clear, Paragraph};
use ratatui::Frame;

/// Columns that an arrow key moves by.
const STEP_COLUMNS: isize = 10;

/// Some text in a frame, closed by a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dialog {
    title: String,
    text: String,
    /// Takes the whole screen and can be moved in.
    is_long: bool,
    /// The first row and the first column that are shown.
    from: (usize, usize),
}

impl Dialog {
    /// In the middle, as large as it has to be.
    pub fn small(title: &str, text: &str) -> Self {
        Self {
            title: title.to_owned(),
            text: text.to_owned(),
            is_long: false,
            from: (0, 0),
        }
    }

    /// Over everything.
    pub fn long(title: String, text: String) -> Self {
        Self {
            title,
            text,
            is_long: true,
            from: (0, 0),
        }
    }

    /// Moves down so many rows and right so many arrow keys; false where it does not move.
    pub fn scroll(&mut self, rows: isize, keys: isize) -> bool {
        if !self.is_long {
            return false;
        }
        let (height, width) = self.size();
        let (row, column) = self.from;
        self.from = (
            row.saturating_add_signed(rows)
                .min(height.saturating_sub(1)),
            column
                .saturating_add_signed(keys * STEP_COLUMNS)
                .min(width.saturating_sub(1)),
        );
        true
    }

    /// Rows and columns of the text.
    fn size(&self) -> (usize, usize) {
        let widths = self.text.lines().map(|line| line.chars().count());
        (self.text.lines().count(), widths.max().unwrap_or(0))
    }

    /// Draws it over what is there.
    pub fn draw(&self, frame: &mut Frame<'_>) {
        let whole = frame.area();
        let area = if self.is_long {
            whole
        } else {
            let (height, width) = self.size();
            let short = |length: usize| u16::try_from(length).unwrap_or(u16::MAX);
            centred(whole, short(width + 4), short(height + 2))
        };
        frame.render_widget(Clear, area);
        let block = Block::bordered().title(format!(" {} ", self.title));
        frame.render_widget(block, area);
        let inside = area.inner(Margin::new(1, 1));
        let (row, column) = self.from;
        let lines = self.text.lines().skip(row).take(inside.height.into());
        let shown: Vec<String> = lines
            .map(|line| line.chars().skip(column).collect())
            .collect();
        frame.render_widget(Paragraph::new(Text::from(shown.join("\n"))), inside);
    }
}

fn centred(whole: Rect, width: u16, height: u16) -> Rect {
    Rect {
        x: whole.x + whole.width.saturating_sub(width) / 2,
        y: whole.y + whole.height.saturating_sub(height) / 2,
        width: width.min(whole.width),
        height: height.min(whole.height),
    }
}
