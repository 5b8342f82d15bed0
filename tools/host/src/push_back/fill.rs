//! Sockets so full that the neighbour must wait. Reads no clock and does no I/O.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use weir_core::{BitRate, Quanta};

/// Longest pause without a refresh, in ns, and thus the longest after a killed process.
const PAUSE_NS: u64 = 20_000_000;
/// Maximum ratio of a socket's frame memory to the frames' bytes on the wire, except for small frames.
const MEMORY_FOR_WIRE: u64 = 4;
/// Maximum time between two checks.
pub const LOOK_MAX_NS: u64 = 10_000_000;
/// Number of checks that may miss a socket before it counts as closed: the kernel's list skips a socket when another is
/// closed during the read.
const MISSED_MAX: u8 = 2;

/// State of one socket in a check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// The kernel's unique cookie of the socket.
    pub socket: u64,
    /// Memory of waiting frames in bytes.
    pub used_bytes: u32,
    /// Capacity in bytes.
    pub room_bytes: u32,
    /// Frames dropped since the socket was created.
    pub drops: u32,
}

impl Reading {
    /// Returns the used memory; a refused frame briefly counts beyond the capacity.
    fn used(&self) -> u64 {
        u64::from(self.used_bytes.min(self.room_bytes))
    }

    fn share_of(&self, percent: u8) -> u64 {
        u64::from(self.room_bytes) * u64::from(percent) / 100
    }

    fn used_percent(&self) -> u64 {
        self.used() * 100 / u64::from(self.room_bytes.max(1))
    }
}

/// Conditions for pausing the neighbour.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Fill level in percent from which a socket is full.
    pub xoff_percent: u8,
    /// Fill level in percent down to which it stays full; below `xoff_percent`.
    pub xon_percent: u8,
    /// Time for which a socket that is not read may pause the neighbour.
    pub longest_ns: u64,
    /// Minimum time between two checks.
    pub look_ns: u64,
    /// The link's rate.
    pub rate: BitRate,
}

impl Limits {
    /// Returns the pause time of an XOFF, just long enough for its refresh.
    pub fn quanta(&self) -> Quanta {
        let one_ns = Quanta(1).at(self.rate).as_nanos().max(1);
        Quanta(u16::try_from(PAUSE_NS / one_ns).unwrap_or(u16::MAX).max(2))
    }

    fn pause_ns(&self) -> u64 {
        self.quanta().at(self.rate).as_nanos()
    }

    /// Returns the minimum time in which the line can fill this much memory.
    fn soonest_ns(&self, bytes: u64) -> u64 {
        let bits = u128::from(bytes) * 8 * 1_000_000_000;
        let soonest = bits / u128::from(self.rate.get()) / u128::from(MEMORY_FOR_WIRE);
        u64::try_from(soonest).unwrap_or(u64::MAX)
    }
}

/// Signal to the neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Pause.
    Xoff,
    /// Resume.
    Xon,
}

/// Result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// Signal to send now; [`Fill::sent`] confirms it.
    pub signal: Option<Signal>,
    /// Maximum time until the next check, in ns from now.
    pub again_ns: u64,
}

/// Counts so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Pauses that began.
    pub pauses: u64,
    /// XOFFs during a pause.
    pub refreshes: u64,
    /// Refreshes sent after the previous pause had expired.
    pub late_refreshes: u64,
    /// Pauses ended by an XON.
    pub resumes: u64,
    /// Total duration of finished pauses, in ns.
    pub paused_ns: u64,
    /// Number of times that a socket was ignored because it was not read for too long.
    pub given_up: u64,
    /// Frames dropped by the kernel at watched sockets.
    pub dropped: u64,
    /// Maximum fill level of any socket, in percent of its capacity.
    pub fullest_percent: u64,
    /// Number of checks.
    pub looks: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// It accepts more.
    Takes,
    /// The neighbour is paused for it; it was last read, or became full, at this time.
    Full { read_ns: u64 },
    /// It was not read for too long; the neighbour is not paused for it.
    GivenUp,
}

#[derive(Clone, Copy, Debug)]
struct Socket {
    phase: Phase,
    used: u64,
    drops: u32,
    missed: u8,
}

/// Pause state of the neighbour as last signalled.
#[derive(Clone, Copy, Debug)]
struct Told {
    began_ns: u64,
    last_ns: u64,
}

/// The sockets of one priority.
#[derive(Debug)]
pub struct Fill {
    limits: Limits,
    sockets: BTreeMap<u64, Socket>,
    told: Option<Told>,
    /// Counts so far.
    pub counts: Counts,
}

