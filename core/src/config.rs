//! The switch's configuration as the core wants it: checked, in units, without names.

use std::collections::BTreeSet;

use crate::level::{Budgets, Level};
use crate::switch::LINE_OVERHEAD;
use crate::units::{
    BitRate, Bytes, Duration, MacAddress, PortId, Priority, Quanta, PORT_COUNT_MAX, PRIORITY_COUNT,
};

/// How often in a row a restricting Feedback may get lost before frames can be.
const REPEATS: u64 = 8;

/// What a port faces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortRole {
    /// Another switch: CLCM is spoken here.
    Fabric,
    /// A host: CLCM from it is counted and dropped, its PFC is obeyed.
    Edge,
}

/// What is known of the switch on the other side of a fabric port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Neighbour {
    /// Nothing: it is told so that both kinds understand.
    #[default]
    Unknown,
    /// It speaks the Level protocol.
    Enhanced,
    /// It speaks 802.3x and PFC only. Nothing is lost, but freedom from deadlock is no longer promised.
    Regular,
}

/// How a priority treats congestion.
#[expect(
    clippy::large_enum_variant,
    reason = "eight of them, read when a switch is made"
)]
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
    /// Selective backpressure by Levels towards switches (Karol, Golestani and Lee), PFC towards hosts.
    Level {
        /// Budgets b_1 … b_D of the Receiving Queue of each fabric port.
        budgets: Budgets,
        /// Pause a host when the ingress buffer of its edge port holds at least this much.
        xoff: Bytes,
        /// Let the host resume when that buffer holds at most this much.
        xon: Bytes,
        /// Room above `xoff` for what the host has under way.
        headroom: Bytes,
    },
}

impl ClassMode {
    /// True when a frame of this class must never be dropped for want of room.
    pub const fn is_lossless(self) -> bool {
        !matches!(self, Self::Lossy { .. })
    }

    /// D: the highest Level; zero for a class without Levels.
    pub const fn depth(self) -> Level {
        match self {
            Self::Level { budgets, .. } => budgets.depth(),
            _ => Level::ZERO,
        }
    }

    /// The most that one ingress buffer of this mode ever charges. A release raises xoff by at most
    /// the headroom, and the headroom counts from there.
    pub fn memory_bound(self, role: PortRole) -> Bytes {
        match (self, role) {
            (Self::Lossy { buffer }, _) => buffer,
            (Self::Level { budgets, .. }, PortRole::Fabric) => budgets.total(),
            (Self::Level { xoff, headroom, .. }, PortRole::Edge) => xoff + headroom,
            (Self::Pfc { xoff, headroom, .. }, _) => xoff + headroom + headroom,
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
    /// The round trip time T of the link: from a Feedback that we send until the last frame that was sent
    /// without it has arrived, the reaction times of both sides included. For classes with Levels.
    pub round_trip: Duration,
    /// What is on the other side. For classes with Levels.
    pub neighbour: Neighbour,
}

impl PortConfig {
    /// A port whose link has no round trip time and whose neighbour is not known.
    pub const fn new(role: PortRole, rate: BitRate, address: MacAddress) -> Self {
        Self {
            role,
            rate,
            address,
            round_trip: Duration::ZERO,
            neighbour: Neighbour::Unknown,
        }
    }
}

/// What a Receiving Queue keeps free for frames that are under way when a Feedback is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reserve {
    /// What can arrive in the round trip time, in frames of the length that wastes most of their cells.
    pub round_trip: Bytes,
    /// A Feedback that restricts is repeated whenever this much has arrived since: several of them in a
    /// row may get lost, and there is room for what arrives meanwhile.
    pub repeat_after: Bytes,
}

impl Reserve {
    /// For a link of `rate` with round trip time `round_trip`; zero when that is.
    pub fn new(rate: BitRate, round_trip: Duration, cell: Bytes, frame_length_max: Bytes) -> Self {
        const SHORTEST: u64 = 60;
        let on_line = rate.bytes_in(round_trip).get();
        let cell = cell.get().max(1);
        // A frame of one byte more than whole cells wastes most.
        let charged = (0..=frame_length_max.get() / cell)
            .map(|cells| (cells * cell + 1).max(SHORTEST))
            .map(|length| {
                let charged = length.div_ceil(cell) * cell;
                (on_line * charged).div_ceil(length + LINE_OVERHEAD.get())
            })
            .max()
            .unwrap_or_default();
        if charged == 0 {
            return Self {
                round_trip: Bytes::ZERO,
                repeat_after: frame_length_max,
            };
        }
        Self {
            round_trip: Bytes::new(charged),
            repeat_after: Bytes::new(charged / (2 * REPEATS))
                .max(frame_length_max.round_up_to(Bytes::new(cell))),
        }
    }

