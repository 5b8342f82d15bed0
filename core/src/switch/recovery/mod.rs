//! What is done about traffic that stands still.

mod age_lists;
mod aging;
mod lifetime;
mod reroute;
mod storms;
mod traffic_release;

pub(in crate::switch) use age_lists::Ages;
pub(in crate::switch) use lifetime::Head;
pub(in crate::switch) use reroute::Candidate;
pub(in crate::switch) use storms::{StormClock, Storms};
