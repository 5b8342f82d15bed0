//! The daemons of a run, and requests to their API.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use nix::sys::signal::Signal;
use serde::de::DeserializeOwned;
use serde::Serialize;
use weir_api::client::{self, ClientError, Method};
use weir_api::daemon::{Event, EventPage, History, Restart, Restarting, Sample, Status};
use weir_api::words::Stage;
use weir_config::daemon::DaemonConfig;

use super::interrupt::wait_for;
use super::names::Names;
use super::process::{inside, program, Process};

/// Time for a daemon to start, to answer, or to end, also in an emulated machine (`cargo xtask vm-test --ring`).
const START_LIMIT: Duration = Duration::from_secs(120);
const ANSWER_LIMIT: Duration = Duration::from_secs(30);
const END_LIMIT: Duration = Duration::from_secs(60);

/// A running daemon.
#[derive(Debug)]
pub struct SwitchProcess {
    /// Name of the switch.
    pub name: String,
    /// Its configuration.
    pub config: DaemonConfig,
    namespace: String,
    config_file: PathBuf,
    log: PathBuf,
    process: Option<Process>,
    is_frozen: bool,
    has_keeper: bool,
    /// Program file, if not the built one.
    program: Option<PathBuf>,
    options: Vec<String>,
    events: Vec<Event>,
    next_event: u64,
    missed_events: u64,
}

impl SwitchProcess {
    /// Returns the ID of its process; `None` without one.
    pub fn pid(&self) -> Option<u32> {
        self.process.as_ref().map(Process::id)
    }

    /// Returns the ID of the switch's process, which its keeper has started; `None` without one.
    pub fn switch_pid(&self) -> Option<u32> {
        if self.has_keeper {
            return self.status().ok().map(|status| status.pid);
        }
        self.pid()
    }

    /// Writes the configuration and starts the daemon in its namespace. Use [`ready`](Self::ready) to wait.
    ///
    /// # Errors
    ///
    /// When a file cannot be written or the daemon is not built.
    pub fn start(config: DaemonConfig, names: &Names) -> Result<Self> {
        let name = config.name.clone();
        let mut switch = Self {
            namespace: names.namespace(&name),
            config_file: names.directory().join(format!("{name}.toml")),
            log: names.directory().join(format!("{name}.log")),
            name,
            config,
            process: None,
            is_frozen: false,
            has_keeper: false,
            program: None,
            options: Vec::new(),
            events: Vec::new(),
            next_event: 0,
            missed_events: 0,
        };
        std::fs::write(&switch.config_file, switch.config.to_toml())
            .with_context(|| switch.config_file.display().to_string())?;
        switch.start_process()?;
        Ok(switch)
    }

    /// Starts the daemon (again).
    ///
    /// # Errors
    ///
    /// When it is not built.
    pub fn start_process(&mut self) -> Result<()> {
        let program = match &self.program {
            Some(program) => program.clone(),
            None => program("weir-switchd")?,
        };
        let mut command = inside(&self.namespace, &program);
        command.arg("--config").arg(&self.config_file);
        command.args(&self.options);
        if self.has_keeper {
            command.arg("--keeper");
        }
        self.process = Some(Process::start(&self.name, command, &self.log)?);
        self.next_event = 0;
        Ok(())
    }

    /// Ends the daemon and starts it with a keeper, also in later starts; waits until it forwards.
    ///
    /// # Errors
    ///
    /// When it does not end or start.
    pub fn start_with_keeper(&mut self) -> Result<()> {
        self.end_process()?;
        self.has_keeper = true;
        self.start_process()?;
        self.ready()
    }

    /// Uses `program` as the daemon's from the next start on.
    pub fn set_program(&mut self, program: PathBuf) {
        self.program = Some(program);
    }

    /// Adds these words to the daemon's command line from the next start on.
    pub fn set_options(&mut self, options: &[&str]) {
        self.options = options.iter().map(|word| (*word).to_owned()).collect();
    }

    /// Makes the daemon's keeper restart it; returns the restart's duration, once the new one
    /// forwards.
    ///
    /// # Errors
    ///
    /// When it has no keeper, or does not return.
    pub fn restart(&mut self) -> Result<Restart> {
        let socket = &self.config.api_socket;
        let path = "/v1/restart";
        let Restarting { pid, .. } =
            client::send(socket, Method::POST, path, None::<&()>, ANSWER_LIMIT)?;
        let restarted = wait_for(START_LIMIT, || {
            self.check()?;
            // Briefly no switch answers.
            let status = self.status().ok().filter(|status| status.pid != pid);
            Ok(status.and_then(|status| status.restart))
        })?;
        self.next_event = 0;
        restarted.with_context(|| format!("{} was not restarted", self.name))
    }

