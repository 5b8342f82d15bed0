//! The words of the express path in this process's memory.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::ptr::NonNull;
use std::sync::atomic::{fence, AtomicU64, Ordering};

use libbpf_rs::{MapCore, MapHandle};
use nix::libc;
use weir_abi as abi;

use super::Line;
use crate::counters::Traffic;
use crate::error::{map_error, EbpfError};

/// Words that programs and the core read and write while frames pass.
#[derive(Debug)]
pub struct ExpressWords {
    pub(super) mode: Region,
    pub(super) lines: Region,
    pub(super) flows: Region,
    pub(super) paths: Region,
}

// Offsets in words; see weir_abi.h.
const ON: usize = 0;
const ALIVE: usize = 1;
const LENGTH_MAX: usize = 2;
const LINE: usize = size_of::<abi::weir_line>() / 8;
const FREE_AT: usize = 1;
const NANOS_PER_BYTE: usize = 2;
const BURST: usize = 3;
const OVERHEAD: usize = 4;
const LOST: usize = 5;
const ON_WAY: usize = 6;
const SURE: usize = 7;
const NO_ROOM: usize = 8;
const FLOW: usize = size_of::<abi::weir_flow>() / 8;
const FINISHED: usize = 8;
const TRAFFIC: usize = size_of::<abi::weir_traffic>() / 8;

impl ExpressWords {
    /// Lets frames of up to `length_max` bytes take the path.
    pub fn switch_on(&self, length_max: u64) {
        self.mode
            .word(LENGTH_MAX)
            .store(length_max, Ordering::Relaxed);
        self.mode.word(ON).store(1, Ordering::Release);
    }

    /// Keeps frames from the path. Frames whose program has already checked are sent within a grace period.
    pub fn switch_off(&self) {
        self.mode.word(ON).store(0, Ordering::Release);
    }

    /// Records that the core runs. Programs treat the path as off 50 ms after the last call.
    pub fn beat(&self, now_nanos: u64) {
        self.mode.word(ALIVE).store(now_nanos, Ordering::Relaxed);
    }

    /// Sets the shaper of an egress.
    pub fn set_line(&self, port: u8, line: Line) {
        let nanos = (u128::from(8 * 1_000_000_000u64) << 32) / u128::from(line.rate.max(1));
        let at = usize::from(port) * LINE;
        let set = |place, value| self.lines.word(at + place).store(value, Ordering::Relaxed);
        set(NANOS_PER_BYTE, u64::try_from(nanos).unwrap_or(u64::MAX));
        set(BURST, line.burst_nanos);
        set(OVERHEAD, line.overhead_bytes);
        set(SURE, line.is_sure.into());
    }

    /// Returns the gate of an egress. Read it before checking if the egress may be [opened](Self::open).
    pub fn gate(&self, port: u8) -> u64 {
        self.lines
            .word(usize::from(port) * LINE)
            .load(Ordering::Acquire)
    }

    /// Returns the number of MAC control frames that its program has seen, from a [`gate`](Self::gate).
    pub const fn seen(gate: u64) -> u32 {
        (gate >> abi::WEIR_GATE_SEEN_SHIFT) as u32
    }

    /// Returns true if any priority is open in a [`gate`](Self::gate).
    pub const fn is_open(gate: u64) -> bool {
        gate & GATE_OPEN != 0
    }

