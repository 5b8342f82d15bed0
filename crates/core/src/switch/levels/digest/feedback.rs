//! Digest of the Transmit Feedback to be sent.

use super::{FeedbackSent, EAGER_REFRESHES, EARLY_REPEATS};
use crate::testing::Digest;

impl FeedbackSent {
    pub(in crate::switch) fn digest(&self, digest: &mut Digest) {
        let Self {
            silent,
            told,
            holds,
            repeat,
            refresh_at,
            told_before,
            arrived_since,
        } = self;
        digest.word(*silent);
        digest.word(told.get());
        digest.word(*holds);
        digest.word(*repeat);
        digest.due(*refresh_at);
        digest.timed((*told_before).min(EARLY_REPEATS + EAGER_REFRESHES));
        // Arrivals while a repeat is due change nothing.
        digest.word(if *repeat { 0 } else { arrived_since.get() });
    }
}
