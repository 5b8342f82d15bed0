//! Pausing a neighbour again and again, and watching what still comes.

use std::io::{self, IoSliceMut};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::{
    recvmsg, send, setsockopt, sockopt, ControlMessageOwned, LinkAddr, MsgFlags,
};
use nix::sys::time::{TimeSpec, TimeVal};
use nix::time::{clock_gettime, ClockId};
use serde::Serialize;
use weir_core::{BitRate, Priority};

use super::wire;
use crate::device::Device;

/// How long a receive waits before it looks at the time.
const WAIT: TimeVal = TimeVal::new(0, 1_000);
/// The longest pause that a frame can ask for.
const QUANTA: u16 = u16::MAX;
/// How long the load may take to come, at first and after a pause.
const PATIENCE: Duration = Duration::from_secs(5);
const FRAME_MAX: usize = 128 << 10;

/// What to do.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The priority to pause.
    pub priority: Priority,
    /// How often.
    pub pauses: u32,
    /// How long each lasts.
    pub paused: Duration,
    /// How long the neighbour may send between two.
    pub between: Duration,
    /// The link's rate: pauses are sent again before they expire.
    pub rate: BitRate,
    /// Count all frames but MAC control, not only those of `--load`.
    pub any: bool,
}

/// Middle, 99th percentile and most of some values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    /// Half are no more than this.
    pub median: f64,
    /// 99 of 100 are no more than this.
    pub p99: f64,
    /// The most.
    pub max: f64,
}

impl Spread {
    /// Of these values; all zero when there are none.
    pub fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let at = |share: f64| {
            // Nearest rank.
            let rank = (share * values.len() as f64).ceil() as usize;
            values.get(rank.saturating_sub(1)).copied().unwrap_or(0.0)
        };
        Self {
            median: at(0.5),
            p99: at(0.99),
            max: at(1.0),
        }
    }
}

/// How a neighbour reacts to XOFF and XON.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reaction {
    /// Pauses that were measured.
    pub pauses: usize,
    /// Pauses that do not count: we came too late to refresh them, and they may have expired.
    pub late: usize,
    /// Frames that came after XOFF was sent; what a segmenting device has put together counts as one.
    pub frames: Spread,
    /// Their bytes.
    pub bytes: Spread,
    /// From XOFF to the last of them, in µs. 0: none came.
    pub xoff_to_last_us: Spread,
    /// From XON to the first frame, in µs.
    pub xon_to_first_us: Spread,
    /// Frames of load that are missing among their numbers, and that came in the wrong order.
    pub missing: u64,
    /// Those out of order.
    pub out_of_order: u64,
    /// Frames received in all.
    pub received: u64,
}

/// Watches numbers of load.
#[derive(Debug, Default)]
struct Sequence {
    next: Option<u64>,
    missing: u64,
    out_of_order: u64,
}

impl Sequence {
    fn see(&mut self, number: u64) {
        match self.next {
            // A load that begins anew.
            _ if number == 0 => self.next = Some(1),
            Some(next) if number < next => {
                self.out_of_order += 1;
                self.missing = self.missing.saturating_sub(1);
            }
            Some(next) => {
                self.missing += number - next;
                self.next = Some(number + 1);
            }
            None => self.next = Some(number + 1),
        }
    }
}

struct Bench {
    socket: OwnedFd,
    plan: Plan,
    buffer: Vec<u8>,
    sequence: Sequence,
    received: u64,
}

/// What came although the neighbour was paused.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    frames: u64,
    bytes: u64,
    /// When the last of them came, after XOFF.
    last_ns: i64,
}

/// A received frame.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    /// When the kernel got it, by the clock of [`now_ns`].
    at_ns: i64,
    bytes: usize,
}

/// Pauses the neighbour and gives how it reacts; ends early with what there is when `stop` is set.
///
/// # Errors
///
/// Without CAP_NET_RAW, and when no load comes.
pub fn measure(device: &Device, plan: Plan, stop: &AtomicBool) -> io::Result<Reaction> {
    let protocol = match plan.any {
        true => libc::ETH_P_ALL as u16,
        false => wire::LOAD_TYPE,
    };
    let socket = wire::open(device, protocol)?;
    wire::promiscuous(socket.as_raw_fd(), device)?;
    setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
    setsockopt(&socket, sockopt::ReceiveTimeout, &WAIT)?;
    let mut bench = Bench {
        socket,
        plan,
        buffer: vec![0; FRAME_MAX],
        sequence: Sequence::default(),
        received: 0,
    };
    let (mut frames, mut bytes, mut last, mut first) = (vec![], vec![], vec![], vec![]);
    let mut late = 0;
    bench.wait_for_load(
        0,
        "no frame to measure with comes: start `weir-host measure DEVICE --load` at the neighbour",
    )?;
    for _ in 0..plan.pauses {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        bench.watch(plan.between)?;
        let held = bench.pause()?;
        let resumed_ns = match bench.resume() {
            Ok(resumed_ns) => resumed_ns,
            // The load has ended. What was measured until then holds.
            Err(error) if error.kind() == io::ErrorKind::TimedOut && !frames.is_empty() => break,
            Err(error) => return Err(error),
        };
        let Some(held) = held else {
            late += 1;
            continue;
        };
        frames.push(held.frames as f64);
        bytes.push(held.bytes as f64);
        last.push(held.last_ns as f64 / 1e3);
        first.push(resumed_ns as f64 / 1e3);
    }
    Ok(Reaction {
        pauses: frames.len(),
        late,
        frames: Spread::of(frames),
        bytes: Spread::of(bytes),
        xoff_to_last_us: Spread::of(last),
        xon_to_first_us: Spread::of(first),
        missing: bench.sequence.missing,
        out_of_order: bench.sequence.out_of_order,
        received: bench.received,
    })
}

