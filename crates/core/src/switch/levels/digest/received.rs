//! Digest of the Transmit Feedback received from a neighbour.

use super::FeedbackReceived;
use crate::level::Level;
use crate::testing::Digest;

impl FeedbackReceived {
    pub(in crate::switch) fn digest(&self, digest: &mut Digest) {
        let Self {
            feedback,
            expires_at,
            once_followed,
            before,
            lingers_until,
            frame_time: _,
        } = self;
        digest.word(feedback.get());
        digest.word(before.get());
        digest.due(*lingers_until);
        digest.due(*expires_at);
        digest.word(once_followed.map_or(u8::MAX, Level::get));
    }
}
