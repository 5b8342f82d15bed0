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

use super::pauses::{Change, Counts, Pauses};
use super::{claim, Plan};
use crate::device::Device;
use crate::kernel::now_ns;
use crate::kernel::plug::{self, Action, Queue};
use crate::measure::wire;
use crate::settings::PRIORITIES;

/// What letting go in spite of a pause takes at the end, beside the drain.
pub(super) const DRAIN_MAX: Duration = Duration::from_secs(2);
/// How often a drain looks.
const LOOK: Duration = Duration::from_millis(2);

/// What one priority came to.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Priority {
    /// Its pauses.
    #[serde(flatten)]
    pub counts: Counts,
    /// Its frames.
    #[serde(flatten)]
    pub queue: Queue,
    /// Frames refused while the queue drained at the end.
    pub refused: u64,
}

/// What a run came to.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Summary {
    /// The device.
    pub device: String,
    /// PFC frames that were received.
    pub pfc_frames: u64,
    /// 802.3x PAUSE frames that were received.
    pub pause_frames: u64,
    /// MAC control frames of another kind, or too short.
    pub bad_frames: u64,
    /// Frames that were sent at the end in spite of a pause, which outlasted `--drain`.
    pub sent_paused: u64,
    /// Each priority, from 0 on.
    pub priorities: [Priority; PRIORITIES],
}

struct Worker<'a> {
    device: &'a Device,
    pauses: Pauses,
    socket: OwnedFd,
    summary: Summary,
}

/// Obeys pauses until SIGTERM or SIGINT, then drains the queue. The keeper takes it away; we do if it is dead.
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
    let _claim = claim(device)?;
    let socket = wire::open(device, wire::MAC_CONTROL_TYPE)?;
    wire::join_pauses(&socket, device)?;
    let mut worker = Worker {
        device,
        pauses: Pauses::new(plan.rate, plan.obeyed, plan.obeys_global),
        socket,
        summary: Summary {
            device: device.name.clone(),
            ..Summary::default()
        },
    };
    // If it died before we asked to be told, nobody tells us.
    if getppid() == Pid::from_raw(keeper) {
        while !worker.turn(Some(&signals), None)? {}
    }
    worker.drain(plan)?;
    if getppid() != Pid::from_raw(keeper) {
        super::remove(device).map_err(io::Error::other)?;
    }
    Ok(worker.summary)
}

impl Worker<'_> {
    /// Waits for a frame, an expiry, a signal or the end of `longest`; true at a signal.
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
        let mut ends = vec![PollFd::new(self.socket.as_fd(), PollFlags::POLLIN)];
        ends.extend(signal.map(|fd| PollFd::new(fd, PollFlags::POLLIN)));
        match ppoll(&mut ends, wait.map(TimeSpec::from), None) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        let ends = ends.get(1).is_some_and(|end| end.any() == Some(true));
        self.read()?;
        Ok(ends)
    }

    fn read(&mut self) -> io::Result<()> {
        let mut frame = [0; 128];
        loop {
            match recv(self.socket.as_raw_fd(), &mut frame, MsgFlags::MSG_DONTWAIT) {
                Ok(length) => {
                    let read = MacControl::parse(frame.get(..length).unwrap_or_default());
                    match &read {
                        Ok(MacControl::Pfc { .. }) => self.summary.pfc_frames += 1,
                        Ok(MacControl::Pause { .. }) => self.summary.pause_frames += 1,
                        Err(_) => self.summary.bad_frames += 1,
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

    /// Refuses what is new, obeys pauses until nothing waits, and lets go in the end what is still paused.
    fn drain(&mut self, plan: &Plan) -> io::Result<()> {
        let before = plug::queues(self.device.ifindex)?;
        for priority in 0..PRIORITIES {
            plug::act(self.device.ifindex, priority, Action::Limit(0))?;
        }
        let ends = now_ns()? + plan.drain.limit.as_nanos() as u64;
        let waiting = |queues: &[Option<Queue>]| -> u64 {
            queues
                .iter()
                .flatten()
                .map(|queue| queue.queued_frames)
                .sum()
        };
        let mut left = waiting(&plug::queues(self.device.ifindex)?);
        while left > 0 && now_ns()? < ends {
            self.turn(None, Some(LOOK))?;
            left = waiting(&plug::queues(self.device.ifindex)?);
        }
        self.summary.sent_paused = left;
        for priority in 0..PRIORITIES {
            plug::act(self.device.ifindex, priority, Action::Release)?;
        }
        let ends = now_ns()? + DRAIN_MAX.as_nanos() as u64 / 2;
        let mut after = plug::queues(self.device.ifindex)?;
        while waiting(&after) > 0 && now_ns()? < ends {
            std::thread::sleep(LOOK);
            after = plug::queues(self.device.ifindex)?;
        }
        for (priority, place) in self.summary.priorities.iter_mut().enumerate() {
            let dropped = before[priority].unwrap_or_default().dropped;
            place.counts = self.pauses.counts[priority];
            place.queue = after[priority].unwrap_or_default();
            place.refused = place.queue.dropped.saturating_sub(dropped);
            place.queue.dropped = dropped;
        }
        Ok(())
    }
}
