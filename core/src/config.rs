//! The switch's configuration as the core wants it: checked, in units, without names.

use std::collections::BTreeSet;

use crate::units::{
    BitRate, Bytes, Duration, MacAddress, PortId, Priority, Quanta, PORT_COUNT_MAX, PRIORITY_COUNT,
};

/// What a port faces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortRole {
    /// Another switch: CLCM is spoken here.
    Fabric,
    /// A host: CLCM from it is counted and dropped, its PFC is obeyed.
    Edge,
}

/// How a priority treats congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassMode {
    /// Frames beyond the ingress buffer are dropped.
    Lossy {
        /// The ingress buffer of each (port, priority).
        buffer: Bytes,
    },
    /// The neighbour is paused before the ingress buffer is full (802.1Qbb).
    Pfc {
        /// Pause the neighbour when the ingress buffer holds at least this much.
        xoff: Bytes,
        /// Let it resume when the ingress buffer holds at most this much.
        xon: Bytes,
        /// Room above `xoff` for what is under way until the pause takes effect.
        headroom: Bytes,
    },
}

impl ClassMode {
    /// True when a frame of this class must never be dropped for want of room.
    pub const fn is_lossless(self) -> bool {
        matches!(self, Self::Pfc { .. })
    }

    /// The most that one ingress buffer of this mode ever charges. A release raises xoff by at most
    /// the headroom, and the headroom counts from there.
    pub fn memory_bound(self) -> Bytes {
        match self {
            Self::Lossy { buffer } => buffer,
            Self::Pfc { xoff, headroom, .. } => xoff + headroom + headroom,
        }
    }
}

/// One priority's settings, the same on all ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassConfig {
    /// What it does when buffers fill.
    pub mode: ClassMode,
    /// Deficit round robin quantum relative to other priorities, at least 1.
    pub weight: u16,
}

/// One port's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortConfig {
    /// What the port faces.
    pub role: PortRole,
    /// The line's rate: the shaper's rate and the unit of pause quanta.
    pub rate: BitRate,
    /// Our address on this port: source of control frames.
    pub address: MacAddress,
}

/// When an egress is suspected of a deadlock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DetectorConfig {
    /// Zero throughput with a non-empty queue for this long.
    pub detect: Duration,
}

/// A static forwarding entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteConfig {
    /// Frames to this address …
    pub destination: MacAddress,
    /// … leave by one of these ports, chosen by flow hash. Never empty.
    pub ports: Vec<PortId>,
}

/// All that [`Switch::new`](crate::Switch::new) needs to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwitchConfig {
    /// The ports; a [`PortId`] is an index into this list.
    pub ports: Vec<PortConfig>,
    /// The eight priorities.
    pub classes: [ClassConfig; PRIORITY_COUNT],
    /// Buffers are charged in whole cells of this size.
    pub cell: Bytes,
    /// How many frame handles the caller's pool has.
    pub frame_count: usize,
    /// The longest frame admitted, from destination address to last payload byte.
    pub frame_length_max: Bytes,
    /// Static forwarding entries.
    pub routes: Vec<RouteConfig>,
    /// How many addresses are learnt at most; zero turns learning and flooding off.
    /// Only for networks without loops.
    pub learning_capacity: usize,
    /// A learnt address is forgotten after this long without a frame from it.
    pub learning_age: Duration,
    /// Deadlock detection; `None` turns it off.
    pub detector: Option<DetectorConfig>,
    /// Pause time that XOFF asks for; refreshed after half of it.
    pub pause_time: Quanta,
    /// How many bytes the shaper may send back to back after an idle span.
    pub shaper_burst: Bytes,
}

impl SwitchConfig {
    /// The most that all ingress buffers together can charge, releases included.
    pub fn buffer_bound(&self) -> Bytes {
        let per_port: Bytes = self
            .classes
            .iter()
            .map(|class| class.mode.memory_bound().round_up_to(self.cell))
            .sum();
        Bytes::new(per_port.get() * self.ports.len() as u64)
    }

    /// Frames that the pool must have so that no admitted frame lacks memory: each frame is charged at
    /// least one cell, so there is never more than one frame for each cell.
    pub fn frames_needed(&self) -> usize {
        (self.buffer_bound().get() / self.cell.get().max(1)) as usize
    }

