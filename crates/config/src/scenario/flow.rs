//! Traffic of hosts.

use weir_core::{BitRate, Bytes, Duration};

use super::Recovery;
#[cfg(doc)]
use super::{DcqcnConfig, DctcpConfig, HpccConfig, SwiftConfig, TimelyConfig, WindowConfig};

/// One flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Its name.
    pub name: String,
    /// Sending host.
    pub from: usize,
    /// Receiving host.
    pub to: usize,
    /// The switches on the path that its flow hash must pick, first to last; `None` for any path.
    pub via: Option<Vec<usize>>,
    /// Its class; the flow uses the class's first priority.
    pub class: usize,
    /// Rate of the application; `None` for line rate.
    pub rate: Option<BitRate>,
    /// Frame length from destination address to last payload byte.
    pub frame: Bytes,
    /// Time of the first frame, from the beginning of traffic.
    pub start: Duration,
    /// No frames from this time on.
    pub stop: Duration,
    /// When it has data between `start` and `stop`.
    pub pattern: Pattern,
    /// Its reaction to congestion.
    pub transport: Transport,
    /// The class of its receiver's answers, which use the class's first priority.
    pub answer_class: usize,
    /// Flows to its sender that must have arrived before it begins; each has a size. It begins when the last one has
    /// arrived and the host has computed, but not before `start`.
    pub after: Vec<After>,
}

/// A flow to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct After {
    /// The flow whose last byte must have arrived.
    pub flow: usize,
    /// Time that the host computes after its arrival.
    pub compute: Duration,
}

impl After {
    /// Without computing.
    pub const fn arrival_of(flow: usize) -> Self {
        Self {
            flow,
            compute: Duration::ZERO,
        }
    }
}

/// When a flow has data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pattern {
    /// Always.
    #[default]
    Steady,
    /// Until this many bytes of frames are sent; the last frame may exceed it. Then never.
    Burst {
        /// Above zero.
        size: Bytes,
    },
    /// For `on`, then not for `off`, and so on.
    OnOff {
        /// Above zero.
        on: Duration,
        /// Above zero.
        off: Duration,
    },
}

/// Reaction of a flow to congestion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Transport {
    /// None: only PFC stops it.
    #[default]
    Open,
    /// A rate that falls with congestion notifications, by [`DcqcnConfig`].
    Dcqcn,
    /// A window, by [`WindowConfig`]; a loss sets it to one frame.
    Tahoe,
    /// A window, by [`WindowConfig`]; duplicate acknowledgements halve it.
    Reno,
    /// A window, by [`WindowConfig`]; a growing round trip time shrinks it.
    Vegas,
    /// Reno's window, reduced in proportion to the share of marks, by [`DctcpConfig`] and [`WindowConfig`].
    Dctcp,
    /// A rate that follows the gradient of the round trip time, by [`TimelyConfig`].
    Timely,
    /// A window that keeps the round trip time near a target, by [`SwiftConfig`].
    Swift,
    /// A window that keeps every line of the path almost full, by telemetry that switches write into frames, and
    /// [`HpccConfig`].
    Hpcc,
    /// Code of the caller, by its place in [`Additions::transports`](super::Additions::transports). No file can name one
    /// by itself.
    Custom(u16),
}

impl Transport {
    /// All transports of this program, with their names in files and results.
    pub const NAMED: [(&'static str, Self); 9] = [
        ("open", Self::Open),
        ("dcqcn", Self::Dcqcn),
        ("tahoe", Self::Tahoe),
        ("reno", Self::Reno),
        ("vegas", Self::Vegas),
        ("dctcp", Self::Dctcp),
        ("timely", Self::Timely),
        ("swift", Self::Swift),
        ("hpcc", Self::Hpcc),
    ];

    /// Its name in files and results; of the caller's transports a common one.
    pub fn name(self) -> &'static str {
        let mut named = Self::NAMED.iter();
        match named.find(|(_, transport)| *transport == self) {
            Some((name, _)) => name,
            None => "custom",
        }
    }

    /// Default recovery of its lost frames, without `[recovery]`.
    pub const fn usual_recovery(self) -> Recovery {
        match self {
            Self::Timely | Self::Hpcc | Self::Custom(_) => Recovery::GoBackN,
            Self::Swift => Recovery::Selective,
            Self::Open | Self::Dcqcn => Recovery::None,
            // RFC 5681 and RFC 6582: part of the window.
            Self::Tahoe | Self::Reno | Self::Vegas | Self::Dctcp => Recovery::None,
        }
    }

    /// Returns true if it needs the acknowledgement of every frame that `[recovery]` provides.
    pub const fn needs_recovery(self) -> bool {
        !matches!(self.usual_recovery(), Recovery::None)
    }

    /// Returns true if switches write telemetry into its frames.
    pub const fn has_telemetry(self) -> bool {
        matches!(self, Self::Swift | Self::Hpcc | Self::Custom(_))
    }

    /// Returns true if the receiver sends answers.
    pub const fn is_answered(self) -> bool {
        !matches!(self, Self::Open)
    }
}
