//! The process that obeys pauses.

use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{ppoll, PollFd, PollFlags};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::socket::{recv, MsgFlags};
use nix::sys::time::TimeSpec;
use nix::unistd::{getppid, Pid};
use serde::Serialize;
use weir_core::wire::mac_control::MacControl;

use super::pauses::{Change, Pauses};
use super::Plan;
use crate::device::Device;
use crate::kernel::live::{self, Live};
use crate::kernel::now_ns;
use crate::kernel::plug::{self, Action, Tree};
use crate::measure::wire;
use crate::settings::{Settings, PRIORITIES};
use crate::state::{PriorityState, Totals};
use crate::status::Status;

/// Additional time for releasing paused frames at the end, besides the drain.
pub(super) const DRAIN_MAX: Duration = Duration::from_secs(2);
/// Polling interval of a drain.
const LOOK: Duration = Duration::from_millis(2);

/// Result of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// Status of the device at the end.
    #[serde(flatten)]
    pub status: Status,
    /// Frames sent at the end despite a pause that outlasted `--drain`.
    pub sent_paused: u64,
}

struct Worker<'a> {
    device: &'a Device,
    settings: &'a Settings,
    pauses: Pauses,
    socket: OwnedFd,
    live: Live,
    totals: Totals,
    /// Drops of each queue when the drain began.
    dropped_before: Option<[u64; PRIORITIES]>,
}

/// Obeys pauses until SIGTERM or SIGINT, then drains the queue. The keeper removes it, or the worker if the keeper has
/// ended.
///
/// # Errors
///
/// When the kernel refuses.
pub fn work(device: &Device, plan: &Plan, keeper: i32) -> io::Result<Summary> {
    let mut wanted = SigSet::empty();
    wanted.add(Signal::SIGTERM);
    wanted.add(Signal::SIGINT);
    wanted.thread_block()?;
    let signals = SignalFd::with_flags(&wanted, SfdFlags::SFD_CLOEXEC)?;
    set_pdeathsig(Signal::SIGTERM)?;
    let settings = &plan.settings;
    let live = Live::claim(&super::name(device))?;
    let socket = wire::open_control(device)?;
    wire::join_pauses(&socket, device)?;
    let mut worker = Worker {
        device,
        settings,
        pauses: Pauses::new(settings.rate, settings.obeyed, settings.obeys_global_pause),
        socket,
        live,
        totals: Totals::default(),
        dropped_before: None,
    };
    // Pauses are obeyed nevertheless.
    if let Err(error) = live::notify_ready() {
        eprintln!("weir-host: cannot notify the service manager: {error}");
    }
    // If it died before the request for a notification, none is sent.
    if getppid() == Pid::from_raw(keeper) {
        while !worker.turn(Some(&signals), None)? {}
    }
    let (sent_paused, freed) = worker.drain(plan)?;
    worker.totals.freed = freed;
    let status = worker.status()?;
    if getppid() != Pid::from_raw(keeper) {
        super::remove(device).map_err(io::Error::other)?;
    }
    Ok(Summary {
        status,
        sent_paused,
    })
}

