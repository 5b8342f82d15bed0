//! Impairment of received frames at an operator's request, to test how a transport copes with it.

use std::sync::atomic::{AtomicU64, Ordering};

use weir_core::{Duration, Instant, PortId};

use weir_config::frames::filter::Filter;
use weir_config::frames::headers::Headers;
use weir_config::frames::sight::Sight;

pub use weir_api::daemon::IMPAIRMENTS_MAX;

/// Effect on a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Drops the frame.
    Drop,
    /// Marks the frame Congestion Experienced, if its transport supports ECN.
    Mark,
    /// Delays the frame by this time.
    Delay(Duration),
}

/// Selection of frames and the effect on them.
#[derive(Clone, Debug)]
pub struct ImpairPlan {
    /// Ingress port.
    pub port: PortId,
    /// Selection among the port's frames.
    pub filter: Filter,
    /// Affects one in this many selected frames; the first affected one is the last of the first group.
    pub one_in: u64,
    /// Effect.
    pub action: Action,
    /// End of the impairment.
    pub until: Instant,
}

/// One impairment, shared by the loop and the requester.
#[derive(Debug)]
pub struct Impairment {
    plan: ImpairPlan,
    matched: AtomicU64,
    impaired: AtomicU64,
    overflowed: AtomicU64,
}

/// Counts of one impairment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImpairFigures {
    /// Frames that the filter matched.
    pub matched: u64,
    /// Frames among them that were affected.
    pub impaired: u64,
    /// Affected frames that were dropped because too many were delayed already.
    pub overflowed: u64,
}

impl Impairment {
    /// Creates an impairment that has not affected any frame.
    pub fn new(plan: ImpairPlan) -> Self {
        Self {
            plan,
            matched: AtomicU64::new(0),
            impaired: AtomicU64::new(0),
            overflowed: AtomicU64::new(0),
        }
    }

    /// Returns the selection and the effect.
    pub fn plan(&self) -> &ImpairPlan {
        &self.plan
    }

    /// Returns the counts.
    pub fn figures(&self) -> ImpairFigures {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ImpairFigures {
            matched: read(&self.matched),
            impaired: read(&self.impaired),
            overflowed: read(&self.overflowed),
        }
    }

    /// Returns the effect on this frame, if any, and counts it. For one thread only.
    pub(crate) fn meet(&self, sight: &Sight<'_>, headers: &Headers) -> Option<Action> {
        let plan = &self.plan;
        if sight.port != plan.port || sight.at >= plan.until || !plan.filter.matches(sight, headers)
        {
            return None;
        }
        let matched = self.matched.fetch_add(1, Ordering::Relaxed) + 1;
        if !matched.is_multiple_of(plan.one_in.max(1)) {
            return None;
        }
        self.impaired.fetch_add(1, Ordering::Relaxed);
        Some(plan.action)
    }

    pub(crate) fn note_overflow(&self) {
        self.overflowed.fetch_add(1, Ordering::Relaxed);
    }
}
