//! The supervisor connects the dataplane to all other code: it drains the dataplane's reports, drives the CLCM state
//! machine, and keeps the API's data.
//!
//! It runs alone on its thread and never blocks, so that no request of the API delays a CLCM.

mod reconcile;
mod snapshots;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration as StdDuration;

use crossbeam::channel::TryRecvError;
use tokio::sync::{mpsc, oneshot};
use tokio::time::MissedTickBehavior;
use weir_api::describe;
use weir_core::control::{ControlConfig, ControlPlane, Report};
use weir_core::event::EventKind;
use weir_core::{Command, CommandError, Event, Instant};
use weir_dataplane::link::DataplaneLink;
use weir_dataplane::messages::{Answer, Request, Snapshot};
use weir_dataplane::tables::Tables;

use crate::control::shared::{ControlFigures, Published, Shared};
use crate::control::waitable::Waitable;
use crate::model::clock;
use snapshots::SPARE_SNAPSHOTS;

/// Maximum number of commands that wait for room in the dataplane's queue.
const PENDING_CAPACITY: usize = 1_024;
/// Maximum number of events taken at a time, so that timeouts and requests get their turn under a flood.
const EVENTS_PER_ROUND: usize = 1_024;
/// Retry interval for a full dataplane queue.
const RETRY: StdDuration = StdDuration::from_millis(1);

/// Maximum number of requests that wait for an answer of the dataplane, and of those that wait for a snapshot with tables.
const WAITING_MAX: usize = 64;

#[derive(Debug)]
#[allow(clippy::large_enum_variant)] // messages are few and live in a bounded queue
pub(super) enum Message {
    /// Publish a snapshot taken at `asked` or later.
    Refresh { asked: Instant },
    /// Send a snapshot taken at `asked` or later that has these tables.
    Inspect {
        asked: Instant,
        tables: Tables,
        reply: oneshot::Sender<Arc<Published>>,
    },
    /// Change the settings of the CLCM state machine.
    Reconfigure(ControlConfig),
    /// Pass a command on to the dataplane.
    Command(Command),
    /// Pass on a request that the dataplane does not answer.
    Tell {
        request: Request,
        /// Reports whether it could be forwarded.
        reply: oneshot::Sender<bool>,
    },
    /// Pass a command on to the dataplane and report the result.
    Ask {
        command: Command,
        reply: oneshot::Sender<Result<(), CommandError>>,
    },
}

/// Reason for which the supervisor ended.
#[derive(Debug, thiserror::Error)]
pub enum SupervisorError {
    /// The eventfd cannot be waited for.
    #[error("cannot wait for the dataplane's events: {0}")]
    Notify(std::io::Error),
    /// The runtime of the control thread cannot be created.
    #[error("cannot start the control thread: {0}")]
    Thread(std::io::Error),
    /// The dataplane thread ended by itself.
    #[error("the dataplane thread ended unexpectedly")]
    DataplaneGone,
}

struct Inspector {
    asked: Instant,
    tables: Tables,
    reply: oneshot::Sender<Arc<Published>>,
}

pub(super) struct Supervisor {
    shared: Arc<Shared>,
    plane: ControlPlane,
    link: DataplaneLink,
    inbox: mpsc::Receiver<Message>,
    /// Commands, numbered if a requester waits.
    pending: VecDeque<(Command, Option<u64>)>,
    /// Requesters that wait for the dataplane's answers, by number.
    askers: VecDeque<(u64, oneshot::Sender<Result<(), CommandError>>)>,
    last_ask: u64,
    inspectors: Vec<Inspector>,
    figures: ControlFigures,
    #[allow(clippy::vec_box)] // the boxes themselves go to the dataplane and come back
    spare: Vec<Box<Snapshot>>,
    in_flight: bool,
    refresh_asked: Option<Instant>,
    sample_due: bool,
    /// Time of the flight recorder's next sample; `None` when nothing is recorded.
    flight_next: Option<Instant>,
    flight_due: bool,
    /// Time at which a snapshot is to end an interval of peaks for telemetry; `None` while one is
    /// on its way.
    peaks_next: Option<Instant>,
    events_lost: u64,
    more_events: bool,
    /// History not yet written, oldest first: a round's events and their consequences.
    unwritten: Vec<Happened>,
}

/// Entries of the history.
#[allow(clippy::large_enum_variant)] // mostly these are events
enum Happened {
    Event(Event),
    Report(Report),
}