impl Worker<'_> {
    /// Waits for a frame, an expiry, a client, a signal or the end of `longest`; returns true at a signal.
    fn turn(&mut self, signals: Option<&SignalFd>, longest: Option<Duration>) -> io::Result<bool> {
        let now = now_ns()?;
        let change = self.pauses.expire(now);
        self.apply(change)?;
        let next = self
            .pauses
            .next_ns()
            .map(|next| Duration::from_nanos(next.saturating_sub(now)));
        let wait = [next, longest].into_iter().flatten().min();
        let signal = signals.map(|signals| signals.as_fd());
        let fds = [Some(self.socket.as_fd()), Some(self.live.fd()), signal];
        let wanted = |fd| PollFd::new(fd, PollFlags::POLLIN);
        let mut ends: Vec<PollFd<'_>> = fds.into_iter().flatten().map(wanted).collect();
        match ppoll(&mut ends, wait.map(TimeSpec::from), None) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        let is_ready = |at: usize| ends.get(at).is_some_and(|end| end.any() == Some(true));
        let (is_asked, ends) = (is_ready(1), is_ready(2));
        self.read()?;
        if is_asked {
            let text = || Ok(serde_json::to_string(&self.status()?)?);
            self.live.answer(text)?;
        }
        Ok(ends)
    }

    fn read(&mut self) -> io::Result<()> {
        let mut frame = [0; 128];
        loop {
            match recv(self.socket.as_raw_fd(), &mut frame, MsgFlags::MSG_DONTWAIT) {
                Ok(length) => {
                    let read = MacControl::parse(frame.get(..length).unwrap_or_default());
                    match &read {
                        Ok(MacControl::Pfc { .. }) => self.totals.pfc_frames += 1,
                        Ok(MacControl::Pause { .. }) => self.totals.pause_frames += 1,
                        Err(_) => self.totals.bad_frames += 1,
                    }
                    if let Ok(control) = read {
                        let change = self.pauses.see(&control, now_ns()?);
                        self.apply(change)?;
                    }
                }
                Err(Errno::EAGAIN | Errno::EINTR | Errno::ENETDOWN) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn apply(&self, change: Change) -> io::Result<()> {
        for priority in 0..PRIORITIES {
            let is_in = |mask: u8| mask >> priority & 1 == 1;
            if is_in(change.stop) {
                plug::act(self.device.ifindex, priority, Action::Buffer)?;
            }
            if is_in(change.go) {
                plug::act(self.device.ifindex, priority, Action::Release)?;
            }
        }
        Ok(())
    }

    /// Returns the present status of the device.
    fn status(&self) -> io::Result<Status> {
        let (tree, now) = (plug::tree(self.device.ifindex)?, now_ns()?);
        let of_priority = |priority: usize| {
            let queue = tree.queues[priority].unwrap_or_default();
            let before = self.dropped_before.map_or(u64::MAX, |all| all[priority]);
            PriorityState {
                paused_for_ns: self.pauses.left_ns(priority, now),
                queued_frames: queue.queued_frames,
                queued_bytes: queue.queued_bytes,
                peak_bytes: None,
                sent_frames: queue.sent_frames,
                sent_bytes: queue.sent_bytes,
                dropped_limit: queue.dropped.min(before),
                dropped_memory: 0,
                dropped_draining: queue.dropped.saturating_sub(before),
                counts: self.pauses.counts[priority],
            }
        };
        let priorities: [PriorityState; PRIORITIES] = std::array::from_fn(of_priority);
        let wakes = priorities.iter().map(|one| one.counts.resumes).sum();
        Ok(Status {
            device: self.device.name.clone(),
            qdisc: super::kind(self.settings).to_owned(),
            process: Some(std::process::id()),
            whole: tree.queues.iter().all(Option::is_some),
            settings: self.settings.in_force(),
            totals: Totals {
                wakes,
                rate_waits: tree.rate_waits,
                ..self.totals
            },
            priorities,
        })
    }

    /// Refuses new frames and obeys pauses until no frame waits, then sends frames that are still paused. Returns the number
    /// of frames sent despite a pause, and of those left for the kernel to free.
    fn drain(&mut self, plan: &Plan) -> io::Result<(u64, u64)> {
        let before = plug::tree(self.device.ifindex)?;
        self.dropped_before = Some(before.queues.map(|queue| queue.unwrap_or_default().dropped));
        for priority in 0..PRIORITIES {
            plug::act(self.device.ifindex, priority, Action::Limit(0))?;
        }
        let ends = now_ns()? + plan.drain.limit.as_nanos() as u64;
        let waiting = |tree: &Tree| -> u64 {
            let queues = tree.queues.iter().flatten();
            queues.map(|queue| queue.queued_frames).sum()
        };
        let mut left = waiting(&plug::tree(self.device.ifindex)?);
        while left > 0 && now_ns()? < ends {
            self.turn(None, Some(LOOK))?;
            left = waiting(&plug::tree(self.device.ifindex)?);
        }
        for priority in 0..PRIORITIES {
            plug::act(self.device.ifindex, priority, Action::Release)?;
        }
        let ends = now_ns()? + DRAIN_MAX.as_nanos() as u64 / 2;
        let mut after = plug::tree(self.device.ifindex)?;
        while waiting(&after) > 0 && now_ns()? < ends {
            std::thread::sleep(LOOK);
            after = plug::tree(self.device.ifindex)?;
        }
        let freed = waiting(&after);
        Ok((left.saturating_sub(freed), freed))
    }
}
