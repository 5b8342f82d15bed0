//! Settings of the control plane.

use crate::command::RerouteBy;
use crate::sets::PortSet;
use crate::units::{Bytes, Duration};

crate::named! {
    /// Reaction to a deadlock.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Policy {
        /// None: it is detected and reported.
        Off => "off",
        /// The Deadlock Breaker releases the loop (CLCM paper, section 3.3).
        Breaker => "breaker",
        /// The Loop Breaker moves flows off the loop and forces some traffic out (CLCM paper, section 3.2).
        LoopBreaker => "loop-breaker",
        /// Both: flows move where a path exists, and the loop is released without loss in either case.
        Auto => "auto",
        /// Every stall under a pause counts as a storm and is left to the storm watchdog: the naive baseline.
        Watchdog => "watchdog",
        /// Frames that stay at the head of their queue for too long are dropped, as in InfiniBand.
        Lifetime => "lifetime",
    }
}

impl Policy {
    /// Returns true if a switch elects a master that reroutes.
    pub const fn reroutes(self) -> bool {
        matches!(self, Self::LoopBreaker | Self::Auto)
    }

    /// Returns true if a switch takes part in the Deadlock Breaker's release.
    pub const fn releases(self) -> bool {
        matches!(self, Self::Breaker | Self::Auto)
    }

    /// Returns true if a switch sends CLCM.
    pub const fn speaks_clcm(self) -> bool {
        self.reroutes() || self.releases()
    }
}

crate::named! {
    /// Action of a switch that has no other path for the flows that wait at a suspected egress (CLCM paper, section
    /// 3.2.2).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum NoAlternative {
        /// It forwards the elections of others but is no candidate itself, so that another switch is elected.
        /// It becomes a candidate only if no switch was elected for long, or paths change.
        Forward => "forward",
        /// It takes part in the election, and reroutes flows that reach the blocked egress from outside the loop.
        RerouteEntering => "reroute-entering",
    }
}

/// Settings of the Loop Breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopBreakerConfig {
    /// The unit to move: flows or buckets.
    pub reroute_by: RerouteBy,
    /// Action of a switch without another path.
    pub no_alternative: NoAlternative,
    /// Amount that the first step forces out; each further step doubles it.
    pub traffic_release: Bytes,
    /// The largest step.
    pub traffic_release_max: Bytes,
}

impl Default for LoopBreakerConfig {
    fn default() -> Self {
        Self {
            reroute_by: RerouteBy::Flow,
            no_alternative: NoAlternative::RerouteEntering,
            traffic_release: Bytes::new(1522),
            traffic_release_max: Bytes::new(64 * 1024),
        }
    }
}

/// Settings of the control plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControlConfig {
    /// Reaction to a deadlock.
    pub policy: Policy,
    /// Interval between two CLCM of one suspected egress.
    pub clcm_interval: Duration,
    /// Duration of a release. If the loop returns at once, its frames are preferred for a while afterwards
    /// ([`BACK_OFF_MAX`](super::BACK_OFF_MAX)).
    pub release_period: Duration,
    /// Additional buffer of the loop's ingress port while it is released.
    pub release_extra: Bytes,
    /// Settings of the Loop Breaker.
    pub loop_breaker: LoopBreakerConfig,
    /// Ports of the switch.
    pub port_count: usize,
    /// Ports that face switches.
    pub fabric_ports: PortSet,
}
