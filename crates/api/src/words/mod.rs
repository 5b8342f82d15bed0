//! Words of closed sets in the API's bodies: roles, modes, reasons, kinds of events.
//!
//! A [`Word`] is one value of such a set, or text that this version does not know. Names come from the enums themselves,
//! most of them the core's.

mod event;

use std::borrow::{Borrow, Cow};
use std::cmp::Ordering;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use weir_core::control::Policy;
use weir_core::switch::PinnedBy;
use weir_core::{
    named, CreditState as OfCredits, DropReason, FeedbackCoding, MarkAt, ModeKind, Neighbour,
    PortRole, StormAction, SuspicionReason,
};

pub use event::EventName;

/// A closed set of words.
pub trait Vocabulary: Copy + Eq + 'static {
    /// The set's name in the OpenAPI document.
    const TITLE: &'static str;
    /// What the words are about.
    const DESCRIPTION: &'static str;
    /// All of them.
    const WORDS: &'static [(&'static str, Self)];

    /// The word for this value.
    fn word(self) -> &'static str;

    /// What it means.
    fn meaning(self) -> &'static str;
}

/// A word of the set `T`. What a newer daemon says and this version does not know is kept as it came, so that it is shown
/// and written as the daemon said it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word<T>(Inner<T>);

/// `Other` is none of the set's words.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Inner<T> {
    Known(T),
    Other(Box<str>),
}

impl<T: Vocabulary> Word<T> {
    /// The value; `None` for a word that this version does not know.
    pub fn known(&self) -> Option<T> {
        match self.0 {
            Inner::Known(value) => Some(value),
            Inner::Other(_) => None,
        }
    }

    /// The word.
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Inner::Known(value) => value.word(),
            Inner::Other(text) => text,
        }
    }
}

impl<T: Vocabulary + Default> Default for Word<T> {
    fn default() -> Self {
        T::default().into()
    }
}

impl<T: Vocabulary> From<T> for Word<T> {
    fn from(value: T) -> Self {
        Self(Inner::Known(value))
    }
}

impl<T: Vocabulary> From<&str> for Word<T> {
    fn from(text: &str) -> Self {
        let known = T::WORDS.iter().find(|(word, _)| *word == text);
        Self(known.map_or_else(
            || Inner::Other(text.into()),
            |(_, value)| Inner::Known(*value),
        ))
    }
}

impl<T: Vocabulary> PartialEq<T> for Word<T> {
    fn eq(&self, value: &T) -> bool {
        self.known() == Some(*value)
    }
}

/// With the word as it is written: what tests of the JSON compare with.
impl<T: Vocabulary> PartialEq<&str> for Word<T> {
    fn eq(&self, text: &&str) -> bool {
        self.as_str() == *text
    }
}

impl<T: Vocabulary> AsRef<str> for Word<T> {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl<T: Vocabulary> PartialOrd for Word<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// By the word, as text: maps by words are sorted in JSON.
impl<T: Vocabulary> Ord for Word<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl<T: Vocabulary> Borrow<str> for Word<T> {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}

impl<T: Vocabulary> fmt::Display for Word<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

impl<T: Vocabulary> Serialize for Word<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de, T: Vocabulary> Deserialize<'de> for Word<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        Ok(Self::from(&*text))
    }
}

