//! What is done about traffic that stands still.

mod age_lists;
mod aging;
mod detector;
mod discard;
mod lifetime;
mod release;
mod reroute;
mod storms;
mod traffic_release;

pub(in crate::switch) use age_lists::Ages;
pub(in crate::switch) use detector::Detector;
pub(in crate::switch) use lifetime::Head;
pub(in crate::switch) use reroute::Candidate;
pub(in crate::switch) use storms::{StormClock, Storms};
