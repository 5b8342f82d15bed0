//! The daemon's life cycle: start-up, running, draining and clean-up.
//!
//! Design: docs/src/internals/design/daemon.md.

mod announcement;
pub mod checkup;
pub mod container;
mod doors;
mod ending;
mod handover;
mod plan;
pub mod reload;
pub mod setup;
pub mod trial;
mod watchdog;

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::{spawn_blocking, JoinHandle};
use weir_config::daemon::{read_socket, Port};
use weir_config::told;
use weir_core::PortId;
use weir_dataplane::link::XdpPrograms;
use weir_dataplane::Closing;

use crate::control::{self, Control, Shared, Stage, SupervisorError};
use crate::keeper::frames;
use crate::os::run_dir::RunDir;
use crate::os::service;
use doors::Doors;
use ending::{stop_signal, until_end, Reason};
use handover::{give_place, leave, meet, Parting};

pub use crate::control::Signal;
pub use doors::Protections;
pub use plan::{DaemonError, Keeping, Plan};
pub use weir_dataplane::link::{AttachedPort, Programs, RunningDataplane, Stopped};

/// Time for pending answers once the daemon ends.
const ANSWERS_WAIT: Duration = Duration::from_secs(1);
/// The same time while neighbours are paused for the next switch, since they wait as well.
const ANSWERS_WAIT_HELD: Duration = Duration::from_millis(2);

/// End of the daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// As requested; frames may still be lost if the time for draining was too short.
    Cleanly,
    /// A second signal arrived during draining.
    CutShort,
    /// The keeper is to restart it and pauses the neighbours.
    ToRestart,
}

/// Runs until [`Signal::Stop`] arrives on `signals`. Everything that can be refused is tried before the first
/// device is touched.
///
/// # Errors
///
/// See [`DaemonError`]; everything has been cleaned up.
pub async fn run<D: RunningDataplane>(
    mut plan: Plan,
    start: impl FnOnce(Arc<RunDir>) -> anyhow::Result<D> + Send + 'static,
    signals: mpsc::Receiver<Signal>,
) -> Result<Ended, DaemonError> {
    let run_dir = Arc::new(RunDir::take(&plan.run_dir)?);
    let api_socket = plan.api_socket.clone();
    let reading_socket = read_socket(&api_socket);
    let run_path = run_dir.path().to_owned();
    let outcome = match begin_in(&mut plan, Arc::clone(&run_dir), start).await {
        Ok(begun) => run_in(plan, &run_path, begun, signals).await,
        Err(error) => {
            if let Some(keeping) = plan.keeping.as_mut().filter(|it| it.has_way_back()) {
                // The rest is used by the previous configuration.
                drop(run_dir);
                keeping.link.unready(&told(&error)).await;
                return Err(error);
            }
            Err(error)
        }
    };
    // An interrupted start may still hold the directory: then the end of the process releases it.
    if let Some(run_dir) = Arc::into_inner(run_dir) {
        match outcome {
            Ok((Ended::ToRestart, parting)) => {
                run_dir.leave();
                give_place(parting).await;
                return Ok(Ended::ToRestart);
            }
            _ => {
                // Frames stored for a switch that did not start.
                let left = frames::path(run_dir.path());
                let left_to = frames::keeper_path(run_dir.path());
                let by_hand = reload::by_hand::path(run_dir.path());
                let history = reload::history::path(run_dir.path());
                let in_force = reload::in_force::path(run_dir.path());
                let ours = [
                    &api_socket,
                    &reading_socket,
                    &left,
                    &by_hand,
                    &history,
                    &in_force,
                    &left_to,
                ];
                run_dir.release(&ours.map(PathBuf::as_path));
            }
        }
    }
    outcome.map(|(ended, _)| ended)
}

/// Starts the switch. All listeners are bound before the first device is touched.
async fn begin_in<D: RunningDataplane>(
    plan: &mut Plan,
    run_dir: Arc<RunDir>,
    start: impl FnOnce(Arc<RunDir>) -> anyhow::Result<D> + Send + 'static,
) -> Result<(Doors, Begun<D>), DaemonError> {
    let doors = Doors::open(plan).await?;
    let dataplane = spawn_blocking(move || start(run_dir))
        .await
        .unwrap_or_else(|panic| Err(panic.into()))
        .map_err(DaemonError::Dataplane)?;
    Ok((doors, begin(plan, dataplane).await?))
}

