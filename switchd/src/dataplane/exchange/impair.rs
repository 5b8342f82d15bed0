//! Impairment of received frames at an operator's request, to test how a transport copes.

use std::sync::atomic::{AtomicU64, Ordering};

use weir_core::{Duration, Instant, PortId};

use crate::model::filter::Filter;
use crate::model::headers::Headers;
use crate::model::sight::Sight;

pub use weir_api::daemon::IMPAIRMENTS_MAX;

/// Effect on a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It is dropped.
    Drop,
    /// It is marked Congestion Experienced, if its transport knows ECN.
    Mark,
    /// The switch gets it so much later.
    Delay(Duration),
}

/// Which frames, and what is done to them.
#[derive(Clone, Debug)]
pub struct ImpairPlan {
    /// Ingress port.
    pub port: PortId,
    /// Which of them.
    pub filter: Filter,
    /// Affects each one of this number, from the last of the first ones.
    pub one_in: u64,
    /// Effect.
    pub action: Action,
    /// Until when.
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
    /// Frames that the filter let through.
    pub matched: u64,
    /// Frames among them to which it was done.
    pub impaired: u64,
    /// Frames among these that were dropped, because too many were delayed already.
    pub overflowed: u64,
}

impl Impairment {
    /// Nothing is done so far.
    pub fn new(plan: ImpairPlan) -> Self {
        Self {
            plan,
            matched: AtomicU64::new(0),
            impaired: AtomicU64::new(0),
            overflowed: AtomicU64::new(0),
        }
    }

    /// Returns the affected frames and the effect.
    pub fn plan(&self) -> &ImpairPlan {
        &self.plan
    }

    /// Returns its counts.
    pub fn figures(&self) -> ImpairFigures {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ImpairFigures {
            matched: read(&self.matched),
            impaired: read(&self.impaired),
            overflowed: read(&self.overflowed),
        }
    }

    /// Returns the effect on this frame, if any, and counts it. To be called by one thread.
    pub(in crate::dataplane) fn meet(
        &self,
        sight: &Sight<'_>,
        headers: &Headers,
    ) -> Option<Action> {
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

    pub(in crate::dataplane) fn note_overflow(&self) {
        self.overflowed.fetch_add(1, Ordering::Relaxed);
    }
}
