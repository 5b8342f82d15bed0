//! The daemon's process: command line, configuration, log, signals, exit status.
#![forbid(unsafe_code)]

use std::collections::BTreeSet;
use std::io::Write;
use std::os::unix::process::parent_id;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::{CommandFactory, Parser};
use tokio::signal::unix::{signal, SignalKind};
use tokio::sync::mpsc;
use weir_config::daemon::DaemonConfig;
use weir_config::{told, FileError};
use weir_dataplane::{placement, random, Dataplane, Reserve};
use weir_switchd::cli::{self, Cli, Kept};
use weir_switchd::daemon::reload::by_hand::{self, Expected};
use weir_switchd::daemon::reload::{history, Reloader};
use weir_switchd::daemon::{
    self, DaemonError, Ended, Keeping, Protections, RunningDataplane, Signal,
};
use weir_switchd::daemon::{checkup, container, setup, trial};
use weir_switchd::keeper::{self, frames, link::KeeperLink};
use weir_switchd::logging::{self, LevelHandle};
use weir_switchd::os::privileges::{self, Files, Starter};
use weir_switchd::os::reader::{self, Reader};
use weir_switchd::os::run_dir::{self, Finisher, RunDir, RunDirError};
use weir_switchd::os::user::{self, Stays, User, UserError};
use weir_switchd::os::{memory, service};

/// Number of threads for the API and the metrics; the dataplane and the control plane have separate ones.
const WORKERS: usize = 2;
/// Time for the previous switch, beyond its draining, to hand over after the keeper has ended.
const ORPHAN_WAIT: Duration = Duration::from_secs(5);
const ORPHAN_POLL: Duration = Duration::from_millis(5);
/// Maximum number of pending signals; further ones have no effect.
const SIGNALS_CAPACITY: usize = 4;

fn main() -> ExitCode {
    let mut cli = Cli::parse();
    if cli.manual {
        return print_manual();
    }
    if cli.try_programs {
        return try_programs();
    }
    if let Some(run_dir) = &cli.finish {
        run_dir::finish_when_told(run_dir);
        return ExitCode::from(cli::EXIT_OK);
    }
    if !cli.read.is_empty() {
        return read_for_switch(&cli.read);
    }
    if cli.container {
        if let Err(error) = container::provide(&mut cli) {
            eprintln!("weir-switchd: {error}");
            return ExitCode::from(cli::EXIT_CONFIG);
        }
    }
    if cli.kept.is_some() {
        // A process started by a keeper through a descriptor would be named after it.
        let _ = nix::sys::prctl::set_name(c"weir-switchd");
    }
    let (config, text) = match load(&cli) {
        Ok(read) => read,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(cli::EXIT_CONFIG);
        }
    };
    let reserved = placement::reserved(&config.dataplane);
    let missing = placement::missing(&reserved);
    if !missing.is_empty() {
        eprintln!(
            "{}: dataplane.cpu, dataplane.worker-cpus: no such CPU on this machine: {missing:?}",
            cli.config.display()
        );
        return ExitCode::from(cli::EXIT_CONFIG);
    }
    // The previous switch had its memory already.
    let checked = match cli.in_force {
        Some(_) => Ok(()),
        None => memory::check(&config),
    };
    if let Err(error) = checked {
        eprintln!("{}: {error}", cli.config.display());
        return ExitCode::from(cli::EXIT_CONFIG);
    }
    if cli.check {
        return printed(weir_output::sayln!(
            "{}: valid: switch `{}`, {} ports, {} of packet memory",
            cli.config.display(),
            config.name,
            config.ports.len(),
            config.umem_size(),
        ));
    }
    if cli.prepare {
        return match prepare(&cli, &config) {
            Ok(_) => ExitCode::from(cli::EXIT_OK),
            Err(error) => ExitCode::from(refused(error.as_ref())),
        };
    }
    if let Err(refused) = setup::refuse_broken_kernel(cli.force) {
        eprintln!("weir-switchd: {refused}");
        return ExitCode::from(cli::EXIT_CONFIG);
    }
    if cli.keeper {
        return keep(&cli, &config);
    }
    if let Some(device) = &cli.trial {
        return try_device(&cli, &config, device);
    }
    // With a keeper, the keeper does the same.
    let finisher = match cli.kept {
        Some(_) => Ok(None),
        None => Finisher::begin(&config.run_dir).map(Some),
    };
    let finisher = match finisher {
        Ok(finisher) => finisher,
        Err(error) => {
            eprintln!(
                "weir-switchd: cannot start the process that unmounts the BPF file system: {error}"
            );
            return ExitCode::from(cli::EXIT_FAILURE);
        }
    };
    let status = be_a_switch(&cli, (config, text), &reserved);
    if let Some(finisher) = finisher {
        finisher.finish();
    }
    ExitCode::from(status)
}

