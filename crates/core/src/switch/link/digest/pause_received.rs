//! Digest of the pauses in force.

use super::PauseReceived;
use crate::testing::Digest;
use crate::units::Priority;

impl PauseReceived {
    pub(in crate::switch) fn digest(
        &self,
        digest: &mut Digest,
        priorities: impl Iterator<Item = Priority>,
    ) {
        let Self {
            all_until,
            until,
            rate: _,
            spans: _,
        } = self;
        digest.due(*all_until);
        for priority in priorities {
            digest.due(until[priority.index()]);
        }
    }
}
