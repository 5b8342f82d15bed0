//! Messages between the two ends of one link: PAUSE, PFC and Feedback, echo messages, greetings, and CLCM.
//!
//! Owns the state of messages sent to the neighbour and received from it, and traffic releases, which let frames leave in
//! spite of a pause. Other modules change a buffer or a Level and note it in the outbox (`note_pause_change` in
//! `admission`, `note_feedback` in `levels`); the frames are built when the port sends. Received frames are limited
//! first, then verified, then parsed (`control_in`). `schedule` takes the next frame from `control_out`.
//!
//! Design: docs/src/internals/design/core.md.

mod authentication;
mod changes;
mod control_in;
mod control_out;
mod credits;
mod echo;
mod feedback_in;
mod feedback_out;
mod grants;
mod limiter;
mod pause_received;
mod pause_spans;
mod traffic_release;

pub(in crate::switch) use authentication::Authentication;
pub(in crate::switch) use control_out::CLCM_QUEUE_CAPACITY;
pub(in crate::switch) use echo::EchoState;
pub(in crate::switch) use limiter::Limiter;
pub(in crate::switch) use pause_received::PauseReceived;
pub use pause_spans::PauseGauges;
pub(in crate::switch) use pause_spans::PauseSpans;
