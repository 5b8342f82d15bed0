//! The process that watches sockets and pauses the neighbour.

use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{ppoll, PollFd, PollFlags};
use nix::sys::prctl::set_timerslack;
use nix::sys::signal::{SigSet, Signal as OsSignal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::socket::{send, MsgFlags};
use nix::sys::time::TimeSpec;
use serde::{Deserialize, Serialize};
use weir_core::Priority;

use super::fill::{Counts, Fill, Limits, Signal};
use crate::device::Device;
use crate::error::Error;
use crate::kernel::diag::Sockets;
use crate::kernel::live::{self, Live};
use crate::kernel::now_ns;
use crate::measure::wire;

/// Sockets to watch, and the priority to pause.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Priority to pause.
    pub priority: Priority,
    /// UDP ports of the sockets; empty for all sockets.
    pub ports: Vec<u16>,
    /// Conditions for pausing.
    pub limits: Limits,
}

/// Result of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// The device.
    pub device: String,
    /// The priority.
    pub priority: u8,
    /// Number of watched sockets.
    pub sockets: usize,
    /// Number of sockets for which the neighbour is paused.
    pub full: usize,
    /// Number of sockets ignored because they are not read.
    pub passed_over: usize,
    /// Number of sockets beyond the maximum.
    pub unwatched: usize,
    /// Pause frames that the device did not accept at once; they were sent at the next check.
    pub unsent: u64,
    /// Counts so far.
    #[serde(flatten)]
    pub counts: Counts,
}

struct Watcher<'a> {
    device: &'a Device,
    plan: &'a Plan,
    fill: Fill,
    sockets: Sockets,
    link: OwnedFd,
    live: Live,
    unsent: u64,
}

/// Returns the name under which the process of a device and priority is found.
fn name(device: &Device, priority: Priority) -> String {
    format!("weir-host.push-back.{}.{}", device.ifindex, priority.get())
}

/// Returns the summaries of all processes in this network namespace. Skips processes that are just ending.
pub fn running() -> Vec<Summary> {
    let devices = Device::all().unwrap_or_default();
    let names = devices
        .iter()
        .flat_map(|device| Priority::ALL.map(|priority| name(device, priority)));
    let asked = names.filter_map(|name| live::ask(&name).ok().flatten());
    asked
        .filter_map(|(_, text)| serde_json::from_str(&text).ok())
        .collect()
}

/// Two processes for one priority would end each other's pauses.
fn claim(device: &Device, priority: Priority) -> Result<Live, Error> {
    let name = name(device, priority);
    let failed = |error| Error::system(&device.name, "taking the name of its process", error);
    match live::process(&name).map_err(failed)? {
        Some(process) => Err(Error::PushedBack {
            device: device.name.clone(),
            priority: priority.get(),
            process: process.as_raw(),
        }),
        None => Live::claim(&name).map_err(failed),
    }
}

/// Watches until SIGTERM or SIGINT, and resumes the neighbour at the end.
///
/// # Errors
///
/// When the kernel does not report fill levels, or refuses to send.
pub fn watch(device: &Device, plan: &Plan) -> Result<Summary, Error> {
    let failed = |what| move |error| Error::system(&device.name, what, error);
    let mut wanted = SigSet::empty();
    wanted.add(OsSignal::SIGTERM);
    wanted.add(OsSignal::SIGINT);
    let signals = wanted
        .thread_block()
        .and_then(|()| SignalFd::with_flags(&wanted, SfdFlags::SFD_CLOEXEC));
    let signals = signals.map_err(|error| failed("catching signals")(error.into()))?;
    // Checks are only 200 µs apart, while the usual timer slack is 50 µs.
    set_timerslack(1).map_err(|error| failed("asking for exact timers")(error.into()))?;
    let sockets = Sockets::of_ports(&plan.ports).map_err(failed("opening NETLINK_SOCK_DIAG"))?;
    let link = wire::open(device, 0).and_then(|link| wire::past_the_queue(&link).map(|()| link));
    let mut watcher = Watcher {
        device,
        plan,
        fill: Fill::new(plan.limits),
        sockets,
        link: link.map_err(failed("opening a packet socket"))?,
        live: claim(device, plan.priority)?,
        unsent: 0,
    };
    let ended = watcher.until_signal(&signals);
    // Also after an error, since nothing watches the sockets any more.
    let let_go = watcher.let_go();
    ended?;
    let_go?;
    Ok(watcher.summary())
}

impl Watcher<'_> {
    fn until_signal(&mut self, signals: &SignalFd) -> Result<(), Error> {
        let device = self.device;
        let failed = |what| move |error| Error::system(&device.name, what, error);
        loop {
            let readings = self
                .sockets
                .read()
                .map_err(|error| no_readings(device, error))?;
            let now_ns = now_ns().map_err(failed("reading the clock"))?;
            let order = self.fill.look(readings, now_ns);
            if let Some(signal) = order.signal {
                self.tell(signal, now_ns)?;
            }
            let wanted = [signals.as_fd(), self.live.fd()];
            let mut ends = wanted.map(|fd| PollFd::new(fd, PollFlags::POLLIN));
            let wait = TimeSpec::from(Duration::from_nanos(order.again_ns));
            match ppoll(&mut ends, Some(wait), None) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(error) => return Err(failed("waiting")(error.into())),
            }
            let [is_end, is_asked] = ends.map(|end| end.any() == Some(true));
            if is_end {
                return Ok(());
            }
            if is_asked {
                let text = || Ok(serde_json::to_string(&self.summary())?);
                self.live.answer(text).map_err(failed("answering"))?;
            }
        }
    }

    fn tell(&mut self, signal: Signal, now_ns: u64) -> Result<(), Error> {
        let quanta = match signal {
            Signal::Xoff => self.plan.limits.quanta().0,
            Signal::Xon => 0,
        };
        let frame = wire::pfc(self.plan.priority, quanta);
        match send(self.link.as_raw_fd(), &frame, MsgFlags::MSG_DONTWAIT) {
            Ok(_) => self.fill.sent(signal, now_ns),
            // Its ring is full, or it is down: retry at the next check.
            Err(Errno::EAGAIN | Errno::ENOBUFS | Errno::ENETDOWN | Errno::EINTR) => {
                self.unsent += 1
            }
            Err(error) => {
                return Err(Error::system(
                    &self.device.name,
                    "sending a pause",
                    error.into(),
                ))
            }
        }
        Ok(())
    }

    fn let_go(&mut self) -> Result<(), Error> {
        match self.fill.is_paused() {
            true => {
                let now_ns = now_ns().map_err(|error| {
                    Error::system(&self.device.name, "reading the clock", error)
                })?;
                self.tell(Signal::Xon, now_ns)
            }
            false => Ok(()),
        }
    }

    fn summary(&self) -> Summary {
        Summary {
            device: self.device.name.clone(),
            priority: self.plan.priority.get(),
            sockets: self.fill.sockets(),
            full: self.fill.full(),
            passed_over: self.fill.passed_over(),
            unwatched: self.sockets.unwatched,
            unsent: self.unsent,
            counts: self.fill.counts,
        }
    }
}

fn no_readings(device: &Device, error: io::Error) -> Error {
    let name = device.name.clone();
    match error.kind() {
        io::ErrorKind::NotFound => Error::NoDiag { device: name },
        _ => Error::system(&name, "asking how full sockets are", error),
    }
}
