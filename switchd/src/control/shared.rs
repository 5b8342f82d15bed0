//! What the supervisor writes and the API and the metrics read. No lock here is held for longer than it
//! takes to move pointers or copy a few numbers, so that no reader delays the supervisor.

use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::sync::{mpsc, oneshot, watch, Notify};
use weir_api::describe::Described;
use weir_config::daemon::Port;
use weir_core::control::neighbours::{AnnouncedPort, Neighbours};
use weir_core::control::{ControlConfig, ControlCounters};
use weir_core::{Command, CommandError, Duration, Instant, PortId};

use super::deadlock_log::DeadlockLog;
use super::event_log::{EventLog, EVENT_CAPACITY};
use super::flight_recorder::FlightRecorder;
use super::history::History;
use super::info::SwitchInfo;
use super::link::XdpPrograms;
use super::supervisor::Message;
use super::{clock, log};
use crate::capture::hub::Hub;
use crate::daemon::Signal;
use crate::dataplane::messages::{LevelTableSnapshot, PortSnapshot, Snapshot, LEVEL_ENTRIES_MAX};
use crate::dataplane::tables::Tables;
use crate::dataplane::tap::Tap;
use crate::keeper::link::Restarted;
use crate::reload::Reloader;

/// How long a reader waits for a snapshot younger than its question.
const FRESH_WAIT: std::time::Duration = std::time::Duration::from_millis(100);

/// How long is waited for an answer of the dataplane.
pub const ANSWER_WAIT: std::time::Duration = std::time::Duration::from_secs(5);

/// What the daemon is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It forwards.
    Running,
    /// It admits no more frames and sends what is buffered.
    Draining,
    /// It ends: whoever waits for something stops waiting.
    Ending,
}

/// What a keeper makes possible.
struct Restart {
    signals: mpsc::Sender<Signal>,
    restarted: Option<Restarted>,
}

/// The latest snapshot, shared by its readers.
#[derive(Debug)]
pub struct Published(pub(super) Box<Snapshot>);

impl Deref for Published {
    type Target = Snapshot;
    fn deref(&self) -> &Snapshot {
        &self.0
    }
}

/// Figures of the control plane.
#[derive(Clone, Copy, Debug, Default)]
pub struct ControlFigures {
    /// Of the CLCM state machine.
    pub clcm: ControlCounters,
    /// Commands that the dataplane could not take in time.
    pub commands_lost: u64,
}

/// The control plane's state for its readers.
pub struct Shared {
    /// Names and settings.
    pub info: SwitchInfo,
    /// When forwarding began.
    pub began: Instant,
    /// What happened.
    pub events: EventLog,
    /// Samples.
    pub history: History,
    /// Who captures frames.
    pub captures: Hub,
    deadlocks: Mutex<DeadlockLog>,
    flights: Mutex<FlightRecorder>,
    neighbours: Mutex<Neighbours>,
    lldp_due: Notify,
    figures: Mutex<ControlFigures>,
    snapshot: watch::Sender<Arc<Published>>,
    stage: watch::Sender<Stage>,
    links: Vec<AtomicBool>,
    gone: Vec<AtomicBool>,
    xdp: Box<dyn XdpPrograms>,
    reloader: OnceLock<Reloader>,
    restart: OnceLock<Restart>,
    inbox: mpsc::Sender<Message>,
}

impl Shared {
    pub(super) fn new(
        info: SwitchInfo,
        history: History,
        flights: FlightRecorder,
        neighbours: Neighbours,
        xdp: Box<dyn XdpPrograms>,
        inbox: mpsc::Sender<Message>,
    ) -> Self {
        let empty = empty_snapshot(info.ports.len());
        Self {
            began: clock::now(),
            events: EventLog::new(EVENT_CAPACITY),
            history,
            captures: Hub::default(),
            deadlocks: Mutex::default(),
            flights: Mutex::new(flights),
            neighbours: Mutex::new(neighbours),
            lldp_due: Notify::new(),
            figures: Mutex::default(),
            snapshot: watch::Sender::new(Arc::new(Published(empty))),
            stage: watch::Sender::new(Stage::Running),
            gone: info.ports.iter().map(|_| AtomicBool::new(false)).collect(),
            links: info.ports.iter().map(|_| AtomicBool::new(true)).collect(),
            info,
            xdp,
            reloader: OnceLock::new(),
            restart: OnceLock::new(),
            inbox,
        }
    }

