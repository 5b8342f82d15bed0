//! Sets of named values in the API's bodies: roles, modes, reasons, kinds of events.
//!
//! A [`Word`] is one value of such a set, or text unknown to this version. Names come from the enums themselves, most
//! of them the core's.

mod event;

use std::borrow::{Borrow, Cow};
use std::cmp::Ordering;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use weir_core::control::Policy;
use weir_core::switch::PinnedBy;
use weir_core::{
    named, CreditFallback, CreditState as OfCredits, DropReason, FeedbackCoding, MarkAt, ModeKind,
    Neighbour, PortRole, StormAction, SuspicionReason,
};

pub use event::EventName;

/// A set of named values.
pub trait Vocabulary: Copy + Eq + 'static {
    /// The set's name in the OpenAPI document.
    const TITLE: &'static str;
    /// Subject of the words.
    const DESCRIPTION: &'static str;
    /// All words.
    const WORDS: &'static [(&'static str, Self)];

    /// The word for this value.
    fn word(self) -> &'static str;

    /// Its meaning.
    fn meaning(self) -> &'static str;
}

/// A word of the set `T`. A word from a newer daemon that this version does not know is kept, and displayed and written
/// unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word<T>(Inner<T>);

/// `Other` is not in the set.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Inner<T> {
    Known(T),
    Other(Box<str>),
}

