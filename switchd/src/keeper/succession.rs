//! Succession of switches: the first process, the next one after each restart, and the previous one if the next fails.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use anyhow::Context;
use nix::sys::signal::Signal;
use tokio::sync::mpsc;

use super::holding::Holding;
use super::link::{FromKeeper, ToKeeper};
use super::next::{Next, Refused};
use super::worker::{Way, Worker};
use super::Caught;
use crate::cli::{Kept, EXIT_AGAIN, EXIT_FAILURE};

/// Time for a next switch that takes over to begin to forward. The previous one may take longer, since there is no
/// alternative.
const START_WAIT: Duration = Duration::from_secs(120);
/// A next switch that fails within this time after it has begun to forward is replaced by the
/// previous one.
const PROBATION: Duration = Duration::from_secs(10);
/// Time for a switch that has handed over to end.
const PARTING_WAIT: Duration = Duration::from_secs(5);
/// Maximum number of attempts to start the previous switch.
const TRIES: u32 = 10;
const TRY_AGAIN: Duration = Duration::from_secs(1);
/// A shell reports a process ended by a signal as this plus the signal's number.
const SIGNALLED: i32 = 128;

pub(super) struct Succession<'a> {
    program: &'a Path,
    arguments: &'a [OsString],
    worker: Worker,
    stage: Stage,
    next: Next,
    /// A process that has handed over, and its deadline for ending.
    parting: Option<(Worker, Instant)>,
    holding: Holding,
    way_back: Option<Way>,
    /// Reason for which the next switch failed.
    failed: Option<String>,
    /// Attempts to start the previous switch since then.
    tries: u32,
    is_stopping: bool,
    /// Set if the switch was killed while the next one was being prepared, which may then take over.
    orphaned: Option<ExitStatus>,
}

/// Progress of the current switch process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    First,
    /// It took over at this time and does not forward yet.
    Starting(Instant),
    /// It replaced another switch, and forwards since this time.
    Forwarding(Instant),
}

/// Outcome of a process that was the switch.
#[derive(Debug)]
enum End {
    /// It has handed over to the next switch, and still has to end.
    GivesPlace,
    Ended(ExitStatus),
    /// It cannot be the switch.
    Unable(String),
}

impl<'a> Succession<'a> {
    pub(super) fn begin(program: &'a Path, arguments: &'a [OsString]) -> anyhow::Result<Self> {
        let worker = Worker::start(program, arguments, Kept::First)
            .with_context(|| format!("cannot start {}", program.display()))?;
        Ok(Self {
            program,
            arguments,
            worker,
            stage: Stage::First,
            next: Next::default(),
            parting: None,
            holding: Holding::default(),
            way_back: None,
            failed: None,
            tries: 0,
            is_stopping: false,
            orphaned: None,
        })
    }

    /// Runs until the last switch has ended; returns its exit status.
    pub(super) async fn run(mut self, mut signals: mpsc::Receiver<Caught>) -> anyhow::Result<u8> {
        loop {
            let end = self.watch(&mut signals).await?;
            let has_failed =
                self.is_starting() || (self.has_failed_soon(&end) && !self.next.is_ready());
            if has_failed && !self.is_stopping {
                if let Some(way) = self.way_back.clone() {
                    let why = match &end {
                        End::Unable(why) => why.clone(),
                        End::Ended(status) => told(*status),
                        End::GivesPlace => "it gave its place at once".to_owned(),
                    };
                    if self.go_back(&way, why).await {
                        continue;
                    }
                }
            }
            match end {
                End::Ended(status) if self.is_at_its_end(status) => {
                    tell_of(status);
                    return Ok(exit_code(status));
                }
                End::Unable(_) => return Ok(EXIT_FAILURE),
                End::Ended(_) => self.succeed(false).await,
                End::GivesPlace => self.succeed(true).await,
            }
        }
    }

    fn is_starting(&self) -> bool {
        matches!(self.stage, Stage::Starting(_))
    }

    fn has_failed_soon(&self, end: &End) -> bool {
        match (self.stage, end) {
            (Stage::Forwarding(since), End::Ended(status)) => {
                has_failed(*status) && since.elapsed() < PROBATION
            }
            _ => false,
        }
    }

