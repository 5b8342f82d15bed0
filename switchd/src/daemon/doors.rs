//! Where the daemon is asked: taken before the first device is touched, opened once frames are forwarded.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::net::{TcpListener, UnixListener};
use tokio::task::JoinHandle;
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
use crate::metrics::gnmi::{self, GnmiSettings};
use crate::metrics::protection::Protection;
use crate::page;
use crate::{api, metrics};

/// The switch that has given its place to this one may take so long to close what it listened on.
const PARTING_WAIT: Duration = Duration::from_secs(2);
const PARTING_POLL: Duration = Duration::from_millis(2);

/// What listens.
pub(super) struct Doors {
    api: UnixListener,
    readers: Option<UnixListener>,
    protection: Protection,
    metrics: Option<TcpListener>,
    gnmi: Option<Gnmi>,
    page: Option<(TcpListener, Names)>,
    monitor: LinkMonitor,
}

impl Doors {
    /// Takes all addresses.
    ///
    /// # Errors
    ///
    /// The first that cannot be had.
    pub(super) async fn open(plan: &Plan) -> Result<Self, DaemonError> {
        let listen =
            |path: &Path, group: Option<&str>| api::listen(path, group).map_err(api_error(path));
        let api = listen(&plan.api_socket, plan.api.group.as_deref())?;
        let reading_socket = read_socket(&plan.api_socket);
        let reading_group = plan.api.read_group.as_deref();
        let readers = reading_group
            .map(|group| listen(&reading_socket, Some(group)))
            .transpose()?;
        let patience = match &plan.keeping {
            Some(keeping) if keeping.kept != Kept::First => PARTING_WAIT,
            _ => Duration::ZERO,
        };
        let protection = protection("the metrics", &plan.metrics_protection, None)?;
        let metrics = match plan.metrics {
            Some(address) => Some(
                listen_at(address, patience)
                    .await
                    .map_err(|source| DaemonError::Metrics { address, source })?,
            ),
            None => None,
        };
        let gnmi = match &plan.gnmi {
            Some(settings) => Some(Gnmi::open(settings, patience).await?),
            None => None,
        };
        let page = match &plan.page {
            Some(settings) => {
                let address = settings.listen;
                let listener = listen_at(address, patience)
                    .await
                    .map_err(|source| DaemonError::Page { address, source })?;
                Some((listener, Names::new(&settings.names, page::NAMES_SETTING)))
            }
            None => None,
        };
        Ok(Self {
            api,
            readers,
            protection,
            metrics,
            gnmi,
            page,
            monitor: LinkMonitor::new().map_err(DaemonError::LinkMonitor)?,
        })
    }

    /// Begins to answer, and to watch and announce links.
    pub(super) fn serve(
        self,
        plan: &mut Plan,
        shared: &Arc<Shared>,
        lldp: Option<Vec<io::Result<OwnedFd>>>,
    ) -> Vec<JoinHandle<()>> {
        // Before anybody can ask for the file.
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
        if let Some(listener) = self.metrics {
            let serve = metrics::serve(listener, Arc::clone(shared), self.protection);
            tasks.push(watched("metrics", serve));
        }
        if let Some(gnmi) = self.gnmi {
            tasks.push(watched("gNMI", gnmi.serve(Arc::clone(shared))));
        }
        if let Some((listener, names)) = self.page {
            let serve = page::serve(listener, Arc::clone(shared), names);
            tasks.push(watched("live page", serve));
        }
        tasks.push(while_it_lasts(shared, health::watch(Arc::clone(shared))));
        tasks.push(while_it_lasts(shared, xdp_watch::watch(Arc::clone(shared))));
        tasks.push(tokio::spawn(tender::tend(Arc::clone(shared))));
        if let Some(limit) = plan.watchdog {
            tasks.push(tokio::spawn(watchdog::beat(Arc::clone(shared), limit)));
        }
        tasks
    }
}

/// gNMI's part of them.
struct Gnmi {
    listener: TcpListener,
    protection: Protection,
    frame_bytes_max: u64,
}

impl Gnmi {
    async fn open(settings: &GnmiSettings, patience: Duration) -> Result<Self, DaemonError> {
        let address = settings.listen;
        Ok(Self {
            protection: protection("gNMI", &settings.protection, Some(gnmi::PROTOCOL))?,
            listener: listen_at(address, patience)
                .await
                .map_err(|source| DaemonError::Gnmi { address, source })?,
            frame_bytes_max: settings.frame_bytes_max,
        })
    }

    async fn serve(self, shared: Arc<Shared>) -> io::Result<()> {
        gnmi::serve(self.listener, shared, self.protection, self.frame_bytes_max).await
    }
}

fn protection(
    what: &'static str,
    files: &weir_config::daemon::Protection,
    protocol: Option<&'static str>,
) -> Result<Protection, DaemonError> {
    Protection::load(files, protocol).map_err(|source| DaemonError::Protection { what, source })
}

/// Listens, and if somebody else does so still, tries again for as long as `patience`.
async fn listen_at(address: SocketAddr, patience: Duration) -> io::Result<TcpListener> {
    let deadline = Instant::now() + patience;
    loop {
        match TcpListener::bind(address).await {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && Instant::now() < deadline => {
                tokio::time::sleep(PARTING_POLL).await;
            }
            outcome => return outcome,
        }
    }
}

fn api_error(path: &Path) -> impl FnOnce(io::Error) -> DaemonError {
    let path = path.to_owned();
    move |source| DaemonError::Api { path, source }
}

/// Spawns what never ends by itself, and owes nobody an answer.
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

/// Spawns what may fail and leave the switch forwarding; the failure is logged.
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