    /// The latest snapshot.
    pub fn snapshot(&self) -> Arc<Published> {
        Arc::clone(&self.snapshot.borrow())
    }

    /// A snapshot taken after this call began; the latest one when the dataplane does not give one
    /// within 100 ms.
    pub async fn fresh_snapshot(&self) -> Arc<Published> {
        let asked = clock::now();
        let mut latest = self.snapshot.subscribe();
        // A full inbox is woken by what fills it, and a closed one means that there is nothing newer.
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

    /// A snapshot taken after this call began that has `tables`; `None` when the dataplane does not give one
    /// within [`ANSWER_WAIT`].
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

    /// Has the dataplane do `command`, and gives its answer; `None` when there is none within
    /// [`ANSWER_WAIT`]. It may be done still.
    pub async fn ask(&self, command: Command) -> Option<Result<(), CommandError>> {
        let (reply, answer) = oneshot::channel();
        self.wait_for(Message::Ask { command, reply }, answer).await
    }

    /// Has the dataplane show frames to `tap` from now on, or to none any more at `place`. False when it cannot
    /// be told so now.
    pub async fn set_tap(&self, place: usize, tap: Option<Arc<Tap>>) -> bool {
        let (reply, answer) = oneshot::channel();
        let message = Message::Tap { place, tap, reply };
        self.wait_for(message, answer).await == Some(true)
    }

    async fn wait_for<T>(&self, message: Message, answer: oneshot::Receiver<T>) -> Option<T> {
        let exchange = async {
            self.inbox.send(message).await.ok()?;
            answer.await.ok()
        };
        tokio::time::timeout(ANSWER_WAIT, exchange).await.ok()?
    }

    /// Puts `snapshot` in the place of the latest one, and gives that back unless someone reads it.
    pub(super) fn publish(&self, snapshot: Box<Snapshot>) -> Option<Box<Snapshot>> {
        let old = self.snapshot.send_replace(Arc::new(Published(snapshot)));
        Arc::into_inner(old).map(|published| published.0)
    }

    /// Suspicions, lasting and past.
    pub fn deadlocks(&self) -> MutexGuard<'_, DeadlockLog> {
        lock(&self.deadlocks)
    }

