//! Code blocks and the words after their language, which determine if and where their commands run.

use super::expected::Expected;

/// Languages of blocks without commands.
const OTHER: [&str; 9] = [
    "text", "usage", "toml", "json", "ini", "yaml", "hex", "lua", "python",
];
/// Beginnings of command lines. None may be hidden in a block of text.
const COMMANDS: [&str; 11] = [
    "$ ",
    "cargo ",
    "sudo ",
    "ip ",
    "switchctl ",
    "weir-lab ",
    "weir-plan ",
    "weir-page ",
    "weir-sim ",
    "weir-switchd --",
    "target/release/",
];

/// Reasons for which commands do not run in the tests.
const REASONS: [&str; 7] = [
    "needs-a-NIC",
    "needs-a-cluster",
    "needs-a-screen",
    "needs-another-machine",
    "needs-containers",
    "needs-systemd",
    // `cargo xtask dist --check` runs them in a fresh Debian.
    "installs-packages",
];

/// Environment of commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// In a copy of the repository's files, without a switch.
    Desk,
    /// On the machine of switch s1 in a ring under PFC that locks and is released repeatedly.
    Ring,
    /// On the machine of switch s4, which has two hosts, in a ring with Levels.
    LevelRing,
}

impl Place {
    /// Switch on whose machine commands run.
    pub fn switch(self) -> &'static str {
        match self {
            Self::Desk => "none",
            Self::Ring => "s1",
            Self::LevelRing => "s4",
        }
    }
}

/// Treatment of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Use {
    /// Not run; for commands, with the reason.
    Shown(Option<String>),
    /// Written into this file before later commands run.
    File(String),
    /// Run.
    Run(Run),
}

/// Execution of commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Environment.
    pub place: Place,
    /// Only checks that the command line is valid.
    pub is_parsed_only: bool,
    /// Replacements in the commands, to shorten them.
    pub swaps: Vec<(String, String)>,
    /// Overrides for scenarios with real frames: shorter, and slow enough for a busy machine.
    pub overrides: Vec<String>,
    /// Exit status of each command.
    pub status: u8,
    /// True if the output is the same each time.
    pub is_exact: bool,
    /// Commands with their output in the book.
    pub commands: Vec<(String, Expected)>,
}

/// A code block.
pub struct Block {
    /// Line in the page at which it begins.
    pub line: usize,
    /// Contents.
    pub text: String,
    /// Treatment by a test.
    pub used: Use,
    /// Commands not shown in the page on which its commands depend (`<!-- before: … -->`).
    pub before: Vec<String>,
}

impl Block {
    /// Parses a block.
    ///
    /// # Errors
    ///
    /// It is invalid.
    pub fn new(line: usize, info: &str, text: String, before: Vec<String>) -> Result<Self, String> {
        let mut words = info.split(',');
        let language = words.next().unwrap_or_default();
        let used = match language {
            "sh" | "console" => shell(words, language == "console", &text)?,
            "toml" if info.contains(",file=") => {
                Use::File(info.trim_start_matches("toml,file=").to_owned())
            }
            other if OTHER.contains(&other) && words.next().is_none() => {
                let hidden = |line: &&str| COMMANDS.iter().any(|start| line.starts_with(start));
                let command = text.lines().find(hidden);
                if let Some(command) = command.filter(|_| other != "usage") {
                    return Err(format!(
                        "`{command}` is a command: its block is `sh` or `console`"
                    ));
                }
                Use::Shown(None)
            }
            _ => {
                return Err(format!(
                    "`{info}`: legal are sh, console, toml,file=NAME and {}",
                    OTHER.join(", ")
                ))
            }
        };
        Ok(Self {
            line,
            text,
            used,
            before,
        })
    }
}

fn shell<'a>(
    words: impl Iterator<Item = &'a str>,
    has_output: bool,
    text: &str,
) -> Result<Use, String> {
    let mut run = Run {
        place: Place::Desk,
        is_parsed_only: false,
        swaps: Vec::new(),
        overrides: Vec::new(),
        status: 0,
        is_exact: false,
        commands: Vec::new(),
    };
    for word in words {
        match word.split_once('=').unwrap_or((word, "")) {
            ("no-run", reason) if REASONS.contains(&reason) => {
                return Ok(Use::Shown(Some(reason.to_owned())));
            }
            ("on", "ring") => run.place = Place::Ring,
            ("on", "level-ring") => run.place = Place::LevelRing,
            ("parsed", "") => run.is_parsed_only = true,
            ("exact", "") => run.is_exact = true,
            ("status", status) => {
                run.status = status.parse().map_err(|_| format!("{word}: no status"))?;
            }
            ("set", value) => run.overrides.push(value.to_owned()),
            ("swap", swap) => {
                let (from, to) = swap.split_once(':').ok_or(format!("{word}: no colon"))?;
                if !text.contains(from) {
                    return Err(format!("{word}: the commands have no `{from}`"));
                }
                run.swaps.push((from.to_owned(), to.to_owned()));
            }
            _ => {
                return Err(format!(
                    "`{word}`: legal are on=ring, on=level-ring, parsed, exact, status=N, set=PATH=VALUE, swap=FROM:TO and no-run=REASON \
                     with one of {}",
                    REASONS.join(", ")
                ))
            }
        }
    }
    run.commands = if has_output {
        transcript(text)?
    } else {
        vec![(text.to_owned(), Expected::default())]
    };
    for (command, _) in &mut run.commands {
        for (from, to) in &run.swaps {
            *command = command.replace(from, to);
        }
    }
    Ok(Use::Run(run))
}

/// Lines after `$ ` are commands, the others are output of the preceding command.
fn transcript(text: &str) -> Result<Vec<(String, Expected)>, String> {
    let mut commands: Vec<(String, Expected)> = Vec::new();
    for line in text.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            commands.push((command.to_owned(), Expected::default()));
        } else {
            let (command, expected) = commands
                .last_mut()
                .ok_or("a console block begins with `$ `")?;
            if command.ends_with('\\') {
                command.push('\n');
                command.push_str(line);
            } else {
                expected.push(line);
            }
        }
    }
    Ok(commands)
}