/// Gives up privileges and runs the switch to its end; returns the exit status.
fn be_a_switch(
    cli: &Cli,
    (config, text): (DaemonConfig, String),
    reserved: &BTreeSet<usize>,
) -> u8 {
    // Before any other thread starts.
    let placed = placement::keep_off(reserved);
    let (starter, files, stays) = match give_up_privileges(cli, &config) {
        Ok(given_up) => given_up,
        Err(error) => return refused(error.as_ref()),
    };
    let level = cli.log_level.as_deref().unwrap_or(&config.log.level);
    let (log, level) = match logging::start(level, setup::log_format(&config)) {
        Ok(log) => log,
        Err(error) => {
            eprintln!("weir-switchd: {error}");
            return cli::EXIT_CONFIG;
        }
    };
    if let Err(error) = placed {
        tracing::warn!(%error, "cannot keep other threads off the dataplane's CPUs");
    }
    if let Some(why) = stays {
        tracing::warn!(%why, "the switch keeps running as root");
    }
    // The command line's level has precedence over later changes of the file.
    let level = cli.log_level.is_none().then_some(level);
    let status = run(cli, (config, text), level, (starter, files));
    log.flush();
    status
}

/// Prepares the run directory for the switch's user, changes to that user, and gives up privileges. The last value is the
/// reason to keep running as root, if there is one.
fn give_up_privileges(
    cli: &Cli,
    config: &DaemonConfig,
) -> anyhow::Result<(Starter, Files, Option<Stays>)> {
    let in_force = cli.in_force.as_deref();
    if let Some(in_force) = in_force {
        user::check_in_force(in_force, &config.run_dir)?;
    }
    let files = setup::files(config, &cli.config, in_force);
    let (user, stays) = prepare(cli, config)?;
    if let Some(user) = user {
        if in_force.is_none() {
            history::give(&config.name, user);
        }
        let files = setup::read_again(config, &cli.config, in_force);
        let reader = Reader::begin(files);
        let reader = reader.context("cannot start the process that reads root's files")?;
        reader.install();
    }
    let starter = privileges::restrict(user, config.api.gives_groups(), &files)?;
    Ok((starter, files, stays))
}

/// Makes the run directory, and gives it to the switch's user, if the switch will change to one. Otherwise returns the reason
/// against it.
fn prepare(cli: &Cli, config: &DaemonConfig) -> anyhow::Result<(Option<User>, Option<Stays>)> {
    let run_dir = &config.run_dir;
    let mut chosen = user::choose(&cli.user, run_dir, cli.kept)?;
    if let Some(Ok(user)) = chosen {
        run_dir::make(run_dir, Some(user))?;
        chosen = Some(user::reaches(user, run_dir, &config.api_socket).map(|()| user));
    }
    let user = match chosen {
        Some(Ok(user)) => user,
        other => {
            match cli.prepare {
                true => run_dir::prepare(run_dir, None)?,
                false => drop(run_dir::make(run_dir, None)?),
            }
            return Ok((None, other.and_then(Result::err)));
        }
    };
    match run_dir::prepare(run_dir, Some(user)) {
        // The switch that runs has prepared it.
        Err(RunDirError::InUse { .. }) if cli.prepare => {}
        outcome => outcome?,
    }
    Ok((Some(user), None))
}

