//! Digest of the state that the outcome of suspicions depends on.

use super::super::RECENT;
use super::{Suspect, Suspects};
use crate::testing::Digest;
use crate::units::Duration;

impl Suspects {
    /// Leaves out the generator: identifiers drawn later are arbitrary.
    pub(in crate::control) fn digest(
        &self,
        digest: &mut Digest,
        base: Duration,
        interval: Duration,
    ) {
        let Self {
            table,
            random: _,
            memory,
        } = self;
        for suspect in table.iter().flatten() {
            digest.word(suspect.is_some());
            if let Some(suspect) = suspect {
                suspect.digest(digest, base, interval, *memory);
            }
        }
    }
}

impl Suspect {
    fn digest(&self, digest: &mut Digest, base: Duration, interval: Duration, memory: Duration) {
        let Self {
            spuid,
            next_election,
            next_detection,
            back_off,
            began,
            idle,
            loops_found,
            ended_at,
            last_release,
            // Used only by the Loop Breaker.
            mastership: _,
            passed_on: _,
            passed_on_next: _,
            stays_out: _,
            stay_out: _,
            last_election: _,
            // Used only for reports.
            is_answered: _,
            is_reported_unanswered: _,
        } = self;
        digest.word(spuid.0);
        digest.due(*next_election);
        digest.due(*next_detection);
        digest.timed(idle.as_nanos());
        digest.word(*loops_found);
        digest.word(ended_at.is_some());
        // The next suspicion's idle span is at most twice the last one's plus one sample interval.
        let recent = (idle.saturating_mul(2) + interval).saturating_mul(RECENT);
        if let Some(ended) = ended_at {
            digest.past(*ended, recent.max(memory + Duration::from_nanos(1)));
        }
        digest.word(last_release.is_some());
        if let Some(last) = last_release {
            digest.past(*last, interval);
        }
        let quiet = (base + idle.saturating_mul(2)).saturating_mul(RECENT);
        back_off.digest(digest, *began, quiet);
    }
}
