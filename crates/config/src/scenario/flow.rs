//! What hosts send.

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
    /// The switches on the way that its flow hash must pick, first to last; `None`: whatever it picks.
    pub via: Option<Vec<usize>>,
    /// Its class; the flow uses the class's first priority.
    pub class: usize,
    /// What the application sends at; `None`: as fast as the line.
    pub rate: Option<BitRate>,
    /// Frame length from destination address to last payload byte.
    pub frame: Bytes,
    /// First frame, after the beginning of traffic.
    pub start: Duration,
    /// No frame from here on.
    pub stop: Duration,
    /// When it has something to send between `start` and `stop`.
    pub pattern: Pattern,
    /// How it answers to congestion.
    pub transport: Transport,
    /// The class of what its receiver answers, which uses the class's first priority.
    pub answer_class: usize,
    /// Flows to its sender that must have arrived before it begins; each has a size. It begins when the last one has and what
    /// follows from it is computed, and not before `start`.
    pub after: Vec<After>,
}

/// What a flow waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct After {
    /// The flow whose last byte must have arrived.
    pub flow: usize,
    /// For how long the host computes with it.
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

/// When a flow has something to send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pattern {
    /// All the time.
    #[default]
    Steady,
    /// Until this many bytes of frames are sent; the last frame may go beyond it. Then silence.
    Burst {
        /// Above zero.
        size: Bytes,
    },
    /// For `on`, then not for `off`, and again.
    OnOff {
        /// Above zero.
        on: Duration,
        /// Above zero.
        off: Duration,
    },
}

/// How a flow answers to congestion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Transport {
    /// Not at all: PFC alone stops it.
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
    /// Reno's window that marks shrink by as much as there are of them, by [`DctcpConfig`] and [`WindowConfig`].
    Dctcp,
    /// A rate that follows the gradient of the round trip time, by [`TimelyConfig`].
    Timely,
    /// A window that keeps the round trip time near a target, by [`SwiftConfig`].
    Swift,
    /// A window that keeps every line of the way almost full, by what switches write into frames and [`HpccConfig`].
    Hpcc,
}

impl Transport {
    /// Every transport with its name in files and results.
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

    /// Its name in files and results.
    pub fn name(self) -> &'static str {
        Self::NAMED
            .iter()
            .find(|(_, transport)| *transport == self)
            .map_or("", |(name, _)| name)
    }

    /// How its lost frames are sent again where `[recovery]` does not say.
    pub const fn usual_recovery(self) -> Recovery {
        match self {
            Self::Timely | Self::Hpcc => Recovery::GoBackN,
            Self::Swift => Recovery::Selective,
            Self::Open | Self::Dcqcn => Recovery::None,
            // RFC 5681 and RFC 6582: a part of the window.
            Self::Tahoe | Self::Reno | Self::Vegas | Self::Dctcp => Recovery::None,
        }
    }

    /// True when it cannot do without an acknowledgement of every frame that `[recovery]` is about.
    pub const fn needs_recovery(self) -> bool {
        !matches!(self.usual_recovery(), Recovery::None)
    }

    /// True when switches tell its frames what they met.
    pub const fn has_telemetry(self) -> bool {
        matches!(self, Self::Swift | Self::Hpcc)
    }

    /// True when the receiver answers: frames go back from it to the sender.
    pub const fn is_answered(self) -> bool {
        !matches!(self, Self::Open)
    }
}