    /// Checks what the types do not.
    ///
    /// # Errors
    ///
    /// The first thing that cannot work.
    pub fn validate(&self) -> Result<(), ConfigError> {
        if !(1..=PORT_COUNT_MAX).contains(&self.ports.len()) {
            return Err(ConfigError::PortCount(self.ports.len()));
        }
        if !(64..=65_536).contains(&self.cell.get()) {
            return Err(ConfigError::Cell(self.cell));
        }
        if self
            .detector
            .is_some_and(|detector| detector.detect.is_zero())
        {
            return Err(ConfigError::ZeroDetect);
        }
        if self.pause_time == Quanta::ZERO {
            return Err(ConfigError::ZeroPause);
        }
        for (priority, class) in Priority::ALL.into_iter().zip(&self.classes) {
            self.validate_class(priority, class)?;
        }
        let needed = self.frames_needed();
        if self.frame_count < needed {
            return Err(ConfigError::TooFewFrames {
                frame_count: self.frame_count,
                buffers: self.buffer_bound(),
                needed,
            });
        }
        self.validate_routes()
    }

    fn validate_class(&self, priority: Priority, class: &ClassConfig) -> Result<(), ConfigError> {
        if class.weight == 0 {
            return Err(ConfigError::ZeroWeight(priority));
        }
        let frame = self.frame_length_max.round_up_to(self.cell);
        let at_least_a_frame = |what, value| {
            if value < frame {
                return Err(ConfigError::BufferBelowFrame {
                    priority,
                    what,
                    value,
                    frame,
                });
            }
            Ok(())
        };
        match class.mode {
            ClassMode::Lossy { buffer } => at_least_a_frame("buffer", buffer),
            ClassMode::Pfc {
                xoff,
                xon,
                headroom,
            } => {
                if xon >= xoff {
                    return Err(ConfigError::XonNotBelowXoff {
                        priority,
                        xon,
                        xoff,
                    });
                }
                at_least_a_frame("xoff", xoff)?;
                at_least_a_frame("headroom", headroom)
            }
        }
    }

    fn validate_routes(&self) -> Result<(), ConfigError> {
        let mut seen = BTreeSet::new();
        for RouteConfig { destination, ports } in &self.routes {
            if ports.is_empty() {
                return Err(ConfigError::EmptyRoute {
                    destination: *destination,
                });
            }
            if let Some(port) = ports.iter().find(|port| port.index() >= self.ports.len()) {
                return Err(ConfigError::RoutePort {
                    destination: *destination,
                    port: *port,
                    port_count: self.ports.len(),
                });
            }
            if !seen.insert(*destination) {
                return Err(ConfigError::DuplicateRoute(*destination));
            }
        }
        Ok(())
    }
}

/// Why a configuration cannot work, in numbers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // the messages say what the fields are
pub enum ConfigError {
    #[error("a switch needs 1 to {PORT_COUNT_MAX} ports, this one has {0}")]
    PortCount(usize),
    #[error("priority {priority}: xon ({xon}) must be below xoff ({xoff})")]
    XonNotBelowXoff {
        priority: Priority,
        xon: Bytes,
        xoff: Bytes,
    },
    #[error("priority {priority}: {what} ({value}) must be at least one frame of {frame} in whole cells")]
    BufferBelowFrame {
        priority: Priority,
        what: &'static str,
        value: Bytes,
        frame: Bytes,
    },
    #[error("priority {0}: weight must be at least 1")]
    ZeroWeight(Priority),
    #[error("the cell size must be between 64 B and 65536 B, not {0}")]
    Cell(Bytes),
    #[error("{frame_count} frames cannot back buffers of {buffers}: {needed} frames are needed, one per cell")]
    TooFewFrames {
        frame_count: usize,
        buffers: Bytes,
        needed: usize,
    },
    #[error("route to {destination} names no port")]
    EmptyRoute { destination: MacAddress },
    #[error("route to {destination} names port {port}, but there are {port_count} ports")]
    RoutePort {
        destination: MacAddress,
        port: PortId,
        port_count: usize,
    },
    #[error("two routes to {0}")]
    DuplicateRoute(MacAddress),
    #[error("the detection time must be above zero")]
    ZeroDetect,
    #[error("the pause time must be above zero quanta")]
    ZeroPause,
}
