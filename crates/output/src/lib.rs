//! Output of the operator's commands: tables for people, JSON for programs, completions and manual pages.
//!
//! Design: docs/src/internals/design/house.md.
#![forbid(unsafe_code)]

pub mod generated;
pub mod manual;

use std::borrow::Cow;
use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};
use comfy_table::{presets, CellAlignment, ContentArrangement, Table};
use serde::Serialize;

/// Destination and form of answers.
#[derive(Clone, Copy, Debug)]
pub struct Output {
    json: bool,
    captured: bool,
}

/// Text captured from an [`Output`].
static CAPTURED: Mutex<String> = Mutex::new(String::new());

impl Output {
    /// Creates an output to standard output, as JSON or tables.
    pub fn new(json: bool) -> Self {
        Self {
            json,
            captured: false,
        }
    }

    /// Keeps the output for [`taken`](Self::taken) instead of printing it.
    pub fn captured(self) -> Self {
        Self {
            captured: true,
            ..self
        }
    }

    /// Returns the text captured since the last call.
    pub fn taken(self) -> String {
        std::mem::take(&mut *CAPTURED.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns true if JSON was requested.
    pub fn is_json(self) -> bool {
        self.json
    }

    /// Prints a value as JSON, or the result of `text` for it.
    ///
    /// # Errors
    ///
    /// Writing to standard output fails.
    pub fn print<T: Serialize>(self, value: &T, text: impl FnOnce(&T) -> String) -> Result<()> {
        if self.json {
            self.line(&serde_json::to_string_pretty(value)?)
        } else {
            self.line(text(value).trim_end())
        }
    }

    /// Prints one or more lines.
    ///
    /// # Errors
    ///
    /// Writing to standard output fails.
    pub fn line(self, text: &str) -> Result<()> {
        let text = printable(text);
        if self.captured {
            let mut captured = CAPTURED.lock().unwrap_or_else(PoisonError::into_inner);
            captured.push_str(&text);
            captured.push('\n');
        } else {
            writeln!(io::stdout().lock(), "{text}")?;
        }
        Ok(())
    }
}

/// Writes to standard output, for [`say!`] and [`sayln!`]. A closed pipe is not an error: files, and the exit status,
/// are still to be produced.
///
/// # Errors
///
/// Writing to standard output fails for another reason, such as a full disk.
pub fn say(text: fmt::Arguments<'_>) -> Result<()> {
    match io::stdout().lock().write_fmt(text) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(error).context("standard output")
        }
        _ => Ok(()),
    }
}

/// [`print!`], but returns an error instead of panicking.
#[macro_export]
macro_rules! say {
    ($($text:tt)*) => { $crate::say(::std::format_args!($($text)*)) };
}

/// [`println!`], but returns an error instead of panicking.
#[macro_export]
macro_rules! sayln {
    ($($text:tt)*) => { $crate::say!("{}\n", ::std::format_args!($($text)*)) };
}

/// Prints one line on standard error.
pub fn complain(text: &str) {
    eprintln!("{}", printable(text));
}

/// Escapes terminal control characters, in a form that JSON parses. Names and texts of switches, neighbours and files
/// are untrusted.
fn printable(text: &str) -> Cow<'_, str> {
    let acts = |c: char| {
        // Marks and overrides of the writing direction display a text in another order.
        let turns = matches!(c, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        (c.is_control() && !matches!(c, '\n' | '\t')) || turns
    };
    if !text.contains(acts) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match acts(c) {
            true => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            false => out.push(c),
        }
    }
    out.into()
}

/// Returns true if standard output gets colours: a terminal does unless `NO_COLOR` is set, and any output does if
/// `CLICOLOR_FORCE` is.
pub fn colour() -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let forced =
        std::env::var_os("CLICOLOR_FORCE").is_some_and(|value| !value.is_empty() && value != "0");
    !set("NO_COLOR") && (forced || io::stdout().is_terminal())
}

/// Sign for a missing value.
pub const NONE: &str = "–";

/// Returns true if the output's reader has closed the pipe, which is not an error.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<io::Error>()
        .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// Columns that identify a row, repeated in each part of a folded table.
const KEYS: [&str; 6] = ["id", "switch", "port", "priority", "class", "pool"];
/// Between two columns.
const GAP: usize = 2;

