//! Reference model of pools, as slow as the definitions: everything follows from the frames inside.

use weir_core::{Bytes, ClassMode, Duration, Instant, PortId, Priority, SwitchConfig, Threshold};

/// A frame that is inside, in whole cells.
#[derive(Clone, Copy, Debug)]
pub struct Inside {
    pub handle: u32,
    pub port: usize,
    pub priority: Priority,
    pub cells: u64,
}

/// A release of one buffer: values within the headroom.
#[derive(Clone, Copy, Debug)]
enum Raise {
    Active { xoff: u64, xon: u64, until: Instant },
    Draining { xoff: u64 },
}

#[derive(Clone, Copy, Debug, Default)]
struct Buffer {
    above: u64,
    over: bool,
    pausing: bool,
    raise: Option<Raise>,
    refresh_at: Option<Instant>,
}

pub struct Model {
    config: SwitchConfig,
    inside: Vec<Inside>,
    buffers: Vec<[Buffer; 8]>,
    last: usize,
}

const PLACES: usize = 8 * 256;

impl Model {
    pub fn new(config: SwitchConfig) -> Self {
        Self {
            buffers: vec![Default::default(); config.ports.len()],
            inside: Vec::new(),
            last: 0,
            config,
        }
    }

    pub fn occupancy(&self, port: usize, priority: Priority) -> u64 {
        let of = |frame: &&Inside| frame.port == port && frame.priority == priority;
        self.inside.iter().filter(of).map(|frame| frame.cells).sum()
    }

    /// Returns the part of the pool used by a buffer.
    fn shared(&self, port: usize, priority: Priority) -> u64 {
        let Some(share) = self.config.classes[priority.index()].pool else {
            return 0;
        };
        let above = self.buffers[port][priority.index()].above;
        let beside = self.occupancy(port, priority) - above;
        beside.saturating_sub(share.reserved.get())
    }

    fn all(&self) -> impl Iterator<Item = (usize, Priority)> {
        let ports = self.buffers.len();
        let of = move |priority| (0..ports).map(move |port| (port, priority));
        Priority::ALL.into_iter().flat_map(of)
    }

    pub fn used(&self) -> u64 {
        self.all()
            .map(|(port, priority)| self.shared(port, priority))
            .sum()
    }

    fn headroom(&self, priority: Priority) -> u64 {
        match self.config.classes[priority.index()].mode {
            ClassMode::Pfc(thresholds) => thresholds.headroom().get(),
            _ => 0,
        }
    }

    pub fn headroom_used(&self) -> u64 {
        let within = |(port, priority): (usize, Priority)| {
            let above = self.buffers[port][priority.index()].above;
            above.min(self.headroom(priority))
        };
        self.all().map(within).sum()
    }

    fn lent(&self) -> u64 {
        let beyond = |(port, priority): (usize, Priority)| {
            let above = self.buffers[port][priority.index()].above;
            above.saturating_sub(self.headroom(priority))
        };
        self.all().map(beyond).sum()
    }

    fn threshold(&self, port: usize, priority: Priority) -> u64 {
        let free = self.config.pools[0].size.get() - self.used();
        let of_class = self.config.classes[priority.index()].pool.unwrap();
        let of_port = self.config.ports[port].pool_thresholds[priority.index()];
        match of_port.unwrap_or(of_class.threshold) {
            Threshold::Static(threshold) => threshold.get(),
            Threshold::Dynamic(alpha) => {
                let exponent = i32::from(alpha.exponent());
                (free as f64 * f64::from(exponent).exp2()).floor() as u64
            }
        }
    }

    pub fn is_pausing(&self, port: usize, priority: Priority) -> bool {
        self.buffers[port][priority.index()].pausing
    }

    /// Returns true if there is a reason for a pause now: bytes of the buffer in the headroom, or in the pool.
    pub fn is_justified(&self, port: usize, priority: Priority) -> bool {
        let share = self.config.classes[priority.index()].pool.unwrap();
        let shared = self.shared(port, priority);
        let below =
            shared == 0 || shared + share.xon_offset.get() <= self.threshold(port, priority);
        self.buffers[port][priority.index()].above > 0 || !below
    }

    pub fn admit(&mut self, frame: Inside) -> bool {
        let (port, priority, cells) = (frame.port, frame.priority, frame.cells);
        let class = self.config.classes[priority.index()];
        let Some(share) = class.pool else {
            let ClassMode::Lossy { buffer } = class.mode else {
                unreachable!()
            };
            let fits = self.occupancy(port, priority) + cells <= buffer.get();
            if fits {
                self.inside.push(frame);
            }
            return fits;
        };
        let occupancy = self.occupancy(port, priority);
        let free = self.config.pools[0].size.get() - self.used();
        let buffer = self.buffers[port][priority.index()];
        if buffer.over {
            let fits = self.admit_above(frame, cells);
            self.look(port, priority);
            return fits;
        }
        let of_pool = (occupancy + cells).saturating_sub(share.reserved.get().max(occupancy));
        if !class.mode.is_lossless() {
            let below =
                of_pool == 0 || self.shared(port, priority) < self.threshold(port, priority);
            let fits = below && of_pool <= free;
            if fits {
                self.inside.push(frame);
            }
            return fits;
        }
        let fits = if of_pool > free {
            self.buffers[port][priority.index()].over = true;
            self.admit_above(frame, of_pool)
        } else {
            self.inside.push(frame);
            let shared = self.shared(port, priority);
            self.buffers[port][priority.index()].over =
                shared > 0 && of_pool > 0 && shared >= self.threshold(port, priority);
            true
        };
        self.look(port, priority);
        fits
    }

