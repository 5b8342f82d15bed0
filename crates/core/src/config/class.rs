//! Classes: the treatment of congestion, by priority.

use super::{
    Algorithm, PfcThresholds, PoolShare, PortConfig, PortRole, RedConfig, SchedulerConfig,
};
use crate::credit::{CreditConfig, CreditTerms};
use crate::level::{Budgets, Level};
use crate::units::{Bytes, Duration};

/// Reaction of a priority to congestion.
#[expect(
    clippy::large_enum_variant,
    reason = "eight of them, read when a switch is made"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassMode {
    /// Frames beyond the ingress buffer are dropped.
    Lossy {
        /// Size of the ingress buffer of each (port, priority).
        buffer: Bytes,
    },
    /// The neighbour is paused before the ingress buffer is full (802.1Qbb).
    Pfc(PfcThresholds),
    /// Selective backpressure by Levels towards switches (Karol, Golestani and Lee), PFC towards hosts.
    Level {
        /// Budgets b_1 … b_D of the Receiving Queue of each fabric port.
        budgets: Budgets,
        /// Deviations of the class from protocol P.
        rules: LevelRules,
        /// Thresholds at which an edge port pauses its host.
        edge: PfcThresholds,
    },
}

/// Optional deviations of a class with Levels from protocol P (Karol, section V, the third
/// extension).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelRules {
    /// Minimum Level of the class's frames, in every switch of the network. They may then reach Level `level_min` + h
    /// after h links, so D must cover the longest route plus this.
    pub level_min: Level,
    /// False for a class that sends regardless of Feedback, because the buffers behind each link belong only to it and
    /// are large enough. No Feedback is sent for it, and excess frames are dropped.
    pub obeys_feedback: bool,
}

impl Default for LevelRules {
    fn default() -> Self {
        Self {
            level_min: Level::ZERO,
            obeys_feedback: true,
        }
    }
}

crate::named! {
    /// The kinds of [`ClassMode`].
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum ModeKind {
        /// Frames that do not fit the buffer are dropped.
        Lossy => "lossy" (default),
        /// The neighbour is paused before the buffer is full.
        Pfc => "pfc",
        /// Selective backpressure by Levels towards switches, PFC towards hosts.
        Level => "level",
        /// A neighbour sends only as many frames as it has credits for.
        Credit => "credit",
    }
}

impl ClassMode {
    /// The kind of this mode.
    pub const fn kind(self) -> ModeKind {
        match self {
            Self::Lossy { .. } => ModeKind::Lossy,
            Self::Pfc(_) => ModeKind::Pfc,
            Self::Level { .. } => ModeKind::Level,
        }
    }

    /// The mode's name in configurations, JSON and messages.
    pub const fn name(self) -> &'static str {
        self.kind().name()
    }

    /// True when frames of this class must never be dropped for lack of room.
    pub const fn is_lossless(self) -> bool {
        !matches!(self, Self::Lossy { .. })
    }

    /// Returns the deviations of a class with Levels from protocol P.
    pub fn level_rules(self) -> LevelRules {
        match self {
            Self::Level { rules, .. } => rules,
            _ => LevelRules::default(),
        }
    }

    /// D, the highest Level; zero for a class without Levels.
    pub const fn depth(self) -> Level {
        match self {
            Self::Level { budgets, .. } => budgets.depth(),
            _ => Level::ZERO,
        }
    }

    /// Thresholds at which it pauses a neighbour (with Levels, a host); `None` for a class that never pauses.
    pub const fn thresholds(self) -> Option<PfcThresholds> {
        match self {
            Self::Lossy { .. } => None,
            Self::Pfc(thresholds) => Some(thresholds),
            Self::Level { edge, .. } => Some(edge),
        }
    }

    /// Returns this mode with another headroom; a lossy class has none and is unchanged.
    #[must_use]
    pub const fn with_headroom(self, headroom: Bytes) -> Self {
        match self {
            Self::Pfc(thresholds) => Self::Pfc(thresholds.with_headroom(headroom)),
            Self::Level {
                budgets,
                rules,
                edge,
            } => Self::Level {
                budgets,
                rules,
                edge: edge.with_headroom(headroom),
            },
            Self::Lossy { buffer } => Self::Lossy { buffer },
        }
    }

    /// Returns true if a running switch may change from this mode to `other`: only thresholds
    /// differ. The kind and the Levels are the same, because queued frames already wait by them.
    pub fn differs_by_thresholds(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Lossy { .. }, Self::Lossy { .. }) | (Self::Pfc(_), Self::Pfc(_)) => true,
            (
                Self::Level { budgets, rules, .. },
                Self::Level {
                    budgets: other_budgets,
                    rules: other_rules,
                    ..
                },
            ) => budgets == other_budgets && rules == other_rules,
            _ => false,
        }
    }

    /// Maximum charge of one ingress buffer of this mode, if its class has no share of a pool. A release raises xoff by
    /// at most the headroom, and the headroom counts from there; with Levels it lends [`Budgets::loan`].
    pub fn memory_bound(self, role: PortRole) -> Bytes {
        match (self, role) {
            (Self::Lossy { buffer }, _) => buffer,
            (Self::Level { budgets, .. }, PortRole::Fabric) => budgets.total() + budgets.loan(),
            (Self::Level { edge, .. }, PortRole::Edge) => edge.limit(),
            (Self::Pfc(thresholds), _) => thresholds.limit() + thresholds.headroom(),
        }
    }
}

