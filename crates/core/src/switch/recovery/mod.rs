//! What is done about traffic that stands still: the deadlock detector, releases and traffic releases, reroutes, the storm
//! watchdog, links that are down, lifetime and age limits.
//!
//! Owns the clocks and samples by which standing still is found, and what is given up. It finds and acts; what a finding
//! means is judged by the control plane, which hears of it by events and answers with commands.
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
