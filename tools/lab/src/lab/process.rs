//! Child processes in namespaces, with their output in files. None outlives its owner.

use std::fs::File;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{bail, Context, Result};
use nix::sys::signal::{kill, Signal};
use nix::unistd::Pid;

use super::interrupt::wait_for;

/// Finds the program `name` next to the running one, or in `WEIR_BIN_DIR`.
///
/// # Errors
///
/// When it has not been built.
pub fn program(name: &str) -> Result<PathBuf> {
    let here = std::env::current_exe().context("the running program has no path")?;
    let mut candidates: Vec<PathBuf> = std::env::var_os("WEIR_BIN_DIR")
        .map(PathBuf::from)
        .into_iter()
        .collect();
    // A test runs in target/debug/deps; installed programs are in bin and sbin.
    candidates.extend(here.ancestors().skip(1).take(2).map(Path::to_owned));
    candidates.extend(here.ancestors().nth(2).map(|above| above.join("sbin")));
    candidates
        .iter()
        .map(|directory| directory.join(name))
        .find(|path| path.is_file())
        .with_context(|| {
            format!("`{name}` is not built; run `cargo build --workspace`, or set WEIR_BIN_DIR")
        })
}

/// Returns `command` inside a network namespace. It receives SIGTERM when the starting thread ends, even by a kill.
/// `nsenter` keeps the mounts, which `ip netns exec` would hide.
pub fn inside(namespace: &str, command: &Path) -> Command {
    let mut enter = Command::new("setpriv");
    enter
        .args(["--pdeathsig", "TERM", "nsenter"])
        .arg(format!("--net=/run/netns/{namespace}"))
        .arg("--")
        .arg(command);
    enter
}

/// A child process whose output goes to a file.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    log: PathBuf,
    asked_to_end: bool,
}

impl Process {
    /// Starts `command` with standard error in `log`, in a separate process group, so that Ctrl-C reaches only the lab.
    ///
    /// # Errors
    ///
    /// When it cannot be started.
    pub fn start(name: &str, mut command: Command, log: &Path) -> Result<Self> {
        let file = File::options()
            .create(true)
            .append(true)
            .open(log)
            .with_context(|| log.display().to_string())?;
        command.stderr(Stdio::from(file)).process_group(0);
        let child = command
            .spawn()
            .with_context(|| format!("starting {name}: {}", command.get_program().display()))?;
        Ok(Self {
            name: name.to_owned(),
            child,
            log: log.to_owned(),
            asked_to_end: false,
        })
    }

    /// Returns the child, for its pipes.
    pub fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Returns its process ID.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Checks that it still runs.
    ///
    /// # Errors
    ///
    /// When it has ended, with the end of its log.
    pub fn check(&mut self) -> Result<()> {
        if let Some(status) = self.child.try_wait()? {
            bail!(
                "{} stopped unexpectedly ({status}):\n{}",
                self.name,
                self.log_end()
            );
        }
        Ok(())
    }

    /// Asks it to end, unless this was done before.
    pub fn ask_to_end(&mut self) {
        if !self.asked_to_end {
            self.asked_to_end = true;
            self.signal(Signal::SIGTERM);
        }
    }

    /// Requests its end, waits, and kills it after the limit.
    ///
    /// # Errors
    ///
    /// When it had to be killed, or failed.
    pub fn end(mut self, limit: Duration) -> Result<()> {
        self.ask_to_end();
        match self.wait(limit)? {
            Some(status) if status.success() => Ok(()),
            Some(status) => bail!("{} stopped with {status}:\n{}", self.name, self.log_end()),
            None => bail!(
                "{} did not stop within {} s and was killed:\n{}",
                self.name,
                limit.as_secs_f64(),
                self.log_end()
            ),
        }
    }

    /// Waits for its end; returns `None` after `limit`.
    ///
    /// # Errors
    ///
    /// When interrupted.
    pub fn wait(&mut self, limit: Duration) -> Result<Option<ExitStatus>> {
        wait_for(limit, || Ok(self.child.try_wait()?))
    }

    /// Sends a signal; does nothing if it has ended.
    pub fn signal(&self, signal: Signal) {
        let _ = kill(Pid::from_raw(self.child.id() as i32), signal);
    }

    /// Kills it and its child processes, which might outlive it, as a keeper's switch does.
    pub fn kill_all(&self) {
        for process in with_descendants(self.child.id()) {
            let _ = kill(Pid::from_raw(process as i32), Signal::SIGKILL);
        }
    }

    /// Returns the last lines of its log.
    pub fn log_end(&self) -> String {
        const LINES: usize = 20;
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(LINES)..].join("\n")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.kill_all();
            let _ = self.child.wait();
        }
    }
}

fn with_descendants(process: u32) -> Vec<u32> {
    let mut all = vec![process];
    let mut next = 0;
    while let Some(parent) = all.get(next) {
        let children = std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children"));
        let children = children.unwrap_or_default();
        all.extend(
            children
                .split_whitespace()
                .filter_map(|child| child.parse::<u32>().ok()),
        );
        next += 1;
    }
    all
}
