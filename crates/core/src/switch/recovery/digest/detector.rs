//! The deadlock detector's part of a digest.

use super::Detector;
use crate::switch::Switch;
use crate::testing::Digest;

impl Switch {
    pub(in crate::switch) fn digest_detector(&self, digest: &mut Digest) {
        let Detector {
            backlogged,
            suspected,
            last,
            next,
        } = &self.detector;
        digest.word(*backlogged as u64);
        digest.word(*suspected as u64);
        if self.config.detector.is_some() && (*backlogged > 0 || *suspected > 0) {
            digest.due(*next);
            digest.past(*last, self.sample_interval().saturating_mul(2));
        }
    }
}
