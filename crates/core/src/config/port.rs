//! Ports: role, neighbour, and protocol settings.

use super::{Threshold, WatchdogConfig};
use crate::units::{BitRate, Bytes, Duration, MacAddress, PRIORITY_COUNT};

crate::named! {
    /// Kind of device that a port faces.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum PortRole {
        /// Another switch, with which CLCM is exchanged.
        Fabric => "fabric",
        /// A host: its CLCM is counted and dropped, its PFC is obeyed.
        Edge => "edge",
    }
}

crate::named! {
    /// Kind of switch on the other side of a fabric port.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Neighbour {
        /// Unknown: Feedback is sent in a form that both kinds understand.
        Unknown => "unknown" (default),
        /// It supports the Level protocol.
        Enhanced => "enhanced",
        /// It supports only 802.3x and PFC. Nothing is lost, but freedom from deadlock is no longer guaranteed.
        Regular => "regular",
    }
}

/// Treatment of lossless frames by an edge port when its ingress buffer fills: the gateway to senders that lower their
/// rate after losses (Karol, section V, the second extension).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Police {
    /// Pauses the host at xoff.
    #[default]
    Off,
    /// Drops single frames from xoff on, more often as room runs out, and all frames that would take the buffer above
    /// xoff + headroom; sends no pauses.
    Drop,
    /// Marks frames Congestion Experienced (RFC 3168) from xoff on and drops frames that would take the buffer above
    /// xoff + headroom; sends no pauses.
    Mark,
}

crate::named! {
    /// When a port obeys 802.3x PAUSE, which stops all of its priorities. PFC has no such setting: it is obeyed for
    /// lossless priorities only.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum PauseRule {
        /// Always.
        Obey => "obey",
        /// Never; PAUSE frames are only counted.
        Ignore => "ignore",
        /// If the switch has no lossless priority and hence no PFC: 802.1Qbb allows only one of the two on a link.
        NoLossless => "no-lossless",
    }
}

impl PauseRule {
    /// Returns the default for a role. A switch that pauses us needs the pause to be obeyed; a host that pauses us
    /// would hold frames of others indefinitely.
    pub const fn of_role(role: PortRole) -> Self {
        match role {
            PortRole::Fabric => Self::Obey,
            PortRole::Edge => Self::Ignore,
        }
    }

    /// Returns true if PAUSE is obeyed in a switch with or without a lossless priority.
    pub const fn obeys(self, has_lossless: bool) -> bool {
        match self {
            Self::Obey => true,
            Self::Ignore => false,
            Self::NoLossless => !has_lossless,
        }
    }
}

crate::named! {
    /// Frame type in which a fabric port sends its Feedback (Karol, section IV).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum FeedbackCoding {
        /// PFC frames, by class.
        Pfc => "pfc" (default),
        /// PAUSE frames, one value for the whole link: the highest of all classes.
        Pause => "pause",
        /// PFC frames, by class, as permission for a number of frames (section V): the buffers need no reserve for the
        /// round trip. Only if both ends are known to support it.
        Grants => "grants",
    }
}

/// Room above xoff that a port's cable needs, if the cable is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CableRoom {
    /// The headroom of each lossless buffer of the port whose class takes it [by
    /// cables](super::ClassConfig::headroom_by_cable).
    pub headroom: Bytes,
    /// The longest round trip time T for which this headroom suffices. Longer ones measured by echo messages are
    /// reported; with [`UNLIMITED`](Self::UNLIMITED), the cable causes no such messages.
    pub round_trip_max: Duration,
}

impl CableRoom {
    /// A `round_trip_max` that no T exceeds.
    pub const UNLIMITED: Duration = Duration::from_nanos(u64::MAX);
}

/// One port's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortConfig {
    /// Kind of device that the port faces.
    pub role: PortRole,
    /// The line's rate: rate of the shaper and unit of pause quanta.
    pub rate: BitRate,
    /// MAC address of this port: source of control frames.
    pub address: MacAddress,
    /// The round trip time T of the link: from sending a Feedback until the last frame sent without knowing it has
    /// arrived, including the reaction times of both ends. For classes with Levels.
    pub round_trip: Duration,
    /// T is twice the longest round trip recently measured by echo messages, and at least
    /// `round_trip`.
    pub round_trip_measured: bool,
    /// Room needed for its cable; `None` if unknown.
    pub cable: Option<CableRoom>,
    /// Neighbour on the port. For classes with Levels.
    pub neighbour: Neighbour,
    /// Coding of Feedback. For classes with Levels.
    pub feedback: FeedbackCoding,
    /// Action of an edge port when a host's frames fill its buffer.
    pub police: Police,
    /// When the port obeys 802.3x PAUSE.
    pub pause: PauseRule,
    /// By priority: limit of this port's buffer on its class's pool, if it differs from the
    /// class's.
    pub pool_thresholds: [Option<Threshold>; PRIORITY_COUNT],
    /// The PFC storm watchdog; `None` turns it off. It can be changed while the switch runs.
    pub watchdog: Option<WatchdogConfig>,
    /// Maximum number of addresses learned at the port; frames from further ones are dropped as
    /// [`AddressLimit`](crate::DropReason::AddressLimit). `None` for no limit.
    pub address_limit: Option<u32>,
    /// Credits of all classes that the rings before the port's buffers can hold; `None` for unlimited. Can be changed
    /// while the switch runs.
    pub credit_slots: Option<u32>,
    /// Priorities allowed for frames from the port. Others are dropped as [`Priority`](crate::DropReason::Priority).
    pub priorities: [bool; PRIORITY_COUNT],
}

impl PortConfig {
    /// Creates a port without a round trip time and with an unknown neighbour.
    pub const fn new(role: PortRole, rate: BitRate, address: MacAddress) -> Self {
        Self {
            role,
            rate,
            address,
            round_trip: Duration::ZERO,
            round_trip_measured: false,
            cable: None,
            neighbour: Neighbour::Unknown,
            feedback: FeedbackCoding::Pfc,
            police: Police::Off,
            pause: PauseRule::of_role(role),
            pool_thresholds: [None; PRIORITY_COUNT],
            watchdog: None,
            address_limit: None,
            credit_slots: None,
            priorities: [true; PRIORITY_COUNT],
        }
    }

    /// Returns true if the port gives and uses credits in classes that have them. A policed host obeys nothing.
    pub fn gives_credits(&self) -> bool {
        self.role == PortRole::Fabric || self.police == Police::Off
    }
}
