//! Obeying pauses on kernels without queueing disciplines in BPF: `prio` with `plug`, driven by two processes. The worker
//! obeys pauses. The keeper removes the queue when the worker ends, and the worker stops when the keeper ends.

pub mod pauses;
mod worker;

use std::io;
use std::process::Command;
use std::time::{Duration, Instant};

use nix::sys::signal::{kill, SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::Pid;
use weir_netlink::queueing::{self, Root};

use crate::attach::{refuse_occupied, Drain};
use crate::device::Device;
use crate::error::Error;
use crate::kernel::{filters, live, plug};
use crate::settings::{Settings, Source};
use crate::status::Status;

pub use worker::{work, Summary};

/// Settings for obeying pauses.
#[derive(Clone, Debug)]
pub struct Plan {
    /// As for an attached device; shares and segments do not apply.
    pub settings: Settings,
    /// Settings of the final drain.
    pub drain: Drain,
}

/// Returns true if a root belongs to this program.
pub fn is_ours(root: &Root) -> bool {
    plug::is_root(&root.kind, root.handle)
}

/// Returns the root kind for these settings.
fn kind(settings: &Settings) -> &'static str {
    match settings.max_rate {
        Some(_) => plug::TBF,
        None => plug::PRIO,
    }
}

/// Returns the name under which a device's worker is found.
fn name(device: &Device) -> String {
    format!("weir-host.plug.{}", device.ifindex)
}

/// Returns the worker of a device; `None` if there is none, or it has ended.
///
/// # Errors
///
/// The kernel's error.
pub fn worker_of(device: &Device) -> io::Result<Option<Pid>> {
    live::process(&name(device))
}

/// Returns the status reported by a device's worker; `None` if there is none, or it has ended.
///
/// # Errors
///
/// When the worker does not answer, or sends an invalid answer.
pub fn status_of(device: &Device) -> Result<Option<Status>, Error> {
    let asked = live::ask(&name(device))
        .map_err(|error| Error::system(&device.name, "asking its worker", error))?;
    let read = |(worker, text): (Pid, String)| {
        serde_json::from_str(&text).map_err(|_| Error::Silent {
            device: device.name.clone(),
            worker: worker.as_raw(),
        })
    };
    asked.map(read).transpose()
}

/// Stops a device's worker, or removes the remains of a killed one. Returns false if there was neither.
///
/// # Errors
///
/// When the worker does not end, or the kernel refuses.
pub fn stop(device: &Device, drain: Drain) -> Result<bool, Error> {
    let failed = |what| move |error| Error::system(&device.name, what, error);
    let Some(worker) = worker_of(device).map_err(failed("asking for its worker"))? else {
        return remove(device);
    };
    kill(worker, Signal::SIGTERM).map_err(|error| failed("stopping its worker")(error.into()))?;
    let limit = drain.limit + worker::DRAIN_MAX;
    let began = Instant::now();
    while worker_of(device)
        .map_err(failed("asking for its worker"))?
        .is_some()
    {
        if began.elapsed() > limit {
            return Err(failed("stopping its worker")(
                io::ErrorKind::TimedOut.into(),
            ));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    remove(device)?;
    Ok(true)
}

/// Removes the queue. Returns false if there was none.
fn remove(device: &Device) -> Result<bool, Error> {
    let failed = |what| move |error| Error::system(&device.name, what, error);
    let root = queueing::root(device.ifindex).map_err(failed("asking for its queue"))?;
    if !root.as_ref().is_some_and(is_ours) {
        return Ok(false);
    }
    match queueing::remove(device.ifindex, 0) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(failed("taking its queue away")(error))
        }
        _ => Ok(true),
    }
}

/// Creates the queue, and runs a worker that obeys pauses until it ends. Returns true if it ended successfully.
///
/// # Errors
///
/// When the kernel lacks support or refuses, or another queueing discipline is configured.
pub fn keep(device: &Device, plan: &Plan) -> Result<bool, Error> {
    let failed = |what| move |error| Error::system(&device.name, what, error);
    if let Some(worker) = worker_of(device).map_err(failed("asking for its worker"))? {
        return Err(Error::Plugged {
            device: device.name.clone(),
            worker: worker.as_raw(),
        });
    }
    let root = queueing::root(device.ifindex).map_err(failed("asking for its queue"))?;
    if let Some(root) = &root {
        if !is_ours(root) && !plan.settings.replace {
            refuse_occupied(device, root)?;
        }
        // A dead process may have left the other kind of tree.
        if is_ours(root) && root.kind != kind(&plan.settings) {
            remove(device)?;
        }
    }
    // Before the worker starts: signals are queued from now on.
    let mut wanted = SigSet::empty();
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGCHLD] {
        wanted.add(signal);
    }
    let signals = wanted
        .thread_block()
        .and_then(|()| SignalFd::with_flags(&wanted, SfdFlags::SFD_CLOEXEC));
    let signals = signals.map_err(|error| failed("catching signals")(error.into()))?;
    let made = make(device, &plan.settings);
    let ended = made.and_then(|()| watch(&signals).map_err(failed("running its worker")));
    // In any case, so that nothing stays paused forever.
    remove(device)?;
    ended
}

fn make(device: &Device, settings: &Settings) -> Result<(), Error> {
    let failed = |what| move |error| Error::system(&device.name, what, error);
    let limit = u32::try_from(settings.limit.get()).unwrap_or(u32::MAX);
    let by_socket = settings.source == Source::Socket;
    if let Some(rate) = settings.max_rate {
        plug::bound(device.ifindex, limit, rate).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Error::NoTbf {
                device: device.name.clone(),
            },
            _ => failed("bounding its rate")(error),
        })?;
    }
    let is_bounded = settings.max_rate.is_some();
    plug::make(device.ifindex, limit, is_bounded, by_socket).map_err(|error| {
        match error.kind() {
            io::ErrorKind::NotFound => Error::NoPlug {
                device: device.name.clone(),
            },
            _ => failed("making its queue")(error),
        }
    })?;
    filters::make(device.ifindex, settings).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Error::NoFlower {
            device: device.name.clone(),
        },
        _ => failed("making its filters")(error),
    })
}

/// Runs the worker: this command once more, with the same arguments.
fn watch(signals: &SignalFd) -> io::Result<bool> {
    let mut worker = Command::new("/proc/self/exe")
        .args(std::env::args_os().skip(1))
        .args(["--worker-of", &std::process::id().to_string()])
        .spawn()?;
    loop {
        if let Some(status) = worker.try_wait()? {
            if !status.success() {
                eprintln!("weir-host: the process that obeyed pauses ended ({status}); the queue is taken away");
            }
            return Ok(status.success());
        }
        let signal = signals.read_signal()?;
        let is_end = signal.is_some_and(|one| one.ssi_signo != Signal::SIGCHLD as u32);
        if is_end {
            // It may have ended in the meantime.
            let _ = kill(Pid::from_raw(worker.id() as i32), Signal::SIGTERM);
        }
    }
}
