//! Handling of stalled traffic: the deadlock detector, releases and traffic releases, reroutes, the storm watchdog,
//! links that are down, lifetime and age limits.
//!
//! Owns the clocks and samples that detect stalls, and the dropped frames. It detects and acts; the control plane,
//! which gets events and answers with commands, decides what a stall means.
//!
//! Design: docs/src/internals/design/deadlock.md.

mod age_lists;
mod aging;
mod detector;
mod discard;
mod lifetime;
mod outage;
mod release;
mod reroute;
mod storms;
mod traffic_release;

pub(in crate::switch) use age_lists::Ages;
pub(in crate::switch) use detector::Detector;
pub(in crate::switch) use lifetime::Head;
pub(in crate::switch) use outage::Outage;
pub(in crate::switch) use reroute::Candidate;
pub(in crate::switch) use storms::{StormClock, Storms};
