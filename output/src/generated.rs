//! Completions and manual pages, made from the command line's definition.

use std::path::Path;

use anyhow::{Context, Result};
use clap::Command;
use clap_complete::Shell;

use crate::Output;

/// Prints a command's completions for a shell.
///
/// # Errors
///
/// When standard output takes nothing.
pub fn completions(mut command: Command, shell: Shell, output: Output) -> Result<()> {
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, name, &mut script);
    output.line(String::from_utf8(script)?.trim_end())
}

/// Writes a page for a command, such as `switchctl.1`, and one for each command below it, such as `switchctl-pfc.1`.
///
/// # Errors
///
/// When a file cannot be written.
pub fn manual(command: Command, directory: &Path) -> Result<()> {
    std::fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
    // `help` would have a page for each command once more.
    let command = command.disable_help_subcommand(true);
    clap_mangen::generate_to(command, directory).with_context(|| directory.display().to_string())
}
