//! Which sockets are so full that the neighbour is to wait. It reads no clock and does no I/O.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use weir_core::{BitRate, Quanta};

/// The longest that a pause lasts which nobody refreshes: a killed process leaves no more than this.
const PAUSE_NS: u64 = 20_000_000;
/// The memory of frames in a socket is at most so many times their bytes on the wire, unless they are small.
const MEMORY_FOR_WIRE: u64 = 4;
/// The longest time between two looks.
pub const LOOK_MAX_NS: u64 = 10_000_000;
/// Looks that may miss a socket before it counts as closed: the kernel's list passes over one when another is closed while it
/// is read.
const MISSED_MAX: u8 = 2;

/// What a look saw of one socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// The kernel's name of it, never given twice.
    pub socket: u64,
    /// Memory of the frames that wait in it, in bytes.
    pub used_bytes: u32,
    /// The most that it takes, in bytes.
    pub room_bytes: u32,
    /// Frames that were dropped at it since it was made.
    pub drops: u32,
}

impl Reading {
    /// A frame that is refused counts for a moment, above the room.
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

/// When to pause the neighbour.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// A socket is full from here on, in percent of its room.
    pub xoff_percent: u8,
    /// It is no longer full from here down. Below `xoff_percent`.
    pub xon_percent: u8,
    /// How long a socket that nobody reads may keep the neighbour waiting.
    pub longest_ns: u64,
    /// The shortest time between two looks.
    pub look_ns: u64,
    /// The link's rate.
    pub rate: BitRate,
}

impl Limits {
    /// What an XOFF asks for: no longer than its refresh needs.
    pub fn quanta(&self) -> Quanta {
        let one_ns = Quanta(1).at(self.rate).as_nanos().max(1);
        Quanta(u16::try_from(PAUSE_NS / one_ns).unwrap_or(u16::MAX).max(2))
    }

    fn pause_ns(&self) -> u64 {
        self.quanta().at(self.rate).as_nanos()
    }

    /// How soon a line may bring so many bytes of memory.
    fn soonest_ns(&self, bytes: u64) -> u64 {
        let bits = u128::from(bytes) * 8 * 1_000_000_000;
        let soonest = bits / u128::from(self.rate.get()) / u128::from(MEMORY_FOR_WIRE);
        u64::try_from(soonest).unwrap_or(u64::MAX)
    }
}

/// What the neighbour is to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Wait.
    Xoff,
    /// Go on.
    Xon,
}

/// What follows from a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// What the neighbour is to be told now; [`Fill::sent`] says that it was.
    pub signal: Option<Signal>,
    /// When to look again at the latest, in ns from now.
    pub again_ns: u64,
}

/// What has happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Pauses that began.
    pub pauses: u64,
    /// XOFFs during a pause.
    pub refreshes: u64,
    /// Refreshes that came when the pause before had run out.
    pub late_refreshes: u64,
    /// Pauses that were ended by an XON.
    pub resumes: u64,
    /// How long the pauses that have ended lasted together, in ns.
    pub paused_ns: u64,
    /// How often a socket was passed over, because nobody read it for too long.
    pub given_up: u64,
    /// Frames that the kernel dropped at watched sockets.
    pub dropped: u64,
    /// The most that a socket was ever filled, in percent of its room.
    pub fullest_percent: u64,
    /// Looks at the sockets.
    pub looks: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// It takes more.
    Takes,
    /// The neighbour waits for it; it was last read, or became full, at this time.
    Full { read_ns: u64 },
    /// Nobody has read it for too long; the neighbour does not wait for it.
    GivenUp,
}

#[derive(Clone, Copy, Debug)]
struct Socket {
    phase: Phase,
    used: u64,
    drops: u32,
    missed: u8,
}

/// The neighbour's pause as it was last told.
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
    /// What has happened.
    pub counts: Counts,
}

impl Fill {
    /// None yet.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            sockets: BTreeMap::new(),
            told: None,
            counts: Counts::default(),
        }
    }

    /// Sockets that are watched.
    pub fn sockets(&self) -> usize {
        self.sockets.len()
    }

    /// Sockets for which the neighbour waits.
    pub fn full(&self) -> usize {
        let is_full = |one: &&Socket| matches!(one.phase, Phase::Full { .. });
        self.sockets.values().filter(is_full).count()
    }

    /// Sockets that are passed over now, because nobody reads them.
    pub fn passed_over(&self) -> usize {
        let is_given_up = |one: &&Socket| one.phase == Phase::GivenUp;
        self.sockets.values().filter(is_given_up).count()
    }

    /// Whether the neighbour was told to wait.
    pub fn is_paused(&self) -> bool {
        self.told.is_some()
    }

    /// A look at `now_ns`, with a reading of every socket there is.
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

    /// Gives how much memory lies between the socket's fill and what would change something.
    fn one(&mut self, reading: &Reading, is_first: bool, now_ns: u64) -> u64 {
        let used = reading.used();
        let new = Socket {
            phase: Phase::Takes,
            used,
            // What was dropped before the first look is none of ours.
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
        // Whoever has no room at all is not full, but never takes anything.
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

    /// That the neighbour was told so at `now_ns`.
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
