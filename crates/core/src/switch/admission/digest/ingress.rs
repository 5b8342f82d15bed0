//! Digest of the state that an ingress buffer's future depends on.

use super::{IngressBuffer, Raise};
use crate::testing::Digest;

impl IngressBuffer {
    /// Limits and watermarks follow from the configured mode and from the fields added here.
    pub(in crate::switch) fn digest(&self, digest: &mut Digest) {
        let Self {
            occupancy,
            pausing,
            held,
            refresh_at,
            raise,
            calm_up_to: _,
            limit: _,
            pause_from: _,
            resume_below: _,
            mark_from: _,
            high: _,
            overrun: _,
            draining: _,
            watched: _,
            by_credits,
            keeps_loans: _,
            occupancy_max: _,
            headroom_used_max: _,
            mode: _,
            // A policed port has no digest.
            early: _,
            // A switch with pools has no digest.
            pooled: _,
        } = self;
        digest.word(occupancy.get());
        digest.word(*pausing);
        digest.word(*held);
        digest.word(*by_credits);
        if *pausing {
            digest.due(*refresh_at);
        }
        match raise {
            Raise::None => digest.word(0u8),
            Raise::Active { xoff, xon, until } => {
                digest.word(1u8);
                digest.word(xoff.get());
                digest.word(xon.get());
                digest.due(*until);
            }
            Raise::Draining { xoff } => {
                digest.word(2u8);
                digest.word(xoff.get());
            }
        }
    }
}
