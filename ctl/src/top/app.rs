//! What is shown and what keys do to it; no terminal in here.

use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Cell as Shown, Paragraph, Row, Table, TableState, Wrap};
use ratatui::Frame;
use weir_api::daemon::Deadlock;
use weir_api::overview::Overview;
use weir_api::words::Verdict;

use super::dialog::Dialog;
use super::grid::{Cell, Grid, Weight};
use super::views::View;
use weir_output::{bytes, facts, seconds};

/// What keys do.
pub const HELP: &str = "\
Tab, Shift-Tab, → ←   another view (or its number, 1 to 5)
↓ ↑ j k, PgDn PgUp    another row
Enter                 open the row (Deadlocks: the record of a suspicion)
s, S                  sort by the next or the previous column
r                     reverse the order
0                     back to the daemon's own order
p, Space              freeze; again: resume
?                     this help
Esc                   close what is open, else leave
q, Ctrl-C             leave";

/// Characters between two columns.
const SPACING: u16 = 1;

/// What a key asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Leave.
    Quit,
    /// The next view, or the one before.
    Turn(isize),
    /// A view by its number, from 0.
    Go(usize),
    /// Down so many rows, or up.
    Move(isize),
    /// Sort by another column, so many further on.
    Sort(isize),
    /// Sort the other way round.
    Reverse,
    /// The daemon's own order.
    Unsort,
    /// Hold still, or go on.
    Hold,
    /// Show or hide the help.
    Help,
    /// Tell more of the selected row.
    Open,
    /// Close what is open; leave where nothing is.
    Close,
}

/// What a key comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Nothing but another picture.
    Draw,
    /// The end.
    Leave,
    /// The record of this suspicion is wanted, for [`App::open`].
    Record(u64),
}

/// Everything that is on the screen.
#[derive(Debug)]
pub struct App {
    colour: bool,
    view: View,
    table: TableState,
    sorted_by: Option<usize>,
    descending: bool,
    held: bool,
    dialog: Option<Dialog>,
    trouble: Option<String>,
    now: Overview,
    before: Option<Overview>,
}

impl App {
    /// Begins with this.
    pub fn new(now: Overview, colour: bool) -> Self {
        Self {
            colour,
            view: View::Buffers,
            table: TableState::default().with_selected(0),
            sorted_by: None,
            descending: false,
            held: false,
            dialog: None,
            trouble: None,
            now,
            before: None,
        }
    }

    /// True while nothing is to change.
    pub fn is_held(&self) -> bool {
        self.held
    }

    /// What the daemon has said, or why it has not.
    pub fn learn(&mut self, answer: Result<Overview, String>) {
        match answer {
            Ok(now) => {
                self.trouble = None;
                let before = std::mem::replace(&mut self.now, now);
                // After a restart the totals begin anew.
                let same = before.status.pid == self.now.status.pid;
                self.before = same.then_some(before);
            }
            Err(trouble) => self.trouble = Some(trouble),
        }
    }

    /// Shows a view.
    pub fn show(&mut self, view: View) {
        self.view = view;
        self.sorted_by = None;
        self.descending = false;
        self.table = TableState::default().with_selected(0);
    }

    /// Does what a key asks for.
    pub fn act(&mut self, action: Action) -> Next {
        if action == Action::Quit {
            return Next::Leave;
        }
        if let Some(dialog) = &mut self.dialog {
            let moved = match action {
                Action::Move(rows) => dialog.scroll(rows, 0),
                Action::Turn(by) => dialog.scroll(0, by),
                _ => false,
            };
            if !moved {
                self.dialog = None;
            }
            return Next::Draw;
        }
        let position = View::ALL
            .iter()
            .position(|view| *view == self.view)
            .unwrap_or(0);
        match action {
            Action::Quit | Action::Close => return Next::Leave,
            Action::Open => return self.wanted().map_or(Next::Draw, Next::Record),
            Action::Turn(by) => self.show(View::ALL[wrapped(position, by, View::ALL.len())]),
            Action::Go(index) => {
                if let Some(view) = View::ALL.get(index) {
                    self.show(*view);
                }
            }
            Action::Move(by) => {
                let last = self.grid().rows.len().saturating_sub(1);
                let from = self.table.selected().unwrap_or(0);
                self.table
                    .select(Some(from.saturating_add_signed(by).min(last)));
            }
            Action::Sort(by) => {
                let count = self.grid().columns.len();
                self.sorted_by = Some(match self.sorted_by {
                    None if by > 0 => 0,
                    None => count - 1,
                    Some(column) => wrapped(column, by, count),
                });
            }
            Action::Reverse => self.descending = !self.descending,
            Action::Unsort => {
                self.sorted_by = None;
                self.descending = false;
            }
            Action::Hold => self.held = !self.held,
            Action::Help => self.dialog = Some(Dialog::small("Keys", HELP)),
        }
        Next::Draw
    }

