//! Snapshot of one (port, priority).

use crate::config::{FeedbackCoding, Neighbour, StormAction, WatchdogConfig};
use crate::level::{Level, LEVEL_MAX};
use crate::switch::admission::IngressBuffer;
use crate::switch::link::{EchoState, PauseGauges};
use crate::switch::recovery::StormGauges;
use crate::switch::virtual_queues::EgressState;
use crate::switch::Switch;
use crate::units::{Bytes, Duration, Instant, MacAddress, PortId, Priority};

/// State of one (port, priority), read by [`Switch::gauges`](crate::Switch::gauges).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PriorityGauges {
    /// Charge of the ingress buffer of this port, in whole cells.
    pub ingress: Bytes,
    /// Peak of `ingress` since [`restart_peaks`](crate::Switch::restart_peaks), or ever.
    pub ingress_max: Bytes,
    /// Waiting to leave by this port, in frame bytes.
    pub egress: Bytes,
    /// Peak of `egress` since [`restart_peaks`](crate::Switch::restart_peaks), or ever.
    pub egress_max: Bytes,
    /// Frames waiting to leave by this port.
    pub egress_frames: u64,
    /// Threshold in force for pausing the neighbour; zero for a lossy class.
    pub xoff: Bytes,
    /// Threshold in force for letting it resume; zero for a lossy class.
    pub xon: Bytes,
    /// Peak of `headroom_used` since [`restart_peaks`](crate::Switch::restart_peaks), or ever.
    pub headroom_used_max: Bytes,
    /// Charged above the configured xoff; zero for a lossy class.
    pub headroom_used: Bytes,
    /// True while we pause the neighbour.
    pub pausing: bool,
    /// True while the neighbour pauses us (PFC for this priority, or 802.3x).
    pub paused: bool,
    /// Pauses of this priority by the neighbour: PFC that is obeyed, and 802.3x.
    pub pauses_received: PauseGauges,
    /// Pauses of the neighbour by us that were sent; each counts for its full pause time.
    pub pauses_sent: PauseGauges,
    /// True while this egress is suspected of a deadlock.
    pub suspected: bool,
    /// While a release is in force at this egress: the only ingress port that may send.
    pub release_ingress: Option<PortId>,
    /// True while this egress is stalled by a pause that was not declared a storm.
    pub stalled: bool,
    /// While a PFC storm lasts at this egress: the watchdog's action.
    pub storm: Option<StormAction>,
    /// Frames of PFC storms at this egress.
    pub storm_frames: StormGauges,
    /// True while this egress drops everything because of the lifetime limit.
    pub vl_stalled: bool,
    /// Protocol P on this link; `None` for a class without Levels and towards hosts.
    pub levels: Option<LevelGauges>,
}

/// Protocol P on one fabric port and class (Karol, Golestani and Lee, section III).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelGauges {
    /// D: the number of valid entries in `m`.
    pub depth: Level,
    /// m_1 … m_D of the link's Receiving Queue.
    pub m: [Bytes; LEVEL_MAX],
    /// rT: bytes kept free for frames in flight when a Feedback is sent.
    pub reserve: Bytes,
    /// T: the configured round trip time of the link.
    pub round_trip: Duration,
    /// The round trip time measured by echo messages.
    pub round_trip_measured: Option<Duration>,
    /// The last Transmit Feedback sent to the neighbour.
    pub feedback_sent: Level,
    /// The last Transmit Feedback received from the neighbour.
    pub feedback_received: Level,
    /// Waiting to leave by this port at Levels that the Feedback releases, in frame bytes. A pause blocks them all the
    /// same.
    pub eligible: Bytes,
    /// Number of frames in `eligible`.
    pub eligible_frames: u64,
    /// Waiting to leave by this port and blocked by the Feedback, in frame bytes.
    pub held: Bytes,
    /// Number of frames in `held`.
    pub held_frames: u64,
}

/// Round trips measured by echo messages, compared with the room for a port's [cable](crate::PortConfig::cable).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CableGauges {
    /// Longest recent round-trip time; `None` until the neighbour answers.
    pub round_trip: Option<Duration>,
    /// True from a round trip for which the room is too small until ten in a row fit.
    pub exceeded: bool,
}

/// One entry of the Level Table. With learning a destination has one for each ingress port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelEntry {
    /// The class.
    pub priority: Priority,
    /// The destination.
    pub destination: MacAddress,
    /// λ of these frames.
    pub level: Level,
    /// Bytes charged, in whole cells.
    pub buffered: Bytes,
}

/// State of one pool, with peaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolGauges {
    /// Configured size.
    pub size: Bytes,
    /// Bytes of the pool in use, without reserves and headroom.
    pub used: Bytes,
    /// Peak of `used`.
    pub used_max: Bytes,
    /// Configured headroom shared by its lossless buffers.
    pub headroom: Bytes,
    /// Used headroom.
    pub headroom_used: Bytes,
    /// Peak of `headroom_used`.
    pub headroom_used_max: Bytes,
    /// Number of buffers that are above their threshold and pause their neighbour.
    pub paused: usize,
}

impl Switch {
    /// The state of a pool by its index in [`SwitchConfig::pools`](crate::SwitchConfig::pools); `None` if it does not
    /// exist.
    pub fn pool_gauges(&self, pool: usize) -> Option<PoolGauges> {
        let config = self.config.pools.get(pool)?;
        let state = self.pools.get(pool as u8);
        Some(PoolGauges {
            size: config.size,
            used: state.used(),
            used_max: state.used_max(),
            headroom: config.headroom,
            headroom_used: state.headroom_used(),
            headroom_used_max: state.headroom_used_max(),
            paused: state.paused(),
        })
    }

