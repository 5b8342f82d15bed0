//! `switchctl`: inspects and configures Weir switches.
//!
//! Design: docs/src/internals/design/configuration.md.
#![deny(unsafe_code)] // for one system call that aya lacks: xdp/link.rs

mod capture;
mod change;
mod cli;
mod config;
mod convert;
mod doctor;
mod init;
mod plan;
mod record;
mod route;
mod show;
mod target;
mod top;
mod watch;
mod xdp;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use cli::{
    Cli, Command, ConfigCommand, DeadlockCommand, PfcCommand, XdpCommand, EXIT_BAD, EXIT_CHANGE,
    EXIT_UNBALANCED, EXIT_UNREACHABLE, EXIT_USAGE,
};
use target::TargetError;
use weir_output::Output;

fn main() -> ExitCode {
    cli::complete::answer();
    let cli = Cli::parse();
    let output = Output::new(cli.json);
    if cli.check && (cli.watch.is_some() || !change::check::can_check(&cli.command)) {
        eprintln!("switchctl: --check works only with commands that change a running switch: reload, restart, route, ecn set, pfcwd, port, config save and config rollback");
        return ExitCode::from(EXIT_USAGE);
    }
    let outcome = match cli.watch {
        Some(_) if !watch::can_watch(&cli.command) => {
            eprintln!("switchctl: --watch works only with commands that show a running switch");
            return ExitCode::from(EXIT_USAGE);
        }
        Some(interval) => watch::watch(output, interval, |output| run(&cli, output)),
        None => run(&cli, &output),
    };
    match outcome {
        Ok(status) => ExitCode::from(status),
        Err(error) if weir_output::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            weir_output::complain(&format!("switchctl: {}", weir_config::told(error.as_ref())));
            ExitCode::from(exit_code(&cli.command, &error))
        }
    }
}

fn run(cli: &Cli, output: &Output) -> anyhow::Result<u8> {
    if let (true, Command::Restart { .. }) = (cli.check, &cli.command) {
        change::restart::check(&cli.target, output)?;
        return Ok(0);
    }
    if cli.check {
        let changes = change::check::check(&cli.target, output, &cli.command)?;
        return Ok(if changes { EXIT_CHANGE } else { 0 });
    }
    if let Command::Status { probe } = cli.command {
        let status = show::status(&cli.target, output)?;
        return Ok(probe.map_or_else(|| cli::of_health(&status), |probe| probe.answer(&status)));
    }
    act(cli, output).map(|good| if good { 0 } else { EXIT_BAD })
}

