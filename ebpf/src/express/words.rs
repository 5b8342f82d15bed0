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

/// The words that programs and the core write and read while frames pass.
#[derive(Debug)]
pub struct ExpressWords {
    pub(super) mode: Region,
    pub(super) lines: Region,
    pub(super) flows: Region,
    pub(super) paths: Region,
}

// Places of the words, in words: see weir_abi.h.
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
    /// Frames up to `length_max` bytes may take the path.
    pub fn switch_on(&self, length_max: u64) {
        self.mode
            .word(LENGTH_MAX)
            .store(length_max, Ordering::Relaxed);
        self.mode.word(ON).store(1, Ordering::Release);
    }

    /// No frame takes the path, but for those whose program has looked already: they have left a grace period later.
    pub fn switch_off(&self) {
        self.mode.word(ON).store(0, Ordering::Release);
    }

    /// The core runs. Programs without this sign for 50 ms treat the path as off.
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

    /// The gate of an egress, to be read before it is found out whether it may be [opened](Self::open).
    pub fn gate(&self, port: u8) -> u64 {
        self.lines
            .word(usize::from(port) * LINE)
            .load(Ordering::Acquire)
    }

    /// MAC control frames that its program has seen, of a [`gate`](Self::gate).
    pub const fn seen(gate: u64) -> u32 {
        (gate >> abi::WEIR_GATE_SEEN_SHIFT) as u32
    }

    /// Returns true if any priority is open in a [`gate`](Self::gate).
    pub const fn is_open(gate: u64) -> bool {
        gate & GATE_OPEN != 0
    }

    /// Opens an egress for `priorities`, one bit for each, unless something has happened since its gate was `gate`.
    pub fn open(&self, port: u8, gate: u64, priorities: u8) -> bool {
        let new = gate & !GATE_OPEN | u64::from(priorities);
        self.lines
            .word(usize::from(port) * LINE)
            .compare_exchange(gate, new, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }

    /// Shuts an egress for all priorities; true when any was open.
    pub fn close(&self, port: u8) -> bool {
        let gate = self.lines.word(usize::from(port) * LINE);
        Self::is_open(gate.fetch_and(!GATE_OPEN, Ordering::AcqRel))
    }

    /// When the line of an egress has sent what it was given, in nanoseconds.
    pub fn free_at(&self, port: u8) -> u64 {
        self.lines
            .word(usize::from(port) * LINE + FREE_AT)
            .load(Ordering::Acquire)
    }

    /// The line of an egress is busy at least until then.
    pub fn occupy(&self, port: u8, until_nanos: u64) {
        self.lines
            .word(usize::from(port) * LINE + FREE_AT)
            .fetch_max(until_nanos, Ordering::AcqRel);
    }

    /// Frames that the kernel could not give this egress's device, since the maps were made.
    pub fn lost(&self, port: u8) -> u64 {
        self.lines
            .word(usize::from(port) * LINE + LOST)
            .load(Ordering::Acquire)
    }

    /// Frames that programs have let pass to this egress and that its device has not been given yet, where it is [sure](Line::is_sure).
    /// Once the egress is [shut](Self::close) the number only falls, within the polls that run.
    pub fn on_way(&self, port: u8) -> u64 {
        // After the gate was shut: a program that still finds it open is in the number.
        fence(Ordering::SeqCst);
        self.lines
            .word(usize::from(port) * LINE + ON_WAY)
            .load(Ordering::Acquire)
    }

    /// Frames for this egress that went to the core since its device had no room for them, or since it was shut that very moment.
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

    /// Frames of (ingress, priority) that were handed to the core.
    pub fn entered(&self, ingress: u8, priority: u8) -> u64 {
        self.flows
            .word(flow(ingress, priority))
            .load(Ordering::Acquire)
    }

    /// One more was, by no program.
    pub fn enter(&self, ingress: u8, priority: u8) {
        self.flows
            .word(flow(ingress, priority))
            .fetch_add(1, Ordering::AcqRel);
    }

    /// Of those, how many are no longer inside.
    pub fn finished(&self, ingress: u8, priority: u8) -> u64 {
        self.flows
            .word(flow(ingress, priority) + FINISHED)
            .load(Ordering::Acquire)
    }

    /// `count` more are not, and will not be seen again: their device has sent them, or they were dropped. For one thread alone.
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

// SAFETY: the memory belongs to this alone until it is dropped, and everybody, the kernel's programs too, uses its words by
// atomic operations.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

impl Region {
    pub(crate) fn map(map: &MapHandle, name: &'static str) -> Result<Self, EbpfError> {
        let length = map.value_size() as usize * map.max_entries() as usize;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let fd = map.as_fd().as_raw_fd();
        // SAFETY: a new mapping, wherever the kernel wants it, of a map that was made for this and is as long.
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

    /// Returns the word with this number, which is below their count: ports and priorities are a
    /// byte's.
    pub(crate) fn word(&self, at: usize) -> &AtomicU64 {
        debug_assert!(at < self.words, "word {at} of {}", self.words);
        // SAFETY: the index is within the mapping, which begins at a page and lives as long as `self`; any bytes are an
        // integer.
        unsafe { self.begin.add(at.min(self.words - 1)).as_ref() }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: the mapping is this one's, and nobody has a reference to its words any more.
        unsafe {
            libc::munmap(
                self.begin.as_ptr().cast(),
                self.words * size_of::<AtomicU64>(),
            );
        }
    }
}