named! {
    /// What a daemon does.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Stage {
        /// It forwards.
        Running => "running",
        /// It admits nothing more and sends what it holds, before it ends.
        Draining => "draining",
    }

    /// How a switch is, from good to bad.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Verdict {
        /// Nothing is wrong.
        Ok => "ok" (default),
        /// Frames are lost, or stood still, and it is dealt with.
        Degraded => "degraded",
        /// What the switch is there for does not hold: frames are lost between switches, stand still, or nobody answers.
        Failing => "failing",
    }

    /// What is wrong with a switch.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Trouble {
        /// Frames of a lossless class are lost.
        LosslessLoss => "lossless_loss",
        /// The kernel loses frames before or after the switch.
        KernelLosses => "kernel_losses",
        /// The XDP program drops frames.
        XdpLosses => "xdp_losses",
        /// The device loses frames before the kernel has them.
        DeviceLosses => "device_losses",
        /// A port's device has a smaller MTU than the switch: longer frames are lost.
        MtuTooSmall => "mtu_too_small",
        /// A port's device cannot be used, or was put into another device.
        DeviceUnfit => "device_unfit",
        /// An egress is suspected of a deadlock, or was, and may be again.
        Suspected => "suspected",
        /// A neighbour pauses without end.
        Storm => "storm",
        /// A port floods and learns nothing because of a loop.
        ForwardingLoop => "forwarding_loop",
        /// The device of a port completes no transmissions.
        TransmitterStalled => "transmitter_stalled",
        /// Learned addresses have no room.
        LearningTableFull => "learning_table_full",
        /// The dataplane did nothing for a while.
        DataplaneStalled => "dataplane_stalled",
        /// The control plane has missed events.
        EventsLost => "events_lost",
        /// The dataplane does not answer.
        DataplaneSilent => "dataplane_silent",
        /// A restart failed, and what ran before it runs again.
        RestartFailed => "restart_failed",
        /// The switch has lost the process that could restart it.
        KeeperGone => "keeper_gone",
        /// An address to listen at is taken.
        ListenerTaken => "listener_taken",
    }

    /// How a port's XDP program is attached.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Attached {
        /// In the driver.
        Native => "native",
        /// In the network stack, after the driver.
        Generic => "generic",
        /// Not at all yet.
        Detached => "detached",
    }

    /// Whether frames leave a port by the express path, and if not, why.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Express {
        /// They do, while nothing waits at the port.
        Open => "open",
        /// Not at this moment: something waits, a pause is in force, or the link is down.
        Held => "held",
        /// The settings do not ask for it.
        Off => "off" (default),
        /// No class may use it: classes are lossless and do not ask for it, mark frames, or limit their age.
        Class => "class",
        /// Ports have VLANs, and the switch has to see every frame.
        Vlans => "vlans",
        /// The switch learns addresses, and has to see every frame.
        Learning => "learning",
        /// The switch monitors flows, and has to see every frame.
        FlowMonitor => "flow_monitor",
        /// A capture has to see every frame.
        Capture => "capture",
        /// Threads beside the core's serve the sockets.
        Threads => "threads",
        /// The port has no device.
        NoDevice => "no_device",
        /// The device's driver may send redirected frames before earlier ones.
        Driver => "driver",
        /// The device has several transmit queues, so that its other end may have several receive queues.
        Queues => "queues",
        /// The device's other end takes no redirected frames: it needs an XDP program, or GRO switched on. Or the device cuts TCP segments, and
        /// the settings leave that as it is.
        Peer => "peer",
        /// A lossless class may use the path, so that frames need room at the other end, and it cannot be relied upon: programs are in
        /// generic mode, the kernel is older than 6.18, or the device's queueing discipline was taken away.
        Room => "room",
        /// Routes have just changed.
        Routes => "routes",
        /// The device did not take a frame, less than a second ago.
        Loss => "loss",
        /// The kernel does not do what the path needs.
        Kernel => "kernel",
        /// The kernel does not report whether the device's other end takes redirected frames: Linux 6.3 and newer do.
        NoFeatures => "no_features",
    }

    /// Whether the PFC watchdog has found a storm at a queue.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Watched {
        /// There is no storm.
        Operational => "operational",
        /// There is one.
        Stormed => "stormed",
    }

    /// What a frame is to the port that receives it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum FrameKind {
        /// A frame to forward.
        Data => "data",
        /// A pause: 802.3x, or PFC.
        Pause => "pause",
        /// A message between switches: CLCM, or an echo.
        Message => "message",
        /// LLDP.
        Lldp => "lldp",
    }

    /// What decides about a frame's priority.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum PrioritySource {
        /// The PCP of its outermost VLAN tag, by the port's `pcp-map`.
        Pcp => "pcp",
        /// The DSCP of its IP header, by the port's `dscp-map`.
        Dscp => "dscp",
        /// The port's `default-priority`.
        Port => "port",
    }

    /// How a frame finds its way out.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Way {
        /// A static route to one port.
        Route => "route",
        /// A static route to several, by the bucket of its flow.
        Bucket => "bucket",
        /// A pin of its flow.
        Pin => "pin",
        /// The port where its destination was learnt.
        Learnt => "learnt",
        /// All ports that flooded frames use.
        Flood => "flood",
    }

    /// For whom peaks are kept.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Reader {
        /// For whoever looks: they begin again when they are cleared.
        User => "user",
        /// For a collector: they begin again at every interval, and the last whole interval is shown.
        Telemetry => "telemetry",
        /// Since the start: they begin again only when these are cleared.
        Persistent => "persistent",
    }

    /// What an application is known by (IEEE 802.1Qaz, application priority TLV).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Selector {
        /// An EtherType.
        EtherType => "ethertype",
        /// A port of TCP or SCTP.
        StreamPort => "stream_port",
        /// A port of UDP or DCCP.
        DatagramPort => "datagram_port",
        /// A port of any of those.
        Port => "port",
        /// A DSCP.
        Dscp => "dscp",
    }

    /// What a system is: the bits of IEEE 802.1AB table 8-4, the lowest first.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Capability {
        /// Something else.
        Other => "other",
        /// A repeater.
        Repeater => "repeater",
        /// A bridge: an Ethernet switch.
        Bridge => "bridge",
        /// A WLAN access point.
        WlanAccessPoint => "wlan_access_point",
        /// A router.
        Router => "router",
        /// A telephone.
        Telephone => "telephone",
        /// A DOCSIS cable device.
        Docsis => "docsis",
        /// An end station only.
        StationOnly => "station_only",
        /// A C-VLAN component of a VLAN bridge.
        CVlan => "c_vlan",
        /// An S-VLAN component of a VLAN bridge.
        SVlan => "s_vlan",
        /// A two-port MAC relay.
        TwoPortMacRelay => "two_port_mac_relay",
    }

    /// What a lane of a timeline shows.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Shown {
        /// The egress is suspected of a deadlock.
        Suspected => "suspected",
        /// The neighbour pauses the port.
        Paused => "paused",
        /// The port pauses the neighbour.
        Pausing => "pausing",
        /// A release is in force at the egress.
        Release => "release",
    }

    /// Who ran a scenario.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Runner {
        /// The lab: real frames in network namespaces.
        Lab => "lab",
        /// The simulator: virtual time.
        Sim => "sim",
    }
}

