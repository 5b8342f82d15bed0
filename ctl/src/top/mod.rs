//! `switchctl top`: the live page in a terminal.

mod app;
mod detail;
mod dialog;
mod draw;
mod fabric;
mod grid;
#[cfg(test)]
mod tests;
mod views;

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use anyhow::{bail, Result};
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::Terminal;
use weir_api::daemon::FlightRecord;
use weir_api::overview::Overview;

use crate::target::{Target, TargetError};
use app::{Action, App, Next};
use views::View;
use weir_output::Output;

const PATH: &str = "/v1/overview";
/// Keys wait for an answer, so the limit is short.
const ANSWER_LIMIT: Duration = Duration::from_secs(2);
const PAGE_ROWS: isize = 10;
/// Width of the frame that `--once` draws.
const ONCE_COLUMNS: u16 = 120;
/// Rows of a frame besides its head and its table: tabs, headings, foot.
const FRAME_ROWS: usize = 3;

/// Shows the switch until a key ends it; with `once`, prints one frame of each view. If several run and none is chosen,
/// begins with the list.
///
/// # Errors
///
/// When no daemon answers at first, or there is no terminal.
pub fn top(target: &Target, output: &Output, interval: Duration, once: bool) -> Result<()> {
    let (target, first, all) = match target.get(PATH) {
        Ok(first) => (target.clone(), first, false),
        Err(several @ TargetError::Several { .. }) if !output.is_json() => {
            let (target, first) = any(&target.all()).ok_or(several)?;
            (target, first, true)
        }
        Err(error) => return Err(error.into()),
    };
    if once || output.is_json() {
        return print(&target, output, first, interval, all);
    }
    if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        bail!("`top` needs a terminal; `top --once` prints one frame as text");
    }
    let mut app = App::new(first, weir_output::colour());
    if all {
        app.show(View::Switches);
    }
    // Also restores the terminal on panic.
    let mut terminal = ratatui::try_init()?;
    let outcome = run(target, &mut terminal, &mut app, interval);
    ratatui::try_restore()?;
    outcome
}

fn any(all: &[(String, Target)]) -> Option<(Target, Overview)> {
    let mut answers = all.iter().map(|(_, target)| {
        let answer = target.get_within(PATH, ANSWER_LIMIT);
        answer.ok().map(|answer| (target.clone(), answer))
    });
    answers.find_map(|answer| answer)
}

fn run(
    mut target: Target,
    terminal: &mut ratatui::DefaultTerminal,
    app: &mut App,
    interval: Duration,
) -> Result<()> {
    // The list keeps the first switch's neighbours, whichever is shown.
    let home = target.clone();
    let mut next = Instant::now();
    loop {
        terminal.draw(|frame| app.draw(frame))?;
        let wait = next.saturating_duration_since(Instant::now());
        if event::poll(wait)? {
            if let Event::Key(key) = event::read()? {
                let all = app.shows_all();
                match action(key).map(|action| app.act(action)) {
                    Some(Next::Leave) => return Ok(()),
                    Some(Next::Record(id)) => app.open(id, record(&target, id)),
                    Some(Next::Enter(name)) => {
                        if let Some(other) = enter(app, &home, &name) {
                            target = other;
                        }
                    }
                    Some(Next::Draw) | None => {}
                }
                if app.shows_all() != all {
                    next = Instant::now();
                }
            }
        }
        if Instant::now() >= next {
            if !app.is_held() {
                look(app, &home, &target);
            }
            next = Instant::now() + interval;
        }
    }
}

fn look(app: &mut App, home: &Target, target: &Target) {
    if app.shows_all() {
        app.learn_all(fabric::look(&home.all(), overview));
    } else {
        app.learn(overview(target));
    }
}

fn overview(target: &Target) -> std::result::Result<Overview, String> {
    let answer = target.get_within(PATH, ANSWER_LIMIT);
    answer.map_err(|error| error.to_string())
}

