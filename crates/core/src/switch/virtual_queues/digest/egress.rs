//! Digest of the state that decides the future of one (egress, priority), without its virtual queues.

use super::{EgressState, Forced, ReleaseRule, Watch, BY_TURNS};
use crate::testing::Digest;
use crate::units::Duration;

impl EgressState {
    /// `detect` is the detection time, beyond which all idle spans are equal.
    pub(in crate::switch) fn digest(&self, digest: &mut Digest, detect: Duration) {
        let Self {
            backlog,
            frame_count,
            watch:
                Watch {
                    idle,
                    moved,
                    suspected_since,
                },
            release,
            forced,
            backlog_max: _,
        } = self;
        digest.word(backlog.get());
        digest.word(*frame_count);
        digest.timed(idle.min(&detect).as_nanos());
        digest.timed(*moved);
        digest.word(suspected_since.is_some());
        digest.word(release.is_some());
        if let Some(ReleaseRule {
            ingress,
            exclusive_until,
            departures,
            until,
            released: _,
        }) = release
        {
            digest.word(ingress.get());
            digest.due(*exclusive_until);
            digest.word(departures % BY_TURNS);
            digest.due(*until);
        }
        digest.word(forced.is_some());
        if let Some(Forced {
            ingress,
            until,
            released,
            amount,
        }) = forced
        {
            digest.word(ingress.get());
            digest.due(*until);
            digest.word(released.get());
            digest.word(amount.get());
        }
    }
}