    /// The state of one (port, priority) at `now`; all zero if the port does not exist.
    pub fn gauges(&self, now: Instant, port: PortId, priority: Priority) -> PriorityGauges {
        let index = port;
        let Some(port) = self.ports.get(port.index()) else {
            return PriorityGauges::default();
        };
        let ingress = &port.ingress[priority.index()];
        let egress = &port.egress[priority.index()];
        let (xoff, xon) = ingress.thresholds_in(&self.pools);
        PriorityGauges {
            ingress: ingress.occupancy(),
            ingress_max: ingress.occupancy_max(),
            egress: egress.backlog(),
            egress_max: egress.backlog_max(),
            egress_frames: egress.frame_count(),
            xoff,
            xon,
            headroom_used_max: ingress.headroom_used_max(),
            headroom_used: ingress.headroom_used(),
            pausing: ingress.is_pausing(),
            paused: port.pause_received.is_paused(now, priority),
            pauses_received: port.pause_received.gauges(now, priority),
            pauses_sent: port.pause_sent[priority.index()].at(now),
            suspected: egress.is_suspected(),
            release_ingress: egress.release_ingress(),
            stalled: port.storms.is_stalled(priority),
            storm: port.storms.action(priority),
            storm_frames: port.storms.frames(priority, &port.counters),
            vl_stalled: port.heads[priority.index()].is_stalled(),
            levels: self.level_gauges(index, priority),
        }
    }

    /// Returns the pauses of one (port, priority), received and sent: the part of [`gauges`](Self::gauges) recorded as
    /// time series. Zero if the port does not exist. O(1).
    pub fn pauses(&self, now: Instant, port: PortId, priority: Priority) -> [PauseGauges; 2] {
        self.ports
            .get(port.index())
            .map_or_else(Default::default, |port| {
                let sent = port.pause_sent[priority.index()].at(now);
                [port.pause_received.gauges(now, priority), sent]
            })
    }

    /// Restarts the peaks of all gauges from the present values. Read [`gauges`](Self::gauges) first to keep the old
    /// ones. O(ports).
    pub fn restart_peaks(&mut self) {
        self.pools.restart_peaks();
        for port in &mut self.ports {
            port.ingress
                .iter_mut()
                .for_each(IngressBuffer::restart_peaks);
            port.egress.iter_mut().for_each(EgressState::restart_peak);
        }
    }

    /// Returns the charge of the ingress buffer of (`port`, `priority`) and the bytes waiting at its egress: the cheap
    /// part of [`gauges`](Self::gauges). Zero if the port does not exist. O(1).
    pub fn occupancy(&self, port: PortId, priority: Priority) -> (Bytes, Bytes) {
        self.ports
            .get(port.index())
            .map_or_else(Default::default, |port| {
                let ingress = &port.ingress[priority.index()];
                (ingress.occupancy(), port.egress[priority.index()].backlog())
            })
    }

    /// Returns the number of frames received on `ingress` that wait to leave by `egress` at `priority`; zero for ports
    /// that do not exist. O(Levels).
    pub fn waiting_between(&self, ingress: PortId, egress: PortId, priority: Priority) -> u64 {
        let count = self.ports.len();
        if ingress.index() >= count || egress.index() >= count {
            return 0;
        }
        self.queues.count_from(egress, priority, ingress)
    }

    /// The Level Table, oldest destinations first. O(ports) for each item.
    pub fn level_table(&self) -> impl Iterator<Item = LevelEntry> + '_ {
        self.levels.iter()
    }

    /// Number of destinations in the Level Table.
    pub fn level_table_len(&self) -> usize {
        self.levels.len()
    }

    /// Returns the measured round trips compared with the cable's room; `None` if the cable is unknown, or the port
    /// faces a host.
    pub fn cable_gauges(&self, port: PortId) -> Option<CableGauges> {
        self.config.ports.get(port.index())?.cable?;
        let echo = self.ports.get(port.index())?.echo.as_ref()?;
        Some(CableGauges {
            round_trip: echo.round_trip(),
            exceeded: echo.exceeds_cable(),
        })
    }

    /// Returns the settings of the storm watchdog of `port`; `None` also if the port does not exist.
    pub fn watchdog(&self, port: PortId) -> Option<WatchdogConfig> {
        self.ports.get(port.index())?.storms.config()
    }

    /// Returns the kind of neighbour assumed on the other side of `port`.
    ///
    /// # Panics
    ///
    /// If the port does not exist.
    pub fn neighbour(&self, port: PortId) -> Neighbour {
        self.ports[port.index()].neighbour
    }

    fn level_gauges(&self, port: PortId, priority: Priority) -> Option<LevelGauges> {
        let state = self.ports.get(port.index())?;
        let level = state.levels[priority.index()].as_ref()?;
        let mut m = [Bytes::ZERO; LEVEL_MAX];
        for (m, from) in m.iter_mut().zip(level.budget.m()) {
            *m = from;
        }
        let gate = state.gate(Instant::FAR_FUTURE, priority);
        let waiting = self.queues.waiting(port, priority, gate);
        Some(LevelGauges {
            depth: level.budget.depth(),
            m,
            feedback_sent: match state.coding {
                FeedbackCoding::Pause => state.link_sent.told().min(level.budget.depth()),
                _ => level.sent.told(),
            },
            reserve: level.budget.reserve(),
            round_trip: self.config.ports[port.index()].round_trip,
            round_trip_measured: state.echo.as_deref().and_then(EchoState::round_trip),
            feedback_received: level.received.feedback(),
            eligible: waiting.eligible.bytes,
            eligible_frames: waiting.eligible.frames,
            held: waiting.held.bytes,
            held_frames: waiting.held.frames,
        })
    }
}
