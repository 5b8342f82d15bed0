//! Manual pages as in man-pages(7): a command's definition, and the help text after the options divided into sections
//! by its headings.

use std::io::{self, Write};
use std::path::Path;

use clap::Command;
use clap_mangen::Man;
use roff::{bold, roman, Roff};

/// Text in addition to a program's definition, for the pages of all its commands.
#[derive(Clone, Copy, Debug)]
pub struct Manual {
    /// Section of the manual: `"1"` for commands, `"8"` for daemons.
    pub section: &'static str,
    /// Paths, with descriptions.
    pub files: &'static [(&'static str, &'static str)],
    /// Variables, with descriptions.
    pub environment: &'static [(&'static str, &'static str)],
    /// Other pages, such as `switchctl(1)`.
    pub see_also: &'static [&'static str],
}

const EXAMPLES: &str = "EXAMPLES";
const EXIT_STATUS: &str = "EXIT STATUS";
const NOTES: &str = "NOTES";
/// Maximum number of words of a heading: a longer line with a colon is a sentence.
const HEADING_WORDS_MAX: usize = 3;

#[derive(Debug, PartialEq, Eq)]
struct Part {
    heading: String,
    paragraphs: Vec<Vec<String>>,
}

impl Manual {
    /// Writes a page for a command, such as `switchctl.1`, and one for each subcommand, such as `switchctl-pfc.1`.
    ///
    /// # Errors
    ///
    /// A file cannot be written.
    pub fn write_all(&self, command: Command, directory: &Path) -> io::Result<()> {
        // `help` would add another page for each command.
        let mut command = command.disable_help_subcommand(true);
        command.build();
        self.write_below(&command, &command, directory)
    }

    fn write_below(&self, command: &Command, whole: &Command, directory: &Path) -> io::Result<()> {
        for below in command
            .get_subcommands()
            .filter(|below| !below.is_hide_set())
        {
            self.write_below(below, whole, directory)?;
        }
        let name = command.get_display_name().unwrap_or(command.get_name());
        let path = directory.join(format!("{name}.{}", self.section));
        std::fs::write(path, self.page(command, whole)?)
    }

    /// Returns the page of one command of the program `whole`, whose exit status applies to all of its commands.
    ///
    /// # Errors
    ///
    /// None: writing to memory cannot fail.
    pub fn page(&self, command: &Command, whole: &Command) -> io::Result<Vec<u8>> {
        let version = whole.get_version().unwrap_or_default();
        let man = Man::new(command.clone())
            .section(self.section)
            .source(format!("Weir {version}"))
            .manual("Weir");
        let mut page = Vec::new();
        man.render_title(&mut page)?;
        man.render_name_section(&mut page)?;
        synopsis(&mut page, command)?;
        man.render_description_section(&mut page)?;
        man.render_options_section(&mut page)?;
        if command.get_subcommands().any(|below| !below.is_hide_set()) {
            man.render_subcommands_section(&mut page)?;
        }
        let mut parts = parts(&help_after(command));
        if !parts.iter().any(|part| part.heading == EXIT_STATUS) {
            let of_all = self::parts(&help_after(whole)).into_iter();
            parts.extend(of_all.filter(|part| part.heading == EXIT_STATUS));
        }
        let (examples, mut others): (Vec<Part>, _) =
            parts.into_iter().partition(|part| part.heading == EXAMPLES);
        others.sort_by_key(|part| match part.heading.as_str() {
            EXIT_STATUS => 1,
            NOTES => 2,
            _ => 0,
        });
        let notes = others.iter().position(|part| part.heading == NOTES);
        let notes = others.split_off(notes.unwrap_or(others.len()));
        let mut roff = Roff::default();
        others.iter().for_each(|part| part.render(&mut roff));
        named(&mut roff, "ENVIRONMENT", self.environment);
        named(&mut roff, "FILES", self.files);
        notes
            .iter()
            .chain(&examples)
            .for_each(|part| part.render(&mut roff));
        self.render_see_also(&mut roff, command, whole);
        roff.to_writer(&mut page)?;
        page.flush()?;
        Ok(page)
    }

    fn render_see_also(&self, roff: &mut Roff, command: &Command, whole: &Command) {
        let is_below = command.get_name() != whole.get_name();
        let whole = is_below.then(|| format!("{}({})", whole.get_name(), self.section));
        let pages: Vec<String> = whole
            .into_iter()
            .chain(self.see_also.iter().map(ToString::to_string))
            .collect();
        if pages.is_empty() {
            return;
        }
        roff.control("SH", ["SEE ALSO"]);
        roff.text([roman(pages.join(", "))]);
    }
}

/// As in `--help`: options with their values, or a placeholder for them.
fn synopsis(page: &mut Vec<u8>, command: &Command) -> io::Result<()> {
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage:").trim();
    let mut roff = Roff::default();
    roff.control("SH", ["SYNOPSIS"]).control("nf", []);
    for line in usage.lines() {
        roff.text([roman(line.trim())]);
    }
    roff.control("fi", []);
    roff.to_writer(page)
}

fn help_after(command: &Command) -> String {
    let help = command.get_after_long_help().or(command.get_after_help());
    help.map(ToString::to_string).unwrap_or_default()
}