macro_rules! vocabularies {
    ($($(#[doc = $description:literal])+ $title:ident of $type:ty;)*) => {$(
        $(#[doc = $description])+
        pub type $title = Word<$type>;

        impl Vocabulary for $type {
            const TITLE: &'static str = stringify!($title);
            const DESCRIPTION: &'static str = concat!($($description),+).trim_ascii();
            const WORDS: &'static [(&'static str, Self)] = &Self::NAMED;

            fn word(self) -> &'static str {
                self.name()
            }

            fn meaning(self) -> &'static str {
                self.meaning()
            }
        }
    )*};
}

vocabularies! {
    /// What the daemon does.
    DaemonState of Stage;
    /// What is done about deadlocks.
    DeadlockPolicy of Policy;
    /// What a port faces.
    Role of PortRole;
    /// How the XDP program is attached.
    XdpMode of Attached;
    /// Whether frames leave a port by the express path, and if not, why.
    ExpressState of Express;
    /// How a switch is.
    HealthVerdict of Verdict;
    /// What is wrong with a switch.
    HealthKind of Trouble;
    /// How a class treats congestion.
    Mode of ModeKind;
    /// Why a frame was dropped.
    Reason of DropReason;
    /// Why an egress with frames to send sends none.
    Suspicion of SuspicionReason;
    /// What happened.
    EventKind of EventName;
    /// Who pinned a flow.
    Pinner of PinnedBy;
    /// What is done about a PFC storm while it lasts.
    Action of StormAction;
    /// Whether there is a PFC storm.
    QueueStatus of Watched;
    /// When a frame meets the backlog that marks it Congestion Experienced.
    MarkMoment of MarkAt;
    /// For whom peaks are kept.
    WatermarkReader of Reader;
    /// What is known of a neighbour.
    NeighborKind of Neighbour;
    /// How a neighbour sends Feedback.
    Coding of FeedbackCoding;
    /// State of one direction of a link for a class with credits.
    CreditState of OfCredits;
    /// What a frame is to the port that receives it.
    TracedKind of FrameKind;
    /// What decides about a frame's priority.
    PriorityFrom of PrioritySource;
    /// How a frame finds its way out.
    WayFound of Way;
    /// What an application is known by (802.1Qaz).
    ApplicationSelector of Selector;
    /// What a system is (802.1AB).
    SystemCapability of Capability;
    /// What a lane of a timeline shows.
    LaneKind of Shown;
    /// Who ran a scenario.
    RunBy of Runner;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_written_as_it_was_read() {
        for (text, known) in [("\"edge\"", Some(PortRole::Edge)), ("\"spine\"", None)] {
            let role: Role = serde_json::from_str(text).unwrap();
            assert_eq!(role.known(), known);
            assert_eq!(serde_json::to_string(&role).unwrap(), text);
        }
        assert!(serde_json::from_str::<Role>("3").is_err());
    }

    #[test]
    fn names_of_one_set_differ_and_lead_back() {
        fn check<T: Vocabulary + fmt::Debug>() {
            for (word, value) in T::WORDS {
                assert_eq!(value.word(), *word);
                assert_eq!(Word::<T>::from(*word).known(), Some(*value));
                assert!(!value.meaning().is_empty(), "{word}");
            }
        }
        check::<EventName>();
        check::<DropReason>();
        check::<Capability>();
    }

    #[test]
    fn maps_are_sorted_by_the_words() {
        let reasons = [DropReason::Storm, DropReason::Aged, DropReason::NoRoute];
        let counts: std::collections::BTreeMap<Reason, u64> =
            reasons.map(|reason| (reason.into(), 1)).into();
        assert_eq!(
            serde_json::to_string(&counts).unwrap(),
            r#"{"aged":1,"no_route":1,"storm":1}"#
        );
        assert_eq!(counts["storm"], 1);
    }
}