impl Supervisor {
    pub(super) fn new(
        shared: Arc<Shared>,
        plane: ControlPlane,
        link: DataplaneLink,
        inbox: mpsc::Receiver<Message>,
    ) -> Self {
        let now = clock::now();
        let flight_next = shared.records.flights().interval(now).map(|_| now);
        let peaks_next = shared.records.watermarks().due();
        Self {
            shared,
            plane,
            link,
            inbox,
            pending: VecDeque::with_capacity(PENDING_CAPACITY),
            askers: VecDeque::new(),
            last_ask: 0,
            inspectors: Vec::new(),
            figures: ControlFigures::default(),
            spare: Vec::with_capacity(SPARE_SNAPSHOTS),
            in_flight: false,
            refresh_asked: None,
            sample_due: false,
            flight_next,
            flight_due: false,
            peaks_next: Some(peaks_next),
            events_lost: 0,
            more_events: false,
            unwritten: Vec::new(),
        }
    }

    /// Runs until the dataplane is gone or the daemon ends.
    pub(super) async fn run(mut self) -> Result<(), SupervisorError> {
        let notify = self
            .link
            .notify
            .try_clone()
            .map_err(SupervisorError::Notify)?;
        let notify = Waitable::new(notify).map_err(SupervisorError::Notify)?;
        let mut count = [0u8; 8];
        let shared = Arc::clone(&self.shared);
        let ending = shared.life.ending();
        tokio::pin!(ending);
        let interval =
            StdDuration::from_nanos(shared.records.history.interval().as_nanos().max(1_000_000));
        let mut sampling = tokio::time::interval(interval);
        sampling.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let mut inbox_open = true;
        loop {
            let wake = self.wake_after();
            tokio::select! {
                () = &mut ending => return Ok(()),
                // Reading an eventfd resets it to zero.
                read = notify.read(&mut count) => {
                    read.map_err(SupervisorError::Notify)?;
                }
                message = self.inbox.recv(), if inbox_open => match message {
                    Some(message) => self.handle(message),
                    None => inbox_open = false,
                },
                _ = sampling.tick() => {
                    self.sample_due = true;
                    self.request_snapshot();
                }
                () = sleep(wake), if wake.is_some() => {}
            }
            self.round()?;
        }
    }

    fn handle(&mut self, message: Message) {
        match message {
            Message::Refresh { asked } => {
                self.refresh_asked = self.refresh_asked.max(Some(asked));
                self.request_snapshot();
            }
            Message::Inspect {
                asked,
                tables,
                reply,
            } => {
                // Otherwise the closed channel reports it.
                if self.inspectors.len() < WAITING_MAX {
                    self.inspectors.push(Inspector {
                        asked,
                        tables,
                        reply,
                    });
                    self.request_snapshot();
                }
            }
            Message::Reconfigure(config) => self.plane.reconfigure(config),
            Message::Command(command) => {
                if let Command::SetLink { port, up: false } = command {
                    self.plane.forget_neighbour(port);
                }
                self.pend(command, None);
            }
            Message::Tell { request, reply } => {
                let told = self.link.requests.try_send(request);
                // The requester may have gone.
                let _ = reply.send(told.is_ok());
            }
            Message::Ask { command, reply } => {
                if self.askers.len() < WAITING_MAX {
                    self.last_ask += 1;
                    let id = self.last_ask;
                    if self.pend(command, Some(id)) {
                        self.askers.push_back((id, reply));
                    }
                }
            }
        }
    }

    /// Processes all pending messages, lets the state machine answer, and sends its results.
    fn round(&mut self) -> Result<(), SupervisorError> {
        // The snapshot first: all earlier events are in the event queue by now.
        let snapshot = self.link.snapshots.try_recv();
        self.more_events = true;
        for _ in 0..EVENTS_PER_ROUND {
            match self.link.events.try_recv() {
                Ok(event) => self.take_event(&event),
                Err(TryRecvError::Empty) => {
                    self.more_events = false;
                    break;
                }
                Err(TryRecvError::Disconnected) => return Err(SupervisorError::DataplaneGone),
            }
        }
        self.write_down();
        match snapshot {
            Ok(snapshot) => {
                self.take_snapshot(snapshot);
                self.more_events = true;
            }
            Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => return Err(SupervisorError::DataplaneGone),
        }
        while let Ok(answer) = self.link.answers.try_recv() {
            self.take_answer(answer);
        }
        let now = clock::now();
        if self.plane.has_stalls() {
            self.learn_neighbours(now);
            self.drain_plane();
        }
        if self.plane.next_timeout().is_some_and(|due| due <= now) {
            self.plane.handle_timeout(now);
            self.drain_plane();
        }
        self.send_pending();
        self.write_down();
        self.ask_for_flight_sample(now);
        if self.peaks_next.is_some_and(|due| due <= now) {
            self.peaks_next = None;
            self.request_snapshot();
        }
        self.figures.clcm = *self.plane.counters();
        self.shared.records.set_figures(self.figures);
        Ok(())
    }