/// Runs `--read`.
fn read_for_switch(files: &[PathBuf]) -> ExitCode {
    let permitted = Files {
        read: setup::directories(files.iter().cloned()),
        ..Files::default()
    };
    let served = privileges::restrict_reader(&permitted)
        .map_err(anyhow::Error::from)
        .and_then(|()| Ok(reader::serve(files)?));
    match served {
        Ok(()) => ExitCode::from(cli::EXIT_OK),
        Err(error) => ExitCode::from(refused(error.as_ref())),
    }
}

/// Reports an error before there is a log; returns the exit status.
fn refused(error: &(dyn std::error::Error + 'static)) -> u8 {
    eprintln!("weir-switchd: {}", told(error));
    if let Some(RunDirError::InUse { .. }) = error.downcast_ref() {
        return cli::EXIT_IN_USE;
    }
    match error.downcast_ref() {
        Some(UserError::Unknown(_)) => cli::EXIT_CONFIG,
        _ => cli::EXIT_FAILURE,
    }
}

fn load(cli: &Cli) -> Result<(DaemonConfig, String), FileError> {
    let Some(in_force) = &cli.in_force else {
        return DaemonConfig::load_with_text(&cli.config);
    };
    // The file of a switch that runs as another user, which may have put a link in its place.
    let failed = |error: &dyn std::fmt::Display| {
        FileError::unreadable(in_force, &std::io::Error::other(error.to_string()))
    };
    let owner = user::owner(in_force).map_err(|error| failed(&error))?;
    let text = user::acting_as(owner, || DaemonConfig::read(in_force));
    let text = text.map_err(|error| failed(&error))??;
    Ok((DaemonConfig::parse(&text, &cli.config)?, text))
}

/// Runs the keeper. It keeps its privileges: its children need them, and drop the others
/// themselves.
fn keep(cli: &Cli, config: &DaemonConfig) -> ExitCode {
    let level = cli.log_level.as_deref().unwrap_or(&config.log.level);
    let log = match logging::start(level, setup::log_format(config)) {
        Ok((log, _)) => log,
        Err(error) => {
            eprintln!("weir-switchd: {error}");
            return ExitCode::from(cli::EXIT_CONFIG);
        }
    };
    // By path, so that the keeper starts the upgraded program at this path.
    let program = std::env::current_exe();
    let arguments = std::env::args_os().skip(1);
    let arguments: Vec<_> = arguments.filter(|word| word != "--keeper").collect();
    let outcome = program
        .map_err(anyhow::Error::from)
        .and_then(|program| keeper::run(&program, &arguments));
    // The last switch cannot unmount its file system; the run directory may differ since a restart.
    run_dir::finish(&config.run_dir);
    if let Ok((now, _)) = load(cli) {
        run_dir::finish(&now.run_dir);
    }
    let status = outcome.unwrap_or_else(|error| {
        tracing::error!("keeper: {}", told(error.as_ref()));
        cli::EXIT_FAILURE
    });
    log.flush();
    ExitCode::from(status)
}

/// Runs `--loop`. It needs the same resources as a switch, and keeps its privileges.
fn try_device(cli: &Cli, config: &DaemonConfig, device: &str) -> ExitCode {
    let level = cli.log_level.as_deref().unwrap_or("warn");
    let signals = match trial::signals() {
        Ok(signals) => signals,
        Err(error) => {
            eprintln!("{}", told(error.as_ref()));
            return ExitCode::from(cli::EXIT_FAILURE);
        }
    };
    let log = match logging::start(level, logging::LogFormat::Text) {
        Ok((log, _)) => log,
        Err(error) => {
            eprintln!("weir-switchd: {error}");
            return ExitCode::from(cli::EXIT_CONFIG);
        }
    };
    let limit = weir_core::Duration::from_nanos(cli.loop_limit.as_nanos() as u64);
    let outcome = trial::run(config, device, limit, &signals)
        .and_then(|trial| Ok(serde_json::to_string(&trial)?));
    log.flush();
    match outcome {
        Ok(text) => printed(weir_output::sayln!("{text}")),
        Err(error) => {
            eprintln!("{}", told(error.as_ref()));
            ExitCode::from(cli::EXIT_FAILURE)
        }
    }
}

/// Returns the exit status of a command that only prints.
fn printed(outcome: anyhow::Result<()>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::from(cli::EXIT_OK),
        Err(error) => {
            eprintln!("weir-switchd: {error:#}");
            ExitCode::from(cli::EXIT_FAILURE)
        }
    }
}

