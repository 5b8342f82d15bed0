//! Digest of the state that the next preference depends on.

use super::{BackOff, Release};
use crate::testing::Digest;
use crate::units::{Duration, Instant};

impl BackOff {
    /// `began` is the start of the present suspicion; anything that ended longer than `quiet` ago is forgotten.
    pub(in crate::control) fn digest(&self, digest: &mut Digest, began: Instant, quiet: Duration) {
        digest.word(self.last.is_some());
        if let Some(Release {
            factor,
            suspicion,
            until,
        }) = self.last
        {
            digest.word(factor);
            digest.word(suspicion == began);
            digest.due(until);
            digest.past(until, quiet);
            // A suspicion without a release yet depends on the time between the two.
            digest.timed(began.saturating_since(until).min(quiet).as_nanos());
        }
    }
}
