//! The sending host: probes over AF_XDP, one clock reading for each batch.

use anyhow::Result;
use nix::time::{clock_gettime, ClockId};
use xsk_rs::FrameDesc;

use crate::frame;
use crate::xsk::{Memory, Port, BATCH};

/// Number of the sender's frames: more than can be in flight in the kernel.
const FRAMES: u32 = 1024;

/// A socket that only sends.
#[derive(Debug)]
pub struct Sender {
    port: Port,
    free: Vec<FrameDesc>,
    memory: Memory,
}

/// Common properties of all probes of a trial.
#[derive(Clone, Copy, Debug)]
pub struct Stamp {
    /// Number of the trial.
    pub trial: u32,
    /// Number of flows minus one, where the number is a power of two.
    pub flow_mask: u32,
}

impl Sender {
    /// Opens a socket on a device of this thread's network namespace.
    ///
    /// # Errors
    ///
    /// The socket cannot be created.
    pub fn open(device: &str) -> Result<Self> {
        let (memory, frames) = Memory::new(FRAMES)?;
        Ok(Self {
            port: Port::open(&memory, frames[0], device)?,
            free: frames,
            memory,
        })
    }

    /// Fills every frame with `template`. No frame may be in flight.
    pub fn prepare(&mut self, template: &[u8]) {
        self.port.flush(&mut self.free);
        for frame in &mut self.free {
            self.memory.write(frame, template.len(), |bytes| {
                bytes.copy_from_slice(template)
            });
        }
    }

    /// Sends `count` probes, at most `BATCH`, numbered from `sequence` on; returns the number that left. All have then
    /// passed the kernel.
    pub fn send(&mut self, stamp: Stamp, sequence: u32, count: usize, length: usize) -> usize {
        let count = count.min(BATCH).min(self.free.len()).min(self.port.room());
        let from = self.free.len() - count;
        let sent_nanos = now_nanos();
        for (frame, sequence) in self.free[from..].iter_mut().zip(sequence..) {
            // A chunk returned by the kernel has no length.
            self.memory.write(frame, length, |bytes| {
                frame::stamp(bytes, stamp.trial, sequence, stamp.flow_mask, sent_nanos);
            });
        }
        self.port.send(&self.free[from..]);
        self.free.truncate(from);
        self.port.flush(&mut self.free);
        count
    }

    /// Waits briefly for frames that the kernel still has; returns their number.
    pub fn settle(&mut self) -> usize {
        self.port.flush(&mut self.free);
        self.port.reap(&mut self.free);
        self.port.outstanding()
    }
}

/// Returns CLOCK_MONOTONIC, as used by the receiving program.
pub fn now_nanos() -> u64 {
    clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(0, |now| {
        now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64
    })
}