fn try_programs() -> ExitCode {
    match serde_json::to_string(&trial::programs()) {
        Ok(text) => printed(weir_output::sayln!("{text}")),
        Err(error) => {
            eprintln!("weir-switchd: {error}");
            ExitCode::from(cli::EXIT_FAILURE)
        }
    }
}

fn print_manual() -> ExitCode {
    let mut command = Cli::command();
    command.build();
    let page = cli::MANUAL.page(&command, &command);
    match page.and_then(|page| std::io::stdout().write_all(&page)) {
        Ok(()) => ExitCode::from(cli::EXIT_OK),
        Err(error) => {
            eprintln!("weir-switchd: {error}");
            ExitCode::from(cli::EXIT_FAILURE)
        }
    }
}

/// Runs the switch; `file` is the configuration's path and text.
fn run(
    cli: &Cli,
    file: (DaemonConfig, String),
    level: Option<LevelHandle>,
    start: (Starter, Files),
) -> u8 {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .thread_name("weir-api")
        .enable_all()
        .build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            tracing::error!(%error, "cannot start the runtime");
            return cli::EXIT_FAILURE;
        }
    };
    let outcome = runtime.block_on(serve(cli, file, level, start));
    let status = match outcome {
        Ok(Ended::Cleanly) => {
            tracing::info!("stopped");
            cli::EXIT_OK
        }
        Ok(Ended::ToRestart) => {
            tracing::info!("stopped; the keeper restarts the switch");
            cli::EXIT_AGAIN
        }
        // The dataplane's thread still drains; the end of the process stops it.
        Ok(Ended::CutShort) => cli::EXIT_CUT_SHORT,
        Err(error) => {
            tracing::error!("{}", told(error.as_ref()));
            error
                .downcast_ref()
                .map_or(cli::EXIT_FAILURE, DaemonError::status)
        }
    };
    runtime.shutdown_background();
    status
}

