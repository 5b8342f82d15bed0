//! Digest of the state that a Receiving Queue's future depends on.

use super::{Budget, Loan};
use crate::testing::Digest;

impl Budget {
    /// The Feedback and all m_i follow from these fields and the configuration.
    pub(in crate::switch) fn digest(&self, digest: &mut Digest) {
        let Self {
            closed,
            barred,
            loan,
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
        digest.word(*barred);
        match loan {
            Loan::None => digest.word(0u8),
            Loan::Draining => digest.word(1u8),
            Loan::Active(until) => {
                digest.word(2u8);
                digest.due(*until);
            }
        }
        digest.word(reserve.get());
        for bytes in stored.iter().take(depth.index()) {
            digest.word(bytes.get());
        }
    }
}
