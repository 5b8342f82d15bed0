//! The daemon's part of the control plane: everything off the frame path.
//!
//! [`start`] runs the supervisor on a separate thread; [`Shared`] is its state for other tasks. The supervisor drives the
//! state machine [`ControlPlane`] of `weir-core`, which decides about loops and storms.
//!
//! Design: docs/src/internals/design/control-plane.md.

pub mod asked;
pub mod deadlock_log;
pub mod devices;
pub mod event_log;
pub mod exporting;
pub mod flight_recorder;
pub mod health;
pub mod history;
pub mod info;
pub mod ipfix;
pub mod kept;
pub mod lldp;
mod log;
pub mod reloading;
pub mod sflow;
pub mod shared;
mod supervisor;
mod waitable;

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use weir_api::describe::Described;
use weir_api::words::EventName;
use weir_core::control::{ControlConfig, ControlPlane, DampingConfig};
use weir_core::Duration;
use weir_dataplane::link::{DataplaneLink, XdpPrograms};

use crate::model::clock;
use flight_recorder::{FlightRecorder, FlightSettings};
use history::History;
use info::SwitchInfo;
use ipfix::{IpfixSettings, IpfixStream};
use lldp::LldpSettings;
use sflow::{SflowAgent, SflowSettings};
use shared::watermarks::Watermarks;
use shared::{Exports, Links, Records};
use supervisor::Supervisor;

pub use reloading::{ReloadError, Reloading};
pub use shared::{without_keeper, Restarted, Shared, Signal, Stage};
pub use supervisor::SupervisorError;

/// Maximum number of requests waiting for the supervisor.
const INBOX_CAPACITY: usize = 64;

/// Settings of the control plane.
#[derive(Clone, Debug)]
pub struct ControlSettings {
    /// Settings of the CLCM state machine.
    pub plane: ControlConfig,
    /// Seed of its random numbers.
    pub seed: u64,
    /// Time between two samples of the history.
    pub history_interval: Duration,
    /// Samples kept.
    pub history_length: usize,
    /// The flight recorder.
    pub flights: FlightSettings,
    /// Length of the intervals of peaks for telemetry.
    pub watermark_interval: Duration,
    /// Damping of links that flap; `None` while it is off.
    pub flap_damping: Option<DampingConfig>,
    /// LLDP.
    pub lldp: LldpSettings,
    /// The sFlow agent; `None` while it is off.
    pub sflow: Option<SflowSettings>,
    /// The IPFIX stream; `None` while it is off.
    pub ipfix: Option<IpfixSettings>,
}

/// The running control plane.
pub struct Control {
    /// State shared with other tasks.
    pub shared: Arc<Shared>,
    thread: std::thread::JoinHandle<()>,
    outcome: oneshot::Receiver<Result<(), SupervisorError>>,
}

/// Starts the control thread.
///
/// # Errors
///
/// When the thread cannot be started.
pub fn start(
    info: SwitchInfo,
    settings: &ControlSettings,
    link: DataplaneLink,
    xdp: Box<dyn XdpPrograms>,
) -> Result<Control, SupervisorError> {
    let (sender, inbox) = mpsc::channel(INBOX_CAPACITY);
    let history = History::new(settings.history_interval, settings.history_length);
    // A lossy class is never suspected.
    let flights = FlightRecorder::new(match info.lossless().next() {
        Some(_) => settings.flights,
        None => FlightSettings::OFF,
    });
    let neighbours = settings.lldp.state_machine(&info);
    let watermarks = Watermarks::new(clock::now(), info.ports.len(), settings.watermark_interval);
    let records = Records::new(history, flights, watermarks);
    let port_count = info.ports.len();
    let sflow = settings.sflow.clone();
    let exports = Exports {
        sflow: sflow.map(|settings| SflowAgent::new(settings, port_count)),
        ipfix: settings
            .ipfix
            .map(|settings| IpfixStream::new(settings, port_count)),
    };
    let links = Links::new(&info, neighbours, settings.flap_damping);
    let shared = Shared::new(info, records, links, xdp, sender, exports);
    let shared = Arc::new(shared);
    shared
        .records
        .record(Described::new(shared.life.began, EventName::Started));
    let plane = ControlPlane::new(settings.plane, settings.seed);
    let supervisor = Supervisor::new(Arc::clone(&shared), plane, link, inbox);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(SupervisorError::Thread)?;
    let (ended, outcome) = oneshot::channel();
    let thread = std::thread::Builder::new()
        .name("weir-control".to_owned())
        .spawn(move || {
            // The channel may be closed when the daemon ends.
            let _ = ended.send(runtime.block_on(supervisor.run()));
        })
        .map_err(SupervisorError::Thread)?;
    Ok(Control {
        shared,
        thread,
        outcome,
    })
}

impl Control {
    /// Waits until the control thread ends by itself, which it does only when something is wrong.
    pub async fn failed(&mut self) -> SupervisorError {
        match (&mut self.outcome).await {
            Ok(Err(error)) => error,
            Ok(Ok(())) | Err(_) => SupervisorError::DataplaneGone,
        }
    }

    /// Ends the control thread and every wait for events.
    pub fn stop(self) {
        self.shared.set_stage(Stage::Ending);
        if self.thread.join().is_err() {
            tracing::error!("the control thread panicked");
        }
    }
}
