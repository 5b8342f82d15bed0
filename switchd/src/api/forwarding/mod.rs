//! Forwarding: routes, learned addresses, recent flows, the Level Table, VLANs, and the predicted fate of a frame.

pub(super) mod fdb;
pub mod flows;
pub mod levels;
pub(super) mod mirrors;
pub mod routes;
pub(super) mod trace;
pub mod vlans;
