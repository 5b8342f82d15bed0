//! Digest of the Feedback that may have released frames still to come.

use super::Told;
use crate::testing::Digest;

impl Told {
    pub(in crate::switch) fn digest(&self, digest: &mut Digest) {
        let Self {
            recent,
            next,
            until,
            window: _,
            // These follow from the others.
            lowest: _,
            known_until: _,
        } = self;
        let (newer, older) = recent.split_at(*next);
        for feedback in older.iter().chain(newer) {
            digest.word(feedback.get());
        }
        for moment in until {
            digest.due(*moment);
        }
    }
}
