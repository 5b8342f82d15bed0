//! Access to the dataplane: its snapshots, and requests to it.

use std::ops::Deref;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot, watch};
use weir_config::daemon::Port;
use weir_core::control::ControlConfig;
use weir_core::{Command, CommandError, PortId};
use weir_dataplane::impair::Impairment;
use weir_dataplane::link::{AttachedPort, XdpPrograms};
use weir_dataplane::messages::{
    LevelTableSnapshot, PortSnapshot, Request, Snapshot, LEVEL_ENTRIES_MAX,
};
use weir_dataplane::mirrors::Mirrors;
use weir_dataplane::series::{Series, SeriesPlaces};
use weir_dataplane::stations::Stations;
use weir_dataplane::tables::Tables;
use weir_dataplane::tap::Tap;

use crate::control::asked::captures::Hub;
use crate::control::supervisor::Message;
use crate::model::clock;

/// Time for which a reader waits for a snapshot younger than its request.
const FRESH_WAIT: std::time::Duration = std::time::Duration::from_millis(100);

/// Maximum time to wait for an answer of the dataplane.
pub const ANSWER_WAIT: std::time::Duration = std::time::Duration::from_secs(5);

/// The latest snapshot, shared by its readers.
#[derive(Debug)]
pub struct Published(Box<Snapshot>);

impl Deref for Published {
    type Target = Snapshot;
    fn deref(&self) -> &Snapshot {
        &self.0
    }
}

/// Snapshots of the dataplane and requests to it, passed through the supervisor.
pub struct Access {
    /// Captures in progress.
    pub captures: Hub,
    /// Slots of series.
    pub series: SeriesPlaces,
    snapshot: watch::Sender<Arc<Published>>,
    xdp: Box<dyn XdpPrograms>,
    inbox: mpsc::Sender<Message>,
}

impl Access {
    pub(super) fn new(
        port_count: usize,
        xdp: Box<dyn XdpPrograms>,
        inbox: mpsc::Sender<Message>,
    ) -> Self {
        let empty = Published(empty_snapshot(port_count));
        Self {
            captures: Hub::default(),
            series: SeriesPlaces::default(),
            snapshot: watch::Sender::new(Arc::new(empty)),
            xdp,
            inbox,
        }
    }

    /// Returns the latest snapshot.
    pub fn snapshot(&self) -> Arc<Published> {
        Arc::clone(&self.snapshot.borrow())
    }

    /// Returns a snapshot taken after this call began, or the latest one if the dataplane provides none within 100 ms.
    pub async fn fresh_snapshot(&self) -> Arc<Published> {
        let asked = clock::now();
        let mut latest = self.snapshot.subscribe();
        // The messages of a full inbox wake the supervisor, and a closed inbox means that there is nothing newer.
        let closed = matches!(
            self.inbox.try_send(Message::Refresh { asked }),
            Err(mpsc::error::TrySendError::Closed(_))
        );
        if !closed {
            let fresh = latest.wait_for(|snapshot| snapshot.at >= asked);
            if let Ok(Ok(snapshot)) = tokio::time::timeout(FRESH_WAIT, fresh).await {
                return Arc::clone(&snapshot);
            }
        }
        self.snapshot()
    }

    /// Returns a snapshot taken after this call began that has `tables`; `None` if the dataplane provides none within
    /// [`ANSWER_WAIT`].
    pub async fn inspect(&self, tables: Tables) -> Option<Arc<Published>> {
        let (reply, answer) = oneshot::channel();
        let asked = clock::now();
        let inspect = Message::Inspect {
            asked,
            tables,
            reply,
        };
        self.wait_for(inspect, answer).await
    }

    /// Returns a snapshot with the loop's accounts, as [`inspect`](Self::inspect) does.
    pub async fn inspect_accounts(&self) -> Option<Arc<Published>> {
        self.inspect(Tables {
            accounts: true,
            ..Tables::NONE
        })
        .await
    }

    /// Has the dataplane execute `command` and returns its answer; `None` without an answer within [`ANSWER_WAIT`]. The
    /// command may still be executed later.
    pub async fn ask(&self, command: Command) -> Option<Result<(), CommandError>> {
        let (reply, answer) = oneshot::channel();
        self.wait_for(Message::Ask { command, reply }, answer).await
    }

    /// Makes the dataplane copy frames to `tap`, or clears the slot `place`. Returns false when the dataplane cannot be
    /// notified now.
    pub async fn set_tap(&self, place: usize, tap: Option<Arc<Tap>>) -> bool {
        self.tell(Request::Tap { place, tap }).await
    }

