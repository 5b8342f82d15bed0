//! Trials for `switchctl doctor`: a port against a neighbour that reflects (`--loop`), and a check that the kernel accepts
//! the XDP program (`--try-programs`).

use std::io::{IsTerminal, Write};

use anyhow::Context;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use weir_config::daemon::DaemonConfig;
use weir_core::wire::ethernet::HEADER_LENGTH;
use weir_core::wire::reflection::TAG_LENGTH;
use weir_core::{Duration, Instant};
use weir_dataplane::random;
use weir_dataplane::LonePort;
use weir_doctor::trial::{Tester, Trial};
use weir_doctor::TriedProgram;
use weir_ebpf::Form;

use crate::model::clock;

/// Polling interval for completions: the transmitter does not report them.
const SENDING_POLL: Duration = Duration::from_micros(200);
const SIGNAL_POLL: Duration = Duration::from_millis(50);
/// Interval of progress output.
const SHOWN_EVERY: Duration = Duration::from_millis(200);

/// Tries `device`, one of the ports of `config`, for at most `limit`. Progress goes to standard error if that is a terminal.
/// `signals` ends it early.
///
/// # Errors
///
/// When the port cannot be used, or its program cannot be detached.
pub fn run(
    config: &DaemonConfig,
    device: &str,
    limit: Duration,
    signals: &SignalFd,
) -> anyhow::Result<Trial> {
    let mut port = LonePort::open(config, device)?;
    let longest = config.dataplane.mtu.get() as usize + HEADER_LENGTH;
    let seed = random::seed().context("/dev/urandom")?;
    let mut tester = Tester::new(clock::now(), seed, port.address(), longest, limit);
    try_out(&mut port, &mut tester, signals, longest + TAG_LENGTH);
    let link = port.link();
    let closed = port.close();
    let trial = Trial {
        link,
        ..tester.finish(clock::now())
    };
    closed?;
    Ok(trial)
}

/// Loads every form of the XDP program once.
pub fn programs() -> Vec<TriedProgram> {
    let tried = Form::ALL.map(|form| TriedProgram {
        form: form.name().to_owned(),
        refused: form.try_load().err().map(|error| error.to_string()),
    });
    tried.into()
}

/// Blocks SIGINT and SIGTERM and returns a descriptor for them. SIGTERM is also sent when the parent process ends. Call this
/// before starting other threads.
///
/// # Errors
///
/// Those of signalfd(2).
pub fn signals() -> anyhow::Result<SignalFd> {
    nix::sys::prctl::set_pdeathsig(Signal::SIGTERM).context("PR_SET_PDEATHSIG")?;
    let mask = SigSet::from_iter([Signal::SIGTERM, Signal::SIGINT]);
    mask.thread_block().context("blocking signals")?;
    let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
    SignalFd::with_flags(&mask, flags).context("signalfd")
}

fn try_out(port: &mut LonePort, tester: &mut Tester, signals: &SignalFd, longest: usize) {
    let mut buffer = vec![0; longest];
    let mut progress = Progress::new();
    while !tester.is_done() {
        if matches!(signals.read_signal(), Ok(Some(_))) {
            tester.interrupt();
        }
        port.receive(|frame| tester.receive(clock::now(), frame));
        let now = clock::now();
        while let Some(length) = tester.next_frame(now, &mut buffer) {
            // A frame without room counts as lost, which it is.
            port.send(buffer.get(..length).unwrap_or(&[]));
        }
        port.flush();
        progress.show(now, tester);
        let most = match port.is_sending() {
            true => SENDING_POLL,
            false => SIGNAL_POLL,
        };
        let now = clock::now();
        let wait = tester.next_moment(now).saturating_since(now).min(most);
        if !wait.is_zero() {
            port.wait(wait);
        }
    }
    progress.clear();
}

/// Progress line on a terminal.
struct Progress {
    is_shown: bool,
    last: Option<Instant>,
}

impl Progress {
    fn new() -> Self {
        Self {
            is_shown: std::io::stderr().is_terminal(),
            last: None,
        }
    }

    fn show(&mut self, now: Instant, tester: &Tester) {
        let is_due = self.last.is_none_or(|last| now >= last + SHOWN_EVERY);
        if !self.is_shown || !is_due {
            return;
        }
        self.last = Some(now);
        let text = match tester.progress() {
            (_, 0) => "looking for a neighbour that reflects".to_owned(),
            (sent, all) => format!("{sent} of {all} frames"),
        };
        // An error means that there is no viewer.
        let _ = write!(std::io::stderr(), "\r\x1b[K{text}");
    }

    fn clear(&self) {
        if self.is_shown {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}