/// Returns false for a bad result.
fn act(cli: &Cli, output: &Output) -> anyhow::Result<bool> {
    let target = &cli.target;
    match &cli.command {
        Command::Status { .. } => {
            show::status(target, output)?;
        }
        Command::Ports { ports } => show::ports(target, output, ports)?,
        Command::Drops { ports } => show::drops(target, output, ports)?,
        Command::Queues { all } => show::queues(target, output, *all)?,
        Command::Pfc { command: None } => show::pfc(target, output)?,
        Command::Pfc {
            command: Some(PfcCommand::Counters { history, ports }),
        } => show::pfc_counters(target, output, ports, *history)?,
        Command::Credits { ports } => show::credits(target, output, ports)?,
        Command::Ecn { command } => change::ecn::ecn(target, output, command.as_ref())?,
        Command::Buffers { ports } => show::buffers(target, output, ports)?,
        Command::Watermark(arguments) => show::watermark(target, output, arguments)?,
        Command::Counters { all } => show::counters(target, output, *all)?,
        Command::Levels => show::levels(target, output)?,
        Command::Mirrors => show::mirrors(target, output)?,
        Command::Exports => show::exports(target, output)?,
        Command::Impair(command) => change::impair::impair(target, output, command)?,
        Command::Vlans => show::vlans(target, output)?,
        Command::Audit => show::audit(target, output)?,
        Command::Deadlock { command: None } => show::deadlock(target, output)?,
        Command::Deadlock {
            command: Some(DeadlockCommand::Show { id, svg }),
        } => show::flight(target, output, *id, svg.as_deref())?,
        Command::Events { follow, after } => show::events(target, output, *after, *follow)?,
        Command::Neighbors => show::neighbors(target, output)?,
        Command::Route(command) => route::route(target, output, command)?,
        Command::Fdb(command) => change::fdb::fdb(target, output, command)?,
        Command::Trace(arguments) => {
            show::trace(target, output, &arguments.port, &arguments.frame)?;
        }
        Command::Capture(arguments) => capture::run(target, output, arguments)?,
        Command::Record(arguments) => record::run(target, output, arguments)?,
        Command::Flows { ingress, egress } => {
            show::flows(target, output, ingress.as_deref(), egress.as_deref())?;
        }
        Command::Pfcwd(command) => show::pfcwd(target, output, command)?,
        Command::Port(command) => return change::port::port(target, output, command),
        Command::Top { interval, once } => top::top(target, output, *interval, *once)?,
        Command::Openapi => output.line(weir_api::routes::openapi::json().trim_end())?,
        Command::Generated(generated) => {
            generated.run(Cli::command(), &cli::MANUAL, *output, cli::complete::script)?;
        }
        Command::Config(ConfigCommand::Check { file }) => {
            return config::check::config(file, output)
        }
        Command::Config(ConfigCommand::Diff(arguments)) => {
            return config::diff::run(target, output, arguments)
        }
        Command::Config(ConfigCommand::Save { dry_run }) => {
            return config::save::run(target, output, *dry_run)
        }
        Command::Config(ConfigCommand::History) => config::past::history(target, output)?,
        Command::Config(ConfigCommand::Rollback {
            number,
            dry_run,
            confirm,
        }) => return config::past::rollback(target, output, *number, *dry_run, *confirm),
        Command::Config(ConfigCommand::Init(arguments)) => init::run(target, arguments, output)?,
        Command::Config(ConfigCommand::Convert(arguments)) => {
            return convert::run(arguments, output)
        }
        Command::Doctor(arguments) => return doctor::run(target, output, arguments),
        Command::Reload { dry_run, confirm } => {
            return change::reload::reload(target, output, *dry_run, *confirm)
        }
        Command::Confirm => change::reload::confirm(target, output)?,
        Command::Restart { timeout } => return change::restart::restart(target, output, *timeout),
        Command::Plan { arguments } => return Err(plan::become_planner(arguments, cli.json)),
        Command::Xdp(XdpCommand::Status { place }) => {
            return xdp::status(&place.pins(target)?, output)
        }
        Command::Xdp(XdpCommand::Detach {
            place,
            ports,
            all,
            force,
        }) => return xdp::detach(&place.pins(target)?, ports, *all, *force, output),
    }
    Ok(true)
}

fn exit_code(command: &Command, error: &anyhow::Error) -> u8 {
    if error.is::<show::Unbalanced>() {
        return EXIT_UNBALANCED;
    }
    // As with diff(1), any result other than a difference is trouble.
    if matches!(command, Command::Config(ConfigCommand::Diff(_))) || error.is::<doctor::Usage>() {
        return EXIT_USAGE;
    }
    match error.downcast_ref() {
        Some(TargetError::Several { .. } | TargetError::BadName(_) | TargetError::Conflict(..)) => {
            EXIT_USAGE
        }
        // `xdp` works without a daemon, so missing pins do not mean that a daemon is missing.
        Some(TargetError::NoSwitch { .. }) if matches!(command, Command::Xdp(_)) => EXIT_BAD,
        Some(TargetError::NoSwitch { .. } | TargetError::Unreachable { .. }) => EXIT_UNREACHABLE,
        Some(TargetError::BadAnswer { .. }) | None => EXIT_BAD,
    }
}