/// Width of the terminal on standard output; `None` for a file or a pipe.
pub fn columns() -> Option<usize> {
    let (width, _) = terminal_size::terminal_size_of(io::stdout())?;
    Some(width.0.into())
}

/// Formats a table without lines. Columns whose heading begins with `>` are aligned to the right. A table that is wider
/// than the terminal is folded into several, one below the other.
pub fn table(headings: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let rows: Vec<Vec<String>> = rows.into_iter().collect();
    folded(headings, &rows, columns())
}

fn folded(headings: &[&str], rows: &[Vec<String>], columns: Option<usize>) -> String {
    let widest = |index: usize, heading: &str| {
        let cells = rows.iter().filter_map(|row| row.get(index));
        let widths = cells.map(|cell| cell.chars().count());
        let heading = heading.trim_start_matches('>').chars().count();
        widths.chain([heading]).max().unwrap_or(0)
    };
    let places = || headings.iter().enumerate();
    let widths: Vec<usize> = places().map(|(index, it)| widest(index, it)).collect();
    let width = |part: &[usize]| -> usize {
        let all: usize = part.iter().map(|index| widths[*index] + GAP).sum();
        all.saturating_sub(GAP)
    };
    let all: Vec<usize> = (0..headings.len()).collect();
    let Some(columns) = columns.filter(|columns| width(&all) > *columns) else {
        return plain(headings, rows);
    };
    let is_key = |heading: &&&str| KEYS.contains(&heading.trim_start_matches('>'));
    let keys = headings.iter().take_while(is_key).count().max(1);
    let mut parts = vec![all[..keys.min(all.len())].to_vec()];
    for index in keys..headings.len() {
        let Some(last) = parts.last_mut() else { break };
        let has_more = last.len() > keys;
        last.push(index);
        if has_more && width(last) > columns {
            last.pop();
            parts.push([&all[..keys], &[index]].concat());
        }
    }
    let part = |part: &Vec<usize>| {
        let headings: Vec<&str> = part.iter().map(|index| headings[*index]).collect();
        let rows = rows.iter().map(|row| {
            let cells = part.iter().filter_map(|index| row.get(*index).cloned());
            cells.collect()
        });
        plain(&headings, &rows.collect::<Vec<_>>())
    };
    parts.iter().map(part).collect::<Vec<_>>().join("\n")
}

