//! Digest of the state that a line's future depends on.

use super::Shaper;
use crate::testing::Digest;

impl Shaper {
    /// Leaves out the amount that a late caller may still catch up: two free lines are treated as equal. That is exact
    /// for a line without a burst, and for one that is never exhausted.
    pub(in crate::switch) fn digest(&self, digest: &mut Digest) {
        let Self {
            line,
            divider: _,
            burst: _,
        } = self;
        line.digest(digest);
    }
}