/// One priority's settings, the same on all ports except for a headroom [by cables](Self::headroom_by_cable).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassConfig {
    /// Behaviour when buffers fill.
    pub mode: ClassMode,
    /// Gives a port whose [cable](super::PortConfig::cable) is known that cable's headroom instead
    /// of the one in `mode`, which is then the largest of all.
    pub headroom_by_cable: bool,
    /// Deficit round robin quantum relative to other priorities, at least 1.
    pub weight: u16,
    /// Strict priority, and the rates that bound the class's share.
    pub scheduler: SchedulerConfig,
    /// Maximum waiting time in this switch; older frames are dropped and counted (Karol, section V, the first
    /// extension). `None` for no limit.
    pub age_limit: Option<Duration>,
    /// Marks frames Congestion Experienced by the backlog of their egress; `None` to mark none.
    pub ecn: Option<RedConfig>,
    /// The pool that its buffers use; `None` for separate buffers. With a pool, xoff, xon and the buffer in `mode` are
    /// those of a buffer that uses the pool alone
    /// ([`PoolConfig::thresholds_alone`](super::PoolConfig::thresholds_alone)), and only the headroom applies.
    pub pool: Option<PoolShare>,
    /// Credits of the class, whose `mode` is then PFC: xoff and headroom together are the room for which credits are
    /// given. A release lends a second headroom, and the thresholds apply to neighbours without credits.
    pub credits: Option<CreditConfig>,
}

impl ClassConfig {
    /// Creates a class of weight 1 that shares by weight, without age limit and marking.
    pub const fn new(mode: ClassMode) -> Self {
        Self {
            mode,
            headroom_by_cable: false,
            weight: 1,
            scheduler: SchedulerConfig {
                algorithm: Algorithm::Ets,
                rate_min: None,
                rate_max: None,
            },
            age_limit: None,
            ecn: None,
            pool: None,
            credits: None,
        }
    }

    /// The kind of the class, for names in configurations, JSON and messages.
    pub const fn kind(&self) -> ModeKind {
        match self.credits {
            Some(_) => ModeKind::Credit,
            None => self.mode.kind(),
        }
    }

    /// Terms on which the class's buffer at `port` gives credits; `None` for a class without them.
    pub fn credit_terms(&self, port: &PortConfig) -> Option<CreditTerms> {
        let room = self.mode_at(port).thresholds()?.limit();
        CreditTerms::of(self.credits.as_ref()?, room)
    }

    /// The mode at `port`: with the headroom of the port's cable, if the class uses
    /// [`headroom_by_cable`](Self::headroom_by_cable).
    pub fn mode_at(&self, port: &PortConfig) -> ClassMode {
        let Some(room) = port.cable.filter(|_| self.headroom_by_cable) else {
            return self.mode;
        };
        self.mode.with_headroom(room.headroom)
    }
}