    /// Records of suspicions.
    pub fn flights(&self) -> MutexGuard<'_, FlightRecorder> {
        lock(&self.flights)
    }

    /// Who is at the other end of the links.
    pub fn neighbours(&self) -> MutexGuard<'_, Neighbours> {
        lock(&self.neighbours)
    }

    /// Figures of the control plane.
    pub fn figures(&self) -> ControlFigures {
        *lock(&self.figures)
    }

    pub(super) fn set_figures(&self, figures: ControlFigures) {
        *lock(&self.figures) = figures;
    }

    /// What the daemon is doing.
    pub fn stage(&self) -> Stage {
        *self.stage.borrow()
    }

    /// Moves on to `stage`; draining is recorded as an event.
    pub fn set_stage(&self, stage: Stage) {
        self.stage.send_replace(stage);
        if stage == Stage::Draining {
            self.record(Described::new(clock::now(), "draining"));
        }
    }

    /// Waits until the daemon ends.
    pub async fn ending(&self) {
        let mut stage = self.stage.subscribe();
        let _ = stage.wait_for(|stage| *stage == Stage::Ending).await;
    }

    /// True when the port's device is up and has carrier.
    pub fn link_up(&self, port: PortId) -> bool {
        self.links
            .get(port.index())
            .is_some_and(|up| up.load(Ordering::Relaxed))
    }

    /// True while a port's device is there, and is down or has no carrier.
    pub fn any_link_down(&self) -> bool {
        let mut links = self.links.iter().zip(&self.gone);
        links.any(|(up, gone)| !up.load(Ordering::Relaxed) && !gone.load(Ordering::Relaxed))
    }

    /// True when the port's device is gone, for as long as the daemon runs.
    pub fn is_gone(&self, port: PortId) -> bool {
        self.gone
            .get(port.index())
            .is_some_and(|gone| gone.load(Ordering::Relaxed))
    }

    /// Takes note that the port's device is gone, and has the dataplane give the port up.
    pub async fn set_gone(&self, port: PortId) {
        let Some(known) = self.gone.get(port.index()) else {
            return;
        };
        if !known.swap(true, Ordering::Relaxed) {
            self.set_link(port, false).await;
            self.record(Described {
                port: Some(self.info.port_name(port)),
                ..Described::new(clock::now(), "device_gone")
            });
            self.command(Command::DeviceGone { port }).await;
        }
    }

    /// Takes note of a link's state and tells the dataplane when it changed.
    pub async fn set_link(&self, port: PortId, up: bool) {
        let Some(known) = self.links.get(port.index()) else {
            return;
        };
        if known.swap(up, Ordering::Relaxed) != up {
            self.record(Described {
                port: Some(self.info.port_name(port)),
                ..Described::new(clock::now(), if up { "link_up" } else { "link_down" })
            });
            self.neighbours().set_link(clock::now(), port, up);
            self.lldp_due.notify_one();
            self.command(Command::SetLink { port, up }).await;
        }
    }

    /// Waits until a link has gone up or down, or something else is announced, since the last call. For one caller.
    pub(super) async fn lldp_due(&self) {
        self.lldp_due.notified().await;
    }

    /// Has the supervisor pass `command` on to the dataplane.
    pub async fn command(&self, command: Command) {
        // Fails only once the supervisor has ended, and with it the dataplane.
        let _ = self.inbox.send(Message::Command(command)).await;
    }

    /// What the XDP program has counted at `port`, by class.
    pub fn xdp_frames(&self, port: PortId) -> Vec<(&'static str, u64)> {
        self.xdp.frames(port)
    }

    /// What reads the configuration file again; `None` where there is no file.
    pub fn reloader(&self) -> Option<&Reloader> {
        self.reloader.get()
    }

    /// Sets it, once.
    pub fn set_reloader(&self, reloader: Reloader) {
        // Only the first counts.
        let _ = self.reloader.set(reloader);
    }

    /// A keeper can start the daemon anew: where it is asked, and what the restart took that this one came of.
    pub fn set_restartable(&self, signals: mpsc::Sender<Signal>, restarted: Option<Restarted>) {
        // Only the first counts.
        let _ = self.restart.set(Restart { signals, restarted });
    }

    /// Where a restart is asked for; `None` without a keeper.
    pub fn restart_signals(&self) -> Option<&mpsc::Sender<Signal>> {
        self.restart.get().map(|restart| &restart.signals)
    }

    /// The restart that this daemon came of.
    pub fn restarted(&self) -> Option<Restarted> {
        self.restart.get().and_then(|restart| restart.restarted)
    }

    /// Has the CLCM state machine go by other settings.
    pub(crate) async fn reconfigure(&self, plane: ControlConfig) {
        // Fails only once the supervisor has ended.
        let _ = self.inbox.send(Message::Reconfigure(plane)).await;
    }

    /// Has `port`'s XDP program go by other settings.
    ///
    /// # Errors
    ///
    /// What the kernel says.
    pub(crate) fn classify(&self, port: PortId, settings: &Port) -> anyhow::Result<()> {
        self.xdp.classify(port, settings)
    }

    /// Announces this by LLDP from now on, by port.
    pub(crate) fn announce(&self, ports: Vec<AnnouncedPort>) {
        let mut neighbours = self.neighbours();
        for (index, port) in ports.into_iter().enumerate() {
            if let Some(id) = PortId::from_index(index) {
                neighbours.announce(clock::now(), id, port.announcement);
            }
        }
        drop(neighbours);
        self.lldp_due.notify_one();
    }

    /// Time since forwarding began.
    pub fn uptime(&self) -> Duration {
        clock::now().saturating_since(self.began)
    }

    /// Writes to the log and adds to the event log and the records of suspicions.
    pub fn record(&self, described: Described) {
        log::event(&described);
        let event = self.events.push(described);
        self.flights().note(&event);
    }
}

/// A snapshot with room for `port_count` ports and a Level Table.
pub(super) fn empty_snapshot(port_count: usize) -> Box<Snapshot> {
    Box::new(Snapshot {
        ports: vec![PortSnapshot::default(); port_count],
        level_table: LevelTableSnapshot::with_room(LEVEL_ENTRIES_MAX),
        ..Snapshot::default()
    })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