    /// The suspicion of the selected row.
    fn wanted(&self) -> Option<u64> {
        if self.view != View::Deadlocks {
            return None;
        }
        let grid = self.grid();
        let row = grid.rows.get(self.table.selected()?)?;
        row.first()?.value.map(|id| id as u64)
    }

    /// Shows the record of a suspicion, or why there is none beside what the list has of it.
    pub fn open(&mut self, id: u64, record: Result<String, String>) {
        let text = record.unwrap_or_else(|trouble| {
            let all = &self.now.deadlocks;
            let mut all = all.current.iter().chain(&all.past);
            let known = all.find(|one| one.id == id).map(summary);
            format!("{}\n{trouble}\n", known.unwrap_or_default())
        });
        let title = format!("Suspicion {id}: arrows and PgDn move, Esc closes");
        self.dialog = Some(Dialog::long(title, text));
    }

    /// The view's table as it is sorted.
    pub fn grid(&self) -> Grid {
        let mut grid = self.view.grid(&self.now, self.before.as_ref());
        match self.sorted_by {
            Some(column) => grid.sort(column, self.descending),
            None if self.descending => grid.rows.reverse(),
            None => {}
        }
        grid
    }

    /// Draws everything.
    pub fn draw(&mut self, frame: &mut Frame<'_>) {
        let head_rows = self.head_rows(frame.area().width);
        let [head, tabs, body, foot] = Layout::vertical([
            Constraint::Length(head_rows),
            Constraint::Length(1),
            Constraint::Min(1),
            Constraint::Length(1),
        ])
        .areas(frame.area());
        let text = Paragraph::new(self.head()).wrap(Wrap { trim: true });
        frame.render_widget(text, head);
        frame.render_widget(Paragraph::new(self.tabs()), tabs);
        self.body(frame, body);
        let keys = "Tab view  ↑↓ row  Enter open  s sort  r reverse  p freeze  ? help  q quit";
        frame.render_widget(Paragraph::new(keys).style(self.dim()), foot);
        if let Some(dialog) = &self.dialog {
            dialog.draw(frame);
        }
    }

    /// Rows of the head in so many columns: one more where what is wrong, with its remedy, does not fit into one.
    pub fn head_rows(&self, columns: u16) -> u16 {
        let lines = self.head().lines;
        let is_long = lines
            .iter()
            .skip(1)
            .any(|line| line.width() > columns.into());
        2 + u16::from(is_long)
    }

    fn head(&self) -> Text<'static> {
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
        let suspected = self.now.deadlocks.current.len();
        let second = match (&self.trouble, self.held, suspected) {
            (Some(trouble), _, _) => {
                Span::styled(format!("STALE FIGURES: {trouble}"), self.style(Weight::Bad))
            }
            (None, true, _) => Span::styled("frozen; p resumes", self.style(Weight::Warn)),
            (None, false, _) if status.health.is_some() => self.health(),
            // Daemons that make no verdict.
            (None, false, 0) => Span::raw("no deadlock suspected"),
            (None, false, _) => Span::styled(
                format!("deadlock SUSPECTED: {}", self.suspects()),
                self.style(Weight::Bad),
            ),
        };
        let bold = Style::new().add_modifier(Modifier::BOLD);
        Text::from(vec![Line::styled(first, bold), Line::from(second)])
    }

    fn health(&self) -> Span<'static> {
        let Some(health) = &self.now.status.health else {
            return Span::raw("");
        };
        let weight = match health.verdict.known() {
            Some(Verdict::Ok) => return Span::raw("health ok"),
            Some(Verdict::Degraded) => Weight::Warn,
            Some(Verdict::Failing) | None => Weight::Bad,
        };
        let verdict = health.verdict.as_str().to_uppercase();
        Span::styled(format!("{verdict}: {}", health.why()), self.style(weight))
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

    fn body(&mut self, frame: &mut Frame<'_>, area: Rect) {
        let mut grid = self.grid();
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
            (Weight::Warn, true) => Style::new().fg(Color::Yellow),
            (Weight::Bad, true) => bold.fg(Color::Red),
        }
    }
}

/// What the list has of a suspicion.
fn summary(one: &Deadlock) -> String {
    let lasted = one.lasted_seconds.map(seconds);
    facts(&[
        ("port", format!("{}, priority {}", one.port, one.priority)),
        (
            "lasted",
            lasted.unwrap_or("ongoing: STILL SUSPECTED".to_owned()),
        ),
        ("reason", one.reason.to_string()),
        ("queued", bytes(one.queued_bytes)),
        ("loops found", one.loops_found.to_string()),
        ("releases", one.releases.to_string()),
        ("flows moved", one.flows_moved.to_string()),
    ])
}

fn aligned(text: String, right: bool, style: Style) -> Shown<'static> {
    let alignment = if right {
        Alignment::Right
    } else {
        Alignment::Left
    };
    Shown::from(Text::from(text).alignment(alignment)).style(style)
}

fn wrapped(from: usize, by: isize, count: usize) -> usize {
    (from as isize + by).rem_euclid(count as isize) as usize
}
