//! `weir-endpoint reflect`: the neighbour of a device tested by `switchctl doctor --loop`.

use std::io::Write;
use std::os::fd::AsFd;

use anyhow::{bail, Context, Result};
use nix::errno::Errno;
use nix::ifaddrs::getifaddrs;
use nix::poll::{ppoll, PollFd, PollFlags};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::time::TimeSpec;
use weir_config::drivers;
use weir_core::wire::ethernet::HEADER_LENGTH;
use weir_core::MacAddress;
use weir_doctor::ethtool;
use weir_doctor::trial::{Fault, Reflector};
use weir_ebpf::AttachMode;

use crate::endpoint::device::Redirect;
use crate::endpoint::socket::{XdpPort, CHUNKS};

/// Maximum number of queues to receive from.
const QUEUES_MAX: u32 = 64;
/// Retry interval when the kernel has not sent all frames.
const RETRY_NANOS: i64 = 50_000;
/// Maximum batches read from a queue per round.
const BATCHES: usize = 8;
/// Part of a chunk that the kernel reserves as headroom.
const HEADROOM: usize = 256;

/// Reflects frames at `device` until SIGINT or SIGTERM, and prints the counts.
///
/// # Errors
///
/// When the device does not exist, has a program or sockets already, or privileges are missing.
pub fn run(device: &str, fault: Option<Fault>) -> Result<()> {
    let mask = SigSet::from_iter([Signal::SIGTERM, Signal::SIGINT]);
    mask.thread_block().context("blocking signals")?;
    let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
    let signals = SignalFd::with_flags(&mask, flags).context("signalfd")?;
    let mut mirror = Mirror::open(device, fault)?;
    let queues = mirror.ports.len();
    say(&format!(
        "reflecting at {device} (queues: {queues}); `switchctl doctor --loop` asks from the other end; Ctrl-C ends it"
    ))?;
    while !matches!(signals.read_signal(), Ok(Some(_))) {
        mirror.turn()?;
        mirror.sleep(device, &signals)?;
    }
    mirror.tell()
}

struct Mirror {
    reflector: Reflector,
    /// Sockets by queue.
    ports: Vec<XdpPort>,
    program: Redirect,
    /// A reply for which the first queue had no room.
    waiting: Option<Vec<u8>>,
    buffer: Vec<u8>,
}

impl Mirror {
    fn open(device: &str, fault: Option<Fault>) -> Result<Self> {
        let address = address_of(device)?;
        let mtu = ethtool::mtu(device).with_context(|| format!("{device}: no MTU"))?;
        let driver = drivers::driver(&ethtool::driver(device).unwrap_or_default());
        let mode = match driver.metadata {
            true => AttachMode::Auto,
            false => AttachMode::Generic,
        };
        // Attaching may change the number of queues.
        let program = Redirect::open(device, mode)?;
        let queues = ethtool::receive_queues(device).unwrap_or(1);
        let [short, long] = CHUNKS;
        let longest = mtu as usize + HEADER_LENGTH;
        let chunk = match longest + HEADROOM <= short as usize {
            true => short,
            false => long,
        };
        let mut ports = Vec::new();
        for queue in 0..queues.clamp(1, QUEUES_MAX) {
            let port = XdpPort::open_queue(device, queue, chunk)?;
            program.serve(queue, &port)?;
            ports.push(port);
        }
        // A tag may be added.
        let room = chunk as usize - HEADROOM - weir_core::wire::reflection::TAG_LENGTH;
        let longest = u16::try_from(longest.min(room)).unwrap_or(u16::MAX);
        Ok(Self {
            reflector: Reflector::new(address, device, longest, fault),
            ports,
            program,
            waiting: None,
            buffer: vec![0; chunk as usize],
        })
    }

    fn turn(&mut self) -> Result<()> {
        let reflector = &mut self.reflector;
        for port in &mut self.ports {
            // A flood must not prevent replies.
            for _ in 0..BATCHES {
                if port.receive(|frame| reflector.receive(frame)) == 0 {
                    break;
                }
            }
        }
        // All through one queue, so that they stay in order.
        let Some(port) = self.ports.first_mut() else {
            return Ok(());
        };
        loop {
            let reply = self.waiting.take().or_else(|| {
                let length = self.reflector.next_frame(&mut self.buffer)?;
                Some(self.buffer[..length].to_vec())
            });
            let Some(reply) = reply else { break };
            let sent = port.send(|place| {
                place.get_mut(..reply.len())?.copy_from_slice(&reply);
                Some(reply.len())
            });
            port.kick()?;
            if !sent {
                self.waiting = Some(reply);
                break;
            }
        }
        Ok(port.kick()?)
    }

    fn sleep(&self, device: &str, signals: &SignalFd) -> Result<()> {
        let is_sending = self.ports.iter().any(|port| port.outstanding() > 0);
        let timeout = (is_sending || self.waiting.is_some()).then(|| TimeSpec::new(0, RETRY_NANOS));
        let mut fds: Vec<_> = self
            .ports
            .iter()
            .map(|port| PollFd::new(port.as_fd(), PollFlags::POLLIN))
            .collect();
        fds.push(PollFd::new(signals.as_fd(), PollFlags::POLLIN));
        match ppoll(&mut fds, timeout, None) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno).context("ppoll"),
        }
        let failed = PollFlags::POLLERR | PollFlags::POLLHUP | PollFlags::POLLNVAL;
        let has_failed = |fd: &PollFd| fd.revents().is_some_and(|events| events.intersects(failed));
        if fds.iter().any(has_failed) {
            bail!("{device}: the socket failed (is the device gone?)");
        }
        Ok(())
    }

    /// Prints the counts, and this end's own losses.
    fn tell(&self) -> Result<()> {
        let account = self.reflector.account();
        let sum = |counts: &[u32]| counts.iter().map(|count| u64::from(*count)).sum::<u64>();
        let not_redirected = self.program.not_redirected()?;
        let drops: u64 = self.ports.iter().map(XdpPort::device_drops).sum();
        say(&format!(
            "the last test: {} data frames came, {} unreadable, {} PFC frames came and {} were sent; in all: {} frames had no \
             socket or metadata, {drops} were dropped by the device as they were sent, {} replies found no room",
            account.data,
            account.unreadable,
            sum(&account.pauses_came),
            sum(&account.pauses_sent),
            not_redirected,
            self.reflector.lost_replies(),
        ))
    }
}

fn address_of(device: &str) -> Result<MacAddress> {
    let addresses = getifaddrs().context("getifaddrs")?;
    addresses
        .filter(|interface| interface.interface_name == device)
        .find_map(|interface| interface.address?.as_link_addr()?.addr())
        .map(MacAddress)
        .with_context(|| format!("{device}: no such device here, or it has no address"))
}

fn say(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}")
        .and_then(|()| out.flush())
        .context("standard output")
}
