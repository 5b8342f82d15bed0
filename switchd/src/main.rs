//! The daemon's process: command line, configuration, log, signals, exit status.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use tokio::signal::unix::{signal, SignalKind};
use tokio::sync::mpsc;
use weir_config::daemon::DaemonConfig;
use weir_switchd::cli::{self, Cli};
use weir_switchd::daemon::{self, DaemonError, Ended, Signal};
use weir_switchd::dataplane::Dataplane;
use weir_switchd::logging::{self, LevelHandle, LogGuard};
use weir_switchd::reload::Reloader;
use weir_switchd::run_dir::{self, RunDir, RunDirError};
use weir_switchd::{control, placement, privileges, service, setup};

/// Threads for the API and the metrics; the dataplane and the control plane have their own.
const WORKERS: usize = 2;
/// Signals that wait to be seen at most; more say nothing new.
const SIGNALS_CAPACITY: usize = 4;

fn main() -> ExitCode {
    let cli = Cli::parse();
    if cli.manual {
        return print_manual();
    }
    let config = match DaemonConfig::load(&cli.config) {
        Ok(config) => config,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(cli::EXIT_CONFIG);
        }
    };
    if cli.check {
        println!(
            "{}: good: switch `{}`, {} ports, {} of packet memory",
            cli.config.display(),
            config.name,
            config.ports.len(),
            config.umem_size(),
        );
        return ExitCode::from(cli::EXIT_OK);
    }
    if cli.prepare {
        return match run_dir::prepare(&config.run_dir) {
            Ok(()) => ExitCode::from(cli::EXIT_OK),
            Err(error) => {
                eprintln!("weir-switchd: {error}");
                ExitCode::from(cli::EXIT_FAILURE)
            }
        };
    }
    // Before any other thread starts.
    let placed = placement::keep_off(&placement::reserved(&config.dataplane));
    if let Err(error) = privileges::restrict(config.api.gives_groups()) {
        eprintln!("weir-switchd: {error}");
        return ExitCode::from(cli::EXIT_FAILURE);
    }
    let level = cli.log_level.as_deref().unwrap_or(&config.log.level);
    let (log, level) = match logging::start(level, setup::log_format(&config)) {
        Ok(log) => log,
        Err(error) => {
            eprintln!("weir-switchd: {error}");
            return ExitCode::from(cli::EXIT_CONFIG);
        }
    };
    if let Err(error) = placed {
        tracing::warn!(%error, "other threads may run on the dataplane's CPUs");
    }
    // What the command line says stays, whatever the file says later.
    let level = cli.log_level.is_none().then_some(level);
    let status = run(&cli, config, &log, level);
    log.flush();
    ExitCode::from(status)
}

fn print_manual() -> ExitCode {
    let manual = clap_mangen::Man::new(Cli::command()).section("8");
    match manual.render(&mut std::io::stdout()) {
        Ok(()) => ExitCode::from(cli::EXIT_OK),
        Err(error) => {
            eprintln!("weir-switchd: {error}");
            ExitCode::from(cli::EXIT_FAILURE)
        }
    }
}

fn run(cli: &Cli, config: DaemonConfig, log: &LogGuard, level: Option<LevelHandle>) -> u8 {
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
    let outcome = runtime.block_on(serve(cli, config, level));
    let status = match outcome {
        Ok(Ended::Cleanly) => {
            tracing::info!("ended");
            cli::EXIT_OK
        }
        Ok(Ended::CutShort) => {
            // The dataplane's thread still drains: only the process's end stops it.
            log.flush();
            std::process::exit(cli::EXIT_CUT_SHORT.into());
        }
        Err(error) => {
            tracing::error!("{error:#}");
            match error.downcast_ref() {
                Some(DaemonError::RunDir(RunDirError::InUse { .. })) => cli::EXIT_IN_USE,
                _ => cli::EXIT_FAILURE,
            }
        }
    };
    runtime.shutdown_background();
    status
}

async fn serve(
    cli: &Cli,
    config: DaemonConfig,
    level: Option<LevelHandle>,
) -> anyhow::Result<Ended> {
    let signals = signals()?;
    let plan = daemon::Plan {
        reloader: Some(Reloader::new(cli.config.clone(), config.clone(), level)),
        watchdog: service::watchdog_limit(),
        ..setup::plan(&config, control::random_seed()?, cli.drain_timeout)
    };
    let start = move |run_dir: &RunDir| {
        run_dir.mount_bpf()?;
        Ok(Dataplane::start(&config, &run_dir.bpf_path())?)
    };
    Ok(daemon::run(plan, start, signals).await?)
}

/// Every SIGTERM, SIGINT and SIGHUP from now on.
fn signals() -> std::io::Result<mpsc::Receiver<Signal>> {
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
    Ok(signals)
}
