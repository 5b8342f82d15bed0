//! `switchctl`: looks at and after Weir switches.
#![forbid(unsafe_code)]

mod check;
mod cli;
mod output;
mod show;
mod target;
mod xdp;

use std::process::ExitCode;

use clap::Parser;
use weir_api::client::ClientError;

use cli::{Cli, Command, ConfigCommand, XdpCommand};
use output::Output;

/// What was asked about is bad, or was not found.
const EXIT_BAD: u8 = 1;
/// No daemon answers.
const EXIT_UNREACHABLE: u8 = 3;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let output = Output::new(cli.json);
    match run(&cli, &output) {
        Ok(good) => ExitCode::from(if good { 0 } else { EXIT_BAD }),
        Err(error) if output::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("switchctl: {error:#}");
            let unreachable = error.is::<target::NoDaemon>()
                || matches!(
                    error.downcast_ref(),
                    Some(ClientError::Unreachable { .. } | ClientError::TimedOut { .. })
                );
            ExitCode::from(if unreachable {
                EXIT_UNREACHABLE
            } else {
                EXIT_BAD
            })
        }
    }
}

/// False when what was asked about is bad.
fn run(cli: &Cli, output: &Output) -> anyhow::Result<bool> {
    match &cli.command {
        Command::Status => show::status(&cli.target, output)?,
        Command::Ports => show::ports(&cli.target, output)?,
        Command::Queues { all } => show::queues(&cli.target, output, *all)?,
        Command::Pfc => show::pfc(&cli.target, output)?,
        Command::Deadlock => show::deadlock(&cli.target, output)?,
        Command::Events { follow, after } => show::events(&cli.target, output, *after, *follow)?,
        Command::Config(ConfigCommand::Check { file }) => return check::config(file, output),
        Command::Xdp(XdpCommand::Status { place }) => xdp::status(&place.directory()?, output)?,
        Command::Xdp(XdpCommand::Detach { place, ports, all }) => {
            return xdp::detach(&place.directory()?, ports, *all, output)
        }
    }
    Ok(true)
}
