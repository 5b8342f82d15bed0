//! A whole daemon over a dataplane made of queues.

use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use weir_switchd::control::ControlSettings;
use weir_switchd::daemon::{run, DaemonError, Ended, Plan, Signal};

use weir_switchd::daemon::reload::Reloader;

use super::{info, until, FakeDataplane, Remote, LIMIT};

pub struct Running {
    pub directory: tempfile::TempDir,
    pub socket: PathBuf,
    pub remote: Remote,
    pub stop: mpsc::Sender<Signal>,
    pub task: JoinHandle<Result<Ended, DaemonError>>,
}

impl Running {
    /// Starts a daemon and waits until its API listens.
    pub async fn start(fake: FakeDataplane, control: ControlSettings) -> Self {
        Self::start_from(fake, control, None).await
    }

    /// Starts a daemon that has a configuration file.
    pub async fn start_from(
        fake: FakeDataplane,
        control: ControlSettings,
        reloader: Option<Reloader>,
    ) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let socket = directory.path().join("run/api.sock");
        let plan = Plan {
            run_dir: directory.path().join("run"),
            api_socket: socket.clone(),
            api: Default::default(),
            metrics_protection: Default::default(),
            gnmi: None,
            metrics: None,
            page: None,
            info: info(),
            control,
            drain: Duration::from_secs(1),
            reloader,
            watchdog: None,
            protections: None,
            keeping: None,
        };
        let remote = fake.remote();
        let (stop, stops) = mpsc::channel(4);
        let task = tokio::spawn(run(plan, move |_| Ok(fake), stops));
        until(async || socket.exists().then_some(())).await;
        Self {
            directory,
            socket,
            remote,
            stop,
            task,
        }
    }

    /// Ends it as a signal does; it must leave nothing behind.
    pub async fn end(self) -> Result<Ended, DaemonError> {
        self.stop.send(Signal::Stop("test")).await.unwrap();
        let ended = tokio::time::timeout(LIMIT, self.task).await.unwrap();
        let ended = ended.unwrap();
        assert!(!self.directory.path().join("run").exists());
        ended
    }
}
