//! What a Receiving Queue's future depends on.

use super::Budget;
use crate::testing::Digest;

impl Budget {
    /// The Feedback and all m_i follow from what is added here and from the configuration.
    pub(in crate::switch) fn digest(&self, digest: &mut Digest) {
        let Self {
            closed,
            stored,
            reserve,
            depth,
            feedback: _,
            overrun: _,
            stored_total: _,
            calm_up_to: _,
            sums: _,
            gamma_max: _,
            least: _,
        } = self;
        digest.word(*closed);
        digest.word(reserve.get());
        for bytes in stored.iter().take(depth.index()) {
            digest.word(bytes.get());
        }
    }
}
