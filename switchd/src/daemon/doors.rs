//! Addresses of the daemon's services: bound before the first device is touched, served once frames
//! are forwarded.

use std::fmt;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::net::{TcpListener, UnixListener};
use tokio::task::JoinHandle;
use weir_api::describe::Described;
use weir_api::words::{EventName, Trouble};
use weir_config::daemon::read_socket;
use weir_http::guard::Names;

use super::plan::{DaemonError, Plan};
use super::watchdog;
use crate::cli::Kept;
use crate::control::devices::link_monitor::LinkMonitor;
use crate::control::devices::{tender, xdp_watch};
use crate::control::health;
use crate::control::lldp::LldpAgent;
use crate::control::Shared;
use crate::metrics::gnmi;
use crate::metrics::protection::Protection;
use crate::model::clock;
use crate::page;
use crate::{api, export, metrics};

/// Time for the previous switch to close its listeners.
const PARTING_WAIT: Duration = Duration::from_secs(2);
const PARTING_POLL: Duration = Duration::from_millis(2);
/// Retry interval after that, while another process uses the address.
const TAKEN_POLL: Duration = Duration::from_secs(1);

pub(super) struct Doors {
    api: UnixListener,
    readers: Option<UnixListener>,
    protections: Protections,
    metrics: Option<Door>,
    gnmi: Option<(Door, u64)>,
    page: Option<(Door, Names)>,
    monitor: LinkMonitor,
}

/// Contents of the files that protect listeners.
pub struct Protections {
    metrics: Protection,
    gnmi: Option<Protection>,
}

impl Protections {
    /// Reads the files.
    ///
    /// # Errors
    ///
    /// The first file that cannot be used.
    pub fn load(plan: &Plan) -> Result<Self, DaemonError> {
        let gnmi = plan.gnmi.as_ref();
        let gnmi = gnmi.map(|it| protection("gNMI", &it.protection, Some(gnmi::PROTOCOL)));
        Ok(Self {
            metrics: protection("the metrics", &plan.metrics_protection, None)?,
            gnmi: gnmi.transpose()?,
        })
    }
}

impl fmt::Debug for Protections {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Their keys and tokens are secret.
        formatter
            .debug_struct("Protections")
            .finish_non_exhaustive()
    }
}

enum Door {
    Open(TcpListener),
    /// Another process uses it, either the previous switch or an unrelated one; binding is retried.
    Taken {
        key: &'static str,
        address: SocketAddr,
    },
}

impl Doors {
    /// Binds all addresses.
    ///
    /// # Errors
    ///
    /// The first address that cannot be bound.
    pub(super) async fn open(plan: &mut Plan) -> Result<Self, DaemonError> {
        let listen =
            |path: &Path, group: Option<&str>| api::listen(path, group).map_err(api_error(path));
        let api = listen(&plan.api_socket, plan.api.group.as_deref())?;
        let reading_socket = read_socket(&plan.api_socket);
        let reading_group = plan.api.read_group.as_deref();
        let readers = reading_group
            .map(|group| listen(&reading_socket, Some(group)))
            .transpose()?;
        let protections = match plan.protections.take() {
            Some(protections) => protections,
            None => Protections::load(plan)?,
        };
        // A switch that replaces another one keeps running without an address.
        let is_needed = match &plan.keeping {
            Some(keeping) => keeping.kept == Kept::First,
            None => true,
        };
        let metrics = match plan.metrics {
            Some(address) => Some(
                Door::open("metrics.listen", address, is_needed)
                    .await
                    .map_err(|source| DaemonError::Metrics { address, source })?,
            ),
            None => None,
        };
        let gnmi = match &plan.gnmi {
            Some(settings) => {
                let address = settings.listen;
                let door = Door::open("gnmi.listen", address, is_needed).await;
                let door = door.map_err(|source| DaemonError::Gnmi { address, source })?;
                Some((door, settings.frame_bytes_max))
            }
            None => None,
        };
        let page = match &plan.page {
            Some(settings) => {
                let address = settings.listen;
                let door = Door::open("page.listen", address, is_needed).await;
                let door = door.map_err(|source| DaemonError::Page { address, source })?;
                Some((door, Names::new(&settings.names, page::NAMES_SETTING)))
            }
            None => None,
        };
        Ok(Self {
            api,
            readers,
            protections,
            metrics,
            gnmi,
            page,
            monitor: LinkMonitor::new().map_err(DaemonError::LinkMonitor)?,
        })
    }

