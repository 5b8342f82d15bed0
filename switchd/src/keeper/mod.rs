//! The keeper: a small process that outlives the switch's, so that this can be replaced and nothing lossless is lost.
//!
//! `weir-switchd --keeper` starts itself once more without that option: that process is the switch. When the switch is to
//! be restarted, it first has the keeper hold its neighbours, then sends what it has buffered, and ends; the keeper starts
//! the program that is installed by then, holds the neighbours until that forwards, and lets them go on. The keeper reads
//! nothing but what the switch tells it, and gives its own signals to the switch.

pub mod frames;
pub mod hold;
pub mod link;
mod worker;

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
use link::{FromKeeper, ToKeeper};
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
pub fn run(program: &Path, arguments: &[std::ffi::OsString]) -> anyhow::Result<u8> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?
        .block_on(keep(program, arguments))
}

async fn keep(program: &Path, arguments: &[std::ffi::OsString]) -> anyhow::Result<u8> {
    let mut signals = signals().context("cannot catch signals")?;
    let mut holding = Holding::default();
    let mut kept = Kept::First;
    loop {
        let worker = Worker::start(program, arguments, kept)
            .with_context(|| format!("cannot start {}", program.display()))?;
        let status = watch(worker, kept, &mut signals, &mut holding).await?;
        if status.code() != Some(EXIT_AGAIN.into()) {
            // Whoever is killed says nothing himself.
            if let Some(signal) = status.signal() {
                tracing::error!(signal, "the switch was killed; its keeper ends with it");
            }
            return Ok(exit_code(status));
        }
        tracing::info!("restarting the switch");
        kept = Kept::Again;
    }
}

/// What is held, and what the switch that goes has said of its end.
#[derive(Default)]
struct Holding {
    hold: Option<Hold>,
    lost_frames: u64,
    missed_frames: u64,
}

/// Until the switch's process has ended.
async fn watch(
    mut worker: Worker,
    kept: Kept,
    signals: &mut mpsc::Receiver<Caught>,
    holding: &mut Holding,
) -> anyhow::Result<ExitStatus> {
    loop {
        let deadline = holding.hold.as_ref().map(|hold| hold.began() + HOLD_MAX);
        tokio::select! {
            caught = signals.recv() => match caught {
                Some(Caught::Child) => if let Some(status) = worker.ended()? {
                    return Ok(status);
                },
                Some(Caught::Other(signal)) => worker.signal(signal),
                None => anyhow::bail!("signal channel closed"),
            },
            message = worker.message() => match message? {
                ToKeeper::Hold { links } => {
                    holding.hold = Some(Hold::begin(links)?);
                    worker.tell(&FromKeeper::Held).await?;
                }
                ToKeeper::Left { frames, missed } => {
                    holding.lost_frames = frames;
                    holding.missed_frames = missed;
                    if let Some(hold) = &holding.hold {
                        hold.refresh();
                    }
                }
                ToKeeper::Ready { .. } if kept == Kept::First => {}
                ToKeeper::Ready { resumed } => {
                    let lost_frames = std::mem::take(&mut holding.lost_frames);
                    let hold = holding.hold.take();
                    let missed_frames = std::mem::take(&mut holding.missed_frames)
                        + hold.as_ref().map_or(0, Hold::take_missed);
                    let held = hold.map_or(HOLD_MAX, |hold| hold.end(&resumed));
                    tracing::info!(?held, lost_frames, missed_frames, "neighbours resumed");
                    let held_micros = held.as_micros() as u64;
                    let released = FromKeeper::Released { held_micros, lost_frames, missed_frames };
                    worker.tell(&released).await?;
                }
            },
            () = until(deadline) => {
                // Their pauses run out.
                let hold = holding.hold.take();
                holding.missed_frames += hold.as_ref().map_or(0, Hold::take_missed);
                tracing::error!(limit = ?HOLD_MAX, "the restarted switch is not ready in time: pauses of neighbours expire");
            }
        }
    }
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
