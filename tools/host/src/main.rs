//! The program `weir-host`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::Parser;
use weir_host::cli::Cli;
use weir_output::Output;

fn main() -> ExitCode {
    let cli = Cli::parse();
    match weir_host::run(&cli, Output::new(cli.json)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) if weir_output::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("weir-host: {}", weir_config::told(error.as_ref()));
            ExitCode::FAILURE
        }
    }
}
