//! Completions and manual pages, made from the command line's definition.

use std::path::Path;

use anyhow::{Context, Result};
use clap::CommandFactory;
use clap_complete::Shell;

use crate::cli::Cli;
use crate::output::Output;

/// Prints the completions for a shell.
pub fn completions(shell: Shell, output: Output) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "switchctl", &mut script);
    output.line(String::from_utf8(script)?.trim_end())
}

/// Writes `switchctl.1` and a page for each of its commands, such as `switchctl-pfc.1`.
pub fn manual(directory: &Path) -> Result<()> {
    std::fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
    // `help` would have a page for each command once more.
    let command = Cli::command().disable_help_subcommand(true);
    clap_mangen::generate_to(command, directory).with_context(|| directory.display().to_string())
}