    fn admit_above(&mut self, frame: Inside, cells: u64) -> bool {
        let (port, priority) = (frame.port, frame.priority);
        let headroom = self.headroom(priority);
        let lends = match self.buffers[port][priority.index()].raise {
            None => 0,
            Some(Raise::Active { xoff, .. } | Raise::Draining { xoff }) => xoff,
        };
        let before = self.buffers[port][priority.index()].above;
        let above = before + cells;
        let of_pool = self.config.pools[0].headroom.get();
        self.buffers[port][priority.index()].above = above;
        let fits =
            above <= headroom + lends && self.headroom_used() <= of_pool && self.lent() <= of_pool;
        if fits {
            self.inside.push(frame);
        } else {
            self.buffers[port][priority.index()].above = before;
        }
        fits
    }

    pub fn complete(&mut self, handle: u32) {
        let index = self.inside.iter().position(|frame| frame.handle == handle);
        let frame = self.inside[index.unwrap()];
        let (port, priority) = (frame.port, frame.priority);
        let had = self.shared(port, priority) + self.buffers[port][priority.index()].above;
        self.inside.swap_remove(index.unwrap());
        if self.config.classes[priority.index()].pool.is_none() {
            return;
        }
        let buffer = &mut self.buffers[port][priority.index()];
        buffer.above -= buffer.above.min(frame.cells);
        if matches!(buffer.raise, Some(Raise::Draining { .. })) && buffer.above == 0 {
            buffer.raise = None;
        }
        if self.config.classes[priority.index()].mode.is_lossless() {
            self.look(port, priority);
        }
        // Bytes from a reserve change no threshold.
        for _ in 0..if had > 0 { 2 } else { 0 } {
            let place = |(port, priority): (usize, Priority)| priority.index() * 256 + port;
            let from = |at: usize| (at + PLACES - self.last - 1) % PLACES;
            let over = self
                .all()
                .filter(|(port, priority)| self.buffers[*port][priority.index()].over);
            let next = over.min_by_key(|at| from(place(*at)));
            let Some((port, priority)) = next else {
                break;
            };
            self.last = place((port, priority));
            self.look(port, priority);
        }
    }

    fn look(&mut self, port: usize, priority: Priority) {
        let is_justified = self.is_justified(port, priority);
        let buffer = &mut self.buffers[port][priority.index()];
        buffer.over &= is_justified;
        let pauses = match buffer.raise {
            Some(Raise::Active { xon, .. }) if buffer.pausing => buffer.over && buffer.above > xon,
            Some(Raise::Active { xoff, .. }) => buffer.over && buffer.above >= xoff,
            _ => buffer.over,
        };
        if pauses && !buffer.pausing {
            buffer.refresh_at = None;
        }
        buffer.pausing = pauses;
    }

    pub fn raise(&mut self, port: usize, priority: Priority, extra: u64, until: Instant) {
        let headroom = self.headroom(priority);
        let buffer = &mut self.buffers[port][priority.index()];
        let until = match buffer.raise {
            Some(Raise::Active { until: earlier, .. }) => earlier.max(until),
            _ => until,
        };
        let xoff = (buffer.above + extra).min(headroom);
        let xon = (xoff.saturating_sub(extra)).max(buffer.above.min(xoff - 1));
        buffer.raise = Some(Raise::Active { xoff, xon, until });
        self.look(port, priority);
    }

    pub fn note_pause_sent(&mut self, port: PortId, priority: Priority, at: Instant) {
        self.buffers[port.index()][priority.index()].refresh_at = Some(at);
    }

    pub fn pass(&mut self, now: Instant) {
        for port in 0..self.buffers.len() {
            for priority in Priority::ALL {
                if !self.config.classes[priority.index()].mode.is_lossless() {
                    continue;
                }
                let buffer = &mut self.buffers[port][priority.index()];
                if buffer.pausing && buffer.refresh_at.is_some_and(|at| at <= now) {
                    buffer.refresh_at = None;
                    self.look(port, priority);
                }
                let buffer = &mut self.buffers[port][priority.index()];
                if let Some(Raise::Active { xoff, until, .. }) = buffer.raise {
                    if until <= now {
                        buffer.raise = (buffer.above > 0).then_some(Raise::Draining { xoff });
                        self.look(port, priority);
                    }
                }
            }
        }
    }

    /// Returns the longest time without a check of a pause, at a port of this switch.
    pub fn refresh(&self) -> Duration {
        self.config
            .pause_time
            .at(self.config.ports[0].rate)
            .divided_by(2)
    }

    pub fn cells(&self, length: u64) -> u64 {
        Bytes::new(length).round_up_to(self.config.cell).get()
    }
}
