//! The program `weir-page`.
#![forbid(unsafe_code)]

use std::io::{self, IsTerminal};
use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use tracing_subscriber::EnvFilter;
use weir_output::Output;
use weir_page::cli::{Cli, Command, MANUAL};
use weir_page::run;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal())
        .init();
    let outcome = match &cli.command {
        Some(Command::Generated(generated)) => generated
            .run(Cli::command(), &MANUAL, Output::new(false), |_| None)
            .map(|()| ExitCode::SUCCESS),
        None => run::run(&cli.options),
    };
    match outcome {
        Ok(code) => code,
        Err(error) if weir_output::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("weir-page: {}", weir_config::told(error.as_ref()));
            ExitCode::FAILURE
        }
    }
}