fn plain(headings: &[&str], rows: &[Vec<String>]) -> String {
    let mut table = Table::new();
    table
        .load_preset(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(
            headings
                .iter()
                .map(|heading| heading.trim_start_matches('>')),
        );
    for row in rows {
        table.add_row(row);
    }
    for (index, heading) in headings.iter().enumerate() {
        if let Some(column) = table.column_mut(index) {
            column.set_padding((0, GAP as u16));
            if heading.starts_with('>') {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
    }
    table
        .lines()
        .map(|line| line.trim_end().to_owned() + "\n")
        .collect()
}

/// Formats names and values, one per line.
pub fn facts(rows: &[(&str, String)]) -> String {
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    rows.iter()
        .map(|(name, value)| format!("{name:width$}  {value}\n"))
        .collect()
}

/// `1 loop`, `2 loops`.
pub fn count(number: u64, what: &str) -> String {
    match number {
        1 => format!("1 {what}"),
        number => format!("{number} {what}s"),
    }
}

/// A human-readable number of bytes.
pub fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = count as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 {
        format!("{count} B")
    } else {
        format!("{value:.1} {}", UNITS[unit])
    }
}

/// A human-readable time span, in its two largest units.
pub fn seconds(span: f64) -> String {
    if span >= 60.0 {
        let whole = span as u64;
        let (days, hours, minutes) = (whole / 86_400, whole / 3600 % 24, whole / 60 % 60);
        match (days, hours) {
            (0, 0) => format!("{minutes} min {:02} s", whole % 60),
            (0, _) => format!("{hours} h {minutes:02} min"),
            _ => format!("{days} d {hours:02} h"),
        }
    } else if span >= 1.0 {
        format!("{span:.1} s")
    } else if span >= 1e-3 {
        format!("{:.1} ms", span * 1e3)
    } else if span > 0.0 {
        format!("{:.1} µs", span * 1e6)
    } else {
        "0 s".to_owned()
    }
}

/// A human-readable rate.
pub fn rate(bits_per_second: u64) -> String {
    weir_core::BitRate::new(bits_per_second).map_or_else(
        || "0 bit/s".to_owned(),
        |rate| weir_config::units::format_rate(rate) + "/s",
    )
}

/// "12 no_route, 3 bad_length", or [`NONE`].
pub fn reasons<'a, N: AsRef<str> + 'a>(
    counts: impl IntoIterator<Item = (&'a N, &'a u64)>,
) -> String {
    let list: Vec<String> = counts
        .into_iter()
        .map(|(reason, count)| format!("{count} {}", reason.as_ref()))
        .collect();
    if list.is_empty() {
        NONE.to_owned()
    } else {
        list.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_reaches_a_terminal_as_text() {
        let hostile = "a\x1b]0;title\x07b\x1b[2J\u{9b}31m\r\u{202e}c\x7f";
        let shown = "a\\u001b]0;title\\u0007b\\u001b[2J\\u009b31m\\u000d\\u202ec\\u007f";
        assert_eq!(printable(hostile), shown);
        assert_eq!(printable("a – b\n\tÄ"), "a – b\n\tÄ");
        for json in [false, true] {
            let output = Output::new(json).captured();
            output.print(&hostile, |text| (*text).to_owned()).unwrap();
            let printed = output.taken();
            assert!(
                !printed.trim_end().contains(char::is_control),
                "{printed:?}"
            );
            if json {
                let read: String = serde_json::from_str(&printed).unwrap();
                assert_eq!(read, hostile);
            }
        }
    }

    #[test]
    fn columns_align() {
        let rows = vec![
            vec!["s2".to_owned(), "7".to_owned()],
            vec!["uplink".to_owned(), "12345".to_owned()],
        ];
        assert_eq!(
            table(&["port", ">frames"], rows),
            "port    frames\ns2           7\nuplink   12345\n"
        );
    }

    #[test]
    fn a_table_wider_than_the_terminal_is_folded_and_each_part_has_its_keys() {
        let headings = ["port", ">priority", ">ingress", "we pause", ">for"];
        let row = |port: &str| {
            [port, "3", "60.0 KiB", "yes", "1.2 s"]
                .map(str::to_owned)
                .to_vec()
        };
        let rows = [row("s2"), row("uplink")];
        let whole = "\
port    priority   ingress  we pause    for
s2             3  60.0 KiB  yes       1.2 s
uplink         3  60.0 KiB  yes       1.2 s
";
        assert_eq!(folded(&headings, &rows, None), whole);
        assert_eq!(folded(&headings, &rows, Some(43)), whole);
        assert_eq!(
            folded(&headings, &rows, Some(42)),
            "\
port    priority   ingress  we pause
s2             3  60.0 KiB  yes
uplink         3  60.0 KiB  yes

port    priority    for
s2             3  1.2 s
uplink         3  1.2 s
"
        );
        // Even in a very narrow terminal, each part has one more column.
        assert_eq!(folded(&headings, &rows, Some(1)).matches("port").count(), 3);
        for columns in 17..43 {
            let parts = folded(&headings, &rows, Some(columns));
            let longest = parts.lines().map(|line| line.chars().count()).max();
            assert!(longest <= Some(columns.max(26)), "{columns}: {parts}");
        }
        assert_eq!(folded(&["only"], &[], Some(2)), "only\n");
    }

    #[test]
    fn one_is_not_a_plural() {
        assert_eq!(count(0, "loop"), "0 loops");
        assert_eq!(count(1, "loop"), "1 loop");
        assert_eq!(count(2, "loop"), "2 loops");
    }

    #[test]
    fn values_have_units() {
        assert_eq!(bytes(1023), "1023 B");
        assert_eq!(bytes(61_440), "60.0 KiB");
        assert_eq!(seconds(0.0215), "21.5 ms");
        assert_eq!(seconds(216.0), "3 min 36 s");
        assert_eq!(seconds(3723.0), "1 h 02 min");
        assert_eq!(seconds(90_000.0), "1 d 01 h");
        assert_eq!(seconds(0.000_035), "35.0 µs");
        assert_eq!(seconds(0.0), "0 s");
        assert_eq!(rate(100_000_000), "100Mbit/s");
        assert_eq!(rate(0), "0 bit/s");
    }
}
