//! `--watch`: repeats a command's output with changes marked.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use anyhow::Result;

use crate::cli::{
    Command, DeadlockCommand, FdbCommand, ImpairCommand, PfcwdCommand, RouteCommand, XdpCommand,
};
use weir_output::Output;

/// Escape sequence that moves to the top left and clears the screen.
const CLEAR: &str = "\x1b[H\x1b[2J";
const OFF: &str = "\x1b[0m";
const BOLD: &str = "\x1b[1m";
const YELLOW: &str = "\x1b[1;33m";

/// Runs `show` every `interval` until it fails. On a terminal each output replaces the previous one and changed words are
/// marked; elsewhere outputs follow each other.
///
/// # Errors
///
/// Those of `show`, and of writing to standard output.
pub fn watch(
    output: Output,
    interval: Duration,
    mut show: impl FnMut(&Output) -> Result<u8>,
) -> Result<u8> {
    let output = output.captured();
    let on_terminal = io::stdout().is_terminal();
    let mark = match (weir_output::colour(), on_terminal) {
        (true, _) => Some(YELLOW),
        (false, true) => Some(BOLD),
        (false, false) => None,
    };
    let mut before: Option<String> = None;
    loop {
        let outcome = show(&output);
        let now = output.taken();
        if let (Err(_), true) = (&outcome, now.is_empty()) {
            return outcome;
        }
        let shown = match (&before, mark) {
            (Some(before), Some(mark)) if !output.is_json() => changes(before, &now, mark),
            _ => now.clone(),
        };
        let mut stdout = io::stdout().lock();
        if on_terminal {
            write!(stdout, "{CLEAR}{shown}")?;
        } else {
            let gap = if before.is_some() && !output.is_json() {
                "\n"
            } else {
                ""
            };
            write!(stdout, "{gap}{shown}")?;
        }
        stdout.flush()?;
        // A bad result is shown before it ends the watch.
        outcome?;
        before = Some(now);
        std::thread::sleep(interval);
    }
}

/// Returns `now` with words marked that differ from `before` at the same place.
fn changes(before: &str, now: &str, mark: &str) -> String {
    let mut old = before.lines();
    let mut out = String::with_capacity(now.len());
    for line in now.lines() {
        let mut old_words = old.next().unwrap_or_default().split_whitespace();
        let mut rest = line;
        while let Some(start) = rest.find(|c: char| !c.is_whitespace()) {
            let (gap, from) = rest.split_at(start);
            let end = from.find(char::is_whitespace).unwrap_or(from.len());
            let (word, after) = from.split_at(end);
            out.push_str(gap);
            if old_words.next() == Some(word) {
                out.push_str(word);
            } else {
                out.push_str(mark);
                out.push_str(word);
                out.push_str(OFF);
            }
            rest = after;
        }
        out.push_str(rest);
        out.push('\n');
    }
    out
}

/// Returns true if the command shows a running switch and changes nothing.
pub fn can_watch(command: &Command) -> bool {
    match command {
        Command::Status { .. }
        | Command::Ports { .. }
        | Command::Drops { .. }
        | Command::Queues { .. }
        | Command::Pfc { .. }
        | Command::Ecn { command: None }
        | Command::Buffers { .. }
        | Command::Counters { .. }
        | Command::Levels
        | Command::Mirrors
        | Command::Exports
        | Command::Impair(ImpairCommand::List)
        | Command::Vlans
        | Command::Fdb(FdbCommand::Show { .. } | FdbCommand::Count)
        | Command::Audit
        | Command::Neighbors
        | Command::Flows { .. }
        | Command::Deadlock { command: None }
        | Command::Pfcwd(PfcwdCommand::Show(_) | PfcwdCommand::Stats(_))
        | Command::Route(RouteCommand::List { .. })
        | Command::Xdp(XdpCommand::Status { .. })
        | Command::Deadlock {
            command: Some(DeadlockCommand::Show { svg: None, .. }),
        } => true,
        Command::Events { follow, .. } => !follow,
        Command::Watermark(arguments) => !arguments.clears(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_marked() {
        assert_eq!(
            changes(
                "port  in\ns2    12\n",
                "port  in\ns2    13\ns4     1\n",
                "<"
            ),
            format!("port  in\ns2    <13{OFF}\n<s4{OFF}     <1{OFF}\n")
        );
        assert_eq!(changes("a b\n", "a b\n", "<"), "a b\n");
    }
}
