//! Settings of the control plane.

use crate::command::RerouteBy;
use crate::sets::PortSet;
use crate::units::{Bytes, Duration};

crate::named! {
    /// What is done about a deadlock.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Policy {
        /// Nothing: it is detected and reported.
        Off => "off",
        /// The Deadlock Breaker releases the loop (CLCM paper, section 3.3).
        Breaker => "breaker",
        /// The Loop Breaker moves flows off the loop and forces some traffic out (CLCM paper, section 3.2).
        LoopBreaker => "loop-breaker",
        /// Both: flows move where a path exists, and the loop is released without loss in either case.
        Auto => "auto",
        /// The storm watchdog takes whatever stands still under a pause for a storm: the naive baseline.
        Watchdog => "watchdog",
        /// What stands at the head of its queue for too long is dropped: InfiniBand's way.
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
    /// What a switch does that has no other path for the flows that wait at a suspected egress
    /// (CLCM paper, section 3.2.2).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum NoAlternative {
        /// It passes on what others began and does not begin itself, so that another switch is elected; only where that
        /// comes to nothing for long, or ways change, it stands too.
        Forward => "forward",
        /// It takes part in the election, and reroutes flows that come to the blocked egress from outside the
        /// loop.
        RerouteEntering => "reroute-entering",
    }
}

/// Settings of the Loop Breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopBreakerConfig {
    /// Selects the flows to move.
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
    /// Time between two CLCM by one suspected egress.
    pub clcm_interval: Duration,
    /// For how long a release holds. When the loop comes back at once its frames go first for a while
    /// after it ([`BACK_OFF_MAX`](super::BACK_OFF_MAX)).
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
