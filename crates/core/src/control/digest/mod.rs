//! 128-bit digest of the state that a control plane's future depends on.

use super::ControlPlane;
use crate::testing::{Clock, Digest};

impl ControlPlane {
    /// Returns a digest of all state that decides this control plane's future: two with one configuration and the same
    /// digest answer the same events with the same commands, except for identifiers drawn later. Counters and reports
    /// are left out.
    ///
    /// Supports the policies `off` and `breaker`, where a message can mean at most one egress, without storm watchdogs.
    /// `None` for other policies, and while commands wait to be polled.
    pub fn digest(&self, clock: Clock) -> Option<u128> {
        let mut digest = Digest::new(clock);
        if self.config.policy.reroutes() || !self.commands.is_empty() {
            return None;
        }
        self.suspects.digest(
            &mut digest,
            self.config.release_period,
            self.config.clcm_interval,
        );
        Some(digest.finish())
    }
}