async fn run_in<D: RunningDataplane>(
    mut plan: Plan,
    run_path: &Path,
    (doors, begun): (Doors, Begun<D>),
    mut signals: mpsc::Receiver<Signal>,
) -> Result<(Ended, Parting), DaemonError> {
    let Begun {
        dataplane,
        mut control,
        lldp,
    } = begun;
    let shared = Arc::clone(&control.shared);
    if let Some(keeping) = &plan.keeping {
        // Later requests are served once the keeper has been met.
        shared.life.set_restartable(keeping.signals.clone());
    }
    let tasks = doors.serve(&mut plan, &shared, lldp);
    let page = plan.page.as_ref().map(|settings| settings.listen);
    let gnmi = plan.gnmi.as_ref().map(|settings| settings.listen);
    log_ready(&shared, &plan.api_socket, [plan.metrics, gnmi, page]);
    let counting = Arc::clone(&shared);
    // It reads the kernel's types, which takes time.
    spawn_blocking(move || counting.losses.stack.begin());

    let mut keeping = plan.keeping;
    if let Some(keeping) = &mut keeping {
        meet(keeping, &shared).await;
    }
    if let Some(reloader) = shared.life.reloader() {
        reloader.begun().await;
    }
    let reason = until_end(
        &mut signals,
        &mut control,
        &mut keeping,
        plan.drain,
        run_path,
    )
    .await;
    if let (Reason::Restart, Some(reloader)) = (&reason, shared.life.reloader()) {
        reloader.leave(&shared, run_path).await;
    }
    shared.set_stage(Stage::Draining);
    let (drain, again) = match &reason {
        Reason::Stop => (plan.drain, false),
        Reason::Restart => (plan.drain, true),
        Reason::Failed(_) => (Duration::ZERO, false),
    };
    let programs = announce_end(again);
    let mut closing = Closing::default();
    let ended = tokio::select! {
        mut stopped = stop_shared(&dataplane, drain, programs) => match (again, &mut keeping) {
            (true, Some(keeping)) => {
                closing = std::mem::take(&mut stopped.closing);
                leave(stopped, keeping, run_path, &shared).await;
                Ended::ToRestart
            }
            _ => {
                log_stopped(&stopped);
                Ended::Cleanly
            }
        },
        reason = stop_signal(&mut signals) => {
            tracing::warn!(reason, "stopping at once: buffered frames are lost");
            Ended::CutShort
        }
    };
    let answers_wait = match ended {
        Ended::ToRestart => ANSWERS_WAIT_HELD,
        Ended::Cleanly | Ended::CutShort => ANSWERS_WAIT,
    };
    stop_control(control, tasks, answers_wait).await;
    match reason {
        Reason::Failed(error) => Err(error.into()),
        Reason::Stop | Reason::Restart => Ok((ended, Parting { keeping, closing })),
    }
}

/// Reports to the service manager that the switch ends or restarts; returns the fate of its programs.
fn announce_end(again: bool) -> Programs {
    if again {
        service::notify_reloading();
        return Programs::Leave;
    }
    service::notify("STOPPING=1");
    Programs::Detach
}

/// Tasks that run once frames are forwarded.
struct Begun<D> {
    dataplane: Arc<Mutex<Option<D>>>,
    control: Control,
    lldp: Option<Vec<io::Result<OwnedFd>>>,
}

/// Starts the control plane above `dataplane`, which is stopped on failure.
async fn begin<D: RunningDataplane>(
    plan: &mut Plan,
    dataplane: D,
) -> Result<Begun<D>, DaemonError> {
    for (port, attached) in plan.info.ports.iter().zip(dataplane.attached()) {
        port.attached.set(attached);
    }
    let link = match dataplane.link() {
        Ok(link) => link,
        Err(error) => {
            stop_dataplane(dataplane, Duration::ZERO, Programs::Detach).await;
            return Err(SupervisorError::Notify(error).into());
        }
    };
    let lldp = plan.control.lldp.enabled.then(|| dataplane.lldp_sockets());
    let dataplane = Arc::new(Mutex::new(Some(dataplane)));
    let xdp = Box::new(SharedDataplane(Arc::clone(&dataplane)));
    match control::start(plan.info.clone(), &plan.control, link, xdp) {
        Ok(control) => Ok(Begun {
            dataplane,
            control,
            lldp,
        }),
        Err(error) => {
            stop_shared(&dataplane, Duration::ZERO, Programs::Detach).await;
            Err(error.into())
        }
    }
}

fn log_stopped(stopped: &Stopped) {
    match stopped.held_frames() {
        0 => tracing::info!("all buffered frames sent"),
        frames => tracing::warn!(frames, "buffered frames lost: draining took too long"),
    }
}

