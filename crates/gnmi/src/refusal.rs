//! Why a call is refused.

use tonic::{Code, Status};
use weir_api::counters::GnmiCounters;

/// Why a call is refused or ended, and what to do about it.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    code: Code,
    message: String,
    counter: fn(&mut GnmiCounters) -> &mut u64,
}

impl Refusal {
    fn new(
        code: Code,
        message: impl Into<String>,
        counter: fn(&mut GnmiCounters) -> &mut u64,
    ) -> Self {
        Self {
            code,
            message: message.into(),
            counter,
        }
    }

    /// Invalid request, or one beyond the limits.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(Code::InvalidArgument, message, |counters| {
            &mut counters.bad_requests
        })
    }

    /// There is no such node.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(Code::NotFound, message, |counters| &mut counters.not_found)
    }

    /// The protocol has it, and this server has not.
    pub fn unimplemented(message: impl Into<String>) -> Self {
        Self::new(Code::Unimplemented, message, |counters| {
            &mut counters.unimplemented
        })
    }

    /// The client does not show the token.
    pub fn unauthenticated(message: impl Into<String>) -> Self {
        Self::new(Code::Unauthenticated, message, |counters| {
            &mut counters.unauthenticated
        })
    }

    /// Others have all places.
    pub fn streams(message: impl Into<String>) -> Self {
        Self::new(Code::ResourceExhausted, message, |counters| {
            &mut counters.streams
        })
    }

    /// The answer would be longer than clients take.
    pub fn too_large(message: impl Into<String>) -> Self {
        Self::new(Code::ResourceExhausted, message, |counters| {
            &mut counters.too_large
        })
    }

    /// The subscriber does not read its messages.
    pub fn slow_reader(message: impl Into<String>) -> Self {
        Self::new(Code::ResourceExhausted, message, |counters| {
            &mut counters.slow_readers
        })
    }

    /// The client opened a call and sent nothing.
    pub fn silent(message: impl Into<String>) -> Self {
        Self::new(Code::DeadlineExceeded, message, |counters| {
            &mut counters.silent
        })
    }

    /// Returns the gRPC code of the refusal.
    pub fn code(&self) -> Code {
        self.code
    }

    pub(crate) fn counter(&self) -> fn(&mut GnmiCounters) -> &mut u64 {
        self.counter
    }

    /// As it is sent.
    pub fn to_status(&self) -> Status {
        Status::new(self.code, self.message.clone())
    }
}
