//! State of the display and the effect of keys, without a terminal.

use ratatui::widgets::TableState;
use weir_api::daemon::FlightRecord;
use weir_api::overview::Overview;

use super::detail::{Facts, Subject};
use super::dialog::{Content, Dialog};
use super::fabric::{Answer, Fabric};
use super::grid::Grid;
use super::views::View;

/// Effects of keys.
pub const HELP: &str = "\
Tab, Shift-Tab, → ←   another view (or its number, 1 to 6)
↓ ↑ j k, PgDn PgUp    another row
Enter                 all of the row (Deadlocks: the record of a suspicion;
                      Switches: go to that switch)
f                     all switches of this machine
s, S                  sort by the next or the previous column
r                     reverse the order
0                     back to the daemon's own order
p, Space              freeze; again: resume
?                     this help
Esc                   close what is open; else back to the switches, if this
                      one was chosen there; else leave
q, Ctrl-C             leave";

/// Request of a key.
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
    /// All switches of this machine.
    All,
    /// Show or hide the help.
    Help,
    /// Tell more of the selected row.
    Open,
    /// Close what is open; leave where nothing is.
    Close,
}

/// Result of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Nothing but another picture.
    Draw,
    /// The end.
    Leave,
    /// The record of this suspicion is wanted, for [`App::open`].
    Record(u64),
    /// This switch of the machine is wanted, for [`App::enter`].
    Enter(String),
}

/// Everything that is on the screen.
#[derive(Debug)]
pub struct App {
    pub(super) colour: bool,
    pub(super) view: View,
    pub(super) table: TableState,
    pub(super) sorted_by: Option<usize>,
    pub(super) descending: bool,
    held: bool,
    pub(super) dialog: Option<Dialog>,
    /// Subject of the dialog, renewed with each answer.
    told: Option<Subject>,
    pub(super) trouble: Option<String>,
    pub(super) now: Overview,
    before: Option<Overview>,
    pub(super) fabric: Fabric,
    /// True after a switch was chosen among all: Esc goes back to them.
    chosen: bool,
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
            told: None,
            trouble: None,
            now,
            before: None,
            fabric: Fabric::default(),
            chosen: false,
        }
    }

    /// True while nothing is to change.
    pub fn is_held(&self) -> bool {
        self.held
    }

    /// True while all switches are shown instead of one.
    pub fn shows_all(&self) -> bool {
        self.view == View::Switches
    }

    /// Takes the daemon's answer, or the reason for which there is none.
    pub fn learn(&mut self, answer: Result<Overview, String>) {
        match answer {
            Ok(now) => {
                self.trouble = None;
                let before = std::mem::replace(&mut self.now, now);
                // After a restart the totals begin anew.
                let same = before.status.pid == self.now.status.pid;
                self.before = same.then_some(before);
                self.renew();
            }
            Err(trouble) => self.trouble = Some(trouble),
        }
    }

    /// Takes the answers of all switches of this machine.
    pub fn learn_all(&mut self, answers: Vec<Answer>) {
        self.fabric.learn(answers);
    }

    /// Renews the open dialog; a subject that is gone keeps its last facts.
    fn renew(&mut self) {
        let told = self.told.as_ref();
        let facts = told.and_then(|told| told.facts(&self.now));
        if let (Some(dialog), Some(facts)) = (&mut self.dialog, facts) {
            dialog.renew(Content::Facts(facts));
        }
    }

    /// Shows another switch, or why that is not possible.
    pub fn enter(&mut self, name: &str, answer: Result<Overview, String>) {
        match answer {
            Ok(now) => {
                self.now = now;
                self.before = None;
                self.trouble = None;
                self.chosen = true;
                self.show(View::Buffers);
            }
            Err(trouble) => {
                let facts = vec![("switch", name.to_owned()), ("no answer", trouble)];
                let title = format!("Switch {name}: Esc closes");
                self.dialog = Some(Dialog::long(title, Content::Facts(facts)));
            }
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
            match action {
                Action::Move(rows) => dialog.scroll(rows),
                Action::Turn(_) | Action::Hold => {}
                _ => {
                    self.dialog = None;
                    self.told = None;
                }
            }
            return Next::Draw;
        }
        match action {
            Action::Quit => return Next::Leave,
            Action::Close if self.chosen && !self.shows_all() => self.show(View::Switches),
            Action::Close => return Next::Leave,
            Action::Open => return self.open_row(),
            Action::Hold => self.held = !self.held,
            Action::Help => self.dialog = Some(Dialog::small("Keys", HELP)),
            Action::All => self.show(View::Switches),
            other => self.turn(other),
        }
        Next::Draw
    }

    /// Changes to another view, row or order.
    fn turn(&mut self, action: Action) {
        let position = View::ALL
            .iter()
            .position(|view| *view == self.view)
            .unwrap_or(0);
        match action {
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
            _ => {}
        }
    }

    pub(super) fn selected(&self) -> Option<Subject> {
        let grid = self.grid();
        let row = grid.rows.get(self.table.selected()?)?;
        Subject::of(self.view, row)
    }

    fn open_row(&mut self) -> Next {
        let Some(subject) = self.selected() else {
            return Next::Draw;
        };
        match subject {
            Subject::Deadlock(id) => Next::Record(id),
            Subject::Switch(name) => Next::Enter(name),
            other => {
                let title = format!("{}: arrows and PgDn move, Esc closes", other.title());
                let facts = other.facts(&self.now).unwrap_or_default();
                self.dialog = Some(Dialog::long(title, Content::Facts(facts)));
                self.told = Some(other);
                Next::Draw
            }
        }
    }

    /// Shows the record of a suspicion, or why there is none beside what the list has of it.
    pub fn open(&mut self, id: u64, record: Result<Box<FlightRecord>, String>) {
        let content = match record {
            Ok(record) => Content::Record(record),
            Err(trouble) => {
                let known = Subject::Deadlock(id).facts(&self.now);
                let mut facts = known.unwrap_or_default();
                facts.push(("no record", trouble));
                Content::Facts(facts)
            }
        };
        let title = format!("Suspicion {id}: arrows and PgDn move, Esc closes");
        self.dialog = Some(Dialog::long(title, content));
        self.told = None;
    }

    pub(super) fn selected_facts(&self) -> Option<(Subject, Facts)> {
        let subject = self.selected()?;
        let facts = match &subject {
            Subject::Switch(name) => self.fabric.facts(name),
            other => other.facts(&self.now)?,
        };
        Some((subject, facts))
    }

    /// The view's table as it is sorted.
    pub fn grid(&self) -> Grid {
        let mut grid = self
            .view
            .grid(&self.now, self.before.as_ref(), &self.fabric);
        match self.sorted_by {
            Some(column) => grid.sort(column, self.descending),
            None if self.descending => grid.rows.reverse(),
            None => {}
        }
        grid
    }
}

fn wrapped(from: usize, by: isize, count: usize) -> usize {
    (from as isize + by).rem_euclid(count as isize) as usize
}
