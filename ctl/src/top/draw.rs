//! Drawing of the screen.

use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Block, Borders, Cell as Shown, Paragraph, Row, Table};
use ratatui::Frame;
use weir_api::words::Verdict;

use super::app::App;
use super::detail::{flowing, wrapped};
use super::grid::{Cell, Grid, Weight};
use super::views::View;
use weir_output::seconds;
use weir_svg::meaning::{Meaning, DEGRADED, PAUSED, PAUSING, SUSPECTED};

const SPACING: u16 = 1;
const HEAD_LINES: usize = 4;
/// Text at the bottom, at most 80 columns wide.
pub const KEYS: &str =
    "Tab view  ↑↓ row  Enter open  Esc back  f switches  s sort  p freeze  ? help";
/// Rows for the facts of the selected row below a table: all that are left, and at least this many if the body has
/// [`BODY_ROWS_SHARED`] rows, else none.
const REST_ROWS: u16 = 6;
const BODY_ROWS_SHARED: u16 = 16;

impl App {
    pub fn draw(&mut self, frame: &mut Frame<'_>) {
        let width = frame.area().width;
        let head_lines = self.head(width);
        let [head, tabs, body, foot] = Layout::vertical([
            Constraint::Length(short(head_lines.len())),
            Constraint::Length(1),
            Constraint::Min(1),
            Constraint::Length(1),
        ])
        .areas(frame.area());
        frame.render_widget(Paragraph::new(Text::from(head_lines)), head);
        frame.render_widget(Paragraph::new(self.tabs()), tabs);
        let grid = self.grid();
        let (table, rest) = shared(body, grid.rows.len());
        self.body(frame, table, grid);
        self.rest(frame, rest);
        frame.render_widget(Paragraph::new(KEYS).style(self.dim()), foot);
        if let Some(dialog) = &mut self.dialog {
            dialog.draw(frame);
        }
    }

    /// Draws the facts of the selected row, below the table.
    fn rest(&self, frame: &mut Frame<'_>, area: Rect) {
        if area.height <= 1 {
            return;
        }
        let Some((subject, facts)) = self.selected_facts() else {
            return;
        };
        let block = Block::new()
            .borders(Borders::TOP)
            .title(format!(" {} ", subject.title()))
            .border_style(self.dim());
        let lines = flowing(&facts, area.width.into());
        frame.render_widget(Paragraph::new(lines.join("\n")).block(block), area);
    }

    /// Returns the number of head rows at this width: more than one if problems and remedies do not fit.
    pub fn head_rows(&self, columns: u16) -> u16 {
        short(self.head(columns).len())
    }