    /// Opens an egress for `priorities`, one bit for each, unless its gate has changed from `gate`.
    pub fn open(&self, port: u8, gate: u64, priorities: u8) -> bool {
        let new = gate & !GATE_OPEN | u64::from(priorities);
        self.lines
            .word(usize::from(port) * LINE)
            .compare_exchange(gate, new, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }

    /// Closes an egress for all priorities; returns true if any was open.
    pub fn close(&self, port: u8) -> bool {
        let gate = self.lines.word(usize::from(port) * LINE);
        Self::is_open(gate.fetch_and(!GATE_OPEN, Ordering::AcqRel))
    }

    /// Returns the time at which the line of an egress has sent its frames, in nanoseconds.
    pub fn free_at(&self, port: u8) -> u64 {
        self.lines
            .word(usize::from(port) * LINE + FREE_AT)
            .load(Ordering::Acquire)
    }

    /// Marks the line of an egress as busy until at least this time.
    pub fn occupy(&self, port: u8, until_nanos: u64) {
        self.lines
            .word(usize::from(port) * LINE + FREE_AT)
            .fetch_max(until_nanos, Ordering::AcqRel);
    }

    /// Returns the number of frames that the kernel could not pass to this egress's device, since the maps were created.
    pub fn lost(&self, port: u8) -> u64 {
        self.lines
            .word(usize::from(port) * LINE + LOST)
            .load(Ordering::Acquire)
    }

    /// Returns the number of frames that programs have forwarded to this egress and its device has not yet received, if it
    /// is [sure](Line::is_sure). Once the egress is [closed](Self::close) the number only falls, within the running polls.
    pub fn on_way(&self, port: u8) -> u64 {
        // After closing the gate: programs that still found it open are counted.
        fence(Ordering::SeqCst);
        self.lines
            .word(usize::from(port) * LINE + ON_WAY)
            .load(Ordering::Acquire)
    }

    /// Returns the number of frames for this egress that went to the core because its device had no room, or because it was
    /// closed at that moment.
    pub fn no_room(&self, port: u8) -> u64 {
        self.lines
            .word(usize::from(port) * LINE + NO_ROOM)
            .load(Ordering::Relaxed)
    }

    /// Returns the express traffic received on `port`. O(CPUs).
    pub fn came_in(&self, port: u8, priority: u8) -> Traffic {
        self.path(place(port, priority))
    }

    /// Returns the express traffic sent by `port`, or [lost](Self::lost) there. O(CPUs).
    pub fn went_out(&self, port: u8, priority: u8) -> Traffic {
        self.path(abi::WEIR_FLOWS as usize + place(port, priority))
    }

    fn path(&self, index: usize) -> Traffic {
        let mut sum = Traffic::default();
        let places = (index..self.paths.words / TRAFFIC).step_by(abi::WEIR_PATHS as usize);
        for at in places.map(|place| place * TRAFFIC) {
            sum.frames += self.paths.word(at).load(Ordering::Relaxed);
            sum.bytes += self.paths.word(at + 1).load(Ordering::Relaxed);
        }
        sum
    }

    /// Returns the number of frames of (ingress, priority) passed to the core.
    pub fn entered(&self, ingress: u8, priority: u8) -> u64 {
        self.flows
            .word(flow(ingress, priority))
            .load(Ordering::Acquire)
    }

    /// Counts one more frame, which no program has forwarded.
    pub fn enter(&self, ingress: u8, priority: u8) {
        self.flows
            .word(flow(ingress, priority))
            .fetch_add(1, Ordering::AcqRel);
    }

    /// Returns the number of these frames that are no longer inside.
    pub fn finished(&self, ingress: u8, priority: u8) -> u64 {
        self.flows
            .word(flow(ingress, priority) + FINISHED)
            .load(Ordering::Acquire)
    }

    /// Removes `count` frames from those inside: their device has sent them, or they were dropped. For one thread only.
    pub fn finish(&self, ingress: u8, priority: u8, count: u64) {
        let finished = self.flows.word(flow(ingress, priority) + FINISHED);
        let known = finished.load(Ordering::Relaxed);
        finished.store(known + count, Ordering::Release);
    }
}

const GATE_OPEN: u64 = abi::WEIR_GATE_OPEN_MASK as u64;

fn flow(ingress: u8, priority: u8) -> usize {
    place(ingress, priority) * FLOW
}

fn place(port: u8, priority: u8) -> usize {
    usize::from(port) * abi::WEIR_PRIORITIES as usize + usize::from(priority & 7)
}

#[derive(Debug)]
pub(crate) struct Region {
    begin: NonNull<AtomicU64>,
    words: usize,
}

// SAFETY: this value owns the mapping until it is dropped, and all users, including the kernel's programs, access its words
// by atomic operations.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

impl Region {
    pub(crate) fn map(map: &MapHandle, name: &'static str) -> Result<Self, EbpfError> {
        let length = map.value_size() as usize * map.max_entries() as usize;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let fd = map.as_fd().as_raw_fd();
        // SAFETY: a new mapping, at an address chosen by the kernel, of a map of this length.
        let begin = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                length,
                access,
                libc::MAP_SHARED,
                fd,
                0,
            )
        };
        let begin = NonNull::new(begin).filter(|begin| begin.as_ptr() != libc::MAP_FAILED);
        let begin = begin.ok_or_else(|| {
            let code = io::Error::last_os_error().raw_os_error().unwrap_or(0);
            map_error(name)(libbpf_rs::Error::from_raw_os_error(code))
        })?;
        Ok(Self {
            begin: begin.cast(),
            words: length / size_of::<AtomicU64>(),
        })
    }

    /// Returns the word at this index, which is below their number since ports and priorities fit into a byte.
    pub(crate) fn word(&self, at: usize) -> &AtomicU64 {
        debug_assert!(at < self.words, "word {at} of {}", self.words);
        // SAFETY: the index is within the mapping, which begins at a page and lives as long as `self`; any bytes are a valid
        // integer.
        unsafe { self.begin.add(at.min(self.words - 1)).as_ref() }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: this value owns the mapping, and no reference to its words is left.
        unsafe {
            libc::munmap(
                self.begin.as_ptr().cast(),
                self.words * size_of::<AtomicU64>(),
            );
        }
    }
}