    /// Returns true if no other switch is to follow after this exit status.
    fn is_at_its_end(&self, status: ExitStatus) -> bool {
        let is_asked = status.code() == Some(EXIT_AGAIN.into());
        // It failed, and another one is ready to take over.
        let is_replaced = has_failed(status) && self.next.is_ready();
        self.is_stopping || !(is_asked || is_replaced)
    }

    /// Lets the next switch take over from a process that, if `is_parting`, still has to end.
    async fn succeed(&mut self, is_parting: bool) {
        let next = match self.next.take() {
            Some(mut next) => {
                tracing::info!("restarting the switch: the next one is ready");
                next.tell(&FromKeeper::Go).await.map(|()| next)
            }
            None => {
                tracing::info!("restarting the switch");
                Worker::start(self.program, self.arguments, Kept::Again)
            }
        };
        self.orphaned = None;
        self.stage = Stage::Starting(Instant::now());
        match next {
            Ok(next) => {
                let before = std::mem::replace(&mut self.worker, next);
                self.parting = is_parting.then(|| (before, Instant::now() + PARTING_WAIT));
            }
            // The previous switch has ended or is ending; watching it leads back to it.
            Err(error) => self.failed = Some(format!("cannot start the next switch: {error}")),
        }
    }

    /// Starts the previous switch to replace a failed one; returns false after the maximum number of attempts.
    async fn go_back(&mut self, way: &Way, why: String) -> bool {
        self.end_parting();
        self.next.end();
        while self.tries < TRIES {
            if self.tries > 0 {
                tokio::time::sleep(TRY_AGAIN).await;
            }
            self.tries += 1;
            let why = self.failed.get_or_insert_with(|| why.clone());
            tracing::error!(%why, attempt = self.tries, "the next switch failed; starting the previous one");
            match way.start() {
                Ok(worker) => {
                    // A failed switch has nothing left to lose, and must end before its devices can be used.
                    std::mem::replace(&mut self.worker, worker).kill();
                    self.stage = Stage::Starting(Instant::now());
                    return true;
                }
                Err(error) => tracing::error!(%error, "cannot start the previous switch"),
            }
        }
        tracing::error!("the previous switch does not start either; the keeper ends");
        false
    }

    /// Ends a process that has handed over, and with it everything that could be lost.
    fn end_parting(&mut self) {
        if let Some((parting, _)) = self.parting.take() {
            parting.kill();
        }
    }

    /// Waits until the switch's process has ended, has handed over, or cannot be the switch.
    async fn watch(&mut self, signals: &mut mpsc::Receiver<Caught>) -> anyhow::Result<End> {
        loop {
            if let Some(why) = self
                .failed
                .clone()
                .filter(|_| self.is_starting() && self.tries == 0)
            {
                return Ok(End::Unable(why));
            }
            let held_until = self.holding.deadline();
            let parting_until = self.parting.as_ref().map(|(_, until)| *until);
            let started_until = self.start_deadline();
            tokio::select! {
                caught = signals.recv() => match caught {
                    Some(Caught::Child) => if let Some(end) = self.look().await? {
                        return Ok(end);
                    },
                    Some(Caught::Other(signal)) => {
                        self.is_stopping |= signal != Signal::SIGHUP;
                        self.worker.signal(signal);
                    }
                    None => anyhow::bail!("signal channel closed"),
                },
                message = self.worker.message() => match message {
                    Ok(ToKeeper::PlaceFree) if self.next.is_ready() => return Ok(End::GivesPlace),
                    Ok(ToKeeper::Unready { why }) if self.is_starting() && self.way_back.is_some() => {
                        return Ok(End::Unable(why));
                    }
                    Ok(message) => if let Some(answer) = self.answer(message) {
                        self.worker.tell(&answer).await?;
                    },
                    // The switch forwards nevertheless.
                    Err(error) => tracing::error!(%error, "discarding an unexpected message from the switch"),
                },
                outcome = self.next.becomes() => match (self.orphaned.take(), outcome) {
                    (None, outcome) => self.worker.tell(&prepared(outcome)).await?,
                    (Some(status), _) => return Ok(End::Ended(status)),
                },
                () = until(held_until) => self.holding.give_up(),
                () = until(parting_until) => self.end_parting(),
                () = until(started_until) => {
                    return Ok(End::Unable(format!("not ready after {} s", START_WAIT.as_secs())));
                }
            }
        }
    }

