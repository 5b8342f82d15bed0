//! The maps and words of the express path, which the programs of all ports share with the switch core. The argument is in
//! the book (`docs/src/internals/express.md`): who writes which word, in which order, and why.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use libbpf_rs::libbpf_sys::{self, bpf_map_create_opts};
use libbpf_rs::{MapCore, MapFlags, MapHandle, MapType, OpenMapMut};
use nix::libc;
use weir_abi as abi;

use crate::counters::Traffic;
use crate::error::EbpfError;
use crate::program::{map_error, word, PortProgram};

/// The maps. They live for as long as a program or this does.
#[derive(Debug)]
pub struct ExpressMaps {
    mode: MapHandle,
    lines: MapHandle,
    flows: MapHandle,
    routes: MapHandle,
    devices: MapHandle,
}

/// What the shaper of an egress needs to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// Bits a second, above zero.
    pub rate: u64,
    /// What may go back to back after a time without frames.
    pub burst_nanos: u64,
    /// Bytes between two frames.
    pub overhead_bytes: u64,
}

impl ExpressMaps {
    /// Makes the maps: the path is off, every egress shut, no route known.
    ///
    /// # Errors
    ///
    /// [`EbpfError::Map`] when the kernel refuses.
    pub fn new() -> Result<Self, EbpfError> {
        let words = |name, size: usize, count| {
            create(
                MapType::Array,
                name,
                [4, size as u32, count],
                libbpf_sys::BPF_F_MMAPABLE,
            )
        };
        let (routes, ports) = (abi::WEIR_ROUTES_MAX, abi::WEIR_PORTS_MAX);
        Ok(Self {
            mode: words("weir_mode", size_of::<abi::weir_mode>(), 1)?,
            lines: words("weir_lines", size_of::<abi::weir_line>(), ports)?,
            flows: words("weir_flows", size_of::<abi::weir_flow>(), abi::WEIR_FLOWS)?,
            routes: create(
                MapType::Hash,
                "weir_routes",
                [8, 4, routes],
                libbpf_sys::BPF_F_NO_PREALLOC,
            )?,
            devices: create(MapType::Devmap, "weir_devices", [4, 4, ports], 0)?,
        })
    }

