//! State that a line's future depends on.

use super::Shaper;
use crate::testing::Digest;

impl Shaper {
    /// The amount that a late caller may still catch up is left out: two lines that are free now
    /// are treated as equal. That is exact for a line without a burst, and for one that is never
    /// used up.
    pub(in crate::switch) fn digest(&self, digest: &mut Digest) {
        let Self {
            line,
            divider: _,
            burst: _,
        } = self;
        line.digest(digest);
    }
}
