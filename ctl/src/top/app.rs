//! State of the display and the effects of keys, independent of a terminal.

use ratatui::widgets::TableState;
use weir_api::daemon::FlightRecord;
use weir_api::overview::Overview;

use super::detail::{Facts, Subject};
use super::dialog::{Content, Dialog};
use super::fabric::{Answer, Fabric};
use super::grid::Grid;
use super::views::View;

/// Help text of the keys.
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
    Quit,
    /// Turn to the next or previous view.
    Turn(isize),
    /// Go to a view by its index.
    Go(usize),
    /// Move the selection down, or up if negative.
    Move(isize),
    /// Sort by another column.
    Sort(isize),
    /// Reverse the order.
    Reverse,
    Unsort,
    /// Freeze or resume updates.
    Hold,
    /// Show all switches of this machine.
    All,
    /// Show or hide the help.
    Help,
    /// Show details of the selected row.
    Open,
    /// Close the dialog, or leave if there is none.
    Close,
}

/// Result of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Redraw the screen.
    Draw,
    /// End the program.
    Leave,
    /// Fetch the record of this suspicion for [`App::open`].
    Record(u64),
    /// Fetch this switch of the machine for [`App::enter`].
    Enter(String),
}

/// Contents of the screen.
#[derive(Debug)]
pub struct App {
    pub(super) colour: bool,
    pub(super) view: View,
    pub(super) table: TableState,
    pub(super) sorted_by: Option<usize>,
    pub(super) descending: bool,
    held: bool,
    pub(super) dialog: Option<Dialog>,
    /// Subject of the dialog, which is updated with each answer.
    told: Option<Subject>,
    pub(super) trouble: Option<String>,
    pub(super) now: Overview,
    before: Option<Overview>,
    pub(super) fabric: Fabric,
    /// True if a switch was chosen from the list, to which Esc returns.
    chosen: bool,
}

impl App {
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

    /// Returns true while updates are frozen.
    pub fn is_held(&self) -> bool {
        self.held
    }

    /// Returns true while all switches are shown instead of one.
    pub fn shows_all(&self) -> bool {
        self.view == View::Switches
    }

    /// Stores the daemon's answer, or the reason for which there is none.
    pub fn learn(&mut self, answer: Result<Overview, String>) {
        match answer {
            Ok(now) => {
                self.trouble = None;
                let before = std::mem::replace(&mut self.now, now);
                // After a restart the totals start over.
                let same = before.status.pid == self.now.status.pid;
                self.before = same.then_some(before);
                self.renew();
            }
            Err(trouble) => self.trouble = Some(trouble),
        }
    }

    /// Stores the answers of all switches of this machine.
    pub fn learn_all(&mut self, answers: Vec<Answer>) {
        self.fabric.learn(answers);
    }

    /// Updates the open dialog; a missing subject keeps its last facts.
    fn renew(&mut self) {
        let told = self.told.as_ref();
        let facts = told.and_then(|told| told.facts(&self.now));
        if let (Some(dialog), Some(facts)) = (&mut self.dialog, facts) {
            dialog.renew(Content::Facts(facts));
        }
    }

    /// Shows another switch, or the reason for which that is impossible.
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

    pub fn show(&mut self, view: View) {
        self.view = view;
        self.sorted_by = None;
        self.descending = false;
        self.table = TableState::default().with_selected(0);
    }

    /// Executes the request of a key.
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

    /// Shows the record of a suspicion; without one, the list's data and the reason.
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

    /// Returns the view's table, sorted.
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
