//! Peaks for three readers. Every snapshot takes the core's peaks and restarts them; this module adds them to the window of
//! each reader. Clearing one window, or a different sampling interval, does not affect the other windows.

use std::sync::Arc;

use weir_api::words::Reader;
use weir_core::config::POOLS_MAX;
use weir_core::units::PRIORITY_COUNT;
use weir_core::{Bytes, Duration, Instant, PortId};
use weir_dataplane::messages::Snapshot;

/// Peaks of one (port, priority).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Peaks {
    /// Charged to the ingress buffer.
    pub ingress: Bytes,
    /// Part above the configured xoff.
    pub headroom_used: Bytes,
    /// Waiting for the egress.
    pub egress: Bytes,
}

/// Peaks of one pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolPeaks {
    /// Peak of the bytes that its buffers used.
    pub used: Bytes,
    /// Peak of its headroom.
    pub headroom_used: Bytes,
}

/// Peaks of one port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortPeaks {
    /// Start of observation.
    pub since: Instant,
    /// By priority.
    pub priorities: [Peaks; PRIORITY_COUNT],
}

/// Peaks of a switch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Time from which frames inside the switch are observed.
    pub since: Instant,
    /// Peak number of frames inside the switch.
    pub held_frames: u64,
    /// By port.
    pub ports: Vec<PortPeaks>,
    /// By pool.
    pub pools: [PoolPeaks; POOLS_MAX],
}

/// Watermarks for one reader.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a> {
    /// The reader.
    pub reader: Reader,
    /// The peaks.
    pub window: &'a Window,
    /// End of the window, if it has ended.
    pub until: Option<Instant>,
}

/// The readers' windows.
#[derive(Clone, Debug)]
pub struct Watermarks {
    interval: Duration,
    /// State in the last snapshot: the start of a new window.
    present: Window,
    user: Window,
    persistent: Window,
    telemetry: Window,
    /// The last complete interval, and its end.
    last: Option<(Arc<Window>, Instant)>,
}

impl Peaks {
    fn merge(&mut self, other: &Self) {
        self.ingress = self.ingress.max(other.ingress);
        self.headroom_used = self.headroom_used.max(other.headroom_used);
        self.egress = self.egress.max(other.egress);
    }
}

impl Window {
    fn new(since: Instant, port_count: usize) -> Self {
        let port = PortPeaks {
            since,
            priorities: [Peaks::default(); PRIORITY_COUNT],
        };
        Self {
            since,
            held_frames: 0,
            ports: vec![port; port_count],
            pools: Default::default(),
        }
    }

    /// Returns the peaks of one port; `None` for a port that does not exist.
    pub fn port(&self, port: PortId) -> Option<&PortPeaks> {
        self.ports.get(port.index())
    }

    fn merge(&mut self, taken: &Self) {
        self.held_frames = self.held_frames.max(taken.held_frames);
        for (own, taken) in self.pools.iter_mut().zip(&taken.pools) {
            own.used = own.used.max(taken.used);
            own.headroom_used = own.headroom_used.max(taken.headroom_used);
        }
        let ports = self.ports.iter_mut().zip(&taken.ports);
        for (own, taken) in ports {
            let priorities = own.priorities.iter_mut().zip(&taken.priorities);
            priorities.for_each(|(own, taken)| own.merge(taken));
        }
    }

    fn fill(&mut self, snapshot: &Snapshot, held_frames: u64, of: Of, of_pool: OfPool) {
        (self.since, self.held_frames) = (snapshot.at, held_frames);
        for (own, gauges) in self.pools.iter_mut().zip(&snapshot.pools) {
            *own = of_pool(gauges);
        }
        for (own, state) in self.ports.iter_mut().zip(&snapshot.ports) {
            own.since = snapshot.at;
            let priorities = own.priorities.iter_mut().zip(&state.gauges);
            priorities.for_each(|(own, gauges)| *own = of(gauges));
        }
    }
}

type Of = fn(&weir_core::switch::PriorityGauges) -> Peaks;

type OfPool = fn(&weir_core::switch::PoolGauges) -> PoolPeaks;

impl Watermarks {
    /// Creates windows that begin at `now`.
    pub fn new(now: Instant, port_count: usize, interval: Duration) -> Self {
        let window = Window::new(now, port_count);
        Self {
            interval,
            present: window.clone(),
            user: window.clone(),
            persistent: window.clone(),
            telemetry: window,
            last: None,
        }
    }