impl Bench {
    /// XOFF, and what still comes; none when the pause may have expired in between.
    fn pause(&mut self) -> io::Result<Option<Held>> {
        let began = now_ns()?;
        self.send(QUANTA)?;
        let ends = began + self.plan.paused.as_nanos() as i64;
        let bits = u128::from(QUANTA) * 512;
        let lasts = (bits * 1_000_000_000 / u128::from(self.plan.rate.get())) as i64;
        let mut refreshed = began;
        let mut held = Held::default();
        let mut is_late = false;
        // A slow machine reads more slowly than the neighbour sends: what came before comes out of our socket first. Frames that
        // are not paused may come without end, so the first one after the end shows as well as an empty socket that all is read.
        let mut is_all_read = false;
        loop {
            let now = now_ns()?;
            if now >= ends && is_all_read {
                return Ok((!is_late).then_some(held));
            }
            if now - refreshed >= lasts / 3 {
                self.send(QUANTA)?;
                // When it is on its way is not known to be before now.
                is_late |= now_ns()? - refreshed >= lasts * 9 / 10;
                refreshed = now;
            }
            let arrival = self.receive()?;
            is_all_read = arrival.is_none_or(|arrival| arrival.at_ns >= ends);
            if let Some(arrival) = arrival {
                // Else it was in our socket already when we paused, or comes when the pause has been measured.
                if arrival.at_ns > began && arrival.at_ns < ends {
                    held.frames += 1;
                    held.bytes += arrival.bytes as u64;
                    held.last_ns = arrival.at_ns - began;
                }
            }
        }
    }

    /// XON; gives how long the first frame takes to come, in ns.
    fn resume(&mut self) -> io::Result<i64> {
        let began = now_ns()?;
        self.send(0)?;
        let first = self.wait_for_load(began, "nothing comes any more after XON")?;
        Ok(first.at_ns - began)
    }

    /// The first frame that came at `since_ns` or later.
    fn wait_for_load(&mut self, since_ns: i64, otherwise: &str) -> io::Result<Arrival> {
        let deadline = now_ns()? + PATIENCE.as_nanos() as i64;
        loop {
            match self.receive()? {
                Some(arrival) if arrival.at_ns >= since_ns => return Ok(arrival),
                // What was in our socket before; there is an end to it.
                Some(_) => continue,
                None => {}
            }
            if now_ns()? > deadline {
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    otherwise.to_owned(),
                ));
            }
        }
    }

    fn watch(&mut self, span: Duration) -> io::Result<()> {
        let deadline = now_ns()? + span.as_nanos() as i64;
        while now_ns()? < deadline {
            self.receive()?;
        }
        Ok(())
    }

    fn send(&self, quanta: u16) -> io::Result<()> {
        let frame = wire::pfc(self.plan.priority, quanta);
        send(self.socket.as_raw_fd(), &frame, MsgFlags::empty())?;
        Ok(())
    }

    /// The next frame that counts, if one comes soon.
    fn receive(&mut self) -> io::Result<Option<Arrival>> {
        let mut control = nix::cmsg_space!(TimeSpec);
        let mut parts = [IoSliceMut::new(&mut self.buffer)];
        let fd = self.socket.as_raw_fd();
        let message = recvmsg::<LinkAddr>(fd, &mut parts, Some(&mut control), MsgFlags::empty());
        let message = match message {
            Ok(message) => message,
            Err(Errno::EAGAIN | Errno::EINTR) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let is_ours = message
            .address
            .is_some_and(|address| address.pkttype() == libc::PACKET_OUTGOING);
        let mut at_ns = None;
        for one in message.cmsgs()? {
            if let ControlMessageOwned::ScmTimestampns(time) = one {
                at_ns = Some(time.tv_sec() * 1_000_000_000 + time.tv_nsec());
            }
        }
        let bytes = message.bytes;
        let frame = self.buffer.get(..bytes).unwrap_or_default();
        if is_ours || frame.get(12..14) == Some(&wire::MAC_CONTROL_TYPE.to_be_bytes()) {
            return Ok(None);
        }
        if let Some(number) = wire::number(frame) {
            self.sequence.see(number);
        }
        self.received += 1;
        let at_ns = match at_ns {
            Some(at_ns) => at_ns,
            None => now_ns()?,
        };
        Ok(Some(Arrival { at_ns, bytes }))
    }
}

/// The clock of packet sockets' time stamps.
fn now_ns() -> io::Result<i64> {
    let now = clock_gettime(ClockId::CLOCK_REALTIME)?;
    Ok(now.tv_sec() * 1_000_000_000 + now.tv_nsec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_were_seen() {
        let hundred: Vec<f64> = (1..=100).map(f64::from).collect();
        let spread = Spread::of(hundred);
        assert_eq!((spread.median, spread.p99, spread.max), (50.0, 99.0, 100.0));
        assert_eq!(Spread::of(vec![3.0]).p99, 3.0);
        assert_eq!(Spread::of(vec![]), Spread::default());
    }

    #[test]
    fn gaps_and_latecomers_are_counted() {
        let mut sequence = Sequence::default();
        for number in [5, 6, 9, 7, 10] {
            sequence.see(number);
        }
        // 8 is missing; 7 came late.
        assert_eq!((sequence.missing, sequence.out_of_order), (1, 1));
    }
}
