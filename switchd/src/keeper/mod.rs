//! The keeper: a small process that outlives the switch's, so that this can be replaced and nothing lossless is lost.
//!
//! `weir-switchd --keeper` starts itself once more without that option: that process is the switch. When the switch is to
//! be restarted, it first has the keeper start the program that is installed by then, which makes ready what needs no port; then
//! it has the keeper hold its neighbours, sends what it has buffered, and ends. The next one takes its place; the keeper holds the
//! neighbours until that forwards, and lets them go on. Where the next one fails, the keeper starts what ran before: the same file, with the
//! configuration that was in force. The keeper reads nothing but what the switches tell it, and gives its own signals to the one that runs.
//!
//! Design: docs/src/internals/design/daemon.md.

pub mod frames;
pub mod hold;
mod holding;
pub mod link;
mod next;
mod succession;
mod worker;

use std::ffi::OsString;
use std::path::Path;

use anyhow::Context;
use nix::sys::signal::Signal;
use tokio::signal::unix::{signal, SignalKind};
use tokio::sync::mpsc;

use succession::Succession;

const SIGNALS_CAPACITY: usize = 16;

/// Starts `program` with `arguments`, and again whenever it requests that; returns its last exit
/// status.
///
/// # Errors
///
/// When it cannot be started, or the kernel refuses signals.
pub fn run(program: &Path, arguments: &[OsString]) -> anyhow::Result<u8> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?
        .block_on(async {
            let signals = signals().context("cannot catch signals")?;
            Succession::begin(program, arguments)?.run(signals).await
        })
}

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
