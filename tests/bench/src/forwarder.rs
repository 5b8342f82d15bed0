//! The bare forwarder: frames received on one device leave by the other, uninspected.
//!
//! The minimum for a switch over AF_XDP: one thread, two sockets over one memory, no table, no queue. It takes from a
//! receiving ring only what fits into the sending ring, and sends all of it before it receives again, so that receiving
//! cannot starve sending.

use std::io::{BufRead as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use nix::net::if_::if_nametoindex;
use nix::poll::{poll, PollFd, PollFlags, PollTimeout};
use serde::{Deserialize, Serialize};
use std::os::fd::AsFd as _;
use weir_lab::lab::interrupt;
use xsk_rs::FrameDesc;

use crate::cpu::Bound;
use crate::programs::Redirect;
use crate::xsk::{Memory, Port, BATCH, RING};

/// Enough for all rings of two ports.
const FRAMES: u32 = 4 * RING;
/// Time for which it polls before it sleeps, like the daemon's.
const SPIN: Duration = Duration::from_micros(50);
const POLL_LIMIT_MS: u8 = 10;

/// Losses so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForwarderLosses {
    /// Frames dropped since a receiving ring was full.
    pub receive_drops: u64,
    /// Frames dropped by a device on sending.
    pub device_drops: u64,
}

/// Forwards between two devices of this thread's network namespace until standard input ends or a signal arrives. Writes one
/// line of JSON ([`ForwarderLosses`]) once it forwards, and another for each line read.
///
/// # Errors
///
/// A socket or program cannot be created.
pub fn run(devices: [&str; 2], cpu: Option<usize>) -> Result<()> {
    interrupt::catch()?;
    let _bound = cpu.map(Bound::to).transpose()?;
    let (memory, frames) = Memory::new(FRAMES)?;
    let blank = frames[0];
    let mut forwarder = Forwarder {
        ports: [
            Port::open(&memory, blank, devices[0])?,
            Port::open(&memory, blank, devices[1])?,
        ],
        free: frames,
        carried: Vec::with_capacity(BATCH),
    };
    forwarder.fill();
    let mut programs = Vec::with_capacity(devices.len());
    for (device, port) in devices.iter().zip(&forwarder.ports) {
        programs.push(Redirect::attach(if_nametoindex(*device)?, port.as_fd())?);
    }
    let console = Arc::new(Console::default());
    let reader = Arc::clone(&console);
    std::thread::spawn(move || reader.read());
    console.asked.store(true, Ordering::Relaxed);
    forwarder.forward(&console)
}

#[derive(Debug, Default)]
struct Console {
    asked: AtomicBool,
    ended: AtomicBool,
}

impl Console {
    fn read(&self) {
        for _ in std::io::stdin().lock().lines().map_while(Result::ok) {
            self.asked.store(true, Ordering::Relaxed);
        }
        self.ended.store(true, Ordering::Relaxed);
    }
}

struct Forwarder {
    ports: [Port; 2],
    free: Vec<FrameDesc>,
    carried: Vec<FrameDesc>,
}

impl Forwarder {
    fn forward(&mut self, console: &Console) -> Result<()> {
        let mut last_work = Instant::now();
        while !console.ended.load(Ordering::Relaxed) && interrupt::check().is_ok() {
            if self.carry(0, 1) | self.carry(1, 0) {
                last_work = Instant::now();
            } else if last_work.elapsed() >= SPIN {
                self.wait();
            }
            if console.asked.load(Ordering::Relaxed) && console.asked.swap(false, Ordering::Relaxed)
            {
                let mut out = std::io::stdout().lock();
                writeln!(out, "{}", serde_json::to_string(&self.losses())?)?;
                out.flush()?;
            }
        }
        Ok(())
    }

    /// Forwards one batch in one direction; returns true unless it was empty.
    fn carry(&mut self, from: usize, to: usize) -> bool {
        self.carried.clear();
        let room = self.ports[to].room();
        self.carried
            .extend_from_slice(self.ports[from].receive(room));
        self.ports[to].send(&self.carried);
        self.ports[to].flush(&mut self.free);
        self.fill();
        !self.carried.is_empty()
    }

    fn fill(&mut self) {
        for port in &mut self.ports {
            port.fill(&mut self.free);
        }
    }

    fn wait(&self) {
        let mut events: Vec<PollFd<'_>> = self
            .ports
            .iter()
            .map(|port| PollFd::new(port.as_fd(), PollFlags::POLLIN))
            .collect();
        // After an interruption or failure it just checks for work.
        let _ = poll(&mut events, PollTimeout::from(POLL_LIMIT_MS));
    }

    fn losses(&self) -> ForwarderLosses {
        ForwarderLosses {
            receive_drops: self.ports.iter().map(Port::receive_drops).sum(),
            device_drops: self.ports.iter().map(Port::device_drops).sum(),
        }
    }
}