    /// Returns the length of a telemetry interval.
    pub fn interval(&self) -> Duration {
        self.interval
    }

    /// Changes the interval; the current one counts from its beginning.
    pub fn set_interval(&mut self, interval: Duration) {
        self.interval = interval;
    }

    /// Returns the end of the current interval; it ends with the first snapshot from then on.
    pub fn due(&self) -> Instant {
        self.telemetry.since + self.interval
    }

    /// Adds the peaks of `snapshot` to each reader's window, and replaces them in `snapshot` by those of
    /// [`Reader::Persistent`], since peaks since the previous snapshot are useless to readers.
    pub fn take(&mut self, snapshot: &mut Snapshot) {
        let mut taken = std::mem::take(&mut self.present);
        let of = |gauges: &weir_core::switch::PriorityGauges| Peaks {
            ingress: gauges.ingress_max,
            headroom_used: gauges.headroom_used_max,
            egress: gauges.egress_max,
        };
        let of_pool = |gauges: &weir_core::switch::PoolGauges| PoolPeaks {
            used: gauges.used_max,
            headroom_used: gauges.headroom_used_max,
        };
        taken.fill(snapshot, snapshot.held_frames_max, of, of_pool);
        for window in [&mut self.user, &mut self.persistent, &mut self.telemetry] {
            window.merge(&taken);
        }
        self.present = taken;
        let of = |gauges: &weir_core::switch::PriorityGauges| Peaks {
            ingress: gauges.ingress,
            headroom_used: gauges.headroom_used,
            egress: gauges.egress,
        };
        let of_pool = |gauges: &weir_core::switch::PoolGauges| PoolPeaks {
            used: gauges.used,
            headroom_used: gauges.headroom_used,
        };
        self.present
            .fill(snapshot, snapshot.held_frames, of, of_pool);
        if snapshot.at >= self.due() {
            let over = std::mem::replace(&mut self.telemetry, self.present.clone());
            self.last = Some((Arc::new(over), snapshot.at));
        }
        snapshot.held_frames_max = self.persistent.held_frames;
        for (gauges, peaks) in snapshot.pools.iter_mut().zip(&self.persistent.pools) {
            gauges.used_max = peaks.used;
            gauges.headroom_used_max = peaks.headroom_used;
        }
        for (state, peaks) in snapshot.ports.iter_mut().zip(&self.persistent.ports) {
            for (gauges, peaks) in state.gauges.iter_mut().zip(&peaks.priorities) {
                gauges.ingress_max = peaks.ingress;
                gauges.headroom_used_max = peaks.headroom_used;
                gauges.egress_max = peaks.egress;
            }
        }
    }

    /// Restarts a reader's window from the last snapshot: at these ports, or at all if `ports` is empty. Does nothing for
    /// [`Reader::Telemetry`], which restarts by itself.
    pub fn clear(&mut self, reader: Reader, ports: &[PortId]) {
        let window = match reader {
            Reader::User => &mut self.user,
            Reader::Persistent => &mut self.persistent,
            Reader::Telemetry => return,
        };
        if ports.is_empty() {
            window.clone_from(&self.present);
        }
        for port in ports {
            let present = self.present.ports.get(port.index());
            if let (Some(own), Some(present)) = (window.ports.get_mut(port.index()), present) {
                own.clone_from(present);
            }
        }
    }

    /// Returns the watermarks for each reader; telemetry is left out before the end of its first interval.
    pub fn shown(&self) -> impl Iterator<Item = Shown<'_>> {
        let lasting = |reader, window| Shown {
            reader,
            window,
            until: None,
        };
        let over = self.last.as_ref().map(|(window, until)| Shown {
            reader: Reader::Telemetry,
            window,
            until: Some(*until),
        });
        std::iter::once(lasting(Reader::User, &self.user))
            .chain(over)
            .chain([lasting(Reader::Persistent, &self.persistent)])
    }

    /// Returns the last complete telemetry interval.
    pub fn telemetry(&self) -> Option<Arc<Window>> {
        self.last.as_ref().map(|(window, _)| Arc::clone(window))
    }
}

#[cfg(test)]
#[path = "watermarks_tests.rs"]
mod tests;
