//! Feedback that may have released frames that are still to come.

use super::Told;
use crate::testing::Digest;

impl Told {
    pub(in crate::switch) fn digest(&self, digest: &mut Digest) {
        let Self {
            recent,
            next,
            until,
            window: _,
            // Follow from the others.
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