impl<T: Vocabulary> Word<T> {
    /// The value; `None` if this version does not know the word.
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

/// Compares the written word, for tests of the JSON.
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

/// By text: maps by words are sorted in JSON.
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
    /// State of a daemon.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Stage {
        /// It forwards.
        Running => "running",
        /// It admits no more frames, and sends the remaining ones before it ends.
        Draining => "draining",
    }

    /// Health of a switch, from good to bad.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Verdict {
        /// Nothing is wrong.
        Ok => "ok" (default),
        /// Frames are lost or were stalled, and the switch reacts.
        Degraded => "degraded",
        /// The switch does not fulfil its purpose: frames are lost between switches or stalled, or a component does not
        /// answer.
        Failing => "failing",
    }

    /// Problem of a switch.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Trouble {
        /// Frames of a lossless class are lost.
        LosslessLoss => "lossless_loss",
        /// The kernel loses frames before or after the switch.
        KernelLosses => "kernel_losses",
        /// The XDP program drops frames.
        XdpLosses => "xdp_losses",
        /// The device loses frames before the kernel receives them.
        DeviceLosses => "device_losses",
        /// A port's device has a smaller MTU than the switch: longer frames are lost.
        MtuTooSmall => "mtu_too_small",
        /// A port's device cannot be used, or was added to another device.
        DeviceUnfit => "device_unfit",
        /// An egress is or was recently suspected of a deadlock.
        Suspected => "suspected",
        /// A neighbour pauses without end.
        Storm => "storm",
        /// A port neither floods nor learns because of a loop.
        ForwardingLoop => "forwarding_loop",
        /// The device of a port completes no transmissions.
        TransmitterStalled => "transmitter_stalled",
        /// The table of learned addresses is full.
        LearningTableFull => "learning_table_full",
        /// The dataplane was stopped for a while.
        DataplaneStalled => "dataplane_stalled",
        /// The control plane has missed events.
        EventsLost => "events_lost",
        /// The dataplane does not answer.
        DataplaneSilent => "dataplane_silent",
        /// A restart failed, and the previous switch runs again.
        RestartFailed => "restart_failed",
        /// The switch has lost the process that could restart it.
        KeeperGone => "keeper_gone",
        /// The address of a listener is in use.
        ListenerTaken => "listener_taken",
    }

    /// Attachment of a port's XDP program.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Attached {
        /// In the driver.
        Native => "native",
        /// In the network stack, after the driver.
        Generic => "generic",
        /// Not yet attached.
        Detached => "detached",
    }

    /// State of a port's express path, with the reason if frames do not take it.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Express {
        /// Frames take it, while none waits at the port.
        Open => "open",
        /// Frames do not take it at present: a frame waits, a pause is in force, or the link is down.
        Held => "held",
        /// The settings do not enable it.
        Off => "off" (default),
        /// No class may use it: classes are lossless and do not request it, mark frames, or limit their age.
        Class => "class",
        /// Ports have VLANs, and the switch must see every frame.
        Vlans => "vlans",
        /// The switch learns addresses, and must see every frame.
        Learning => "learning",
        /// The switch monitors flows, and must see every frame.
        FlowMonitor => "flow_monitor",
        /// A capture must see every frame.
        Capture => "capture",
        /// Threads other than the core's serve the sockets.
        Threads => "threads",
        /// The port has no device.
        NoDevice => "no_device",
        /// The device's driver may send redirected frames before earlier ones.
        Driver => "driver",
        /// The device has several transmit queues, so its other end may have several receive queues.
        Queues => "queues",
        /// The device's other end accepts no redirected frames: it needs an XDP program, or GRO switched on. Or the
        /// device splits TCP segments, and the settings allow that.
        Peer => "peer",
        /// A lossless class may use the path, so frames need room at the other end, but that is not guaranteed:
        /// programs are in generic mode, the kernel is older than 6.18, or the device's queueing discipline was
        /// removed.
        Room => "room",
        /// Routes have just changed.
        Routes => "routes",
        /// The device refused a frame less than a second ago.
        Loss => "loss",
        /// The kernel lacks a function that the path needs.
        Kernel => "kernel",
        /// The kernel does not report whether the device's other end accepts redirected frames: Linux 6.3 and newer do.
        NoFeatures => "no_features",
    }

    /// Verdict of the storm watchdog on a queue.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Watched {
        /// There is no storm.
        Operational => "operational",
        /// There is a storm.
        Stormed => "stormed",
    }

    /// Kind of a frame, for the port that receives it.
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

    /// Source of a frame's priority.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum PrioritySource {
        /// The PCP of its outermost VLAN tag, by the port's `pcp-map`.
        Pcp => "pcp",
        /// The DSCP of its IP header, by the port's `dscp-map`.
        Dscp => "dscp",
        /// The port's `default-priority`.
        Port => "port",
    }

    /// The way in which a frame's egress was found.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Way {
        /// A static route to one port.
        Route => "route",
        /// A static route to several ports, by the bucket of its flow.
        Bucket => "bucket",
        /// A pin of its flow.
        Pin => "pin",
        /// The port where its destination was learned.
        Learnt => "learnt",
        /// All ports used for flooding.
        Flood => "flood",
    }

    /// Reader of peaks.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Reader {
        /// For interactive use: restarted when cleared.
        User => "user",
        /// For a collector: restarted at every interval; the last complete interval is shown.
        Telemetry => "telemetry",
        /// Since the start: restarted only when these are cleared.
        Persistent => "persistent",
    }

    /// Field that identifies an application (IEEE 802.1Qaz, application priority TLV).
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

    /// Kind of system: the bits of IEEE 802.1AB table 8-4, the lowest first.
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

    /// State shown by a lane of a timeline.
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

    /// Program that ran a scenario.
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
    /// State of the daemon.
    DaemonState of Stage;
    /// Reaction to deadlocks.
    DeadlockPolicy of Policy;
    /// Kind of device that a port faces.
    Role of PortRole;
    /// Attachment of the XDP program.
    XdpMode of Attached;
    /// State of a port's express path, with the reason if frames do not take it.
    ExpressState of Express;
    /// Health of a switch.
    HealthVerdict of Verdict;
    /// Problem of a switch.
    HealthKind of Trouble;
    /// Reaction of a class to congestion.
    Mode of ModeKind;
    /// Reason why a frame was dropped.
    Reason of DropReason;
    /// Reason why an egress with waiting frames sends none.
    Suspicion of SuspicionReason;
    /// Kind of event.
    EventKind of EventName;
    /// Origin of a flow pin.
    Pinner of PinnedBy;
    /// Action during a PFC storm.
    Action of StormAction;
    /// Whether there is a PFC storm.
    QueueStatus of Watched;
    /// When a frame's backlog is compared with the marking thresholds.
    MarkMoment of MarkAt;
    /// Reader of peaks.
    WatermarkReader of Reader;
    /// Kind of neighbour.
    NeighborKind of Neighbour;
    /// Coding of Feedback by a neighbour.
    Coding of FeedbackCoding;
    /// State of one direction of a link for a class with credits.
    CreditState of OfCredits;
    /// Treatment of a neighbour that does not use credits.
    WithoutCredits of CreditFallback;
    /// Kind of a frame, for the port that receives it.
    TracedKind of FrameKind;
    /// Source of a frame's priority.
    PriorityFrom of PrioritySource;
    /// The way in which a frame's egress was found.
    WayFound of Way;
    /// Field that identifies an application (802.1Qaz).
    ApplicationSelector of Selector;
    /// Kind of system (802.1AB).
    SystemCapability of Capability;
    /// State shown by a lane of a timeline.
    LaneKind of Shown;
    /// Program that ran a scenario.
    RunBy of Runner;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_a_round_trip() {
        for (text, known) in [("\"edge\"", Some(PortRole::Edge)), ("\"spine\"", None)] {
            let role: Role = serde_json::from_str(text).unwrap();
            assert_eq!(role.known(), known);
            assert_eq!(serde_json::to_string(&role).unwrap(), text);
        }
        assert!(serde_json::from_str::<Role>("3").is_err());
    }

    #[test]
    fn names_of_one_set_differ_and_parse_back() {
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
    fn maps_are_sorted_by_word() {
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
