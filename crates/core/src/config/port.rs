//! Ports: what they face, and how they speak to it.

use super::{Threshold, WatchdogConfig};
use crate::units::{BitRate, Bytes, Duration, MacAddress, PRIORITY_COUNT};

crate::named! {
    /// What a port faces.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum PortRole {
        /// Another switch: CLCM is spoken here.
        Fabric => "fabric",
        /// A host: CLCM from it is counted and dropped, its PFC is obeyed.
        Edge => "edge",
    }
}

crate::named! {
    /// What is known of the switch on the other side of a fabric port.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Neighbour {
        /// Nothing: it is told so that both kinds understand.
        Unknown => "unknown" (default),
        /// It speaks the Level protocol.
        Enhanced => "enhanced",
        /// It speaks 802.3x and PFC only. Nothing is lost, but freedom from deadlock is no longer promised.
        Regular => "regular",
    }
}

/// Treatment by an edge port of lossless frames when its ingress buffer fills: the gateway to
/// senders that lower their rate by losses (Karol, section V, the second extension).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Police {
    /// Pauses the host at xoff.
    #[default]
    Off,
    /// Drops single frames from xoff on, the more often the less room is left, and frames that
    /// would take the buffer above xoff + headroom; sends no pauses.
    Drop,
    /// Has frames marked Congestion Experienced (RFC 3168) from xoff on and drops frames that would
    /// take the buffer above xoff + headroom; sends no pauses.
    Mark,
}

crate::named! {
    /// When a port obeys 802.3x PAUSE, which stops all of its priorities. PFC has no such setting: a port obeys it for
    /// lossless priorities, and for no other.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum PauseRule {
        /// Always.
        Obey => "obey",
        /// Never: what comes in is counted.
        Ignore => "ignore",
        /// Where the switch has no lossless priority, hence no PFC: 802.1Qbb allows a link one of the two.
        NoLossless => "no-lossless",
    }
}

impl PauseRule {
    /// Returns the default for a role. A switch that pauses us relies on it for its own promises; a
    /// host that pauses us would hold frames of others without end.
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
    /// In which frames a fabric port tells its Feedback (Karol, section IV).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum FeedbackCoding {
        /// By class, in PFC frames.
        Pfc => "pfc" (default),
        /// One for the whole link, in PAUSE frames: the highest of all classes.
        Pause => "pause",
        /// By class in PFC frames, as permission for a number of frames (section V): the buffers need no
        /// reserve for the round trip. Only where both sides are known to do so.
        Grants => "grants",
    }
}

/// Room above xoff that a port's cable needs, if the cable is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CableRoom {
    /// The headroom of each lossless buffer of the port whose class goes [by cables](super::ClassConfig::headroom_by_cable).
    pub headroom: Bytes,
    /// The longest round trip time T for which this headroom is enough. What an echo measures beyond is reported.
    pub round_trip_max: Duration,
}

/// One port's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortConfig {
    /// Kind of device that the port faces.
    pub role: PortRole,
    /// The line's rate: the shaper's rate and the unit of pause quanta.
    pub rate: BitRate,
    /// Our address on this port: source of control frames.
    pub address: MacAddress,
    /// The round trip time T of the link: from a Feedback that we send until the last frame that was sent
    /// without it has arrived, the reaction times of both sides included. For classes with Levels.
    pub round_trip: Duration,
    /// T is twice the longest round trip recently measured by echo messages, and at least
    /// `round_trip`.
    pub round_trip_measured: bool,
    /// Room that its cable needs; `None` if unknown.
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
    /// Addresses that are learnt behind the port at most; frames from one more are dropped as
    /// [`AddressLimit`](crate::DropReason::AddressLimit). `None` for no such bound.
    pub address_limit: Option<u32>,
    /// Credits of all classes that the rings before the port's buffers hold; `None` for any number. It can be changed while
    /// the switch runs.
    pub credit_slots: Option<u32>,
    /// Priorities that frames from the port may have. Others are dropped as
    /// [`Priority`](crate::DropReason::Priority).
    pub priorities: [bool; PRIORITY_COUNT],
}

impl PortConfig {
    /// A port whose link has no round trip time and whose neighbour is not known.
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
}
