//! The keeper: a small process that outlives the switch's process, so that the switch can be replaced without loss in
//! lossless classes.
//!
//! `weir-switchd --keeper` starts itself once more without that option: that process is the switch. For a restart, the
//! keeper first starts the newly installed program, which prepares everything that needs no port. Then the keeper pauses the
//! neighbours, and the switch sends its buffered frames and ends. The next switch takes over, and the keeper pauses the
//! neighbours until it forwards. If the next switch fails, the keeper starts the previous one: the same program file with
//! the configuration that was in force. The keeper's only input is the switches' messages, and it forwards its signals to
//! the running switch.
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

/// Starts `program` with `arguments`, and again on its request; returns its last exit status.
///
/// # Errors
///
/// When it cannot be started, or signals cannot be handled.
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
    /// A signal for the switch.
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