    /// Both together; zero without a round trip time.
    pub fn total(self) -> Bytes {
        if self.round_trip == Bytes::ZERO {
            return Bytes::ZERO;
        }
        self.round_trip + Bytes::new(REPEATS * self.repeat_after.get())
    }
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
    /// A Transmit Feedback is told again after this time.
    pub feedback_refresh: Duration,
    /// How many bytes the shaper may send back to back after an idle span.
    pub shaper_burst: Bytes,
}

impl SwitchConfig {
    /// The most that all ingress buffers together can charge, releases included.
    pub fn buffer_bound(&self) -> Bytes {
        let of_port = |port: &PortConfig| -> Bytes {
            self.classes
                .iter()
                .map(|class| class.mode.memory_bound(port.role).round_up_to(self.cell))
                .sum()
        };
        self.ports.iter().map(of_port).sum()
    }

    /// γmax: the longest frame as it is charged.
    pub fn gamma_max(&self) -> Bytes {
        self.frame_length_max.round_up_to(self.cell)
    }

    /// rT of a port's link (Karol, section V) as it is charged: see [`Reserve`].
    pub fn reserve(&self, port: &PortConfig) -> Bytes {
        self.reserve_of(port).total()
    }

    /// A restricting Feedback is told again after this much has arrived since.
    pub fn repeat_after(&self, port: &PortConfig) -> Bytes {
        self.reserve_of(port).repeat_after
    }

    fn reserve_of(&self, port: &PortConfig) -> Reserve {
        Reserve::new(port.rate, port.round_trip, self.cell, self.frame_length_max)
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
        if self.feedback_refresh.is_zero() {
            return Err(ConfigError::ZeroRefresh);
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

    fn validate_budgets(&self, priority: Priority, budgets: &Budgets) -> Result<(), ConfigError> {
        let gamma_max = self.gamma_max();
        for (index, budget) in budgets.as_slice().iter().enumerate() {
            if *budget < gamma_max {
                return Err(ConfigError::BudgetBelowFrame {
                    priority,
                    level: index + 1,
                    budget: *budget,
                    gamma_max,
                });
            }
        }
        let first = budgets.as_slice().first().copied().unwrap_or_default();
        for (index, port) in self.ports.iter().enumerate() {
            let reserve = self.reserve(port);
            if port.role == PortRole::Fabric && first < gamma_max + reserve {
                return Err(ConfigError::RoundTripTooLong {
                    priority,
                    port: index,
                    round_trip: port.round_trip,
                    first,
                    gamma_max,
                    reserve,
                    needed: gamma_max + reserve,
                });
            }
        }
        Ok(())
    }

    fn validate_class(&self, priority: Priority, class: &ClassConfig) -> Result<(), ConfigError> {
        if class.weight == 0 {
            return Err(ConfigError::ZeroWeight(priority));
        }
        let frame = self.gamma_max();
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
            }
            | ClassMode::Level {
                xoff,
                xon,
                headroom,
                ..
            } => {
                if let ClassMode::Level { budgets, .. } = &class.mode {
                    self.validate_budgets(priority, budgets)?;
                }
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
    #[error("priority {priority}: budget b_{level} ({budget}) must be at least one frame of {gamma_max} in whole cells (γmax)")]
    BudgetBelowFrame {
        priority: Priority,
        level: usize,
        budget: Bytes,
        gamma_max: Bytes,
    },
    #[error("priority {priority}, port {port}: budget b_1 ({first}) must be at least γmax ({gamma_max}) and what arrives in the round trip time of {} ms ({reserve}): {needed}. Enlarge the buffer, or shorten the round trip time", .round_trip.as_secs_f64() * 1e3)]
    RoundTripTooLong {
        priority: Priority,
        port: usize,
        round_trip: Duration,
        first: Bytes,
        gamma_max: Bytes,
        reserve: Bytes,
        needed: Bytes,
    },
    #[error("a Feedback must be refreshed after a time above zero")]
    ZeroRefresh,
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