    /// Passes an event to the state machine, and its results to the dataplane. The history is written later, since a log or
    /// a reader's lock must not delay a CLCM.
    fn take_event(&mut self, event: &Event) {
        if matches!(event.kind, EventKind::PauseStalled { .. }) {
            // The verdict depends on the neighbours.
            self.learn_neighbours(event.at);
        }
        self.plane.handle_event(event);
        self.unwritten.push(Happened::Event(*event));
        self.drain_plane();
    }

    fn write_down(&mut self) {
        let mut unwritten = std::mem::take(&mut self.unwritten);
        for happened in unwritten.drain(..) {
            let shared = &self.shared;
            let name = |port| shared.info.port_name(port);
            let described = match &happened {
                Happened::Event(event) => {
                    shared.records.deadlocks().note_event(&shared.info, event);
                    describe::event(&name, event)
                }
                Happened::Report(report) => {
                    shared.records.deadlocks().note_report(report);
                    describe::report(&name, report)
                }
            };
            if let Happened::Event(event) = &happened {
                self.note_flight(event);
            }
            self.shared.records.record(described);
        }
        self.unwritten = unwritten;
    }

    /// Passes LLDP's findings about the neighbours to the state machine, which needs them to tell storms from other stalls.
    fn learn_neighbours(&mut self, now: Instant) {
        let neighbours = self.shared.links.neighbours();
        for (port, _) in self.shared.info.numbered_ports() {
            let neighbour = neighbours.storm_neighbour(port);
            self.plane.set_storm_neighbour(now, port, neighbour);
        }
    }

    fn note_flight(&mut self, event: &Event) {
        match event.kind {
            EventKind::Suspected {
                egress, priority, ..
            } => {
                let id = self.shared.records.deadlocks().current_id(egress, priority);
                let mut flights = self.shared.records.flights();
                // It may be a new suspicion whose predecessor's end was lost.
                flights.end(egress, priority, event.at);
                if let Some(id) = id {
                    flights.begin(id, egress, priority, event.at);
                }
                // Take its first sample at once.
                self.flight_next = self.flight_next.map(|_| event.at);
            }
            EventKind::SuspicionEnded {
                egress, priority, ..
            } => {
                self.shared
                    .records
                    .flights()
                    .end(egress, priority, event.at);
                self.flight_next = self.flight_next.map(|_| event.at);
            }
            _ => {}
        }
    }

    fn ask_for_flight_sample(&mut self, now: Instant) {
        if self.flight_next.is_none_or(|due| due > now) {
            return;
        }
        self.flight_next = self
            .shared
            .records
            .flights()
            .interval(now)
            .map(|span| now + span);
        self.flight_due = true;
        self.request_snapshot();
    }

    fn drain_plane(&mut self) {
        while let Some(command) = self.plane.poll_command() {
            self.pend(command, None);
        }
        self.send_pending();
        while let Some(report) = self.plane.poll_report() {
            self.unwritten.push(Happened::Report(report));
        }
    }

    /// Returns false when there is no room for it.
    fn pend(&mut self, command: Command, ask: Option<u64>) -> bool {
        let has_room = self.pending.len() < PENDING_CAPACITY;
        if has_room {
            self.pending.push_back((command, ask));
        } else {
            self.figures.commands_lost += 1;
        }
        has_room
    }

    fn send_pending(&mut self) {
        while let Some((command, ask)) = self.pending.front() {
            let command = *command;
            let request = match *ask {
                Some(id) => Request::Ask { id, command },
                None => Request::Command(command),
            };
            if self.link.requests.try_send(request).is_err() {
                return;
            }
            self.pending.pop_front();
        }
    }

    /// Passes an answer to its requester. A lost answer closes its channel.
    fn take_answer(&mut self, answer: Answer) {
        let settled = self.askers.partition_point(|(id, _)| *id <= answer.id);
        for (id, reply) in self.askers.drain(..settled) {
            if id == answer.id {
                // The requester may have gone.
                let _ = reply.send(answer.outcome);
            }
        }
    }

    /// Returns the time until a round is due without any event.
    fn wake_after(&self) -> Option<StdDuration> {
        if self.more_events {
            return Some(StdDuration::ZERO);
        }
        let due = [self.plane.next_timeout(), self.flight_next, self.peaks_next];
        let timeout = due
            .into_iter()
            .flatten()
            .min()
            .map(|due| StdDuration::from_nanos(due.saturating_since(clock::now()).as_nanos()));
        let retry = (!self.pending.is_empty()).then_some(RETRY);
        [timeout, retry].into_iter().flatten().min()
    }
}

async fn sleep(wake: Option<StdDuration>) {
    match wake {
        Some(StdDuration::ZERO) => tokio::task::yield_now().await,
        Some(span) => tokio::time::sleep(span).await,
        None => std::future::pending().await,
    }
}
