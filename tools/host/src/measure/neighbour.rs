//! Pauses a neighbour repeatedly, and observes the frames that still arrive.

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

/// Time that a receive waits before it checks the clock.
const WAIT: TimeVal = TimeVal::new(0, 1_000);
/// Longest pause of a frame, in quanta.
const QUANTA: u16 = u16::MAX;
/// Time for the load to arrive, at first and after a pause.
const PATIENCE: Duration = Duration::from_secs(5);
const FRAME_MAX: usize = 128 << 10;

/// Settings of a measurement.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The priority to pause.
    pub priority: Priority,
    /// Number of pauses.
    pub pauses: u32,
    /// Duration of each pause.
    pub paused: Duration,
    /// Time between pauses, in which the neighbour may send.
    pub between: Duration,
    /// Rate of the link; pauses are refreshed before they expire.
    pub rate: BitRate,
    /// Count all frames except MAC control, not only those of `--load`.
    pub any: bool,
}

/// Median, 99th percentile and maximum of some values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    /// 50th percentile.
    pub median: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Maximum.
    pub max: f64,
}

impl Spread {
    /// Computes the spread of these values; all zero without any.
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

/// Reaction of a neighbour to XOFF and XON.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reaction {
    /// Pauses that count.
    pub pauses: usize,
    /// Pauses that do not count: they were refreshed too late and may have expired.
    pub late: usize,
    /// Frames that arrived after XOFF; merged segments count as one frame.
    pub frames: Spread,
    /// Length in bytes.
    pub bytes: Spread,
    /// Time from XOFF to the last of them, in µs; 0 if none arrived.
    pub xoff_to_last_us: Spread,
    /// Time from XON to the first frame, in µs.
    pub xon_to_first_us: Spread,
    /// Load frames missing in the sequence.
    pub missing: u64,
    /// Load frames out of order.
    pub out_of_order: u64,
    /// Total number of received frames.
    pub received: u64,
}

/// Checks the sequence numbers of the load.
#[derive(Debug, Default)]
struct Sequence {
    next: Option<u64>,
    missing: u64,
    out_of_order: u64,
}

impl Sequence {
    fn see(&mut self, number: u64) {
        match self.next {
            // The load was restarted.
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

/// Frames that arrived during a pause.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    frames: u64,
    bytes: u64,
    /// Arrival of the last of them after XOFF.
    last_ns: i64,
}

/// A received frame.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    /// Time of arrival in the kernel, by the clock of [`now_ns`].
    at_ns: i64,
    bytes: usize,
}

/// Pauses the neighbour and returns its reaction; ends early with the results so far when `stop` is set.
///
/// # Errors
///
/// The process lacks CAP_NET_RAW, or no load arrives.
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
            // The load has ended; earlier measurements are valid.
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
    /// Sends XOFF and counts the frames that still arrive; returns `None` if the pause may have expired.
    fn pause(&mut self) -> io::Result<Option<Held>> {
        let began = now_ns()?;
        self.send(QUANTA)?;
        let ends = began + self.plan.paused.as_nanos() as i64;
        let bits = u128::from(QUANTA) * 512;
        let lasts = (bits * 1_000_000_000 / u128::from(self.plan.rate.get())) as i64;
        let mut refreshed = began;
        let mut held = Held::default();
        let mut is_late = false;
        // A slow machine reads more slowly than the neighbour sends, so earlier frames are read from the socket first.
        // Frames of other priorities may keep arriving, so the first frame after the end counts as a sign that all is read,
        // like an empty socket.
        let mut is_all_read = false;
        loop {
            let now = now_ns()?;
            if now >= ends && is_all_read {
                return Ok((!is_late).then_some(held));
            }
            if now - refreshed >= lasts / 3 {
                self.send(QUANTA)?;
                // The refresh may be delayed up to now.
                is_late |= now_ns()? - refreshed >= lasts * 9 / 10;
                refreshed = now;
            }
            let arrival = self.receive()?;
            is_all_read = arrival.is_none_or(|arrival| arrival.at_ns >= ends);
            if let Some(arrival) = arrival {
                // Other frames were in the socket before the pause, or arrived after the measurement.
                if arrival.at_ns > began && arrival.at_ns < ends {
                    held.frames += 1;
                    held.bytes += arrival.bytes as u64;
                    held.last_ns = arrival.at_ns - began;
                }
            }
        }
    }

    /// Sends XON; returns the time until the first frame, in ns.
    fn resume(&mut self) -> io::Result<i64> {
        let began = now_ns()?;
        self.send(0)?;
        let first = self.wait_for_load(began, "nothing comes any more after XON")?;
        Ok(first.at_ns - began)
    }

    /// Returns the first frame that arrived at `since_ns` or later.
    fn wait_for_load(&mut self, since_ns: i64, otherwise: &str) -> io::Result<Arrival> {
        let deadline = now_ns()? + PATIENCE.as_nanos() as i64;
        loop {
            match self.receive()? {
                Some(arrival) if arrival.at_ns >= since_ns => return Ok(arrival),
                // An earlier frame from the socket; there is a bounded number of them.
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

    /// Returns the next frame that counts, if one arrives soon.
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

/// Returns the clock of packet sockets' timestamps.
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
        // 8 is missing; 7 arrived late.
        assert_eq!((sequence.missing, sequence.out_of_order), (1, 1));
    }
}
