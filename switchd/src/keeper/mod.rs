//! The keeper: a small process that outlives the switch's, so that this can be replaced and nothing lossless is lost.
//!
//! `weir-switchd --keeper` starts itself once more without that option: that process is the switch. When the switch is to
//! be restarted, it first has the keeper start the program that is installed by then, which makes ready what needs no port; then
//! it has the keeper hold its neighbours, sends what it has buffered, and ends. The next one takes its place; the keeper holds the
//! neighbours until that forwards, and lets them go on. The keeper reads nothing but what the switches tell it, and gives its own
//! signals to the one that runs.

pub mod frames;
pub mod hold;
pub mod link;
mod next;
mod worker;

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use anyhow::Context;
use nix::sys::signal::Signal;
use tokio::signal::unix::{signal, SignalKind};
use tokio::sync::mpsc;

use crate::cli::{Kept, EXIT_AGAIN, EXIT_FAILURE};
use hold::Hold;
use link::{FromKeeper, ResumedLink, ToKeeper};
use next::{Next, Refused};
use worker::Worker;

/// Neighbours are held for so long at most: a switch that does not come back must not stop the network.
const HOLD_MAX: Duration = Duration::from_secs(20);
/// Signals that wait to be passed on at most.
const SIGNALS_CAPACITY: usize = 16;
/// What a shell says of a process that a signal has ended is this and the signal's number.
const SIGNALLED: i32 = 128;

/// Starts `program` with `arguments`, and anew whenever it asks for that; its exit status at the end.
///
/// # Errors
///
/// When it cannot be started, or the kernel refuses signals or sockets.
pub fn run(program: &Path, arguments: &[OsString]) -> anyhow::Result<u8> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?
        .block_on(keep(program, arguments))
}

async fn keep(program: &Path, arguments: &[OsString]) -> anyhow::Result<u8> {
    let mut signals = signals().context("cannot catch signals")?;
    let mut kept = Kept::First;
    let start = |kept| {
        Worker::start(program, arguments, kept)
            .with_context(|| format!("cannot start {}", program.display()))
    };
    let mut keeping = Keeping {
        start_next: |next: &mut Next| next.start(program, arguments),
        next: Next::default(),
        parting: None,
        holding: Holding::default(),
    };
    let mut worker = start(kept)?;
    loop {
        let end = keeping.watch(&mut worker, kept, &mut signals).await?;
        if let Some(status) = end.filter(|status| status.code() != Some(EXIT_AGAIN.into())) {
            // Whoever is killed says nothing himself.
            if let Some(signal) = status.signal() {
                let hint = match signal {
                    libc::SIGKILL => "; without a `kill -9`, the kernel did it because memory was short: see `dmesg`",
                    _ => "",
                };
                tracing::error!(
                    signal,
                    "the switch was killed; its keeper ends with it{hint}"
                );
            }
            return Ok(exit_code(status));
        }
        kept = Kept::Again;
        let next = match keeping.next.take() {
            Some(mut next) => {
                tracing::info!("restarting the switch: the next one is ready");
                next.tell(&FromKeeper::Go).await?;
                next
            }
            None => {
                tracing::info!("restarting the switch");
                start(kept)?
            }
        };
        let before = std::mem::replace(&mut worker, next);
        keeping.parting = end.is_none().then_some(before);
    }
}

/// What is held, and what the switch that goes has said of its end.
#[derive(Default)]
struct Holding {
    hold: Option<Hold>,
    lost_frames: u64,
    missed_frames: u64,
}

impl Holding {
    /// Lets the neighbours go on, for a switch that has just begun to forward.
    fn release(&mut self, resumed: &[ResumedLink]) -> FromKeeper {
        let lost_frames = std::mem::take(&mut self.lost_frames);
        let hold = self.hold.take();
        let missed_frames =
            std::mem::take(&mut self.missed_frames) + hold.as_ref().map_or(0, Hold::take_missed);
        let held = hold.map_or(HOLD_MAX, |hold| hold.end(resumed));
        tracing::info!(?held, lost_frames, missed_frames, "neighbours resumed");
        FromKeeper::Released {
            held_micros: held.as_micros() as u64,
            lost_frames,
            missed_frames,
        }
    }

    /// Nobody came in time: pauses run out.
    fn give_up(&mut self) {
        let hold = self.hold.take();
        self.missed_frames += hold.as_ref().map_or(0, Hold::take_missed);
        tracing::error!(limit = ?HOLD_MAX, "the restarted switch is not ready in time: pauses of neighbours expire");
    }
}