    /// Waits until the daemon forwards.
    ///
    /// # Errors
    ///
    /// When it ends or takes too long, with the end of its log.
    pub fn ready(&mut self) -> Result<()> {
        let ready = wait_for(START_LIMIT, || {
            self.check()?;
            match self.status() {
                Ok(status) => Ok((status.state == Stage::Running).then_some(())),
                Err(_) => Ok(None),
            }
        })?;
        let log = self.process.as_ref().map(Process::log_end);
        ready.with_context(|| {
            format!(
                "{} did not start within {} s:\n{}",
                self.name,
                START_LIMIT.as_secs(),
                log.unwrap_or_default()
            )
        })
    }

    /// Returns the file that the daemon was started with.
    pub fn config_file(&self) -> &Path {
        &self.config_file
    }

    /// Returns the running process.
    pub fn process(&mut self) -> Option<&mut Process> {
        self.process.as_mut()
    }

    /// Checks that the daemon still runs.
    ///
    /// # Errors
    ///
    /// When it has ended.
    pub fn check(&mut self) -> Result<()> {
        self.process.as_mut().map_or(Ok(()), Process::check)
    }

    /// Returns true while a fault has killed or frozen it, so that it does not answer.
    pub fn is_silent(&self) -> bool {
        self.is_frozen || self.process.is_none()
    }

    /// Kills the daemon, like a power failure. [`start_process`](Self::start_process) starts it again.
    ///
    /// # Errors
    ///
    /// When it still runs after a while.
    pub fn kill(&mut self) -> Result<()> {
        if let Some(mut process) = self.process.take() {
            process.kill_all();
            let gone = process.wait(END_LIMIT)?;
            gone.with_context(|| format!("{} was killed and still runs", self.name))?;
        }
        self.is_frozen = false;
        Ok(())
    }

    /// Freezes the daemon, or resumes it.
    pub fn freeze(&mut self, is_frozen: bool) {
        if let Some(process) = &self.process {
            process.signal(match is_frozen {
                true => Signal::SIGSTOP,
                false => Signal::SIGCONT,
            });
            self.is_frozen = is_frozen;
        }
    }

    /// Sends a request to the API.
    ///
    /// # Errors
    ///
    /// See [`ClientError`].
    pub fn send<B: Serialize, T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<&B>,
    ) -> Result<T, ClientError> {
        client::send(&self.config.api_socket, method, path, body, ANSWER_LIMIT)
    }

    /// Requests a path of the API.
    ///
    /// # Errors
    ///
    /// See [`ClientError`].
    pub fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        client::get(&self.config.api_socket, path, ANSWER_LIMIT)
    }

    /// `GET /v1/status`.
    ///
    /// # Errors
    ///
    /// See [`ClientError`].
    pub fn status(&self) -> Result<Status, ClientError> {
        self.get("/v1/status")
    }

    /// Reads the events since the last call.
    ///
    /// # Errors
    ///
    /// See [`ClientError`].
    pub fn collect_events(&mut self) -> Result<(), ClientError> {
        loop {
            let page: EventPage = self.get(&format!("/v1/events?after={}", self.next_event))?;
            let is_last = page.events.is_empty();
            self.next_event = page.next;
            self.missed_events += page.missed;
            self.events.extend(page.events);
            if is_last {
                return Ok(());
            }
        }
    }

    /// Returns all events collected so far, and how many the daemon's bounded log lost before.
    pub fn events(&self) -> (&[Event], u64) {
        (&self.events, self.missed_events)
    }

    /// Returns all samples of the history.
    ///
    /// # Errors
    ///
    /// See [`ClientError`].
    pub fn history(&self) -> Result<Vec<Sample>, ClientError> {
        let mut samples = Vec::new();
        let mut after = 0;
        loop {
            let page: History = self.get(&format!("/v1/history?after={after}"))?;
            if page.samples.is_empty() {
                return Ok(samples);
            }
            after = page.next;
            samples.extend(page.samples);
        }
    }

    /// Ends the daemon with SIGTERM.
    ///
    /// # Errors
    ///
    /// When it fails or has to be killed.
    pub fn end(mut self) -> Result<()> {
        self.end_process()
    }

    /// Like [`end`](Self::end), but it can be started again.
    ///
    /// # Errors
    ///
    /// When it fails or has to be killed.
    pub fn end_process(&mut self) -> Result<()> {
        self.process
            .take()
            .map_or(Ok(()), |process| process.end(END_LIMIT))
    }
}
