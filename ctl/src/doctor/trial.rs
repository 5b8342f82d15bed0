//! Trials run by the daemon's program for `switchctl doctor`, without a switch: loading its XDP programs, and with `--loop`
//! testing a device.

use std::env;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{anyhow, bail, Context, Result};
use nix::sys::signal::{kill, SigSet, Signal};
use nix::sys::signalfd::SignalFd;
use nix::unistd::Pid;
use weir_config::daemon::DaemonConfig;
use weir_doctor::trial::Trial;
use weir_doctor::{Running, TriedProgram, Wanted};

const PROGRAM: &str = "weir-switchd";

/// Refuses a device used by a switch, since the trial needs it exclusively.
pub fn refuse_in_use(device: &str, running: Option<&Running>) -> Result<()> {
    let Some(running) = running else {
        return Ok(());
    };
    if running.ports.iter().any(|port| port.device == device) {
        bail!(
            "`{device}` is a port of the switch that runs (process {}), and the test takes the device for itself: \
             remove the port first (`switchctl port remove PORT`), or stop the switch",
            running.pid
        );
    }
    Ok(())
}

/// Makes the daemon's program test `device`, with the settings of the switch's file if it has the device.
///
/// # Errors
///
/// When the program cannot be run, or cannot use the device; then it has printed the reason.
pub fn run(device: &str, wanted: &Wanted, time: Option<&str>) -> Result<Trial> {
    let signals = SigSet::from_iter([Signal::SIGINT, Signal::SIGTERM]);
    signals.thread_block().context("blocking signals")?;
    let signals = SignalFd::new(&signals).context("signalfd")?;
    let file = wanted.file.as_deref().filter(|file| has(file, device));
    let mut command = Command::new(program());
    command.arg("--config");
    match file {
        Some(file) => command.arg(file).stdin(Stdio::null()),
        None => command.arg("/dev/stdin").stdin(Stdio::piped()),
    };
    command.args(["--loop", device]);
    if let Some(time) = time {
        command.args(["--loop-limit", time]);
    }
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(not_run)?;
    if let Some(mut input) = child.stdin.take() {
        let defaults = Wanted::of_devices(&[device])?;
        input.write_all(defaults.config.to_toml().as_bytes())?;
    }
    pass_on(signals, &child);
    let output = child.wait_with_output()?;
    if !output.status.success() {
        // The program has printed the reason on standard error.
        bail!("`{device}` was not tested");
    }
    serde_json::from_slice(&output.stdout).context(PROGRAM)
}

/// Loads every form of the XDP program once.
///
/// # Errors
///
/// When the daemon's program cannot be run, or fails after printing a message.
pub fn programs() -> Result<Vec<TriedProgram>> {
    let mut command = Command::new(program());
    let output = command
        .arg("--try-programs")
        .stderr(Stdio::inherit())
        .output()
        .map_err(not_run)?;
    if !output.status.success() {
        bail!("`{PROGRAM} --try-programs` failed ({})", output.status);
    }
    serde_json::from_slice(&output.stdout).context(PROGRAM)
}

fn not_run(error: std::io::Error) -> anyhow::Error {
    match error.kind() {
        ErrorKind::NotFound => anyhow!(
            "`{PROGRAM}` is neither next to switchctl nor on PATH: install Weir's package whole, or \
             build it with `cargo build -p {PROGRAM}`"
        ),
        _ => anyhow::Error::new(error).context(PROGRAM),
    }
}

/// Signals that would end this process end the trial, which then reports its findings so far.
fn pass_on(signals: SignalFd, child: &Child) {
    let child = Pid::from_raw(child.id() as i32);
    std::thread::spawn(move || {
        while let Ok(Some(_)) = signals.read_signal() {
            // It may have ended.
            let _ = kill(child, Signal::SIGTERM);
        }
    });
}

fn program() -> PathBuf {
    let beside = env::current_exe().map(|program| program.with_file_name(PROGRAM));
    match beside {
        Ok(program) if program.is_file() => program,
        _ => PathBuf::from(PROGRAM),
    }
}

fn has(file: &Path, device: &str) -> bool {
    DaemonConfig::load(file)
        .is_ok_and(|config| config.ports.iter().any(|port| port.device == device))
}