/// What the keeper keeps from one switch to the next.
struct Keeping<F> {
    start_next: F,
    next: Next,
    /// A process that has given its place to the next switch, and has not ended yet.
    parting: Option<Worker>,
    holding: Holding,
}

impl<F: Fn(&mut Next) -> Result<(), Refused>> Keeping<F> {
    /// Until the switch's process has ended, or has given its place to a next one that is ready.
    async fn watch(
        &mut self,
        worker: &mut Worker,
        kept: Kept,
        signals: &mut mpsc::Receiver<Caught>,
    ) -> anyhow::Result<Option<ExitStatus>> {
        loop {
            let deadline = self.holding.hold.as_ref();
            let deadline = deadline.map(|hold| hold.began() + HOLD_MAX);
            tokio::select! {
                caught = signals.recv() => match caught {
                    Some(Caught::Child) => {
                        if let Some(status) = worker.ended()? {
                            return Ok(Some(status));
                        }
                        if let Some(parting) = &mut self.parting {
                            if parting.ended()?.is_some() {
                                self.parting = None;
                            }
                        }
                        if let Some(refused) = self.next.look() {
                            worker.tell(&prepared(Err(refused))).await?;
                        }
                    }
                    Some(Caught::Other(signal)) => worker.signal(signal),
                    None => anyhow::bail!("signal channel closed"),
                },
                message = worker.message() => match message? {
                    ToKeeper::PlaceFree if self.next.is_ready() => return Ok(None),
                    message => if let Some(answer) = self.answer(message, kept)? {
                        worker.tell(&answer).await?;
                    },
                },
                outcome = self.next.becomes() => worker.tell(&prepared(outcome)).await?,
                () = until(deadline) => self.holding.give_up(),
            }
        }
    }

    fn answer(&mut self, message: ToKeeper, kept: Kept) -> anyhow::Result<Option<FromKeeper>> {
        match message {
            ToKeeper::Prepare => Ok(match (self.start_next)(&mut self.next) {
                Ok(()) => None,
                Err(refused) => Some(prepared(Err(refused))),
            }),
            // Only the next one is prepared, and without one the place stays empty until the process has ended.
            ToKeeper::Prepared | ToKeeper::Unready { .. } | ToKeeper::PlaceFree => Ok(None),
            ToKeeper::Hold { links } => {
                self.holding.hold = Some(Hold::begin(links)?);
                Ok(Some(FromKeeper::Held))
            }
            ToKeeper::Left { frames, missed } => {
                self.holding.lost_frames = frames;
                self.holding.missed_frames = missed;
                if let Some(hold) = &self.holding.hold {
                    hold.refresh();
                }
                Ok(None)
            }
            ToKeeper::Ready { .. } if kept == Kept::First => Ok(None),
            ToKeeper::Ready { resumed } => Ok(Some(self.holding.release(&resumed))),
        }
    }
}

/// What a switch is told of the next one.
fn prepared(outcome: Result<(), Refused>) -> FromKeeper {
    let refused = outcome.err();
    FromKeeper::Prepared { refused }
}

async fn until(deadline: Option<std::time::Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
        None => std::future::pending().await,
    }
}

/// What the keeper is told by a signal.
#[derive(Clone, Copy, Debug)]
enum Caught {
    /// The switch's process may have ended.
    Child,
    /// This is for the switch.
    Other(Signal),
}

fn signals() -> std::io::Result<mpsc::Receiver<Caught>> {
    let (sender, signals) = mpsc::channel(SIGNALS_CAPACITY);
    for (kind, meaning) in [
        (SignalKind::child(), Caught::Child),
        (SignalKind::terminate(), Caught::Other(Signal::SIGTERM)),
        (SignalKind::interrupt(), Caught::Other(Signal::SIGINT)),
        (SignalKind::hangup(), Caught::Other(Signal::SIGHUP)),
    ] {
        let mut signal = signal(kind)?;
        let sender = sender.clone();
        tokio::spawn(async move {
            while signal.recv().await.is_some() {
                if sender.send(meaning).await.is_err() {
                    return;
                }
            }
        });
    }
    Ok(signals)
}

fn exit_code(status: ExitStatus) -> u8 {
    let code = status
        .code()
        .or_else(|| status.signal().map(|signal| SIGNALLED + signal));
    code.and_then(|code| u8::try_from(code).ok())
        .unwrap_or(EXIT_FAILURE)
}