impl Fill {
    /// Creates a state without sockets.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            sockets: BTreeMap::new(),
            told: None,
            counts: Counts::default(),
        }
    }

    /// Returns the number of watched sockets.
    pub fn sockets(&self) -> usize {
        self.sockets.len()
    }

    /// Returns the number of sockets for which the neighbour is paused.
    pub fn full(&self) -> usize {
        let is_full = |one: &&Socket| matches!(one.phase, Phase::Full { .. });
        self.sockets.values().filter(is_full).count()
    }

    /// Returns the number of sockets ignored now because they are not read.
    pub fn passed_over(&self) -> usize {
        let is_given_up = |one: &&Socket| one.phase == Phase::GivenUp;
        self.sockets.values().filter(is_given_up).count()
    }

    /// Returns true if the neighbour was paused.
    pub fn is_paused(&self) -> bool {
        self.told.is_some()
    }

    /// Processes a check at `now_ns`, with a reading of every socket.
    pub fn look(&mut self, readings: &[Reading], now_ns: u64) -> Order {
        let is_first = self.counts.looks == 0;
        self.counts.looks += 1;
        for socket in self.sockets.values_mut() {
            socket.missed += 1;
        }
        let mut again_ns = LOOK_MAX_NS;
        for reading in readings {
            let distance = self.one(reading, is_first, now_ns);
            again_ns = again_ns.min(self.limits.soonest_ns(distance));
        }
        self.sockets.retain(|_, socket| socket.missed <= MISSED_MAX);
        let mut order = Order {
            signal: None,
            again_ns: again_ns.max(self.limits.look_ns),
        };
        let waits = self.full() > 0;
        let refresh_ns = self.limits.pause_ns() / 2;
        match self.told {
            Some(told) if waits => {
                let due_ns = told.last_ns.saturating_add(refresh_ns);
                match due_ns.checked_sub(now_ns).filter(|left| *left > 0) {
                    Some(left) => order.again_ns = order.again_ns.min(left),
                    None => order.signal = Some(Signal::Xoff),
                }
            }
            None if waits => order.signal = Some(Signal::Xoff),
            Some(_) => order.signal = Some(Signal::Xon),
            None => {}
        }
        if order.signal == Some(Signal::Xoff) {
            order.again_ns = order.again_ns.min(refresh_ns);
        }
        order
    }

    /// Updates a socket; returns the amount of memory until its next change.
    fn one(&mut self, reading: &Reading, is_first: bool, now_ns: u64) -> u64 {
        let used = reading.used();
        let new = Socket {
            phase: Phase::Takes,
            used,
            // Earlier drops do not count.
            drops: if is_first { reading.drops } else { 0 },
            missed: 0,
        };
        let socket = self.sockets.entry(reading.socket).or_insert(new);
        socket.missed = 0;
        let dropped = reading.drops.wrapping_sub(socket.drops);
        socket.drops = reading.drops;
        self.counts.dropped += u64::from(dropped);
        self.counts.fullest_percent = self.counts.fullest_percent.max(reading.used_percent());
        let is_read = used < socket.used;
        socket.used = used;
        // A socket without capacity is not full, but never accepts anything.
        let xoff = reading.share_of(self.limits.xoff_percent).max(1);
        let xon = reading.share_of(self.limits.xon_percent);
        if let Phase::Full { read_ns } = &mut socket.phase {
            if is_read {
                *read_ns = now_ns;
            }
            if now_ns.saturating_sub(*read_ns) >= self.limits.longest_ns {
                socket.phase = Phase::GivenUp;
                self.counts.given_up += 1;
            }
        }
        if used <= xon || socket.phase == Phase::GivenUp && is_read {
            socket.phase = Phase::Takes;
        }
        if socket.phase == Phase::Takes && used >= xoff {
            socket.phase = Phase::Full { read_ns: now_ns };
        }
        match socket.phase {
            Phase::Takes => xoff - used,
            Phase::Full { .. } => used - xon,
            Phase::GivenUp => u64::MAX,
        }
    }

    /// Records that `signal` was sent at `now_ns`.
    pub fn sent(&mut self, signal: Signal, now_ns: u64) {
        match (signal, &mut self.told) {
            (Signal::Xoff, Some(told)) => {
                let since_ns = now_ns.saturating_sub(told.last_ns);
                self.counts.late_refreshes += u64::from(since_ns > self.limits.pause_ns());
                self.counts.refreshes += 1;
                told.last_ns = now_ns;
            }
            (Signal::Xoff, none) => {
                self.counts.pauses += 1;
                *none = Some(Told {
                    began_ns: now_ns,
                    last_ns: now_ns,
                });
            }
            (Signal::Xon, told) => {
                if let Some(told) = told.take() {
                    self.counts.resumes += 1;
                    self.counts.paused_ns += now_ns.saturating_sub(told.began_ns);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