    fn head(&self, columns: u16) -> Vec<Line<'static>> {
        let bold = Style::new().add_modifier(Modifier::BOLD);
        if self.shows_all() {
            let (first, second, weight) = self.fabric.head();
            let second = match self.is_held() {
                true => Line::styled("frozen; p resumes", self.style(Weight::Warn)),
                false => Line::styled(second, self.style(weight)),
            };
            return vec![Line::styled(first, bold), second];
        }
        let status = &self.now.status;
        let first = format!(
            "{}  {}, up {}  policy {}  {} frames inside  {} dropped",
            status.name,
            status.state,
            seconds(status.uptime_seconds),
            status.deadlock_policy,
            status.held_frames,
            status.drops_total.values().sum::<u64>(),
        );
        let (second, weight) = self.state();
        let mut lines = Vec::new();
        for (text, style) in [(first, bold), (second, self.style(weight))] {
            let mut wrapped = wrapped(&text, columns.into());
            // The list of all switches and `status` show the rest.
            if wrapped.len() > HEAD_LINES {
                wrapped.truncate(HEAD_LINES);
                let last = &mut wrapped[HEAD_LINES - 1];
                if last.chars().count() == usize::from(columns) {
                    last.pop();
                }
                last.push('…');
            }
            lines.extend(
                wrapped
                    .into_iter()
                    .map(|line| Line::from(Span::styled(line, style))),
            );
        }
        lines
    }

    /// Describes the state of the switch in words.
    fn state(&self) -> (String, Weight) {
        let status = &self.now.status;
        let suspected = self.now.deadlocks.current.len();
        match (&self.trouble, self.is_held(), suspected) {
            (Some(trouble), _, _) => (format!("STALE FIGURES: {trouble}"), Weight::Bad),
            (None, true, _) => ("frozen; p resumes".to_owned(), Weight::Warn),
            (None, false, _) if status.health.is_some() => self.health(),
            // Older daemons report no verdict.
            (None, false, 0) => ("no deadlock suspected".to_owned(), Weight::Plain),
            (None, false, _) => (
                format!("deadlock SUSPECTED: {}", self.suspects()),
                Weight::Bad,
            ),
        }
    }

    fn health(&self) -> (String, Weight) {
        let Some(health) = &self.now.status.health else {
            return (String::new(), Weight::Plain);
        };
        let weight = match health.verdict.known() {
            Some(Verdict::Ok) => return ("health ok".to_owned(), Weight::Plain),
            Some(Verdict::Degraded) => Weight::Warn,
            Some(Verdict::Failing) | None => Weight::Bad,
        };
        let verdict = health.verdict.as_str().to_uppercase();
        (format!("{verdict}: {}", health.why()), weight)
    }

    fn suspects(&self) -> String {
        let current = self.now.deadlocks.current.iter();
        let names: Vec<String> = current
            .map(|one| format!("{} priority {}", one.port, one.priority))
            .collect();
        names.join(", ")
    }

    fn tabs(&self) -> Line<'static> {
        let mut spans = Vec::new();
        for (index, view) in View::ALL.into_iter().enumerate() {
            let label = format!(" {} {} ", index + 1, view.name());
            let style = if view == self.view {
                Style::new().add_modifier(Modifier::REVERSED)
            } else {
                Style::new()
            };
            spans.push(Span::styled(label, style));
            spans.push(Span::raw(" "));
        }
        Line::from(spans)
    }

    fn body(&mut self, frame: &mut Frame<'_>, area: Rect, mut grid: Grid) {
        if grid.rows.is_empty() {
            frame.render_widget(Paragraph::new(grid.nothing).style(self.dim()), area);
            return;
        }
        let mark = match self.descending {
            false => "↑",
            true => "↓",
        };
        let room = area.width.saturating_sub(2);
        let sorted_by = self.sorted_by.map(|column| (column, mark));
        let (heads, widths) = grid.fit(sorted_by, room, SPACING);
        let widths = widths.into_iter().map(Constraint::Length);
        let heads = heads.into_iter().zip(&grid.columns);
        let head = Row::new(heads.map(|(head, column)| aligned(head, column.right, Style::new())))
            .style(self.dim().add_modifier(Modifier::UNDERLINED));
        let rows = grid.rows.iter().map(|row| {
            let cells = row.iter().zip(&grid.columns);
            Row::new(cells.map(|(cell, column): (&Cell, _)| {
                aligned(cell.text.clone(), column.right, self.style(cell.weight))
            }))
        });
        let table = Table::new(rows, widths)
            .header(head)
            .column_spacing(SPACING)
            .highlight_symbol("› ")
            .row_highlight_style(Style::new().add_modifier(Modifier::BOLD));
        let last = grid.rows.len() - 1;
        self.table
            .select(self.table.selected().map(|row| row.min(last)));
        frame.render_stateful_widget(table, area, &mut self.table);
    }

    fn dim(&self) -> Style {
        if self.colour {
            Style::new().fg(Color::Gray)
        } else {
            Style::new()
        }
    }

    fn style(&self, weight: Weight) -> Style {
        let bold = Style::new().add_modifier(Modifier::BOLD);
        match (weight, self.colour) {
            (Weight::Plain, _) => Style::new(),
            (_, false) => bold,
            (Weight::Warn, true) => Style::new().fg(colour(DEGRADED)),
            (Weight::Paused, true) => Style::new().fg(colour(PAUSED)),
            (Weight::Pausing, true) => Style::new().fg(colour(PAUSING)),
            (Weight::Bad, true) => bold.fg(colour(SUSPECTED)),
        }
    }
}

/// Uses the terminal's own colours, so that its theme keeps them legible.
fn colour(meaning: Meaning) -> Color {
    Color::Indexed(meaning.terminal)
}

fn shared(body: Rect, rows: usize) -> (Rect, Rect) {
    let wanted = short(rows + 1);
    let least = match body.height {
        BODY_ROWS_SHARED.. => REST_ROWS,
        _ => 0,
    };
    let left = body.height.saturating_sub(wanted).max(least);
    let left = if left < REST_ROWS { 0 } else { left };
    let [table, rest] =
        Layout::vertical([Constraint::Min(1), Constraint::Length(left)]).areas(body);
    (table, rest)
}

fn short(length: usize) -> u16 {
    u16::try_from(length).unwrap_or(u16::MAX)
}

fn aligned(text: String, right: bool, style: Style) -> Shown<'static> {
    let alignment = if right {
        Alignment::Right
    } else {
        Alignment::Left
    };
    Shown::from(Text::from(text).alignment(alignment)).style(style)
}