async fn serve(
    cli: &Cli,
    (config, text): (DaemonConfig, String),
    level: Option<LevelHandle>,
    (starter, files): (Starter, Files),
) -> anyhow::Result<Ended> {
    // It may end in the meantime.
    let keeper = parent_id();
    let (sender, mut signals) = signals()?;
    let keeping = cli.kept.map(|kept| {
        anyhow::Ok(Keeping {
            link: KeeperLink::by_standard_input().context("--kept is set by the keeper only")?,
            kept,
            pause_time: config.dataplane.pause_time,
            signals: sender,
        })
    });
    let mut keeping = keeping.transpose()?;
    let mut plan = daemon::Plan {
        reloader: Some(Reloader::new(
            cli.config.clone(),
            (config.clone(), text),
            level,
        )),
        watchdog: service::watchdog_limit(),
        ..setup::plan(
            &config,
            random::seed().context("/dev/urandom")?,
            cli.drain_timeout,
        )
    };
    let mut ready = None;
    if let (Some(Kept::Next), Some(keeping)) = (cli.kept, &mut keeping) {
        ready = match make_ready(&config, &mut plan).await {
            Ok(ready) => Some(ready),
            Err(error) => {
                keeping.link.unready(&told(error.as_ref())).await;
                return Err(error);
            }
        };
        let is_free = tokio::select! {
            is_free = wait_for_the_place(keeping, &config, cli.drain_timeout, keeper) => is_free,
            () = until_stopped(&mut signals) => Ok(false),
        };
        if !is_free.context("the keeper did not let this switch start")? {
            return Ok(Ended::Cleanly);
        }
    }
    plan.keeping = keeping;
    memory::log_needed(&config);
    let takes_over = matches!(cli.kept, Some(Kept::Again | Kept::Next));
    let file = cli.config.clone();
    let start = move |run_dir: Arc<RunDir>| {
        let confine = move || privileges::end_start(&files).map_err(std::io::Error::other);
        let dataplane = starter.run(move || {
            run_dir.mount_bpf()?;
            let pins = run_dir.bpf_path();
            let dataplane = if takes_over {
                let (reserve, expected) = ready.unzip();
                let config = by_hand::take(run_dir.path(), &config, expected);
                let names: Vec<&str> = config.ports.iter().map(|port| &*port.name).collect();
                let left = frames::read(run_dir.path(), &names);
                let dataplane = Dataplane::start_anew(
                    &config,
                    &pins,
                    left,
                    reserve,
                    reader::read_secret,
                    confine,
                )?;
                // Kept as long as another switch may have to replace this one.
                frames::forget(run_dir.path());
                dataplane
            } else {
                Dataplane::start_confined(&config, &pins, reader::read_secret, confine)?
            };
            checkup::start(config, file, &dataplane.attached());
            anyhow::Ok(dataplane)
        })??;
        privileges::keep_running_calls()?;
        Ok(dataplane)
    };
    Ok(daemon::run(plan, start, signals).await?)
}

/// Waits for the keeper's go-ahead. If the keeper has ended, takes over from a previous switch that has handed over
/// nevertheless.
async fn wait_for_the_place(
    keeping: &mut Keeping,
    config: &DaemonConfig,
    drain: Duration,
    keeper: u32,
) -> std::io::Result<bool> {
    let gone = match keeping.link.wait_for_the_place().await {
        Ok(()) => return Ok(true),
        Err(error) => error,
    };
    let deadline = Instant::now() + drain + ORPHAN_WAIT;
    while Instant::now() < deadline {
        if frames::are_left_to(&config.run_dir, keeper)
            && weir_dataplane::is_run_dir_free(&config.run_dir)
        {
            tracing::error!("the keeper has ended during the restart; this switch takes over");
            return Ok(true);
        }
        tokio::time::sleep(ORPHAN_POLL).await;
    }
    Err(gone)
}

/// Prepares everything that needs no port, while the old switch runs.
async fn make_ready(
    config: &DaemonConfig,
    plan: &mut daemon::Plan,
) -> anyhow::Result<(Reserve, Expected)> {
    plan.protections = Some(Protections::load(plan)?);
    let expected = Expected::read(&config.run_dir, config);
    let with = expected.config().clone();
    let made =
        tokio::task::spawn_blocking(move || Reserve::new(&with, reader::read_secret)).await?;
    Ok((made.context("cannot prepare for a restart")?, expected))
}

async fn until_stopped(signals: &mut mpsc::Receiver<Signal>) {
    while let Some(signal) = signals.recv().await {
        if matches!(signal, Signal::Stop(_)) {
            return;
        }
    }
}

/// Returns a channel of every SIGTERM, SIGINT and SIGHUP from now on, and of other signals sent into it.
fn signals() -> std::io::Result<(mpsc::Sender<Signal>, mpsc::Receiver<Signal>)> {
    let (sender, signals) = mpsc::channel(SIGNALS_CAPACITY);
    for (kind, meaning) in [
        (SignalKind::terminate(), Signal::Stop("SIGTERM")),
        (SignalKind::interrupt(), Signal::Stop("SIGINT")),
        (SignalKind::hangup(), Signal::Reload),
    ] {
        let mut signal = signal(kind)?;
        let sender = sender.clone();
        tokio::spawn(async move {
            while signal.recv().await.is_some() {
                if sender.send(meaning).await.is_err() {
                    return;
                }
            }
        });
    }
    Ok((sender, signals))
}