/// Switches to the switch of this name if it answers.
fn enter(app: &mut App, home: &Target, name: &str) -> Option<Target> {
    let found = home.all().into_iter().find(|(other, _)| other == name);
    let Some((_, target)) = found else {
        app.enter(name, Err("it is gone".to_owned()));
        return None;
    };
    let answer = overview(&target);
    let answers = answer.is_ok();
    app.enter(name, answer);
    answers.then_some(target)
}

/// Returns the record of a suspicion as shown by `switchctl deadlock show`, or the reason for which there is none.
fn record(target: &Target, id: u64) -> std::result::Result<Box<FlightRecord>, String> {
    let record = target.get_within(&format!("/v1/deadlocks/{id}"), ANSWER_LIMIT);
    record.map_err(|error| error.to_string())
}

fn action(key: KeyEvent) -> Option<Action> {
    if key.kind == KeyEventKind::Release {
        return None;
    }
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return (key.code == KeyCode::Char('c')).then_some(Action::Quit);
    }
    Some(match key.code {
        KeyCode::Char('q') => Action::Quit,
        KeyCode::Esc => Action::Close,
        KeyCode::Enter => Action::Open,
        KeyCode::Tab | KeyCode::Right => Action::Turn(1),
        KeyCode::BackTab | KeyCode::Left => Action::Turn(-1),
        KeyCode::Down | KeyCode::Char('j') => Action::Move(1),
        KeyCode::Up | KeyCode::Char('k') => Action::Move(-1),
        KeyCode::PageDown => Action::Move(PAGE_ROWS),
        KeyCode::PageUp => Action::Move(-PAGE_ROWS),
        KeyCode::Char('s') => Action::Sort(1),
        KeyCode::Char('S') => Action::Sort(-1),
        KeyCode::Char('r') => Action::Reverse,
        KeyCode::Char('0') => Action::Unsort,
        KeyCode::Char('p' | ' ') => Action::Hold,
        KeyCode::Char('f') => Action::All,
        KeyCode::Char('?' | 'h') => Action::Help,
        KeyCode::Char(digit @ '1'..='9') => Action::Go(digit as usize - '1' as usize),
        _ => return None,
    })
}

/// Prints one frame of each view as text, or the underlying data as JSON. The list is printed if there are several
/// switches; if none is chosen, only the list is printed.
fn print(
    target: &Target,
    output: &Output,
    first: Overview,
    interval: Duration,
    all: bool,
) -> Result<()> {
    if output.is_json() {
        return output.print(&first, |_| String::new());
    }
    let mut app = App::new(first, false);
    app.learn_all(fabric::look(&target.all(), overview));
    // Rates need two moments.
    std::thread::sleep(interval);
    app.learn(Ok(target.get(PATH)?));
    let several = app.fabric.len() > 1;
    if several {
        app.learn_all(fabric::look(&target.all(), overview));
    }
    for view in View::ALL {
        let is_all = view == View::Switches;
        if (is_all && !several) || (!is_all && all) {
            continue;
        }
        app.show(view);
        let head = usize::from(app.head_rows(ONCE_COLUMNS));
        let rows = head + app.grid().rows.len() + FRAME_ROWS;
        output.line(&text(&mut app, ONCE_COLUMNS, u16::try_from(rows)?)?)?;
    }
    Ok(())
}

/// Returns a frame as text, without the last line of keys.
fn text(app: &mut App, columns: u16, rows: u16) -> Result<String> {
    let mut terminal = Terminal::new(TestBackend::new(columns, rows))?;
    terminal.draw(|frame| app.draw(frame))?;
    let buffer = terminal.backend().buffer();
    let lines = buffer.content().chunks(columns.into()).map(|cells| {
        let line: String = cells.iter().map(|cell| cell.symbol()).collect();
        line.trim_end().to_owned() + "\n"
    });
    Ok(lines.take(usize::from(rows) - 1).collect())
}
