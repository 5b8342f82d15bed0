//! The deadlock detector's part of a digest.

use super::Detector;
use crate::switch::Switch;
use crate::testing::Digest;

impl Switch {
    pub(in crate::switch) fn digest_detector(&self, digest: &mut Digest) {
        let Detector { suspected, last: _ } = &self.detector;
        digest.word(self.backlogged.pairs as u64);
        digest.word(*suspected as u64);
        if let Some(next) = self.next_deadlock_sample() {
            digest.due(next);
            let past = self.sample_interval().saturating_mul(2);
            digest.past(self.last_deadlock_sample(), past);
        }
    }
}
