//! JSON types shared by the daemon, `switchctl`, the lab and the simulator.
//!
//! [`daemon`] holds what the daemon answers on its Unix socket, [`run`] the versioned
//! result of one experiment, [`routes`] which request is answered with what. [`describe`] puts what the core tells into the
//! [`words`] of both. Units stand last in every name.
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
pub mod reload;
pub mod routes;
pub mod run;
pub mod timeline;
pub mod words;
