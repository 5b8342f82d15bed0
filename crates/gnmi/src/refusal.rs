//! Reasons for refusing a call.

use tonic::{Code, Status};
use weir_api::counters::GnmiCounters;

/// Reason for refusing or ending a call, and the remedy.
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

    /// The node does not exist.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(Code::NotFound, message, |counters| &mut counters.not_found)
    }

    /// Defined by the protocol, but not supported by this server.
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

    /// All calls of Subscribe are in use.
    pub fn streams(message: impl Into<String>) -> Self {
        Self::new(Code::ResourceExhausted, message, |counters| {
            &mut counters.streams
        })
    }

    /// The answer would exceed the limit of clients.
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

    /// Converts the refusal to a status.
    pub fn to_status(&self) -> Status {
        Status::new(self.code, self.message.clone())
    }
}
