//! What the two ends of one link tell each other: PAUSE, PFC and Feedback, echo messages, greetings.
//!
//! A port is told what it must tell (`note_feedback`, a set of priorities that are due), and `next_mac_control` makes the
//! frames. What comes in is limited, then verified, then read. Which frames may leave because of it is asked of
//! `PauseReceived`; no queue and no buffer is touched here.

mod authentication;
mod changes;
mod control_in;
mod control_out;
mod echo;
mod feedback_in;
mod feedback_out;
mod grants;
mod limiter;
mod pause_received;

pub(in crate::switch) use authentication::Authentication;
pub(in crate::switch) use echo::EchoState;
pub(in crate::switch) use limiter::Limiter;
pub(in crate::switch) use pause_received::PauseReceived;
