//! Overlays: the help, and the facts of a row.

use ratatui::layout::{Margin, Rect};
use ratatui::text::{Line, Text};
use ratatui::widgets::{Block, Clear, Paragraph};
use ratatui::Frame;
use weir_api::daemon::FlightRecord;

use super::detail::{wrapped, Facts};
use crate::show;
use weir_output::facts;

/// Contents of a dialog. Lines are wrapped, not truncated.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    Text(String),
    Facts(Facts),
    Record(Box<FlightRecord>),
}

impl Content {
    fn lines(&self, columns: usize) -> Vec<String> {
        let text = match self {
            Self::Text(text) => text.clone(),
            Self::Facts(all) => facts(all),
            Self::Record(record) => show::flight_text(record, Some(columns)),
        };
        text.lines()
            .flat_map(|line| wrapped(line, columns))
            .collect()
    }
}

/// Text in a frame, closed by a key.
#[derive(Clone, Debug, PartialEq)]
pub struct Dialog {
    title: String,
    content: Content,
    is_long: bool,
    from: usize,
}

impl Dialog {
    /// Creates a centred dialog of the required size.
    pub fn small(title: &str, text: &str) -> Self {
        Self {
            title: title.to_owned(),
            content: Content::Text(text.to_owned()),
            is_long: false,
            from: 0,
        }
    }

    /// Creates a dialog that covers the screen.
    pub fn long(title: String, content: Content) -> Self {
        Self {
            title,
            content,
            is_long: true,
            from: 0,
        }
    }

    /// Replaces the contents and keeps the scroll position.
    pub fn renew(&mut self, content: Content) {
        self.content = content;
    }

    /// Scrolls down; drawing limits the position.
    pub fn scroll(&mut self, rows: isize) {
        self.from = self.from.saturating_add_signed(rows);
    }

    /// Draws it over the screen.
    pub fn draw(&mut self, frame: &mut Frame<'_>) {
        let whole = frame.area();
        let lines = self.content.lines(whole.width.saturating_sub(2).into());
        let area = if self.is_long {
            whole
        } else {
            let widest = lines.iter().map(|line| line.chars().count()).max();
            let short = |length: usize| u16::try_from(length).unwrap_or(u16::MAX);
            centred(
                whole,
                short(widest.unwrap_or(0) + 4),
                short(lines.len() + 2),
            )
        };
        frame.render_widget(Clear, area);
        let inside = area.inner(Margin::new(1, 1));
        let rows = usize::from(inside.height);
        self.from = self.from.min(lines.len().saturating_sub(rows));
        let mut block = Block::bordered().title(format!(" {} ", self.title));
        if lines.len() > rows {
            let last = (self.from + rows).min(lines.len());
            let place = format!(" lines {} to {last} of {} ", self.from + 1, lines.len());
            block = block.title_top(Line::from(place).right_aligned());
        }
        frame.render_widget(block, area);
        let shown: Vec<&str> = lines.iter().map(|it| &**it).skip(self.from).collect();
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
