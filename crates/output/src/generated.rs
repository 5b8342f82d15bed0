//! Completions and manual pages, generated from the command line's definition.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Subcommand;
use clap_complete::Shell;

use crate::manual::Manual;
use crate::Output;

/// Texts that every command can write about itself; flatten it into the command's own subcommands.
#[derive(Clone, Debug, Subcommand)]
pub enum Generated {
    /// Print shell completions.
    #[command(after_help = "\
Examples, for COMMAND:
  COMMAND completions bash > /usr/share/bash-completion/completions/COMMAND
  COMMAND completions zsh > /usr/local/share/zsh/site-functions/_COMMAND
  COMMAND completions fish > ~/.config/fish/completions/COMMAND.fish")]
    Completions {
        /// Which shell.
        #[arg(value_enum)]
        shell: Shell,
    },
    /// Write manual pages, one for each command.
    #[command(
        hide = true,
        after_help = "\
Example, for COMMAND:
  COMMAND man /usr/local/share/man/man1"
    )]
    Man {
        /// Output directory.
        directory: PathBuf,
    },
}

impl Generated {
    /// Writes the requested output about `command`. `script` contains a shell's completions of a program that completes
    /// names itself; without one they are generated from the command line's definition. `pages` contains the additional
    /// text of its manual.
    ///
    /// # Errors
    ///
    /// Writing to standard output or the directory fails.
    pub fn run(
        &self,
        command: clap::Command,
        pages: &Manual,
        output: Output,
        script: impl Fn(Shell) -> Option<String>,
    ) -> Result<()> {
        match self {
            Self::Completions { shell } => match script(*shell) {
                Some(script) => output.line(script.trim()),
                None => completions(command, *shell, output),
            },
            Self::Man { directory } => std::fs::create_dir_all(directory)
                .and_then(|()| pages.write_all(command, directory))
                .with_context(|| directory.display().to_string()),
        }
    }
}

fn completions(mut command: clap::Command, shell: Shell, output: Output) -> Result<()> {
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, name, &mut script);
    output.line(String::from_utf8(script)?.trim_end())
}