    /// Returns the deadline of a starting process. The previous switch has none.
    fn start_deadline(&self) -> Option<Instant> {
        match self.stage {
            Stage::Starting(since) if self.failed.is_none() => Some(since + START_WAIT),
            _ => None,
        }
    }

    /// Checks the processes after one has ended.
    async fn look(&mut self) -> anyhow::Result<Option<End>> {
        if self.orphaned.is_none() {
            if let Some(status) = self.worker.ended()? {
                // It was killed without a request, and another one will be ready soon.
                let may_be_replaced = status.signal().is_some() && self.next.is_making();
                if !may_be_replaced || self.is_stopping {
                    return Ok(Some(End::Ended(status)));
                }
                self.orphaned = Some(status);
            }
        }
        if let Some((parting, _)) = &mut self.parting {
            if parting.ended()?.is_some() {
                self.parting = None;
            }
        }
        if let Some(refused) = self.next.look() {
            if let Some(status) = self.orphaned.take() {
                return Ok(Some(End::Ended(status)));
            }
            self.worker.tell(&prepared(Err(refused))).await?;
        }
        Ok(None)
    }

    fn answer(&mut self, message: ToKeeper) -> Option<FromKeeper> {
        match message {
            ToKeeper::Prepare => match self.next.start(self.program, self.arguments) {
                Ok(()) => None,
                Err(refused) => Some(prepared(Err(refused))),
            },
            ToKeeper::Way { in_force } => {
                self.note_way(&in_force);
                None
            }
            ToKeeper::Discard => {
                self.next.end();
                Some(FromKeeper::Discarded)
            }
            // The next switch is only being prepared; without one, nothing changes until the process has ended.
            ToKeeper::Prepared | ToKeeper::Unready { .. } | ToKeeper::PlaceFree => None,
            ToKeeper::Hold { links } => Some(match self.holding.begin(links) {
                Ok(()) => FromKeeper::Held,
                Err(error) => FromKeeper::NotHeld {
                    why: error.to_string(),
                },
            }),
            ToKeeper::Left { frames, missed } => {
                self.holding.note_left(frames, missed);
                None
            }
            ToKeeper::Resume { resumed } => Some(self.holding.release(&resumed, None)),
            ToKeeper::Ready { .. } if self.stage == Stage::First => None,
            ToKeeper::Ready { resumed } => {
                self.stage = Stage::Forwarding(Instant::now());
                self.tries = 0;
                let failed = self.failed.take();
                if failed.is_some() {
                    // This is the previous switch; there is no alternative.
                    self.way_back = None;
                }
                Some(self.holding.release(&resumed, failed))
            }
        }
    }

    fn note_way(&mut self, in_force: &Path) {
        self.way_back = self.worker.way_back(in_force);
        if self.way_back.is_none() {
            tracing::warn!("cannot open the program file of the switch: if a restart fails, no switch will run");
        }
    }
}

/// Builds the message to a switch about the next one.
fn prepared(outcome: Result<(), Refused>) -> FromKeeper {
    let refused = outcome.err();
    FromKeeper::Prepared { refused }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
        None => std::future::pending().await,
    }
}

/// Returns true if it ended without a request.
fn has_failed(status: ExitStatus) -> bool {
    status.signal().is_some() || status.code() == Some(EXIT_FAILURE.into())
}

/// Describes the end of a process that was to be the switch.
fn told(status: ExitStatus) -> String {
    match status.signal() {
        Some(libc::SIGKILL) => "it was killed".to_owned(),
        Some(signal) => format!("it was ended by signal {signal}"),
        None => format!("it ended with {status}; see its log"),
    }
}

/// Reports a killed process, which cannot do so itself.
fn tell_of(status: ExitStatus) {
    if let Some(signal) = status.signal() {
        let hint = match signal {
            libc::SIGKILL => {
                "; without a `kill -9`, the kernel did it because memory was short: see `dmesg`"
            }
            _ => "",
        };
        tracing::error!(
            signal,
            "the switch was killed; its keeper ends with it{hint}"
        );
    }
}

fn exit_code(status: ExitStatus) -> u8 {
    let code = status
        .code()
        .or_else(|| status.signal().map(|signal| SIGNALLED + signal));
    code.and_then(|code| u8::try_from(code).ok())
        .unwrap_or(EXIT_FAILURE)
}