    /// Starts to serve requests, and to monitor and announce links.
    pub(super) fn serve(
        self,
        plan: &mut Plan,
        shared: &Arc<Shared>,
        lldp: Option<Vec<io::Result<OwnedFd>>>,
    ) -> Vec<JoinHandle<()>> {
        // Before a request can ask for the file.
        if let Some(reloader) = plan.reloader.take() {
            shared.life.set_reloader(reloader);
        }
        let mut tasks = vec![
            watched("API", api::serve(self.api, Arc::clone(shared))),
            watched("link monitor", self.monitor.run(Arc::clone(shared))),
        ];
        if let Some(listener) = self.readers {
            let (shared, full) = (Arc::clone(shared), plan.api_socket.clone());
            let serve = async move { api::serve_readers(listener, shared, &full).await };
            tasks.push(watched("API for readers", serve));
        }
        if let Some(sockets) = lldp {
            let agent = LldpAgent::new(Arc::clone(shared), sockets);
            tasks.push(watched("LLDP agent", agent.run()));
        }
        let Protections { metrics, gnmi } = self.protections;
        if let Some(door) = self.metrics {
            let serve = |listener, shared| metrics::serve(listener, shared, metrics);
            tasks.push(watched("metrics", door.serve(Arc::clone(shared), serve)));
        }
        if let (Some((door, frame_bytes_max)), Some(protection)) = (self.gnmi, gnmi) {
            let serve =
                move |listener, shared| gnmi::serve(listener, shared, protection, frame_bytes_max);
            tasks.push(watched("gNMI", door.serve(Arc::clone(shared), serve)));
        }
        if let Some((door, names)) = self.page {
            let serve = |listener, shared| page::serve(listener, shared, names);
            tasks.push(watched("live page", door.serve(Arc::clone(shared), serve)));
        }
        tasks.push(while_it_lasts(shared, health::watch(Arc::clone(shared))));
        tasks.push(while_it_lasts(shared, xdp_watch::watch(Arc::clone(shared))));
        tasks.push(tokio::spawn(tender::tend(Arc::clone(shared))));
        if shared.sflow.is_some() {
            let agent = export::sflow::run(Arc::clone(shared));
            tasks.push(while_it_lasts(shared, agent));
        }
        if shared.ipfix.is_some() {
            let stream = export::ipfix::run(Arc::clone(shared));
            tasks.push(while_it_lasts(shared, stream));
        }
        if let Some(limit) = plan.watchdog {
            tasks.push(tokio::spawn(watchdog::beat(Arc::clone(shared), limit)));
        }
        tasks
    }
}

impl Door {
    /// Binds the address. One in use by another process is an error only if it `is_needed`.
    async fn open(key: &'static str, address: SocketAddr, is_needed: bool) -> io::Result<Self> {
        match TcpListener::bind(address).await {
            Ok(listener) => Ok(Self::Open(listener)),
            Err(_) if !is_needed => Ok(Self::Taken { key, address }),
            Err(error) => Err(error),
        }
    }

    /// Runs `serve` once there is a listener.
    async fn serve<F: Future<Output = io::Result<()>>>(
        self,
        shared: Arc<Shared>,
        serve: impl FnOnce(TcpListener, Arc<Shared>) -> F,
    ) -> io::Result<()> {
        match self.opened(&shared).await {
            Some(listener) => serve(listener, shared).await,
            None => Ok(()),
        }
    }

    /// Returns the listener once it is bound; `None` if the switch ends first.
    async fn opened(self, shared: &Shared) -> Option<TcpListener> {
        match self {
            Self::Open(listener) => Some(listener),
            Self::Taken { key, address } => tokio::select! {
                listener = retake(key, address, shared) => Some(listener),
                () = shared.life.ending() => None,
            },
        }
    }
}

/// Retries until the address is free. Reports an unrelated process that uses it.
async fn retake(key: &'static str, address: SocketAddr, shared: &Shared) -> TcpListener {
    let deadline = Instant::now() + PARTING_WAIT;
    let mut is_told = false;
    loop {
        let error = match TcpListener::bind(address).await {
            Ok(listener) => {
                if is_told {
                    shared.life.set_trouble(key, None);
                    let told = Described::new(clock::now(), EventName::ListenerFree);
                    let told = told
                        .detail("key", key)
                        .detail("address", address.to_string());
                    shared.records.record(told);
                }
                return listener;
            }
            Err(error) => error,
        };
        if Instant::now() < deadline {
            tokio::time::sleep(PARTING_POLL).await;
            continue;
        }
        if !is_told {
            is_told = true;
            let text = format!("{key}: cannot listen at {address}: {error}; end the process that listens there, or set another address and restart");
            shared
                .life
                .set_trouble(key, Some((Trouble::ListenerTaken, text)));
            let told = Described::new(clock::now(), EventName::ListenerTaken);
            let told = told
                .detail("key", key)
                .detail("address", address.to_string());
            shared.records.record(told.detail("why", error.to_string()));
        }
        tokio::time::sleep(TAKEN_POLL).await;
    }
}

fn protection(
    what: &'static str,
    files: &weir_config::daemon::Protection,
    protocol: Option<&'static str>,
) -> Result<Protection, DaemonError> {
    Protection::load(files, protocol).map_err(|source| DaemonError::Protection { what, source })
}

fn api_error(path: &Path) -> impl FnOnce(io::Error) -> DaemonError {
    let path = path.to_owned();
    move |source| DaemonError::Api { path, source }
}

/// Spawns a task that never ends by itself and returns no result.
fn while_it_lasts(
    shared: &Arc<Shared>,
    task: impl Future<Output = ()> + Send + 'static,
) -> JoinHandle<()> {
    let shared = Arc::clone(shared);
    tokio::spawn(async move {
        tokio::select! {
            () = task => {}
            () = shared.life.ending() => {}
        }
    })
}

/// Spawns a task whose failure is logged and leaves the switch forwarding.
fn watched(
    what: &'static str,
    task: impl Future<Output = io::Result<()>> + Send + 'static,
) -> JoinHandle<()> {
    tokio::spawn(async move {
        if let Err(error) = task.await {
            tracing::error!(%error, "{what} failed; forwarding continues");
        }
    })
}
