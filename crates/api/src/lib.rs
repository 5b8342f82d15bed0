//! JSON types shared by the daemon, `switchctl`, the lab and the simulator.
//!
//! [`daemon`] contains the bodies that the daemon sends on its Unix socket, [`run`] the versioned result of one
//! experiment, and [`routes`] the requests with their answers. [`describe`] converts the core's reports to the
//! [`words`] of both. The last part of every name is its unit.
//!
//! Design: docs/src/internals/design/api.md.
#![forbid(unsafe_code)]

pub mod audit;
pub mod capture;
#[cfg(feature = "client")]
pub mod client;
pub mod counters;
pub mod daemon;
pub mod describe;
pub mod neighbors;
pub mod overview;
pub mod pfcwd;
pub mod record;
pub mod reload;
pub mod routes;
pub mod run;
pub mod timeline;
pub mod words;
