//! The daemon's life: start-up, running, draining, clean-up, in this order and back.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::{spawn_blocking, JoinHandle};
use weir_config::daemon::{read_socket, ApiConfig, MetricsConfig, Port};
use weir_core::{MacAddress, PortId, Quanta};

use crate::cli::Kept;
use crate::control::info::{PortInfo, SwitchInfo};
use crate::control::link::{DataplaneLink, XdpPrograms};
use crate::control::link_monitor::LinkMonitor;
use crate::control::lldp::LldpAgent;
use crate::control::{self, Control, ControlSettings, Shared, Stage, SupervisorError};
use crate::dataplane::messages::LeftFrame;
use crate::dataplane::tables::Tables;
use crate::keeper::frames;
use crate::keeper::link::{held_links, resumed_links, KeeperLink};
use crate::metrics::protection::Protection;
use crate::page::{self, PageSettings};
use crate::reload::Reloader;
use crate::run_dir::{RunDir, RunDirError};
use crate::secret::SecretError;
use crate::{api, metrics, service, watchdog};

/// How long answers that are on their way may take once the daemon ends.
const ANSWERS_WAIT: Duration = Duration::from_secs(1);

/// All that the daemon needs to know beside its dataplane.
#[derive(Debug)]
pub struct Plan {
    /// The run directory.
    pub run_dir: PathBuf,
    /// Where the API's Unix socket will be.
    pub api_socket: PathBuf,
    /// Who may use it, and the socket for those who may look only.
    pub api: ApiConfig,
    /// Where the metrics are served; `None` for nowhere.
    pub metrics: Option<SocketAddr>,
    /// How they are protected there.
    pub metrics_protection: MetricsConfig,
    /// Where the live page is served; `None` for nowhere.
    pub page: Option<PageSettings>,
    /// Names and settings; what is known only once the ports are attached is filled in then.
    pub info: SwitchInfo,
    /// Settings of the control plane.
    pub control: ControlSettings,
    /// How long buffered frames may take to leave at the end.
    pub drain: Duration,
    /// Reads the configuration file again; `None` where there is none.
    pub reloader: Option<Reloader>,
    /// How long the service manager waits for a heartbeat; `None` when it wants none.
    pub watchdog: Option<Duration>,
    /// What can start the switch anew; `None` when it has no keeper.
    pub keeping: Option<Keeping>,
}

/// The switch's side of its keeper.
#[derive(Debug)]
pub struct Keeping {
    /// To it.
    pub link: KeeperLink,
    /// Which of its switches this is.
    pub kept: Kept,
    /// What neighbours are held by.
    pub pause_time: Quanta,
    /// Where [`Signal::Restart`] is given.
    pub signals: mpsc::Sender<Signal>,
}

/// What a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// To end, and why.
    Stop(&'static str),
    /// To read the configuration file again.
    Reload,
    /// To be started anew by the keeper.
    Restart,
}

/// A running dataplane. The daemon's is [`crate::dataplane`]'s; tests have their own.
pub trait RunningDataplane: Send + 'static {
    /// The queues to and from it. Called once.
    ///
    /// # Errors
    ///
    /// When the eventfd cannot be duplicated.
    fn link(&self) -> io::Result<DataplaneLink>;

    /// What is known of each port only once it is attached, in the configuration's order.
    fn attached(&self) -> Vec<AttachedPort>;

    /// See [`XdpPrograms::frames`].
    fn xdp_frames(&self, port: PortId) -> Vec<(&'static str, u64)>;

    /// See [`XdpPrograms::classify`].
    ///
    /// # Errors
    ///
    /// What the kernel says.
    fn classify(&self, port: PortId, settings: &Port) -> anyhow::Result<()>;

    /// A socket for each port, in the configuration's order, that gives and takes whole LLDP frames.
    /// Called once, if LLDP is spoken.
    fn lldp_sockets(&self) -> Vec<io::Result<OwnedFd>> {
        Vec::new()
    }

    /// Admits nothing more, sends what is buffered for `drain` at most, ends and detaches.
    ///
    /// # Errors
    ///
    /// What could not be put back as it was.
    fn stop(self, drain: Duration) -> anyhow::Result<Stopped>;
}