fn log_ready(shared: &Shared, api_socket: &Path, [metrics, gnmi, page]: [Option<SocketAddr>; 3]) {
    let or_off = |address: Option<SocketAddr>| {
        address.map_or_else(|| "off".to_owned(), |address| address.to_string())
    };
    for port in &shared.info.ports {
        if port.attached.get().is_absent() {
            tracing::warn!(
                port = port.name,
                device = port.device,
                "no such device yet: the port is down until there is one"
            );
            continue;
        }
        port.log_attached();
    }
    tracing::info!(
        switch = shared.info.name,
        ports = shared.info.ports.len(),
        deadlock_policy = shared.info.deadlock_policy.get().name(),
        api = %api_socket.display(),
        metrics = or_off(metrics),
        gnmi = or_off(gnmi),
        page = or_off(page),
        "ready"
    );
    service::notify("READY=1");
}

async fn stop_control(control: Control, tasks: Vec<JoinHandle<()>>, answers_wait: Duration) {
    // It ends at once, but the runtime must not wait for a thread's end.
    let _ = spawn_blocking(move || control.stop()).await;
    let deadline = tokio::time::Instant::now() + answers_wait;
    let mut cut_off = 0;
    for mut task in tasks {
        if tokio::time::timeout_at(deadline, &mut task).await.is_err() {
            task.abort();
            cut_off += 1;
        }
    }
    if cut_off > 0 {
        tracing::info!(tasks = cut_off, waited = ?answers_wait, "closing connections whose responses are not finished");
    }
}

async fn stop_shared<D: RunningDataplane>(
    dataplane: &Mutex<Option<D>>,
    drain: Duration,
    programs: Programs,
) -> Stopped {
    let taken = dataplane
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    match taken {
        Some(dataplane) => stop_dataplane(dataplane, drain, programs).await,
        None => Stopped::default(),
    }
}

async fn stop_dataplane<D: RunningDataplane>(
    dataplane: D,
    drain: Duration,
    programs: Programs,
) -> Stopped {
    match spawn_blocking(move || dataplane.stop(drain, programs)).await {
        Ok(Ok(stopped)) => return stopped,
        Ok(Err(error)) => tracing::error!("the dataplane did not stop cleanly: {error:#}"),
        Err(panic) => tracing::error!(%panic, "the dataplane panicked"),
    }
    Stopped::default()
}

/// The dataplane as a source of counters, until it is taken out to be stopped.
struct SharedDataplane<D>(Arc<Mutex<Option<D>>>);

impl<D> SharedDataplane<D> {
    /// Calls `ask` with the dataplane, if there is one.
    fn with<T>(&self, ask: impl FnOnce(&mut D) -> T) -> Option<T> {
        let mut dataplane = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        dataplane.as_mut().map(ask)
    }
}

impl<D: RunningDataplane> XdpPrograms for SharedDataplane<D> {
    fn frames(&self, port: PortId) -> Vec<(&'static str, u64)> {
        let frames = self.with(|dataplane| dataplane.xdp_frames(port));
        frames.unwrap_or_default()
    }

    fn verdicts(&self, port: PortId) -> Vec<(&'static str, u64)> {
        let verdicts = self.with(|dataplane| dataplane.xdp_verdicts(port));
        verdicts.unwrap_or_default()
    }

    fn mode(&self, port: PortId) -> Option<&'static str> {
        self.with(|dataplane| dataplane.xdp_mode(port)).flatten()
    }

    fn fall_back(&self, port: PortId) -> anyhow::Result<bool> {
        self.with(|dataplane| dataplane.fall_back(port))
            .unwrap_or(Ok(false))
    }

    fn classify(&self, port: PortId, settings: &Port) -> anyhow::Result<()> {
        self.with(|dataplane| dataplane.classify(port, settings))
            .unwrap_or_else(stopping)
    }

    fn take(&self, port: PortId) -> anyhow::Result<Option<AttachedPort>> {
        self.with(|dataplane| dataplane.take(port))
            .unwrap_or_else(stopping)
    }

    fn release(&self, port: PortId) -> anyhow::Result<()> {
        self.with(|dataplane| dataplane.release(port))
            .unwrap_or_else(stopping)
    }

    fn lldp_socket(&self, port: PortId) -> io::Result<OwnedFd> {
        let socket = self.with(|dataplane| dataplane.lldp_socket(port));
        socket.unwrap_or_else(|| Err(io::ErrorKind::NotFound.into()))
    }
}

fn stopping<T>() -> anyhow::Result<T> {
    anyhow::bail!("the switch is stopping")
}
