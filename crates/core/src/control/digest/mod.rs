//! State that a control plane's future depends on, in 128 bits.

use super::ControlPlane;
use crate::testing::{Clock, Digest};

impl ControlPlane {
    /// Returns a digest of all state that decides this control plane's future: two of one
    /// configuration with the same digest answer the same events with the same commands, but for
    /// the identifiers that are drawn later, which are any. Counters and reports are left out.
    ///
    /// For the policies `off` and `breaker`, where at most one egress can be meant by a message,
    /// and without storm watchdogs; `None` for other policies and with commands that have not been
    /// polled.
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
