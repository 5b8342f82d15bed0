//! Counters of gNMI.

use std::sync::{Mutex, MutexGuard, PoisonError};

use weir_api::counters::GnmiCounters;

use crate::refusal::Refusal;

/// Counters and gauges, shared by all calls.
#[derive(Debug, Default)]
pub struct Figures(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    counters: GnmiCounters,
    streams: usize,
}

impl Figures {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All counters.
    pub fn counters(&self) -> GnmiCounters {
        self.state().counters
    }

    /// Number of running calls of Subscribe.
    pub fn streams(&self) -> usize {
        self.state().streams
    }

    pub(crate) fn count(&self, field: fn(&mut GnmiCounters) -> &mut u64, more: u64) {
        *field(&mut self.state().counters) += more;
    }

    /// Counts a refusal, and returns the status to send.
    pub fn refuse(&self, refusal: &Refusal) -> tonic::Status {
        self.count(refusal.counter(), 1);
        refusal.to_status()
    }

    pub(crate) fn begin_stream(&self) {
        self.state().streams += 1;
    }

    pub(crate) fn end_stream(&self) {
        self.state().streams -= 1;
    }
}
