//! Handling of stalled traffic: the deadlock detector, releases, reroutes, the storm watchdog, links that are down,
//! lifetime and age limits.
//!
//! Owns the clocks and samples that detect stalls. It detects and acts; the control plane, which gets events and answers
//! with commands, decides the meaning of a stall.
//!
//! Design: docs/src/internals/design/deadlock.md.

mod aging;
mod detector;
mod lifetime;
mod outage;
mod release;
mod reroute;
mod storms;

pub(in crate::switch) use detector::Detector;
pub(in crate::switch) use lifetime::Head;
pub(in crate::switch) use outage::Outage;
pub(in crate::switch) use reroute::Candidate;
pub use storms::StormGauges;
pub(in crate::switch) use storms::{StormClock, Storms};