/// Writes a section of names with their descriptions.
fn named(roff: &mut Roff, heading: &str, names: &[(&str, &str)]) {
    if names.is_empty() {
        return;
    }
    roff.control("SH", [heading]);
    for (name, text) in names {
        roff.control("TP", []);
        roff.text([bold(*name)]);
        roff.text([roman(*text)]);
    }
}

/// Splits a help text at its headings; text without one becomes notes.
fn parts(help: &str) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for paragraph in help.split("\n\n").filter(|text| !text.trim().is_empty()) {
        let lines: Vec<String> = paragraph
            .trim_matches('\n')
            .lines()
            .map(str::to_owned)
            .collect();
        let (heading, lines) = headed(lines);
        match parts.iter_mut().find(|part| part.heading == heading) {
            Some(part) => part.paragraphs.push(lines),
            None => parts.push(Part {
                heading,
                paragraphs: vec![lines],
            }),
        }
    }
    parts
}

/// Removes the heading from a paragraph: `Examples:` above indented lines, or `Exit status: …`, or `Exit status 1: …`.
fn headed(mut lines: Vec<String>) -> (String, Vec<String>) {
    let first = lines[0].clone();
    let is_list = lines.len() > 1 && lines[1..].iter().all(|line| line.starts_with(' '));
    let heading = first
        .strip_suffix(':')
        .filter(|heading| is_list && heading.split_whitespace().count() <= HEADING_WORDS_MAX);
    if let Some(heading) = heading {
        lines.remove(0);
        let heading = match heading {
            "Example" => EXAMPLES.to_owned(),
            other => other.to_uppercase(),
        };
        return (heading, lines);
    }
    for begin in ["Exit status: ", "Exit status "] {
        if let Some(rest) = first.strip_prefix(begin) {
            lines[0] = rest.to_owned();
            return (EXIT_STATUS.to_owned(), lines);
        }
    }
    (NOTES.to_owned(), lines)
}

impl Part {
    fn render(&self, roff: &mut Roff) {
        roff.control("SH", [self.heading.as_str()]);
        for (number, lines) in self.paragraphs.iter().enumerate() {
            if number > 0 {
                roff.control("PP", []);
            }
            render_lines(roff, lines);
        }
    }
}

/// Indented lines keep their line breaks, others are filled.
fn render_lines(roff: &mut Roff, lines: &[String]) {
    for lines in lines.chunk_by(|a, b| a.starts_with(' ') == b.starts_with(' ')) {
        if !lines[0].starts_with(' ') {
            lines
                .iter()
                .for_each(|line| _ = roff.text([roman(line.as_str())]));
            continue;
        }
        let indent = |line: &String| line.len() - line.trim_start().len();
        let least = lines.iter().map(indent).min().unwrap_or(0);
        roff.control("nf", []);
        lines
            .iter()
            .for_each(|line| _ = roff.text([roman(&line[least..])]));
        roff.control("fi", []);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELP: &str = "\
What the columns say is said here,
on two lines.

Exit status:
  0  well
  1  not well

Examples:
  tool one
    what it shows

And more to know.";

    const MANUAL: Manual = Manual {
        section: "1",
        files: &[("/run/tool", "its directory")],
        environment: &[],
        see_also: &["other(8)"],
    };

    fn tool() -> Command {
        let below = Command::new("below")
            .about("Does a part")
            .after_help("Example:\n  tool below .hidden");
        Command::new("tool")
            .about("Does it")
            .version("1.2")
            .after_help(HELP)
            .arg(clap::Arg::new("socket").long("socket").required(true))
            .subcommand(below)
    }

    fn headings(page: &str) -> Vec<&str> {
        page.lines()
            .filter_map(|line| line.strip_prefix(".SH "))
            .collect()
    }

    #[test]
    fn the_long_help_has_a_section_of_its_own() {
        let mut tool = tool();
        tool.build();
        let page = String::from_utf8(MANUAL.page(&tool, &tool).unwrap()).unwrap();
        assert_eq!(
            headings(&page),
            [
                "NAME",
                "SYNOPSIS",
                "DESCRIPTION",
                "OPTIONS",
                "SUBCOMMANDS",
                "\"EXIT STATUS\"",
                "FILES",
                "NOTES",
                "EXAMPLES",
                "\"SEE ALSO\"",
            ]
        );
        assert!(page.contains("tool \\-\\-socket <socket>"), "{page}");
        assert!(
            page.contains(".nf\ntool one\n  what it shows\n.fi"),
            "{page}"
        );
        assert!(
            page.contains("on two lines.\n.PP\nAnd more to know."),
            "{page}"
        );
    }

    #[test]
    fn subcommands_have_the_exit_statuses_of_the_program() {
        let directory = tempfile::tempdir().unwrap();
        MANUAL.write_all(tool(), directory.path()).unwrap();
        let page = std::fs::read_to_string(directory.path().join("tool-below.1")).unwrap();
        assert!(page.contains(".SH \"EXIT STATUS\"\n.nf\n0  well"), "{page}");
        // A line that begins with a dot is text, not a request.
        assert!(page.contains("tool below .hidden"), "{page}");
        assert!(page.contains("tool(1), other(8)"), "{page}");
        assert!(directory.path().join("tool.1").exists());
    }
}
