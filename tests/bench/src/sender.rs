//! The sending host: probes over AF_XDP, one clock reading for each batch.

use anyhow::Result;
use nix::time::{clock_gettime, ClockId};
use xsk_rs::FrameDesc;

use crate::frame;
use crate::xsk::{Memory, Port, BATCH};

/// Frames of the sender: more than can be under way in the kernel.
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
    /// The trial.
    pub trial: u32,
    /// Flows less one, a power of two less one.
    pub flow_mask: u32,
}

impl Sender {
    /// Opens a socket on a device of this thread's network namespace.
    ///
    /// # Errors
    ///
    /// When it cannot be had.
    pub fn open(device: &str) -> Result<Self> {
        let (memory, frames) = Memory::new(FRAMES)?;
        Ok(Self {
            port: Port::open(&memory, frames[0], device)?,
            free: frames,
            memory,
        })
    }

    /// Every frame becomes `template`. Nothing may be under way.
    pub fn prepare(&mut self, template: &[u8]) {
        self.port.flush(&mut self.free);
        for frame in &mut self.free {
            self.memory.write(frame, template.len(), |bytes| {
                bytes.copy_from_slice(template)
            });
        }
    }

    /// Sends `count` probes, `BATCH` at most, numbered from `sequence` on; returns how many left. All of them have been through the kernel then.
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

    /// Waits a moment for frames that the kernel still has; how many they are.
    pub fn settle(&mut self) -> usize {
        self.port.flush(&mut self.free);
        self.port.reap(&mut self.free);
        self.port.outstanding()
    }
}

/// CLOCK_MONOTONIC, as the receiving program reads it.
pub fn now_nanos() -> u64 {
    clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(0, |now| {
        now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64
    })
}