    /// Has a program that is about to be loaded use the `shared` maps, or do without.
    pub(crate) fn prepare(
        shared: Option<&Self>,
        words: [&mut OpenMapMut<'_>; 5],
        counters: &mut OpenMapMut<'_>,
    ) -> libbpf_rs::Result<()> {
        let Some(shared) = shared else {
            counters.set_autocreate(false)?;
            return words
                .into_iter()
                .try_for_each(|map| map.set_autocreate(false));
        };
        let own = [
            &shared.mode,
            &shared.lines,
            &shared.flows,
            &shared.routes,
            &shared.devices,
        ];
        let mut both = words.into_iter().zip(own);
        both.try_for_each(|(map, shared)| map.reuse_fd(shared.as_fd()))
    }

    /// Frames that go to `port` leave by this device.
    ///
    /// # Errors
    ///
    /// [`EbpfError::Map`], also for a device that takes no redirected frames.
    pub fn set_device(&self, port: u8, ifindex: u32) -> Result<(), EbpfError> {
        let key = u32::from(port).to_ne_bytes();
        self.devices
            .update(&key, &ifindex.to_ne_bytes(), MapFlags::ANY)
            .map_err(map_error("weir_devices"))
    }

    /// No frame leaves by `port`'s device any more.
    ///
    /// # Errors
    ///
    /// [`EbpfError::Map`].
    pub fn clear_device(&self, port: u8) -> Result<(), EbpfError> {
        forget(
            &self.devices,
            "weir_devices",
            &u32::from(port).to_ne_bytes(),
        )
    }

    /// All frames for `destination` leave by `egress`.
    ///
    /// # Errors
    ///
    /// [`EbpfError::Map`], also when there are too many.
    pub fn set_route(&self, destination: [u8; 6], egress: u8) -> Result<(), EbpfError> {
        let value = u32::from(egress).to_ne_bytes();
        self.routes
            .update(&route_key(destination), &value, MapFlags::ANY)
            .map_err(map_error("weir_routes"))
    }

    /// Frames for `destination` are the core's again.
    ///
    /// # Errors
    ///
    /// [`EbpfError::Map`].
    pub fn clear_route(&self, destination: [u8; 6]) -> Result<(), EbpfError> {
        forget(&self.routes, "weir_routes", &route_key(destination))
    }

    /// The words, in this process's memory.
    ///
    /// # Errors
    ///
    /// [`EbpfError::Map`] when they cannot be mapped.
    pub fn words(&self) -> Result<ExpressWords, EbpfError> {
        Ok(ExpressWords {
            mode: Region::map(&self.mode, "weir_mode", size_of::<abi::weir_mode>())?,
            lines: Region::map(
                &self.lines,
                "weir_lines",
                size_of::<abi::weir_line>() * abi::WEIR_PORTS_MAX as usize,
            )?,
            flows: Region::map(
                &self.flows,
                "weir_flows",
                size_of::<abi::weir_flow>() * abi::WEIR_FLOWS as usize,
            )?,
        })
    }
}

impl PortProgram {
    /// What came in by this port and left by `egress` on the express path, by priority. Zero where there is none.
    ///
    /// # Errors
    ///
    /// [`EbpfError::Map`].
    pub fn express_traffic(
        &self,
        egress: u8,
    ) -> Result<[Traffic; abi::WEIR_PRIORITIES as usize], EbpfError> {
        let mut traffic = [Traffic::default(); abi::WEIR_PRIORITIES as usize];
        let Some(map) = &self.express else {
            return Ok(traffic);
        };
        for (priority, place) in traffic.iter_mut().enumerate() {
            let index = u32::from(egress) * abi::WEIR_PRIORITIES + priority as u32;
            for value in self.per_cpu(map, "weir_express", index)? {
                place.frames += word(&value, 0);
                place.bytes += word(&value, 1);
            }
        }
        Ok(traffic)
    }
}

/// The words that programs and the core write and read while frames pass.
#[derive(Debug)]
pub struct ExpressWords {
    mode: Region,
    lines: Region,
    flows: Region,
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
const FLOW: usize = size_of::<abi::weir_flow>() / 8;
const FINISHED: usize = 8;

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

    /// The core runs. Programs that have not been told so for 50 ms take the path as off.
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

    /// Whether any priority is open, of a [`gate`](Self::gate).
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
    let priority = usize::from(priority & 7);
    (usize::from(ingress) * abi::WEIR_PRIORITIES as usize + priority) * FLOW
}

fn route_key(destination: [u8; 6]) -> [u8; 8] {
    let mut key = [0; 8];
    key[..6].copy_from_slice(&destination);
    key
}

fn create(
    kind: MapType,
    name: &'static str,
    [key, value, count]: [u32; 3],
    flags: u32,
) -> Result<MapHandle, EbpfError> {
    let options = bpf_map_create_opts {
        sz: size_of::<bpf_map_create_opts>() as _,
        map_flags: flags,
        ..Default::default()
    };
    MapHandle::create(kind, Some(name), key, value, count, &options).map_err(map_error(name))
}

/// What is not there is forgotten.
fn forget(map: &MapHandle, name: &'static str, key: &[u8]) -> Result<(), EbpfError> {
    match map.delete(key) {
        Err(error) if error.kind() != libbpf_rs::ErrorKind::NotFound => Err(map_error(name)(error)),
        _ => Ok(()),
    }
}

/// A map's values in this process's memory, as words.
#[derive(Debug)]
struct Region {
    begin: NonNull<AtomicU64>,
    words: usize,
}

// SAFETY: the memory belongs to this alone until it is dropped, and everybody, the kernel's programs too, uses its words by
// atomic operations.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

impl Region {
    fn map(map: &MapHandle, name: &'static str, length: usize) -> Result<Self, EbpfError> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let fd = map.as_fd().as_raw_fd();
        // SAFETY: a new mapping, wherever the kernel wants it, of a map that was made for this and is at least as long.
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

    /// The word with this number, which is below their count: ports and priorities are a byte's.
    fn word(&self, at: usize) -> &AtomicU64 {
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
