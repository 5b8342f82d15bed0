//! The switch's process as seen by the keeper.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;

use nix::sys::signal::{kill, Signal};
use nix::unistd::Pid;
use tokio::io::BufReader;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::UnixStream;

use crate::cli::Kept;

use super::link::{read_line, write_line, FromKeeper, ToKeeper, LEVEL, PREPARES};

/// Option that names a file with the configuration.
const IN_FORCE: &str = "--in-force";

#[derive(Clone, Debug)]
pub(super) struct Way {
    program: Arc<File>,
    arguments: Vec<OsString>,
}

impl Way {
    /// Starts the previous switch again. Uses the program file that ran, even if its path now refers to
    /// another file.
    pub(super) fn start(&self) -> io::Result<Worker> {
        let program = PathBuf::from(format!("/proc/self/fd/{}", self.program.as_raw_fd()));
        Worker::start(&program, &self.arguments, Kept::Again)
    }
}

pub(super) struct Worker {
    child: Child,
    /// Program file; `None` if unknown.
    program: Option<Arc<File>>,
    arguments: Vec<OsString>,
    reader: BufReader<OwnedReadHalf>,
    writer: OwnedWriteHalf,
    line: Vec<u8>,
    is_silent: bool,
}

impl Worker {
    /// Starts a process in its own process group, so that a terminal's Ctrl-C reaches it once, through the keeper.
    pub(super) fn start(program: &Path, arguments: &[OsString], kept: Kept) -> io::Result<Self> {
        let before = File::open(program);
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let child = Command::new(program)
            .args(arguments)
            .args(["--kept", kept.name()])
            // The service manager watches the keeper's process, and the switch sends its heartbeats.
            .env_remove("WATCHDOG_PID")
            .env(PREPARES, LEVEL)
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .process_group(0)
            .spawn()?;
        let (reader, writer) = UnixStream::from_std(ours)?.into_split();
        // It runs by now: its file stays available even if another one is installed. A process that has changed its user
        // already hides it; then it is the file that was at this path.
        let program = File::open(format!("/proc/{}/exe", child.id()));
        let program = program.or(before).ok();
        Ok(Self {
            child,
            program: program.map(Arc::new),
            arguments: arguments.to_vec(),
            reader: BufReader::new(reader),
            writer,
            line: Vec::new(),
            is_silent: false,
        })
    }

    /// Kills a process that has nothing to lose yet; returns once it has ended.
    pub(super) fn kill(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Returns the command to start the same program again with the configuration in `in_force`.
    pub(super) fn way_back(&self, in_force: &Path) -> Option<Way> {
        let mut arguments = self.arguments.clone();
        // A process started in this way already has such a file.
        if let Some(place) = arguments.iter().position(|word| word == IN_FORCE) {
            arguments.drain(place..(place + 2).min(arguments.len()));
        }
        arguments.extend([IN_FORCE.into(), in_force.into()]);
        Some(Way {
            program: self.program.clone()?,
            arguments,
        })
    }

    pub(super) fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    pub(super) fn signal(&self, signal: Signal) {
        // Harmless if it has already ended.
        let _ = kill(Pid::from_raw(self.child.id() as i32), signal);
    }

    /// Returns the next message; never completes if the process has closed its end. Cancel-safe.
    pub(super) async fn message(&mut self) -> io::Result<ToKeeper> {
        while !self.is_silent {
            match read_line(&mut self.reader, &mut self.line).await {
                Ok(Some(message)) => return Ok(message),
                Ok(None) => self.is_silent = true,
                Err(error) => {
                    // An invalid message may be followed by others, an error of the kernel may not.
                    self.is_silent = error.raw_os_error().is_some();
                    return Err(error);
                }
            }
        }
        std::future::pending().await
    }

    /// Sends a message. If the process is gone, its end is noticed elsewhere.
    pub(super) async fn tell(&mut self, message: &FromKeeper) -> io::Result<()> {
        match write_line(&mut self.writer, message).await {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            outcome => outcome,
        }
    }
}

impl Drop for Worker {
    /// A keeper that fails leaves no unattended switch behind.
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.signal(Signal::SIGTERM);
        }
    }
}
