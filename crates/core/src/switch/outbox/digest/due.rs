//! Digest of pending messages.

use super::Due;
use crate::testing::Digest;

impl Due {
    pub(in crate::switch) fn digest(&self, digest: &mut Digest) {
        let Self {
            pfc,
            zero,
            pause,
            // Without learning it contains no probe.
            seldom,
        } = self;
        for flag in [*pause, seldom.pause_zero()] {
            digest.word(flag);
        }
        for set in [*pfc, *zero] {
            digest.word(set.0);
        }
    }
}
