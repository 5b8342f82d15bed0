//! The program `weir-plan`, which `switchctl plan` runs.
#![forbid(unsafe_code)]

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use weir_output::Output;
use weir_plan::cli::Cli;

fn main() -> ExitCode {
    let mut words: Vec<OsString> = std::env::args_os().collect();
    // An option of a plan conflicts with commands after it; this one belongs to every command.
    let json_first = words.get(1).is_some_and(|word| word == "--json");
    if json_first {
        words.remove(1);
    }
    let called = called(&words);
    let cli = Cli::parse_from(words);
    match weir_plan::run(&cli, &Output::new(cli.json || json_first)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) if weir_output::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{called}: {}", weir_config::told(error.as_ref()));
            ExitCode::FAILURE
        }
    }
}

/// Returns the prefix of errors: `switchctl` names this program `switchctl plan`, so that errors and usage match the typed
/// command.
fn called(words: &[OsString]) -> String {
    let name = words.first().and_then(|word| Path::new(word).file_name());
    let name = name.and_then(|name| name.to_str()).unwrap_or("weir-plan");
    name.split(' ').next().unwrap_or(name).to_owned()
}