    /// Makes the dataplane take readings for `series`, or clears the slot `place`. Returns false when the dataplane cannot
    /// be notified now.
    pub async fn set_series(&self, place: usize, series: Option<Arc<Series>>) -> bool {
        self.tell(Request::Series { place, series }).await
    }

    /// Makes the dataplane forward requests for the addresses of `stations` only to these. Returns false when it cannot
    /// be notified now.
    pub async fn set_stations(&self, stations: Arc<Stations>) -> bool {
        self.tell(Request::Stations(stations)).await
    }

    /// Makes the dataplane apply this impairment, or clears the slot `place`. Returns false when the dataplane cannot be
    /// notified now.
    pub async fn impair(&self, place: usize, impairment: Option<Arc<Impairment>>) -> bool {
        self.tell(Request::Impair { place, impairment }).await
    }

    /// Makes the dataplane copy frames for `mirrors`. Returns false when it cannot be notified now.
    pub async fn set_mirrors(&self, mirrors: Arc<Mirrors>) -> bool {
        self.tell(Request::Mirrors(mirrors)).await
    }

    async fn tell(&self, request: Request) -> bool {
        let (reply, answer) = oneshot::channel();
        self.wait_for(Message::Tell { request, reply }, answer)
            .await
            == Some(true)
    }

    async fn wait_for<T>(&self, message: Message, answer: oneshot::Receiver<T>) -> Option<T> {
        let exchange = async {
            self.inbox.send(message).await.ok()?;
            answer.await.ok()
        };
        tokio::time::timeout(ANSWER_WAIT, exchange).await.ok()?
    }

    /// Replaces the latest snapshot, and returns the old one unless it is being read.
    pub(in crate::control) fn publish(&self, snapshot: Box<Snapshot>) -> Option<Box<Snapshot>> {
        let old = self.snapshot.send_replace(Arc::new(Published(snapshot)));
        Arc::into_inner(old).map(|published| published.0)
    }

    /// Has the supervisor pass `command` on to the dataplane.
    pub async fn command(&self, command: Command) {
        // Fails only once the supervisor has ended, and the dataplane with it.
        let _ = self.inbox.send(Message::Command(command)).await;
    }

    /// Returns the XDP program's frame counts at `port`, by class.
    pub fn xdp_frames(&self, port: PortId) -> Vec<(&'static str, u64)> {
        self.xdp.frames(port)
    }

    /// Returns the XDP program's verdict counts at `port`.
    pub fn xdp_verdicts(&self, port: PortId) -> Vec<(&'static str, u64)> {
        self.xdp.verdicts(port)
    }

    /// Returns the mode in which `port`'s XDP program is attached.
    pub fn xdp_mode(&self, port: PortId) -> Option<&'static str> {
        self.xdp.mode(port)
    }

    /// See [`XdpPrograms::fall_back`].
    pub(in crate::control) fn fall_back(&self, port: PortId) -> anyhow::Result<bool> {
        self.xdp.fall_back(port)
    }

    /// See [`XdpPrograms::take`].
    pub(in crate::control) fn take(&self, port: PortId) -> anyhow::Result<Option<AttachedPort>> {
        self.xdp.take(port)
    }

    /// See [`XdpPrograms::release`].
    pub(in crate::control) fn release(&self, port: PortId) -> anyhow::Result<()> {
        self.xdp.release(port)
    }

    /// See [`XdpPrograms::lldp_socket`].
    pub(in crate::control) fn lldp_socket(&self, port: PortId) -> std::io::Result<OwnedFd> {
        self.xdp.lldp_socket(port)
    }

    /// Changes the settings of the CLCM state machine.
    pub(crate) async fn reconfigure(&self, plane: ControlConfig) {
        // Fails only once the supervisor has ended.
        let _ = self.inbox.send(Message::Reconfigure(plane)).await;
    }

    /// Changes the settings of `port`'s XDP program.
    ///
    /// # Errors
    ///
    /// The kernel's error.
    pub(crate) fn classify(&self, port: PortId, settings: &Port) -> anyhow::Result<()> {
        self.xdp.classify(port, settings)
    }
}

pub(crate) fn empty_snapshot(port_count: usize) -> Box<Snapshot> {
    Box::new(Snapshot {
        ports: vec![PortSnapshot::default(); port_count],
        level_table: LevelTableSnapshot::with_room(LEVEL_ENTRIES_MAX),
        ..Snapshot::default()
    })
}
