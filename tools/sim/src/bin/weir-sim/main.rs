//! `weir-sim`: scenarios in virtual time.
#![forbid(unsafe_code)]

mod cli;
mod compare;
mod fairness;
mod harm;
mod import;
mod output;
mod parallel;
mod reproduce;
mod run;
mod search;
mod sweep;
mod watch;
mod wide;

use std::process::ExitCode;

use clap::Parser;
use weir_config::FileError;
use weir_sim::import::{ChakraError, ImportError};

use cli::{Cli, Command};

const EXIT_EXPECTATION: u8 = 1;
const EXIT_USAGE: u8 = 2;
const EXIT_FAILURE: u8 = 3;

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Run(arguments) => run::run(&arguments),
        Command::Sweep(arguments) => sweep::sweep(&arguments),
        Command::Import(arguments) => import::import(&arguments),
        Command::Compare(arguments) => compare::compare(&arguments),
        Command::Search(arguments) if arguments.wide => wide::search(&arguments),
        Command::Search(arguments) if arguments.harm => harm::search(&arguments),
        Command::Search(arguments) => search::search(&arguments),
        Command::Fairness(arguments) => fairness::fairness(&arguments),
        Command::Reproduce(arguments) => reproduce::reproduce(&arguments),
    };
    let status = match outcome {
        Ok(true) => 0,
        Ok(false) => EXIT_EXPECTATION,
        Err(error) => {
            eprintln!("error: {}", weir_config::told(error.as_ref()));
            let is_of_input = error.is::<ImportError>() || error.is::<ChakraError>();
            if error.is::<FileError>() || is_of_input {
                EXIT_USAGE
            } else {
                EXIT_FAILURE
            }
        }
    };
    ExitCode::from(status)
}