/// One attached port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttachedPort {
    /// The device's index.
    pub ifindex: u32,
    /// The port's own address.
    pub address: MacAddress,
    /// `native` or `generic`.
    pub xdp_mode: &'static str,
    /// True when the driver shares memory with the socket.
    pub zero_copy: bool,
}

/// How the dataplane ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stopped {
    /// Frames that a transmitter still had.
    pub lost_in_flight: u64,
    /// Frames that could not leave.
    pub left: Vec<LeftFrame>,
    /// Frames that found no socket any more at the end, and got the fallback.
    pub missed: u64,
}

impl Stopped {
    /// Frames that are lost, unless somebody takes on what is left.
    pub fn held_frames(&self) -> u64 {
        self.lost_in_flight + self.left.len() as u64
    }
}

/// How the daemon ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// As asked; frames may be lost all the same when the time for draining was too short.
    Cleanly,
    /// A second signal came while it drained.
    CutShort,
    /// The keeper is to start it anew; it holds the neighbours.
    ToRestart,
}

/// Why the daemon could not start, or ended by itself.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// The run directory cannot be ours.
    #[error(transparent)]
    RunDir(#[from] RunDirError),
    /// The API's socket cannot be made.
    #[error("cannot make the API's socket {path}: {source}")]
    Api {
        /// Where.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The metrics' address cannot be taken.
    #[error("cannot serve metrics at {address}: {source}")]
    Metrics {
        /// Where.
        address: SocketAddr,
        /// Why not.
        source: io::Error,
    },
    /// The files that protect the metrics cannot be used.
    #[error("cannot protect the metrics: {0}")]
    Protection(#[from] SecretError),
    /// The page's address cannot be taken.
    #[error("cannot serve the live page at {address}: {source}; page.listen names another address, or \"off\"")]
    Page {
        /// Where.
        address: SocketAddr,
        /// Why not.
        source: io::Error,
    },
    /// The dataplane did not start.
    #[error("cannot start the dataplane: {0:#}")]
    Dataplane(anyhow::Error),
    /// The control plane did not start, or the dataplane has ended by itself.
    #[error(transparent)]
    Control(#[from] SupervisorError),
    /// The devices' link state cannot be watched.
    #[error("cannot watch the link state of devices: {0}")]
    LinkMonitor(io::Error),
}

/// Runs until [`Signal::Stop`] arrives on `signals`. Everything that can be refused is tried before the first
/// device is touched.
///
/// # Errors
///
/// See [`DaemonError`]; everything is cleaned up then.
pub async fn run<D: RunningDataplane>(
    plan: Plan,
    start: impl FnOnce(&RunDir) -> anyhow::Result<D> + Send + 'static,
    signals: mpsc::Receiver<Signal>,
) -> Result<Ended, DaemonError> {
    let run_dir = Arc::new(RunDir::take(&plan.run_dir)?);
    let api_socket = plan.api_socket.clone();
    let reading_socket = read_socket(&api_socket);
    let outcome = run_in(plan, Arc::clone(&run_dir), start, signals).await;
    // A start that was cut short may hold the directory still: then the process's end releases it.
    if let Some(run_dir) = Arc::into_inner(run_dir) {
        match outcome {
            Ok(Ended::ToRestart) => run_dir.leave(),
            _ => {
                // What was left for a switch that did not come.
                let left = frames::path(run_dir.path());
                run_dir.release(&[&api_socket, &reading_socket, &left]);
            }
        }
    }
    outcome
}

async fn run_in<D: RunningDataplane>(
    mut plan: Plan,
    run_dir: Arc<RunDir>,
    start: impl FnOnce(&RunDir) -> anyhow::Result<D> + Send + 'static,
    mut signals: mpsc::Receiver<Signal>,
) -> Result<Ended, DaemonError> {
    let listen =
        |path: &Path, group: Option<&str>| api::listen(path, group).map_err(api_error(path));
    let api_listener = listen(&plan.api_socket, plan.api.group.as_deref())?;
    let reading_socket = read_socket(&plan.api_socket);
    let reading_group = plan.api.read_group.as_deref();
    let reading_listener = reading_group
        .map(|group| listen(&reading_socket, Some(group)))
        .transpose()?;
    let protection = Protection::load(&plan.metrics_protection)?;
    let metrics_listener = match plan.metrics {
        Some(address) => Some(
            metrics::listen(address)
                .await
                .map_err(|source| DaemonError::Metrics { address, source })?,
        ),
        None => None,
    };
    let page_listener = match &plan.page {
        Some(settings) => {
            let address = settings.listen;
            let listener = page::listen(address)
                .await
                .map_err(|source| DaemonError::Page { address, source })?;
            Some((listener, page::Names::new(&settings.names)))
        }
        None => None,
    };
    let monitor = LinkMonitor::new().map_err(DaemonError::LinkMonitor)?;
    let run_path = run_dir.path().to_owned();

    let dataplane = spawn_blocking(move || start(&run_dir))
        .await
        .unwrap_or_else(|panic| Err(panic.into()))
        .map_err(DaemonError::Dataplane)?;
    for (port, attached) in plan.info.ports.iter_mut().zip(dataplane.attached()) {
        fill_in(port, attached);
    }
    let link = match dataplane.link() {
        Ok(link) => link,
        Err(error) => {
            stop_dataplane(dataplane, Duration::ZERO).await;
            return Err(SupervisorError::Notify(error).into());
        }
    };
    let lldp = plan.control.lldp.enabled.then(|| dataplane.lldp_sockets());
    let dataplane = Arc::new(Mutex::new(Some(dataplane)));
    let xdp = Box::new(SharedDataplane(Arc::clone(&dataplane)));
    let started = control::start(plan.info, &plan.control, link, xdp);
    let mut control = match started {
        Ok(control) => control,
        Err(error) => {
            stop_shared(&dataplane, Duration::ZERO).await;
            return Err(error.into());
        }
    };
    let shared = Arc::clone(&control.shared);
    let mut tasks = vec![
        watched("API", api::serve(api_listener, Arc::clone(&shared))),
        watched("link monitor", monitor.run(Arc::clone(&shared))),
    ];
    if let Some(listener) = reading_listener {
        let (shared, full) = (Arc::clone(&shared), plan.api_socket.clone());
        let serve = async move { api::serve_readers(listener, shared, &full).await };
        tasks.push(watched("API for readers", serve));
    }
    if let Some(sockets) = lldp {
        let agent = LldpAgent::new(Arc::clone(&shared), sockets);
        tasks.push(watched("LLDP agent", agent.run()));
    }
    if let Some(listener) = metrics_listener {
        let serve = metrics::serve(listener, Arc::clone(&shared), protection);
        tasks.push(watched("metrics", serve));
    }
    if let Some(reloader) = plan.reloader {
        shared.set_reloader(reloader);
    }
    if let Some((listener, names)) = page_listener {
        let serve = page::serve(listener, Arc::clone(&shared), names);
        tasks.push(watched("live page", serve));
    }
    if let Some(limit) = plan.watchdog {
        tasks.push(tokio::spawn(watchdog::beat(Arc::clone(&shared), limit)));
    }
    let page = plan.page.as_ref().map(|settings| settings.listen);
    log_ready(&shared, &plan.api_socket, plan.metrics, page);

    let mut keeping = plan.keeping;
    if let Some(keeping) = &mut keeping {
        meet(keeping, &shared).await;
    }
    let (drain, failure, again) = loop {
        tokio::select! {
            reason = until_stop(&mut signals, &shared) => match reason {
                Reason::Stop(reason) => {
                    tracing::info!(reason, drain_timeout = ?plan.drain, "ending");
                    break (plan.drain, None, false);
                }
                // The API gives this only where there is a keeper.
                Reason::Restart => if let Some(keeping) = &mut keeping {
                    let links = held_links(&shared.info, keeping.pause_time);
                    match keeping.link.hold(links).await {
                        Ok(()) => {
                            tracing::info!("ending, to be started anew: neighbours are held");
                            break (plan.drain, None, true);
                        }
                        Err(error) => tracing::error!(%error, "no restart: the keeper does not hold neighbours"),
                    }
                }
            },
            () = gone(&mut keeping) => {
                tracing::error!("ending: the keeper is gone");
                break (plan.drain, None, false);
            }
            error = control.failed() => {
                tracing::error!(%error, "ending");
                break (Duration::ZERO, Some(error), false);
            }
        }
    };
    shared.set_stage(Stage::Draining);
    if again {
        service::notify_reloading();
    } else {
        service::notify("STOPPING=1");
    }
    let ended = tokio::select! {
        stopped = stop_shared(&dataplane, drain) => match (again, &mut keeping) {
            (true, Some(keeping)) => {
                leave(stopped, keeping, &run_path, &shared).await;
                Ended::ToRestart
            }
            _ => {
                log_stopped(&stopped);
                Ended::Cleanly
            }
        },
        reason = stop_signal(&mut signals) => {
            tracing::warn!(reason, "ending at once: what is buffered is lost");
            Ended::CutShort
        }
    };
    stop_control(control, tasks).await;
    match failure {
        Some(error) => Err(error.into()),
        None => Ok(ended),
    }
}

/// Lets neighbours go on that were held for this switch, and takes requests for the next one.
async fn meet(keeping: &mut Keeping, shared: &Shared) {
    // What the switch itself holds by now stays held.
    let snapshot = shared.inspect(Tables::NONE).await;
    let resumed = snapshot.map(|snapshot| resumed_links(&shared.info, &snapshot.ports));
    match keeping
        .link
        .ready(keeping.kept, resumed.unwrap_or_default())
        .await
    {
        Ok(restarted) => shared.set_restartable(keeping.signals.clone(), restarted),
        Err(error) => {
            tracing::error!(%error, "the keeper does not answer: neighbours may be held still")
        }
    }
}

/// Leaves frames that could not leave for the next switch, and tells the keeper which are lost.
async fn leave(stopped: Stopped, keeping: &mut Keeping, run_dir: &Path, shared: &Shared) {
    let count = stopped.left.len() as u64;
    let names: Vec<&str> = shared.info.ports.iter().map(|port| &*port.name).collect();
    let mut lost = stopped.lost_in_flight;
    match frames::write(run_dir, &stopped.left, &names) {
        Ok(()) => tracing::info!(frames = count, "left for the next switch"),
        Err(error) => {
            tracing::error!(%error, frames = count, "frames cannot be left for the next switch");
            lost += count;
        }
    }
    if let Err(error) = keeping.link.left(lost, stopped.missed).await {
        tracing::warn!(%error, "the keeper does not hear what was lost");
    }
}

fn log_stopped(stopped: &Stopped) {
    match stopped.held_frames() {
        0 => tracing::info!("all buffered frames have left"),
        frames => tracing::warn!(frames, "buffered frames are lost: draining took too long"),
    }
}

/// Waits until the keeper is gone; for ever without one.
async fn gone(keeping: &mut Option<Keeping>) {
    match keeping {
        Some(keeping) => keeping.link.gone().await,
        None => std::future::pending().await,
    }
}

/// Why the switch ends.
enum Reason {
    Stop(&'static str),
    Restart,
}

/// Waits for a reason to end, and reads the configuration file again whenever it is asked to.
async fn until_stop(signals: &mut mpsc::Receiver<Signal>, shared: &Shared) -> Reason {
    loop {
        match signals.recv().await {
            Some(Signal::Stop(reason)) => return Reason::Stop(reason),
            Some(Signal::Restart) => return Reason::Restart,
            Some(Signal::Reload) => match shared.reloader() {
                Some(reloader) => reloader.reload_and_log(shared).await,
                None => tracing::warn!("there is no configuration file to read again"),
            },
            // Whoever could ask is gone.
            None => return Reason::Stop("no more signals"),
        }
    }
}

/// Waits for a signal to end, and nothing else.
async fn stop_signal(signals: &mut mpsc::Receiver<Signal>) -> &'static str {
    loop {
        match signals.recv().await {
            Some(Signal::Stop(reason)) => return reason,
            Some(Signal::Reload | Signal::Restart) => {}
            None => return std::future::pending().await,
        }
    }
}

fn fill_in(port: &mut PortInfo, attached: AttachedPort) {
    port.ifindex = attached.ifindex;
    port.address = attached.address;
    port.xdp_mode = attached.xdp_mode;
    port.zero_copy = attached.zero_copy;
}

fn api_error(path: &Path) -> impl FnOnce(io::Error) -> DaemonError {
    let path = path.to_owned();
    move |source| DaemonError::Api { path, source }
}

fn log_ready(
    shared: &Shared,
    api_socket: &Path,
    metrics: Option<SocketAddr>,
    page: Option<SocketAddr>,
) {
    let or_off = |address: Option<SocketAddr>| {
        address.map_or_else(|| "off".to_owned(), |address| address.to_string())
    };
    for port in &shared.info.ports {
        tracing::info!(
            port = port.name,
            device = port.device,
            address = %port.address,
            rate = %port.rate,
            xdp_mode = port.xdp_mode,
            zero_copy = port.zero_copy,
            "port attached"
        );
    }
    tracing::info!(
        switch = shared.info.name,
        ports = shared.info.ports.len(),
        deadlock_policy = shared.info.deadlock_policy.get(),
        api = %api_socket.display(),
        metrics = or_off(metrics),
        page = or_off(page),
        "ready"
    );
    service::notify("READY=1");
}

/// Spawns what may fail and leave the switch forwarding; the failure is logged.
fn watched(
    what: &'static str,
    task: impl std::future::Future<Output = io::Result<()>> + Send + 'static,
) -> JoinHandle<()> {
    tokio::spawn(async move {
        if let Err(error) = task.await {
            tracing::error!(%error, "the {what} has failed; the switch forwards all the same");
        }
    })
}

async fn stop_control(control: Control, tasks: Vec<JoinHandle<()>>) {
    // It ends at once, but a thread's end must not be awaited on the runtime.
    let _ = spawn_blocking(move || control.stop()).await;
    let deadline = tokio::time::Instant::now() + ANSWERS_WAIT;
    for mut task in tasks {
        if tokio::time::timeout_at(deadline, &mut task).await.is_err() {
            task.abort();
        }
    }
}

async fn stop_shared<D: RunningDataplane>(
    dataplane: &Mutex<Option<D>>,
    drain: Duration,
) -> Stopped {
    let taken = dataplane
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    match taken {
        Some(dataplane) => stop_dataplane(dataplane, drain).await,
        None => Stopped::default(),
    }
}

async fn stop_dataplane<D: RunningDataplane>(dataplane: D, drain: Duration) -> Stopped {
    match spawn_blocking(move || dataplane.stop(drain)).await {
        Ok(Ok(stopped)) => return stopped,
        Ok(Err(error)) => tracing::error!("the dataplane did not end as it should: {error:#}"),
        Err(panic) => tracing::error!(%panic, "the dataplane has panicked"),
    }
    Stopped::default()
}

/// The dataplane as a source of counters, until it is taken out to be stopped.
struct SharedDataplane<D>(Arc<Mutex<Option<D>>>);

impl<D: RunningDataplane> XdpPrograms for SharedDataplane<D> {
    fn frames(&self, port: PortId) -> Vec<(&'static str, u64)> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .as_ref()
            .map(|dataplane| dataplane.xdp_frames(port))
            .unwrap_or_default()
    }

    fn classify(&self, port: PortId, settings: &Port) -> anyhow::Result<()> {
        match self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .as_ref()
        {
            Some(dataplane) => dataplane.classify(port, settings),
            None => anyhow::bail!("the switch is ending"),
        }
    }
}
